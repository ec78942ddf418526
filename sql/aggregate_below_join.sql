-- aggregates by batches below joins: the same results as heap's, in all modes of zedstore.debug_vector
\getenv abs_srcdir PG_ABS_SRCDIR
\set batches :abs_srcdir '/sql/include/batches.sql'
\i :batches
SET max_parallel_workers_per_gather = 0;
SET zedstore.min_segment_rows = 1024;
SET extra_float_digits = 0;
-- joins by batches leave less to gain below them, and may go first
SET zedstore.enable_vector_join = off;
-- PostgreSQL 19 groups below joins; before there is no such setting
\o /dev/null
SELECT set_config(name, 'on', false) FROM pg_settings WHERE name = 'enable_eager_aggregate';
\o

\set ECHO none
CREATE TABLE h_fact (id int, k int, k2 int, g text, v bigint, n numeric(12,2), f float8, t text COLLATE "C", d date);
INSERT INTO h_fact SELECT i, CASE WHEN i % 101 = 0 THEN NULL ELSE i % 50 END, i % 50, 'g' || i % 4, i * 1000003::bigint,
		CASE WHEN i % 17 > 0 THEN (i - 9000) / 4.0 END, i % 1000 / 4.0, 't' || i % 700, date '2024-01-01' + i % 60
	FROM generate_series(1, 20000) i;
CALL test.twin('fact', 'id');
CREATE TABLE h_dim (k int PRIMARY KEY, name text, price numeric, j jsonb);
INSERT INTO h_dim SELECT i, 'name ' || i % 6, i * 1.25, jsonb_build_object('a', i % 3) FROM generate_series(-5, 60) i;
CREATE TABLE z_dim (LIKE h_dim INCLUDING INDEXES) USING zedstore;
INSERT INTO z_dim SELECT * FROM h_dim;
ANALYZE h_fact, z_fact, h_dim, z_dim;

-- The same on heap and zedstore?  "e" in front: it may be grouped below a join, and where there is eager aggregation, and batches are forced, a node of ours is.
CREATE FUNCTION joined(query text, is_eager bool DEFAULT true) RETURNS text LANGUAGE sql AS $$
	SELECT test.twins(query => query, mark => CASE WHEN is_eager THEN 'e' ELSE 'r' END, longest => 150, runs => test.small_and_large(),
		plan => CASE WHEN NOT is_eager OR current_setting('server_version_num')::int < 190000 THEN '' ELSE 'Finalize.*(Join|Loop).*ZedstoreAgg' END)
$$;
\set ECHO all
-- kinds of aggregates, of keys and of joins
SELECT joined(q), q FROM (VALUES
	('SELECT name, count(*), sum(v), round(avg(v), 4), sum(n), avg(n), min(t), max(d) FROM @_fact JOIN @_dim USING (k) GROUP BY name'),
	('SELECT name, g, count(n), sum(f), avg(f), stddev(v), variance(n), bool_and(id > 5), bit_or(id) FROM @_fact JOIN @_dim USING (k) GROUP BY name, g'),
	('SELECT m.k, m.name, m.price, count(*), sum(v) FROM @_fact f JOIN @_dim m ON m.k = f.k2 GROUP BY m.k'),
	('SELECT f.g, count(*), max(v) FROM @_fact f WHERE EXISTS (SELECT FROM @_dim m WHERE m.k = f.k AND m.price > 30) GROUP BY f.g'),
	('SELECT f.g, count(*), max(v) FROM @_fact f WHERE NOT EXISTS (SELECT FROM @_dim m WHERE m.k = f.k AND m.price > 30) GROUP BY f.g'),
	('SELECT a.name, b.name, sum(v), count(*) FROM @_fact f JOIN @_dim a ON a.k = f.k JOIN @_dim b ON b.k = f.k2 + 1 WHERE b.price > 3 GROUP BY a.name, b.name'),
	('SELECT name, sum(v * 2 + id), avg(f / 2) FROM @_fact JOIN @_dim USING (k) GROUP BY name HAVING sum(v) > 5 AND count(*) > 1'),
	('SELECT name, sum(v) FROM @_fact f JOIN @_dim m ON f.k < m.k AND m.k < 5 GROUP BY name'),
	('SELECT name, count(*) FROM @_fact f JOIN @_dim m USING (k) WHERE f.t SIMILAR TO ''t[1-4]%'' AND length(f.g || f.t) > 3 GROUP BY name'),
	('SELECT name, sum(v), count(*) FROM @_fact f JOIN @_dim m USING (k) WHERE m.k IN (1, 2, 3) GROUP BY name ORDER BY 2 DESC LIMIT 2'),
	('SELECT name, (SELECT sum(s.v) FROM (SELECT sum(v) AS v FROM @_fact f JOIN @_dim i USING (k) WHERE i.k < m.k AND f.id > m.k GROUP BY i.name) s) FROM @_dim m WHERE m.k < 4')) q (q);
-- not grouped below a join: there is none, it joins by other columns, groups are small, or of rows that it may add; DISTINCT, ORDER BY in
-- aggregates, a key by whose equality more is equal than what is the same
SELECT joined(q, false), q FROM (VALUES
	('SELECT f.k, f.k2, min(n) FROM @_fact f JOIN @_dim m ON m.k = f.k AND m.k = f.k2 GROUP BY f.k, f.k2'),
	('SELECT name, sum(v) FILTER (WHERE n > 5), count(*) FILTER (WHERE t < ''t3'') FROM @_fact JOIN @_dim USING (k) WHERE id % 3 = 0 AND d < ''2024-02-10'' GROUP BY name'),
	('SELECT g, count(*), sum(n) FROM @_fact f LEFT JOIN @_dim m ON m.k = f.k AND m.price > 20 GROUP BY g'),
	('SELECT name, count(f.id), sum(v) FROM @_dim m LEFT JOIN @_fact f ON m.k = f.k GROUP BY name'),
	('SELECT name, sum(v), count(*) FROM @_fact f JOIN @_dim m ON f.k = m.k AND f.v > m.price GROUP BY name'),
	('SELECT name, sum(v) FROM @_fact f JOIN @_dim m USING (k) WHERE id < 0 GROUP BY name'),
	('SELECT name, count(DISTINCT g), sum(v) FROM @_fact JOIN @_dim USING (k) GROUP BY name'),
	('SELECT name, string_agg(g, '','' ORDER BY id) FROM @_fact JOIN @_dim USING (k) WHERE id < 500 GROUP BY name'),
	('SELECT j, count(*), sum(v) FROM @_fact JOIN @_dim USING (k) GROUP BY j'),
	('SELECT count(*), sum(v) FROM @_fact JOIN @_dim USING (k)')) q (q);

-- several processes
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT joined(q), q FROM (VALUES
	('SELECT name, count(*), sum(v), avg(n), min(t) FROM @_fact JOIN @_dim USING (k) GROUP BY name'),
	('SELECT name, count(*) FROM @_fact f JOIN @_dim m USING (k) WHERE f.t SIMILAR TO ''t[1-4]%'' AND length(f.g || f.t) > 3 GROUP BY name')) q (q);
RESET max_parallel_workers_per_gather;
SET max_parallel_workers_per_gather = 0;

-- rows that are changed, and those that are in no column yet
UPDATE h_fact SET k = k + 1, v = v - 5 WHERE id % 7 = 0;
UPDATE z_fact SET k = k + 1, v = v - 5 WHERE id % 7 = 0;
DELETE FROM h_fact WHERE id % 13 = 1;
DELETE FROM z_fact WHERE id % 13 = 1;
SELECT joined('SELECT name, count(*), sum(v), avg(n), min(t) FROM @_fact JOIN @_dim USING (k) GROUP BY name');
SELECT substr(test.prepared('SELECT string_agg(r::text, '' '' ORDER BY r::text) FROM (SELECT name, sum(v + $1), count(*) FROM @_fact JOIN @_dim USING (k) WHERE id > $1 GROUP BY name) r', '(int)', '700', 100), 3);

-- partitions, each by itself or as one; with joins of partitions
\set ECHO none
CREATE FUNCTION partitions(which text, am text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE replace(replace('
		CREATE TABLE @_part (LIKE h_fact) PARTITION BY RANGE (k);
		CREATE TABLE @_part1 PARTITION OF @_part FOR VALUES FROM (0) TO (20) USING AM;
		CREATE TABLE @_part2 (gone int, LIKE h_fact) USING AM;
		ALTER TABLE @_part2 DROP COLUMN gone;
		ALTER TABLE @_part ATTACH PARTITION @_part2 FOR VALUES FROM (20) TO (40);
		CREATE TABLE @_part3 PARTITION OF @_part FOR VALUES FROM (40) TO (50) PARTITION BY LIST (g);
		CREATE TABLE @_part31 PARTITION OF @_part3 FOR VALUES IN (''g1'', ''g2'') USING AM;
		CREATE TABLE @_part32 PARTITION OF @_part3 DEFAULT USING heap;
		CREATE TABLE @_part4 PARTITION OF @_part DEFAULT USING AM;
		CREATE TABLE @_pdim (k int, name text) PARTITION BY RANGE (k);
		CREATE TABLE @_pdim1 PARTITION OF @_pdim FOR VALUES FROM (0) TO (20) USING AM;
		CREATE TABLE @_pdim2 PARTITION OF @_pdim FOR VALUES FROM (20) TO (40) USING AM;
		CREATE TABLE @_pdim3 PARTITION OF @_pdim FOR VALUES FROM (40) TO (50) USING AM;
		CREATE TABLE @_pdim4 PARTITION OF @_pdim DEFAULT USING AM;
		INSERT INTO @_part SELECT * FROM h_fact ORDER BY id;
		INSERT INTO @_pdim SELECT k, name FROM h_dim;
		ANALYZE @_part, @_pdim', '@', which), 'AM', am);
END $$;
\set ECHO all
SELECT partitions('h', 'heap'), partitions('z', 'zedstore');
CREATE FUNCTION of_partitions() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT joined(q) FROM (VALUES
		('SELECT name, count(*), sum(v), avg(n), min(t) FROM @_part JOIN @_dim USING (k) GROUP BY name'),
		('SELECT m.name, g, count(*), sum(v), avg(n), min(t) FROM @_part JOIN @_pdim m USING (k) WHERE d < ''2024-02-10'' GROUP BY m.name, g'),
		('SELECT m.name, count(*) FROM @_part JOIN @_pdim m USING (k) WHERE k BETWEEN 10 AND 30 GROUP BY m.name')) q (q)
$$;
SELECT of_partitions();
SET enable_partitionwise_aggregate = on;
SELECT of_partitions();
SET enable_partitionwise_join = on;
SELECT of_partitions();
SET max_parallel_workers_per_gather = 2;
SELECT of_partitions();
-- partitions that the executor leaves out
SELECT substr(test.prepared('SELECT string_agg(r::text, '' '' ORDER BY r::text) FROM (SELECT m.name, sum(v), count(*) FROM @_part JOIN @_' || dim || ' m USING (k) WHERE k < $1 AND g < $2 GROUP BY m.name) r',
	'(int, text)', '42, ''g2''', 100), 3) FROM unnest(array['dim', 'pdim']) dim;

-- joins by batches beside it: the planner has both
SET zedstore.enable_vector_join = on;
SELECT joined(q, false), q FROM (VALUES
	('SELECT name, g, count(n), sum(v), min(t) FROM @_fact JOIN @_dim USING (k) GROUP BY name, g'),
	('SELECT a.name, b.name, sum(v), count(*) FROM @_fact f JOIN @_dim a ON a.k = f.k JOIN @_dim b ON b.k = f.k2 + 1 WHERE b.price > 3 GROUP BY a.name, b.name')) q (q);

DROP FUNCTION of_partitions, partitions, joined;
DROP TABLE h_fact, z_fact, h_dim, z_dim, h_part, z_part, h_pdim, z_pdim;
