-- sets of DISTINCT aggregates that find no place in memory: what has no place is written out, and
-- the results are the same
\getenv abs_srcdir PG_ABS_SRCDIR
\set batches :abs_srcdir '/sql/include/batches.sql'
\i :batches
\set VERBOSITY terse
SET max_parallel_workers_per_gather = 0;
SET zedstore.min_segment_rows = 1024;
\set ECHO none
CREATE TABLE h_dis (id int, k int, few int, v int, w bigint, n numeric(12,2), u numeric, f float8, d
	date, t text, c char(8), uu uuid, flag bool) USING heap;
INSERT INTO h_dis SELECT g, g % 977, g % 3, CASE WHEN g % 50 <> 0 THEN hashint4(g / 2) % 6000 END,
	hashint4(g)::bigint << 20, (hashint4(g) % 5000) / 4.0,
		CASE WHEN g % 100 = 0 THEN 'NaN' WHEN g % 3 = 0 THEN g % 1300 ELSE round((g %
		1300)::numeric, 2) END, CASE g % 1000 WHEN 0 THEN '-0' WHEN 1 THEN 0 ELSE g / 7.0 END,
		date '2000-01-01' + (g * 7) % 5000, CASE WHEN g % 40 = 0 THEN NULL WHEN g % 997 = 0 THEN
		repeat('long', 3000) || g % 3 ELSE 'text ' || (g * 11) % 7000 END, 'c' || g % 4000,
		md5((g % 3500)::text)::uuid, CASE g % 3 WHEN 0 THEN true WHEN 1 THEN false END
	FROM generate_series(1, 15000) g;
CALL test.twin('dis', 'id');
-- rows in the row tree
INSERT INTO h_dis (id, k, v, t) SELECT g, g % 977, g, 'text ' || g FROM generate_series(15001,
	15050) g;
INSERT INTO z_dis (id, k, v, t) SELECT g, g % 977, g, 'text ' || g FROM generate_series(15001,
	15050) g;
CREATE FUNCTION sets(what text, keys text DEFAULT '', condition text DEFAULT 'true') RETURNS text
	LANGUAGE sql AS $$
	SELECT
	test.by_batches(format('SELECT string_agg(r, '' '' ORDER BY r COLLATE "C")
			FROM (SELECT ROW(%s)::text AS r FROM @_dis WHERE %s %s) x',
	what, condition,
		CASE keys WHEN '' THEN '' ELSE 'GROUP BY ' || keys END), 'ZedstoreAgg', 'v', 120,
		array[['none', '0', '8'], ['force', '0', '8'], ['force', '7', '8'], ['force', '500', '8'],
		['verify', '20', '8'], ['verify', '3000', '8'], ['rows', '7', '8'], ['rows', '900', '8']])
$$;
\set ECHO all
-- without groups, and with few and many of them
SELECT what, sets(what) FROM (VALUES ('count(DISTINCT v)'),
	('count(DISTINCT v), sum(DISTINCT v), avg(DISTINCT v), count(*), count(v), sum(v)'),
	('sum(DISTINCT w), avg(DISTINCT w), var_pop(DISTINCT v)'),
	('sum(DISTINCT n), avg(DISTINCT n), min(DISTINCT v), max(DISTINCT w)'),
	('count(DISTINCT u), count(DISTINCT f)'),
	('count(DISTINCT t), count(DISTINCT c), count(DISTINCT uu), max(t)'),
	('count(DISTINCT d), count(DISTINCT flag)'),
	('count(DISTINCT v) FILTER (WHERE flag), count(DISTINCT v) FILTER (WHERE NOT flag)'),
	('count(DISTINCT t) FILTER (WHERE few = 5)'),
	('count(DISTINCT v % 4000), sum(DISTINCT v + 1)'),
	('count(DISTINCT upper(t)), count(DISTINCT n * 2)'),
	('sum(DISTINCT 100 / (v - v % 7))')) q(what);
SELECT what, sets('few, ' || what, 'few') FROM (VALUES
	('count(DISTINCT v), sum(DISTINCT v), count(*)'),
	('sum(DISTINCT n), count(DISTINCT u), count(DISTINCT f)'),
	('count(DISTINCT t), count(DISTINCT c), count(DISTINCT v) FILTER (WHERE flag)')) q(what);
SELECT what, sets('k, ' || what, 'k') FROM (VALUES ('count(DISTINCT v), sum(DISTINCT v), count(*)'),
	('sum(DISTINCT n), count(DISTINCT u), count(DISTINCT f), max(t)'),
	('count(DISTINCT t), count(DISTINCT c), count(DISTINCT v) FILTER (WHERE flag)'))
	q(what);
SELECT sets('t, count(DISTINCT v), sum(DISTINCT n), count(DISTINCT id)', 't'),
	sets('k % 50, t, count(DISTINCT v)', 'k % 50, t', 'v > 0'), sets('k, few, count(DISTINCT c)',
	'k, few', 'id < 14000');
SELECT sets('count(DISTINCT v)', '', 'v = 0'), sets('few, count(DISTINCT v)', 'few', 'v IS NULL');
-- groups that are returned early have no sets; minimum and maximum need none
SELECT sets('id, min(DISTINCT few), max(DISTINCT k % 2)', 'id'), sets('id, count(DISTINCT v)',
	'id');
-- above joins
SELECT
	test.by_batches('SELECT string_agg(r::text, '' '' ORDER BY r::text COLLATE "C")
	FROM (SELECT k, count(DISTINCT a.v + b.v), count(DISTINCT a.t || b.few)
		FROM @_dis a JOIN @_dis b USING (k) WHERE b.id < 3000 AND a.id < 4000 GROUP BY k) r',
	'ZedstoreAgg',
	'v', 100, test.small_and_large());
-- little memory: files are written, and the sets do not grow
CREATE FUNCTION usage(query text, OUT batches text, OUT disk bool, OUT memory text) LANGUAGE plpgsql
	AS $$
DECLARE
	plan constant json := test.top_node(query);
BEGIN
	batches := CASE WHEN (plan->>'Batches')::int = 1 THEN 'one' ELSE 'several' END;
	disk := (plan->>'Disk Usage')::int > 0;
	memory := CASE WHEN (plan->>'Memory Usage')::int < 1024 THEN 'little' ELSE 'much' END;
END $$;
SET zedstore.debug_vector = force;
SET hash_mem_multiplier = 1;
SET work_mem = '64MB';
SELECT * FROM usage('SELECT count(DISTINCT v), count(DISTINCT t) FROM z_dis');
SELECT * FROM usage('SELECT few, count(DISTINCT v), count(DISTINCT t) FROM z_dis GROUP BY few');
SET work_mem = '256kB';
SELECT * FROM usage('SELECT count(DISTINCT v), count(DISTINCT t) FROM z_dis WHERE length(t) < 100');
SELECT * FROM
	usage('SELECT few, count(DISTINCT v), count(DISTINCT t)
		FROM z_dis WHERE length(t) < 100 GROUP BY few');
SELECT * FROM
	usage('SELECT id % 2000, count(DISTINCT v), count(DISTINCT w)
		FROM z_dis WHERE id < 15000 GROUP BY id % 2000');
SELECT count(DISTINCT v) = (SELECT count(DISTINCT v) FROM h_dis) AS v, count(DISTINCT t) = (SELECT
	count(DISTINCT t) FROM h_dis) AS t, sum(DISTINCT n) = (SELECT sum(DISTINCT n) FROM h_dis) AS n
	FROM z_dis;
SELECT md5(string_agg(x::text, ' ' ORDER BY x::text)) = (SELECT md5(string_agg(x::text, ' ' ORDER BY
	x::text)) FROM (SELECT k, count(DISTINCT v), count(DISTINCT t) FROM h_dis GROUP BY k) x) AS same
	FROM (SELECT k, count(DISTINCT v), count(DISTINCT t) FROM z_dis GROUP BY k) x;
-- scanned again; a limit on files, errors while files are there: none stays
SET zedstore.debug_vector_groups = 100;
SELECT g, (SELECT count(DISTINCT v) FROM z_dis WHERE id > g * 1000) = (SELECT count(DISTINCT v) FROM
	h_dis WHERE id > g * 1000) AS same FROM generate_series(0, 2) g;
SELECT test.temporary_files();
SET temp_file_limit = '64kB';
\set VERBOSITY sqlstate
SELECT count(DISTINCT t) FROM z_dis;
\set VERBOSITY terse
RESET temp_file_limit;
SELECT test.temporary_files();
SELECT count(DISTINCT v), sum(1 / (id - 14000)) FROM z_dis;
SELECT test.temporary_files();
BEGIN;
DECLARE c CURSOR FOR SELECT few, count(DISTINCT v) FROM z_dis GROUP BY few;
FETCH 1 FROM c;
CLOSE c;
SELECT test.temporary_files();
ROLLBACK;
RESET zedstore.debug_vector_groups;
RESET zedstore.debug_vector;
RESET work_mem;
-- what does not fit costs more than what does, and is planned all the same
ANALYZE z_dis;
SELECT test.cost('SELECT count(DISTINCT id) FROM z_dis') AS large \gset
EXPLAIN (COSTS OFF) SELECT few, count(DISTINCT id) FROM z_dis GROUP BY few;
SET work_mem = '64kB';
SELECT test.cost('SELECT count(DISTINCT id) FROM z_dis') > :large AS more,
	test.cost('SELECT count(DISTINCT few) FROM z_dis') <= :large AS "not more";
EXPLAIN (COSTS OFF) SELECT few, count(DISTINCT id) FROM z_dis GROUP BY few;
RESET work_mem;
-- an argument is computed where FILTER lets the row pass, and nowhere else
SELECT sets('count(DISTINCT 1000000 / (v % 3)) FILTER (WHERE v % 3 <> 0 AND id <= 14000)');
SELECT test.redone('SELECT count(DISTINCT 1000000 / (v % 3)) FILTER (WHERE v % 3 <> 0) FROM z_dis
	WHERE id <= 14000') <= 1 AS "none but those with rows of the row tree";
DROP FUNCTION sets, usage;
DROP TABLE h_dis, z_dis;
