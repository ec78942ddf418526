-- hash joins below aggregates whose tables memory has no room for: in parts, one after the other
\getenv abs_srcdir PG_ABS_SRCDIR
\set batches :abs_srcdir '/sql/include/batches.sql'
\set ECHO none
\i :batches
\set ECHO all
SET max_parallel_workers_per_gather = 0;
SET zedstore.min_segment_rows = 1024;
SET enable_mergejoin = off;
SET enable_nestloop = off;
SET join_collapse_limit = 1;
SET from_collapse_limit = 1;
SET extra_float_digits = 0;
\set runs 'runs => test.runs(''none off force force:5 verify rows'')'
\set how 'plan => ''Joins by Batches'', longest => 60, ' :runs
CREATE TABLE h_fact (id int, k int, b bigint, n numeric, t text, x numeric(10,2), s text);
INSERT INTO h_fact SELECT g, nullif(g % 5000, 7), nullif(g % 5000, 8) * 10000000000, g % 4999,
		'key ' || g % 5000, g / 4.0, 's' || g % 5 FROM generate_series(1, 20000) g;
CALL test.twin('fact', 'id');
-- each key once, twice, or not at all; some NULL; some have no partner
CREATE TABLE h_large (k int, b bigint, n numeric, t text, v int, name text);
INSERT INTO h_large SELECT nullif(g * 7 % 6000, 21), g * 7 % 6000 * 10000000000, g, 'key ' || g,
		g % 100, 'name ' || g % 1500 FROM generate_series(1, 6000) g;
INSERT INTO h_large SELECT g * 3, NULL, g * 3, NULL, 1000 + g % 3, repeat('long ', 500)
	FROM generate_series(1, 60) g;
CALL test.twin('large');
CREATE TABLE h_dim (v int, name text);
INSERT INTO h_dim SELECT g, 'dim ' || g % 7 FROM generate_series(0, 80) g;
CALL test.twin('dim');
-- one key has nearly all rows, which statistics would tell
CREATE TABLE h_skewed (k int, v int);
INSERT INTO h_skewed SELECT CASE WHEN g % 50 = 0 THEN g ELSE 4711 END, g
	FROM generate_series(1, 5000) g;
CALL test.twin('skewed');
VACUUM (FREEZE, ANALYZE) h_fact, z_fact, h_large, z_large, h_dim, z_dim;

-- What EXPLAIN ANALYZE tells of the tables.
CREATE FUNCTION test.tables(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) '
		|| query LOOP
		IF line ~ 'Join Tables' THEN
			RETURN NEXT ltrim(regexp_replace(line, '[0-9]+ parts', 'parts'));
		END IF;
	END LOOP;
END $$;
CREATE FUNCTION test.dear(v int) RETURNS bool STABLE LANGUAGE plpgsql AS 'BEGIN RETURN v >= 0; END';
SET work_mem = '96kB';
SET hash_mem_multiplier = 1;
SET zedstore.debug_vector = force;
SELECT test.tables('SELECT f.s, count(*), sum(l.v) FROM z_fact f JOIN z_large l USING (k)
	GROUP BY f.s');
SELECT test.tables('SELECT f.s, count(*), sum(l.v) FROM z_fact f JOIN z_large l USING (k)
	JOIN z_dim d ON d.v = l.v GROUP BY f.s');
-- a table may take more than work_mem: also what others leave, be they on its level or another
CREATE VIEW inner_side AS SELECT g.s, count(*), sum(l.v) FROM z_fact g
	JOIN (z_fact f JOIN z_large l ON f.k = l.k AND (f.id + l.v) % 97 = 1) ON g.id = l.v
	GROUP BY g.s;
SET work_mem = '144kB';
SELECT test.tables('TABLE inner_side');
SET work_mem = '96kB';
SELECT test.tables('TABLE inner_side');
DROP VIEW inner_side;
-- rows of the outer side that have no partner; strings need whole tables
SELECT test.tables('SELECT f.s, count(*), sum(l.v) FROM z_fact f JOIN z_large l USING (t)
	GROUP BY f.s');
SELECT test.tables('SELECT f.s, count(*), sum(l.v) FROM z_fact f LEFT JOIN z_large l USING (k)
	GROUP BY f.s');
-- what is dear to read again, or may have other rows then
SELECT test.tables(format('SELECT f.s, count(*), sum(l.v) FROM z_fact f JOIN (%s) l USING (k)
	GROUP BY f.s', q)), q FROM (VALUES
	('SELECT k, sum(v) AS v FROM z_large GROUP BY k HAVING sum(v) >= 0'),
	('SELECT k, v FROM z_large WHERE v + 0 >= 0 LIMIT 5000'),
	('SELECT k, v FROM (SELECT k, v, row_number() OVER (PARTITION BY k ORDER BY name) AS n
		FROM z_large WHERE v + 0 >= 0) l WHERE n <= 2'),
	('WITH l AS MATERIALIZED (SELECT k, v FROM z_large WHERE v + 0 >= 0) SELECT * FROM l'),
	('SELECT k, v FROM z_large WHERE v + 0 >= 0 OFFSET 0'),
	('SELECT k, v FROM z_large WHERE test.dear(v)')) v(q);
SELECT test.tables('SELECT f.s, count(*), count(l.v) FROM z_fact f LEFT JOIN (SELECT k, v
	FROM z_large WHERE v + 0 >= 0) l USING (k) WHERE test.dear(f.id) GROUP BY f.s');
-- the parts of one key are not smaller
SELECT test.tables('SELECT count(*), sum(w.v), count(f.id) FROM z_skewed w LEFT JOIN z_fact f
	USING (k)');
RESET zedstore.debug_vector;

-- kinds of keys
SELECT test.twins(query => format('SELECT f.s, count(*), sum(l.v), min(l.name), max(l.t), sum(f.x)
	FROM @_fact f JOIN @_large l ON %s GROUP BY f.s', c), :how), c FROM (VALUES
	('f.k = l.k'), ('f.b = l.b'), ('f.k = l.v'), ('f.k + 1 = l.k'), ('f.t = l.t'), ('f.n = l.n'),
	('f.k = l.k AND f.t = l.t'), ('f.k = l.k AND f.b = l.b'), ('f.k = l.k AND f.n > l.n'),
	('f.n = l.n AND f.id % 100 = l.v'), ('f.k = l.k AND f.id % 7 < l.v % 9')) v(c);
-- kinds of joins
SELECT test.twins(query => q, :how), q FROM (VALUES
	('SELECT count(*), sum(id) FROM @_fact WHERE k IN (SELECT k FROM @_large)'),
	('SELECT count(*), sum(id) FROM @_fact f WHERE EXISTS (SELECT FROM @_large l
		WHERE l.k = f.k AND l.v < f.id % 90)'),
	('SELECT count(*), sum(id) FROM @_fact f WHERE NOT EXISTS (SELECT FROM @_large l
		WHERE l.k = f.k AND l.v < f.id % 90)'),
	('SELECT l.v, count(*), count(f.id), sum(f.x) FROM @_large l LEFT JOIN @_fact f
		ON f.k = l.k AND f.id < 9000 GROUP BY l.v'),
	('SELECT count(*), count(f.id), count(l.v), sum(f.x) FROM @_fact f FULL JOIN @_large l
		USING (k)'),
	('SELECT l.name, count(*), sum(l.v) FROM @_large l WHERE NOT EXISTS (SELECT FROM @_fact f
		WHERE f.k = l.k AND f.id > 3000) GROUP BY l.name'),
	('SELECT l.name, count(*), sum(l.v) FROM @_large l WHERE EXISTS (SELECT FROM @_fact f
		WHERE f.k = l.k AND f.id > 3000) GROUP BY l.name'),
	('SELECT f.s, count(*), count(l.v), sum(l.v), sum(f.x) FROM @_fact f LEFT JOIN @_large l
		ON f.k = l.k AND f.id % 7 < l.v % 9 GROUP BY f.s'),
	('SELECT f.s, count(*), count(l.v), max(l.name) FROM @_fact f LEFT JOIN @_large l
		ON f.t = l.t AND f.b = l.b GROUP BY f.s'),
	('SELECT f.s, count(*), count(l.v), sum(f.x) FROM @_fact f LEFT JOIN @_large l
		ON f.k + 1 = l.k WHERE l.v IS NULL OR l.v > 50 GROUP BY f.s'),
	('SELECT f.s, count(*), sum(f.id) FROM @_fact f WHERE NOT EXISTS (SELECT FROM @_large l
		WHERE l.k = f.k * 2 AND l.b = f.b) GROUP BY f.s'),
	('SELECT count(*), count(l.v), count(m.v), max(m.name) FROM @_fact f LEFT JOIN @_large l
		USING (k) LEFT JOIN @_large m ON m.b = f.b'),
	('SELECT count(*), count(l.v), count(d.v), count(f.id) FROM @_fact f FULL JOIN @_large l
		USING (k) LEFT JOIN @_dim d ON d.v = l.v AND d.v > f.id % 100')) v(q);
-- values of the table outlive its parts: groups, extremes, DISTINCT, the best groups
SELECT test.twins(query => q, :how), q FROM (VALUES
	('SELECT l.name, count(*), sum(f.x) FROM @_fact f JOIN @_large l USING (k) GROUP BY l.name'),
	('SELECT min(l.name), max(l.name), count(DISTINCT l.name), count(DISTINCT f.s || l.t)
		FROM @_fact f JOIN @_large l USING (k)'),
	('SELECT l.name, f.s, max(l.t), min(l.n) FROM @_fact f JOIN @_large l USING (k)
		GROUP BY 1, 2'),
	('SELECT l.name, sum(f.x) FROM @_fact f JOIN @_large l USING (k) GROUP BY l.name
		ORDER BY 2 DESC, 1 LIMIT 9')) v(q);
-- several joins: the divided table above, below, between others, and several of them
SELECT test.twins(query => q, :how), q FROM (VALUES
	('SELECT d.name, count(*), sum(f.x) FROM @_fact f JOIN @_large l USING (k)
		JOIN @_dim d ON d.v = l.v GROUP BY d.name'),
	('SELECT d.name, count(*), sum(f.x) FROM @_fact f JOIN @_dim d ON d.v = f.id % 100
		JOIN @_large l USING (k) GROUP BY d.name'),
	('SELECT d.name, count(*), sum(f.x), count(e.v) FROM @_fact f JOIN @_dim d ON d.v = f.id % 100
		JOIN @_large l USING (k) LEFT JOIN @_dim e ON e.v = l.v GROUP BY d.name'),
	('SELECT e.name, count(*), count(f.id), sum(f.x) FROM @_fact f JOIN @_large l USING (k)
		RIGHT JOIN @_dim e ON e.v = l.v AND e.v > f.id % 50 GROUP BY e.name'),
	('SELECT count(*), sum(l.v + m.v), max(m.name) FROM @_fact f JOIN @_large l USING (k)
		JOIN @_large m ON m.b = f.b'),
	('SELECT count(*), sum(l.v), max(m.name) FROM @_fact f JOIN (@_large l
		JOIN @_large m ON m.k = l.k) ON f.k = l.k'),
	('SELECT count(*), sum(l.v), max(g.s) FROM @_fact f JOIN (@_fact g JOIN @_large l
		ON l.k = g.id AND l.v < 50) ON f.k = g.id')) v(q);
-- inner sides that are kept, or not read twice
SELECT test.twins(query => format('SELECT f.s, count(*), sum(l.v) FROM @_fact f JOIN (%s) l
	USING (k) GROUP BY f.s', q), :how), q FROM (VALUES
	('SELECT k, sum(v) AS v FROM @_large GROUP BY k HAVING sum(v) >= 0'),
	('SELECT k, v FROM @_large ORDER BY k, v, n LIMIT 5000'),
	('WITH l AS MATERIALIZED (SELECT k, v FROM @_large WHERE v + 0 >= 0) SELECT * FROM l')) v(q);
-- keys that are far apart
SELECT test.twins(query => 'SELECT f.s, count(*), sum(l.v) FROM
	(SELECT s, k::int8 * 70368744177664 AS k FROM @_fact) f
	JOIN (SELECT v, k::int8 * 70368744177664 AS k FROM @_large) l USING (k) GROUP BY f.s', :how);
-- no rows, one key, and keys that fill one part alone
SELECT test.twins(query => q, :how), q FROM (VALUES
	('SELECT count(*), sum(l.v) FROM @_fact f JOIN @_large l USING (k) WHERE f.id < 0'),
	('SELECT count(*), sum(w.v) FROM @_fact f JOIN @_skewed w USING (k)'),
	('SELECT count(*), sum(w.v), count(f.id) FROM @_skewed w LEFT JOIN @_fact f USING (k)'),
	('SELECT count(*), sum(l.v) FROM @_fact f JOIN (SELECT *, k % 2 AS two FROM @_large) l
		ON l.two = f.id')) v(q);
-- read again: by a parameter of the inner side, of the outer one, and of both
SET zedstore.debug_vector = force;
CREATE TABLE results (am text, q int, r text);
CREATE PROCEDURE again(am text) LANGUAGE plpgsql AS $$
DECLARE
	q text;
	nr int := 0;
	r text;
BEGIN
	FOREACH q IN ARRAY ARRAY[
		'SELECT count(*), sum(l.v) FROM @_fact f JOIN (SELECT * FROM @_large WHERE v > g) l
			USING (k)',
		'SELECT count(*), sum(l.v) FROM (SELECT * FROM @_fact WHERE id < g * 100) f
			JOIN @_large l USING (k)',
		'SELECT count(*), sum(l.v) FROM (SELECT * FROM @_fact WHERE id < g * 100) f
			JOIN (SELECT * FROM @_large WHERE v > g) l USING (k)',
		'SELECT count(*), max(l.name) FROM @_fact f JOIN @_dim d ON d.v = f.id % 100
			JOIN @_large l USING (k) WHERE d.v <> g'] LOOP
		nr := nr + 1;
		EXECUTE format('SELECT string_agg(s::text, '' '') FROM (VALUES (20), (60), (60), (98)) v(g),
			LATERAL (%s) s', replace(q, '@', am)) INTO r;
		INSERT INTO results VALUES (am, nr, r);
	END LOOP;
END $$;
CALL again('h');
CALL again('z');
SELECT q, count(DISTINCT r) = 1 AS same, min(r) FROM results GROUP BY q ORDER BY q;
-- forwards and backwards
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT f.s, count(*) FROM z_fact f JOIN z_large l USING (k)
	GROUP BY f.s ORDER BY 1;
FETCH 3 FROM c;
FETCH BACKWARD 2 FROM c;
FETCH ALL FROM c;
ROLLBACK;
-- an error in a later part
SELECT count(*) FROM z_fact f JOIN z_large l USING (k) WHERE f.x / (l.v - 99) > -1e9;
RESET zedstore.debug_vector;
-- rows of the row tree, deleted ones, and values out of line
UPDATE h_large SET name = repeat('wide ' || v, 3000) WHERE n % 500 = 1;
UPDATE z_large SET name = repeat('wide ' || v, 3000) WHERE n % 500 = 1;
DELETE FROM h_fact WHERE id % 9 = 2;
DELETE FROM z_fact WHERE id % 9 = 2;
SELECT test.twins(query => q, :how), q FROM (VALUES
	('SELECT md5(l.name), count(*), sum(f.x) FROM @_fact f JOIN @_large l USING (k)
		GROUP BY l.name'),
	('SELECT f.s, count(*), sum(l.v) FROM @_fact f JOIN @_large l USING (k) GROUP BY f.s')) v(q);
-- processes that share the outer side make whole tables
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT test.twins(query => q, :how), q FROM (VALUES
	('SELECT f.s, count(*), sum(l.v) FROM @_fact f JOIN @_large l USING (k) GROUP BY f.s'),
	('SELECT l.v, count(*), sum(f.x) FROM @_fact f JOIN @_large l USING (k) GROUP BY l.v')) v(q);
RESET ALL;
DROP TABLE h_fact, z_fact, h_large, z_large, h_dim, z_dim, h_skewed, z_skewed, results;
DROP PROCEDURE again;
DROP FUNCTION test.dear;
