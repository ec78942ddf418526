-- hash joins below aggregates that return rows of their build side: RIGHT, RIGHT ANTI, RIGHT SEMI and FULL, by batches as core's are, in all modes of zedstore.debug_vector
\getenv abs_srcdir PG_ABS_SRCDIR
\set batches :abs_srcdir '/sql/include/batches.sql'
\i :batches
SET max_parallel_workers_per_gather = 0;
SET zedstore.min_segment_rows = 1024;
SET extra_float_digits = 0;
SET enable_mergejoin = off;
SET enable_nestloop = off;
-- "j" in front: a join of that kind is done by batches
\set how 'mark => ''j'', longest => 120, runs => test.runs(''none off force force:5 verify rows''), switch => ''zedstore.enable_vector_join'', switch_mark => ''-'''
\set ECHO none
-- the probe side: some keys are NULL, some have no partner
CREATE TABLE h_fact (id int, k2 int2, k4 int, k8 int8, n numeric, f float8, t text, x numeric(10,2), s text);
INSERT INTO h_fact SELECT g, nullif(g % 60, 7), nullif(g % 60, 8), nullif(g % 60, 9)::int8 * 10000000000, round(nullif(g % 60, 10)::numeric, g % 3),
		CASE g % 60 WHEN 0 THEN CASE WHEN g % 120 = 0 THEN '-0' ELSE '0' END WHEN 1 THEN 'NaN' ELSE (g % 60)::text END::float8,
		'key ' || nullif(g % 60, 11), g / 4.0, CASE WHEN g % 900 = 0 THEN repeat('long ' || g % 4, 2000) ELSE 's' || g % 5 END
	FROM generate_series(1, 5000) g;
CALL test.twin('fact', 'id');
-- build sides: each key once, of 3 to 80, and rows without some keys or any
CREATE TABLE h_one (k2 int2, k4 int, k8 int8, n numeric, f float8, t text, name text, price numeric, big text, w int);
INSERT INTO h_one SELECT g, g, g::int8 * 10000000000, round(g::numeric, g % 4), CASE g WHEN 4 THEN 'NaN' WHEN 3 THEN '-0' ELSE g::text END::float8, 'key ' || g,
		'name ' || nullif(g % 4, 2), round(g / 3.0, g % 3), CASE WHEN g % 10 = 0 THEN repeat('big ' || g % 3, 3000) ELSE 'small' END, g - 10
	FROM generate_series(3, 80) g;
INSERT INTO h_one (name, price, k4) VALUES ('no key', 1, NULL), (NULL, NULL, NULL), ('k4 only', 7, 12345);
INSERT INTO h_one SELECT NULL, NULL, NULL, NULL, NULL, NULL, 'nothing ' || g % 3, g / 7.0, NULL, g FROM generate_series(1, 40) g;
CALL test.twin('one');
-- keys several times, without a partner, or NULL
CREATE TABLE h_many (k4 int, t text, v int, p numeric(8,2), note text);
INSERT INTO h_many SELECT nullif(g % 17 * 5, 15), 'key ' || nullif(g % 17 * 5, 20), g % 6, g / 8.0, 'note ' || g % 3 FROM generate_series(1, 150) g;
CALL test.twin('many');
CREATE TABLE h_none (k4 int, name text);
CALL test.twin('none');
-- no row of these has all keys
CREATE TABLE h_keyless (k4 int, t text, v int);
INSERT INTO h_keyless SELECT NULL, NULL, g FROM generate_series(1, 30) g;
CALL test.twin('keyless');
-- more rows than a batch has, of which every third has a partner
CREATE TABLE h_long (k4 int, v int, t text);
INSERT INTO h_long SELECT g / 3, g, 't' || g % 7 FROM generate_series(1, 3300) g WHERE g % 5 > 0;
CALL test.twin('long');
VACUUM (FREEZE, ANALYZE) h_fact, z_fact, h_one, z_one, h_many, z_many, h_none, z_none, h_keyless, z_keyless, h_long, z_long;
-- of joins between the tables it is left open which side is hashed: it is always the other one
CREATE FUNCTION test.right_kind(kind text) RETURNS text LANGUAGE sql AS $$ SELECT 'Joins by Batches.*Hash ' || kind || 'Join' $$;
\set ECHO all
SET zedstore.debug_vector = force;
EXPLAIN (COSTS OFF) SELECT o.name, count(f.id), sum(f.x) FROM z_one o LEFT JOIN z_fact f ON f.k4 = o.k4 AND f.s NOT LIKE '%3' GROUP BY o.name;
EXPLAIN (COSTS OFF) SELECT m.note, sum(m.p) FROM z_many m WHERE NOT EXISTS (SELECT FROM z_fact f WHERE f.k4 = m.k4 AND f.k2 > 40) GROUP BY m.note;
SELECT test.joined('SELECT count(*), count(f.id), count(o.name) FROM z_fact f FULL JOIN z_one o USING (k4)');
SELECT test.joined('SELECT o.name, count(f.id) FROM z_one o LEFT JOIN z_fact f USING (k4) GROUP BY o.name');
SELECT test.joined('SELECT count(*) FROM z_many m WHERE NOT EXISTS (SELECT FROM z_fact f WHERE f.k4 = m.k4 AND f.k2 > 40)');
RESET zedstore.debug_vector;
-- kinds of keys
SELECT test.twins(query => format('SELECT o.name, count(*), count(f.id), sum(f.x), max(o.price), min(f.s) FROM @_one o LEFT JOIN @_fact f ON %s GROUP BY o.name', c), plan => test.right_kind('Right '), :how), c FROM (VALUES
	('f.k2 = o.k2'), ('f.k4 = o.k4'), ('f.k8 = o.k8'), ('f.k2 = o.k4'), ('f.k8 = o.k4'), ('f.k4 + 1 = o.k4'), ('f.n = o.n'), ('f.f = o.f'), ('f.t = o.t'), ('f.k4::numeric = o.n'),
	('f.k4 = o.k4 AND f.t = o.t'), ('f.n = o.n AND f.t = o.t'), ('f.k2 = o.k2 AND f.f = o.f')) v(c);
-- RIGHT and FULL joins: conditions of the join, and of WHERE, which rows without a partner have to pass; several partners; aggregates of either side
SELECT test.twins(query => q, plan => test.right_kind(kind), :how), kind, q FROM (VALUES
	('Right ', 'SELECT f.s, count(*), sum(o.price), sum(f.x * o.price), count(DISTINCT o.big) FROM @_one o LEFT JOIN @_fact f USING (k4) GROUP BY f.s'),
	('Right ', 'SELECT o.big, f.k2 IS NULL, max(f.s), count(DISTINCT f.s) FROM @_one o LEFT JOIN @_fact f USING (k4) GROUP BY 1, 2'),
	('Right ', 'SELECT o.name, count(*), count(f.id), sum(f.x) FROM @_one o LEFT JOIN @_fact f ON f.k4 = o.k4 AND o.w < f.k2 GROUP BY o.name'),
	('Left ', 'SELECT o.name, count(*), count(f.id), sum(f.x) FROM @_one o LEFT JOIN @_fact f ON f.k4 = o.k4 AND f.id < 0 GROUP BY o.name'),
	('Right ', 'SELECT o.name, count(*), count(f.id), sum(f.x) FROM @_one o LEFT JOIN @_fact f USING (k4) WHERE f.x IS NULL OR f.x > 900 GROUP BY o.name'),
	('Right ', 'SELECT o.name, count(*), count(f.id), sum(f.x) FROM @_one o LEFT JOIN @_fact f USING (k4) WHERE coalesce(f.k2, o.w) > 20 GROUP BY o.name'),
	('Right ', 'SELECT m.note, count(*), count(f.id), sum(f.x), sum(m.p), sum(m.p * f.x), max(m.t), min(f.s) FROM @_many m LEFT JOIN @_fact f USING (k4) GROUP BY m.note'),
	('Right ', 'SELECT m.v, count(*), count(f.id), sum(f.x), max(f.n) FROM @_many m LEFT JOIN @_fact f ON m.k4 = f.k4 AND m.v > f.k2 % 4 GROUP BY m.v'),
	('Right ', 'SELECT m.v, count(*), count(f.id), sum(f.x), max(f.n) FROM @_many m LEFT JOIN @_fact f ON m.t = f.t AND m.v > f.id % 9 GROUP BY m.v'),
	('Right ', 'SELECT m.v, count(*), count(f.id), sum(f.x) FROM @_many m LEFT JOIN @_fact f ON m.t = f.t AND m.v > f.id % 9 WHERE f.k2 IS NULL OR f.k2 <> m.v GROUP BY m.v'),
	('Right ', 'SELECT l.t, count(*), count(f.id), sum(l.v), max(f.t), min(f.f) FROM @_long l LEFT JOIN @_fact f ON f.k4 = l.k4 AND f.id < 300 GROUP BY l.t'),
	('Right ', 'SELECT f.k4, count(*) FROM @_keyless k LEFT JOIN @_fact f USING (k4) GROUP BY f.k4'), ('Right ', 'SELECT f.t, sum(k.v) FROM @_keyless k LEFT JOIN @_fact f USING (t) GROUP BY f.t'),
	('Right ', 'SELECT n.name, count(*), sum(f.x) FROM @_none n LEFT JOIN @_fact f USING (k4) GROUP BY n.name'),
	('Right ', 'SELECT n, c FROM (SELECT o.k4 AS n, count(f.id) AS c FROM @_one o LEFT JOIN @_fact f ON f.k4 = o.k4 AND f.s NOT LIKE ''%3'' GROUP BY o.k4) q'),
	('Full ', 'SELECT count(*), count(f.id), count(o.k4), count(o.price), sum(f.x), sum(o.price), min(o.big) FROM @_fact f FULL JOIN @_one o USING (k4)'),
	('Full ', 'SELECT o.name, f.s, count(*), count(f.id), sum(f.x) FROM @_fact f FULL JOIN @_one o ON f.t = o.t GROUP BY 1, 2'),
	('Full ', 'SELECT m.v, count(*), count(f.id), count(m.p), sum(f.x), max(f.n) FROM @_fact f FULL JOIN @_many m ON m.k4 = f.k4 GROUP BY m.v'),
	('Full ', 'SELECT m.v, count(*), count(f.id), count(m.p), sum(f.x), max(f.n) FROM @_fact f FULL JOIN @_many m ON m.k4 = f.k4 AND m.v > f.k2 % 4 GROUP BY m.v'),
	('Full ', 'SELECT o.name, count(*), count(f.id) FROM @_fact f FULL JOIN @_one o ON f.k4 = o.k4 AND o.w > 30 WHERE f.id IS NULL OR o.k4 IS NULL GROUP BY o.name'),
	('Full ', 'SELECT k4, count(*) FROM @_fact f FULL JOIN @_keyless k USING (k4) GROUP BY k4'), ('Full ', 'SELECT count(*), count(f.id), sum(k.v) FROM @_fact f FULL JOIN @_keyless k USING (t)'),
	('Full ', 'SELECT count(*), sum(f.x), max(n.name) FROM @_fact f FULL JOIN @_none n USING (k4)'),
	('Full ', 'SELECT count(*), count(f.id), sum(m.p) FROM (SELECT * FROM @_fact WHERE id < 0) f FULL JOIN @_many m USING (k4)')) v(kind, q);
-- RIGHT ANTI and RIGHT SEMI joins, the latter of 18: one partner or several, with conditions and without; each row of the build side once
SELECT test.twins(query => q, plan => test.right_kind(kind), :how), kind, q FROM (VALUES
	('Anti ', 'SELECT count(*), sum(o.price), max(o.name), min(o.big) FROM @_one o WHERE NOT EXISTS (SELECT FROM @_fact f WHERE f.k4 = o.k4)'),
	('Anti ', 'SELECT o.name, count(*), sum(o.w) FROM @_one o WHERE NOT EXISTS (SELECT FROM @_fact f WHERE f.n = o.n AND f.x > o.w * 20) GROUP BY o.name'),
	('Right Anti ', 'SELECT m.note, count(*), sum(m.p) FROM @_many m WHERE NOT EXISTS (SELECT FROM @_fact f WHERE f.k4 = m.k4) GROUP BY m.note'),
	('Right Anti ', 'SELECT m.note, count(*), sum(m.p) FROM @_many m WHERE NOT EXISTS (SELECT FROM @_fact f WHERE f.t = m.t AND f.id % 50 < m.v) GROUP BY m.note'),
	('Anti ', 'SELECT l.t, count(*), sum(l.v) FROM @_long l WHERE NOT EXISTS (SELECT FROM @_fact f WHERE f.k4 = l.k4 AND f.id > l.v) GROUP BY l.t'),
	('Right Anti ', 'SELECT count(*), sum(k.v) FROM @_keyless k WHERE NOT EXISTS (SELECT FROM @_fact f WHERE f.t = k.t)'),
	('Anti ', 'SELECT count(*), sum(o.price), count(f.id), max(f.s) FROM @_one o LEFT JOIN @_fact f USING (k4) WHERE f.k4 IS NULL'),
	('Right Anti ', 'SELECT f.s, count(*), sum(m.p), count(f.id) FROM @_many m LEFT JOIN @_fact f USING (k4) WHERE f.k4 IS NULL GROUP BY f.s'),
	('(Right Semi |Semi |)', 'SELECT count(*), sum(o.price), max(o.name), min(o.big) FROM @_one o WHERE EXISTS (SELECT FROM @_fact f WHERE f.k4 = o.k4)'),
	('(Right Semi |Semi |)', 'SELECT m.note, count(*), sum(m.p) FROM @_many m WHERE EXISTS (SELECT FROM @_fact f WHERE f.k4 = m.k4 AND f.k2 <> m.v) GROUP BY m.note'),
	('(Right Semi |Semi |)', 'SELECT m.note, count(*), sum(m.p) FROM @_many m WHERE EXISTS (SELECT FROM @_fact f WHERE f.t = m.t AND f.x < m.p) GROUP BY m.note'),
	('(Right Semi |Semi |)', 'SELECT l.t, count(*), sum(l.v) FROM @_long l WHERE EXISTS (SELECT FROM @_fact f WHERE f.k4 = l.k4 AND f.id > l.v) GROUP BY l.t'),
	('(Right Semi |Semi |)', 'SELECT count(*), sum(k.v) FROM @_keyless k WHERE EXISTS (SELECT FROM @_fact f WHERE f.t = k.t AND f.k4 <> k.v)')) v(kind, q);
-- chains: what such a join returns is joined again, on either side; NULLs of the probe side as keys, in conditions, and below expressions
SELECT test.twins(query => q, plan => test.right_kind(kind), :how), kind, q FROM (VALUES
	('(Left|Right) ', 'SELECT m.note, o.name, count(*), count(f.id), sum(f.x) FROM @_many m LEFT JOIN @_fact f USING (k4) LEFT JOIN @_one o ON o.k2 = f.k2 GROUP BY m.note, o.name'),
	('Right ', 'SELECT l.t, count(*), count(f.id), count(m.p), sum(f.x) FROM @_long l LEFT JOIN (@_many m LEFT JOIN @_fact f USING (k4)) ON l.k4 = f.k2 GROUP BY l.t'),
	('Right ', 'SELECT l.t, count(*), count(f.id), count(m.p), sum(f.x) FROM @_long l LEFT JOIN (@_many m LEFT JOIN @_fact f USING (k4)) ON l.k4 = m.v AND l.v > f.k2 GROUP BY l.t'),
	('Full ', 'SELECT o.name, count(*), count(f.id), count(m.p), sum(f.x) FROM @_many m FULL JOIN @_fact f USING (k4) FULL JOIN @_one o ON o.k2 = f.k2 GROUP BY o.name'),
	('Full ', 'SELECT count(*), count(a.id), count(o.name), count(m.p) FROM (@_one o LEFT JOIN @_fact a USING (k4)) FULL JOIN @_many m ON m.v = a.k2 WHERE a.x IS NULL OR m.p IS NULL'),
	('(Right |)Anti ', 'SELECT count(*), sum(l.v) FROM @_long l WHERE NOT EXISTS (SELECT FROM @_many m LEFT JOIN @_fact f USING (k4) WHERE l.k4 = m.v)'),
	('', 'SELECT o.name, count(*), sum(o.w) FROM @_fact f JOIN @_one o USING (k4) WHERE NOT EXISTS (SELECT FROM @_many m WHERE m.k4 = f.k4) GROUP BY o.name'),
	('(Right|Left) ', 'SELECT q.c, count(*), count(q.k4), sum(q.c) FROM @_long l LEFT JOIN (SELECT f.k4, o.w + 1 AS c FROM @_fact f LEFT JOIN @_one o USING (k2)) q USING (k4) GROUP BY q.c')) v(kind, q);
-- expressions that would not be NULL beside rows without a partner are core's
SELECT test.twins(query => q, plan => 'Joins by Batches', :how), q FROM (VALUES
	('SELECT q.c, count(*), count(q.k4), sum(q.c) FROM @_long l LEFT JOIN (SELECT f.k4, coalesce(o.w, 7) AS c FROM @_fact f LEFT JOIN @_one o USING (k2)) q USING (k4) GROUP BY q.c'),
	('SELECT count(*), count(q.k4), count(q.c), sum(q.c) FROM @_many l LEFT JOIN (SELECT f.k4, 42 AS c FROM @_fact f) q USING (k4)'),
	('SELECT q.c, count(*), count(q.k4) FROM @_many l LEFT JOIN (SELECT f.k4, f.k2 IS NULL AS c FROM @_fact f) q USING (k4) GROUP BY q.c'),
	('SELECT q.c, count(*), count(q.k4) FROM (SELECT k4, CASE WHEN k2 > 5 THEN k2 ELSE 1 END AS c FROM @_fact) q FULL JOIN @_many l USING (k4) GROUP BY q.c')) v(q);
-- conditions that raise errors; those of RIGHT SEMI joins are core's, which does not ask them of rows that it has returned
SELECT test.twins(query => q, plan => 'Joins by Batches', :how), q FROM (VALUES
	('SELECT count(*), sum(f.x) FROM @_one o LEFT JOIN @_fact f ON o.k4 = f.k4 AND 100 / (f.k4 - 2) > o.w'), ('SELECT count(*), sum(f.x) FROM @_one o LEFT JOIN @_fact f ON o.k4 = f.k4 AND 100 / (f.k4 - 20) > o.w'),
	('SELECT count(*), sum(100 / (coalesce(f.k4, 2) - 2)) FROM @_one o LEFT JOIN @_fact f ON o.k4 = f.k4'), ('SELECT count(*), sum(100 / (coalesce(f.k4, 1) - 2)) FROM @_one o LEFT JOIN @_fact f ON o.k4 = f.k4'),
	('SELECT count(*), sum(100 / (f.k4 - 2)) FROM @_fact f FULL JOIN @_none o USING (k4)'), ('SELECT count(*) FROM @_one o WHERE NOT EXISTS (SELECT FROM @_fact f WHERE f.k4 = o.k4 AND 100 / (f.k4 - 20) > o.w)')) v(q);
SELECT test.twins(query => 'SELECT count(*) FROM @_many m WHERE EXISTS (SELECT FROM @_fact f WHERE f.k4 = m.k4 AND 100 / (f.k4 - 81) < m.v)', plan => test.right_kind('Right Semi '), :how);
-- rows in the row tree, and deleted ones, on both sides
\set ECHO none
INSERT INTO h_fact SELECT id + 5000, k2, k4, k8, n, f, t, x, s FROM h_fact WHERE id % 50 < 3;
INSERT INTO z_fact SELECT id + 5000, k2, k4, k8, n, f, t, x, s FROM z_fact WHERE id % 50 < 3;
UPDATE h_fact SET x = 'NaN' WHERE id = 77;
UPDATE z_fact SET x = 'NaN' WHERE id = 77;
UPDATE h_one SET price = 1e60 WHERE k4 = 70;
UPDATE z_one SET price = 1e60 WHERE k4 = 70;
DELETE FROM h_one WHERE k4 = 12 OR w = 3;
DELETE FROM z_one WHERE k4 = 12 OR w = 3;
\set ECHO all
SELECT test.twins(query => q, plan => test.right_kind(kind), :how), kind, q FROM (VALUES
	('Right ', 'SELECT o.name, count(*), count(f.id), sum(f.x), max(o.price), sum(o.price), min(f.id) FROM @_one o LEFT JOIN @_fact f USING (k4) GROUP BY o.name'),
	('Full ', 'SELECT f.s, count(*), sum(f.x), max(o.price), sum(o.price), min(f.id) FROM @_one o FULL JOIN @_fact f USING (t) GROUP BY f.s')) v(kind, q);
-- rescans: what was marked before counts no more
SET zedstore.debug_vector = verify;
SELECT g, s.* FROM generate_series(1, 3) g, LATERAL (SELECT count(*), count(f.id), sum(o.w) FROM z_one o LEFT JOIN z_fact f ON f.k4 = o.k4 AND f.k2 < g * 10) s;
SELECT g, s.* FROM generate_series(1, 3) g, LATERAL (SELECT count(*), count(f.id), sum(o.w) FROM (SELECT * FROM z_one WHERE w < g * 10) o LEFT JOIN z_fact f USING (k4)) s;
SELECT g, s.* FROM generate_series(1, 3) g, LATERAL (SELECT count(*), sum(m.v) FROM z_many m WHERE NOT EXISTS (SELECT FROM z_fact f WHERE f.k4 = m.k4 AND f.k2 > g * 20)) s;
SELECT g, s.* FROM generate_series(1, 3) g, LATERAL (SELECT count(*), sum(m.v) FROM z_many m WHERE EXISTS (SELECT FROM z_fact f WHERE f.k4 = m.k4 AND f.k2 > g * 20)) s;
SELECT g, s.* FROM generate_series(1, 3) g, LATERAL (SELECT count(*), count(f.id), count(m.p) FROM z_many m FULL JOIN z_fact f USING (k4) WHERE coalesce(f.k2, g) = g) s;
SELECT g, s.* FROM generate_series(1, 2) g, LATERAL (SELECT count(*), count(f.id), count(o.k4), count(m.p) FROM z_many m FULL JOIN z_fact f USING (k4) FULL JOIN z_one o ON o.k2 = f.k2 AND o.w > g * 9) s;
RESET zedstore.debug_vector;
-- a table that does not fit into memory comes in parts, or core's join runs instead
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SET zedstore.debug_vector = force;
SELECT test.joined('SELECT f.s, max(o.long), count(*) FROM (SELECT k4, repeat(name, 300) AS long FROM z_one OFFSET 0) o LEFT JOIN z_fact f USING (k4) GROUP BY f.s');
RESET zedstore.debug_vector;
SELECT test.twins(query => q, plan => test.right_kind(kind), :how), kind, q FROM (VALUES
	('Right ', 'SELECT f.s, max(o.long), count(*), sum(o.w) FROM (SELECT *, repeat(name, 300) AS long FROM @_one OFFSET 0) o LEFT JOIN @_fact f USING (k4) GROUP BY f.s'),
	('Full ', 'SELECT f.s, max(o.long), count(*), sum(o.w) FROM (SELECT *, repeat(name, 300) AS long FROM @_one OFFSET 0) o FULL JOIN @_fact f USING (k4) GROUP BY f.s'),
	('Right Anti ', 'SELECT count(*), max(o.long), sum(o.w) FROM (SELECT *, repeat(name, 300) AS long FROM @_one OFFSET 0) o WHERE NOT EXISTS (SELECT FROM @_fact f WHERE f.k4 = o.k4 AND f.k2 > 30)')) v(kind, q);
RESET work_mem;
RESET hash_mem_multiplier;
-- below Gather core has RIGHT and FULL joins only with a table of all processes, which is its own
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
ALTER TABLE z_fact SET (parallel_workers = 2);
ALTER TABLE z_many SET (parallel_workers = 2);
SELECT test.twins(query => q, plan => 'ZedstoreAgg', mark => 'p', longest => 120), q FROM (VALUES
	('SELECT m.note, count(*), count(f.id), sum(m.p) FROM @_many m LEFT JOIN @_fact f USING (k4) GROUP BY m.note'),
	('SELECT m.note, count(*), count(f.id), sum(m.p) FROM @_many m FULL JOIN @_fact f USING (k4) GROUP BY m.note'),
	('SELECT m.note, count(*), sum(m.p) FROM @_many m WHERE NOT EXISTS (SELECT FROM @_fact f WHERE f.k4 = m.k4) GROUP BY m.note'),
	('SELECT m.note, count(*), sum(m.p) FROM @_many m WHERE EXISTS (SELECT FROM @_fact f WHERE f.k4 = m.k4 AND f.k2 <> m.v) GROUP BY m.note')) v(q);
SET enable_parallel_hash = off;
SELECT test.twins(query => q, plan => 'ZedstoreAgg', mark => 'p', longest => 120), q FROM (VALUES
	('SELECT m.note, count(*), count(f.id), sum(m.p) FROM @_many m LEFT JOIN @_fact f USING (k4) GROUP BY m.note'),
	('SELECT m.note, count(*), sum(m.p) FROM @_many m WHERE NOT EXISTS (SELECT FROM @_fact f WHERE f.k4 = m.k4) GROUP BY m.note')) v(q);
DROP TABLE h_fact, z_fact, h_one, z_one, h_many, z_many, h_none, z_none, h_keyless, z_keyless, h_long, z_long;
