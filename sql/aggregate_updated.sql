-- rows that were updated lately lie in the row tree, beside columns of others
\getenv abs_srcdir PG_ABS_SRCDIR
\set batches :abs_srcdir '/sql/include/batches.sql'
\i :batches
SET max_parallel_workers_per_gather = 0;
SET zedstore.min_segment_rows = 1024;
\set ECHO none
CREATE TABLE h_upd USING heap AS SELECT g AS id, g % 7 AS k, (g / 7.0)::numeric(10,2) AS n, 't' || g
	% 9 AS t
	FROM generate_series(1, 40000) g;
CREATE TABLE z_upd USING zedstore AS SELECT * FROM h_upd ORDER BY id;
CREATE FUNCTION same() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT test.by_batches('SELECT md5(string_agg(r::text, '' '' ORDER BY r::text COLLATE "C"))
		FROM (SELECT k, count(*), sum(n), min(t) FROM @_upd WHERE n > 50 GROUP BY k)
		r', 'ZedstoreAgg')
	UNION ALL SELECT
	test.by_batches('SELECT md5(string_agg(r::text, '' '' ORDER BY r::text COLLATE "C"))
		FROM (SELECT * FROM @_upd WHERE n % 3 = 0 AND t > ''t3'') r', 'ZedstoreScan')
$$;
\set ECHO all
SET zedstore.debug_vector = force;
SELECT test.redone('SELECT k, sum(n) FROM z_upd GROUP BY k') AS "of 40",
	test.redone('SELECT * FROM z_upd WHERE n > 1');
-- one row of a hundred: 400 rows, in each of the batches
UPDATE h_upd SET n = n + 1 WHERE id % 100 = 3;
UPDATE z_upd SET n = n + 1 WHERE id % 100 = 3;
SELECT test.redone('SELECT k, sum(n) FROM z_upd GROUP BY k') <= 2 AS few,
	test.redone('SELECT * FROM z_upd WHERE n > 1') <= 2 AS few;
SELECT same();
-- one by one
CREATE PROCEDURE update_some(which text) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. 50 LOOP
		EXECUTE format('UPDATE %I SET k = k + 1, t = ''u'' WHERE id = %s', which || '_upd', i *
		777);
	END LOOP;
END $$;
CALL update_some('h');
CALL update_some('z');
SELECT test.redone('SELECT k, sum(n) FROM z_upd GROUP BY k') <= 3 AS few;
SELECT same();
DROP PROCEDURE update_some;
DROP FUNCTION same;
DROP TABLE h_upd, z_upd;
