-- groups that are returned before the end, since zone maps of the rows to come exclude them
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/batches.sql'
\i :include
SET max_parallel_workers_per_gather = 0;
SET zedstore.min_segment_rows = 1024;
SET synchronize_seqscans = off;
-- orders of one to seven rows, in the order of their keys but for some late ones; NULLs
\set ECHO none
CREATE TABLE h_el (id int, k bigint, d date, t text, n numeric(12,2), i int, j int8) USING heap;
INSERT INTO h_el SELECT g, CASE WHEN g % 997 = 0 THEN NULL WHEN g % 1500 = 0 THEN g / 4 - 5000 ELSE g / (4 + g % 2) END,
		date '2020-01-01' + g / 50, 'text ' || g % 7, (g % 1000) / 3.0, g % 11, g * 1000000007::int8
	FROM generate_series(1, 24000) g;
CREATE TABLE z_el (LIKE h_el) USING zedstore;
\set ECHO all
DO $$ BEGIN
	FOR part IN 0 .. 11 LOOP
		INSERT INTO z_el SELECT * FROM h_el WHERE id > part * 2000 AND id <= part * 2000 + 2000 ORDER BY id;
		COMMIT;
	END LOOP;
END $$;
ANALYZE z_el;
CREATE FUNCTION runs() RETURNS text[] LANGUAGE sql AS $$
	SELECT array_agg(ARRAY[mode, groups, '8']) FROM unnest(ARRAY['off', 'force', 'verify']) mode, unnest(ARRAY['0', '40', '700']) groups
$$;
CREATE FUNCTION early(what text, keys text, rest text DEFAULT '') RETURNS text LANGUAGE sql AS $$
	SELECT test.by_batches(format('SELECT md5(string_agg(s::text, '' '' ORDER BY s::text COLLATE "C")) FROM (SELECT %s FROM @_el %s GROUP BY %s) s',
			what, rest, keys), 'ZedstoreAgg', 'v', NULL, runs())
$$;
-- groups that a plan returns early, and whether rows were written out
CREATE FUNCTION told(query text, OUT early bool, OUT disk bool) LANGUAGE plpgsql AS $$
DECLARE
	plan json;
	node json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
	node := plan->0->'Plan';
	WHILE node->>'Custom Plan Provider' IS DISTINCT FROM 'ZedstoreAgg' LOOP
		node := node->'Plans'->0;
	END LOOP;
	early := (node->>'Groups Returned Early')::int > 0;
	disk := (node->>'Disk Usage')::int > 0;
END $$;

SELECT early(what, keys, rest), what, keys, rest FROM (VALUES
	('k, count(*), sum(n), avg(n), min(n), max(n)', 'k', ''),
	('k, count(t), sum(i), avg(j), min(d), max(i), sum(j), count(*) FILTER (WHERE i > 3)', 'k', 'WHERE i <> 5'),
	('k, t, count(*), sum(n)', 'k, t', ''),
	('t, k, count(*)', 't, k', 'WHERE id % 3 = 1'),
	('d, variance(i), stddev(n), bool_and(i > 3), bit_or(i)', 'd', ''),
	('k, id, sum(n)', 'k, id', 'WHERE id > 12000'),
	('id, sum(n)', 'id', 'WHERE k IS NOT NULL'),
	('k, sum(n)', 'k', 'WHERE id < 2000'),
	('k', 'k', ''),
	-- what these have seen is kept until the end
	('k, max(t), count(*)', 'k', ''), ('k, count(DISTINCT i)', 'k', ''), ('k, string_agg(t, '','' ORDER BY t)', 'k', ''),
	-- in no order
	('j % 1000, count(*)', 'j % 1000', ''), ('t, i, count(*)', 't, i', '')) v(what, keys, rest);

-- as if there were memory for 100 groups
SET zedstore.debug_vector = force;
SET zedstore.debug_vector_groups = 100;
SELECT * FROM told('SELECT d, sum(n) FROM z_el GROUP BY d');
-- by any of the keys
SET zedstore.debug_vector_groups = 5000;
SELECT * FROM told('SELECT i, t, d, sum(n) FROM z_el GROUP BY i, t, d HAVING count(*) > 0');
SET zedstore.debug_vector_groups = 100;
SET zedstore.enable_early_groups = off;
SELECT * FROM told('SELECT d, sum(n) FROM z_el GROUP BY d');
RESET zedstore.enable_early_groups;
SELECT * FROM told('SELECT d, max(t) FROM z_el GROUP BY d');
-- 4096 are looked at in any case
SET zedstore.debug_vector_groups = 0;
SELECT * FROM told('SELECT id, count(*) FROM z_el GROUP BY id');
SELECT * FROM told('SELECT d, count(*) FROM z_el GROUP BY d');
SET zedstore.debug_vector_groups = 100;

-- a cursor that is not read to its end, one that is read again, and a node that is
BEGIN;
DECLARE c CURSOR FOR SELECT d, count(*), sum(n) FROM z_el GROUP BY d;
MOVE 250 FROM c;
CLOSE c;
DECLARE c SCROLL CURSOR FOR SELECT d, count(*), sum(n) FROM z_el GROUP BY d;
MOVE ALL FROM c;
MOVE BACKWARD ALL FROM c;
MOVE ALL FROM c;
COMMIT;
SELECT test.by_batches('SELECT string_agg(v.x || '':'' || s.a, '' '' ORDER BY v.x) FROM (VALUES (1), (12000), (5)) v(x),
	LATERAL (SELECT count(*) || ''/'' || sum(s.n) a FROM (SELECT d, sum(n) n FROM @_el WHERE id > v.x GROUP BY d) s) s', 'ZedstoreAgg', 'v', NULL, runs());
SET zedstore.debug_vector = force;
SET zedstore.debug_vector_groups = 100;
-- and of these only those that may be among the first
SELECT test.by_batches(format('SELECT string_agg(s::text, '' '') FROM (SELECT %s FROM @_el GROUP BY %s ORDER BY %s LIMIT 7) s', what, keys, sort),
	'ZedstoreAgg', 'v', NULL, runs()), keys, sort
	FROM (VALUES ('d, sum(n), count(*)', 'd', '2 DESC, 1'), ('k, sum(i), count(*)', 'k', '2, 1 DESC'),
		('k, count(*)', 'k', '1 NULLS FIRST'), ('d, min(n)', 'd HAVING sum(i) > 260', '2, 1')) v(what, keys, sort);
SET zedstore.debug_vector = force;
SET zedstore.debug_vector_groups = 100;
-- rows in the row tree are looked at, too: one of them belongs to an old group
INSERT INTO h_el (id, k, d) VALUES (24001, 17, '2020-10-02'), (24002, 5000, '2021-06-01');
INSERT INTO z_el (id, k, d) VALUES (24001, 17, '2020-10-02'), (24002, 5000, '2021-06-01');
SELECT * FROM told('SELECT d, sum(n) FROM z_el GROUP BY d');
SELECT early('k, count(*), sum(n)', 'k'), early('d, count(*), sum(n)', 'd');
-- rows that others see in their place, and that this transaction has moved behind
BEGIN;
UPDATE h_el SET n = n + 1 WHERE id BETWEEN 9000 AND 12000;
UPDATE z_el SET n = n + 1 WHERE id BETWEEN 9000 AND 12000;
DELETE FROM h_el WHERE id % 17 = 3;
DELETE FROM z_el WHERE id % 17 = 3;
SELECT early('k, count(*), sum(n)', 'k'), early('d, count(*), sum(n)', 'd');
SET zedstore.debug_vector = force;
SET zedstore.debug_vector_groups = 100;
SELECT * FROM told('SELECT d, sum(n) FROM z_el GROUP BY d');
ROLLBACK;
-- a column that rows of before have from the catalog
ALTER TABLE h_el ADD COLUMN late int DEFAULT 7;
ALTER TABLE z_el ADD COLUMN late int DEFAULT 7;
INSERT INTO h_el SELECT g, g, date '2030-01-01' + g / 50, 'x', 1, 1, 1, g FROM generate_series(24003, 28000) g;
INSERT INTO z_el SELECT g, g, date '2030-01-01' + g / 50, 'x', 1, 1, 1, g FROM generate_series(24003, 28000) g;
SELECT early('late, count(*), sum(n)', 'late'), early('late, d, count(*), sum(n)', 'late, d');
-- a column whose type becomes another one without a rewrite
ALTER TABLE h_el ALTER COLUMN i TYPE oid;
ALTER TABLE z_el ALTER COLUMN i TYPE oid;
SELECT early('i, count(*)', 'i'), early('i, id, count(*)', 'i, id');
SELECT * FROM zs_check('z_el') WHERE severity <> 'notice';
DROP TABLE h_el, z_el;
