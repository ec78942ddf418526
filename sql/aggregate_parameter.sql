-- parameters and stable functions in keys, arguments and FILTER clauses of aggregates by batches
\getenv abs_srcdir PG_ABS_SRCDIR
\set batches :abs_srcdir '/sql/include/batches.sql'
\i :batches
\set VERBOSITY terse
SET max_parallel_workers_per_gather = 0;
SET zedstore.min_segment_rows = 1024;
\set ECHO none
CREATE TABLE h_fol (id int, k int, b bigint, n numeric(10,2), f float8, t text, d date, ts
	timestamptz,
	flag bool) USING heap;
INSERT INTO h_fol SELECT g, CASE WHEN g % 11 = 0 THEN NULL ELSE g % 7 END, g * 1000, g / 7.0, g /
	3.0,
	'text ' || g % 9, date '2020-01-01' + g % 400, timestamptz '2020-01-01' + g * interval '1 hour',
	g % 3 = 0 FROM generate_series(1, 5000) g;
CALL test.twin('fol', 'id');
INSERT INTO h_fol (id, k, n) SELECT g, g % 7, 1.5 FROM generate_series(5001, 5010) g;
INSERT INTO z_fol (id, k, n) SELECT g, g % 7, 1.5 FROM generate_series(5001, 5010) g;
-- stable functions: one that gives a value, one that raises
CREATE FUNCTION seven() RETURNS int STABLE LANGUAGE plpgsql AS $$ BEGIN RETURN 7; END $$;
CREATE FUNCTION boom(int) RETURNS int STABLE LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION 'boom';
END $$;
CREATE FUNCTION setting() RETURNS int STABLE LANGUAGE sql AS $$
	SELECT current_setting('test.setting')::int
$$;
-- a statement with parameters as custom and generic plan, in all modes
CREATE FUNCTION prepared(what text, types text, vals text, tail text DEFAULT '') RETURNS text
	LANGUAGE sql AS $$
	SELECT test.prepared(format('SELECT string_agg(r, '' '' ORDER BY r COLLATE "C")
		FROM (SELECT s::text AS r FROM (SELECT %s FROM @_fol t %s) s) x', what, tail),
		types, vals, 80)
$$;
\set ECHO all
SELECT prepared(what, types, vals, tail), what, left(vals, 20) FROM (VALUES
	('sum(id + $1), count(*)', '(int)', '5', ''), ('sum(id + $1)', '(int)', 'NULL', ''),
	('sum(id * $1)', '(int)', '2000000', ''), ('sum(id / $1)', '(int)', '0', ''),
	('sum(b * $1), sum(n * $2), min(n - $2)', '(bigint, numeric)', '7, 1.250', ''),
	('sum(n * $1)', '(numeric)', '''NaN''', ''), ('sum(n + $1)', '(numeric)', '1e30', ''),
	('sum(n * $1), avg(n * $1)', '(numeric)', '0.1234567890123456789', ''),
	('sum(f * $1), max(f - $1)', '(float8)', '1e300', ''), ('sum(f / $1)', '(float8)', '0', ''),
	('count(*) FILTER (WHERE id < $1), sum(n) FILTER (WHERE k = $2)', '(int, int)', '77, 3', ''),
	('count(*) FILTER (WHERE id < $1)', '(int)', 'NULL', ''),
	('count(*) FILTER (WHERE t LIKE $1), max(id) FILTER (WHERE t = $2)', '(text, text)',
	'''%3'', ''text 4''', ''), ('count(*) FILTER (WHERE t LIKE $1)', '(text)', '''%\''', ''),
	('count(*) FILTER (WHERE k = ANY ($1))', '(int[])', '''{1,5,NULL}''', ''),
	('sum(id) FILTER (WHERE d < $1 - 10)', '(date)', '''2020-07-01''', ''),
	('sum(100 / (k - $1)) FILTER (WHERE k <> $1)', '(int)', '3', ''),
	('sum(100 / (k - $1)) FILTER (WHERE k <> $1 + 1)', '(int)', '3', ''),
	('sum(CASE WHEN k > $1 THEN id ELSE $2 END)', '(int, int)', '3, -1', ''),
	('sum(CASE WHEN k > $1 THEN id ELSE $2 * 2 END)', '(int, int)', '3, -1', ''),
	('sum(COALESCE(k, $1)), count($1), max($1), sum($1)', '(int)', '9', ''),
	('sum(DISTINCT k + $1), count(DISTINCT id % $1)', '(int)', '5', ''),
	('count(DISTINCT k + $1) FILTER (WHERE id > $2)', '(int, int)', '5, 3000', ''),
	('k + $1, count(*)', '(int)', '5', 'GROUP BY k + $1'),
	('k % $1, count(*)', '(int)', '0', 'GROUP BY k % $1'),
	('id % $1, sum(n + $2)', '(int, numeric)', '6, 3', 'GROUP BY id % $1'),
	('$1, k, count(*)', '(int)', '6', 'GROUP BY $1, k'), ('$1, count(*)', '(int)', '6',
	'GROUP BY $1'),
	('COALESCE(k, $1), sum(id)', '(int)', '6', 'GROUP BY COALESCE(k, $1)'),
	('n * $1, count(*)', '(numeric)', '0.0', 'GROUP BY n * $1'),
	('n * $1, count(*)', '(numeric)', '''Infinity''', 'WHERE id < 3000 GROUP BY n * $1'),
	('id / $1, sum(k + $2) FILTER (WHERE id > $3)', '(int, int, int)', '1000, 1, 500',
	'WHERE id < $1 * 4 GROUP BY id / $1 HAVING sum(k + $2) > $3'),
	('CASE WHEN t = $1 THEN $1 ELSE ''other'' END, count(*)', '(text)', '''text 3''',
	'GROUP BY CASE WHEN t = $1 THEN $1 ELSE ''other'' END'),
	('max(id + $1), min(id + $1)', '(int)', '2', ''), ('sum(n)', '(int)', '1', 'WHERE id > $1'))
	v(what, types, vals, tail);
-- functions and values of subqueries: their errors come when a row comes to them
CREATE FUNCTION folded(what text, tail text DEFAULT '') RETURNS text LANGUAGE sql AS $$
	SELECT test.by_batches(format('SELECT string_agg(r, '' '' ORDER BY r COLLATE "C")
		FROM (SELECT s::text AS r FROM (SELECT %s FROM @_fol t %s) s) x', what, tail),
		'ZedstoreAgg.\son',
		'v', 90,
		test.small_and_large())
$$;
SELECT folded(what, tail), what, tail FROM (VALUES ('sum(id + seven())', ''),
	('sum(k * (seven() + 1)) FILTER (WHERE id < seven() * 100)', ''),
	('k + seven(), count(*)', 'GROUP BY k + seven()'), ('sum(id + boom((SELECT 1)))', ''),
	('sum(id + boom((SELECT 1)))', 'WHERE id < 0'), ('sum(id + boom((SELECT 1)))',
	'WHERE id > 3000'),
	('sum(id + boom((SELECT 1))) FILTER (WHERE id < 0), count(*)', ''),
	('sum(id + boom((SELECT 1))) FILTER (WHERE id = 3333), count(*)', ''),
	('count(*) FILTER (WHERE k = boom((SELECT 1)))', ''),
	('count(*) FILTER (WHERE k = boom((SELECT 1)))', 'WHERE id < 0'),
	('sum(10 / (id - 2222)), sum(id + boom((SELECT 1))) FILTER (WHERE id > 2000)',
	'WHERE id <= 5000'),
	('sum(10 / (id - 1999)), sum(id + boom((SELECT 1))) FILTER (WHERE id > 2000)',
	'WHERE id <= 5000'),
	('id / boom((SELECT 1)), count(*)', 'GROUP BY id / boom((SELECT 1))'),
	('sum(id + (SELECT 3 OFFSET 0)), count(*) FILTER (WHERE k = (SELECT 2 OFFSET 0))', ''),
	('sum(id + (SELECT boom(1) OFFSET 0)) FILTER (WHERE id < 0)', ''),
	('sum(CASE WHEN id < 0 THEN (SELECT boom(1) OFFSET 0) ELSE id END)', ''),
	('sum(CASE WHEN id > 0 THEN (SELECT 7 OFFSET 0) ELSE id END)', ''),
	('sum(CASE WHEN id = 4000 THEN (SELECT boom(1) OFFSET 0) ELSE id END)', ''),
	('count(*) FILTER (WHERE ts < now()), count(*) FILTER (WHERE d > current_date)', ''),
	('current_date - d < 0, count(*)', 'GROUP BY current_date - d < 0'),
	('count(*) FILTER (WHERE t <> current_user)', ''), ('sum(id * random() * 0)', ''),
	('count(DISTINCT k + seven()), sum(DISTINCT id % (SELECT 100 OFFSET 0))', ''),
	('id % (SELECT 13 OFFSET 0), sum(k)', 'GROUP BY id % (SELECT 13 OFFSET 0)')) v(what, tail);
-- outer rows: values that change from scan to scan
SELECT test.by_batches('SELECT string_agg(x::text, '' '') FROM (SELECT g,
	(SELECT sum(n * g) FILTER (WHERE k = g) FROM @_fol WHERE id < 2000) FROM generate_series(0, 4)
	g) x',
	'ZedstoreAgg\) on');
SELECT
	test.by_batches('SELECT string_agg(x::text, '' '' ORDER BY x::text COLLATE "C")
	FROM (SELECT o.id, s.* FROM @_fol o, LATERAL (SELECT p.k + o.k, count(*), max(p.id - o.id) FROM
	@_fol p
	WHERE p.id < 1500 GROUP BY p.k + o.k) s WHERE o.id < 15) x', 'ZedstoreAgg\) on', 'v', 100);
SET zedstore.debug_vector = verify;
SET plan_cache_mode = force_generic_plan;
PREPARE p AS SELECT sum(id + setting()), count(*) FILTER (WHERE id < setting()) FROM z_fol;
SET test.setting = 100;
EXECUTE p;
SET test.setting = 3000;
EXECUTE p;
SET test.setting = 'none';
EXECUTE p;
DO $$
DECLARE
	x text;
	r text := '';
	rec record;
BEGIN
	FOR i IN 1 .. 4 LOOP
		SELECT sum(id * i) || ',' || count(*) FILTER (WHERE k = i) INTO x FROM z_fol WHERE id <
		2000;
		r := r || x || ' ';
	END LOOP;
	RAISE NOTICE '%', r;
	SELECT sum(id + rec.a) INTO x FROM z_fol;
END $$;
-- above joins
SELECT
	test.by_batches('SELECT string_agg(x::text, '' '' ORDER BY x::text COLLATE "C")
	FROM (SELECT a.k, sum(a.n * seven()), count(*) FILTER (WHERE b.id > (SELECT 100 OFFSET 0)),
	sum(b.n + (SELECT
	1.5))
	FROM @_fol a JOIN @_fol b USING (id) GROUP BY a.k) x', 'ZedstoreAgg', 'v', 100);
-- as EXPLAIN shows it: after the first batch there are programs
PREPARE e(int, numeric) AS SELECT k + $1, sum(n * $2) FILTER (WHERE id > $1) FROM z_fol GROUP BY k +
	$1;
EXPLAIN (COSTS OFF) EXECUTE e (3, 4);
SET zedstore.debug_vector = force;
CREATE TABLE z_few USING zedstore AS SELECT * FROM h_fol WHERE id <= 5000 ORDER BY id;
PREPARE few(int) AS SELECT k + $1, count(*) FILTER (WHERE id > $1) FROM z_few GROUP BY k + $1;
SELECT test.redone('EXECUTE few(3)') AS known,
	test.redone('SELECT sum(id + seven()) FROM z_few') AS later,
	test.redone('SELECT sum(n + 1) FROM z_few') AS none,
	test.redone('SELECT sum(n + seven()) FILTER (WHERE id < 0)
	FROM z_few') AS "not reached";
-- workers have the parameters, too
DEALLOCATE e;
PREPARE e(int, numeric) AS SELECT k + $1 AS k, sum(n * $2) FILTER (WHERE id > $1 + (SELECT 7 OFFSET
	0))
	FROM z_fol GROUP BY k + $1 ORDER BY 1;
EXECUTE e(3, 4);
SET parallel_setup_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
DEALLOCATE e;
PREPARE e(int, numeric) AS SELECT k + $1 AS k, sum(n * $2) FILTER (WHERE id > $1 + (SELECT 7 OFFSET
	0))
	FROM z_fol GROUP BY k + $1 ORDER BY 1;
EXPLAIN (COSTS OFF) EXECUTE e(3, 4);
EXECUTE e(3, 4);
DEALLOCATE ALL;
DROP FUNCTION prepared, folded, seven, boom, setting;
DROP TABLE h_fol, z_fol, z_few;
