-- aggregates by batches below Gather: the same results as heap's, in all modes of zedstore.debug_vector and with any number of workers
\getenv abs_srcdir PG_ABS_SRCDIR
\set batches :abs_srcdir '/sql/include/batches.sql'
\i :batches
SET zedstore.min_segment_rows = 1024;
SET extra_float_digits = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 4;
-- "p" in front: the plan has a ZedstoreAgg below Gather
\set how 'plan => ''Gather.*Parallel Custom Scan \\(ZedstoreAgg\\)'', mark => ''p'''
\set how :how ', longest => 300'
\set how :how ', runs => test.runs(''none:0:4 off:0:4 force:5:4 force:0:1 verify:0:4 verify:5:0 rows:0:4 core:0:4'')'
-- several segments, rows in the row tree, holes, NULLs, numerics of several scales; floats whose sums do not depend on the order
\set ECHO none
CREATE TABLE h_par (id int, k smallint, b bigint, n numeric(12,2), u numeric, f float8, r real, d date, t text, c char(4), few int, none bigint)
	WITH (parallel_workers = 4);
INSERT INTO h_par SELECT g, CASE WHEN g % 11 = 0 THEN NULL ELSE g % 7 - 3 END, (g - 5000)::bigint * 1000000007,
		CASE WHEN g % 10 = 0 THEN NULL ELSE (g - 3000) / 7.0 END, CASE g % 4 WHEN 0 THEN g WHEN 1 THEN g / 2.0::numeric(10,1) WHEN 2 THEN round(g / 3.0, 3) END,
		g % 1000 / 4.0, g % 100 / 2.0, date '2020-01-01' + g % 40, CASE WHEN g % 13 = 0 THEN NULL ELSE 'text ' || g % 9 END, 'c' || g % 3, g / 2500
	FROM generate_series(1, 12000) g;
CREATE TABLE z_par (LIKE h_par) USING zedstore WITH (parallel_workers = 4);
INSERT INTO z_par SELECT * FROM h_par ORDER BY id;
INSERT INTO h_par SELECT id + 12000, k, b, n, u, f, r, d, t, c, few FROM h_par WHERE id <= 60;
INSERT INTO z_par SELECT id + 12000, k, b, n, u, f, r, d, t, c, few FROM z_par WHERE id <= 60;
DELETE FROM h_par WHERE id % 19 = 3 OR id BETWEEN 2000 AND 3300;
DELETE FROM z_par WHERE id % 19 = 3 OR id BETWEEN 2000 AND 3300;
ANALYZE h_par, z_par;
\set ECHO all

SET zedstore.debug_vector = force;
EXPLAIN (COSTS OFF) SELECT count(*), sum(n) + 1 FROM z_par WHERE id > 100 HAVING avg(u) > 1;
EXPLAIN (COSTS OFF) SELECT k, sum(n) FROM z_par GROUP BY k HAVING count(*) > 5;
SET zedstore.enable_combined_groups = off;
EXPLAIN (COSTS OFF) SELECT k, sum(n) FROM z_par GROUP BY k HAVING count(*) > 5;
SET enable_hashagg = off;
EXPLAIN (COSTS OFF) SELECT k, t FROM z_par GROUP BY k, t;
RESET enable_hashagg;
RESET zedstore.enable_combined_groups;
EXPLAIN (COSTS OFF) SELECT k, stddev(n) FROM z_par GROUP BY k;
EXPLAIN (VERBOSE, COSTS OFF) SELECT count(*) FROM z_par GROUP BY few ORDER BY few;
RESET zedstore.debug_vector;

-- each aggregate; all of a kind and pairs of one column, which share core's transition value; without inputs; FILTER, HAVING
SELECT test.twins('par', what, :how), test.twins('par', 'k, ' || what, tail => 'GROUP BY k', condition => 'id BETWEEN 5000 AND 8000', :how) AS groups, what
FROM (VALUES ('count(*), count(u), count(none)'), ('sum(k)'), ('sum(id), sum(none)'), ('sum(b)'), ('sum(n)'), ('sum(u)'), ('sum(f), sum(r)'),
	('avg(k), avg(id)'), ('avg(b)'), ('avg(n), avg(none)'), ('avg(u)'), ('avg(f), avg(r)'),
	('min(id), max(id), min(b), max(none), min(d) - date ''2020-01-01'''), ('max(n), min(u), max(u), min(f), max(r)'),
	('sum(u), avg(u), min(u), max(u), count(u)'), ('sum(b), avg(b)'), ('avg(id), sum(id)'), ('avg(f), sum(f), avg(r), sum(r), max(r)'),
	('var_pop(k), stddev(id), stddev_pop(none), avg(k)'), ('var_samp(b), stddev(n), variance(u)'), ('bit_and(k), bit_or(id), bit_xor(b)'),
	('min(t), max(t), min(c), max(c)'), ('count(DISTINCT k), sum(n)'),
	('avg(n) FILTER (WHERE k > 0), sum(n), count(*) FILTER (WHERE t IS NULL)'), ('round(avg(n), 3) + sum(id), count(*)::text')) v(what);
SELECT test.twins('par', 'count(*), sum(b), avg(b), sum(n), avg(n), sum(id), avg(id), sum(f), avg(r), min(u), var_pop(k), stddev(n), stddev(f), bit_or(k), min(t)', condition => 'id < 0', :how);
SELECT test.twins('par', 'id, sum(b), avg(n), avg(u), max(f), avg(r)', tail => 'GROUP BY id', :how);
SELECT test.twins('par', 'sum(b), avg(n)', condition => 'id % 2 = 1 AND id > 5000', :how);
SELECT test.twins('par', what, tail => tail, :how) FROM (VALUES ('k, sum(n)', 'GROUP BY k HAVING count(*) > 1400 AND min(id) > 2'), ('count(*)', 'HAVING sum(n) > 5'),
	('count(*)', 'HAVING sum(n) < 5'), ('count(*), t', 'GROUP BY k, t'), ('t, c', 'GROUP BY c, t'), ('count(*)', 'GROUP BY id HAVING max(n) > 1200'),
	('few * 2, c', 'GROUP BY few, c'), ('d', 'GROUP BY d'), ('c', 'GROUP BY c HAVING c > ''c1''')) v(what, tail);
-- numerics that are no integers; sums beyond 128 bits
UPDATE h_par SET u = 'NaN' WHERE id = 6000;
UPDATE z_par SET u = 'NaN' WHERE id = 6000;
UPDATE h_par SET u = 'Infinity' WHERE id = 7001;
UPDATE z_par SET u = 'Infinity' WHERE id = 7001;
UPDATE h_par SET u = '-Infinity' WHERE id = 7010;
UPDATE z_par SET u = '-Infinity' WHERE id = 7010;
UPDATE h_par SET u = 1e60 WHERE id = 7003;
UPDATE z_par SET u = 1e60 WHERE id = 7003;
UPDATE h_par SET u = -1e-40 WHERE id = 7005;
UPDATE z_par SET u = -1e-40 WHERE id = 7005;
SELECT test.twins('par', 'few, sum(u), avg(u), min(u), max(u)', tail => 'GROUP BY few', condition => c, :how), test.twins('par', 'sum(u), avg(u), min(u), max(u)', condition => c, :how)
FROM (VALUES ('true'), ('id <> 6000'), ('id > 7001'), ('id > 7010'), ('id < 7005 AND id > 7001')) v(c);
-- in one process; without the leader; nobody wants workers
SET max_parallel_workers_per_gather = 1;
SET parallel_leader_participation = off;
SELECT test.twins('par', 'k, count(*), sum(n), avg(u)', tail => 'GROUP BY k', condition => 'id < 6000', :how);
RESET parallel_leader_participation;
SET max_parallel_workers_per_gather = 4;
-- rescans of Gather, with parameters that change and not; an initplan; a prepared statement; a cursor; own rows
SET zedstore.debug_vector = verify;
SELECT g, s.* FROM generate_series(1, 3) g, LATERAL (SELECT count(*), sum(n) FROM z_par WHERE id < 5000 OFFSET 0) s;
SELECT g, (SELECT sum(c) FROM (SELECT few, count(*) AS c FROM z_par GROUP BY few OFFSET 0) x WHERE few < g) FROM generate_series(0, 3) g;
SELECT count(*) FROM h_par WHERE id < (SELECT count(*) FROM z_par WHERE k = 1) AND id > 1000;
SELECT few, c, (SELECT count(*) FROM h_par h WHERE h.id = x.c) FROM (SELECT few, count(*) AS c FROM z_par GROUP BY few) x ORDER BY few;
PREPARE vector_par(int) AS SELECT k, count(*), sum(n) FROM z_par WHERE id < $1 AND k < 0 GROUP BY k ORDER BY k;
SET plan_cache_mode = force_generic_plan;
EXECUTE vector_par(100);
EXECUTE vector_par(5000);
SET plan_cache_mode = force_custom_plan;
EXECUTE vector_par(5000);
RESET plan_cache_mode;
DEALLOCATE vector_par;
BEGIN;
INSERT INTO z_par (id, n, few) SELECT g, 5.5, 77 FROM generate_series(100001, 103000) g;
SELECT few, count(*), sum(n) FROM z_par GROUP BY few ORDER BY few;
DECLARE c CURSOR FOR SELECT few, count(*), sum(n) FROM z_par GROUP BY few ORDER BY few;
FETCH 1 FROM c;
DELETE FROM z_par WHERE few = 1;
FETCH ALL FROM c;
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*), sum(n) FROM z_par;
COMMIT;
RESET zedstore.debug_vector;
-- groups beyond memory: rows of others are written out where they lie anywhere, and groups are returned several times where they lie together
\set ECHO none
CREATE TABLE h_beyond AS SELECT g AS id, g / 20 AS near, (hashint4(g) & 8388607) % 3000 AS far, 'k' || (hashint4(g) & 8388607) % 3000 AS name, g % 900 / 100.0 AS n
	FROM generate_series(0, 59999) g;
CREATE TABLE z_beyond (LIKE h_beyond) USING zedstore WITH (parallel_workers = 4);
INSERT INTO z_beyond SELECT * FROM h_beyond ORDER BY id;
ANALYZE z_beyond;
-- of one process: groups that it returned, against those that there are; did it write more than 1000 kB of rows?
CREATE FUNCTION returned(query text) RETURNS TABLE (mode text, share numeric, wrote_many bool) LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF, FORMAT json) ' || query INTO plan;
	RETURN QUERY SELECT p->>'Partial Mode', round((p->>'Actual Rows')::numeric / 3000, 1), (p->>'Disk Usage')::int > 1000
		FROM jsonb_path_query(plan, 'strict $.** ? (@."Custom Plan Provider" == "ZedstoreAgg")') p;
END $$;
\set ECHO all
SET zedstore.debug_vector_groups = 500;
SET zedstore.debug_vector = force;
SET max_parallel_workers_per_gather = 1;
SET parallel_leader_participation = off;
SELECT keys, p.* FROM unnest(ARRAY['near', 'far', 'name']) keys, returned(format('SELECT %s, count(*), sum(n) FROM z_beyond GROUP BY %1$s', keys)) p;
SET zedstore.enable_packed_rows = off;
SELECT keys, p.* FROM unnest(ARRAY['near', 'far']) keys, returned(format('SELECT %s, count(*), sum(n) FROM z_beyond GROUP BY %1$s', keys)) p;
RESET zedstore.enable_packed_rows;
RESET parallel_leader_participation;
RESET zedstore.debug_vector;
RESET zedstore.debug_vector_groups;
SET max_parallel_workers_per_gather = 4;
CREATE FUNCTION beyond(keys text) RETURNS text LANGUAGE sql AS $$
	SELECT test.by_batches('SELECT string_agg(r, '' '' ORDER BY r COLLATE "C") FROM (SELECT ROW(' || keys ||
		', count(*), sum(n), avg(n), min(id), max(id))::text AS r FROM @_beyond GROUP BY ' || keys || ') s',
		'Gather.*Parallel Custom Scan \(ZedstoreAgg\)', 'p', 300,
		ARRAY[['force', '500', '4'], ['force', '500', '0'], ['verify', '500', '1'], ['rows', '500', '4'], ['core', '500', '4']])
$$;
SELECT keys, beyond(keys) FROM unnest(ARRAY['near', 'far', 'name', 'near % 10, far / 30']) keys;
SET zedstore.enable_packed_rows = off;
SELECT keys, beyond(keys) FROM unnest(ARRAY['near', 'far', 'name']) keys;
RESET zedstore.enable_packed_rows;
DROP TABLE h_beyond, z_beyond;
DROP FUNCTION returned, beyond;
-- partitions: each by itself, or together by core
\set ECHO none
CREATE TABLE h_prt (id int, k int, n numeric(8,2)) PARTITION BY LIST (k);
CREATE TABLE h_prt1 PARTITION OF h_prt FOR VALUES IN (1);
CREATE TABLE h_prt2 PARTITION OF h_prt DEFAULT;
CREATE TABLE z_prt (id int, k int, n numeric(8,2)) PARTITION BY LIST (k);
CREATE TABLE z_prt1 PARTITION OF z_prt FOR VALUES IN (1) USING zedstore WITH (parallel_workers = 2);
CREATE TABLE z_prt2 PARTITION OF z_prt DEFAULT USING zedstore WITH (parallel_workers = 2);
INSERT INTO h_prt SELECT g, g % 5, g / 3.0 FROM generate_series(1, 10000) g;
INSERT INTO z_prt SELECT * FROM h_prt;
ANALYZE z_prt;
\set ECHO all
SET enable_partitionwise_aggregate = on;
SELECT test.twins('prt', what, tail => tail, :how) FROM (VALUES ('k, count(*), sum(n), avg(n)', 'GROUP BY k'), ('count(*), sum(n)', ''),
	('id, sum(n)', 'GROUP BY id')) v(what, tail);
RESET enable_partitionwise_aggregate;
SELECT test.twins('prt', 'k, count(*), sum(n), avg(n)', tail => 'GROUP BY k', :how);
-- EXPLAIN ANALYZE counts what workers did
-- rows removed: rounded, of one of the loops
CREATE FUNCTION explain_json(query text) RETURNS TABLE (mode text, key text, removed_94 bool, redone text) LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF, FORMAT json) ' || query INTO plan;
	RETURN QUERY SELECT p->>'Partial Mode', p->>'Group Key',
			abs((p->>'Rows Removed by Scan Filter')::int - 94.0 / (p->>'Actual Loops')::int) <= 0.5, p->>'Batches Redone Row-wise'
		FROM jsonb_path_query(plan, 'strict $.** ? (@."Custom Plan Provider" == "ZedstoreAgg")') p;
END $$;
SET zedstore.debug_vector = force;
SELECT * FROM explain_json('SELECT few, count(*) FROM z_par WHERE id > 100 GROUP BY few');
SET max_parallel_workers = 0;
SELECT * FROM explain_json('SELECT few, count(*) FROM z_par WHERE id > 100 GROUP BY few');
RESET max_parallel_workers;
SET max_parallel_workers_per_gather = 0;
SELECT * FROM explain_json('SELECT few, count(*) FROM z_par WHERE id > 100 GROUP BY few');
SET max_parallel_workers_per_gather = 4;
-- permissions
CREATE ROLE regress_vector_partial;
GRANT SELECT ON z_par TO regress_vector_partial;
REVOKE EXECUTE ON FUNCTION avg(numeric) FROM PUBLIC;
SET ROLE regress_vector_partial;
SELECT avg(n) FROM z_par;
RESET ROLE;
GRANT EXECUTE ON FUNCTION avg(numeric) TO PUBLIC;
REVOKE ALL ON z_par FROM regress_vector_partial;
DROP ROLE regress_vector_partial;
RESET zedstore.debug_vector;
DROP TABLE h_par, z_par, h_prt, z_prt;
DROP FUNCTION explain_json;
