-- scans in the order of a column: merged, sorted, forced and off; heap is the oracle
\getenv abs_srcdir PG_ABS_SRCDIR
\set twins :abs_srcdir '/sql/include/twins.sql'
\i :twins
SET max_parallel_workers_per_gather = 0;
SET zedstore.min_segment_rows = 1024;
SET zedstore.enable_ordered_scan = on;
\set prefix ordered
\set include :abs_srcdir '/sql/include/order.sql'
\i :include
-- The rows of a query on both twins, in order: "t", or where they differ.  With small memory, too.
CREATE FUNCTION ordered_same(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	way text;
	expected text;
	found text;
BEGIN
	EXECUTE 'SELECT md5(string_agg(r::text, '' '')) FROM (' || replace(query, '_@', '_h') || ') r'
		INTO expected;
	FOREACH way IN ARRAY ARRAY['on 4MB off', 'on 64kB force', 'off 4MB off'] LOOP
		PERFORM set_config('zedstore.enable_ordered_scan', split_part(way, ' ', 1), true),
			set_config('work_mem', split_part(way, ' ', 2), true),
			set_config('zedstore.debug_vector', split_part(way, ' ', 3), true),
			set_config('enable_sort', CASE way WHEN 'off 4MB off' THEN 'on' ELSE 'off' END, true);
		EXECUTE 'SELECT md5(string_agg(r::text, '' '')) FROM (' || replace(query, '_@', '_z') ||
			') r' INTO found;
		IF found IS DISTINCT FROM expected THEN
			RETURN format('DIFFERENT: %s: %s', way, query);
		END IF;
	END LOOP;
	RETURN 't';
END $$;
-- All columns as keys, in all directions, alone and with others behind, limits and filters.
CREATE FUNCTION ordered_all(from_table text) RETURNS TABLE (queries bigint, differ text)
LANGUAGE sql AS $$
	SELECT count(*), string_agg(s, E'\n') FILTER (WHERE s <> 't')
	FROM (SELECT ordered_same(format('SELECT %s FROM %s WHERE %s ORDER BY %I %s %s %s', cols,
			from_table, filter, k, dir, CASE WHEN alone THEN '' ELSE ', id' END, lim)) AS s
		FROM unnest(ARRAY['i', 'b', 'o', 'f', 'n', 't', 'ts', 'd', 'u', 'bo', 'few', 'v', 'late_h',
				'late', 'id']) WITH ORDINALITY c(k, m),
			unnest(ARRAY['', 'DESC', 'NULLS FIRST', 'DESC NULLS LAST']) WITH ORDINALITY di(dir, x),
			LATERAL (SELECT (m + x * 3) % 2 = 0 AS alone, (m * 5 + x * 7) % 9 AS y) h,
			LATERAL (SELECT CASE WHEN alone THEN k WHEN y % 2 = 0 THEN '*'
				ELSE 't, id, n' END AS cols,
				(ARRAY['', 'LIMIT 2500', 'LIMIT 1100 OFFSET 300'])[y / 3 + 1] AS lim,
				(ARRAY['true', 'few = 1', 'i > 0 AND f < 500', 'id % 3 <> 1'])[(m + x) % 4 + 1]
				AS filter) z) q
$$;
ALTER TABLE ordered_h ADD COLUMN late int DEFAULT 5;
ALTER TABLE ordered_z ADD COLUMN late int DEFAULT 5;
SELECT ordered_all('ordered_@');
SELECT k, test.both(format('INSERT INTO ordered_@ SELECT r.*, NULL
		FROM ordered_rows(%L, %s, 2600) r',
		k, m * 10000)) AS loaded
	FROM unnest(ARRAY['sorted', 'reverse', 'runs', 'near', 'random', 'nulls'])
		WITH ORDINALITY x(k, m);
SELECT ordered_all('ordered_@');
-- rows in the row tree, changed and deleted ones, a column that comes later
SELECT test.both('INSERT INTO ordered_@ SELECT r.*, 3
	FROM ordered_rows(''random'', 100000, 700) r WHERE id % 3 = 0');
SELECT test.both('UPDATE ordered_@ SET i = -i, ts = ts + interval ''1 year'' WHERE id % 101 = 0');
SELECT test.both('DELETE FROM ordered_@ WHERE i BETWEEN 700 AND 800
	OR id % 7 = 0 OR id BETWEEN 20000 AND 22000');
ALTER TABLE ordered_h ADD COLUMN later int;
ALTER TABLE ordered_z ADD COLUMN later int;
SELECT ordered_all('ordered_@');
VACUUM ordered_z;
SELECT ordered_all('ordered_@');
-- rows from before the key's column have one value, and no segment of it
ALTER TABLE ordered_h ADD COLUMN lowest int DEFAULT -1;
ALTER TABLE ordered_z ADD COLUMN lowest int DEFAULT -1;
SELECT test.both('INSERT INTO ordered_@ SELECT r.*, 3, 1, id % 14
	FROM ordered_rows(''near'', 300000, 3000) r');
SELECT ordered_same('SELECT lowest FROM ordered_@ ORDER BY lowest') AS up,
	ordered_same('SELECT * FROM ordered_@ ORDER BY lowest DESC, id') AS down;
-- several keys: NULLs of the first in the order of the others, one column by two collations
SELECT ordered_same(format('SELECT %s FROM ordered_@ WHERE %s ORDER BY %s, id %s', cols, filter,
		keys, lim)) AS same, keys
	FROM (VALUES ('*', 'true', 'few DESC, d NULLS FIRST, n DESC', ''),
		('id, t', 'true', 't DESC NULLS LAST, i, ts', 'LIMIT 3000'),
		('late, f', 'few <> 2', 'late NULLS FIRST, f DESC, u', 'OFFSET 2000'),
		('*', 'i IS NOT NULL', 'i, t, bo DESC', 'LIMIT 70'),
		('i, d', 'i IS NULL', 'i NULLS FIRST, d DESC NULLS LAST, b', ''),
		('t, v', 'id % 2 = 0', 't, v COLLATE "und-x-icu" DESC, v', 'LIMIT 2000')) q(cols, filter,
			keys, lim);
SELECT ordered_same('SELECT id, row_number() OVER (PARTITION BY few ORDER BY ts, id)
	FROM ordered_@ ORDER BY id') AS windows,
	ordered_same('SELECT DISTINCT ON (d) d, id, f FROM ordered_@ ORDER BY d, n DESC, id') AS firsts;

-- what is chosen, and what it says
CREATE FUNCTION ordered_read(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' ||
	query LOOP
		IF line ~ 'Scan|Segments|Vectors|Key|Append|Order|Stripes|Join|Agg|Limit|Unique' THEN
			RETURN NEXT regexp_replace(line, ' \(actual.*', '');
		END IF;
	END LOOP;
END $$;
CREATE TABLE ordered (id int, ts timestamp, r int, near int, x int, w text) USING zedstore;
INSERT INTO ordered SELECT g, timestamp '2020-01-01' + g / 3 * interval '1 min', abs(hashint4(g)),
	g + hashint4(g) % 1500, g % 50, repeat('w', 50) FROM generate_series(1, 40000) g;
VACUUM ANALYZE ordered;
SELECT ordered_read('SELECT * FROM ordered ORDER BY ts');
SELECT ordered_read('SELECT * FROM ordered ORDER BY ts DESC, id LIMIT 20 OFFSET 5000');
SELECT ordered_read('SELECT * FROM ordered ORDER BY near');
SELECT ordered_read('SELECT * FROM ordered ORDER BY r');
SELECT ordered_read('SELECT ts, count(*) FROM ordered GROUP BY ts ORDER BY ts LIMIT 3');
SELECT ordered_read('SELECT DISTINCT ts FROM ordered ORDER BY ts LIMIT 3');
SELECT ordered_read('SELECT a.id FROM ordered a JOIN ordered b ON a.ts = b.ts
	ORDER BY a.ts LIMIT 3');
SELECT ordered_read('SELECT * FROM ordered WHERE x = 7 ORDER BY ts LIMIT 2000');
SET work_mem = '64kB';
SET enable_sort = off;
SET zedstore.debug_vector = force;
SELECT ordered_read('SELECT * FROM ordered ORDER BY near');
SELECT md5(string_agg(near::text, ',')) = (SELECT md5(string_agg(n, ','))
	FROM (SELECT near::text AS n FROM (SELECT near FROM ordered OFFSET 0) o ORDER BY near) s)
	FROM (SELECT near FROM ordered ORDER BY near) s;
RESET enable_sort;
RESET zedstore.debug_vector;
RESET work_mem;
-- system columns, whole rows, rescans, cursors, parameters, errors
SELECT ctid, tableoid::regclass, id FROM ordered ORDER BY ts, id LIMIT 2 OFFSET 1200;
SELECT xmin::text::int > 0, id FROM ordered ORDER BY ts, id LIMIT 2 OFFSET 1200;
SELECT o FROM ordered o ORDER BY ts, id LIMIT 2 OFFSET 1200;
SELECT g, (SELECT sum(id) FROM (SELECT id FROM ordered WHERE x = g ORDER BY ts LIMIT 1100) s)
	FROM generate_series(1, 3) g;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id FROM ordered ORDER BY ts, id;
FETCH 2 FROM c;
MOVE 5000 FROM c;
FETCH 1 FROM c;
FETCH BACKWARD 2 FROM c;
INSERT INTO ordered SELECT 0, timestamp '2020-01-01', 1, 1, 1, 'late' FROM generate_series(1, 10);
FETCH 1 FROM c;
FETCH LAST FROM c;
FETCH FIRST FROM c;
ROLLBACK;
SELECT 1 / (id - 30000) FROM ordered ORDER BY ts;
SELECT id FROM ordered WHERE 1 / (id - 30000) >= 0 ORDER BY ts LIMIT 1;
PREPARE ordered_param(int) AS SELECT id FROM ordered WHERE x = $1 ORDER BY ts LIMIT 1 OFFSET 700;
SET plan_cache_mode = force_generic_plan;
EXECUTE ordered_param(7);
EXECUTE ordered_param(-1);
RESET plan_cache_mode;
BEGIN;
SELECT id FROM ordered ORDER BY ts, id LIMIT 2 OFFSET 1200 FOR UPDATE;
ROLLBACK;
-- partitions
CREATE TABLE ordered_part (id int, ts timestamp, x int) PARTITION BY HASH (id);
CREATE TABLE ordered_part1 PARTITION OF ordered_part FOR VALUES WITH (MODULUS 2, REMAINDER 0)
	USING zedstore;
CREATE TABLE ordered_part2 PARTITION OF ordered_part FOR VALUES WITH (MODULUS 2, REMAINDER 1)
	USING zedstore;
INSERT INTO ordered_part SELECT id, ts, x FROM ordered;
VACUUM ANALYZE ordered_part;
SELECT ordered_read('SELECT * FROM ordered_part ORDER BY ts');
SELECT count(*), bool_and(ts >= before) FROM (SELECT ts, lag(ts) OVER () AS before
	FROM (SELECT ts FROM ordered_part ORDER BY ts) s) s;
-- strings from the dictionaries of segments that lie over each other: what is in hand stays while
-- the head of another segment is read
CREATE TABLE entries_h (id int, t text COLLATE "C", n name, e varchar);
CREATE TABLE entries_z (LIKE entries_h) USING zedstore;
CREATE FUNCTION entries(load int) RETURNS SETOF entries_h LANGUAGE sql AS $$
	SELECT load * 10000 + g, 'value ' || lpad((load * 7 + hashint4(g) % 20)::text, 4, '0'),
		CASE WHEN g % 3 = 0 THEN '' ELSE 'name ' || load + g % 9 END,
		CASE WHEN g % 11 > 0 THEN repeat('e', load + g % 5) END
	FROM generate_series(1, 2500) g
$$;
INSERT INTO entries_h SELECT e.* FROM generate_series(1, 6) load, entries(load) e;
DO $$ BEGIN
	FOR load IN 1 .. 6 LOOP
		INSERT INTO entries_z SELECT * FROM entries(load);
		PERFORM count(*) FROM entries_z;	-- written: a segment for each load
	END LOOP;
END $$;
VACUUM ANALYZE entries_h, entries_z;
SET enable_sort = off;
SELECT k, test.same(format('SELECT row_number() OVER () AS k, e.* FROM (SELECT * FROM entries_@
	ORDER BY %s OFFSET 0) e', k)) FROM (VALUES ('t, id'), ('t DESC, id'), ('n, id'), ('n DESC, id'),
	('e, id'), ('e DESC NULLS LAST, id'), ('t DESC, n, id'), ('id DESC')) v(k);
RESET enable_sort;
DROP FUNCTION entries(int);
DROP TABLE entries_h, entries_z;
SELECT test.check('ordered_z');
DROP FUNCTION ordered_all(text), ordered_same(text), ordered_read(text),
	ordered_rows(text, int, int);
DROP TABLE ordered, ordered_part, ordered_row;
