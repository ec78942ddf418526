-- ORDER BY ... LIMIT by a scan of its own: on against off, and against heap
SET max_parallel_workers_per_gather = 0;
SET zedstore.enable_ordered_scan = off;
CREATE TABLE topn_heap (id int, k int, n numeric, s text COLLATE "C", f float8, d date, pad text) USING heap;
INSERT INTO topn_heap
	SELECT g, nullif(g * 7919 % 1000, 17), (g * 31 % 977) / 7.0, 'v' || g * 13 % 5000,
		CASE WHEN g % 501 = 0 THEN 'NaN' ELSE sin(g) END, date '2000-01-01' + g % 3000,
		repeat('x', g % 50)
	FROM generate_series(1, 20000) g;
CREATE TABLE topn (LIKE topn_heap) USING zedstore;
INSERT INTO topn SELECT * FROM topn_heap;
DELETE FROM topn_heap WHERE id % 7 = 3;
DELETE FROM topn WHERE id % 7 = 3;
UPDATE topn_heap SET k = k + 1 WHERE id % 11 = 5;
UPDATE topn SET k = k + 1 WHERE id % 11 = 5;
ANALYZE topn;

-- the plan, and what keeps it away
EXPLAIN (COSTS OFF) SELECT * FROM topn WHERE d > '2003-01-01' ORDER BY k DESC, id LIMIT 5 OFFSET 2;
EXPLAIN (COSTS OFF) SELECT * FROM topn ORDER BY k NULLS FIRST, s DESC NULLS LAST LIMIT 5;
SET zedstore.enable_topn = off;
EXPLAIN (COSTS OFF) SELECT * FROM topn ORDER BY k, id LIMIT 5;
RESET zedstore.enable_topn;
EXPLAIN (COSTS OFF) SELECT * FROM topn ORDER BY k, id LIMIT 2000;
EXPLAIN (COSTS OFF) SELECT * FROM topn ORDER BY k + 1, id LIMIT 5;
EXPLAIN (COSTS OFF) SELECT * FROM topn WHERE random() >= 0 ORDER BY k, id LIMIT 5;
EXPLAIN (COSTS OFF) SELECT * FROM topn ORDER BY k, id LIMIT 5 FOR UPDATE;
EXPLAIN (COSTS OFF) SELECT * FROM topn ORDER BY k FETCH FIRST 5 ROWS WITH TIES;
SET zedstore.enable_vector_agg = off;
EXPLAIN (COSTS OFF) SELECT k, count(*) FROM topn GROUP BY k ORDER BY k LIMIT 5;
RESET zedstore.enable_vector_agg;
EXPLAIN (COSTS OFF) SELECT t.* FROM topn t JOIN topn_heap h USING (id) ORDER BY t.k, t.id LIMIT 5;

-- heap, zedstore with and without: the same rows in the same order
CREATE FUNCTION topn_differs(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	heap text;
	with_topn text;
	without text;
BEGIN
	EXECUTE format('SELECT string_agg(x::text, E''\n'') FROM (%s) x', replace(query, 'TABLE', 'topn_heap')) INTO heap;
	EXECUTE format('SELECT string_agg(x::text, E''\n'') FROM (%s) x', replace(query, 'TABLE', 'topn')) INTO with_topn;
	PERFORM set_config('zedstore.enable_topn', 'off', true);
	EXECUTE format('SELECT string_agg(x::text, E''\n'') FROM (%s) x', replace(query, 'TABLE', 'topn')) INTO without;
	PERFORM set_config('zedstore.enable_topn', 'on', true);
	IF heap IS DISTINCT FROM with_topn OR heap IS DISTINCT FROM without THEN
		RETURN format(E'heap:\n%s\nwith:\n%s\nwithout:\n%s', heap, with_topn, without);
	END IF;
	RETURN 'same';
END $$;
SELECT q, topn_differs(q) FROM (VALUES
	('SELECT * FROM TABLE ORDER BY k, id LIMIT 10'),
	('SELECT * FROM TABLE ORDER BY k DESC, id DESC LIMIT 10 OFFSET 5'),
	('SELECT id, pad FROM TABLE ORDER BY n, id LIMIT 1000'),
	('SELECT * FROM TABLE ORDER BY s COLLATE "C" DESC, id LIMIT 7'),
	('SELECT * FROM TABLE ORDER BY f DESC, id LIMIT 50'),
	('SELECT * FROM TABLE ORDER BY f, id LIMIT 50'),
	('SELECT * FROM TABLE ORDER BY d DESC NULLS LAST, n DESC, id LIMIT 12'),
	('SELECT * FROM TABLE WHERE s LIKE ''v1%'' AND k > 500 ORDER BY n DESC, id LIMIT 12'),
	('SELECT * FROM TABLE WHERE k IS NULL ORDER BY id LIMIT 3'),
	('SELECT * FROM TABLE WHERE k = -1 ORDER BY id LIMIT 3'),
	('SELECT k FROM TABLE ORDER BY k NULLS FIRST LIMIT 20'),
	('SELECT x FROM TABLE x ORDER BY id LIMIT 3'),
	('SELECT * FROM TABLE ORDER BY id LIMIT 0')) v(q);

-- rescans and cursors
SELECT g, (SELECT id FROM topn WHERE k > g ORDER BY k, id LIMIT 1) FROM generate_series(0, 900, 300) g;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id FROM topn ORDER BY id DESC LIMIT 4;
FETCH 3 FROM c;
FETCH BACKWARD 2 FROM c;
FETCH ALL FROM c;
COMMIT;
-- the filter is asked once for each row, whatever becomes of what it depends on while a cursor is open
SET topn.wanted = '3';
BEGIN;
DECLARE c CURSOR FOR SELECT id, id % 5 AS fifth FROM topn WHERE id % 5 = current_setting('topn.wanted')::int ORDER BY id LIMIT 4;
FETCH 2 FROM c;
SET LOCAL topn.wanted = '4';
FETCH ALL FROM c;
COMMIT;
SELECT count(*) FROM (SELECT id FROM topn WHERE (SELECT random() + topn.id * 0) < 0.5 ORDER BY n, id LIMIT 50) s;
PREPARE p(int) AS SELECT id FROM topn ORDER BY id LIMIT $1;
EXECUTE p(2);
EXECUTE p(3);
DROP FUNCTION topn_differs(text);

-- filters by batches, in all modes: the same rows or the same error
CREATE FUNCTION topn_modes(query text, name text DEFAULT 'topn', modes text[] DEFAULT '{heap,off,scan,verify,rows}')
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	run text;
	expected text;
	got text;
	plan json;
BEGIN
	FOREACH run IN ARRAY modes LOOP
		PERFORM set_config('zedstore.enable_vector_scan', CASE run WHEN 'scan' THEN 'off'
			ELSE 'on' END, true);
		PERFORM set_config('zedstore.debug_vector', regexp_replace(run, 'heap|scan', 'off'), true);
		BEGIN
			EXECUTE format('SELECT md5(string_agg(x::text, E''\n'')) FROM (%s) x',
				replace(query, 'TABLE', CASE run WHEN 'heap' THEN name || '_heap' ELSE name END))
				INTO got;
		EXCEPTION WHEN division_by_zero THEN
			got := SQLERRM;
		END;
		EXECUTE 'EXPLAIN (FORMAT JSON) ' || replace(query, 'TABLE', name) INTO plan;
		IF plan::text !~ 'ZedstoreTopN' THEN
			got := 'another plan';
		END IF;
		PERFORM set_config('zedstore.debug_vector', 'off', true);
		PERFORM set_config('zedstore.enable_vector_scan', 'on', true);
		IF run = modes[1] THEN
			expected := got;
		ELSIF got IS DISTINCT FROM expected THEN
			RETURN format('%s: %s instead of %s', run, got, expected);
		END IF;
	END LOOP;
	RETURN CASE WHEN expected ~ '^\w{32}$' THEN 'same' ELSE expected END;
END $$;
SET enable_sort = off;
SELECT q, topn_modes(q) FROM (VALUES
	('SELECT * FROM TABLE WHERE n > 20 ORDER BY k, id LIMIT 10'),
	('SELECT * FROM TABLE WHERE n > 20 ORDER BY k DESC, id DESC LIMIT 10'),
	('SELECT * FROM TABLE WHERE n > 20 ORDER BY k NULLS FIRST, id LIMIT 40'),
	('SELECT * FROM TABLE WHERE n > 20 ORDER BY k DESC NULLS LAST, id LIMIT 40'),
	('SELECT * FROM TABLE WHERE s LIKE ''v1%'' ORDER BY id LIMIT 10'),
	('SELECT * FROM TABLE WHERE s LIKE ''v1%'' ORDER BY id DESC LIMIT 10 OFFSET 5'),
	('SELECT * FROM TABLE WHERE f < 0 ORDER BY d, id LIMIT 100'),
	('SELECT * FROM TABLE WHERE f < 0 ORDER BY d DESC, k, id LIMIT 100'),
	('SELECT * FROM TABLE WHERE k IS NOT NULL ORDER BY n, id LIMIT 30'),
	('SELECT * FROM TABLE WHERE k IN (3, 5, 7) ORDER BY id DESC LIMIT 1000'),
	('SELECT * FROM TABLE WHERE k < 0 ORDER BY id LIMIT 10'),
	('SELECT * FROM TABLE WHERE 1000 / (k - 500) > 3 ORDER BY id LIMIT 10'),
	('SELECT * FROM TABLE WHERE k <> 500 AND 1000 / (k - 500) > 3 ORDER BY id LIMIT 10'),
	('SELECT * FROM TABLE WHERE d > to_date(''2003'', ''YYYY'') ORDER BY k, id LIMIT 10'),
	('SELECT * FROM TABLE WHERE k > (SELECT 300 OFFSET 0) ORDER BY k, id LIMIT 10'),
	('SELECT * FROM TABLE ORDER BY id LIMIT 1'), ('SELECT * FROM TABLE ORDER BY id DESC LIMIT 1'),
	('SELECT k FROM TABLE WHERE k > 100 ORDER BY k, id LIMIT 12 OFFSET 3'),
	('SELECT s, n || ''x'', k FROM TABLE WHERE s > ''v3'' AND n > 20 ORDER BY k DESC, id LIMIT 30'),
	('SELECT k, n FROM TABLE WHERE n > 20 OR k IS NULL ORDER BY k NULLS FIRST, id LIMIT 40'),
	('SELECT pad, id FROM TABLE WHERE pad <> '''' ORDER BY n, id LIMIT 200'),
	('SELECT s, id FROM TABLE WHERE s <> '''' ORDER BY id DESC LIMIT 7'),
	('SELECT 1, length(s) FROM TABLE WHERE s <> '''' ORDER BY f DESC, id LIMIT 5'),
	('SELECT id, s, tableoid = 1 FROM TABLE WHERE s <> '''' ORDER BY k, id LIMIT 5'),
	('SELECT id, x IS NULL FROM TABLE x WHERE s <> '''' ORDER BY k, id LIMIT 5'))
	v (q);
-- keys of all kinds, in both directions, with many equal to the worst one kept
CREATE TYPE topn_enum AS ENUM ('z', 'a', 'm');
CREATE DOMAIN topn_domain AS numeric(7,2);
CREATE TABLE topn_types_heap (id int, i2 int2, i8 int8, money numeric(7,2), any_numeric numeric, f4 float4, f8 float8,
	b bpchar(4) COLLATE "C", v varchar COLLATE "C", x text, n name, o oid, ts timestamptz, bo bool, c "char", dom topn_domain,
	e topn_enum, u uuid, i interval) USING heap;
INSERT INTO topn_types_heap
	SELECT g, nullif(m, 50), m * 10000000000, CASE WHEN m < 40 THEN 0 ELSE m / 3.0 - 20 END,
		CASE WHEN m = 99 THEN 'NaN' WHEN m = 98 THEN '-Infinity' WHEN m < 10 THEN round(1, m)
			ELSE (m::text || repeat('0', g % 9) || 'e-' || g % 9)::numeric END,
		CASE m WHEN 7 THEN 'NaN' WHEN 8 THEN '-0' WHEN 9 THEN 0 ELSE sin(m) END,
		CASE m WHEN 7 THEN 'Infinity' WHEN 8 THEN '-0' WHEN 9 THEN 0 ELSE nullif(cos(m), cos(3)) END,
		'b' || m % 7, nullif(chr(97 + m % 20), 'c') || repeat(' ', g % 3), 't' || m, 'n' || m % 11, 4000000000 + m,
		timestamptz '2000-01-01 UTC' + m * interval '1 hour', nullif(m % 3, 2) = 1, (m * 5 % 256 - 128)::"char", nullif(m, 3) / 7.0,
		(ARRAY['m', 'z', 'a'])[1 + m % 3]::topn_enum, md5(m::text)::uuid, m * interval '1 hour'
	FROM (SELECT g, g * 7919 % 100 AS m FROM generate_series(1, 6000) g) g;
CREATE TABLE topn_types (LIKE topn_types_heap) USING zedstore;
INSERT INTO topn_types TABLE topn_types_heap;
VACUUM (FREEZE, ANALYZE) topn_types;
INSERT INTO topn_types SELECT id + 6000, -i2, i8, money, any_numeric, f4, f8, b, v, x, n, o, ts, bo, c, dom, e, u, i
	FROM topn_types_heap WHERE id < 30;
INSERT INTO topn_types_heap SELECT id + 6000, -i2, i8, money, any_numeric, f4, f8, b, v, x, n, o, ts, bo, c, dom, e, u, i
	FROM topn_types_heap WHERE id < 30;
WITH q AS (
	SELECT attname AS key, nkeys, topn_modes(format('SELECT %s FROM TABLE WHERE id > 70 ORDER BY %I%s%s%s LIMIT %s',
			CASE WHEN nkeys = 2 THEN '*' WHEN attname = 'any_numeric' THEN 'trim_scale(any_numeric)'
				WHEN attname = 'f8' THEN 'f8 + 0' WHEN attname = 'f4' THEN 'f4 + 0' ELSE attname END,
			attname, direction, nulls, CASE nkeys WHEN 2 THEN ', id DESC' END, wanted), 'topn_types') AS result
	FROM pg_attribute, generate_series(1, 2) nkeys, (VALUES (''), (' DESC')) d(direction),
		(VALUES (' NULLS FIRST'), (' NULLS LAST')) n(nulls), (VALUES (1), (30), (400)) l(wanted)
	WHERE attrelid = 'topn_types'::regclass AND attnum > 1)
SELECT key, nkeys, result, count(*) FROM q GROUP BY key, nkeys, result ORDER BY key, nkeys, result;
-- of rows with the same key the first ones, which heap does not promise
SELECT DISTINCT topn_modes(format('SELECT id, %I FROM TABLE WHERE id > 70 ORDER BY %I%s LIMIT %s', attname, attname,
		direction, wanted), 'topn_types', '{off,scan,verify,rows}') AS result
	FROM pg_attribute, (VALUES (''), (' DESC'), (' NULLS FIRST'), (' DESC NULLS LAST')) d(direction),
		(VALUES (3), (30), (400)) l(wanted)
	WHERE attrelid = 'topn_types'::regclass AND attnum > 1;
DROP TABLE topn_types, topn_types_heap;
DROP DOMAIN topn_domain;
DROP TYPE topn_enum;
-- Of batches that zone maps show to have nothing better, keys are not read.
CREATE FUNCTION topn_pages(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	plan json;
	pages int;
	least_pages int;
BEGIN
	-- other sessions may make this one forget what it knows of the table, which it reads again
	FOR i IN 1 .. 5 LOOP
		EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ' || query INTO plan;
		pages := (plan->0->'Plan'->>'Shared Hit Blocks')::int +
			(plan->0->'Plan'->>'Shared Read Blocks')::int;
		least_pages := least(least_pages, pages);
	END LOOP;
	RETURN least_pages;
END $$;
CREATE TABLE topn_sorted (id bigint, t text) USING zedstore;
INSERT INTO topn_sorted SELECT g * 65536::bigint + ('x' || substr(md5(g::text), 1, 4))::bit(16)::int,
	md5(g::text) FROM generate_series(1, 200000) g;
VACUUM ANALYZE topn_sorted;
SELECT topn_pages('SELECT * FROM topn_sorted ORDER BY id LIMIT 3') AS pages \gset on_
SET zedstore.enable_vector_scan = off;
SELECT topn_pages('SELECT * FROM topn_sorted ORDER BY id LIMIT 3') AS pages \gset off_
RESET zedstore.enable_vector_scan;
SELECT :on_pages < :off_pages AS fewer;
-- Columns of filter and keys are not read again for the rows that are returned.
SELECT topn_pages('SELECT t FROM topn_sorted WHERE t > '''' ORDER BY t, id LIMIT 3') AS pages \gset all_
SELECT topn_pages('SELECT 1 FROM topn_sorted WHERE t > '''' ORDER BY t, id LIMIT 3') AS pages \gset no_
SELECT :all_pages = :no_pages AS same;
-- What is kept of them takes no more than work_mem and a row; then they are read again after all.
CREATE TABLE topn_wide_heap (id int, t text, e text) USING heap;
INSERT INTO topn_wide_heap SELECT g, CASE WHEN g % 10 <> 3 THEN repeat('x', 20000) || g END,
	nullif(g % 3, 1) FROM generate_series(1, 500) g;
CREATE TABLE topn_wide (LIKE topn_wide_heap) USING zedstore;
INSERT INTO topn_wide TABLE topn_wide_heap;
SET work_mem = '1MB';
BEGIN;
DECLARE topn_cursor CURSOR FOR
	SELECT t, e FROM topn_wide WHERE t IS DISTINCT FROM e ORDER BY id DESC LIMIT 400;
MOVE 390 IN topn_cursor;
SELECT sum(total_bytes) < 2 * 1024 * 1024 AS little FROM pg_backend_memory_contexts
	WHERE name = 'zedstore top-N keys';
COMMIT;
(SELECT t, e FROM topn_wide_heap WHERE t IS DISTINCT FROM e ORDER BY id DESC LIMIT 400) EXCEPT ALL
(SELECT t, e FROM topn_wide WHERE t IS DISTINCT FROM e ORDER BY id DESC LIMIT 400);
RESET work_mem;
DROP TABLE topn_wide, topn_wide_heap;
RESET enable_sort;
DROP TABLE topn_sorted;
DROP FUNCTION topn_modes, topn_pages;
DROP TABLE topn_heap;
