-- expressions by batches, as arguments of aggregates: the same results and errors as heap's
\getenv abs_srcdir PG_ABS_SRCDIR
\set batches :abs_srcdir '/sql/include/batches.sql'
\i :batches
SET max_parallel_workers_per_gather = 0;
SET zedstore.min_segment_rows = 1024;
SET extra_float_digits = 1;

-- integers: all widths, NULLs, holes; the largest and smallest of each in batches of their own
\set ECHO none
CREATE TABLE h_int (id int, a smallint, b int, c bigint, z int) USING heap;
INSERT INTO h_int SELECT g, CASE WHEN g % 11 <> 0 THEN g % 150 - 70 END, CASE WHEN g % 7 <> 0 THEN (g % 90 - 40) * 1000 END,
		(g - 2000)::bigint * 123456789, CASE WHEN g = 3500 THEN 0 ELSE g % 9 + 1 END FROM generate_series(1, 4096) g;
INSERT INTO h_int SELECT g, -32768, -2147483648, -9223372036854775808, -1 FROM generate_series(4097, 5120) g;
INSERT INTO h_int SELECT g, 32767, 2147483647, 9223372036854775807, 1 FROM generate_series(5121, 6000) g;
CALL test.twin('int', 'id');
DELETE FROM h_int WHERE id % 13 = 0;
DELETE FROM z_int WHERE id % 13 = 0;
\set ECHO all
SELECT e, test.twins('int', format('sum(%1$s), min(%1$s), max(%1$s), count(%1$s)', e), condition => 'id <= 3000') AS inside,
	test.twins('int', format('sum(%1$s)', e), condition => 'id <= 4096') AS zero, test.twins('int', format('sum(%1$s)', e), condition => 'id BETWEEN 4097 AND 5100') AS smallest,
	test.twins('int', format('sum(%1$s)', e), condition => 'id > 5120') AS largest
FROM (VALUES ('a + a'), ('a + b'), ('b + a'), ('b + b'), ('a + c'), ('c + a'), ('b + c'), ('c + b'), ('c + c'), ('a + 1::int2'), ('1 + b'),
	('a - a'), ('a - b'), ('b - a'), ('b - b'), ('a - c'), ('c - a'), ('b - c'), ('c - b'), ('c - c'), ('0 - b'), ('b - 1'), ('-1 - b'), ('-1 - c'),
	('a * a'), ('a * b'), ('b * a'), ('b * b'), ('a * c'), ('c * a'), ('b * c'), ('c * b'), ('c * c'), ('b * 100'), ('c * 2'), ('c * -1'), ('b * 0'), ('c * 0'),
	('a / z'), ('b / a'), ('b / z'), ('c / z'), ('c / a'), ('a / c'), ('z / c'), ('a / a'), ('b / -1'), ('c / -1'), ('a / (-1)::int2'), ('c / 1000'),
	('a % z::int2'), ('b % z'), ('c % z'), ('b % -1'), ('c % 10'), ('mod(b, z)'), ('mod(c, -1)'),
	('-a'), ('-b'), ('-c'), ('- (-c)'), ('abs(a)'), ('abs(b)'), ('abs(c)'), ('+ b'),
	('a::int'), ('a::bigint'), ('b::bigint'), ('b::smallint'), ('c::int'), ('c::smallint'), ('(c / 1000000000)::int'), ('a::numeric'), ('b::numeric'), ('c::numeric'),
	('a * (b + 1) - c'), ('a::bigint * b * 7 - (c % 100) * 3'), ('b + NULL::int'), ('id / (id - id)')) v(e);
-- the first error in the order of rows and aggregates
SELECT test.twins('int', 'sum(b / (z - 5)), sum(c * c)'), test.twins('int', 'sum(c * c), sum(b / (z - 5))'), test.twins('int', 'sum(b / (id - 3000)), sum(c * id * 1000000000)'),
	test.twins('int', 'sum(c * 1000000000), sum(b / (id - 3))');
-- none where the filter, FILTER or CASE keeps the rows away
SELECT test.twins('int', 'sum(100 / (z - 5))', condition => 'z > 5'), test.twins('int', 'sum(100 / (z - 5)) FILTER (WHERE z > 5), count(*)'),
	test.twins('int', 'sum(CASE WHEN z = 5 THEN 0 ELSE 100 / (z - 5) END)'), test.twins('int', 'sum(CASE z WHEN 5 THEN 0 WHEN 6 THEN b ELSE 100 / (z - 5) END)'),
	test.twins('int', 'sum(CASE WHEN id < 4097 THEN b * 10 END), sum(CASE WHEN id < 3000 AND z <> 5 THEN c / (z - 5) WHEN id > 5120 THEN NULL ELSE a END)'),
	test.twins('int', 'sum(COALESCE(a, b, id) + id)', condition => 'id < 4097'), test.twins('int', 'sum(COALESCE(a::int, 100 / (id % 11)))', condition => 'id < 4097'),
	test.twins('int', 'sum(COALESCE(b, 100 / (id % 7)))', condition => 'id < 4097'), test.twins('int', 'sum(NULLIF(z, 5)), count(NULLIF(a, 3::int2)), sum(100 / NULLIF(z, 1))', condition => 'id < 3000'),
	test.twins('int', 'sum(CASE WHEN b IS NULL THEN 1 ELSE 0 END), count(CASE WHEN a > 5 AND c < 0 THEN 1 END), avg(CASE WHEN a IN (1, 2) THEN b ELSE id END)'),
	test.twins('int', 'sum(CASE WHEN a > 0 THEN CASE WHEN b > 0 THEN 1 ELSE 2 END WHEN a IS NULL THEN 3 END)'),
	test.twins('int', 'sum(CASE CASE z WHEN 1 THEN 2 ELSE 1 END WHEN 2 THEN id WHEN 1 THEN -id END)');
-- conditions as values
SELECT test.twins('int', 'count(a > 5), count((a > 5 OR b IS NULL)::int), sum((a > 5)::int), sum((b IS NULL)::int), count(CASE WHEN z > 3 THEN a > 5 END)');

-- numerics: display scales, special values, many digits
\set ECHO none
CREATE TABLE h_num (id int, p numeric(12,2), d numeric(4,2), t numeric(5,4), n numeric, i int, big numeric, x float8) USING heap;
INSERT INTO h_num SELECT g, g * 13.77, (g % 11) / 100.0, CASE WHEN g % 6 <> 0 THEN (g % 9) / 1000.0 END,
		CASE g % 5 WHEN 0 THEN 1.5 WHEN 1 THEN -2.255 WHEN 2 THEN 100 WHEN 3 THEN 0.000 END, g % 100 - 50,
		CASE WHEN g <= 1024 THEN g WHEN g = 2000 THEN 'NaN' WHEN g = 2001 THEN 'Infinity' WHEN g = 2002 THEN '-Infinity' WHEN g BETWEEN 3000 AND 3100 THEN 1e40 + g
			ELSE g * 1000000000000000.25 END, 1
	FROM generate_series(1, 5000) g;
CALL test.twin('num', 'id');
\set ECHO all
SELECT e, test.twins('num', format('sum(%1$s), avg(%1$s), min(%1$s), max(%1$s)', e)) AS all, test.twins('num', format('sum(%1$s), min(%1$s), max(%1$s)', e), condition => 'n = 1.5') AS some,
	test.twins('num', format('md5(sum(%1$s)::text), count(%1$s)', e), condition => 'id <= 2500') AS half
FROM (VALUES ('p * (1 - d)'), ('p * (1 - d) * (1 + t)'), ('p * d'), ('p + d'), ('p - t'), ('t + n'), ('n * n'), ('n + n'), ('n - 1.00000'), ('n * 2'), ('n + i'), ('-n'), ('-p'), ('abs(n)'),
	('i * p'), ('i::numeric'), ('i::bigint::numeric + 0.5'), ('n * n * n * n * n'), ('p * 1e10 * 1e10'), ('p * 0.0000000001 * 0.0000000001'), ('p + NULL'),
	('p::numeric(14,4)'), ('p::numeric(12,1)'), ('p::numeric(12,0)'), ('n::numeric(10,2)'), ('n::numeric(2,1)'), ('n::numeric(10,-1)'), ('n::numeric'), ('round(n, 2)'), ('round(n, 1)'), ('round(-p, 0)'),
	('round(p, 5)'), ('round(n)'), ('round(p, -1)'), ('trunc(n, 1)'), ('p / 3'), ('p % 7'),
	('p::float8'), ('n::float8 * 2'), ('i::float8 / 3'), ('CASE WHEN i > 0 THEN p ELSE t END'), ('CASE WHEN i > 0 THEN n ELSE 0 END'), ('CASE WHEN i > 0 THEN p ELSE 0 END'),
	('CASE WHEN i > 0 THEN p WHEN i < -10 THEN 1.12345 END'), ('COALESCE(t, p)'), ('COALESCE(n, 0)'), ('COALESCE(n, 0.0000000)'), ('NULLIF(n, 100)'), ('NULLIF(n, 1.50)')) v(e);
SELECT e, test.twins('num', format('sum(%1$s), max(%1$s)', e), condition => 'id <= 1024') AS small, test.twins('num', format('sum(%1$s)', e), condition => 'id <= 1999') AS large,
	test.twins('num', format('md5(sum(%1$s)::text), count(%1$s)', e)) AS special, test.twins('num', format('md5(max(%1$s)::text)', e), condition => 'id > 2900') AS huge
FROM (VALUES ('big + 1'), ('big * big'), ('big - p'), ('big * 1000.5'), ('-big'), ('abs(big)'), ('round(big, 1)'), ('big::numeric(20,2)'), ('big::float8'), ('big::float8 * 1e300'), ('big + big + big'),
	('CASE WHEN id < 1500 THEN big END'), ('COALESCE(big, 1)')) v(e);

-- a constant at the scale of the other argument, in batches of which few rows pass, other ones in each
SELECT test.twins('num', 'sum(1 - p), sum(p + 1), sum(p * (1 - d))', condition => 'id IN (10, 1500, 2600, 4000)');

-- numerics that are stored digit by digit become integers for the rows that are asked for: branches that see other rows have other scales
CREATE TABLE h_mix (id int, k int, n numeric) USING heap;
INSERT INTO h_mix SELECT g, g % 4, CASE g % 4 WHEN 0 THEN (g || '.25')::numeric WHEN 1 THEN (g || '.1234')::numeric
		ELSE (('x' || substr(md5(g::text), 1, 15))::bit(60)::bigint || '' || ('x' || substr(md5((-g)::text), 1, 15))::bit(60)::bigint || '.' || g)::numeric END FROM generate_series(1, 3072) g;
CALL test.twin('mix', 'id');
SELECT encodings LIKE 'plain%' AS plain FROM pg_zs_segments('z_mix') WHERE attname = 'n';
SELECT e, test.twins('mix', format('sum(%1$s), min(%1$s), max(%1$s), count(%1$s)', e)) AS argument, test.twins('mix', 'count(*), sum(id)', condition => e || ' > 500') AS filter
FROM (VALUES ('CASE k WHEN 0 THEN n WHEN 1 THEN n * 1 END'), ('CASE k WHEN 1 THEN n WHEN 0 THEN n * 1 END'), ('CASE k WHEN 0 THEN n WHEN 1 THEN n END'), ('CASE WHEN k = 1 THEN -n WHEN k = 0 THEN +n END'),
	('COALESCE(CASE k WHEN 0 THEN n END, CASE k WHEN 1 THEN NULLIF(n, 401.1234) END)'), ('CASE k WHEN 0 THEN NULLIF(n, 400.25) WHEN 1 THEN n END + CASE k WHEN 1 THEN n WHEN 0 THEN n + 0.00001 END')) v(e);
SELECT test.twins('mix', 'sum(n) FILTER (WHERE k = 0), sum(n) FILTER (WHERE k = 1), sum(n * 2) FILTER (WHERE k = 0), max(n)');

-- floats: overflow, underflow, division by zero, NaN, signs of zero
\set ECHO none
CREATE TABLE h_flo (id int, f float8, g float8, r real, s real, i int) USING heap;
INSERT INTO h_flo SELECT n, sin(n) * 1e5, CASE WHEN n % 9 <> 0 THEN cos(n) END, sin(n)::real, CASE n % 4 WHEN 0 THEN 0.5 WHEN 1 THEN -0.25 WHEN 2 THEN 1e10 END, n FROM generate_series(1, 2048) n;
INSERT INTO h_flo SELECT n, CASE n % 5 WHEN 0 THEN 'NaN' WHEN 1 THEN 'Infinity' WHEN 2 THEN '-Infinity' WHEN 3 THEN '-0' ELSE 1::float8 END, CASE n % 3 WHEN 0 THEN 'NaN' WHEN 1 THEN 'Infinity' ELSE 2::float8 END,
	CASE n % 5 WHEN 0 THEN 'NaN' WHEN 1 THEN 'Infinity' WHEN 2 THEN '-Infinity' WHEN 3 THEN '-0' ELSE 1::real END, 3, n FROM generate_series(2049, 3072) n;
INSERT INTO h_flo SELECT n, 1e200, 1e-200, 1e30, 1e-30, 0 FROM generate_series(3073, 4096) n;
INSERT INTO h_flo SELECT n, n, CASE WHEN n = 5000 THEN 0 ELSE n END, n, CASE WHEN n = 5000 THEN 0 ELSE n END, n FROM generate_series(4097, 5120) n;
CALL test.twin('flo', 'id');
\set ECHO all
SELECT e, test.twins('flo', format('sum(%1$s), min(%1$s), max(%1$s)', e), condition => 'id <= 2048') AS plain, test.twins('flo', format('count(%1$s), min(%1$s), max(%1$s), sum(%1$s)', e), condition => 'id BETWEEN 2049 AND 3072') AS special,
	test.twins('flo', format('max(%1$s)', e), condition => 'id BETWEEN 3073 AND 4096') AS far, test.twins('flo', format('sum(%1$s)', e), condition => 'id > 4096') AS zero
FROM (VALUES ('f + g'), ('f - g'), ('f * g'), ('f / g'), ('g / f'), ('f + f'), ('f * f'), ('g * g'), ('f * f / f'), ('f + r'), ('r + f'), ('f * s'), ('s / f'), ('f - s'), ('r - f'),
	('r + s'), ('r - s'), ('r * s'), ('r / s'), ('s * s'), ('r * r'), ('s / r'), ('r / 2'), ('2 * r'), ('-f'), ('-r'), ('abs(f)'), ('abs(r)'), ('r::float8'), ('f::real'), ('i::float8'), ('i::real'),
	('i * 0.1::float8'), ('f / 0'), ('0 / f'), ('CASE WHEN f > 0 THEN f ELSE -f END'), ('COALESCE(g, f)'), ('NULLIF(f, 1)'), ('CASE WHEN g = 0 THEN 0 ELSE f / g END')) v(e);

-- dates and times: infinite ones, ends of the calendar
\set ECHO none
CREATE TABLE h_dat (id int, d date, e date, t timestamp, tz timestamptz, i int) USING heap;
INSERT INTO h_dat SELECT g, date '1995-01-01' + g % 4000, CASE WHEN g % 5 <> 0 THEN date '2020-02-29' - g END, timestamp '1999-12-31 23:00' + g * interval '13 min 0.000007 s',
	timestamptz '2020-01-01 00:00+00' + g * interval '1 h', g % 1000 - 500 FROM generate_series(1, 2048) g;
INSERT INTO h_dat SELECT g, 'infinity', '-infinity', '-infinity', 'infinity', 1 FROM generate_series(2049, 3072) g;
INSERT INTO h_dat SELECT g, '5874897-12-31', '4713-01-01 BC', '294276-12-31 23:59:59', '4714-11-24 00:00+00 BC', 10 FROM generate_series(3073, 4096) g;
CALL test.twin('dat', 'id');
\set ECHO all
SELECT e, test.twins('dat', format('min(%1$s), max(%1$s), count(%1$s)', e), condition => 'id <= 2048') AS plain, test.twins('dat', format('min(%1$s), max(%1$s)', e), condition => 'id BETWEEN 2049 AND 3072') AS infinite,
	test.twins('dat', format('min(%1$s), max(%1$s)', e), condition => 'id > 3072') AS ends
FROM (VALUES ('d + 1'), ('d - 1'), ('d + i'), ('d - i'), ('i + d'), ('d - e'), ('e - d'), ('e - 500'), ('d + 2000000000'), ('d::timestamp'), ('e::timestamp'), ('t::date'), ('t + interval ''1 day'''), ('t - interval ''3 days 02:00'''),
	('t + interval ''1 month'''), ('t - interval ''1 hour'''), ('d + interval ''36 hours'''), ('e - interval ''400 days'''), ('tz + interval ''1 hour'''), ('tz::date'), ('t + interval ''290000000 days'''), ('d - date ''1970-01-01'''),
	('CASE WHEN i > 0 THEN d ELSE e END'), ('COALESCE(e, d)')) v(e);
-- filters on dates by timestamps, as sums of dates and intervals are, and the reverse
SELECT c, test.twins('dat', 'count(*)', condition => c) AS yes, test.twins('dat', 'count(*)', condition => 'NOT (' || c || ')') AS no
FROM (SELECT replace(c, '#', op) FROM (VALUES ('d # timestamp ''1996-05-05'''), ('d # timestamp ''1996-05-05 12:00'''), ('e # timestamp ''1999-12-31 23:59:59.999999'''), ('d # timestamp ''infinity'''), ('e # timestamp ''-infinity'''),
	('timestamp ''1996-05-05 00:00:00.000001'' # d'), ('d # NULL::timestamp'), ('t # date ''2000-01-05'''), ('date ''2000-01-05'' # t'), ('t # date ''infinity'''), ('t # date ''-infinity'''), ('t # date ''5874897-01-01'''), ('d # t')) c(c),
	(VALUES ('<'), ('<='), ('='), ('<>'), ('>='), ('>')) o(op)) v(c);
SET timezone = 'America/New_York';
SELECT test.twins('dat', 'min(tz + interval ''1 day''), max(tz - interval ''30 days'')', condition => 'id <= 2048'), test.twins('dat', 'max(d::timestamptz)', condition => 'id <= 2048');
RESET timezone;

-- what is by batches and what is not; a function of the same name
SELECT test.twins('int', 'sum(length(id::text))'), test.twins('int', 'count(random() < 2)'), test.twins('int', 'sum((SELECT 1))'), test.twins('int', 'count(ROW(a, b))'), test.twins('int', 'sum(GREATEST(id, 5))');
CREATE FUNCTION int4pl(int, int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN -1000; END';
SET search_path = public, pg_catalog;
SELECT test.twins('int', 'sum(int4pl(id, 1))'), test.twins('int', 'sum(id + 1)'), test.twins('int', 'sum(pg_catalog.int4pl(id, 1))');
RESET search_path;
DROP FUNCTION public.int4pl;

-- rows in the row tree, own rows; columns that were added later, domains, aliases of types
CREATE DOMAIN vector_money AS numeric(10,2) CHECK (VALUE >= 0);
BEGIN;
ALTER TABLE h_int ADD COLUMN late int DEFAULT 3, ADD COLUMN late_n vector_money DEFAULT 1.5;
ALTER TABLE z_int ADD COLUMN late int DEFAULT 3, ADD COLUMN late_n vector_money DEFAULT 1.5;
INSERT INTO h_int VALUES (7000, 1, 2, 3, 4, 5, 6.5);
INSERT INTO z_int VALUES (7000, 1, 2, 3, 4, 5, 6.5);
SELECT test.twins('int', 'sum(late * id), sum(late_n * id), sum(late_n * 1.05)'), test.twins('int', 'sum((late + 1)::vector_money)'), test.twins('int', 'sum(late::oid::int8)');
ROLLBACK;
-- groups
CREATE VIEW h_q AS SELECT i, sum(p) AS s, avg(p * d) AS v, count(p + d) AS c, max(n + t) FROM h_num GROUP BY i;
CREATE VIEW z_q AS SELECT i, sum(p) AS s, avg(p * d) AS v, count(p + d) AS c, max(n + t) FROM z_num GROUP BY i;
SELECT test.twins('q', 'md5(string_agg(t::text, '','' ORDER BY i))');
DROP VIEW h_q, z_q;

-- TPC-H's first and sixth query
\set ECHO none
CREATE TABLE h_li (l_quantity numeric(15,2), l_extendedprice numeric(15,2), l_discount numeric(15,2), l_tax numeric(15,2), l_returnflag char(1), l_linestatus char(1), l_shipdate date) USING heap;
INSERT INTO h_li SELECT g % 50 + 1, (g::bigint * 7919 % 10000000) / 100.0, (g % 11) / 100.0, (g % 9) / 100.0, CASE g % 3 WHEN 0 THEN 'A' WHEN 1 THEN 'N' ELSE 'R' END,
	CASE g % 2 WHEN 0 THEN 'F' ELSE 'O' END, date '1992-01-01' + g % 2500 FROM generate_series(1, 20000) g;
CALL test.twin('li');
CREATE FUNCTION q1(name text) RETURNS text LANGUAGE sql AS $$
	SELECT 'SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), sum(l_extendedprice * (1 - l_discount)) AS disc, sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS charge,
		avg(l_quantity), avg(l_extendedprice), avg(l_discount), count(*) FROM ' || name || ' WHERE l_shipdate <= date ''1998-12-01'' - interval ''90 days''
		GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus'
$$;
\set ECHO all
SELECT q1('h_li') AS h, q1('z_li') AS z \gset
:h;
SET zedstore.debug_vector = verify;
:z;
EXPLAIN (COSTS OFF) :z;
EXPLAIN (COSTS OFF) SELECT sum(l_extendedprice * l_discount) FROM z_li WHERE l_shipdate >= '1994-01-01' AND l_shipdate < date '1994-01-01' + interval '1 year' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24;
RESET zedstore.debug_vector;
SELECT test.twins('li', 'sum(l_extendedprice * l_discount)', condition => 'l_shipdate >= ''1994-01-01'' AND l_shipdate < date ''1994-01-01'' + interval ''1 year'' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24');

-- permissions on functions within expressions
CREATE ROLE regress_vector_expr;
GRANT SELECT ON z_int TO regress_vector_expr;
REVOKE EXECUTE ON FUNCTION int4mul(int, int) FROM PUBLIC;
SET zedstore.debug_vector = force;
SET ROLE regress_vector_expr;
SELECT sum(b * 2) FROM z_int WHERE id < 10;
EXPLAIN (COSTS OFF) SELECT sum(b * 2) FROM z_int;
SELECT sum(b + 2) FROM z_int WHERE id < 10;
RESET ROLE;
RESET zedstore.debug_vector;
GRANT EXECUTE ON FUNCTION int4mul(int, int) TO PUBLIC;
REVOKE ALL ON z_int FROM regress_vector_expr;
DROP ROLE regress_vector_expr;

DROP TABLE h_int, z_int, h_num, z_num, h_mix, z_mix, h_flo, z_flo, h_dat, z_dat, h_li, z_li;
DROP DOMAIN vector_money;
DROP FUNCTION q1;
