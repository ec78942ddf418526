/*
 * codec_bench.c
 *	  Bytes and nanoseconds a value.
 *
 * Usage: codec_bench [none|lz4|zstd [level [name]]]; name: only columns that begin so.  "decode" is
 * of values, "forms" of the cheaper forms that vectors have besides.  First one column for each
 * encoding, then columns that follow the rules of TPC-DS store_sales and TPC-H lineitem as their
 * generators state them (tickets of a dozen rows, 4.5 % nulls, money as products of uniform
 * values), then texts.  Times are the best of several rounds over 65,536 rows.
 */
#include "codec_gen.h"

#include <time.h>

#define ROWS		ZS_SEGMENT_ROWS
#ifndef ROUNDS
#define ROUNDS		7
#endif

static ZsEncoder enc;
static ZsVectorOut *out;
static ZsEncodeOptions options = {ZS_COMPRESSION_LZ4, 0};
static GenRandom rnd = {42};
static const char *wanted = "";

static double
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double) t.tv_sec * 1e9 + (double) t.tv_nsec;
}

/* What the vectors of a segment are encoded as, most frequent first letters. */
static void
describe(const ZsSegmentInfo *info, char *text, size_t size)
{
	uint32		counts[ZS_ENC_COUNT] = {0};
	uint32		npacked = 0;
	size_t		at = 0;

	text[0] = '\0';
	for (uint32 v = 0; v < info->nvectors; v++)
	{
		counts[info->vectors[v].encoding]++;
		npacked += info->vectors[v].compression != 0;
	}
	for (int e = 0; e < ZS_ENC_COUNT; e++)
	{
		if (counts[e] > 0 && at < size)
			at += (size_t) snprintf(text + at, size - at, "%s:%u ",
									zscodec_encoding_name((ZsEncoding) e), counts[e]);
	}
	if (npacked > 0 && at < size)
		snprintf(text + at, size - at, "packed:%u", npacked);
}

/* Encodes and decodes a column, prints a line; returns bytes a row. */
static double
measure(const char *name, const GenColumn *col)
{
	ZsCodecBuf	buf;
	ZsSegmentInfo info;
	ZsSharedState shared;
	double		encode = 1e18;
	double		decode = 1e18;
	double		forms = 1e18;
	double		one = 1e18;
	double		open = 1e18;
	uint64		sum = 0;
	char		text[120];
	const char *err = NULL;
	uint32		nrows = col->in.nrows;
	double		size;

	if (strncmp(name, wanted, strlen(wanted)) != 0)
		return 0;
	zscodec_buf_init(&buf, &gen_allocator);
	zscodec_shared_init(&shared, &gen_allocator);
	for (int round = 0; round < ROUNDS; round++)
	{
		double		t0 = now_ns();
		double		t1;
		double		t2;
		double		t3;
		double		t4;

		err = zscodec_segment_encode(&enc, &col->in, &options, &buf);
		t1 = now_ns();
		if (err == NULL)
			err = zscodec_segment_open(buf.data, buf.len, &info);
		if (err == NULL)
			err = zscodec_shared_open(&info, buf.data + info.shared_off, info.shared_len, &shared);
		t2 = now_ns();
		for (uint32 v = 0; v < info.nvectors && err == NULL; v++)
		{
			err = zscodec_vector_decode(&info, (int) v, buf.data + info.vectors[v].off,
										info.vectors[v].len, &shared, ZS_FORM_VALUES, out);
			sum += out->values[v];
		}
		t3 = now_ns();
		if (err == NULL)
			err = zscodec_shared_scale(&info, &shared);
		for (uint32 v = 0; v < info.nvectors && err == NULL; v++)
		{
			err = zscodec_vector_decode(&info, (int) v, buf.data + info.vectors[v].off,
										info.vectors[v].len, &shared,
										ZS_FORM_CODES | ZS_FORM_SCALED | ZS_FORM_LENGTHS |
										ZS_FORM_CONST, out);
			sum += out->have;
		}
		t4 = now_ns();
		for (uint32 v = 0; v < info.nvectors && err == NULL; v++)
		{
			err = zscodec_vector_decode_one(&info, (int) v, buf.data + info.vectors[v].off,
											info.vectors[v].len, &shared,
											(v * 37) % info.vectors[v].nrows, false, out);
		}
		if (err != NULL)
		{
			fprintf(stderr, "%s: %s\n", name, err);
			exit(1);
		}
		encode = Min(encode, t1 - t0);
		open = Min(open, t2 - t1);
		decode = Min(decode, t3 - t2);
		forms = Min(forms, t4 - t3);
		one = Min(one, now_ns() - t4);
	}
	describe(&info, text, sizeof(text));
	printf("%-22s %8.3f %7.1f %7.2f %7.2f %8.0f %6.1f  %s\n", name, (double) buf.len / nrows,
		   encode / nrows, decode / nrows, forms / nrows, one / info.nvectors, open / 1000, text);
	size = (double) buf.len / nrows;
	zscodec_shared_free(&shared);
	zscodec_buf_free(&buf);
	if (sum == 42)
		printf("\n");
	return size;
}

/* An empty column with room for ROWS rows. */
static void
start_column(GenColumn *col, ZsValueKind kind, int width)
{
	memset(col, 0, sizeof(*col));
	col->in.kind = kind;
	col->in.width = width;
	col->in.align = 1;
	col->isnull = calloc(ROWS, 1);
	if (kind < ZS_KIND_NUMERIC)
		col->ints = calloc(ROWS, sizeof(int64));
	else
	{
		col->offsets = calloc(ROWS + 1, sizeof(uint64));
		col->bytes = malloc(1);
	}
}

static void
add_int(GenColumn *col, int64 v)
{
	col->ints[col->in.nrows++] = v;
}

static void
add_bytes(GenColumn *col, const void *p, size_t len)
{
	col->in.nrows++;
	col->offsets[col->in.nrows] = col->offsets[col->in.nrows - 1];
	gen_append(col, p, len);
}

static void
add_numeric(GenColumn *col, int64 v, int scale)
{
	uint8		payload[64];
	size_t		len = gen_numeric(v, scale, scale, payload);

	add_bytes(col, payload, len);
}

static void
add_null(GenColumn *col)
{
	col->isnull[col->in.nrows] = 1;
	if (col->offsets != NULL)
		col->offsets[col->in.nrows + 1] = col->offsets[col->in.nrows];
	col->in.nrows++;
}

static double
finish_column(const char *name, GenColumn *col)
{
	double		size;

	col->in.isnull = memchr(col->isnull, 1, col->in.nrows) ? col->isnull : NULL;
	col->in.ints = col->ints;
	col->in.bytes = col->bytes;
	col->in.offsets = col->offsets;
	size = measure(name, col);
	gen_column_free(col);
	return size;
}

static int64
between(int64 low, int64 high)
{
	return low + (int64) gen_below(&rnd, (uint64) (high - low + 1));
}

static void
bench_encodings(void)
{
	static const char *const names[] = {
		"int4 constant", "int4 13 bits", "int8 40 bits", "int8 63 bits", "int4 sorted", "int4 runs of 12",
		"int8 200 values", "int4 2 % outliers", "timestamp seconds", "int4 20 % nulls", "bool"
	};
	GenColumn	col;

	for (int e = 0; e < 11; e++)
	{
		int64		v = 1000;

		start_column(&col, ZS_KIND_INT, e == 10 ? 1 : e == 2 || e == 3 || e == 6 || e == 8 ? 8 : 4);
		for (int i = 0; i < ROWS; i++)
		{
			switch (e)
			{
				case 1:
					v = between(0, 8000);
					break;
				case 2:
					v = between(0, INT64CONST(1) << 40);
					break;
				case 3:
					v = (int64) (gen_next(&rnd) >> 1);
					break;
				case 4:
					v += between(0, 6);
					break;
				case 5:
					if (gen_below(&rnd, 12) == 0)
						v = between(0, 100000);
					break;
				case 6:
					v = between(0, 199) * INT64CONST(7777777777) % 1000003;
					break;
				case 7:
					v = gen_chance(&rnd, 98) ? between(0, 100) : between(0, 1000000000);
					break;
				case 8:
					v = between(700000000, 700600000) * 1000000;
					break;
				case 9:
					v = between(0, 8000);
					break;
				case 10:
					v = between(0, 1);
					break;
			}
			if (e == 9 && gen_chance(&rnd, 20))
				add_null(&col);
			else
				add_int(&col, v);
		}
		finish_column(names[e], &col);
	}
	for (int e = 0; e < 3; e++)
	{
		start_column(&col, ZS_KIND_FLOAT8, 8);
		for (int i = 0; i < ROWS; i++)
		{
			double		d = e == 0 ? (double) between(0, 1000000) / 100 : e == 1 ?
				(double) gen_next(&rnd) * 1.23e-7 :
				(double) between(0, 50) / 7;
			int64		bits;

			memcpy(&bits, &d, 8);
			add_int(&col, bits);
		}
		finish_column(e == 0 ? "float8 decimals" : e == 1 ? "float8 noise" : "float8 51 values",
					  &col);
	}
}

/* One ticket's worth of state for store_sales. */
static double
bench_store_sales(void)
{
	static const char *const names[23] = {
		"ss_sold_date_sk", "ss_sold_time_sk", "ss_item_sk", "ss_customer_sk", "ss_cdemo_sk", "ss_hdemo_sk",
		"ss_addr_sk", "ss_store_sk", "ss_promo_sk", "ss_ticket_number", "ss_quantity", "ss_wholesale_cost",
		"ss_list_price", "ss_sales_price", "ss_ext_discount", "ss_ext_sales_price", "ss_ext_wholesale",
		"ss_ext_list_price", "ss_ext_tax", "ss_coupon_amt", "ss_net_paid", "ss_net_paid_tax", "ss_net_profit"
	};
	GenColumn	cols[23];
	int64		ticket = 100000;
	int64		left = 0;
	int64		date = 2450816;
	int64		keys[8] = {0};
	double		total = 0;

	for (int c = 0; c < 23; c++)
		start_column(&cols[c], c < 11 ? ZS_KIND_INT : ZS_KIND_NUMERIC,
					 c < 11 ? (c == 9 ? 8 : 4) : 0);
	for (int i = 0; i < ROWS; i++)
	{
		int64		v[23];
		bool		has_nulls = gen_chance(&rnd, 9);
		uint64		null_bits = gen_next(&rnd);

		if (left-- <= 0)
		{
			ticket++;
			left = between(8, 16) - 1;
			if (gen_chance(&rnd, 1))
				date++;
			keys[0] = date;
			keys[1] = between(28800, 75599);
			keys[3] = between(1, 144000);
			keys[4] = between(1, 1920800);
			keys[5] = between(1, 7200);
			keys[6] = between(1, 72000);
			keys[7] = between(1, 11) * 2;
		}
		memcpy(v, keys, sizeof(keys));
		v[2] = between(1, 26000);
		v[8] = between(1, 345);
		v[9] = ticket;
		v[10] = between(1, 100);
		v[11] = between(100, 10000);
		v[12] = v[11] * (100 + between(0, 100)) / 100;
		v[13] = v[12] * (100 - between(0, 100)) / 100;
		v[15] = v[13] * v[10];
		v[16] = v[11] * v[10];
		v[17] = v[12] * v[10];
		v[14] = v[19] = gen_chance(&rnd, 20) ? v[15] * between(0, 100) / 100 : 0;
		v[20] = v[15] - v[19];
		v[18] = v[20] * between(0, 9) / 100;
		v[21] = v[20] + v[18];
		v[22] = v[20] - v[16];
		for (int c = 0; c < 23; c++)
		{
			if (has_nulls && c != 2 && c != 9 && (null_bits >> c) & 1)
				add_null(&cols[c]);
			else if (c < 11)
				add_int(&cols[c], v[c]);
			else
				add_numeric(&cols[c], v[c], 2);
		}
	}
	for (int c = 0; c < 23; c++)
		total += finish_column(names[c], &cols[c]);
	return total;
}

/* A comment in the manner of TPC-H. */
static void
add_comment(GenColumn *col, int max_len)
{
	static const char *const words[] = {
		"furiously", "quickly", "carefully", "blithely", "slyly", "regular", "special", "pending", "final", "ironic",
		"express", "bold", "even", "silent", "unusual", "deposits", "requests", "accounts", "packages", "ideas",
		"foxes", "pinto beans", "theodolites", "instructions", "dependencies", "excuses", "platelets", "asymptotes",
		"sleep", "haggle", "nag", "wake", "cajole", "use", "boost", "detect", "integrate", "engage", "along the",
		"among the", "after the", "about the", "according to the", "above the", "across the"
	};
	char		text[256];
	size_t		len = 0;
	size_t		want = (size_t) between(10, max_len);
	size_t		start = gen_below(&rnd, 8);

	while (len < want + start)
		len += (size_t) snprintf(text + len, sizeof(text) - len, "%s ", words[gen_below(&rnd, 45)]);
	add_bytes(col, text + start, want);
}

static double
bench_lineitem(void)
{
	static const char *const names[16] = {
		"l_orderkey", "l_partkey", "l_suppkey", "l_linenumber", "l_quantity", "l_extendedprice", "l_discount", "l_tax",
		"l_returnflag", "l_linestatus", "l_shipdate", "l_commitdate", "l_receiptdate", "l_shipinstruct",
		"l_shipmode", "l_comment"
	};
	static const char *const instructs[] = {
		"DELIVER IN PERSON        ", "COLLECT COD              ", "NONE                     ", "TAKE BACK RETURN         "
	};
	static const char *const modes[] = {
		"REG AIR   ", "AIR       ", "RAIL      ", "SHIP      ", "TRUCK     ", "MAIL      ", "FOB       "
	};
	GenColumn	cols[16];
	int64		order = 1;
	int64		line = 1;
	int64		nlines = 4;
	int64		order_date = 0;
	double		total = 0;

	for (int c = 0; c < 16; c++)
		start_column(&cols[c], c < 4 || (c >= 10 && c <= 12) ? ZS_KIND_INT : c < 8 ?
					 ZS_KIND_NUMERIC : ZS_KIND_BYTES, c == 0 ? 8 : 4);
	for (int i = 0; i < ROWS; i++)
	{
		int64		quantity = between(1, 50);
		int64		part = between(1, 200000);
		int64		ship;
		int64		receipt;

		if (line > nlines)
		{
			line = 1;
			nlines = between(1, 7);
			order++;
			if (order % 32 >= 8)
				order += 32 - order % 32;
			order_date = between(-2922, -518);
		}
		ship = order_date + between(1, 121);
		receipt = ship + between(1, 30);
		add_int(&cols[0], order);
		add_int(&cols[1], part);
		add_int(&cols[2], between(1, 10000));
		add_int(&cols[3], line++);
		add_numeric(&cols[4], quantity * 100, 2);
		add_numeric(&cols[5], quantity * (90000 + (part / 10) % 20001 + 100 * (part % 1000)), 2);
		add_numeric(&cols[6], between(0, 10), 2);
		add_numeric(&cols[7], between(0, 8), 2);
		add_bytes(&cols[8], receipt <= -1658 ? (gen_chance(&rnd, 50) ? "R" : "A") : "N", 1);
		add_bytes(&cols[9], ship > -1658 ? "O" : "F", 1);
		add_int(&cols[10], ship);
		add_int(&cols[11], order_date + between(30, 90));
		add_int(&cols[12], receipt);
		add_bytes(&cols[13], instructs[gen_below(&rnd, 4)], 25);
		add_bytes(&cols[14], modes[gen_below(&rnd, 7)], 10);
		add_comment(&cols[15], 43);
	}
	for (int c = 0; c < 16; c++)
		total += finish_column(names[c], &cols[c]);
	return total;
}

/* Addresses with repeated hosts and paths, partly the same. */
static void
add_url(GenColumn *col)
{
	static const char *const hosts[] = {
		"http://irr.ru/index.php?showalbum/login-", "http://komme.ru/realty/search?", "http://afisha.mail.ru/catalog/",
		"https://produkty.pulove.ru/album/", "http://smeshariki.ru/GameMain.aspx?", "http://auto_repair.ru/odessa/"
	};
	char		text[400];
	uint64		page = gen_below(&rnd, 60000);
	uint64		h;
	int			len;

	page = page * page / 60000;
	h = page * UINT64CONST(0x9E3779B97F4A7C15);
	len = snprintf(text, sizeof(text), "%s%llu%s%llu", hosts[h % 6], (unsigned long long) (h >> 40),
				   (h >> 8) & 1 ? ".html?action=details&id=" : "/page_type=photo&state=",
				   (unsigned long long) page);
	add_bytes(col, text, (size_t) len);
}

static void
bench_strings(void)
{
	GenColumn	col;

	for (int e = 0; e < 7; e++)
	{
		start_column(&col, e == 3 ? ZS_KIND_FIXED : ZS_KIND_BYTES, e == 3 ? 16 : 0);
		for (int i = 0; i < ROWS; i++)
		{
			char		text[64];
			uint64		noise[2] = {gen_next(&rnd), gen_next(&rnd)};

			switch (e)
			{
				case 0:
					add_bytes(&col, text,
							  (size_t) snprintf(text, sizeof(text), "Customer#%09d", i));
					break;
				case 1:
					add_url(&col);
					break;
				case 2:
					add_comment(&col, 200);
					break;
				case 3:
					add_bytes(&col, noise, 16);
					break;
				case 4:
					add_bytes(&col, text,
							  (size_t) snprintf(text, sizeof(text), "%d.%d@mail%d.example.org",
															(int) between(0, 99999),
												(int) between(0, 99), (int) between(1, 9)));
					break;
				case 5:
					add_bytes(&col, text, (size_t) snprintf(text, sizeof(text), "%016llx%016llx",
															(unsigned long long) noise[0],
															(unsigned long long) noise[1]));
					break;
				default:
					if (gen_chance(&rnd, 90))
						add_bytes(&col, "", 0);
					else
						add_url(&col);
			}
		}
		finish_column((const char *[]) {"Customer#", "url", "comment 200", "uuid", "e-mail", "md5",
										"url, 90 % empty"}[e], &col);
	}
}

int
main(int argc, char **argv)
{
	double		store_sales;
	double		lineitem;

	if (argc > 1)
		options.compression = strcmp(argv[1], "zstd") == 0 ? ZS_COMPRESSION_ZSTD :
			strcmp(argv[1], "none") == 0 ? ZS_COMPRESSION_NONE : ZS_COMPRESSION_LZ4;
	if (argc > 2)
		options.level = atoi(argv[2]);
	if (argc > 3)
		wanted = argv[3];
	out = malloc(sizeof(ZsVectorOut));
	zscodec_vector_init(out, &gen_allocator);
	zscodec_encoder_init(&enc, &gen_allocator);
	printf("%-22s %8s %7s %7s %7s %8s %6s  encodings of the vectors, %s\n", "", "bytes/", "encode",
		   "decode", "forms", "one", "open",
		   zscodec_compression_name(options.compression));
	printf("%-22s %8s %7s %7s %7s %8s %6s\n", "column", "row", "ns/row", "ns/row", "ns/row", "ns",
		   "us");
	bench_encodings();
	store_sales = bench_store_sales();
	lineitem = bench_lineitem();
	bench_strings();
	printf("store_sales %.2f bytes/row, lineitem %.2f bytes/row\n", store_sales, lineitem);
	zscodec_encoder_free(&enc);
	zscodec_vector_free(out);
	free(out);
	return 0;
}
