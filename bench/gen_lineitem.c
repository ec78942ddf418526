/*
 * gen_lineitem.c
 *		Rows of TPC-H's lineitem, with dbgen's distributions.
 *
 *		gen_lineitem rows [seed [scale]]
 *
 * 6001215 rows are scale factor 1.  Order keys are sparse (8 of every 32), an
 * order has 1 to 7 lines, extended prices follow from the part, flags from
 * the dates.  Comments are cut, as in dbgen, from a pool of text that follows
 * the specification's grammar.
 */
#include "gen_common.h"

#define POOL_SIZE		(4 << 20)
#define FIRST_ORDER_DAY 8035	/* 1992-01-01 */
#define LAST_ORDER_DAY	10440	/* 1998-08-02 */
#define CURRENT_DAY		9298	/* 1995-06-17 */

static const char ddl[] =
	"l_orderkey bigint not null,\n"
	"l_partkey integer not null,\n"
	"l_suppkey integer not null,\n"
	"l_linenumber integer not null,\n"
	"l_quantity numeric(15,2) not null,\n"
	"l_extendedprice numeric(15,2) not null,\n"
	"l_discount numeric(15,2) not null,\n"
	"l_tax numeric(15,2) not null,\n"
	"l_returnflag char(1) not null,\n"
	"l_linestatus char(1) not null,\n"
	"l_shipdate date not null,\n"
	"l_commitdate date not null,\n"
	"l_receiptdate date not null,\n"
	"l_shipinstruct char(25) not null,\n"
	"l_shipmode char(10) not null,\n"
	"l_comment varchar(44) not null";

static const char *const instructions[] = {
	"DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"
};
static const char *const modes[] = {
	"REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"
};
static const char *const nouns[] = {
	"packages", "requests", "accounts", "deposits", "foxes", "ideas",
	"theodolites", "pinto beans", "instructions", "dependencies", "excuses",
	"platelets", "asymptotes", "courts", "dolphins", "multipliers",
	"sauternes", "warthogs", "frets", "dinos", "attainments", "somas",
	"Tiresias", "patterns", "forges", "braids", "frays", "warhorses",
	"dugouts", "notornis", "epitaphs", "pearls", "tithes", "waters", "orbits",
	"gifts", "sheaves", "depths", "sentiments", "decoys", "realms", "pains",
	"grouches", "escapades", "hockey players"
};
static const char *const verbs[] = {
	"sleep", "wake", "are", "cajole", "haggle", "nag", "use", "boost",
	"affix", "detect", "integrate", "maintain", "nod", "was", "lose", "sublate",
	"solve", "thrash", "promise", "engage", "hinder", "print", "x-ray",
	"breach", "eat", "grow", "impress", "mold", "poach", "serve", "run",
	"dazzle", "snooze", "doze", "unwind", "kindle", "play", "hang", "believe",
	"doubt"
};
static const char *const adjectives[] = {
	"furious", "sly", "careful", "blithe", "quick", "fluffy", "slow", "quiet",
	"ruthless", "thin", "close", "dogged", "daring", "brave", "stealthy",
	"permanent", "enticing", "idle", "busy", "regular", "final", "ironic",
	"even", "bold", "silent", "special", "pending", "unusual", "express"
};
static const char *const adverbs[] = {
	"sometimes", "always", "never", "furiously", "slyly", "carefully",
	"blithely", "quickly", "fluffily", "slowly", "quietly", "ruthlessly",
	"thinly", "closely", "doggedly", "daringly", "bravely", "stealthily",
	"permanently", "enticingly", "idly", "busily", "regularly", "finally",
	"ironically", "evenly", "boldly", "silently"
};
static const char *const prepositions[] = {
	"about", "above", "according to", "across", "after", "against", "along",
	"among", "around", "at", "before", "between", "beneath", "beside",
	"during", "except", "for", "from", "in place of", "inside", "instead of",
	"into", "of", "on", "outside", "over", "past", "since", "through",
	"throughout", "to", "toward", "under", "until", "up", "upon", "without",
	"with", "within"
};

#define PICK(words) ((words)[rnd(0, (int64_t) (sizeof(words) / sizeof(*(words))) - 1)])

static char pool[POOL_SIZE + 256];

/* Append a word and a blank; returns the new end. */
static char *
append(char *p, const char *word)
{
	size_t		len = strlen(word);

	memcpy(p, word, len);
	p[len] = ' ';
	return p + len + 1;
}

/* Fill the pool with sentences. */
static void
make_pool(void)
{
	char	   *p = pool;

	while (p < pool + POOL_SIZE)
	{
		if (chance(40))
			p = append(p, PICK(adjectives));
		p = append(p, PICK(nouns));
		if (chance(30))
		{
			p = append(p, PICK(prepositions));
			p = append(p, "the");
			p = append(p, PICK(nouns));
		}
		p = append(p, PICK(verbs));
		if (chance(50))
			p = append(p, PICK(adverbs));
		if (chance(40))
		{
			p = append(p, PICK(prepositions));
			p = append(p, "the");
			p = append(p, PICK(adjectives));
			p = append(p, PICK(nouns));
		}
		/* The mark replaces the blank after the last word. */
		p = append(p - 1, chance(80) ? "." : chance(50) ? ";" : "?");
	}
}

static void
put_int(int64_t value)
{
	out_int(value);
	out_char('|');
}

static void
put_cents(int64_t cents)
{
	out_cents(cents);
	out_char('|');
}

static void
put_text(const char *text)
{
	out_text(text);
	out_char('|');
}

static void
put_date(int64_t day)
{
	out_date(day);
	out_char('|');
}

static void
put_line(int64_t order, int line, int64_t order_day, int64_t scale)
{
	int64_t		part = rnd(1, 200000 * scale);
	int64_t		nsuppliers = 10000 * scale;
	int64_t		supplier = (part + rnd(0, 3) * (nsuppliers / 4 + (part - 1) / nsuppliers)) % nsuppliers + 1;
	int64_t		quantity = rnd(1, 50);
	int64_t		price = 90000 + (part / 10) % 20001 + 100 * (part % 1000);
	int64_t		ship_day = order_day + rnd(1, 121);
	int64_t		receipt_day = ship_day + rnd(1, 30);
	const char *comment = pool + rnd(0, POOL_SIZE - 1);

	put_int(order);
	put_int(part);
	put_int(supplier);
	put_int(line);
	put_cents(quantity * 100);
	put_cents(quantity * price);
	put_cents(rnd(0, 10));
	put_cents(rnd(0, 8));
	put_text(receipt_day > CURRENT_DAY ? "N" : chance(50) ? "R" : "A");
	put_text(ship_day > CURRENT_DAY ? "O" : "F");
	put_date(ship_day);
	put_date(order_day + rnd(30, 90));
	put_date(receipt_day);
	put_text(PICK(instructions));
	put_text(PICK(modes));
	out_bytes(comment, (size_t) rnd(10, 43));
	out_char('\n');
}

int
main(int argc, char **argv)
{
	int64_t		rows = gen_start(argc, argv, ddl);
	int64_t		scale = argc > 3 ? atoll(argv[3]) : 1 + (rows - 1) / 6100000;
	int64_t		done = 0;

	make_pool();
	for (int64_t n = 0; done < rows; n++)
	{
		int64_t		order_day = rnd(FIRST_ORDER_DAY, LAST_ORDER_DAY);
		int			nlines = (int) rnd(1, 7);

		for (int line = 1; line <= nlines && done < rows; line++, done++)
			put_line(n / 8 * 32 + n % 8 + 1, line, order_day, scale);
	}
	out_flush();
	return 0;
}
