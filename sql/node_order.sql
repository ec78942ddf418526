-- rows in the order of a column, as zone maps tell it: ORDER BY ... LIMIT; heap is the oracle
\getenv abs_srcdir PG_ABS_SRCDIR
\set twins :abs_srcdir '/sql/include/twins.sql'
\i :twins
SET max_parallel_workers_per_gather = 0;
SET zedstore.min_segment_rows = 1024;
\set prefix order
\set include :abs_srcdir '/sql/include/order.sql'
\i :include
-- The rows of a query on both twins, in order: "t", or where they differ.
CREATE FUNCTION order_same(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	results text[];
	twin text;
	result text;
BEGIN
	FOREACH twin IN ARRAY ARRAY['h', 'z'] LOOP
		EXECUTE 'SELECT string_agg(r::text, '' '') FROM (' || replace(query, '_@', '_' || twin) ||
		') r' INTO result;
		results := results || coalesce(result, 'none');
	END LOOP;
	IF results[1] = results[2] THEN
		RETURN 't';
	END IF;
	RETURN format('DIFFERENT: %s: heap %s, zedstore %s', query, left(results[1], 200),
	left(results[2], 200));
END $$;
-- All columns as keys, in all directions, with other keys behind, limits and filters.
CREATE FUNCTION order_all(from_table text) RETURNS TABLE (queries bigint, differ text) LANGUAGE sql
	AS $$
	SELECT count(*), string_agg(s, E'\n') FILTER (WHERE s <> 't')
	FROM (SELECT order_same(format('SELECT %s FROM %s WHERE %s ORDER BY %I %s, %s LIMIT %s', cols,
	from_table, filter, k, dir,
			behind, lim)) AS s
		FROM unnest(ARRAY['i', 'b', 'o', 'f', 'n', 't', 'ts', 'd', 'u', 'bo', 'few', 'v', 'late_h',
		'late']) WITH ORDINALITY c(k, m),
			unnest(ARRAY['', 'DESC', 'NULLS FIRST', 'DESC NULLS LAST']) WITH ORDINALITY di(dir, x),
			LATERAL (SELECT (m * 3 + x * 5) % 8 AS y) h,
			LATERAL (SELECT (ARRAY['1', '20', '30 OFFSET 7', '900'])[y % 4 + 1] AS lim) l,
			LATERAL (SELECT CASE (m + x + y) % 3 WHEN 0 THEN 'id' WHEN 1 THEN '*' ELSE k ||
			', kind, id' END AS cols,
				(ARRAY['true', 'few = 1', 'i > 0 AND f < 500', 'id % 3 <> 1'])[(m + x * 2 + y) % 4
				+ 1] AS filter,
				(ARRAY['id', 'few DESC, id', 'bo, id DESC'])[(m + x + y * 2) % 3 + 1] AS behind) z)
				q
$$;
ALTER TABLE order_h ADD COLUMN late int DEFAULT 5;
ALTER TABLE order_z ADD COLUMN late int DEFAULT 5;
SELECT order_all('order_@');
SELECT k, test.both(format('INSERT INTO order_@ SELECT r.*, NULL FROM order_rows(%L, %s, 3000) r',
		k, m * 10000)) AS loaded
	FROM unnest(ARRAY['sorted', 'reverse', 'runs', 'near', 'random', 'nulls'])
		WITH ORDINALITY x(k, m);
SELECT order_all('order_@');
-- rows in the row tree, changed and deleted ones, a column that comes later
SELECT test.both('INSERT INTO order_@ SELECT r.*, 3
	FROM order_rows(''random'', 100000, 700) r WHERE id % 3 = 0');
SELECT test.both('UPDATE order_@ SET i = -i, ts = ts + interval ''1 year'' WHERE id % 101 = 0');
SELECT test.both('DELETE FROM order_@ WHERE i BETWEEN 1200 AND 1300
	OR id % 7 = 0 OR id BETWEEN 20000 AND 23000');
ALTER TABLE order_h ADD COLUMN later int;
ALTER TABLE order_z ADD COLUMN later int;
SELECT order_all('order_@');
VACUUM order_z;
SELECT order_all('order_@');
-- rows of another session's transactions, of this one, and after a savepoint
BEGIN;
SAVEPOINT a;
SELECT test.both('INSERT INTO order_@ SELECT r.*, 3, 1 FROM order_rows(''near'', 200000, 2000) r');
SELECT test.both('DELETE FROM order_@ WHERE id % 11 = 0');
SELECT order_all('order_@');
ROLLBACK TO a;
COMMIT;
-- rows from before the key's column have one value, and no segment of it
ALTER TABLE order_h ADD COLUMN lowest int DEFAULT -1, ADD COLUMN highest int DEFAULT 99;
ALTER TABLE order_z ADD COLUMN lowest int DEFAULT -1, ADD COLUMN highest int DEFAULT 99;
SELECT test.both('INSERT INTO order_@ SELECT r.*, 3, 1, id % 14, id % 14
	FROM order_rows(''near'', 300000, 3000) r');
SELECT k, order_same(format('SELECT * FROM order_@ ORDER BY %s, id LIMIT 900', k)) AS same
	FROM unnest(ARRAY['lowest', 'lowest DESC', 'highest', 'highest DESC']) k;

-- rows that are equal come in the order of their numbers, in whatever order stripes do
CREATE TABLE order_ties (id int, k int, m int) USING zedstore;
INSERT INTO order_ties SELECT g, 5 - g / 2000, g % 2 FROM generate_series(0, 9999) g;
SELECT array_agg(id) FROM (SELECT id FROM order_ties ORDER BY k LIMIT 4) s;
SELECT array_agg(id) FROM (SELECT id FROM order_ties ORDER BY k DESC, m LIMIT 4) s;
UPDATE order_ties SET k = 1 WHERE id IN (17, 9999);
VACUUM order_ties;
SELECT array_agg(id) FROM (SELECT id FROM order_ties ORDER BY k LIMIT 4) s;
SELECT array_agg(id) FROM (SELECT id FROM order_ties ORDER BY k NULLS FIRST LIMIT 3 OFFSET 997) s;

-- what is left alone; errors of filters come all the same, and cursors go back
CREATE FUNCTION order_read(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' ||
	query LOOP
		IF line ~ 'Custom Scan|Segments|Vectors|Sort|Append|Order' THEN
			RETURN NEXT regexp_replace(line, ' \(actual.*', '');
		END IF;
	END LOOP;
END $$;
CREATE TABLE order_read (id int, ts timestamp, r numeric, x int) USING zedstore;
INSERT INTO order_read SELECT g, timestamp '2020-01-01' + g * interval '1 min', abs(hashint4(g)) /
	1000.0, g % 50 FROM generate_series(1, 20000) g;
VACUUM ANALYZE order_read;
SELECT order_read('SELECT * FROM order_read ORDER BY ts DESC LIMIT 20');
SELECT order_read('SELECT * FROM order_read WHERE x = 3 ORDER BY ts LIMIT 20');
SELECT order_read('SELECT * FROM order_read ORDER BY r DESC NULLS LAST, id LIMIT 3');
SELECT id FROM order_read WHERE 1 / (id - 1) >= 0 ORDER BY ts DESC LIMIT 1;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id FROM order_read ORDER BY ts DESC LIMIT 20;
FETCH 3 FROM c;
FETCH LAST FROM c;
FETCH BACKWARD 2 FROM c;
FETCH FIRST FROM c;
COMMIT;
-- partitions
CREATE TABLE order_part (id int, ts timestamp, x int) PARTITION BY RANGE (id);
CREATE TABLE order_part1 PARTITION OF order_part FOR VALUES FROM (0) TO (10000) USING zedstore;
CREATE TABLE order_part2 (x int, gone int, ts timestamp, id int) USING zedstore;
ALTER TABLE order_part2 DROP COLUMN gone;
ALTER TABLE order_part ATTACH PARTITION order_part2 FOR VALUES FROM (10000) TO (20001);
INSERT INTO order_part SELECT id, ts, x FROM order_read;
VACUUM ANALYZE order_part;
SELECT order_read('SELECT * FROM order_part ORDER BY ts DESC LIMIT 20');
SELECT array_agg(s) FROM (SELECT id, ts FROM order_part WHERE x < 40 ORDER BY ts DESC, id LIMIT 3
	OFFSET 2) s;
SELECT array_agg(s) FROM (SELECT id, ts FROM order_part WHERE x < 40 ORDER BY x DESC, ts LIMIT 3
	OFFSET 2) s;
-- parameters
PREPARE order_param(int) AS SELECT id FROM order_read WHERE x = $1 ORDER BY ts DESC LIMIT 3;
SET plan_cache_mode = force_generic_plan;
EXECUTE order_param(7);
EXECUTE order_param(-1);
RESET plan_cache_mode;
SELECT g, (SELECT array_agg(id) FROM (SELECT id FROM order_read WHERE x = g ORDER BY ts DESC LIMIT
	2) s) FROM generate_series(1, 3) g;
SELECT test.check('order_z');
DROP FUNCTION order_all(text), order_same(text), order_read(text), order_rows(text, int, int);
DROP TABLE order_ties, order_read, order_part, order_row;
