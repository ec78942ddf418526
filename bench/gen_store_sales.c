/*
 * gen_store_sales.c
 *		Rows of TPC-DS's store_sales, in the structure that dsdgen gives them.
 *
 *		gen_store_sales rows [seed [first_ticket [scale]]]
 *
 * A ticket of 8 to 16 items shares customer, demographics, address, store,
 * date and time.  Tickets come in the order of their dates, five years with
 * more sales towards the end of each.  An item does not repeat in a ticket.
 * As in dsdgen, NULLs come by row: nine rows of a hundred lose about half of
 * their columns that may be NULL.  Prices follow the specification's chain
 * from wholesale cost to net profit.
 */
#include "gen_common.h"

#define FIRST_DATE	2450816		/* Julian day of 1998-01-02 */
#define NDATES		1827
#define MAX_ITEMS	16

static const char ddl[] =
	"ss_sold_date_sk integer,\n"
	"ss_sold_time_sk integer,\n"
	"ss_item_sk integer not null,\n"
	"ss_customer_sk integer,\n"
	"ss_cdemo_sk integer,\n"
	"ss_hdemo_sk integer,\n"
	"ss_addr_sk integer,\n"
	"ss_store_sk integer,\n"
	"ss_promo_sk integer,\n"
	"ss_ticket_number bigint not null,\n"
	"ss_quantity integer,\n"
	"ss_wholesale_cost numeric(7,2),\n"
	"ss_list_price numeric(7,2),\n"
	"ss_sales_price numeric(7,2),\n"
	"ss_ext_discount_amt numeric(7,2),\n"
	"ss_ext_sales_price numeric(7,2),\n"
	"ss_ext_wholesale_cost numeric(7,2),\n"
	"ss_ext_list_price numeric(7,2),\n"
	"ss_ext_tax numeric(7,2),\n"
	"ss_coupon_amt numeric(7,2),\n"
	"ss_net_paid numeric(7,2),\n"
	"ss_net_paid_inc_tax numeric(7,2),\n"
	"ss_net_profit numeric(7,2)";

/* What the rows of a ticket have in common, in the order of the columns. */
typedef struct Ticket
{
	int64_t		date,
				time,
				customer,
				cdemo,
				hdemo,
				addr,
				store,
				number;
} Ticket;

/* Relative sales of a month: low until July, then medium, high at the end. */
static const int month_weight[12] = {10, 10, 10, 10, 10, 10, 10, 17, 17, 17, 27, 27};

/* Columns of the current row that are NULL, a bit per column. */
static uint32_t null_columns;
static int	column;

static void
begin_value(void)
{
	if (column > 0)
		out_char('|');
}

static int
is_null(void)
{
	begin_value();
	if ((null_columns & (1u << column++)) == 0)
		return 0;
	out_text("\\N");
	return 1;
}

static void
put_int(int64_t value)
{
	if (!is_null())
		out_int(value);
}

static void
put_money(int64_t cents)
{
	if (!is_null())
		out_cents(cents);
}

/* Product of money and a share given in hundredths, rounded. */
static int64_t
share_of(int64_t cents, int64_t hundredths)
{
	return (cents * hundredths + 50) / 100;
}

static void
put_prices(void)
{
	int64_t		quantity = rnd(1, 100);
	int64_t		wholesale = rnd(100, 10000);
	int64_t		list = wholesale + share_of(wholesale, rnd(0, 100));
	int64_t		sales = list - share_of(list, rnd(0, 100));
	int64_t		ext_sales = sales * quantity;
	int64_t		coupon = chance(20) ? share_of(ext_sales, rnd(0, 100)) : 0;
	int64_t		net_paid = ext_sales - coupon;
	int64_t		tax = share_of(net_paid, rnd(0, 9));

	put_int(quantity);
	put_money(wholesale);
	put_money(list);
	put_money(sales);
	put_money((list - sales) * quantity);
	put_money(ext_sales);
	put_money(wholesale * quantity);
	put_money(list * quantity);
	put_money(tax);
	put_money(coupon);
	put_money(net_paid);
	put_money(net_paid + tax);
	put_money(net_paid - wholesale * quantity);
}

static void
put_row(const Ticket *ticket, int64_t item)
{
	column = 0;
	null_columns = chance(9) ? (uint32_t) rnd64() : 0;
	null_columns &= ~((1u << 2) | (1u << 9));	/* item and ticket: NOT NULL */

	put_int(ticket->date);
	put_int(ticket->time);
	put_int(item);
	put_int(ticket->customer);
	put_int(ticket->cdemo);
	put_int(ticket->hdemo);
	put_int(ticket->addr);
	put_int(ticket->store);
	put_int(rnd(1, 300));
	put_int(ticket->number);
	put_prices();
	out_char('\n');
}

/* A random item that is not among the n given ones. */
static int64_t
choose_item(const int64_t *items, int n, int64_t nitems)
{
	for (;;)
	{
		int64_t		item = rnd(1, nitems);
		int			i;

		for (i = 0; i < n && items[i] != item; i++)
			;
		if (i == n)
			return item;
	}
}

int
main(int argc, char **argv)
{
	int64_t		rows = gen_start(argc, argv, ddl);
	int64_t		first_ticket = argc > 3 ? atoll(argv[3]) : 1;
	int64_t		scale = argc > 4 ? atoll(argv[4]) : 1 + (rows - 1) / 2880000;
	int64_t		day = 0,
				done = 0;
	double		total_weight = 0,
				reached = 0;
	Ticket		ticket;

	for (int64_t i = 0; i < NDATES; i++)
		total_weight += month_weight[i % 365 * 12 / 365];

	for (ticket.number = first_ticket; done < rows; ticket.number++)
	{
		int			nitems = (int) rnd(8, 16);
		int64_t		items[MAX_ITEMS];

		/* Move on to the day that has its share of the rows still to come. */
		while (day < NDATES - 1 &&
			   reached + month_weight[day % 365 * 12 / 365] <=
			   total_weight * (double) done / (double) rows)
			reached += month_weight[day++ % 365 * 12 / 365];
		ticket.date = FIRST_DATE + day;
		ticket.time = rnd(28800, 75599);
		ticket.customer = rnd(1, 100000 * scale);
		ticket.cdemo = rnd(1, 1920800);
		ticket.hdemo = rnd(1, 7200);
		ticket.addr = rnd(1, 50000 * scale);
		ticket.store = 2 * rnd(1, 6 * scale) - rnd(0, 1) * (ticket.number % 2);
		for (int i = 0; i < nitems && done < rows; i++, done++)
		{
			items[i] = choose_item(items, i, 18000 * scale);
			put_row(&ticket, items[i]);
		}
	}
	out_flush();
	return 0;
}
