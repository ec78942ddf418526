/*
 * gen_hits.c
 *		Rows like those of ClickBench's "hits": 105 columns of web analytics.
 *
 *		gen_hits rows [seed]
 *
 * The real data set cannot be had everywhere, so this imitates what makes it
 * typical: visits of one user to one site, whose columns repeat within the
 * visit; sites, pages, titles, phrases and devices of very different
 * popularity (Zipf); long URLs that share their beginnings; many columns that
 * hold zero or the empty string nearly always; a few that are random.  Rows
 * come by site and time, as a server's log is stored there.
 */
#include "gen_common.h"

#define FIRST_SECOND	INT64_C(1372636800) /* 2013-07-01 */
#define NSECONDS		(31 * 86400)
#define NSITES			6000
#define NPAGES			40000	/* of a popular site; others have fewer */

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

static const char *const syllables[] = {
	"ba", "ver", "lo", "mi", "ka", "ster", "no", "ri", "da", "pol", "ta",
	"go", "sen", "li", "mar", "fu", "chi", "ro", "we", "an", "tor", "pe",
	"sha", "ku", "del", "i", "mon", "ga", "es", "vi", "bro", "zu"
};
static const char *const domains[] = {"ru", "com", "ru", "net", "org", "ua", "ru", "info"};
static const char *const sections[] = {
	"catalog", "news", "search", "auto", "forum", "product", "user", "photo",
	"video", "real-estate/sale", "job/vacancy", "map", "article", "shop/cart"
};
static const char *const phones[] = {"iPad", "iPhone", "GT-I9300", "LG-P700", "Lumia 820", "A500"};
static const short widths[] = {1366, 1920, 1280, 1024, 1600, 1440, 1680, 768, 320, 1152};
static const short heights[] = {768, 1080, 1024, 768, 900, 900, 1050, 1024, 480, 864};

#define LENGTH_OF(a) ((int64_t) (sizeof(a) / sizeof(*(a))))

/* What the rows of one visit have in common. */
typedef struct Visit
{
	int64_t		site,
				npages,
				second,
				user,
				unique_id,
				ip,
				region,
				browser,
				os,
				screen,
				referer_page,	/* -1: none, -2: a search engine */
				phrase,
				age,
				campaign;		/* -1: none */
	int			is_mobile;
	int			charset;
} Visit;

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

/* A pronounceable word, the same for the same number. */
static void
out_word(uint64_t number)
{
	uint64_t	h = mix64(number);
	int			n = 2 + (int) (h % 3);

	for (h >>= 8; n > 0; n--, h >>= 5)
		out_text(syllables[h % 32]);
}

/* A phrase of up to max words, the same for the same number. */
static void
out_phrase(uint64_t number, int max)
{
	int			n = 1 + (int) (mix64(number + 77) % (uint64_t) max);

	for (int i = 0; i < n; i++)
	{
		if (i > 0)
			out_char(' ');
		/* Words of a language repeat over phrases. */
		out_word(mix64(number * 16 + (uint64_t) i) % 20000 % (uint64_t) (1 + mix64(number + (uint64_t) i) % 20000));
	}
}

static void
out_url(int64_t site, int64_t page)
{
	uint64_t	h = mix64((uint64_t) (site * NPAGES + page));

	out_text("http://");
	out_word((uint64_t) site);
	out_char('.');
	out_text(domains[site % LENGTH_OF(domains)]);
	out_char('/');
	if (page == 0)
		return;
	out_text(sections[(uint64_t) site * 7 % 5 + h % 10]);
	out_char('/');
	out_word(h % 300);
	if (h & 1024)
	{
		out_char('/');
		out_word(h % 3000);
		out_char('-');
		out_word(h % 70001);
	}
	out_text(h & 2048 ? "/?id=" : "/");
	out_int((int64_t) (h >> 40 & 0xffffff));
	if (h & 4096)
	{
		out_text("&sort=");
		out_word(h % 7);
		out_text("&page=");
		out_int((int64_t) (h % 23));
	}
	if (h & 8192)
		out_text(".html");
}

/* Begin another visit; visits of a site come in the order of time. */
static void
next_visit(Visit *v, int64_t done, int64_t rows)
{
	uint64_t	u;
	double		place = (double) done / (double) rows;
	static int64_t site_rows_left = 0;
	static int64_t site = 0;
	static int64_t site_rows = 1;

	if (site_rows_left <= 0)
	{
		/* Popular sites are spread over the numbers. */
		site++;
		site_rows = 1 + rows / 12 / (1 + zipf(NSITES));
		site_rows_left = site_rows;
	}
	v->site = site % NSITES;
	v->npages = 1 + NPAGES / (1 + (int64_t) (mix64((uint64_t) site) % 400));
	v->second = FIRST_SECOND + (int64_t) ((1.0 - (double) site_rows_left / (double) site_rows) * NSECONDS);
	v->user = (int64_t) mix64((uint64_t) zipf(1 + rows / 6) + (uint64_t) (place * 100) * 1000003);

	/* A user keeps his device, place and age. */
	u = mix64((uint64_t) v->user);
	v->unique_id = u % 10 < 4 ? 0 : (int64_t) mix64(u);
	v->ip = (int64_t) (int32_t) mix64(u + 1);
	v->region = (int64_t) (u >> 8 & 255) * (int64_t) (u >> 16 & 255) / 100 + 1;
	v->browser = (int64_t) (u >> 24 & 15) * (int64_t) (u >> 28 & 15) / 3;
	v->os = (int64_t) (u >> 32 & 7) * (int64_t) (u >> 35 & 7);
	v->is_mobile = (u >> 40) % 100 < 6;
	v->screen = (int64_t) (u >> 44 & 15) * (int64_t) (u >> 48 & 15) / 24;
	v->age = (u >> 52) % 3 ? (int64_t) (18 + (u >> 54) % 40) : 0;
	v->referer_page = chance(35) ? -1 : chance(40) ? -2 : zipf(v->npages);
	v->phrase = v->referer_page == -2 ? zipf(rows / 10 + 10) : -1;
	v->campaign = chance(3) ? zipf(50) : -1;
	v->charset = v->site % 4 == 0;

	site_rows_left -= 8;
}

static void
put_timings(void)
{
	if (chance(60))
	{
		put_zeros(6);
		return;
	}
	put_int(0);
	put_int(chance(70) ? 0 : rnd(1, 300));
	put_int(chance(50) ? 0 : rnd(1, 200));
	put_int(rnd(20, 2000));
	put_int(rnd(0, 800));
	put_int(rnd(100, 9000));
}

/* Columns 1 to 36: the event, the user, the page, the browser. */
static void
put_first_part(const Visit *v, int64_t second, int64_t page)
{
	put_int((int64_t) (rnd64() >> 1));
	put_int(v->browser % 3 != 0);
	out_phrase((uint64_t) (v->site * NPAGES + page), 9);
	out_text(" - ");
	out_word((uint64_t) v->site);
	sep();
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
	out_url(v->site, page);
	if (chance(12))
	{
		/* Some links carry a number of their own. */
		out_text("#sid=");
		out_int(rnd(0, INT64_C(99999999999)));
	}
	sep();
	if (v->referer_page == -2)
	{
		out_text("http://yandex.ru/yandsearch?text=");
		out_phrase((uint64_t) v->phrase, 5);
		out_text("&lr=");
		out_int(v->region);
	}
	else if (v->referer_page >= 0)
		out_url(v->site, v->referer_page);
	sep();
	put_int(chance(10));
	put_int(v->referer_page < 0 ? 0 : v->site % 100);
	put_int(v->referer_page < 0 ? 0 : v->region);
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
put_second_part(const Visit *v, int64_t second, int64_t page)
{
	int			screen = (int) (v->screen % LENGTH_OF(widths));

	put_int((v->ip & 0x3fffff) + 1000000);
	put_int(v->referer_page == -1 ? 0 : v->referer_page == -2 ? 2 : -1);
	put_int(v->referer_page == -2 ? 2 + v->phrase % 3 : 0);
	if (v->phrase >= 0)
		out_phrase((uint64_t) v->phrase, 5);
	sep();
	put_int(v->campaign >= 0 ? 2 : 0);
	put_int(0);
	put_int(widths[screen] - rnd(0, 3) * 17);
	put_int(heights[screen] - 100 - rnd(0, 9) * 9);
	put_int(135 + v->region % 7 * 15);
	out_timestamp(second + v->user % 4000 - 2000);
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
		out_url(v->site, page);
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
put_third_part(const Visit *v, int64_t second, int64_t page)
{
	out_timestamp(second + 14400);
	sep();
	put_int(v->age);
	put_int(v->age ? 1 + v->user % 2 * (v->user > 0) : 0);
	put_int(v->age ? 2 + (v->age > 30) : 0);
	put_int(v->age ? (int64_t) (mix64((uint64_t) v->user) % 16000) : 0);
	put_int((int64_t) (mix64((uint64_t) v->user + 5) % 60));
	put_int(v->ip ^ 0x1111);
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
		put_text(v->campaign % 2 ? "google" : "direct");
		put_text("cpc");
		out_word((uint64_t) v->campaign);
		sep();
		out_int(v->campaign * 7919);
		sep();
		out_phrase((uint64_t) v->campaign * 3, 3);
		sep();
	}
	else
		put_empty(5);
	put_empty(1);
	put_int(v->campaign >= 0 && v->campaign % 5 == 0);
	put_int((int64_t) mix64((uint64_t) (v->referer_page == -2 ? v->phrase : v->referer_page) + (uint64_t) v->site * 999983));
	put_int((int64_t) mix64((uint64_t) (v->site * NPAGES + page) + 9));
	out_int(v->site % 50 == 0 ? v->site : 0);
	out_char('\n');
}

int
main(int argc, char **argv)
{
	int64_t		rows = gen_start(argc, argv, ddl);
	int64_t		done = 0;
	Visit		visit = {0};

	while (done < rows)
	{
		int64_t		nhits = 1 + zipf(40);
		int64_t		second;

		next_visit(&visit, done, rows);
		second = visit.second;
		for (int64_t i = 0; i < nhits && done < rows; i++, done++)
		{
			int64_t		page = zipf(visit.npages);

			put_first_part(&visit, second, page);
			put_second_part(&visit, second, page);
			put_third_part(&visit, second, page);
			second += rnd(0, 120);
		}
	}
	out_flush();
	return 0;
}
