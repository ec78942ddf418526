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
#include "gen_tpch_text.h"

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

static void
put_line(int64_t order, int line, int64_t order_day, int64_t scale)
{
	int64_t		part = rnd(1, 200000 * scale);
	int64_t		nsuppliers = 10000 * scale;
	int64_t		supplier =
		(part + rnd(0, 3) * (nsuppliers / 4 + (part - 1) / nsuppliers)) % nsuppliers + 1;
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
