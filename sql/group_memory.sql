-- groups that find no place in memory: their rows are written out, and the results are the same
\getenv abs_srcdir PG_ABS_SRCDIR
\set batches :abs_srcdir '/sql/include/batches.sql'
\i :batches
SET max_parallel_workers_per_gather = 0;
SET zedstore.min_segment_rows = 1024;
SET synchronize_seqscans = off;
\set ECHO none
CREATE TABLE h_sp (id int, k int, few int, n numeric(10,2), u numeric, f float8, t text, c char(8), uu uuid, flag bool) USING heap;
-- half of the rows are in one group, others in groups of one to nine; NULLs
INSERT INTO h_sp SELECT g, CASE WHEN g % 2 = 0 THEN 7 WHEN g % 101 = 0 THEN NULL ELSE g / (g % 9 + 1) END, g % 3, (g % 1000) / 4.0,
		CASE WHEN g % 100 = 0 THEN 'NaN' WHEN g % 3 = 0 THEN g % 300 ELSE round((g % 300)::numeric, 2) END, g / 7.0,
		CASE WHEN g % 50 = 0 THEN NULL WHEN g % 997 = 0 THEN repeat('long', 3000) || g ELSE 'text ' || g % 2500 END, 'c' || g % 400, md5((g % 1500)::text)::uuid,
		CASE g % 3 WHEN 0 THEN true WHEN 1 THEN false END
	FROM generate_series(1, 20000) g;
CALL test.twin('sp', 'id');
INSERT INTO h_sp (id, k, n) SELECT g, g, 1.5 FROM generate_series(20001, 20050) g;
INSERT INTO z_sp (id, k, n) SELECT g, g, 1.5 FROM generate_series(20001, 20050) g;
-- batches that a plan takes, and whether it writes anything
CREATE FUNCTION batches(query text, OUT batches int, OUT disk bool) LANGUAGE sql AS $$
	SELECT (plan ->> 'Batches')::int, (plan ->> 'Disk Usage')::int > 0 FROM test.top_node(query) plan
$$;
-- the same as heap's with all limits; the numbers of batches are those of the smallest one
CREATE FUNCTION spilled(what text, keys text, condition text DEFAULT 'true', suffix text DEFAULT 'sp') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	query text := 'SELECT md5(string_agg(r, '' '' ORDER BY r COLLATE "C")) FROM (SELECT ROW(' || what || ')::text AS r FROM @_' || suffix || ' t WHERE ' || condition ||
		' GROUP BY ' || keys || ') s';
	expected text;
	got text;
	n int := 0;
	b record;
BEGIN
	EXECUTE replace(query, '@', 'h') INTO expected;
	FOR i IN 1 .. 9 LOOP
		PERFORM set_config('zedstore.debug_vector', CASE WHEN i > 7 THEN 'force' WHEN i % 3 = 0 THEN 'rows' WHEN i % 3 = 1 THEN 'force' ELSE 'verify' END, true);
		PERFORM set_config('zedstore.debug_vector_groups', (ARRAY[0, 100, 100, 100, 3000, 2000, 0, 0, 100])[i]::text, true);
		PERFORM set_config('work_mem', CASE WHEN i IN (7, 8) THEN '64kB' ELSE '4MB' END, true);
		PERFORM set_config('zedstore.enable_packed_rows', CASE WHEN i IN (8, 9) THEN 'off' ELSE 'on' END, true);
		EXECUTE replace(query, '@', 'z') INTO got;
		IF got IS DISTINCT FROM expected THEN
			RETURN format('DIFFERENT (%s)', i);
		END IF;
	END LOOP;
	b := batches(format('SELECT %s FROM z_%s t WHERE %s GROUP BY %s', what, suffix, condition, keys));
	RETURN CASE WHEN b.batches > 1 AND b.disk THEN 'spilled' WHEN b.batches = 1 AND NOT b.disk THEN 'in memory' ELSE b::text END;
END $$;
\set ECHO all
SELECT spilled(what, keys, cond), keys FROM (VALUES
	('k, count(*), sum(n), avg(n), min(u), max(u), sum(u), count(t), min(id)', 'k', 'true'),
	('k, sum(f), avg(f), stddev(f), min(f)', 'k', 'id <= 20000'), ('id, count(*), sum(n)', 'id', 'true'), ('t, count(*), sum(id), max(t)', 't', 'true'),
	('t, k, c, count(*), max(t)', 't, k, c', 'id > 3000'), ('u, f, count(*)', 'u, f', 'id > 1000'), ('uu, k, count(DISTINCT few), sum(DISTINCT id)', 'uu, k', 'true'),
	('id, count(*) FILTER (WHERE flag), sum(n) FILTER (WHERE n > 100), count(t) FILTER (WHERE NOT flag)', 'id', 'true'),
	('id, k, few, n, u, f, t, c', 'id, k, few, n, u, f, t, c', 'true'), ('few, count(*), sum(n)', 'few', 'true'),
	('id, var_pop(n), stddev(few), any_value(t), bool_or(flag), bit_or(few)', 'id', 'true')) v(what, keys, cond);
-- numerics of 19 digits, which are known by their bytes, beside shorter ones; groups of rows that are written by batches and one by one, and of sums in the order of rows
\set ECHO none
CREATE TABLE h_long_sp (id int, n numeric(19,2), f float8, t text) USING heap;
INSERT INTO h_long_sp SELECT g, CASE WHEN g % 3 = 0 THEN g % 900 ELSE 29999999999999999.25 - g % 900 END, g % 7 / 3.0, 'text ' || g % 900 FROM generate_series(1, 6000) g;
CALL test.twin('long_sp', 'id');
INSERT INTO h_long_sp SELECT g, 29999999999999999.25 - g % 900, g / 7.0, 'text ' || g % 900 FROM generate_series(6001, 6050) g;
INSERT INTO z_long_sp SELECT g, 29999999999999999.25 - g % 900, g / 7.0, 'text ' || g % 900 FROM generate_series(6001, 6050) g;
\set ECHO all
SELECT spilled(what, keys, 'true', 'long_sp'), keys FROM (VALUES ('n, count(*), sum(f), min(t), max(n)', 'n'), ('t, sum(n), avg(f), max(t), min(n)', 't'), ('t, n, sum(f), count(n)', 't, n')) v(what, keys);
-- of little memory few groups need none
SET zedstore.debug_vector = force;
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SELECT * FROM batches('SELECT few, count(*) FROM z_sp GROUP BY few');
-- more memory, fewer batches
SELECT (batches('SELECT id, sum(n) FROM z_sp GROUP BY id')).batches > 4 AS many;
SET work_mem = '640kB';
SELECT (batches('SELECT id, sum(n) FROM z_sp GROUP BY id')).batches BETWEEN 2 AND 64 AS some;
SET work_mem = '64MB';
SELECT * FROM batches('SELECT id, sum(n) FROM z_sp GROUP BY id');
RESET work_mem;
RESET hash_mem_multiplier;
-- the table is scanned once
SET zedstore.debug_vector_groups = 500;
SET stats_fetch_consistency = none;
SELECT pg_stat_force_next_flush();
SELECT seq_scan AS before FROM pg_stat_user_tables WHERE relname = 'z_sp' \gset
SELECT count(*), sum(c) FROM (SELECT id, count(*) AS c FROM z_sp GROUP BY id) x;
SELECT pg_stat_force_next_flush();
SELECT seq_scan - :before AS scans FROM pg_stat_user_tables WHERE relname = 'z_sp';
-- a limit on files, a cancel, an error after the first groups: no files stay
SET temp_file_limit = '64kB';
\set VERBOSITY sqlstate
SELECT count(*) FROM (SELECT id, t, min(t) FROM z_sp GROUP BY id, t OFFSET 0) x;
\set VERBOSITY default
RESET temp_file_limit;
SELECT test.temporary_files();
SELECT id, count(*) FROM z_sp GROUP BY id HAVING pg_cancel_backend(pg_backend_pid());
SELECT test.temporary_files();
SELECT id, count(*) FROM z_sp GROUP BY id HAVING 1 / (count(*) - 1) > 0;
SELECT test.temporary_files();
-- a cursor that is left early, one that is read to its end, a subquery that is scanned again
BEGIN;
DECLARE c CURSOR FOR SELECT id, count(*) FROM z_sp GROUP BY id;
MOVE 10 FROM c;
SELECT test.temporary_files() > 0 AS some;
CLOSE c;
SELECT test.temporary_files();
DECLARE c CURSOR FOR SELECT id, count(*) FROM z_sp GROUP BY id;
DELETE FROM z_sp WHERE id % 3 = 0;
MOVE ALL FROM c;
SELECT test.temporary_files();
ROLLBACK;
SELECT g, (SELECT count(*) FROM (SELECT id, sum(n) AS s FROM z_sp GROUP BY id OFFSET 0) x WHERE s > g * 100) FROM generate_series(0, 2) g;
SELECT test.temporary_files();
-- as EXPLAIN shows it; rows removed are those of one of the loops
CREATE FUNCTION lines(query text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT regexp_replace(line, 'Usage: \d+', 'Usage: N', 'g')
		FROM test.explained(query, 'Removed|Batches') line
$$;
SELECT lines('SELECT few, count(*) FROM z_sp WHERE n < 50 GROUP BY few');
SELECT lines('SELECT few, count(*) FROM z_sp WHERE id > 0 GROUP BY few');
SELECT lines('SELECT * FROM generate_series(1, 3) g, LATERAL (SELECT few, count(*) FROM z_sp WHERE n < 50 GROUP BY few OFFSET g) x');
SELECT count(*) FROM lines('SELECT id, count(*) FROM z_sp WHERE id <= 2048 GROUP BY id') l WHERE l ~ '^Batches: [0-9]+  Memory Usage: NkB  Disk Usage: NkB$';
RESET zedstore.debug_vector_groups;
RESET zedstore.debug_vector;
DROP TABLE h_sp, z_sp, h_long_sp, z_long_sp;
DROP FUNCTION batches, spilled, lines;
