-- hash joins by batches whose inner sides are scans of ours or such joins: these give batches, too, unless they have values that only rows give
\getenv abs_srcdir PG_ABS_SRCDIR
\set batches :abs_srcdir '/sql/include/batches.sql'
\i :batches
SET max_parallel_workers_per_gather = 0;
SET zedstore.min_segment_rows = 1024;
SET extra_float_digits = 0;
SET enable_mergejoin = off;
SET enable_nestloop = off;
SET join_collapse_limit = 1;
-- "j" in front: all joins are done by batches
\set how 'mark => ''j'', longest => 120, runs => test.runs(''none off force force:5 verify rows''), switch => ''zedstore.enable_vector_join'', switch_mark => ''-'''
\set ECHO none
CREATE TABLE h_fact (id int, a int, b int2, t text, x numeric(10,2));
INSERT INTO h_fact SELECT g, nullif(g % 90, 8), nullif(g % 50, 9), 't' || nullif(g % 40, 3), g / 4.0 FROM generate_series(1, 4000) g;
CALL test.twin('fact', 'id');
CREATE TABLE h_dim (a int, b int2, t text, c char(6), n numeric, m numeric, f float8, f4 real, d date, ts timestamp, u uuid, y bytea, flag bool, e int8, j jsonb, name name, i interval, ar int[], v varchar(20), o oid);
INSERT INTO h_dim SELECT g, nullif(g % 30, 4), 't' || g, 'c' || g % 9, g / 4.0, round(g / 3.0, g % 4), CASE g WHEN 5 THEN 'NaN' WHEN 6 THEN '-0' ELSE g::text END::float8, g / 2.0, date '2020-01-01' + g % 20,
		timestamp '2020-01-01' + g * interval '1 hour', md5((g % 11)::text)::uuid, convert_to('y' || g % 4, 'utf8'), g % 3 = 0, g::int8 * 10000000000, jsonb_build_object('k', g % 5), 'n' || g % 6, g % 4 * interval '1 day', ARRAY[g % 3, NULL], 'v' || nullif(g % 7, 2), g % 8 + 4000000000
	FROM generate_series(1, 80) g;
INSERT INTO h_dim (a, t) VALUES (NULL, 'no key'), (300, NULL), (NULL, NULL);
CALL test.twin('dim');
CREATE TABLE h_sub (b int, k int, t text, w int);
INSERT INTO h_sub SELECT nullif(g % 25, 7), g % 40, 't' || g % 13, g FROM generate_series(1, 200) g;
CALL test.twin('sub');
-- values out of line, compressed ones, and numbers that are no integers of 18 digits
CREATE TABLE h_large (a int, long text, squeezed text, digits numeric, k text);
INSERT INTO h_large SELECT g, CASE WHEN g % 10 = 0 THEN (SELECT string_agg(md5((g * i)::text), '') FROM generate_series(1, 300) i) ELSE 'short ' || g % 3 END,
		CASE WHEN g % 9 = 0 THEN repeat('squeezed ' || g % 2, 2000) ELSE 'x' END, CASE WHEN g % 7 = 0 THEN 1e40 + g ELSE g END, CASE WHEN g % 10 = 1 THEN repeat('k' || g, 3000) ELSE 't' || g END FROM generate_series(1, 80) g;
CALL test.twin('large');
VACUUM (FREEZE, ANALYZE) h_fact, z_fact, h_dim, z_dim, h_sub, z_sub, h_large, z_large;
CREATE FUNCTION test.inner_lines(query text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT regexp_replace(line, '(rows=\d+)\.\d+', '\1') FROM test.joined(query) line
$$;
\set ECHO all
SET zedstore.debug_vector = force;
EXPLAIN (COSTS OFF) SELECT d.c, count(*), sum(f.x) FROM z_fact f JOIN (z_dim d JOIN z_sub s ON s.b = d.b) ON d.a = f.a GROUP BY d.c;
SELECT test.inner_lines('SELECT d.c, count(*), sum(f.x) FROM z_fact f JOIN (z_dim d JOIN (SELECT * FROM z_sub WHERE w < 5) s ON s.b = d.b) ON d.a = f.a GROUP BY d.c');
SELECT test.inner_lines('SELECT l.k, count(*) FROM z_fact f JOIN (SELECT k, a FROM z_large) l ON l.a = f.a GROUP BY l.k');
RESET zedstore.debug_vector;
-- without groups, too, which pays since no rows are made
EXPLAIN (COSTS OFF) SELECT count(*) FROM z_fact f JOIN z_dim d ON d.a = f.a;
-- columns of all kinds of types, as keys, as groups and in aggregates
-- of numerics that are equal but look different any may be shown
SELECT test.twins(query => format('SELECT d.%s, count(*), sum(f.x) FROM @_fact f LEFT JOIN @_dim d ON d.a = f.a GROUP BY 1', regexp_replace(c, '^m$', 'm + 0.0000')), plan => 'Joins by Batches: 1', :how), c
	FROM unnest('{a,b,t,c,n,m,f,f4,d,ts,u,y,flag,e,name,v,o}'::text[]) c;
SELECT test.twins(query => 'SELECT count(*), sum(d.a), sum(d.b), max(d.t), max(d.c), sum(d.n), sum(d.m), max(d.f), max(d.f4), max(d.d), min(d.ts), bool_or(d.flag), sum(d.e), max(d.v), sum(d.i) FROM @_fact f LEFT JOIN @_dim d ON d.a = f.a', plan => 'Joins by Batches: 1', :how);
SELECT test.twins(query => format('SELECT s.t, count(*), sum(d.n), sum(s.w) FROM @_sub s JOIN @_dim d ON %s GROUP BY 1', c), plan => 'Joins by Batches: 1', :how), c
	FROM (VALUES ('d.a = s.w'), ('d.b = s.b'), ('d.t = s.t'), ('d.v = ''v'' || s.b'), ('d.n = s.w'), ('d.f = s.w'), ('d.e = s.w * 10000000000'), ('d.a + 1 = s.w'), ('d.a = s.w AND d.t = ''t'' || s.w'), ('upper(d.t) = upper(s.t)'),
		('d.m = s.w'), ('d.u = md5((s.w % 11)::text)::uuid'), ('d.d = date ''2020-01-01'' + s.k')) v(c);
-- inner sides that are joins, of all kinds, on both sides of these, over several levels; expressions that they return
SELECT test.twins(query => q, plan => format('Joins by Batches: %s', n), :how), n, q FROM (VALUES
	(2, 'SELECT d.c, count(*), sum(f.x), sum(s.w) FROM @_fact f JOIN (@_dim d JOIN @_sub s ON s.b = d.b) ON d.a = f.a GROUP BY d.c'),
	(2, 'SELECT s.t, count(*), count(d.a), sum(f.x), sum(s.w) FROM @_fact f LEFT JOIN (@_dim d LEFT JOIN @_sub s ON s.b = d.b AND s.w > d.a) ON d.a = f.a GROUP BY s.t'),
	(2, 'SELECT s.t, count(*), count(d.a), count(f.id), sum(s.w) FROM @_fact f FULL JOIN (@_dim d FULL JOIN @_sub s ON s.b = d.b AND s.w > d.a) ON s.k = f.a GROUP BY s.t'),
	(2, 'SELECT f.b, count(*), sum(f.x) FROM @_fact f WHERE EXISTS (SELECT FROM @_dim d JOIN @_sub s ON s.b = d.b WHERE d.a = f.a AND s.w <> f.id) GROUP BY f.b'),
	(2, 'SELECT f.b, count(*), sum(f.x) FROM @_fact f WHERE NOT EXISTS (SELECT FROM @_dim d JOIN @_sub s ON s.b = d.b WHERE d.a = f.a AND s.w > f.id) GROUP BY f.b'),
	(3, 'SELECT d.c, e.c, count(*), sum(f.x), sum(s.w) FROM @_fact f JOIN (@_dim d JOIN (@_dim e JOIN @_sub s ON s.k = e.a) ON e.b = d.b) ON d.a = f.a GROUP BY d.c, e.c'),
	(4, 'SELECT d.c, count(*), sum(f.x), count(s.w), max(g.t) FROM @_fact f JOIN (@_dim d JOIN @_sub s ON s.b = d.b) ON d.a = f.a LEFT JOIN (@_dim g JOIN @_sub r ON r.k = g.a) ON g.t = f.t AND r.w < f.id GROUP BY d.c'),
	(1, 'SELECT q.m, q.s, count(*), sum(f.x) FROM @_fact f JOIN (SELECT a, t || ''!'' AS s, extract(day FROM d) AS m FROM @_dim WHERE flag) q ON q.a = f.a GROUP BY q.m, q.s'),
	(2, 'SELECT q.m, count(*), sum(f.x), sum(q.p) FROM @_fact f JOIN (SELECT d.a, coalesce(s.t, ''none'') AS m, d.n * s.w AS p FROM @_dim d LEFT JOIN @_sub s ON s.k = d.a) q ON q.a = f.a GROUP BY q.m'),
	(2, 'SELECT count(*), sum(f.x) FROM @_fact f JOIN (SELECT d.a FROM @_dim d JOIN @_sub s ON s.b = d.b WHERE s.w < 0) q ON q.a = f.a')) v(n, q);
-- values that only rows give: of columns, of keys, and below further joins
SELECT test.twins(query => q, plan => 'Joins by Batches', :how), q FROM (VALUES
	('SELECT l.long, count(*), sum(f.x) FROM @_fact f JOIN @_large l ON l.a = f.a GROUP BY l.long'), ('SELECT l.squeezed, count(*), sum(f.x) FROM @_fact f JOIN @_large l ON l.a = f.a GROUP BY l.squeezed'),
	('SELECT l.digits, count(*), sum(l.digits) FROM @_fact f JOIN @_large l ON l.a = f.a GROUP BY l.digits'), ('SELECT count(*), sum(f.x), max(l.a) FROM @_fact f JOIN @_large l ON l.k = f.t'),
	('SELECT count(*), sum(f.x), max(l.a) FROM @_fact f JOIN @_large l ON l.digits = f.a'),
	('SELECT d.c, count(*), max(l.long), max(l.squeezed) FROM @_fact f JOIN (@_dim d JOIN @_large l ON l.k = d.t) ON d.a = f.a GROUP BY d.c'),
	('SELECT l.long, count(*) FROM @_fact f JOIN (@_large l JOIN @_sub s ON s.w = l.a) ON l.a = f.a GROUP BY l.long')) v(q);
-- errors are those of rows that are joined
SELECT test.twins(query => q, plan => 'Joins by Batches', :how), q FROM (VALUES
	('SELECT count(*) FROM @_fact f JOIN (SELECT a FROM @_dim WHERE 100 / (a - 90) < 50) d ON d.a = f.a'), ('SELECT count(*) FROM @_fact f JOIN (SELECT a FROM @_dim WHERE 100 / (a - 9) < 50) d ON d.a = f.a'),
	('SELECT q.m, count(*) FROM @_fact f JOIN (SELECT a, 100 / (a - 90) AS m FROM @_dim) q ON q.a = f.a GROUP BY 1'), ('SELECT q.m, count(*) FROM @_fact f JOIN (SELECT a, 100 / (a - 9) AS m FROM @_dim) q ON q.a = f.a GROUP BY 1'),
	('SELECT q.m, count(*) FROM @_fact f JOIN (SELECT a, 100 / (a - 9) AS m FROM @_dim WHERE a <> 9) q ON q.a = f.a GROUP BY 1'),
	('SELECT count(*) FROM @_fact f JOIN (@_dim d JOIN @_sub s ON s.b = d.b AND 100 / (s.w - 200) < 9) ON d.a = f.a')) v(q);
-- rescans: parameters on either side of a join of the inner side, in its condition, and none
SET zedstore.debug_vector = verify;
SELECT g, s.* FROM generate_series(1, 3) g, LATERAL (SELECT count(*), sum(f.x), sum(s.w) FROM z_fact f JOIN (z_dim d JOIN (SELECT * FROM z_sub WHERE w < g * 40) s ON s.b = d.b) ON d.a = f.a) s;
SELECT g, s.* FROM generate_series(1, 3) g, LATERAL (SELECT count(*), sum(f.x), sum(s.w) FROM z_fact f JOIN ((SELECT * FROM z_dim WHERE a < g * 20) d JOIN z_sub s ON s.b = d.b) ON d.a = f.a) s;
SELECT g, s.* FROM generate_series(1, 3) g, LATERAL (SELECT count(*), sum(f.x), sum(s.w) FROM z_fact f JOIN (z_dim d JOIN z_sub s ON s.b = d.b AND s.w > d.a * g) ON d.a = f.a) s;
SELECT g, s.* FROM generate_series(1, 3) g, LATERAL (SELECT count(*), sum(f.x), sum(s.w) FROM (SELECT * FROM z_fact WHERE id < g * 1000) f JOIN (z_dim d JOIN z_sub s ON s.b = d.b) ON d.a = f.a) s;
SELECT g, s.* FROM generate_series(1, 3) g, LATERAL (SELECT count(*), max(length(l.long)) FROM z_fact f JOIN (z_dim d JOIN (SELECT * FROM z_large WHERE a < g * 20) l ON l.a = d.a) ON d.a = f.a) s;
RESET zedstore.debug_vector;
-- tables of inner sides that do not fit into memory
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SET zedstore.debug_vector = force;
SELECT test.inner_lines('SELECT d.c, count(*), max(l.long) FROM z_fact f JOIN (z_dim d JOIN (SELECT a, repeat(k, 300) AS long FROM z_large OFFSET 0) l ON l.a = d.a) ON d.a = f.a GROUP BY d.c');
RESET zedstore.debug_vector;
SELECT test.twins(query => q, plan => 'Joins by Batches', :how), q FROM (VALUES
	('SELECT d.c, count(*), max(l.long) FROM @_fact f JOIN (@_dim d JOIN (SELECT a, repeat(k, 300) AS long FROM @_large OFFSET 0) l ON l.a = d.a) ON d.a = f.a GROUP BY d.c'),
	('SELECT d.c, count(*), sum(g.x) FROM @_fact f JOIN (@_dim d JOIN @_fact g ON g.b = d.b) ON d.a = f.a GROUP BY d.c'),
	('SELECT d.c, count(*), sum(g.x), max(g.t) FROM @_fact f JOIN (@_dim d JOIN @_fact g ON g.a = d.a) ON g.id = f.id GROUP BY d.c')) v(q);
SELECT g, s.* FROM generate_series(1, 3) g, LATERAL (SELECT count(*), max(length(l.long)) FROM z_fact f JOIN (z_dim d JOIN (SELECT a, repeat(k, 300) AS long FROM z_large WHERE a < g * 20 OFFSET 0) l ON l.a = d.a) ON d.a = f.a) s;
RESET work_mem;
RESET hash_mem_multiplier;
-- rows in the row tree, and deleted ones
\set ECHO none
INSERT INTO h_dim SELECT a + 40, b, t, c, n, m, f, f4, d, ts, u, y, flag, e, j, name, i, ar, v, o FROM h_dim WHERE a % 9 = 4;
INSERT INTO z_dim SELECT a + 40, b, t, c, n, m, f, f4, d, ts, u, y, flag, e, j, name, i, ar, v, o FROM z_dim WHERE a % 9 = 4;
UPDATE h_sub SET w = w + 1 WHERE w % 20 = 3;
UPDATE z_sub SET w = w + 1 WHERE w % 20 = 3;
DELETE FROM h_sub WHERE w % 20 = 15;
DELETE FROM z_sub WHERE w % 20 = 15;
ALTER TABLE h_sub ADD late int DEFAULT 7;
ALTER TABLE z_sub ADD late int DEFAULT 7;
\set ECHO all
SELECT test.twins(query => q, plan => 'Joins by Batches: 2', :how), q FROM (VALUES
	('SELECT d.c, count(*), sum(f.x), sum(s.w), sum(s.late) FROM @_fact f JOIN (@_dim d JOIN @_sub s ON s.b = d.b) ON d.a = f.a GROUP BY d.c'),
	('SELECT s.late, d.v, count(*), sum(f.x), sum(d.m) FROM @_fact f LEFT JOIN (@_dim d LEFT JOIN @_sub s ON s.k = d.a) ON d.t = f.t GROUP BY s.late, d.v')) v(q);
-- below Gather each process has its tables
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET enable_parallel_hash = off;
ALTER TABLE z_fact SET (parallel_workers = 2);
SELECT test.twins(query => 'SELECT d.c, count(*), sum(f.x), sum(s.w) FROM @_fact f JOIN (@_dim d JOIN @_sub s ON s.b = d.b) ON d.a = f.a GROUP BY d.c', plan => 'Gather.*Joins by Batches: 2', :how);
DROP TABLE h_fact, z_fact, h_dim, z_dim, h_sub, z_sub, h_large, z_large;
