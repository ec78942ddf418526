-- parameters and stable functions in filters of aggregates by batches: constants of the scan, evaluated when core would
\getenv abs_srcdir PG_ABS_SRCDIR
\set batches :abs_srcdir '/sql/include/batches.sql'
\i :batches
CREATE SCHEMA vector_param;
SET search_path = vector_param, public;
SET max_parallel_workers_per_gather = 0;
SET zedstore.min_segment_rows = 1024;
\set ECHO none
CREATE TABLE h_par (id int, k int, n numeric(10,2), f float8, t text, d date, ts timestamptz, flag bool) USING heap;
INSERT INTO h_par SELECT g, CASE WHEN g % 11 = 0 THEN NULL ELSE g % 7 END, g / 7.0, g / 3.0, 'text ' || g % 9, date '2020-01-01' + g % 400,
	timestamptz '2020-01-01' + g * interval '1 hour', g % 3 = 0 FROM generate_series(1, 6000) g;
CALL test.twin('par', 'id');
INSERT INTO h_par (id, k, n) SELECT g, g % 7, 1.5 FROM generate_series(6001, 6010) g;
INSERT INTO z_par (id, k, n) SELECT g, g % 7, 1.5 FROM generate_series(6001, 6010) g;
-- stable functions: one that gives a value, one that raises
CREATE FUNCTION seven() RETURNS int STABLE LANGUAGE plpgsql AS $$ BEGIN RETURN 7; END $$;
-- (its argument keeps the planner from calling it)
CREATE FUNCTION boom(int) RETURNS int STABLE LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'boom'; END $$;
CREATE FUNCTION setting() RETURNS int STABLE LANGUAGE sql AS $$ SELECT current_setting('test.setting')::int $$;
-- $1 to $n of a statement with these values, as custom and generic plan
CREATE FUNCTION prepared(what text, condition text, types text, vals text, tail text DEFAULT '')
	RETURNS text LANGUAGE sql AS $$
	SELECT test.prepared(format('SELECT string_agg(r, '' '' ORDER BY r COLLATE "C")
		FROM (SELECT ROW(%s)::text AS r FROM @_par t WHERE %s %s) x', what, condition, tail),
		types, vals, 100)
$$;
\set ECHO all
SELECT prepared(what, cond, types, vals, tail), cond, left(vals, 30) FROM (VALUES
	('count(*), sum(n)', 'id < $1', '(int)', '2000', ''), ('count(*)', 'id < $1', '(int)', 'NULL', ''), ('count(*)', 'id < $1', '(bigint)', '4000000000', ''),
	('k, count(*), avg(n)', 'id BETWEEN $1 AND $2', '(int, int)', '100, 4000', 'GROUP BY k'), ('count(*)', 'n < $1', '(numeric)', '99.995', ''),
	('count(*)', 'n < $1', '(numeric)', '''NaN''', ''), ('count(*)', 'n < $1 * 2 AND f > $2', '(numeric, float8)', '300, 7.5', ''),
	('count(*), max(t)', 't = $1', '(text)', '''text 3''', ''), ('count(*)', 't LIKE $1', '(text)', '''%t 3''', ''), ('count(*)', 't LIKE $1', '(text)', '''%\''', ''),
	('count(*), sum(id)', 'k = ANY ($1)', '(int[])', '''{1,3,NULL}''', ''), ('count(*)', 'k = ANY ($1)', '(int[])', 'NULL', ''), ('count(*)', 'k <> ALL ($1)', '(int[])', '''{}''', ''),
	('count(*)', 't = ANY ($1)', '(text[])', ''''||(SELECT array_agg('text ' || g) FROM generate_series(2, 90) g)::text||'''', ''),
	('count(*), min(d)', 'd >= $1 AND d < $1 + $2', '(date, int)', '''2020-06-01'', 30', ''), ('count(*)', 'ts > $1 - interval ''1 month''', '(timestamptz)', '''2020-05-01''', ''),
	('count(*)', 'CASE WHEN $1 THEN k = 1 ELSE k = 2 END', '(bool)', 'true', ''), ('count(*)', 'flag = $1 OR id = $2', '(bool, int)', 'false, 30', ''),
	('count(*)', 'id / $1 > 5', '(int)', '0', ''), ('count(*)', 'id < 0 AND k = 1 / $1', '(int)', '0', ''), ('count(*)', 'id < 5 AND k = 1 / $1', '(int)', '0', ''),
	('count(*)', 'id < $1::text::int', '(text)', '''x''', ''), ('sum(n)', 'k IS DISTINCT FROM $1', '(int)', '3', ''), ('max(id)', 'id < $1', '(int)', '3000', '')) v(what, cond, types, vals, tail);
-- functions: their errors come when a row comes to them, behind those of rows in front of it
SELECT test.by_batches('SELECT count(*) FROM @_par WHERE ' || cond, 'ZedstoreAgg\) on'), cond FROM (VALUES ('k < seven()'), ('id = 3 AND k = boom((SELECT 1))'),
	('id = 30000 AND k = boom((SELECT 1))'), ('k = boom((SELECT 1)) AND id = 30000'), ('10 / (id - 5) > 3 AND k = boom((SELECT 1))'), ('ts < now() - interval ''1 year'''), ('d < current_date'),
	('ts > ''2020-03-01''::date'), ('id = 1 OR k = boom((SELECT 1))'), ('id > 0 OR k = boom((SELECT 1))'), ('t = current_user'), ('id < (SELECT 100)'), ('id < 0 AND k = (SELECT boom(1) OFFSET 0)'), ('id = 7 AND k = (SELECT boom(1) OFFSET 0)'),
	('id > 0 AND (id < 7000 OR k = (SELECT boom(1) OFFSET 0))'), ('id < random() * 0 + 9')) v(cond);
-- values that change from scan to scan: outer rows, settings, variables
SELECT test.by_batches('SELECT string_agg(x::text, '' '') FROM (SELECT g, (SELECT sum(n) FROM @_par p WHERE p.id < g * 1000 AND p.k = g) FROM generate_series(0, 4) g) x', 'ZedstoreAgg\) on');
SELECT test.by_batches('SELECT string_agg(x::text, '' '') FROM (SELECT o.id, s.* FROM @_par o, LATERAL (SELECT count(*), max(id) FROM @_par p WHERE p.id < o.id AND p.t = o.t) s WHERE o.id < 40 ORDER BY o.id) x', 'ZedstoreAgg\) on', 'v', 100);
SET zedstore.debug_vector = verify;
SET plan_cache_mode = force_generic_plan;
PREPARE p AS SELECT count(*), max(id) FROM z_par WHERE id < setting();
SET test.setting = 100;
EXECUTE p;
SET test.setting = 3000;
EXECUTE p;
SET test.setting = 'none';
EXECUTE p;
DO $$
DECLARE
	x int;
	r text := '';
BEGIN
	FOR i IN 1 .. 4 LOOP
		SELECT count(*) INTO x FROM z_par WHERE id < i * 10 AND k = i;
		r := r || x || ' ';
	END LOOP;
	RAISE NOTICE '%', r;
END $$;
-- variables of a procedural language, of which only some can be asked for without risk
CREATE FUNCTION variables(kind text, assign bool) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	v int := 50;
	r record;
	p h_par;
	result text := '';
	x bigint;
BEGIN
	p.id := 40;
	IF assign THEN
		SELECT 30 AS id, 2 AS k INTO r;
	END IF;
	IF kind = 'h' THEN
		SELECT count(*) INTO x FROM h_par WHERE id < v AND k < p.id;
		result := result || x || ' ';
		SELECT count(*) INTO x FROM h_par WHERE id < p.id AND n IS NOT NULL;
		result := result || x || ' ';
		SELECT count(*) INTO x FROM h_par t WHERE id < 0 AND k = r.k;
		result := result || x || ' ';
		SELECT count(*) INTO x FROM h_par t WHERE id < r.id AND k = r.k;
	ELSE
		SELECT count(*) INTO x FROM z_par WHERE id < v AND k < p.id;
		result := result || x || ' ';
		SELECT count(*) INTO x FROM z_par WHERE id < p.id AND n IS NOT NULL;
		result := result || x || ' ';
		SELECT count(*) INTO x FROM z_par t WHERE id < 0 AND k = r.k;
		result := result || x || ' ';
		SELECT count(*) INTO x FROM z_par t WHERE id < r.id AND k = r.k;
	END IF;
	RETURN result || x;
EXCEPTION WHEN others THEN
	RETURN result || sqlerrm;
END $$;
SELECT assign, variables('h', assign), variables('z', assign) FROM (VALUES (true), (false), (true)) a(assign);
PREPARE e(int, numeric) AS SELECT k, sum(n) FROM z_par WHERE id < $1 AND n > $2 GROUP BY k;
EXPLAIN (COSTS OFF) EXECUTE e (3, 4);
EXPLAIN (COSTS OFF) SELECT g, (SELECT sum(n) FROM z_par p WHERE p.id < g) FROM generate_series(1, 2) g;
-- segments are skipped by values that are known at the start, and by those that come later
SET zedstore.debug_vector = force;
CREATE TABLE z_seg (LIKE h_par) USING zedstore;
INSERT INTO z_seg SELECT * FROM h_par WHERE id <= 3000;
INSERT INTO z_seg SELECT * FROM h_par WHERE id BETWEEN 3001 AND 6000;
PREPARE s(int) AS SELECT count(*) FROM z_seg WHERE id < $1;
SELECT test.explained('EXECUTE s(5)', 'Segments|Vectors|Redone');
SELECT test.explained('SELECT sum(k) FROM z_seg WHERE id < seven()', 'Segments|Vectors|Redone');
-- workers have the parameters, too
SET parallel_setup_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
DEALLOCATE e;
PREPARE e(int, numeric) AS SELECT k, sum(n) FROM z_par WHERE id < $1 AND n > $2 GROUP BY k ORDER BY k;
EXPLAIN (COSTS OFF) EXECUTE e (3000, 4);
EXECUTE e (3000, 4);
EXECUTE e (30, 4);
DEALLOCATE e;
PREPARE e(int, numeric) AS SELECT k, sum(n) FROM h_par WHERE id < $1 AND n > $2 GROUP BY k ORDER BY k;
EXECUTE e (3000, 4);
EXECUTE e (30, 4);
