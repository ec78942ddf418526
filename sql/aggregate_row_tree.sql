-- batches whose rows are in the row tree, all of them or some: the same results as heap's, in all
-- modes of zedstore.debug_vector
\getenv abs_srcdir PG_ABS_SRCDIR
\set batches :abs_srcdir '/sql/include/batches.sql'
\i :batches
SET max_parallel_workers_per_gather = 0;
SET zedstore.min_segment_rows = 1024;
SET extra_float_digits = 0;
\set ECHO none
CREATE TABLE h_tree (id int, s int2, b bigint, gone text, flag bool, f8 float8, f4 float4,
	n numeric, d date, ts timestamp, ch "char", u uuid, nm name, t text, bp char(6), y bytea,
	a int[], j jsonb, iv interval, lo text, big text);
CREATE TABLE z_tree (LIKE h_tree) USING zedstore WITH (autovacuum_enabled = off);
-- few rows a statement, so that none becomes columns at once; rows of which all, some and no
-- attributes are NULL
CREATE FUNCTION rows_of(first int, last int) RETURNS TABLE (id int, s int2, b bigint, flag bool,
	f8 float8, f4 float4, n numeric, d date, ts timestamp, ch "char", u uuid, nm name, t text,
	bp char(6), y bytea, a int[], j jsonb, iv interval, lo text, big text) LANGUAGE sql AS $$
	SELECT g, CASE WHEN g % 3 > 0 THEN g % 100 END::int2, g::bigint * 1000000007 * (g % 2 * 2 - 1),
		CASE g % 5 WHEN 0 THEN NULL ELSE g % 2 = 0 END, g / 4.0::float8, (g % 50 / 2.0)::float4,
		CASE g % 9 WHEN 0 THEN NULL WHEN 1 THEN g WHEN 2 THEN g / 8.0 WHEN 3 THEN 'NaN'::numeric
			WHEN 4 THEN (g || repeat('7', 40))::numeric ELSE round(g / 3.0, 2) END,
		date '2020-01-01' + g % 300, timestamp '2020-01-01' + g * interval '1 hour',
		chr(65 + g % 20)::"char", md5((g % 40)::text)::uuid, 'name ' || g % 17,
		CASE WHEN g % 7 > 0 THEN repeat('x', g % 200) || ' text ' || g % 31 END, 'b' || g % 4,
		decode(md5((g % 30)::text), 'hex'), CASE WHEN g % 4 > 0 THEN ARRAY[g % 3, g % 5] END,
		jsonb_build_object('k', g % 6), g % 10 * interval '1 day', repeat('lo', g % 150),
		CASE WHEN g % 400 = 399
			THEN (SELECT string_agg(md5(i::text || g), '') FROM generate_series(1, 400) i)
			WHEN g % 200 = 7 THEN repeat('q', 20000 + g % 3) ELSE 'small ' || g % 4 END
	FROM generate_series(first, last) g
$$;
CREATE PROCEDURE fill(tab regclass, first int, last int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 0 .. (last - first) / 100 LOOP
		EXECUTE format('INSERT INTO %s (id, s, b, flag, f8, f4, n, d, ts, ch, u, nm, t, bp, y, a, j,
			iv, lo, big) SELECT * FROM rows_of(%s, %s)', tab, first + i * 100,
			least(first + i * 100 + 99, last));
		EXECUTE format('INSERT INTO %s (id) SELECT %s WHERE %s %% 3 = 0', tab, -first - i, i);
		COMMIT;
	END LOOP;
END $$;
CALL fill('h_tree', 1, 1500);
CALL fill('z_tree', 1, 1500);
ALTER TABLE h_tree DROP COLUMN gone, ADD COLUMN late int DEFAULT 7,
	ADD COLUMN later text DEFAULT 'a text for all', ADD COLUMN latest numeric DEFAULT 1.50,
	ADD COLUMN nothing int;
ALTER TABLE z_tree DROP COLUMN gone, ADD COLUMN late int DEFAULT 7,
	ADD COLUMN later text DEFAULT 'a text for all', ADD COLUMN latest numeric DEFAULT 1.50,
	ADD COLUMN nothing int;
CALL fill('h_tree', 1501, 2300);
CALL fill('z_tree', 1501, 2300);
ANALYZE h_tree, z_tree;
-- filters, aggregates, groups, sorts; the queries whose answer differs are shown, and how many were
-- asked
CREATE TABLE asked (q text);
INSERT INTO asked SELECT format('SELECT count(*), sum(id), min(late), max(later)
	FROM @_tree WHERE %s', c) FROM unnest(ARRAY[
	's = 3', 's IS NULL', 'b > 1000000007000', 'flag', 'NOT flag', 'flag IS NOT TRUE', 'f8 < 100',
	'f4 >= 12.5', 'n > 100', 'n = 2.25', 'n IS NULL', 'd = ''2020-03-01''', 'ts < ''2020-02-01''',
	'ch = ''C''', 'u = md5(''3'')::uuid', 'nm = ''name 5''', 't LIKE ''%text 7''',
	't LIKE ''xxxx%''', 't > ''xxxxxxxx''', 't IS NULL', 'bp = ''b2''',
	'y = decode(md5(''4''), ''hex'')', 'a = ''{1,2}''', 'j ->> ''k'' = ''2''', 'iv > ''5 days''',
	'lo LIKE ''lolo%''', 'big LIKE ''%2''', 'big LIKE ''qqq%''', 'length(big) > 1000', 'late = 7',
	'late IS NULL', 'later = ''a text for all''', 'latest > 1', 'nothing IS NULL', 'nothing = 1',
	's = 3 AND b > 0 AND t LIKE ''%5''', 's = 3 OR big LIKE ''%1''',
	'id % 100 = 5 AND n > 3 AND t LIKE ''%x%''', 's IN (1, 2, 3)',
	't IN (''x text 1'', '' text 0'')', 'id BETWEEN 1000 AND 1100', 'id < 0', 's + late = 10',
	'n * 2 > f4::numeric', 'upper(t) LIKE ''%TEXT 9''',
	'CASE WHEN s = 0 THEN false ELSE 100 / s > 3 END', '100 / s > 3', '1 / (id - 2000) = 0',
	'id <> 2000 AND 1 / (id - 2000) = 0']) c;
INSERT INTO asked SELECT format('SELECT string_agg(r::text, '' '' ORDER BY r::text COLLATE "C")
	FROM (SELECT %s, count(*), sum(s), max(id) FROM @_tree GROUP BY 1) r', k) FROM unnest(ARRAY[
	's', 'flag', 'f4', 'd', 'ch', 'u', 'nm', 't', 'bp', 'y', 'a', 'iv', 'late', 'later', 'latest',
	'nothing', 'trim_scale(n)', 'id % 10', 'length(t)', 'left(big, 7)', 'big', 's + late']) k;
INSERT INTO asked SELECT format('SELECT string_agg(r::text, '' '')
	FROM (SELECT count(%1$s), count(DISTINCT %1$s), min(%1$s), max(%1$s) FROM @_tree) r', c)
	FROM unnest(ARRAY[
	'id', 's', 'b', 'f8', 'f4', 'n', 'd', 'ts', 'nm', 't', 'bp', 'late', 'later', 'latest',
	'nothing', 'lo', 'big', 'id + s', 'n + latest', 't || later']) c;
INSERT INTO asked SELECT format('SELECT %s FROM @_tree WHERE id <> 77', c) FROM unnest(ARRAY[
	'sum(s)', 'sum(b)', 'avg(n)', 'sum(n)', 'sum(f8)', 'avg(f4)', 'sum(latest)', 'sum(late)',
	'bool_and(flag)', 'count(big)', 'sum(length(big))', 'sum(s * late)',
	'sum(n) FILTER (WHERE flag)', 'count(*) FILTER (WHERE t LIKE ''%7'')']) c;
INSERT INTO asked SELECT format('SELECT string_agg(r::text, '' '')
	FROM (SELECT * FROM @_tree WHERE %s ORDER BY %s LIMIT 7) r', c, o)
	FROM unnest(ARRAY['true', 's = 3', 't LIKE ''%7''']) c, unnest(ARRAY[
	'id', 'b DESC NULLS LAST', 'n, id', 't DESC NULLS LAST, id', 's DESC, id',
	'later, late, id']) o;
INSERT INTO asked SELECT format('SELECT md5(string_agg(r::text, '' '' ORDER BY r::text COLLATE "C"))
	FROM (SELECT %s FROM @_tree) r', c)
	FROM unnest(ARRAY['*', 'big, t', 'id, s, later']) c;
INSERT INTO asked SELECT format('SELECT md5(string_agg(r::text, '' '' ORDER BY r::text COLLATE "C"))
	FROM (SELECT %s FROM @_tree WHERE s < %s) r', c, s)
	FROM unnest(ARRAY['*', 'big, t', 'id, s, later']) c, unnest(ARRAY[2, 90]) s;
INSERT INTO asked VALUES
	('SELECT count(xmin), count(DISTINCT tableoid), count(ctid) FROM @_tree WHERE s = 7'),
	('SELECT count(*) FROM (SELECT FROM @_tree WHERE 1000 / (id - 2100) < 1000 LIMIT 5) r'),
	('SELECT count(*), sum(r.n) FROM @_tree r JOIN @_tree q ON q.s = r.id WHERE q.b < 20000000000'),
	('SELECT count(*) FROM @_tree r WHERE NOT EXISTS (SELECT FROM @_tree q WHERE q.s = r.id
		AND q.t LIKE ''%3'')');
CREATE FUNCTION different() RETURNS TABLE (query text, outcome text) LANGUAGE sql AS $$
	SELECT q, left(o, 300) FROM (SELECT q, test.by_batches(q, 'Zedstore', 'v', 100,
			ARRAY[['force', '0', '8'], ['verify', '5', '8'], ['rows', '0', '8']]) AS o
		FROM asked) a WHERE o LIKE 'DIFFERENT%'
	UNION ALL SELECT count(*) || ' queries', count(*) FILTER (
		WHERE test.outcome(replace(q, '@', 'z')) LIKE '22%') || ' raise errors' FROM asked
$$;
\set ECHO all
-- which batches of a scan are taken row by row
SET zedstore.debug_vector = force;
SELECT count(*) AS vectors FROM pg_zs_segments('z_tree');
SELECT test.redone('SELECT sum(s) FROM z_tree WHERE d > ''2020-02-01'' AND t LIKE ''x%''') AS none,
	test.redone('SELECT * FROM z_tree WHERE s = 3') AS none,
	test.redone('SELECT t, sum(late) FROM z_tree GROUP BY t') AS none,
	test.redone('SELECT count(*) FROM z_tree WHERE big LIKE ''q%''') > 0 AS "large values";
RESET zedstore.debug_vector;
SELECT * FROM different();
-- updated and deleted, by many and by single statements; a transaction that gives up
UPDATE h_tree SET s = s + 1, big = big || 'u', later = 'new ' || id WHERE id % 5 = 2;
UPDATE z_tree SET s = s + 1, big = big || 'u', later = 'new ' || id WHERE id % 5 = 2;
DELETE FROM h_tree WHERE id % 11 = 4 OR id BETWEEN 700 AND 800;
DELETE FROM z_tree WHERE id % 11 = 4 OR id BETWEEN 700 AND 800;
BEGIN;
UPDATE z_tree SET s = 1, t = 'lost';
INSERT INTO z_tree (id, s) SELECT g, g FROM generate_series(1, 50) g;
ROLLBACK;
SELECT * FROM different();
-- some in columns, others not: stripes with both
VACUUM z_tree;
SELECT count(*) > 0 AS vectors FROM pg_zs_segments('z_tree');
UPDATE h_tree SET n = n + 1, nothing = id WHERE id % 7 = 1;
UPDATE z_tree SET n = n + 1, nothing = id WHERE id % 7 = 1;
CALL fill('h_tree', 5001, 5300);
CALL fill('z_tree', 5001, 5300);
DELETE FROM h_tree WHERE id % 13 = 6;
DELETE FROM z_tree WHERE id % 13 = 6;
SELECT * FROM different();
-- single rows that were moved to columns and written again where others are
SELECT count(*) FROM zs_compact('z_tree');
UPDATE h_tree SET t = 'single' WHERE id % 97 = 1;
UPDATE z_tree SET t = 'single' WHERE id % 97 = 1;
ALTER TABLE h_tree ADD COLUMN last text DEFAULT 'last', DROP COLUMN ts;
ALTER TABLE z_tree ADD COLUMN last text DEFAULT 'last', DROP COLUMN ts;
UPDATE h_tree SET last = NULL WHERE id % 31 = 1;
UPDATE z_tree SET last = NULL WHERE id % 31 = 1;
DELETE FROM asked WHERE q ~ '\mts\M';
INSERT INTO asked SELECT replace(q, 'later', 'last') FROM asked WHERE q ~ 'later';
-- rows of our own transaction, seen or not by the command that reads
BEGIN;
UPDATE h_tree SET s = 50 WHERE id % 17 = 3;
UPDATE z_tree SET s = 50 WHERE id % 17 = 3;
SAVEPOINT a;
UPDATE z_tree SET s = 60;
ROLLBACK TO a;
SELECT * FROM different();
INSERT INTO h_tree (id, s) SELECT id + 100000, s FROM h_tree WHERE s = 50;
INSERT INTO z_tree (id, s) SELECT id + 100000, s FROM z_tree WHERE s = 50;
SELECT test.by_batches('SELECT count(*), sum(id) FROM @_tree WHERE s = 50', 'Zedstore', 'v');
-- a cursor goes both ways and does not see what comes later
DECLARE c SCROLL CURSOR FOR SELECT id, t, late FROM z_tree WHERE s = 50;
FETCH 2 FROM c;
UPDATE z_tree SET s = 51 WHERE s = 50;
MOVE FORWARD ALL IN c;
FETCH BACKWARD 2 FROM c;
MOVE BACKWARD ALL IN c;
FETCH 1 FROM c;
ROLLBACK;
-- NULLs among attributes that lie at the same place in other rows, with and without padding
\set ECHO none
CREATE TABLE h_pad (a bool, b bool, c bool, s int2, t text, e int, f bigint, n name, g int2);
INSERT INTO h_pad SELECT CASE WHEN g % 2 > 0 THEN g % 4 = 1 END, true, g % 3 = 0,
	CASE WHEN g % 5 > 1 THEN g % 9 END, CASE WHEN g % 7 > 2 THEN repeat('t', g % 140) END,
	CASE WHEN g % 11 > 3 THEN g % 8 END, CASE WHEN g % 13 > 3 THEN g END,
	CASE WHEN g % 4 > 0 THEN 'name ' || g % 6 END, g % 17 FROM generate_series(1, 900) g;
CREATE TABLE z_pad USING zedstore WITH (autovacuum_enabled = off) AS SELECT * FROM h_pad;
CREATE TABLE h_pads (f bigint, s int2, e int, b bool, g int2, t text, c "char", n numeric);
INSERT INTO h_pads SELECT f, CASE WHEN e > 2 THEN s END, CASE WHEN s > 2 THEN e END, a,
	CASE WHEN e < 6 THEN g END, t, left(t, 1)::"char", g FROM h_pad;
CREATE TABLE z_pads USING zedstore WITH (autovacuum_enabled = off) AS SELECT * FROM h_pads;
\set ECHO all
SELECT c, left(test.by_batches(format('SELECT string_agg(r::text, '' '' ORDER BY r::text
	COLLATE "C") FROM (SELECT %1$s, count(*), sum(g) FROM @_%2$s GROUP BY 1) r', c, t), 'Zedstore',
	'v', 1), 9)
	FROM (SELECT unnest(ARRAY['a', 's', 't', 'e', 'f', 'n', 'g']), 'pad' UNION ALL
		SELECT unnest(ARRAY['f', 's', 'e', 'b', 'g', 't', 'c', 'n']), 'pads') v(c, t);
-- scanned again and again in one query, while rows come and go
BEGIN;
SELECT test.by_batches('SELECT string_agg(r::text, '' '') FROM (SELECT g, (SELECT count(*)
	+ sum(r.s) FROM @_tree r WHERE r.s > g AND r.id % 2 = g % 2)
	FROM generate_series(90, 99) g) r', 'Zedstore');
SELECT test.by_batches('SELECT string_agg(r::text, '' '' ORDER BY g) FROM generate_series(1, 40) g,
	LATERAL (SELECT t, n, big FROM @_tree WHERE id < g + 2000 AND s = g AND t LIKE ''%x%''
	ORDER BY id DESC LIMIT 1) r', 'Zedstore', 'v', 100);
CREATE FUNCTION own_rows(k int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	c bigint;
BEGIN
	INSERT INTO z_tree (id, s) VALUES (k + 200000, 91);
	DELETE FROM z_tree WHERE id = k + 199999;
	SELECT count(*) INTO c FROM z_tree WHERE s = 91;
	RETURN c;
END $$;
SELECT k, (SELECT count(*) FROM z_tree WHERE s = 91 AND id > k - 5) - own_rows(k) AS difference
	FROM generate_series(1, 4) k;
ROLLBACK;
-- system columns, which make runs of rows come apart
BEGIN;
\set ECHO none
CREATE TABLE z_own (i int) USING zedstore;
INSERT INTO z_own VALUES (1);
INSERT INTO z_own VALUES (2);
INSERT INTO z_own VALUES (3);
DELETE FROM z_own WHERE i = 2;
INSERT INTO z_own VALUES (4);
\set ECHO all
SELECT i, cmin::text::int - first AS command, xmin = first_xmin AS same FROM z_own,
	(SELECT cmin::text::int AS first, xmin AS first_xmin FROM z_own WHERE i = 1) f WHERE i > 0;
SELECT sum(i), count(*) FROM z_own WHERE xmax = 0;
SELECT sum(i), count(*) FROM z_own;
ROLLBACK;
DROP TABLE asked;
SELECT * FROM zs_check('z_tree');
