-- aggregates of partitioned tables by batches, in parts for each partition
\getenv abs_srcdir PG_ABS_SRCDIR
\set batches :abs_srcdir '/sql/include/batches.sql'
\i :batches
SET max_parallel_workers_per_gather = 0;
SET zedstore.min_segment_rows = 1024;
SET enable_partitionwise_aggregate = on;
\set ECHO none
CREATE TABLE h_pt (id int, k int, n numeric(10,2), f float8, t text) PARTITION BY RANGE (id);
CREATE TABLE z_pt (LIKE h_pt) PARTITION BY RANGE (id);
-- partitions of partitions, columns in another order, a heap table, one without rows, a default one
CREATE FUNCTION partitions(which text, am text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE replace(replace('
		CREATE TABLE @_pt1 PARTITION OF @_pt FOR VALUES FROM (0) TO (3000) USING AM;
		CREATE TABLE @_pt2 (t text, gone int, f float8, n numeric(10,2), id int, k int) USING AM;
		ALTER TABLE @_pt2 DROP COLUMN gone;
		ALTER TABLE @_pt ATTACH PARTITION @_pt2 FOR VALUES FROM (3000) TO (5000);
		CREATE TABLE @_pt3 PARTITION OF @_pt FOR VALUES FROM (5000) TO (8000) PARTITION BY LIST (k);
		CREATE TABLE @_pt31 PARTITION OF @_pt3 FOR VALUES IN (0, 1, 2) USING AM;
		CREATE TABLE @_pt32 PARTITION OF @_pt3 DEFAULT USING AM;
		CREATE TABLE @_pt4 PARTITION OF @_pt FOR VALUES FROM (8000) TO (9000) USING heap;
		CREATE TABLE @_pt5 PARTITION OF @_pt FOR VALUES FROM (9000) TO (9500) USING AM;
		CREATE TABLE @_pt6 PARTITION OF @_pt DEFAULT USING AM', '@', which), 'AM', am);
END $$;
\set ECHO all
SELECT partitions('h', 'heap'), partitions('z', 'zedstore');
INSERT INTO h_pt SELECT g, CASE WHEN g % 10 <> 0 THEN g % 7 END, g / 7.0, g / 3.0, 't' || g % 5
	FROM generate_series(1, 8999) g;
INSERT INTO h_pt SELECT g, g % 3, NULL, 'NaN', NULL FROM generate_series(20000, 20100) g;
INSERT INTO z_pt SELECT * FROM h_pt ORDER BY id;
ANALYZE h_pt, z_pt;
SET zedstore.debug_vector = force;
EXPLAIN (COSTS OFF) SELECT k, sum(n), count(*) FROM z_pt WHERE n > 5 GROUP BY k HAVING count(*) > 1;
EXPLAIN (COSTS OFF) SELECT avg(n) FROM z_pt WHERE id < 5000 OR id BETWEEN 8100 AND 8200;
EXPLAIN (COSTS OFF) SELECT id, count(*) FROM z_pt WHERE id < 5000 GROUP BY id;
EXPLAIN (COSTS OFF) SELECT k, count(DISTINCT id) FROM z_pt GROUP BY k;
EXPLAIN (COSTS OFF) SELECT k, string_agg(t, ',') FROM z_pt WHERE id < 5000 GROUP BY k;
EXPLAIN (COSTS OFF) SELECT k, sum(n) FROM z_pt p JOIN (VALUES (1), (2)) v(k) USING (k) GROUP BY k;
RESET zedstore.debug_vector;
\set how 'longest => 80, runs => test.small_and_large()'
\set ECHO none
CREATE TABLE queries (what text, keys text, condition text);
INSERT INTO queries VALUES ('count(*), sum(n), avg(n), min(id), max(t)', '', 'true'),
	('count(*), sum(n)', '', 'id < 4000'), ('sum(id), variance(id), bool_or(k > 3)', '', 'k > 2'),
	('count(n), sum(n) FILTER (WHERE k = 3)', '', 'id < 0'), ('count(f), min(f), max(f)', '',
	'true'),
	('sum(10 / (id - 4321))', '', 'true'), ('k, count(*), sum(n), avg(n), min(t)', 'k', 'true'),
	('k, t, count(*), stddev(id)', 'k, t', 'n > 100'), ('k, count(*)', 'k',
	'id BETWEEN 2900 AND 5100'),
	('id % 5, sum(n * 2), max(n)', 'id % 5', 'true'), ('n, count(*)', 'n', 'id < 6000'),
	('t || ''x'', count(*)', 't || ''x''', 'true'), ('k', 'k', 'true'), ('id, count(*)', 'id',
	'true'),
	('k, count(DISTINCT t)', 'k', 'true'), ('k, sum(n)', 'k', 't ~ ''[12]'' AND n < 900'),
	('k, count(*)', 'k', 'id + 0 < ascii(t)'), ('tableoid::regclass::text LIKE ''%4'', count(*)',
	'tableoid::regclass::text LIKE ''%4''', 'true');
\set ECHO all
SELECT test.twins('pt', what, keys, condition, plan => 'Append.+ZedstoreAgg', :how),
	what, keys, condition FROM queries;
-- a key with a parameter, which before 18 is another one within a row
SELECT test.twins(query => 'SELECT k + (SELECT 2 OFFSET 0), count(*) FROM @_pt t
	WHERE id < (SELECT 6000 OFFSET 0) GROUP BY 1', plan => 'Append.+ZedstoreAgg', :how);
-- with several processes
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SELECT test.twins('pt', what, keys, condition, plan => 'Parallel Append.+ZedstoreAgg', :how)
FROM queries;
SET enable_parallel_append = off;
SELECT test.twins('pt', 'k, count(*), sum(n)', keys => 'k', plan => 'Append.+ZedstoreAgg', :how);
-- not without the setting
SET enable_partitionwise_aggregate = off;
SELECT test.twins('pt', 'k, count(*), sum(n)', keys => 'k', plan => 'Append.+ZedstoreAgg', :how);
DROP FUNCTION partitions;
DROP TABLE h_pt, z_pt, queries;
