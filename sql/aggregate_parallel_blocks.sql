-- groups that workers hand over in blocks: the same results as heap's, in all modes of
-- zedstore.debug_vector and with zedstore.enable_group_blocks on and off
\getenv abs_srcdir PG_ABS_SRCDIR
\set batches :abs_srcdir '/sql/include/batches.sql'
\i :batches
SET zedstore.min_segment_rows = 1024;
SET extra_float_digits = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 4;
-- far: thousands of groups, each in all processes; n: numerics of one scale, u: of several, w: some
-- are no integers; NULLs, and groups of nothing else
CREATE TABLE h_blk AS
SELECT g AS id, hashint4(g) & 2047 AS far, CASE WHEN g % 5 <> 0 THEN (g % 700)::smallint END AS k,
	(hashint4(g) & 1023)::bigint * 10000000019 AS b, (g % 300) / 4.0::float8 AS f,
	(g % 64) / 8.0::real AS r, date '2020-01-01' + g % 400 AS d, g % 3 = 0 AS flag,
	((g % 90000) / 100.0)::numeric(9,2) AS n,
	CASE WHEN g % 7 = 0 THEN NULL WHEN g % 4 = 0 THEN g::numeric ELSE round(g / 8.0, g % 4) END
		AS u,
	CASE g % 5000 WHEN 17 THEN 'NaN' WHEN 18 THEN 1e50 WHEN 19 THEN 'Infinity'
		ELSE g % 1000 END::numeric AS w,
	CASE WHEN hashint4(g) & 3 <> 1 THEN g % 17 END AS few, 't' || g % 500 AS t
FROM generate_series(1, 30000) g;
CREATE TABLE z_blk (LIKE h_blk) USING zedstore WITH (parallel_workers = 4);
INSERT INTO z_blk SELECT * FROM h_blk ORDER BY id;
ANALYZE h_blk, z_blk;
CREATE FUNCTION twins(keys text, what text) RETURNS text LANGUAGE sql AS $$
	SELECT test.by_batches(format('SELECT md5(string_agg(r, '' '' ORDER BY r COLLATE "C"))
			FROM (SELECT ROW(%s, %s)::text AS r FROM @_blk GROUP BY %1$s) s', keys, what),
		'Gather.*Parallel Custom Scan \(ZedstoreAgg\)', 'p', 300,
		ARRAY[['off', '0', '4'], ['force', '0', '4'], ['force', '300', '2'], ['verify', '0', '4'],
			['verify', '300', '0'], ['rows', '0', '1'], ['rows', '300', '4']])
$$;
-- the rows that a single process sends
CREATE FUNCTION sent(query text) RETURNS TABLE (sent int) LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF, FORMAT json) ' ||
		query INTO plan;
	RETURN QUERY SELECT trunc((p->>'Actual Rows')::numeric)::int
		FROM jsonb_path_query(plan, 'strict $.** ? (@."Partial Mode" == "Partial")') p;
END $$;
SET zedstore.debug_vector = force;
SET parallel_leader_participation = off;
SET max_parallel_workers_per_gather = 1;
SELECT keys, what, s.* FROM (VALUES ('far', 'avg(n), max(n), count(few)'),
	('far', 'count(*), sum(u)'), ('far', 'sum(w)'), ('k', 'avg(id)'), ('t', 'avg(id)'),
	('far', 'count(*)'), ('flag', 'avg(n)'), ('far', 'avg(n), max(u)')) v(keys, what),
	sent(format('SELECT %s, %s FROM z_blk GROUP BY %1$s', keys, what)) s;
SET zedstore.enable_group_blocks = off;
SELECT s.* FROM sent('SELECT far, avg(n), max(n), count(few) FROM z_blk GROUP BY far') s;
RESET zedstore.enable_group_blocks;
RESET parallel_leader_participation;
RESET zedstore.debug_vector;
SET max_parallel_workers_per_gather = 4;
CREATE VIEW cases AS SELECT * FROM (VALUES
	('far', 'avg(n), max(n), count(few)'), ('far', 'sum(n), min(n), sum(few), min(few)'),
	('far', 'sum(b), avg(b), max(b), count(*)'), ('far', 'avg(id), avg(few), stddev(few)'),
	('far', 'avg(f), sum(f), max(f), min(r), round(stddev(f)::numeric, 6)'),
	('far', 'sum(u), max(u), min(u), count(u)'), ('far', 'avg(w), max(w)'),
	('far', 'sum(w) FILTER (WHERE few > 3), avg(n)'),
	('k', 'avg(n), min(d), max(flag::int), bit_or(few)'), ('k, flag', 'avg(n)'),
	('d', 'sum(n), max(d)'), ('f', 'avg(n)'), ('b, r', 'avg(id)'), ('t', 'avg(id)'),
	('n', 'avg(id)'), ('flag', 'avg(n)'), ('far', 'max(t), avg(n)'), ('far', 'count(*)'))
	v(keys, what);
SELECT twins(keys, what), keys, what FROM cases;
SET zedstore.enable_group_blocks = off;
SELECT twins(keys, what), keys, what FROM cases LIMIT 3;
RESET zedstore.enable_group_blocks;
-- rescans of Gather; a cursor that is not read to its end; HAVING and ORDER BY ... LIMIT above
SET zedstore.debug_vector = verify;
SELECT g, s.* FROM generate_series(1, 3) g, LATERAL (SELECT count(*), sum(a)
	FROM (SELECT far, avg(n) AS a FROM z_blk GROUP BY far OFFSET 0) x WHERE far > g * 500) s;
BEGIN;
DECLARE c CURSOR FOR SELECT far, avg(n) FROM z_blk GROUP BY far;
MOVE 300 FROM c;
COMMIT;
SELECT far, avg(n), count(few) FROM z_blk GROUP BY far HAVING count(*) > 5
	ORDER BY 2 DESC, 1 LIMIT 3;
SELECT far, avg(n), count(few) FROM h_blk GROUP BY far HAVING count(*) > 5
	ORDER BY 2 DESC, 1 LIMIT 3;
RESET zedstore.debug_vector;
DROP VIEW cases;
DROP TABLE h_blk, z_blk;
DROP FUNCTION twins, sent;
