-- groups by expressions on batches: the same results as heap's
\getenv abs_srcdir PG_ABS_SRCDIR
\set batches :abs_srcdir '/sql/include/batches.sql'
\i :batches
SET max_parallel_workers_per_gather = 0;
SET zedstore.min_segment_rows = 1024;

-- groups in the order of their keys, as one value
\set ECHO none
CREATE FUNCTION grouped(name text, keys text, aggs text, condition text DEFAULT 'true') RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TEMP VIEW h_g AS SELECT %s AS k, %s AS a FROM h_%s WHERE %s GROUP BY %s', 'ROW(' || keys || ')::text', 'ROW(' || aggs || ')::text', name, condition, keys);
	EXECUTE format('CREATE TEMP VIEW z_g AS SELECT %s AS k, %s AS a FROM z_%s WHERE %s GROUP BY %s', 'ROW(' || keys || ')::text', 'ROW(' || aggs || ')::text', name, condition, keys);
	RETURN test.twins('g', 'count(*), left(string_agg(k || a, '' '' ORDER BY k COLLATE "C"), 60), md5(string_agg(k || a, '' '' ORDER BY k COLLATE "C"))', plan => 'ZedstoreAgg');
END $$;
CREATE FUNCTION groups(name text, keys text, aggs text, condition text DEFAULT 'true') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text := grouped(name, keys, aggs, condition);
BEGIN
	DROP VIEW h_g, z_g;
	RETURN result;
END $$;

CREATE TABLE h_key (id int, a smallint, b int, c bigint, n numeric(8,2), d date, ts timestamp, t text, v varchar(40), c10 char(10), ci text, flag bool) USING heap;
CREATE COLLATION vector_key_ci (PROVIDER = icu, LOCALE = 'und-u-ks-level2', DETERMINISTIC = false);
ALTER TABLE h_key ALTER ci TYPE text COLLATE vector_key_ci;
INSERT INTO h_key SELECT g, CASE WHEN g % 11 <> 0 THEN g % 150 - 70 END, CASE WHEN g % 7 <> 0 THEN g % 90 - 40 END, (g - 2000)::bigint * 1000000007, g % 100 / 4.0, date '2019-12-20' + g % 400,
		timestamp '2019-12-31 20:00' + g * interval '97 s', CASE WHEN g % 10 <> 0 THEN (ARRAY['Größe', 'abc', 'abd', 'Abc', ''])[g % 5 + 1] || g % 30 END, md5(g::text), 'c' || g % 13, 'x' || g % 3, g % 3 = 0
	FROM generate_series(1, 5000) g;
CALL test.twin('key', 'id');
DELETE FROM h_key WHERE id % 17 = 0;
DELETE FROM z_key WHERE id % 17 = 0;
\set ECHO all
SELECT k, groups('key', k, 'count(*), sum(id), min(n), max(b + 1)') FROM (VALUES ('b % 7'), ('a + b'), ('b / 10, a % 3'), ('c / 1000000000'), ('-b'), ('abs(a)'), ('b + 1, b - 1, b * 2'), ('b % 7, b'), ('a::int'), ('(c / 1000000007)::int % 100'),
	('d + 1'), ('d - date ''2020-01-01'''), ('ts::date'), ('date_trunc(''hour'', ts)'), ('date_trunc(''month'', ts), flag'), ('date_trunc(''day'', ts), b % 2'), ('extract(month FROM d)'), ('extract(hour FROM ts)'), ('extract(year FROM d), extract(month FROM d)'), ('d::timestamp'),
	('b > 3'), ('b > 3, a IS NULL, flag'), ('CASE WHEN b > 3 THEN 1 WHEN b < -3 THEN 2 END'), ('COALESCE(b, a, 0)'), ('NULLIF(b % 5, 2)'), ('CASE WHEN flag THEN d ELSE d + 30 END'),
	('left(t, 3)'), ('substring(t from 2 for 2)'), ('substr(t, 3)'), ('right(v, 1)'), ('left(v, 2), flag'), ('length(t)'), ('octet_length(t)'), ('length(c10)'), ('upper(t)'), ('lower(left(t, 2))'), ('c10::text'), ('substring(c10 from 1 for 2)'), ('left(t, -1)'),
	('CASE WHEN b > 3 THEN ''high'' WHEN b > 0 THEN ''low'' END'), ('COALESCE(t, ''none'')'), ('COALESCE(left(t, 1), v)'), ('CASE WHEN t LIKE ''a%'' THEN t ELSE left(v, 1) END'), ('NULLIF(left(t, 1), ''a'')'), ('length(t) % 3'), ('t || ''x'''), ('left(ci, 1)'), ('b + 0.5'), ('b / 2.0::float8')) v(k);
SELECT groups('key', 'b % 5', 'count(*), sum(id / (b % 5))', 'b IS NOT NULL'), groups('key', '10 / (b % 5)', 'count(*)', 'b % 5 <> 0'), groups('key', '10 / (b % 5)', 'count(*)'), groups('key', 'left(t, 2)', 'sum(id), count(DISTINCT b)', 'left(t, 1) = ''a''');
-- filters with such functions
SELECT f, test.twins('key', 'count(*), sum(id)', condition => f, plan => 'ZedstoreAgg') FROM (VALUES ('left(t, 3) = ''abc'''), ('left(t, 3) <> ''abc'''), ('substring(v from 3 for 2) IN (''00'', ''a1'', ''ff'')'), ('upper(t) LIKE ''ABC%'''), ('left(t, 2) NOT LIKE ''%b'''), ('length(t) > 4'), ('length(t) = length(c10)'), ('right(v, 1) < ''5'' COLLATE "C"'), ('left(t, 1) = right(t, 1)'),
	('COALESCE(t, ''abc1'') = ''abc1'''), ('CASE WHEN flag THEN t ELSE v END LIKE ''%b%'''), ('substring(t from 2) IS NULL'), ('NULLIF(t, '''') IS NULL'), ('substring(t, 1, -1) = ''x'''), ('c10::text = ''c1'''), ('left(ci, 1) = ''X'''), ('left(t, 2) IS DISTINCT FROM ''ab''')) v(f);
SELECT test.twins('key', 'count(left(t, 1)), sum(length(t)), max(length(v)), sum(CASE WHEN left(t, 1) = ''a'' THEN b ELSE 0 END), min(left(t, 2))', plan => 'ZedstoreAgg');
-- keys below expressions, in HAVING and ORDER BY; dropped ones; positions
SET zedstore.debug_vector = force;
EXPLAIN (COSTS OFF) SELECT date_trunc('hour', ts), count(*) FROM z_key WHERE b % 2 = 0 GROUP BY 1 HAVING date_trunc('hour', ts) > '2020-01-02' ORDER BY 1;
EXPLAIN (VERBOSE, COSTS OFF) SELECT b % 7 + 1, left(t, 1) || 'x', sum(c) FROM z_key GROUP BY b % 7, left(t, 1);
SELECT b % 7 + 1 AS x, (b % 7) * 2 AS y, count(*) FROM z_key WHERE id < 1000 GROUP BY b % 7 HAVING b % 7 > 0 OR count(*) > 150 ORDER BY b % 7;
SELECT b % 7 + 1 AS x, (b % 7) * 2 AS y, count(*) FROM h_key WHERE id < 1000 GROUP BY b % 7 HAVING b % 7 > 0 OR count(*) > 150 ORDER BY b % 7;
SELECT count(*) FROM z_key GROUP BY b > 3 ORDER BY 1;
SELECT DISTINCT left(t, 1) AS l, count(*) FROM z_key GROUP BY left(t, 1), flag ORDER BY 1, 2 LIMIT 4;
EXPLAIN (COSTS OFF) SELECT left(t, 1), b FROM z_key GROUP BY left(t, 1), b, t;
EXPLAIN (COSTS OFF) SELECT random() < 2, count(*) FROM z_key GROUP BY 1;
-- partial aggregates
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT date_trunc('day', ts) + interval '1 h' AS x, left(t, 1), count(*), sum(n * 2) FROM z_key GROUP BY date_trunc('day', ts), left(t, 1) HAVING sum(b + 1) > 0;
SELECT date_trunc('day', ts) + interval '1 h' AS x, left(t, 1), count(*), sum(n * 2) FROM z_key GROUP BY date_trunc('day', ts), left(t, 1) HAVING sum(b + 1) > 0
EXCEPT SELECT date_trunc('day', ts) + interval '1 h' AS x, left(t, 1), count(*), sum(n * 2) FROM h_key GROUP BY date_trunc('day', ts), left(t, 1) HAVING sum(b + 1) > 0;
RESET max_parallel_workers_per_gather;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
SET max_parallel_workers_per_gather = 0;
-- own rows in the row tree; little memory
BEGIN;
INSERT INTO h_key SELECT id + 10000, a, b, c, n, d, ts, t, v, c10, ci, flag FROM h_key WHERE id < 50;
INSERT INTO z_key SELECT id + 10000, a, b, c, n, d, ts, t, v, c10, ci, flag FROM z_key WHERE id < 50;
SELECT groups('key', 'left(t, 2), b % 3', 'count(*), sum(id)'), groups('key', 'date_trunc(''hour'', ts)', 'count(*)');
ROLLBACK;
SET zedstore.debug_vector_groups = 5;
SELECT groups('key', 'left(v, 2), b % 3', 'count(*), sum(id)'), groups('key', 'id % 1000', 'count(*), max(left(v, 1) || ''x'')');
RESET zedstore.debug_vector_groups;
-- permissions
CREATE ROLE regress_vector_key;
GRANT SELECT ON z_key TO regress_vector_key;
REVOKE EXECUTE ON FUNCTION "left"(text, int) FROM PUBLIC;
SET ROLE regress_vector_key;
SELECT left(t, 1), count(*) FROM z_key GROUP BY 1;
RESET ROLE;
GRANT EXECUTE ON FUNCTION "left"(text, int) TO PUBLIC;
REVOKE ALL ON z_key FROM regress_vector_key;
DROP ROLE regress_vector_key;
RESET zedstore.debug_vector;

DROP TABLE h_key, z_key;
DROP COLLATION vector_key_ci;
DROP FUNCTION grouped, groups;
