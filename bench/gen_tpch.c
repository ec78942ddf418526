/*
 * gen_tpch.c
 *		Rows of TPC-H's tables, with dbgen's distributions.
 *
 *		gen_tpch --ddl table
 *		gen_tpch table scale [seed]
 *
 * The scale may be a fraction.  Keys, sizes, domains and the rules by which columns follow from
 * each other are the specification's: order keys are sparse (8 of every 32), two of three customers
 * have orders, each part has four suppliers, prices follow from the part, flags from dates.  Rows
 * are not those of dbgen: the random numbers differ. Comments are cut, as there, from a pool of
 * text that follows the specification's grammar.
 */
#include "gen_tpch_text.h"

static const char *const regions[] = {"AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"};
static const struct
{
	const char *name;
	int			region;
}			nations[] = {
	{"ALGERIA", 0}, {"ARGENTINA", 1}, {"BRAZIL", 1}, {"CANADA", 1}, {"EGYPT", 4},
	{"ETHIOPIA", 0}, {"FRANCE", 3}, {"GERMANY", 3}, {"INDIA", 2}, {"INDONESIA", 2},
	{"IRAN", 4}, {"IRAQ", 4}, {"JAPAN", 2}, {"JORDAN", 4}, {"KENYA", 0},
	{"MOROCCO", 0}, {"MOZAMBIQUE", 0}, {"PERU", 1}, {"CHINA", 2}, {"ROMANIA", 3},
	{"SAUDI ARABIA", 4}, {"VIETNAM", 2}, {"RUSSIA", 3}, {"UNITED KINGDOM", 3},
	{"UNITED STATES", 1}
};
static const char *const colors[] = {
	"almond", "antique", "aquamarine", "azure", "beige", "bisque", "black", "blanched", "blue",
	"blush", "brown", "burlywood", "burnished", "chartreuse", "chiffon", "chocolate", "coral",
	"cornflower", "cornsilk", "cream", "cyan", "dark", "deep", "dim", "dodger", "drab",
	"firebrick", "floral", "forest", "frosted", "gainsboro", "ghost", "goldenrod", "green",
	"grey", "honeydew", "hot", "indian", "ivory", "khaki", "lace", "lavender", "lawn", "lemon",
	"light", "lime", "linen", "magenta", "maroon", "medium", "metallic", "midnight", "mint",
	"misty", "moccasin", "navajo", "navy", "olive", "orange", "orchid", "pale", "papaya",
	"peach", "peru", "pink", "plum", "powder", "puff", "purple", "red", "rose", "rosy", "royal",
	"saddle", "salmon", "sandy", "seashell", "sienna", "sky", "slate", "smoke", "snow",
	"spring", "steel", "tan", "thistle", "tomato", "turquoise", "violet", "wheat", "white",
	"yellow"
};
static const char *const type1[] = {"STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"};
static const char *const type2[] = {"ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"};
static const char *const type3[] = {"TIN", "NICKEL", "BRASS", "STEEL", "COPPER"};
static const char *const container1[] = {"SM", "LG", "MED", "JUMBO", "WRAP"};
static const char *const container2[] = {"CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM"};
static const char *const segments[] = {
	"AUTOMOBILE", "BUILDING", "FURNITURE", "MACHINERY", "HOUSEHOLD"
};
static const char *const priorities[] = {
	"1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"
};

static double scale;

static int64_t
scaled(int64_t rows)
{
	int64_t		n = (int64_t) (rows * scale + 0.5);

	return n > 0 ? n : 1;
}

static void
put_comment(int min, int max)
{
	const char *comment = pool + rnd(0, POOL_SIZE - 256);

	out_bytes(comment, (size_t) rnd(min, max));
	out_char('\n');
}

/* A name such as Customer#000000001. */
static void
put_name(const char *what, int64_t key)
{
	char		buf[64];

	snprintf(buf, sizeof(buf), "%s#%09lld", what, (long long) key);
	put_text(buf);
}

static void
put_address(void)
{
	static const char letters[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ, ";
	int			len = (int) rnd(10, 40);

	for (int i = 0; i < len; i++)
		out_char(letters[rnd(0, (int64_t) sizeof(letters) - 2)]);
	out_char('|');
}

static void
put_nation_and_phone(void)
{
	int			nation = (int) rnd(0, 24);
	char		buf[32];

	put_int(nation);
	snprintf(buf, sizeof(buf), "%d-%d-%d-%d", nation + 10, (int) rnd(100, 999), (int) rnd(100, 999),
			 (int) rnd(1000, 9999));
	put_text(buf);
}

static int64_t
retail_price(int64_t part)
{
	return 90000 + (part / 10) % 20001 + 100 * (part % 1000);
}

/* Number i, from 0, of a part's four suppliers. */
static int64_t
supplier_of(int64_t part, int64_t i)
{
	int64_t		n = scaled(10000);

	return (part + i * (n / 4 + (part - 1) / n)) % n + 1;
}

static void
make_region(void)
{
	for (int i = 0; i < 5; i++)
	{
		put_int(i);
		put_text(regions[i]);
		put_comment(31, 115);
	}
}

static void
make_nation(void)
{
	for (int i = 0; i < 25; i++)
	{
		put_int(i);
		put_text(nations[i].name);
		put_int(nations[i].region);
		put_comment(31, 114);
	}
}

static void
make_supplier(void)
{
	for (int64_t key = 1; key <= scaled(10000); key++)
	{
		put_int(key);
		put_name("Supplier", key);
		put_address();
		put_nation_and_phone();
		put_cents(rnd(-99999, 999999));

		/* ten of 10000 are talked about */
		if (key % 1000 == 17)
		{
			out_text("Customer ");
			out_bytes(pool + rnd(0, POOL_SIZE - 256), 12);
			out_text(key % 2000 == 17 ? " Complaints" : " Recommends");
		}
		put_comment(25, 60);
	}
}

static void
make_part(void)
{
	for (int64_t key = 1; key <= scaled(200000); key++)
	{
		int			maker = (int) rnd(1, 5);
		char		buf[64];

		put_int(key);
		for (int i = 0; i < 5; i++)
		{
			if (i > 0)
				out_char(' ');
			out_text(PICK(colors));
		}
		out_char('|');
		snprintf(buf, sizeof(buf), "Manufacturer#%d|Brand#%d%d", maker, maker, (int) rnd(1, 5));
		put_text(buf);
		out_text(PICK(type1));
		out_char(' ');
		out_text(PICK(type2));
		out_char(' ');
		put_text(PICK(type3));
		put_int(rnd(1, 50));
		out_text(PICK(container1));
		out_char(' ');
		put_text(PICK(container2));
		put_cents(retail_price(key));
		put_comment(5, 22);
	}
}

static void
make_partsupp(void)
{
	for (int64_t part = 1; part <= scaled(200000); part++)
	{
		for (int i = 0; i < 4; i++)
		{
			put_int(part);
			put_int(supplier_of(part, i));
			put_int(rnd(1, 9999));
			put_cents(rnd(100, 100000));
			put_comment(49, 198);
		}
	}
}

static void
make_customer(void)
{
	for (int64_t key = 1; key <= scaled(150000); key++)
	{
		put_int(key);
		put_name("Customer", key);
		put_address();
		put_nation_and_phone();
		put_cents(rnd(-99999, 999999));
		put_text(PICK(segments));
		put_comment(29, 116);
	}
}

/* Order number n, from 0: its lines, or the order itself, which follows from them. */
static void
make_order(uint64_t seed, int64_t n, int want_lines)
{
	int64_t		key = n / 8 * 32 + n % 8 + 1;
	int64_t		order_day;
	int64_t		customer;
	int64_t		ncustomers = scaled(150000);
	int64_t		total = 0;
	int			nlines;
	int			nshipped = 0;

	rng_state = mix64(seed + mix64((uint64_t) n));
	order_day = rnd(FIRST_ORDER_DAY, LAST_ORDER_DAY);
	nlines = (int) rnd(1, 7);
	do
		customer = rnd(1, ncustomers);
	while (customer % 3 == 0 && ncustomers > 1);
	for (int line = 1; line <= nlines; line++)
	{
		int64_t		part = rnd(1, scaled(200000));
		int64_t		supplier = supplier_of(part, rnd(0, 3));
		int64_t		quantity = rnd(1, 50);
		int64_t		price = quantity * retail_price(part);
		int64_t		discount = rnd(0, 10);
		int64_t		tax = rnd(0, 8);
		int64_t		ship_day = order_day + rnd(1, 121);
		int64_t		commit_day = order_day + rnd(30, 90);
		int64_t		receipt_day = ship_day + rnd(1, 30);
		int			returned = chance(50);

		total += price * (100 - discount) / 100 * (100 + tax) / 100;
		nshipped += ship_day <= CURRENT_DAY;
		if (!want_lines)
			continue;
		put_int(key);
		put_int(part);
		put_int(supplier);
		put_int(line);
		put_cents(quantity * 100);
		put_cents(price);
		put_cents(discount);
		put_cents(tax);
		put_text(receipt_day > CURRENT_DAY ? "N" : returned ? "R" : "A");
		put_text(ship_day > CURRENT_DAY ? "O" : "F");
		put_date(ship_day);
		put_date(commit_day);
		put_date(receipt_day);

		/* these do not tell of the order, so they need not be made for it */
		{
			uint64_t	saved = rng_state;

			rng_state = mix64(saved);
			put_text(PICK(instructions));
			put_text(PICK(modes));
			put_comment(10, 43);
			rng_state = saved;
		}
	}
	if (want_lines)
		return;
	put_int(key);
	put_int(customer);
	put_text(nshipped == nlines ? "F" : nshipped == 0 ? "O" : "P");
	put_cents(total);
	put_date(order_day);
	put_text(PICK(priorities));
	put_name("Clerk", rnd(1, scaled(1000)));
	put_int(0);
	put_comment(19, 78);
}

static const struct
{
	const char *name;
	const char *ddl;
	void		(*make) (void);
}			tables[] = {
	{"region", "r_regionkey integer not null, r_name char(25) not null, r_comment varchar(152)",
	 make_region},
	{"nation", "n_nationkey integer not null, n_name char(25) not null, n_regionkey integer not null, "
	"n_comment varchar(152)", make_nation},
	{"supplier", "s_suppkey integer not null, s_name char(25) not null, s_address varchar(40) not null, "
		"s_nationkey integer not null, s_phone char(15) not null, s_acctbal numeric(15,2) not null, "
	"s_comment varchar(101) not null", make_supplier},
	{"part", "p_partkey integer not null, p_name varchar(55) not null, p_mfgr char(25) not null, "
		"p_brand char(10) not null, p_type varchar(25) not null, p_size integer not null, "
		"p_container char(10) not null, p_retailprice numeric(15,2) not null, "
	"p_comment varchar(23) not null", make_part},
	{"partsupp", "ps_partkey integer not null, ps_suppkey integer not null, ps_availqty integer not null, "
	"ps_supplycost numeric(15,2) not null, ps_comment varchar(199) not null", make_partsupp},
	{"customer", "c_custkey integer not null, c_name varchar(25) not null, c_address varchar(40) not null, "
		"c_nationkey integer not null, c_phone char(15) not null, c_acctbal numeric(15,2) not null, "
	"c_mktsegment char(10) not null, c_comment varchar(117) not null", make_customer},
	{"orders", "o_orderkey bigint not null, o_custkey integer not null, o_orderstatus char(1) not null, "
		"o_totalprice numeric(15,2) not null, o_orderdate date not null, o_orderpriority char(15) not null, "
	"o_clerk char(15) not null, o_shippriority integer not null, o_comment varchar(79) not null", NULL},
	{"lineitem", "l_orderkey bigint not null, l_partkey integer not null, l_suppkey integer not null, "
		"l_linenumber integer not null, l_quantity numeric(15,2) not null, "
		"l_extendedprice numeric(15,2) not null, l_discount numeric(15,2) not null, "
		"l_tax numeric(15,2) not null, l_returnflag char(1) not null, l_linestatus char(1) not null, "
		"l_shipdate date not null, l_commitdate date not null, l_receiptdate date not null, "
		"l_shipinstruct char(25) not null, l_shipmode char(10) not null, "
	"l_comment varchar(44) not null", NULL},
};

int
main(int argc, char **argv)
{
	int			ddl = argc == 3 && strcmp(argv[1], "--ddl") == 0;
	const char *name = argc > 1 ? argv[ddl ? 2 : 1] : "";
	uint64_t	seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
	int			t;

	for (t = 0; t < (int) (sizeof(tables) / sizeof(*tables)); t++)
	{
		if (strcmp(tables[t].name, name) == 0)
			break;
	}
	if (t < (int) (sizeof(tables) / sizeof(*tables)) && ddl)
	{
		puts(tables[t].ddl);
		return 0;
	}
	scale = argc > 2 ? atof(argv[2]) : 0;
	if (t == (int) (sizeof(tables) / sizeof(*tables)) || !(scale > 0))
	{
		fprintf(stderr, "usage: %s --ddl table | table scale [seed]\n", argv[0]);
		return 2;
	}
	rng_state = mix64(seed);
	make_pool();
	rng_state = mix64(seed + (uint64_t) t);
	if (tables[t].make != NULL)
		tables[t].make();
	else
	{
		for (int64_t n = 0; n < scaled(1500000); n++)
			make_order(seed, n, strcmp(name, "lineitem") == 0);
	}
	out_flush();
	return 0;
}
