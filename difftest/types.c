/*
 * types.c
 *		Column types and values of them.
 *
 * Values come from small sets, so that comparisons find something, from whole
 * ranges, and from their ends.
 */
#include "difftest.h"

enum
{
	K_BOOL, K_INT2, K_INT4, K_INT8, K_FLOAT4, K_FLOAT8, K_NUMERIC, K_NUMERIC_12_3, K_TEXT, K_TEXT_C, K_VARCHAR,
	K_BPCHAR, K_NAME, K_BYTEA, K_DATE, K_TIME, K_TIMETZ, K_TIMESTAMP, K_TIMESTAMPTZ, K_INTERVAL, K_UUID, K_INET,
	K_CIDR, K_MACADDR, K_BIT, K_VARBIT, K_JSONB, K_JSON, K_INT4ARRAY, K_TEXTARRAY, K_NUMERICARRAY, K_INT4RANGE,
	K_TSRANGE, K_INT4MULTIRANGE, K_TSVECTOR, K_MONEY, K_POINT, K_BOX, K_OID, K_PGLSN, K_CHAR, K_ENUM, K_DOMINT,
	K_DOMTEXT, K_PAIR, K_PAIRARRAY
};

const Type	types[] = {
	{"boolean", T_BTREE | T_HASH, K_BOOL},
	{"smallint", T_BTREE | T_HASH | T_NUMBER | T_MINMAX, K_INT2},
	{"integer", T_BTREE | T_HASH | T_NUMBER | T_MINMAX, K_INT4},
	{"bigint", T_BTREE | T_HASH | T_NUMBER | T_MINMAX, K_INT8},
	{"real", T_BTREE | T_HASH | T_INEXACT, K_FLOAT4},
	{"double precision", T_BTREE | T_HASH | T_INEXACT, K_FLOAT8},
	{"numeric", T_BTREE | T_HASH | T_INEXACT, K_NUMERIC},
	{"numeric(12,3)", T_BTREE | T_HASH | T_MINMAX, K_NUMERIC_12_3},
	{"text", T_BTREE | T_HASH | T_TEXT | T_MINMAX, K_TEXT},
	{"character varying(40)", T_BTREE | T_HASH | T_TEXT | T_MINMAX, K_VARCHAR},
	{"character(8)", T_BTREE | T_HASH | T_TEXT | T_MINMAX, K_BPCHAR},
	{"name", T_BTREE | T_HASH | T_TEXT, K_NAME},
	{"bytea", T_BTREE | T_HASH, K_BYTEA},
	{"date", T_BTREE | T_HASH | T_MINMAX, K_DATE},
	{"time without time zone", T_BTREE | T_HASH | T_MINMAX, K_TIME},
	{"time with time zone", T_BTREE | T_HASH | T_INEXACT, K_TIMETZ},
	{"timestamp without time zone", T_BTREE | T_HASH | T_MINMAX, K_TIMESTAMP},
	{"timestamp with time zone", T_BTREE | T_HASH | T_MINMAX, K_TIMESTAMPTZ},
	{"interval", T_BTREE | T_HASH | T_INEXACT, K_INTERVAL},
	{"uuid", T_BTREE | T_HASH, K_UUID},
	{"inet", T_BTREE | T_HASH | T_INET | T_MINMAX, K_INET},
	{"cidr", T_BTREE | T_HASH | T_INET, K_CIDR},
	{"macaddr", T_BTREE | T_HASH, K_MACADDR},
	{"bit(11)", T_BTREE, K_BIT},
	{"bit varying(70)", T_BTREE, K_VARBIT},
	{"jsonb", T_BTREE | T_HASH | T_INEXACT | T_JSONB, K_JSONB},
	{"json", 0, K_JSON},
	{"integer[]", T_BTREE | T_HASH | T_ARRAY | T_INEXACT, K_INT4ARRAY},
	{"text[]", T_BTREE | T_HASH | T_ARRAY | T_INEXACT, K_TEXTARRAY},
	{"numeric[]", T_BTREE | T_HASH | T_ARRAY | T_INEXACT, K_NUMERICARRAY},
	{"int4range", T_BTREE | T_HASH | T_RANGE, K_INT4RANGE},
	{"tsrange", T_BTREE | T_HASH | T_RANGE, K_TSRANGE},
	{"int4multirange", T_BTREE | T_HASH | T_RANGE, K_INT4MULTIRANGE},
	{"tsvector", T_BTREE | T_INEXACT | T_TSVECTOR, K_TSVECTOR},
	{"money", T_BTREE | T_MINMAX, K_MONEY},
	{"point", T_POINT, K_POINT},
	{"box", 0, K_BOX},
	{"oid", T_BTREE | T_HASH | T_MINMAX, K_OID},
	{"pg_lsn", T_BTREE | T_HASH | T_MINMAX, K_PGLSN},
	{"\"char\"", T_BTREE | T_HASH, K_CHAR},
	{"e_mood", T_BTREE | T_HASH | T_OWN | T_MINMAX, K_ENUM},
	{"d_small", T_BTREE | T_HASH | T_OWN, K_DOMINT},
	{"d_word", T_BTREE | T_HASH | T_OWN, K_DOMTEXT},
	{"c_pair", T_BTREE | T_OWN | T_INEXACT, K_PAIR},
	{"c_pair[]", T_BTREE | T_OWN | T_INEXACT, K_PAIRARRAY},
};
const int	ntypes = lengthof(types);

const char *types_ddl =
	"create type e_mood as enum ('sad', 'ok', 'happy', 'Very happy', 'a', 'zz');"
	"create domain d_small as int check (value is null or value > -1000000000);"
	"create domain d_word as text check (length(value) < 500);"
	"create type c_pair as (a int, b text, c numeric);"
	"create collation nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);";

const Type *
type_by_name(const char *name)
{
	for (int i = 0; i < ntypes; i++)
	{
		if (strcmp(types[i].name, name) == 0)
			return &types[i];
	}
	return NULL;
}

/* Common types come up more often. */
const Type *
random_type(void)
{
	if (chance(40))
		return &types[rnd(K_INT2, K_TEXT_C - 1)];
	return &types[rnd(0, ntypes - 1)];
}

static const char *const moods[] = {"sad", "ok", "happy", "Very happy", "a", "zz"};
static const char *const words[] = {
	"", "a", "b", "A", "ab", "abc", "abd", "b ", " b", "Zebra", "z", "\xc3\xa4", "\xe2\x82\xac", "%", "_", "''", "\\",
	"the quick brown fox", "the quick brown fax", "0", "-1", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "~", "NULL"
};
static const int edges4[] =
	{0, 1, -1, 2147483647, (-2147483647 - 1), 65535, 65536, 255, 256, -32768};

static char *
some_text(bool may_be_big)
{
	if (may_be_big && chance(8))
	{
		if (chance(50))
			return S("repeat('%s', %d)", chance(50) ? "x" : "abcdefghij", rnd(1, 10000));
		return S("(select string_agg(md5((i + %d)::text), '') from generate_series(1, %d) i)",
				 rnd(0, 1000000),
				 chance(3) ? rnd(3000, 60000) : rnd(2, 3200));
	}
	if (chance(25))
		return S("'k%d'", rnd(0, 300));
	if (chance(10))
		return S("md5('%d')", rnd(0, 1000));
	return S("'%s'", pick(words));
}

static int
some_int(void)
{
	if (chance(8))
		return pick(edges4);
	if (chance(50))
		return rnd(-5, 20);
	if (chance(80))
		return rnd(0, 5000);
	return (int) rng64();
}

static char *
some_numeric(void)
{
	static const char *const odd[] = {
		"NaN", "Infinity", "-Infinity", "0", "0.00", "1.0", "1.00", "-0.000001",
		"123456789012345678901234567890.123456789", "1e100", "1e-100", "99999999999999999999", "10000", "9999.9999",
		"1e4000"
	};

	if (chance(15))
		return S("'%s'::numeric", pick(odd));
	if (chance(40))
		return S("'%d'::numeric", some_int());
	return S("'%d.%0*d'::numeric", rnd(-300, 300), rnd(1, 6), rnd(0, 9));
}

static char *
some_float(void)
{
	static const char *const odd[] =
		{"NaN", "Infinity", "-Infinity", "-0", "0", "1e-30", "1.5", "3e30", "0.1"};

	if (chance(20))
		return S("'%s'", pick(odd));
	return S("'%d.%d'", rnd(-300, 300), rnd(0, 99));
}

char *
literal(const Type *type, bool may_be_big)
{
	switch (type->kind)
	{
		case K_BOOL:
			return S("%s", chance(50) ? "true" : "false");
		case K_INT2:
			return chance(10) ? S("'%d'::int2", chance(50) ? 32767 : -32768) :
				S("'%d'::int2", rnd(-10, 300));
		case K_INT4:
			return S("'%d'::int4", some_int());
		case K_INT8:
			if (chance(10))
				return S("'%s'::int8", chance(50) ? "9223372036854775807" : "-9223372036854775808");
			return S("'%lld'::int8", (long long) some_int() * (chance(20) ? 1000000007LL : 1));
		case K_FLOAT4:
			return S("%s::float4", some_float());
		case K_FLOAT8:
			return S("%s::float8", some_float());
		case K_NUMERIC:
			return some_numeric();
		case K_NUMERIC_12_3:
			return S("'%d.%d'::numeric(12,3)", rnd(-1000, 100000), rnd(0, 999));
		case K_TEXT:
			return S("%s::text", some_text(may_be_big));
		case K_VARCHAR:
			return S("%s::varchar(40)", some_text(false));
		case K_BPCHAR:
			return S("%s::character(8)", some_text(false));
		case K_NAME:
			return S("%s::name", some_text(false));
		case K_BYTEA:
			if (chance(20))
				return S("'\\x'::bytea");
			return S("convert_to(%s, 'UTF8')", some_text(may_be_big));
		case K_DATE:
			return chance(8) ? S("'%s'::date", chance(50) ? "infinity" : "4000-01-01 BC")
				: S("('2000-01-01'::date + %d)", rnd(-100, 4000));
		case K_TIME:
			return S("'%02d:%02d:%02d.%d'::time", rnd(0, 23), rnd(0, 59), rnd(0, 59),
					 rnd(0, 999999));
		case K_TIMETZ:
			return S("'%02d:%02d:00%+03d'::timetz", rnd(0, 23), rnd(0, 59), rnd(-12, 12));
		case K_TIMESTAMP:
			return chance(8) ? S("'%sinfinity'::timestamp", chance(50) ? "-" : "")
				: S("'2020-%02d-%02d %02d:00:%02d.%d'::timestamp", rnd(1, 12), rnd(1, 28),
					rnd(0, 23), rnd(0, 59), rnd(0, 999));
		case K_TIMESTAMPTZ:
			return S("'2020-%02d-%02d %02d:00:00+00'::timestamptz", rnd(1, 12), rnd(1, 28),
					 rnd(0, 23));
		case K_INTERVAL:
			return S("'%d mons %d days %d secs'::interval", rnd(-3, 3), rnd(-40, 40),
					 rnd(-100, 100000));
		case K_UUID:
			return S("md5('%d')::uuid", rnd(0, 3000));
		case K_INET:
			return chance(20) ? S("'fe80::%x'::inet", rnd(0, 65535))
				: S("'10.%d.%d.%d/%d'::inet", rnd(0, 2), rnd(0, 255), rnd(0, 255),
					chance(50) ? 32 : rnd(0, 32));
		case K_CIDR:
			return S("'10.%d.%d.0/24'::cidr", rnd(0, 2), rnd(0, 255));
		case K_MACADDR:
			return S("'08:00:2b:%02x:%02x:%02x'::macaddr", rnd(0, 3), rnd(0, 255), rnd(0, 255));
		case K_BIT:
			return S("(%d)::bit(11)", rnd(0, 2047));
		case K_VARBIT:
			return S("substring((%d)::bit(32), 1, %d)::varbit(70)", some_int(), rnd(0, 32));
		case K_JSONB:
			if (may_be_big && chance(5))
				return S("jsonb_build_object('big', %s)", some_text(true));
			return chance(50) ? S("'{\"a\": %d, \"b\": [%d, \"x\"]}'::jsonb", rnd(0, 20), rnd(0, 5))
				: S("'%s'::jsonb", chance(50) ? "null" : "{\"c\": {\"d\": true}}");
		case K_JSON:
			return S("'{\"a\":  %d, \"a\": %d}'::json", rnd(0, 20), rnd(0, 5));
		case K_INT4ARRAY:
			if (chance(15))
				return S("'{}'::int4[]");
			if (may_be_big && chance(5))
				return S("(select array_agg(i * %d) from generate_series(1, %d) i)", rnd(1, 100),
						 rnd(10, 9000));
			return S("array[%d,%s,%d]::int4[]", rnd(0, 9), chance(20) ? "null" : S("%d", rnd(0, 9)),
					 some_int());
		case K_TEXTARRAY:
			return S("array[%s,%s]::text[]", some_text(false),
					 chance(20) ? "null" : some_text(false));
		case K_NUMERICARRAY:
			return S("array[[%s],[%s]]::numeric[]", some_numeric(), some_numeric());
		case K_INT4RANGE:
			if (chance(10))
				return S("'empty'::int4range");
			{
				int			lo = rnd(-100, 5000);

				return chance(10) ? S("int4range(%d, null)", lo) :
					S("int4range(%d, %d)", lo, lo + rnd(0, 300));
			}
		case K_TSRANGE:
			{
				int			day = rnd(1, 20);

				return S("tsrange('2020-01-%02d', '2020-01-%02d')", day, day + rnd(0, 8));
			}
		case K_INT4MULTIRANGE:
			return S("int4multirange(int4range(%d, %d), int4range(50, 60))", rnd(-10, 0),
					 rnd(1, 100));
		case K_TSVECTOR:
			return S("to_tsvector('simple', 'fox %d dog w%d')", rnd(0, 9), rnd(0, 300));
		case K_MONEY:
			return S("'%d.%02d'::money", rnd(-1000, 1000), rnd(0, 99));
		case K_POINT:
			return S("point(%d, %d)", rnd(-50, 50), rnd(-50, 50));
		case K_BOX:
			return S("box(point(%d, %d), point(%d, 1.5))", rnd(-50, 50), rnd(-50, 50), rnd(0, 9));
		case K_OID:
			return S("'%u'::oid", chance(10) ? 4294967295u : (unsigned) rnd(0, 5000));
		case K_PGLSN:
			return S("'%x/%x'::pg_lsn", rnd(0, 3), rnd(0, 100000));
		case K_CHAR:
			return S("'%c'::\"char\"", (char) rnd('a', 'e'));
		case K_ENUM:
			return S("'%s'::e_mood", pick(moods));
		case K_DOMINT:
			return S("%d::d_small", rnd(-5, 3000));
		case K_DOMTEXT:
			return S("%s::d_word", some_text(false));
		case K_PAIR:
			return S("row(%d, %s, %s)::c_pair", rnd(0, 9), some_text(may_be_big),
					 chance(20) ? "null" : some_numeric());
		case K_PAIRARRAY:
			return S("array[row(%d, %s, 1.5)]::c_pair[]", rnd(0, 9), some_text(false));
	}
	fatal("no literals of type %s", type->name);
}

/* A hash of g, 0 .. 2^31 - 1. */
static char *
hash(const char *g)
{
	return S("(hashint4(%s + %d) & 2147483647)", g, rnd(0, 100000));
}

/* g as it is, in steps, scattered, or one value. */
static char *
int_series(const char *g)
{
	switch (rnd(0, 5))
	{
		case 0:
			return S("(%s)", g);
		case 1:
			return S("(%s / %d)", g, rnd(2, 500));
		case 2:
			return S("(%s %% %d)", hash(g), rnd(1, 5000));
		case 3:
			return S("(%s)", hash(g));
		case 4:
			return S("((%s) %% %d * %d)", g, rnd(1, 100), rnd(1, 1000));
		default:
			return S("(%d)", some_int());
	}
}

static char *
text_series(const char *g)
{
	switch (rnd(0, 7))
	{
		case 0:
			return S("md5((%s)::text)", g);
		case 1:
			return S("('key ' || %s)", int_series(g));
		case 2:
			return S("repeat('x', %s %% %d)", hash(g), rnd(2, 200));
		case 3:
			return S("repeat(md5((%s)::text), %s %% %d)", g, hash(g),
					 rnd(2, chance(10) ? 300 : 12));
		case 4:
			return S("%s", some_text(false));
		case 5:
			return S("(array['a','b','c','abc','%s'])[%s %% 5 + 1]", pick(words), hash(g));
		case 6:
			return S("chr(32 + %s %% 90)", hash(g));
		default:
			return S("('http://www.example.org/' || %s %% 100 || '/' || %s)", hash(g), g);
	}
}

char *
series(const Type *type, const char *g)
{
	switch (type->kind)
	{
		case K_BOOL:
			return S("(%s %% %d = 0)", int_series(g), rnd(1, 9));
		case K_INT2:
			return S("(%s %% 32768)::int2", int_series(g));
		case K_INT4:
			return int_series(g);
		case K_INT8:
			return S("(%s::int8 * %d)", int_series(g), chance(50) ? 1 : rnd(1, 1000000000));
		case K_FLOAT4:
		case K_FLOAT8:
			if (chance(20))
				return S("(array['NaN', '-0', '0', 'Infinity', '1.5'])[%s %% 5 + 1]::%s", hash(g),
						 type->name);
			return S("(%s / %d.0)::%s", int_series(g), rnd(1, 100), type->name);
		case K_NUMERIC:
			if (chance(15))
				return S("(array['NaN', '1.00', '1.0', 'Infinity', '1e30', '-5.500'])[%s %% 6 + 1]::numeric", hash(g));
			if (chance(30))
				return S("(%s::numeric / %d)", int_series(g), rnd(1, 99));
			return S("round(%s::numeric / 1000, %s %% 4)", int_series(g),
					 chance(50) ? "2" : hash(g));
		case K_NUMERIC_12_3:
			return S("((%s %% 100000000) / 1000.0)::numeric(12,3)", int_series(g));
		case K_TEXT:
			return S("%s::text", text_series(g));
		case K_VARCHAR:
			return S("left(%s, 40)::varchar(40)", text_series(g));
		case K_BPCHAR:
			return S("left(%s, 8)::character(8)", text_series(g));
		case K_NAME:
			return S("left(%s, 20)::name", text_series(g));
		case K_BYTEA:
			return chance(50) ? S("int4send(%s)", int_series(g)) :
				S("convert_to(%s, 'UTF8')", text_series(g));
		case K_DATE:
			return S("('2000-01-01'::date + %s %% 20000)", int_series(g));
		case K_TIME:
			return S("('00:00'::time + %s %% 100000 * '1 sec'::interval)", int_series(g));
		case K_TIMETZ:
			return S("('00:00+02'::timetz + %s %% 1000 * '1 min'::interval)", int_series(g));
		case K_TIMESTAMP:
			return S("('2020-01-01'::timestamp + %s %% 1000000 * '1 sec'::interval)",
					 int_series(g));
		case K_TIMESTAMPTZ:
			return S("('2020-01-01 00:00+00'::timestamptz + %s %% 1000000 * '1 ms'::interval)",
					 int_series(g));
		case K_INTERVAL:
			return S("(%s %% 100000 * '1 min'::interval)", int_series(g));
		case K_UUID:
			return S("md5(%s::text)::uuid", int_series(g));
		case K_INET:
			return S("('10.0.0.0'::inet + %s %% 100000)", int_series(g));
		case K_CIDR:
			return S("network(set_masklen('10.0.0.0'::inet + %s %% 100000, 24))", hash(g));
		case K_MACADDR:
			return S("('08:00:2b:00:00:' || lpad(to_hex(%s %% 256), 2, '0'))::macaddr", hash(g));
		case K_BIT:
			return S("%s::bit(11)", hash(g));
		case K_VARBIT:
			return S("substring(%s::bit(32), 1, %s %% 32)::varbit(70)", hash(g), hash(g));
		case K_JSONB:
			return S("jsonb_build_object('a', %s %% 20, 'b', array[%s], 'c', %s)", hash(g),
					 int_series(g), text_series(g));
		case K_JSON:
			return S("json_build_object('a', %s)", int_series(g));
		case K_INT4ARRAY:
			return S("array[%s %% 10, %s]::int4[]", hash(g), int_series(g));
		case K_TEXTARRAY:
			return S("array[%s, null, %s]::text[]", text_series(g), text_series(g));
		case K_NUMERICARRAY:
			return S("array[%s / 10.0]::numeric[]", int_series(g));
		case K_INT4RANGE:
			return S("int4range(%s %% 5000, %s %% 5000 + 5000)", hash(g), hash(g));
		case K_TSRANGE:
			return S("tsrange('2020-01-01'::timestamp + %s %% 1000 * '1 min'::interval, '2020-02-01')", hash(g));
		case K_INT4MULTIRANGE:
			return S("int4multirange(int4range(%s %% 40, 41), int4range(50, %s %% 50 + 50))",
					 hash(g), hash(g));
		case K_TSVECTOR:
			return S("to_tsvector('simple', 'dog ' || %s %% 10 || ' w' || %s %% 300)", hash(g),
					 hash(g));
		case K_MONEY:
			return S("((%s %% 100000)::numeric / 100)::money", int_series(g));
		case K_POINT:
			return S("point(%s %% 50, %s %% 50)", hash(g), hash(g));
		case K_BOX:
			return S("box(point(%s %% 50, 1), point(2, %s %% 50))", hash(g), hash(g));
		case K_OID:
			return S("(%s)::oid", hash(g));
		case K_PGLSN:
			return S("('0/0'::pg_lsn + (%s)::numeric)", hash(g));
		case K_CHAR:
			return S("chr(97 + %s %% 5)::\"char\"", hash(g));
		case K_ENUM:
			return S("(enum_range(null::e_mood))[%s %% 6 + 1]", hash(g));
		case K_DOMINT:
			return S("%s::d_small", hash(g));
		case K_DOMTEXT:
			return S("left(%s, 400)::d_word", text_series(g));
		case K_PAIR:
			return S("row(%s, %s, 2.50)::c_pair", int_series(g), text_series(g));
		case K_PAIRARRAY:
			return S("array[row(%s, 'a', 2.50), row(1, %s, null)]::c_pair[]", int_series(g),
					 text_series(g));
	}
	fatal("no series of type %s", type->name);
}
