-- aggregates by batches: the same results as heap's, in all modes of zedstore.debug_vector
\getenv abs_srcdir PG_ABS_SRCDIR
\set batches :abs_srcdir '/sql/include/batches.sql'
\i :batches
SET max_parallel_workers_per_gather = 0;
SET zedstore.min_segment_rows = 1024;
SET extra_float_digits = 1;

-- a table of many types: several segments, small writes behind them, holes, a late column, a dropped one
\set ECHO none
CREATE TABLE h_mix (id int, gone int, b bigint, s smallint, n numeric(12,2), u numeric, f float8, r real, d date,
	ti time, ts timestamp, tz timestamptz, m money, o oid, q "char", flag bool, t text, vc varchar(20), c char(6)) USING heap;
CREATE FUNCTION mix_rows(first int, last int) RETURNS SETOF h_mix LANGUAGE sql AS $$
	SELECT g, g, (g - 5000)::bigint * 1000000007, (g % 211 - 100)::smallint,
		CASE WHEN g % 10 = 0 THEN NULL ELSE (g - 3000) / 7.0 END,
		CASE g % 4 WHEN 0 THEN g WHEN 1 THEN g / 2.0::numeric(10,1) WHEN 2 THEN round(g / 3.0, 3) END,
		CASE WHEN g % 13 = 0 THEN NULL ELSE sin(g) * 1e6 END, (cos(g) * 1000)::real,
		date '2019-06-01' + g % 700, time '00:00' + g % 86400 * interval '1 s',
		timestamp '2020-01-01' + g * interval '7 min', timestamptz '2020-01-01 00:00+00' - g * interval '3 h',
		(g % 1000)::money, (g::bigint * 400000 % 4294967296)::oid, chr(33 + g % 90)::"char",
		CASE g % 3 WHEN 0 THEN true WHEN 1 THEN false END,
		CASE WHEN g % 17 = 0 THEN NULL WHEN g % 5 = 0 THEN '' ELSE 'text ' || g % 37 END,
		'v' || left(md5((g % 5000)::text), 8), 'c' || g % 9
	FROM generate_series(first, last) g
$$;
INSERT INTO h_mix SELECT * FROM mix_rows(1, 9000);
INSERT INTO h_mix SELECT * FROM mix_rows(9001, 9100);
CREATE TABLE z_mix (id int, gone int, b bigint, s smallint, n numeric(12,2), u numeric, f float8, r real, d date,
	ti time, ts timestamp, tz timestamptz, m money, o oid, q "char", flag bool, t text, vc varchar(20), c char(6)) USING zedstore;
INSERT INTO z_mix SELECT * FROM mix_rows(1, 9000);
INSERT INTO z_mix SELECT * FROM mix_rows(9001, 9100);
DROP FUNCTION mix_rows;
ALTER TABLE h_mix ADD COLUMN late int DEFAULT 7, ADD COLUMN late_n numeric DEFAULT 1.50, ADD COLUMN late_t text DEFAULT 'x',
	ADD COLUMN late_null bigint;
ALTER TABLE h_mix DROP COLUMN gone;
ALTER TABLE z_mix ADD COLUMN late int DEFAULT 7, ADD COLUMN late_n numeric DEFAULT 1.50, ADD COLUMN late_t text DEFAULT 'x',
	ADD COLUMN late_null bigint;
ALTER TABLE z_mix DROP COLUMN gone;
INSERT INTO h_mix (id, n, t, late, late_n) SELECT g, g, 'late ' || g % 3, g % 5, g / 4.0 FROM generate_series(9101, 11500) g;
INSERT INTO z_mix (id, n, t, late, late_n) SELECT g, g, 'late ' || g % 3, g % 5, g / 4.0 FROM generate_series(9101, 11500) g;
DELETE FROM h_mix WHERE id BETWEEN 2000 AND 3300 OR id % 19 = 3;
DELETE FROM z_mix WHERE id BETWEEN 2000 AND 3300 OR id % 19 = 3;
\set ECHO all

EXPLAIN (COSTS OFF) SELECT count(*), sum(n) + 1 FROM z_mix WHERE id > 100 AND t = 'text 3' HAVING count(*) > 1;
SELECT test.twins('mix', a) FROM (VALUES
	('count(*)'), ('count(id), count(n), count(u), count(f), count(t), count(flag), count(late_null), count(c)'),
	('sum(id), sum(b), sum(s), sum(n), sum(u), sum(m)'),
	('sum(id), sum(b), sum(s), sum(n), sum(u)'), ('avg(id), avg(b), avg(s), avg(n), avg(u)'),
	('min(id), max(id), min(b), max(b), min(s), max(s), min(d), max(d), min(ti), max(ti)'),
	('min(ts), max(ts), min(tz), max(tz), min(m), max(m), min(f), max(f), min(r), max(r)'),
	('min(n), max(n), min(u), max(u), min(late_n), max(late_n)'),
	('sum(late), avg(late), sum(late_n), avg(late_n), sum(late_null), min(late_null), count(late_t)'),
	('sum(id) + count(*) * 2, round(avg(n), 3), sum(id)::text || ''x'''),
	('count(DISTINCT id)'), ('sum(id + 1)'), ('min(t)'), ('stddev(id)')) v(a);
-- floats are added in the order of the rows, which is heap's here
SELECT test.twins('mix', 'sum(f), avg(f), sum(r), avg(r)', condition => 'id <= 9000');
-- conditions; each alone and negated, which shows where it is unknown
SELECT test.twins('mix', 'count(*), sum(id), sum(n), min(f)', condition => f) AS yes,
	test.twins('mix', 'count(*), sum(id)', condition => 'NOT (' || f || ')') AS no,
	test.twins('mix', 'count(*), sum(id)', condition => '(' || f || ') IS NULL') AS unknown, f
FROM (VALUES ('id = 77'), ('77 = id'), ('id <> 77'), ('id < 1025'), ('1025 > id'), ('id <= 1024'), ('id > 8999'), ('id >= 9000'),
	('id = 3000000000'), ('id > -3000000000'), ('id < 7::smallint'), ('b > 12::smallint'), ('s = 40000'), ('s = 12'),
	('id < b'), ('s < id'), ('s = late'), ('id < NULL'),
	('n = 0.14'), ('n < 0.145'), ('n > -0.145'), ('n <= 100'), ('n >= 100.000'), ('n <> 857.14'), ('n < 1e15'), ('n > 1e15'),
	('n > -123456789012345678'), ('n = ''NaN'''), ('u = 1.5'), ('u < 33.333'), ('u = 4'), ('u = 4.000'),
	('f > 0'), ('f = ''NaN'''), ('f < ''NaN'''), ('f <= 1::real'), ('r < 0.5'), ('r >= 100::float8'),
	('d = ''2019-07-01'''), ('d < ''infinity'''), ('ti > ''01:00'''), ('ts >= ''2020-01-20'''), ('tz < ''2019-06-01 00:00+00'''),
	('m > 500::money'), ('o > 3000000000'), ('o < 100000'), ('q > ''P'''), ('flag'), ('flag = false'), ('flag IS NOT TRUE'),
	('flag IS FALSE'), ('flag IS UNKNOWN'), ('flag <> (id > 5)'),
	('t = ''text 3'''), ('t <> ''text 3'''), ('t = '''''), ('vc = ''vc4ca4238'''), ('c = ''c3'''), ('c = ''c3   '''),
	('c <> ''c3'''), ('late = 7'), ('late <> 7'), ('late_n = 1.5'), ('late_t = ''x'''), ('late_null = 3'), ('late_null IS NULL'),
	('t IS NULL'), ('n IS NOT NULL'), ('u IS NULL'), ('id IS NULL'),
	('s IN (1, 2, 3)'), ('s NOT IN (1, 2, 3)'), ('s IN (1, NULL)'), ('s NOT IN (1, NULL)'), ('s = ANY (''{}''::int2[])'),
	('s <> ALL (''{}''::int2[])'), ('s = ANY (NULL::int2[])'), ('s < ANY (''{1,5}''::int2[])'), ('s > ALL (''{1,5,NULL}''::int2[])'),
	('id IN (1, 5, 77, 1024, 1025, 2047, 5000, 8999, 9050, 9200, 100000, -1)'), ('t IN (''text 1'', ''late 2'', '''')'),
	('t NOT IN (''text 1'', NULL)'), ('n IN (0.14, 1.00, 2)'), ('f IN (1, 2)'), ('o IN (400000, 4000000000)'),
	('id BETWEEN 1000 AND 1100'), ('id > 9050 OR t = ''text 5'' AND flag'), ('(n > 5) IS NOT TRUE'),
	('id < 500 AND (s = 3 OR n > 100 OR flag IS NULL)')) v(f);
-- nothing passes; the table is empty; only NULLs
SELECT test.twins('mix', 'count(*), sum(id), avg(n), min(f), max(u), sum(b), sum(r)', condition => 'id < 0');
SELECT test.twins('mix', 'count(*), sum(id)', condition => 'false');
SELECT test.twins('mix', 'count(*), sum(id)', condition => '1 = 1');
-- FILTER, HAVING
SELECT test.twins('mix', 'count(*) FILTER (WHERE s > 3), sum(n) FILTER (WHERE flag), sum(id) FILTER (WHERE t IS NULL), max(u) FILTER (WHERE false), count(*)');
SELECT test.twins('mix', 'sum(id) FILTER (WHERE 1 / s > 0)');
SELECT test.twins('mix', 'count(*)', tail => 'HAVING sum(n) > 5'), test.twins('mix', 'count(*)', condition => 'id < 0', tail => 'HAVING sum(n) > 5'),
	test.twins('mix', 'count(*)', condition => 'id < 10', tail => 'HAVING count(*) > 3 AND min(d) IS NOT NULL');
-- conditions that programs do not know, among those that they know
SELECT test.twins('mix', 'count(*)', condition => '1 / id >= 0'), test.twins('mix', 'count(*)', condition => 'id > 0 AND abs(s) = 3'), test.twins('mix', 'sum(id)', condition => 't LIKE ''%7'''),
	test.twins('mix', 'count(*)', condition => 'ctid IS NOT NULL AND id < 5'), test.twins('mix', 'count(t.*)', condition => 'id < 5');

-- display scales, special values, and many digits of numerics
\set ECHO none
CREATE TABLE h_num (id int, n numeric, p numeric(40,20), i numeric(20,0), neg numeric(5,-2)) USING heap;
INSERT INTO h_num
	SELECT g, CASE g % 7 WHEN 0 THEN 1.5 WHEN 1 THEN 2.25 WHEN 2 THEN 100 WHEN 3 THEN 0.000 WHEN 4 THEN -7.10 WHEN 5 THEN 1e15 END,
		g / 3.0, g * 1000000000000, g * 37
	FROM generate_series(1, 5000) g;
CALL test.twin('num', 'id');
\set ECHO all
SELECT test.twins('num', 'sum(n), avg(n), min(n), max(n)', condition => c) AS n, test.twins('num', 'sum(p), avg(p), max(p), sum(i), avg(i), min(i), sum(neg), avg(neg), max(neg)', condition => c)
FROM (VALUES ('true'), ('n = 1.5'), ('n < 2'), ('n = 100'), ('n = 0'), ('n < 0'), ('n > 1e10'), ('n < 1000'), ('p < 1'), ('i > 4999999999999999'),
	('neg = 100')) v(c);
-- 1.0 and 1.00 are equal: the last one is shown
CREATE TABLE h_tie (n numeric) USING heap;
INSERT INTO h_tie SELECT CASE WHEN g = 1500 THEN 1.0000 WHEN g % 2 = 0 THEN 1.0 ELSE 1.00 END FROM generate_series(1, 4001) g;
CREATE TABLE z_tie (n numeric) USING zedstore;
INSERT INTO z_tie SELECT CASE WHEN g = 1500 THEN 1.0000 WHEN g % 2 = 0 THEN 1.0 ELSE 1.00 END FROM generate_series(1, 4001) g;
SELECT test.twins('tie', 'min(n), max(n), sum(n), avg(n)');
-- values beyond 64 and 128 bits, NaN and infinities, in some batches only
\set ECHO none
CREATE TABLE h_big (id int, n numeric, b bigint, i int) USING heap;
INSERT INTO h_big SELECT g, CASE WHEN g = 3000 THEN 'NaN' WHEN g = 3500 THEN 'Infinity' WHEN g = 3600 THEN '-Infinity'
		WHEN g BETWEEN 2000 AND 2010 THEN 123456789012345678901234567890.123456789 * g
		WHEN g BETWEEN 1500 AND 1510 THEN -999999999999999999 WHEN g = 1511 THEN 0.0000000000000001
		WHEN g BETWEEN 100 AND 120 THEN 1e130000 ELSE g END,
	CASE g % 2 WHEN 0 THEN 9223372036854775807 ELSE 9223372036854775800 END, 2147483647
	FROM generate_series(1, 4000) g;
CALL test.twin('big', 'id');
\set ECHO all
SELECT test.twins('big', 'md5(sum(n)::text), md5(avg(n)::text), md5(min(n)::text), md5(max(n)::text)', condition => c) FROM (VALUES ('true'), ('id <> 3000'),
	('id < 3000'), ('id > 3300'), ('id > 3550'), ('id BETWEEN 1000 AND 2500'), ('id BETWEEN 1000 AND 1900'), ('n > 5'), ('n = ''NaN'''), ('n < 0')) v(c);
SELECT test.twins('big', 'sum(b), avg(b), sum(i), avg(i), min(b), max(b)'), test.twins('big', 'sum(b), avg(b)', condition => 'id = 5');
-- the exponents of numerics far apart: what does not fit 128 bits
CREATE TABLE h_far (id int, n numeric) USING heap;
INSERT INTO h_far SELECT g, CASE g % 3 WHEN 0 THEN 999999999999999999 WHEN 1 THEN 0.1234567890123456 ELSE -0.5 END FROM generate_series(1, 9000) g;
CALL test.twin('far', 'id');
SELECT test.twins('far', 'sum(n), avg(n), min(n), max(n)'), test.twins('far', 'sum(n), min(n)', condition => 'n < 1');

-- floats: order, signs of zero, NaN, infinities, overflow
\set ECHO none
CREATE TABLE h_flo (id int, f float8, r real, x float8, y float8, z float8, w real) USING heap;
INSERT INTO h_flo SELECT g, CASE g % 3 WHEN 0 THEN 1e16 WHEN 1 THEN 1 ELSE -1e16 END, 16777217.0 / (g % 5 + 1),
		CASE WHEN g = 2500 THEN 'NaN' WHEN g = 2600 THEN 'Infinity' WHEN g > 4000 AND g % 2 = 0 THEN '-0' WHEN g > 4000 THEN 0 ELSE g::float8 END,
		CASE WHEN g % 1000 = 999 THEN 1e308 ELSE 1e300 END, '-0', CASE WHEN g > 3000 THEN 3e38 ELSE 1 END
	FROM generate_series(1, 5000) g;
CALL test.twin('flo', 'id');
\set ECHO all
SELECT test.twins('flo', a, condition => c) FROM (VALUES ('sum(f), avg(f), sum(r), avg(r)', 'true'), ('sum(f), sum(r)', 'id % 2 = 1'), ('sum(f), sum(r)', 'id > 1000 AND id < 3500'),
	('sum(x), avg(x), min(x), max(x)', 'true'), ('sum(x), avg(x), min(x), max(x)', 'id < 2500'), ('min(x), max(x), sum(x)', 'id > 4000'),
	('min(x), max(x)', 'id > 4001'), ('min(x), max(x)', 'id BETWEEN 4001 AND 4000'), ('sum(x), avg(x)', 'id > 2550'), ('sum(y)', 'true'), ('avg(y)', 'true'),
	('sum(y)', 'id < 900'), ('avg(y)', 'id < 20'), ('min(y), max(y)', 'true'), ('sum(z), avg(z), min(z), max(z)', 'true'), ('sum(w)', 'id < 2900'), ('sum(w)', 'true'),
	('avg(w)', 'true'), ('sum(z)', 'id = 1')) v(a, c);

-- strings: collations, large values, blanks
CREATE COLLATION vector_ci (PROVIDER = icu, LOCALE = 'und-u-ks-level2', DETERMINISTIC = false);
\set ECHO none
CREATE TABLE h_str (id int, t text, ci text COLLATE vector_ci, c char(10), big text, dom text) USING heap;
CREATE DOMAIN vector_dom AS int CHECK (VALUE > 0);
ALTER TABLE h_str ADD COLUMN v vector_dom;
INSERT INTO h_str SELECT g, CASE WHEN g % 3 = 0 THEN 'abc' WHEN g % 3 = 1 THEN 'ABC' ELSE 'abc ' END, CASE WHEN g % 2 = 0 THEN 'abc' ELSE 'ABC' END, 'x' || g % 4,
	CASE WHEN g % 500 = 0 THEN repeat('y', 20000) ELSE repeat('y', g % 10) END, 'q', g FROM generate_series(1, 3000) g;
CALL test.twin('str', 'id');
\set ECHO all
SELECT test.twins('str', 'count(*), sum(id), count(big), sum(v)', condition => c) FROM (VALUES ('t = ''abc'''), ('t = ''abc '''), ('ci = ''abc'''), ('ci <> ''abc'''), ('t = ''abc'' COLLATE vector_ci'),
	('c = ''x1'''), ('c = ''x1        '''), ('big = ''yyy'''), ('big = repeat(''y'', 20000)'), ('big <> ''y'''), ('v = 5'), ('v > 2990'), ('t < ''abc''')) v(c);

-- own rows, before and after they are written; rolled back subtransactions; a cursor; a prepared statement
BEGIN;
INSERT INTO z_num SELECT g, 5.5, 1, 1, 100 FROM generate_series(100001, 103000) g;
INSERT INTO h_num SELECT g, 5.5, 1, 1, 100 FROM generate_series(100001, 103000) g;
SELECT test.twins('num', 'count(*), sum(n), sum(id)');
SAVEPOINT a;
DELETE FROM z_num WHERE id < 2000;
DELETE FROM h_num WHERE id < 2000;
SELECT test.twins('num', 'count(*), sum(n), sum(id)');
ROLLBACK TO a;
SELECT test.twins('num', 'count(*), sum(n), sum(id)', condition => 'id > 1000');
ROLLBACK;
SELECT test.twins('num', 'count(*), sum(n), sum(id)');
BEGIN ISOLATION LEVEL SERIALIZABLE;
DECLARE c SCROLL CURSOR FOR SELECT count(*), sum(n) FROM z_num;
DELETE FROM z_num;
FETCH ALL FROM c;
FETCH BACKWARD 1 FROM c;
FETCH FORWARD 1 FROM c;
ROLLBACK;
PREPARE vector_p(int) AS SELECT count(*), sum(n) FROM z_num WHERE id < $1;
SET plan_cache_mode = force_generic_plan;
EXECUTE vector_p(100);
EXECUTE vector_p(1000);
SET plan_cache_mode = force_custom_plan;
EXECUTE vector_p(100);
RESET plan_cache_mode;
DEALLOCATE vector_p;
-- rescans: a subquery that runs for each row, and one that depends on it
SELECT g, (SELECT sum(n) FROM z_num WHERE id < 100), (SELECT count(*) FROM z_num WHERE id < g) FROM generate_series(10, 12) g;
SELECT * FROM generate_series(1, 2) g, LATERAL (SELECT count(*), sum(id) FROM z_num WHERE id < 50) s;
-- a materialized view; a partition; a view with a barrier and a policy
CREATE MATERIALIZED VIEW z_mat USING zedstore AS SELECT * FROM h_num;
CREATE MATERIALIZED VIEW h_mat AS SELECT * FROM h_num;
SELECT test.twins('mat', 'sum(n), count(*)', condition => 'id < 3000');
\set ECHO none
CREATE TABLE z_part (id int, n numeric(10,2)) PARTITION BY RANGE (id);
CREATE TABLE h_part (id int, n numeric(10,2)) PARTITION BY RANGE (id);
CREATE TABLE z_part1 PARTITION OF z_part FOR VALUES FROM (0) TO (3000) USING zedstore;
CREATE TABLE z_part2 PARTITION OF z_part FOR VALUES FROM (3000) TO (9000) USING zedstore;
CREATE TABLE h_part1 PARTITION OF h_part FOR VALUES FROM (0) TO (9000);
INSERT INTO z_part SELECT g, g / 7.0 FROM generate_series(1, 8000) g;
INSERT INTO h_part SELECT g, g / 7.0 FROM generate_series(1, 8000) g;
\set ECHO all
SELECT test.twins('part', 'sum(n), count(*)'), test.twins('part', 'sum(n), count(*)', condition => 'id < 2000');
SELECT test.twins('part1', 'sum(n), count(*)', condition => 'id < 2000');
-- permissions
CREATE ROLE regress_vector;
GRANT SELECT ON z_num TO regress_vector;
REVOKE EXECUTE ON FUNCTION sum(numeric) FROM PUBLIC;
SET zedstore.debug_vector = force;
SET ROLE regress_vector;
SELECT sum(n) FROM z_num;
EXPLAIN (COSTS OFF) SELECT sum(n) FROM z_num;
SELECT count(n) FROM z_num;
SELECT sum(id) FROM z_mix;
RESET ROLE;
GRANT EXECUTE ON FUNCTION sum(numeric) TO PUBLIC;
REVOKE EXECUTE ON FUNCTION int4lt FROM PUBLIC;
SET ROLE regress_vector;
SELECT count(*) FROM z_num WHERE id < 5;
RESET ROLE;
GRANT EXECUTE ON FUNCTION int4lt TO PUBLIC;
ALTER TABLE z_num ENABLE ROW LEVEL SECURITY;
CREATE POLICY z_num_policy ON z_num USING (n > 2);
SET ROLE regress_vector;
EXPLAIN (COSTS OFF) SELECT count(*), sum(n) FROM z_num WHERE id < 1000;
SELECT count(*), sum(n) FROM z_num WHERE id < 1000;
RESET ROLE;
SELECT count(*), sum(n) FROM h_num WHERE id < 1000 AND n > 2;
REVOKE ALL ON z_num FROM regress_vector;
DROP ROLE regress_vector;
RESET zedstore.debug_vector;
-- EXPLAIN ANALYZE
CREATE FUNCTION explain_lines(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' || query LOOP
		RETURN NEXT regexp_replace(line, 'rows=1\.00', 'rows=1');
	END LOOP;
END $$;
SELECT explain_lines('SELECT count(*), sum(n) FROM z_big WHERE id > 1000 AND id < 1100');
DROP FUNCTION explain_lines;
EXPLAIN (VERBOSE, COSTS OFF) SELECT sum(n), count(*) FILTER (WHERE id > 5) FROM z_big b WHERE b.id IN (1, 2) HAVING max(id) > 0;
EXPLAIN (COSTS OFF) SELECT (SELECT sum(id) FROM z_big WHERE id > 3) FROM h_num, z_mix;
-- minimum and maximum by an index stay so
CREATE INDEX z_big_id ON z_big (id);
EXPLAIN (COSTS OFF) SELECT min(id) FROM z_big;

DROP TABLE h_mix, z_mix, h_num, h_tie, z_tie, h_big, z_big, h_far, z_far, h_flo, z_flo, h_str, z_str, z_part, h_part CASCADE;
DROP TABLE z_num CASCADE;
DROP DOMAIN vector_dom;
DROP COLLATION vector_ci;
