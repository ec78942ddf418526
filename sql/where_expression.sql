-- filters of expressions by batches: the same results and errors as heap's
\getenv abs_srcdir PG_ABS_SRCDIR
\set batches :abs_srcdir '/sql/include/batches.sql'
\i :batches
SET max_parallel_workers_per_gather = 0;
SET zedstore.min_segment_rows = 1024;

-- each condition, negated, and where it is unknown
\set ECHO none
CREATE FUNCTION tests(name text, f text) RETURNS text LANGUAGE sql AS $$
	SELECT test.twins(name, 'count(*), sum(id)', condition => f, plan => 'ZedstoreAgg') || ' | ' || test.twins(name, 'count(*)', condition => 'NOT (' || f || ')', plan => 'ZedstoreAgg') || ' | ' || test.twins(name, 'count(*)', condition => '(' || f || ') IS NULL', plan => 'ZedstoreAgg')
$$;

CREATE TABLE h_val (id int, a smallint, b int, c bigint, n numeric(10,2), m numeric(8,4), u numeric, f float8, r real, d date, e date, ts timestamp, o oid, p oid, flag bool) USING heap;
INSERT INTO h_val SELECT g, CASE WHEN g % 11 <> 0 THEN g % 150 - 70 END, CASE WHEN g % 7 <> 0 THEN g % 90 - 40 END, (g - 2000)::bigint * 1000000007,
		(g % 1000) / 8.0, CASE WHEN g % 5 <> 0 THEN (g % 77) / 16.0 END, CASE g % 4 WHEN 0 THEN 1.5 WHEN 1 THEN 1.50 WHEN 2 THEN g / 3.0 END, CASE g % 9 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' WHEN 2 THEN 0 ELSE g / 7.0::float8 END,
		(g % 50) / 4.0, date '2020-01-01' + g % 400, date '2020-06-01' + g % 97, timestamp '2020-01-01' + g * interval '1 h', (g::bigint * 1000003 % 4294967296)::oid, (g::bigint * 777777 % 4294967296)::oid, g % 3 = 0
	FROM generate_series(1, 5000) g;
CALL test.twin('val', 'id');
DELETE FROM h_val WHERE id % 17 = 0;
DELETE FROM z_val WHERE id % 17 = 0;
\set ECHO all
EXPLAIN (COSTS OFF) SELECT count(*) FROM z_val WHERE b * 2 > a AND n - m < 3;
SET zedstore.debug_vector = force;
EXPLAIN (COSTS OFF) SELECT count(*) FROM z_val WHERE b * 2 > a AND n - m < 3 AND b IS DISTINCT FROM 5 AND CASE WHEN b > 0 THEN flag ELSE a > 5 END;
RESET zedstore.debug_vector;
SELECT f, tests('val', f) FROM (VALUES ('b + 1 > 5'), ('5 < b + 1'), ('b * b = 1600'), ('a + b < id'), ('id > a * b'), ('a % 3 = b % 3'), ('c / 1000000007 < 5'), ('-b > 3'), ('abs(b) <= 3'), ('b + c > 0'),
	('a < b + 1'), ('a <> -b'), ('b::bigint = 3'), ('c::numeric > 0.5'), ('b::numeric + 0.5 < m'),
	('n < m'), ('n = m'), ('n > m * 10'), ('n - m <= 0.1'), ('u = 1.5'), ('u * 2 = 3'), ('u = n'), ('n + u > 100.123456'), ('round(n, 1) = 3.1'), ('n::numeric(10,1) <> n'), ('n * 1e30 > 1e31'), ('n > -m'),
	('f < r'), ('f > r'), ('f = f'), ('f <> f'), ('r * 2 <= f'), ('f + 1 = ''NaN'''), ('f + 0 = 0'), ('-f < 0'), ('r + r > 20'), ('f::float8 >= r::float8'),
	('d < e'), ('d + 30 > e'), ('d - e > 10'), ('e - d BETWEEN -5 AND 5'), ('d::timestamp < ts'), ('ts::date = d'), ('ts + interval ''1 day'' < ''2020-03-01'''), ('d + interval ''1 day'' = ts'),
	('o < p'), ('o = p'), ('o > p'), ('flag = (b > 3)'), ('(b > 3) <> (a > 3)'), ('(b > 3) IS NOT DISTINCT FROM (a > 3)'),
	('b IS DISTINCT FROM 5'), ('b IS DISTINCT FROM a'), ('b IS NOT DISTINCT FROM a'), ('a + 1 IS DISTINCT FROM b + 1'), ('b IS DISTINCT FROM NULL'), ('n IS DISTINCT FROM m'), ('f IS NOT DISTINCT FROM ''NaN'''),
	('a + b IS NULL'), ('a + b IS NOT NULL'), ('(a > b) IS NULL'), ('(b > 3) IS TRUE'), ('(b + a > 3) IS NOT TRUE'), ('(b + a > 3) IS FALSE'), ('(b + a > 3) IS NOT FALSE'), ('(b + a > 3) IS UNKNOWN'), ('(b + a > 3) IS NOT UNKNOWN'),
	('b + 1 IN (1, 2, 3)'), ('b + 1 NOT IN (1, 2, 3)'), ('b + 1 IN (1, NULL)'), ('a * 2 NOT IN (4, NULL)'), ('b + 1 = ANY (''{}''::int[])'), ('b + 1 < ALL (''{4,7}''::int[])'), ('n * 2 IN (0.25, 1.5)'), ('f * 2 IN (0, 6)'),
	('CASE WHEN b > 0 THEN a > 0 ELSE flag END'), ('CASE WHEN b > 0 THEN 1 WHEN a > 0 THEN 2 END = 2'), ('CASE b WHEN 1 THEN 10 WHEN 2 THEN 20 ELSE a END > 15'), ('COALESCE(b, a) > 3'), ('COALESCE(flag, a > 3)'), ('COALESCE(b > 3, flag)'), ('NULLIF(b, a) > 3'),
	('NULLIF(b, 5) IS NULL'), ('CASE WHEN flag THEN NULL ELSE b END IS NULL'), ('b > 3 AND (a + 1 > b OR c > 0) AND NOT flag'), ('NOT (b > 3 OR a * 2 > 7)')) v(f);

-- errors: only where core meets one, and core's; filters run in the order of their costs
CREATE TABLE h_err (id int, x int, y int, t text, big int) USING heap;
INSERT INTO h_err SELECT g, g % 5, g, 'text ' || g % 7, CASE WHEN g = 2500 THEN 2147483647 ELSE 1 END FROM generate_series(1, 4000) g;
CALL test.twin('err', 'id');
SELECT f, test.twins('err', 'count(*)', condition => f, plan => 'ZedstoreAgg') FROM (VALUES ('x <> 0 AND 1 / x > 0'), ('1 / x > 0 AND x <> 0'), ('1 / x > 0'), ('1 / x > 0 OR x = 0'), ('x = 0 OR 1 / x > 0'), ('1 / x > 0 AND y < 0'), ('100 / x + 1 > 0 AND y < 0'), ('y < 0 AND 1 / x > 0'),
	('big + 1 > 0'), ('big + 1 > 0 AND id < 2500'), ('id < 2500 AND big + 1 > 0'), ('id > 2500 AND big + 1 > 0'), ('big + 1 > 0 AND 1 / (id - 2000) < 5'), ('1 / (id - 3000) < 5 AND big + 1 > 0'), ('big * 2 > 0 AND 1 / (id - 2500) < 5'),
	('CASE WHEN x = 0 THEN false ELSE 1 / x > 0 END'), ('CASE WHEN x > 0 THEN 10 / x ELSE 0 END > 3'), ('CASE WHEN x > 0 THEN 10 / x ELSE 1 / x END > 3'), ('COALESCE(NULLIF(x, 0), 1 / x) > 0'), ('NULLIF(x, 0) / NULLIF(x, 0) = 1'),
	('(1 / x > 0) IS NULL'), ('1 / x IS NULL'), ('1 / x IS DISTINCT FROM 3'), ('1 / x IN (1, 2)'), ('1 / x = ANY (NULL::int[])'), ('1 / x = ANY (''{}''::int[])'), ('1 / x = ANY (''{NULL}''::int[])'), ('1 / x < ALL (''{NULL,NULL}''::int[])'), ('1 / x > ANY (''{NULL,1}''::int[])'), ('x > 0 AND (1 / x = 1 OR 1 / (x - 1) > 0)'), ('y < 10 AND 1 / (y - 20) < 5'), ('y < 10 AND 1 / (y - 5) < 5')) v(f);
SELECT test.twins('err', 'count(*) FILTER (WHERE x <> 0 AND 1 / x > 0), sum(1 / x) FILTER (WHERE x <> 0)', plan => 'ZedstoreAgg'), test.twins('err', 'count(*) FILTER (WHERE 1 / x > 0)', plan => 'ZedstoreAgg'), test.twins('err', 'count(*)', condition => 'x > 0 AND 1 / x >= 0', tail => 'HAVING count(*) > 1 AND sum(10 / x) > 5', plan => 'ZedstoreAgg'),
	test.twins('err', 'count(*)', tail => 'HAVING 1 / (count(*) - 4000) > 0 AND count(*) <> 4000', plan => 'ZedstoreAgg');
-- security levels: what a policy says goes before what may raise
CREATE ROLE regress_vector_filter;
GRANT SELECT ON z_err, h_err TO regress_vector_filter;
ALTER TABLE z_err ENABLE ROW LEVEL SECURITY;
ALTER TABLE h_err ENABLE ROW LEVEL SECURITY;
CREATE POLICY z_err_policy ON z_err USING (CASE WHEN x > 0 THEN 10 / x > 2 END);
CREATE POLICY h_err_policy ON h_err USING (CASE WHEN x > 0 THEN 10 / x > 2 END);
SET ROLE regress_vector_filter;
SELECT test.twins('err', 'count(*), sum(1 / x)', condition => '1 / x >= 0', plan => 'ZedstoreAgg'), test.twins('err', 'count(*)', condition => '1 / (x - 1) >= 0', plan => 'ZedstoreAgg');
RESET ROLE;
DROP POLICY z_err_policy ON z_err;
DROP POLICY h_err_policy ON h_err;
ALTER TABLE z_err DISABLE ROW LEVEL SECURITY;
ALTER TABLE h_err DISABLE ROW LEVEL SECURITY;
REVOKE ALL ON z_err, h_err FROM regress_vector_filter;
DROP ROLE regress_vector_filter;

-- strings: dictionaries, few equal ones, blanks, long ones, collations
CREATE COLLATION vector_filter_ci (PROVIDER = icu, LOCALE = 'und-u-ks-level2', DETERMINISTIC = false);
CREATE COLLATION vector_filter_en (PROVIDER = icu, LOCALE = 'en');
\set ECHO none
CREATE TABLE h_like (id int, t text COLLATE "C", v varchar(60), c char(8), en text COLLATE vector_filter_en, ci text COLLATE vector_filter_ci, w text) USING heap;
INSERT INTO h_like SELECT g, CASE WHEN g % 13 = 0 THEN NULL WHEN g % 10 = 0 THEN '' ELSE (ARRAY['abc', 'abcabc', 'xabcx', 'ab%c', 'a_c', 'ab\c', 'Größe ü', 'cba ', 'aabbcc'])[g % 9 + 1] END,
		md5(g::text) || CASE WHEN g % 4 = 0 THEN ' straße' ELSE '' END, 'c' || g % 9, (ARRAY['apple', 'Apple', 'zebra'])[g % 3 + 1], (ARRAY['apple', 'Apple', 'zebra'])[g % 3 + 1],
		CASE WHEN g % 700 = 0 THEN repeat('long ', 4000) || g ELSE 'w' || g % 2000 END
	FROM generate_series(1, 5000) g;
CALL test.twin('like', 'id');
\set ECHO all
SELECT f, tests('like', f) FROM (SELECT format(f, p) FROM (VALUES ('t LIKE %L'), ('t NOT LIKE %L'), ('v LIKE %L')) f(f), (VALUES ('abc'), ('abc%'), ('%abc'), ('%abc%'), ('%'), ('%%'), (''), ('a%c'), ('a%b%c'), ('%b%b%'), ('a_c'), ('%_'), ('_'), ('a\_c'), ('ab\%c'), ('%\%%'), ('ab\\c'), ('%\\%'),
	('Größe%'), ('%ü'), ('%ß%'), ('Gr__e _'), ('abcabcabc%'), ('%a%a%a%'), ('%straße'), ('%ff%'), ('c4%'), ('%c4%e%'), ('a%cc')) p(p)) v(f);
SELECT f, tests('like', f) FROM (VALUES ('t LIKE ''ab\'''), ('t LIKE NULL'), ('c LIKE ''c1'''), ('c LIKE ''c1%'''), ('c LIKE ''c1      '''), ('c LIKE ''% '''), ('c NOT LIKE ''%3%'''), ('c LIKE ''c_      '''), ('en LIKE ''%pp%'''), ('en LIKE ''A%'''), ('ci LIKE ''A%'' COLLATE "C"'), ('en = ''apple'''),
	('w LIKE ''%long 700'''), ('w LIKE ''w1%'''), ('w LIKE ''%long%'''), ('t LIKE ''a%'' ESCAPE ''x'''), ('t ~~ ''a%'''), ('t !~~ ''a%'''), ('starts_with(t, ''abc'')'), ('starts_with(t, '''')'), ('starts_with(v, ''c4'')'), ('starts_with(t, ''a%'')'), ('t LIKE t'), ('t ILIKE ''ABC%'''),
	('t < ''abc'''), ('t <= ''abc'''), ('t >= ''abc'''), ('t > ''abc'''), ('t BETWEEN ''a'' AND ''abc'''), ('''b'' > t'), ('t < ''abcd'' COLLATE vector_filter_en'), ('en < ''b'''), ('en < ''b'' COLLATE "C"'), ('c < ''c5'''), ('c <= ''c5'' COLLATE "C"'), ('c > ''c5 '' COLLATE "C"'), ('v < ''8'' COLLATE "C"'), ('w > ''w5'' COLLATE "C"'),
	('t IN (''abc'', ''xabcx'')'), ('t < ANY (''{ab,cba}'')'), ('v LIKE ''0%'' OR t LIKE ''%x'' AND en LIKE ''z%'''), ('CASE WHEN t LIKE ''a%'' THEN id % 2 = 0 ELSE t IS NULL END'), ('t LIKE ''a%'' IS NOT TRUE')) v(f);
SELECT test.twins('like', 'sum(CASE WHEN t LIKE ''a%'' THEN id ELSE 0 END), count(*) FILTER (WHERE v NOT LIKE ''%a%''), sum((t = ''abc'')::int)', plan => 'ZedstoreAgg');
BEGIN;
INSERT INTO z_like SELECT id + 10000, t, v, c, en, ci, w FROM h_like WHERE id < 100;
INSERT INTO h_like SELECT id + 10000, t, v, c, en, ci, w FROM h_like WHERE id < 100;
SELECT tests('like', 't LIKE ''a%c'''), tests('like', 'w LIKE ''%1%''');
ROLLBACK;
-- permissions: of a function in a filter
CREATE ROLE regress_vector_filter;
GRANT SELECT ON z_err TO regress_vector_filter;
REVOKE EXECUTE ON FUNCTION textlike(text, text) FROM PUBLIC;
SET zedstore.debug_vector = force;
SET ROLE regress_vector_filter;
SELECT count(*) FROM z_err WHERE t LIKE 'a%';
SELECT count(*) FROM z_err WHERE x + 1 > 3;
RESET ROLE;
GRANT EXECUTE ON FUNCTION textlike(text, text) TO PUBLIC;
REVOKE ALL ON z_err FROM regress_vector_filter;
DROP ROLE regress_vector_filter;
RESET zedstore.debug_vector;

DROP TABLE h_val, z_val, h_err, z_err, h_like, z_like;
DROP COLLATION vector_filter_ci, vector_filter_en;
DROP FUNCTION tests;
