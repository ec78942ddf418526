/*
 * gen_hits.c
 *		Rows like those of ClickBench's "hits": 105 columns of web analytics.
 *
 *		gen_hits rows [seed]
 *
 * The real data set cannot be had everywhere, so this imitates what makes it
 * typical, and what makes it hard to store:
 *
 *	- rows come in the order of time, so that visits of many users to many sites
 *	  are interleaved, and what repeats within a visit repeats some thousand rows
 *	  apart; times go back and forth by some seconds;
 *	- users, addresses, events and hashes are random numbers of 64 and 32 bits;
 *	  there are six rows to a user, half of the visits are a user's first;
 *	- a quarter of the URLs are different from all before, a twelfth of the titles;
 *	  sites and pages are of very different popularity (Zipf), and some URLs
 *	  carry numbers of their own;
 *	- titles, phrases and paths are made of words, frequent ones short, as often
 *	  as in a language (Zipf), two thirds in Cyrillic letters of two bytes;
 *	- seven search phrases of eight are empty, and many columns hold zero or the
 *	  empty string nearly always.
 */
#include "gen_common.h"

#define FIRST_SECOND	INT64_C(1372636800) /* 2013-07-01 */
#define ROWS_PER_DAY	64500			/* 2 M rows in a month */
#define NSITES			6000
#define NPAGES			20000			/* of the most popular site */
#define NWORDS			40000
#define NSITE_WORDS		400
#define NVISITS			1200			/* at a time */

static const char ddl[] =
	"WatchID bigint not null, JavaEnable smallint not null, Title text not null,\n"
	"GoodEvent smallint not null, EventTime timestamp not null, EventDate date not null,\n"
	"CounterID integer not null, ClientIP integer not null, RegionID integer not null,\n"
	"UserID bigint not null, CounterClass smallint not null, OS smallint not null,\n"
	"UserAgent smallint not null, URL text not null, Referer text not null,\n"
	"IsRefresh smallint not null, RefererCategoryID smallint not null,\n"
	"RefererRegionID integer not null, URLCategoryID smallint not null,\n"
	"URLRegionID integer not null, ResolutionWidth smallint not null,\n"
	"ResolutionHeight smallint not null, ResolutionDepth smallint not null,\n"
	"FlashMajor smallint not null, FlashMinor smallint not null, FlashMinor2 text not null,\n"
	"NetMajor smallint not null, NetMinor smallint not null, UserAgentMajor smallint not null,\n"
	"UserAgentMinor varchar(255) not null, CookieEnable smallint not null,\n"
	"JavascriptEnable smallint not null, IsMobile smallint not null,\n"
	"MobilePhone smallint not null, MobilePhoneModel text not null, Params text not null,\n"
	"IPNetworkID integer not null, TraficSourceID smallint not null,\n"
	"SearchEngineID smallint not null, SearchPhrase text not null,\n"
	"AdvEngineID smallint not null, IsArtifical smallint not null,\n"
	"WindowClientWidth smallint not null, WindowClientHeight smallint not null,\n"
	"ClientTimeZone smallint not null, ClientEventTime timestamp not null,\n"
	"SilverlightVersion1 smallint not null, SilverlightVersion2 smallint not null,\n"
	"SilverlightVersion3 integer not null, SilverlightVersion4 smallint not null,\n"
	"PageCharset text not null, CodeVersion integer not null, IsLink smallint not null,\n"
	"IsDownload smallint not null, IsNotBounce smallint not null, FUniqID bigint not null,\n"
	"OriginalURL text not null, HID integer not null, IsOldCounter smallint not null,\n"
	"IsEvent smallint not null, IsParameter smallint not null, DontCountHits smallint not null,\n"
	"WithHash smallint not null, HitColor char not null, LocalEventTime timestamp not null,\n"
	"Age smallint not null, Sex smallint not null, Income smallint not null,\n"
	"Interests smallint not null, Robotness smallint not null, RemoteIP integer not null,\n"
	"WindowName integer not null, OpenerName integer not null, HistoryLength smallint not null,\n"
	"BrowserLanguage text not null, BrowserCountry text not null, SocialNetwork text not null,\n"
	"SocialAction text not null, HTTPError smallint not null, SendTiming integer not null,\n"
	"DNSTiming integer not null, ConnectTiming integer not null,\n"
	"ResponseStartTiming integer not null, ResponseEndTiming integer not null,\n"
	"FetchTiming integer not null, SocialSourceNetworkID smallint not null,\n"
	"SocialSourcePage text not null, ParamPrice bigint not null, ParamOrderID text not null,\n"
	"ParamCurrency text not null, ParamCurrencyID smallint not null,\n"
	"OpenstatServiceName text not null, OpenstatCampaignID text not null,\n"
	"OpenstatAdID text not null, OpenstatSourceID text not null, UTMSource text not null,\n"
	"UTMMedium text not null, UTMCampaign text not null, UTMContent text not null,\n"
	"UTMTerm text not null, FromTag text not null, HasGCLID smallint not null,\n"
	"RefererHash bigint not null, URLHash bigint not null, CLID integer not null";


static const char *const onsets[] = {
	"", "b", "v", "g", "d", "zh", "z", "k", "l", "m", "n", "p", "r", "s", "t",
	"f", "h", "ts", "ch", "sh", "pr", "st", "tr", "kr", "vl", "br", "sk", "gr",
	"pl", "dr", "sv", "kn"
};
static const char *const nuclei[] =
	{"a", "o", "e", "i", "u", "ya", "y", "yu", "a", "o", "e", "i", "a", "o", "e", "i"};
static const char *const codas[] =
	{"", "", "", "", "", "n", "t", "r", "l", "s", "m", "k", "v", "st", "nt", "y"};
static const char *const cyrillic[26] = {
	"\xd0\xb0", "\xd0\xb1", "\xd1\x86", "\xd0\xb4", "\xd0\xb5", "\xd1\x84", "\xd0\xb3", "\xd1\x85", "\xd0\xb8",
	"\xd0\xb9", "\xd0\xba", "\xd0\xbb", "\xd0\xbc", "\xd0\xbd", "\xd0\xbe", "\xd0\xbf", "\xd1\x8f", "\xd1\x80",
	"\xd1\x81", "\xd1\x82", "\xd1\x83", "\xd0\xb2", "\xd0\xb2", "\xd1\x85", "\xd1\x8b", "\xd0\xb7"
};
static const char *const domains[] = {"ru", "com", "ru", "net", "org", "ua", "ru", "info"};
static const char *const parameters[] = {
	"id", "page", "sort", "cat", "mode", "city", "from", "price", "model", "year", "view", "ref", "tab", "region",
	"lang", "item"
};
static const char *const phones[] = {"iPad", "iPhone", "GT-I9300", "LG-P700", "Lumia 820", "A500"};
static const short widths[] = {1366, 1920, 1280, 1024, 1600, 1440, 1680, 768, 320, 1152};
static const short heights[] = {768, 1080, 1024, 768, 900, 900, 1050, 1024, 480, 864};

#define LENGTH_OF(a) ((int64_t) (sizeof(a) / sizeof(*(a))))

/* A text that is needed more than once. */
typedef struct Text
{
	size_t		len;
	char		bytes[4000];
} Text;

/* What the rows of one visit have in common. */
typedef struct Visit
{
	int64_t		left,			/* rows to come */
				site,
				npages,
				user,
				unique_id,
				ip,
				remote_ip,
				region,
				browser,
				os,
				screen,
				clock,			/* seconds that the user's is wrong */
				phrase,			/* -1: none */
				page,			/* of the row before, then its referer; -1: none */
				age,
				campaign;		/* -1: none */
	int			is_mobile;
	int			charset;
} Visit;

static Visit visits[NVISITS];
static int64_t nusers;
static Text url,
			referer,
			title;

static void
sep(void)
{
	out_char('|');
}

static void
put_int(int64_t value)
{
	out_int(value);
	sep();
}

static void
put_text(const char *text)
{
	out_text(text);
	sep();
}

static void
put_zeros(int n)
{
	while (n-- > 0)
		put_int(0);
}

static void
put_empty(int n)
{
	while (n-- > 0)
		sep();
}

static void
add_text(Text *t, const char *text)
{
	size_t		len = strlen(text);

	if (t->len + len > sizeof(t->bytes))
		return;
	memcpy(t->bytes + t->len, text, len);
	t->len += len;
}

static void
add_int(Text *t, int64_t value)
{
	char		digits[24];

	snprintf(digits, sizeof(digits), "%lld", (long long) value);
	add_text(t, digits);
}

/* As zipf(), but the same for the same number. */
static int64_t
zipf_of(uint64_t number, int64_t n)
{
	double		u = (double) (mix64(number) >> 11) / 9007199254740992.0;
	int64_t		rank = (int64_t) exp(u * log((double) n + 1.0)) - 1;

	return rank < n ? rank : n - 1;
}

/* A word by its rank: frequent ones are short. */
static void
add_word(Text *t, int64_t rank, int is_cyrillic)
{
	uint64_t	h = mix64((uint64_t) rank * 2654435761u + 17);
	int			n = 1 + (rank > 30) + (rank > 1000 || h % 3 == 0) + (rank > 8000 && h % 5 < 2);
	char		word[40];
	char	   *p = word;

	for (h >>= 8; n > 0; n--, h >>= 13)
	{
		p = stpcpy(p, onsets[h % 32]);
		p = stpcpy(p, nuclei[(h >> 5) % 16]);
		p = stpcpy(p, codas[(h >> 9) % 16]);
	}
	if (!is_cyrillic)
		add_text(t, word);
	for (p = word; is_cyrillic && *p != 0; p++)
		add_text(t, cyrillic[*p - 'a']);
}

/* Some words, the same for the same number; a site has its own besides those of the language. */
static void
add_words(Text *t, uint64_t number, int n, int64_t site, int is_cyrillic, const char *between)
{
	for (int i = 0; i < n; i++)
	{
		uint64_t	h = mix64(number * 32 + (uint64_t) i);

		if (i > 0)
			add_text(t, between);
		if (site >= 0 && h % 3 == 0)
			add_word(t, (int64_t) (mix64((uint64_t) (site * NSITE_WORDS + zipf_of(h, NSITE_WORDS))) % NWORDS), is_cyrillic);
		else
			add_word(t, zipf_of(h, NWORDS), is_cyrillic);
	}
}

static int
phrase_words(uint64_t number)
{
	return 1 + (int) (mix64(number + 77) % 5);
}

/* A page's address: host, section, words, parameters; the longer ones are less popular. */
static void
make_url(Text *t, int64_t site, int64_t page)
{
	uint64_t	h = mix64((uint64_t) (site * NPAGES + page) + 3);
	uint64_t	style = mix64((uint64_t) site + 99);

	t->len = 0;
	add_text(t, style % 10 == 0 ? "https://" : "http://");
	add_text(t, style % 3 == 0 ? "www." : "");
	add_words(t, (uint64_t) site + 1000000, 1 + (int) (style % 2), -1, 0, "-");
	add_text(t, ".");
	add_text(t, domains[site % LENGTH_OF(domains)]);
	add_text(t, "/");
	if (page == 0)
		return;
	add_words(t, (uint64_t) site * 16 + h % 12, 1, -1, 0, "");
	add_text(t, "/");
	if (style & 64)
	{
		add_words(t, h >> 20, 1 + (int) (h >> 8 & 3), site, 0, style & 128 ? "-" : "_");
		add_text(t, style & 256 ? "/" : ".html");
	}
	if (h & 4096 || (style & 64) == 0)
	{
		int			n = 1 + (int) (h >> 14 & 3);

		for (int i = 0; i < n; i++)
		{
			uint64_t	value = mix64(h + (uint64_t) i);

			add_text(t, i == 0 ? "?" : "&");
			add_text(t, parameters[(style >> 8 & 7) + (uint64_t) i * 3 % 9]);
			add_text(t, "=");
			if (i % 2 == 0)
				add_int(t, (int64_t) (value % (value & 65536 ? 100 : 10000000)));
			else
				add_words(t, value >> 20, 1, site, 0, "");
		}
	}
}

/* Pages that differ in a parameter only have the same title. */
static void
make_title(Text *t, int64_t site, int64_t page)
{
	uint64_t	number = (uint64_t) (site * NPAGES + page / 4);
	int			is_cyrillic = site % 3 != 0;

	t->len = 0;
	add_words(t, number, 2 + (int) (mix64(number) % 11), site, is_cyrillic, " ");
	add_text(t, site % 2 ? " - " : " :: ");
	add_words(t, (uint64_t) site + 2000000, 1 + (int) (site % 4), -1, is_cyrillic, " ");
}

static int64_t
hash_of(const Text *t)
{
	uint64_t	h = t->len;

	for (size_t i = 0; i < t->len; i++)
		h = (h ^ (unsigned char) t->bytes[i]) * UINT64_C(0x100000001b3);
	return (int64_t) mix64(h);
}

static void
put(const Text *t)
{
	out_bytes(t->bytes, t->len);
	sep();
}

/* Begin another visit. */
static void
next_visit(Visit *v)
{
	uint64_t	u;
	int64_t		number;

	/* half of the visits are a user's first; few users come every day, the others soon or never */
	if (nusers < 100 || chance(50))
		number = nusers++;
	else if (chance(15))
		number = zipf(nusers);
	else
		number = nusers - 1 - (int64_t) (rnd64() % (uint64_t) (nusers > 30000 ? 30000 : nusers));
	v->user = (int64_t) mix64((uint64_t) number + UINT64_C(0x5bd1e9955bd1e995));
	u = mix64((uint64_t) v->user);
	v->left = 1 + zipf(9);

	/* A user has some favourite sites. */
	v->site = zipf_of(u + rnd64() % 3, NSITES);
	v->npages = 1 + NPAGES / (1 + v->site / 4);

	/* He keeps his device, place and age, and mostly his address. */
	v->unique_id = u % 10 < 4 ? 0 : (int64_t) mix64(u);
	v->ip = (int64_t) (int32_t) mix64(u + (chance(80) ? 1 : rnd64() % 5));
	v->remote_ip = u % 10 < 7 ? v->ip : (int64_t) (int32_t) mix64(u + 7);
	v->region = (int64_t) (u >> 8 & 255) * (int64_t) (u >> 16 & 255) / 100 + 1;
	v->browser = (int64_t) (u >> 24 & 15) * (int64_t) (u >> 28 & 15) / 3;
	v->os = (int64_t) (u >> 32 & 7) * (int64_t) (u >> 35 & 7);
	v->is_mobile = (u >> 40) % 100 < 6;
	v->screen = (int64_t) (u >> 44 & 15) * (int64_t) (u >> 48 & 15) / 24;
	v->age = (u >> 52) % 3 ? (int64_t) (18 + (u >> 54) % 40) : 0;
	v->clock = u % 7 == 0 ? (int64_t) (u >> 12) % 7200 - 3600 : (int64_t) (u >> 12) % 60;
	v->phrase = chance(55) ? zipf(400000) : -1;
	v->page = chance(25) ? zipf(v->npages) : -1;
	v->campaign = chance(3) ? zipf(50) : -1;
	v->charset = v->site % 4 == 0;
}

/* Where a row's visitor came from. */
static void
make_referer(const Visit *v)
{
	referer.len = 0;
	if (v->phrase >= 0 && v->page < 0)
	{
		add_text(&referer,
				 v->phrase % 4 ? "http://yandex.ru/yandsearch?text=" :
			"http://www.google.ru/search?q=");
		add_words(&referer, (uint64_t) v->phrase, phrase_words((uint64_t) v->phrase), -1,
				  v->phrase % 3 != 0, "+");
		add_text(&referer, "&lr=");
		add_int(&referer, v->region);
	}
	else if (v->page >= 0)
		make_url(&referer, v->site, v->page);
}

static void
put_timings(void)
{
	if (chance(55))
	{
		put_zeros(6);
		return;
	}
	put_int(0);
	put_int(chance(70) ? 0 : rnd(1, 300));
	put_int(chance(50) ? 0 : rnd(1, 200));
	put_int(20 + zipf(3000));
	put_int(zipf(2000));
	put_int(100 + zipf(20000));
}

/* Columns 1 to 36: the event, the user, the page, the browser. */
static void
put_first_part(const Visit *v, int64_t second)
{
	put_int((int64_t) (rnd64() >> 1));
	put_int(v->browser % 3 != 0);
	put(&title);
	put_int(1);
	out_timestamp(second);
	sep();
	out_date(second / 86400);
	sep();
	put_int(62 + v->site * 17);
	put_int(v->ip);
	put_int(v->region);
	put_int(v->user);
	put_int(v->site % 5 == 0);
	put_int(v->os);
	put_int(v->browser);
	put(&url);
	put(&referer);
	put_int(chance(10));
	put_int(referer.len == 0 ? 0 : v->site % 100);
	put_int(referer.len == 0 ? 0 : v->region);
	put_int(v->site % 120);
	put_int(v->site * 31 % 900);
	put_int(widths[v->screen % LENGTH_OF(widths)]);
	put_int(heights[v->screen % LENGTH_OF(heights)]);
	put_int(v->screen % 5 == 0 ? 24 : 32);
	put_int(v->is_mobile ? 0 : 11);
	put_int(v->is_mobile ? 0 : v->browser % 8);
	put_text(v->is_mobile ? "0" : v->browser % 2 ? "700" : "800");
	put_zeros(2);
	put_int(v->browser % 30);
	out_int(v->browser * 7 % 40);
	sep();
	put_int(1);
	put_int(1);
	put_int(v->is_mobile);
	put_int(v->is_mobile ? v->os % 9 + 1 : 0);
	put_text(v->is_mobile ? phones[(uint64_t) v->user % (uint64_t) LENGTH_OF(phones)] : "");
	put_text("");
}

/* Columns 37 to 64: traffic source, window, versions, flags. */
static void
put_second_part(const Visit *v, int64_t second)
{
	int			screen = (int) (v->screen % LENGTH_OF(widths));
	int			searched = v->phrase >= 0 && v->page < 0;
	Text		phrase;

	put_int((int64_t) (mix64((uint64_t) v->ip >> 10) % 4000000) + 1000000);
	put_int(referer.len == 0 ? 0 : searched ? 2 : -1);
	put_int(searched ? 2 + v->phrase % 3 : 0);
	phrase.len = 0;
	if (searched)
		add_words(&phrase, (uint64_t) v->phrase, phrase_words((uint64_t) v->phrase), -1,
				  v->phrase % 3 != 0, " ");
	put(&phrase);
	put_int(v->campaign >= 0 ? 2 : 0);
	put_int(0);
	put_int(widths[screen] - (int64_t) (mix64((uint64_t) v->user + 3) % 4) * 17);
	put_int(heights[screen] - 100 - (int64_t) (mix64((uint64_t) v->user + 4) % 10) * 9);
	put_int(135 + v->region % 7 * 15);
	out_timestamp(second + v->clock + rnd(0, 3));
	sep();
	put_int(v->browser % 4 ? 5 : 0);
	put_int(v->browser % 4 ? 1 : 0);
	put_int(v->browser % 4 ? 20125 : 0);
	put_int(0);
	put_text(v->charset ? "utf-8" : "windows");
	put_int(1601);
	put_int(chance(8));
	put_int(chance(1));
	put_int(chance(30));
	put_int(v->unique_id);
	if (chance(15))
		out_bytes(url.bytes, url.len);
	sep();
	put_int(rnd(1, 1073741823));
	put_int(0);
	put_int(chance(5));
	put_int(0);
	put_int(chance(6));
	put_int(chance(12));
	put_text(chance(70) ? "5" : chance(50) ? "g" : "E");
}

/* Columns 65 to 105: person, history, timings, campaigns, hashes. */
static void
put_third_part(const Visit *v, int64_t second)
{
	out_timestamp(second + 10800 + v->region % 9 * 3600);
	sep();
	put_int(v->age);
	put_int(v->age ? 1 + v->user % 2 * (v->user > 0) : 0);
	put_int(v->age ? 2 + (v->age > 30) : 0);
	put_int(v->age ? (int64_t) (mix64((uint64_t) v->user) % 16000) : 0);
	put_int((int64_t) (mix64((uint64_t) v->user + 5) % 60));
	put_int(v->remote_ip);
	put_int(chance(60) ? -1 : rnd(1, 30000));
	put_int(chance(85) ? -1 : rnd(1, 30000));
	put_int(chance(50) ? -1 : zipf(40));
	put_text("S0");
	put_text(v->region % 9 == 0 ? "ua" : "ru");
	put_empty(2);
	put_int(0);
	put_timings();
	put_int(0);
	put_empty(1);
	put_int(0);
	put_empty(1);
	put_text("NH");
	put_int(0);
	put_empty(4);
	if (v->campaign >= 0)
	{
		Text		words;

		put_text(v->campaign % 2 ? "google" : "direct");
		put_text("cpc");
		words.len = 0;
		add_words(&words, (uint64_t) v->campaign, 1, -1, 0, "");
		put(&words);
		out_int(v->campaign * 7919);
		sep();
		words.len = 0;
		add_words(&words, (uint64_t) v->campaign * 3, 3, -1, 1, " ");
		put(&words);
	}
	else
		put_empty(5);
	put_empty(1);
	put_int(v->campaign >= 0 && v->campaign % 5 == 0);
	put_int(referer.len == 0 ? 0 : hash_of(&referer));
	put_int(hash_of(&url));
	out_int(v->site % 50 == 0 ? v->site : 0);
	out_char('\n');
}

int
main(int argc, char **argv)
{
	int64_t		rows = gen_start(argc, argv, ddl);

	for (int64_t row = 0; row < rows; row++)
	{
		Visit	   *v = &visits[rnd64() % NVISITS];
		int64_t		second = FIRST_SECOND + row * 86400 / ROWS_PER_DAY - zipf(60);
		int64_t		page;

		if (v->left-- <= 0)
		{
			next_visit(v);
			v->left--;
		}
		/* some load a page again */
		page = v->page >= 0 && chance(12) ? v->page : zipf(v->npages);
		make_url(&url, v->site, page);
		if (chance(6))
		{
			/* Some links carry a number of their own. */
			add_text(&url, memchr(url.bytes, '?', url.len) ? "&sid=" : "#sid=");
			add_int(&url, rnd(0, INT64_C(99999999999)));
		}
		make_title(&title, v->site, page);
		make_referer(v);
		put_first_part(v, second);
		put_second_part(v, second);
		put_third_part(v, second);
		v->page = page;
	}
	out_flush();
	return 0;
}
