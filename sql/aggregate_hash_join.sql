-- hash joins done by batches below aggregates: the same results as those of core's joins, in all modes of zedstore.debug_vector, with the switch on and off
\getenv abs_srcdir PG_ABS_SRCDIR
\set batches :abs_srcdir '/sql/include/batches.sql'
\i :batches
SET max_parallel_workers_per_gather = 0;
SET zedstore.min_segment_rows = 1024;
SET extra_float_digits = 0;
SET enable_mergejoin = off;
SET enable_nestloop = off;
-- "j" in front: joins are done by batches.  "J": and the switch is off in the runs before.
\set how 'plan => ''Joins by Batches'', mark => ''j'', longest => 120'
\set how :how ', runs => test.runs(''none off force force:5 verify rows''), switch => ''zedstore.enable_vector_join'', switch_mark => ''-'''
\set ECHO none
-- a fact table with keys of all kinds: some are NULL, some have no partner, and values of one number may look different
CREATE TABLE h_fact (id int, k2 int2, k4 int, k8 int8, n numeric, f float8, d date, ts timestamp, t text, c char(6), u uuid, b bytea, flag bool, x numeric(10,2), s text);
INSERT INTO h_fact SELECT g, nullif(g % 60, 7), nullif(g % 60, 8), nullif(g % 60, 9)::int8 * 10000000000, round(nullif(g % 60, 10)::numeric, g % 3),
		CASE g % 60 WHEN 0 THEN CASE WHEN g % 120 = 0 THEN '-0' ELSE '0' END WHEN 1 THEN 'NaN' ELSE (g % 60)::text END::float8,
		date '2020-01-01' + g % 60, timestamp '2020-01-01' + g % 60 * interval '1 day', 'key ' || nullif(g % 60, 11), 'k' || g % 60,
		md5((g % 60)::text)::uuid, convert_to('b' || g % 60, 'utf8'), g % 3 = 0, g / 4.0, CASE WHEN g % 900 = 0 THEN repeat('long ' || g % 4, 2000) ELSE 's' || g % 5 END
	FROM generate_series(1, 5000) g;
CALL test.twin('fact', 'id');
-- each key once, of 3 to 52
CREATE TABLE h_one (k2 int2, k4 int, k8 int8, n numeric, f float8, d date, ts timestamp, t text, c char(6), u uuid, b bytea, name text, price numeric, grp char(4), big text, w int);
INSERT INTO h_one SELECT g, g, g::int8 * 10000000000, round(g::numeric, g % 4), CASE g WHEN 4 THEN 'NaN' WHEN 3 THEN '-0' ELSE g::text END::float8,
		date '2020-01-01' + g, timestamp '2020-01-01' + g * interval '1 day', 'key ' || g, 'k' || g, md5(g::text)::uuid, convert_to('b' || g, 'utf8'),
		'name ' || nullif(g % 4, 2), round(g / 3.0, g % 3), 'g' || g % 3, CASE WHEN g % 10 = 0 THEN repeat('big ' || g % 3, 3000) ELSE 'small' END, g - 10
	FROM generate_series(3, 52) g;
INSERT INTO h_one (name, price) VALUES ('no key', 1), (NULL, NULL);
CALL test.twin('one');
-- keys several times, or never
CREATE TABLE h_many (k4 int, t text, v int, p numeric(8,2), note text);
INSERT INTO h_many SELECT nullif(g % 17 * 5, 15), 'key ' || g % 17 * 5, g % 6, g / 8.0, 'note ' || g % 3 FROM generate_series(1, 150) g;
CALL test.twin('many');
CREATE TABLE h_none (k4 int, name text);
CALL test.twin('none');
CREATE TABLE h_rare (k4 int, rare int8);
INSERT INTO h_rare SELECT g, g::int8 * 1000000007 FROM generate_series(20, 40) g;
CALL test.twin('rare');
VACUUM (FREEZE, ANALYZE) h_fact, z_fact, h_one, z_one, h_many, z_many, h_rare, z_rare, h_none, z_none;
\set ECHO all

SET zedstore.debug_vector = force;
EXPLAIN (COSTS OFF) SELECT o.name, sum(f.x), max(o.price) FROM z_fact f JOIN z_one o USING (k4) GROUP BY o.name;
EXPLAIN (COSTS OFF) SELECT extract(month FROM f.d), o.grp, sum(f.x * o.price), count(r.rare)
	FROM z_fact f JOIN z_one o USING (k4) LEFT JOIN z_rare r ON r.k4 = o.k2 AND r.rare > f.id WHERE f.flag GROUP BY 1, 2;
EXPLAIN (COSTS OFF) SELECT count(*), sum(x) FROM z_fact f WHERE EXISTS (SELECT FROM z_many m WHERE m.k4 = f.k4 AND m.v <> f.k2) AND NOT EXISTS (SELECT FROM z_rare r WHERE r.k4 = f.k4);
SELECT test.joined('SELECT o.name, sum(f.x), max(o.price) FROM z_fact f JOIN z_one o USING (k4) JOIN z_rare r ON r.k4 * 10000000000 = f.k8 GROUP BY o.name');
SET zedstore.enable_vector_join = off;
EXPLAIN (COSTS OFF) SELECT o.name, sum(f.x), max(o.price) FROM z_fact f JOIN z_one o USING (k4) GROUP BY o.name;
RESET zedstore.enable_vector_join;
RESET zedstore.debug_vector;
-- kinds of keys
SELECT test.twins(query => format('SELECT o.name, count(*), sum(f.x), max(o.price), min(f.id) FROM @_fact f JOIN @_one o ON %s GROUP BY o.name', c), :how), c FROM (VALUES
	('f.k2 = o.k2'), ('f.k4 = o.k4'), ('f.k8 = o.k8'), ('f.k2 = o.k4'), ('f.k4 = o.k2'), ('f.k8 = o.k4'), ('f.k4 = o.k8 / 10000000000'), ('f.k4 + 1 = o.k4'),
	('f.n = o.n'), ('f.f = o.f'), ('f.d = o.d'), ('f.ts = o.ts'), ('f.d = o.ts'), ('f.t = o.t'), ('f.c = o.c'), ('f.c::text = o.c::text'), ('f.u = o.u'), ('f.b = o.b'),
	('upper(f.t) = upper(o.t)'), ('f.k4::numeric = o.n'), ('f.k4 = o.k4 AND f.t = o.t'), ('f.n = o.n AND f.d = o.d AND f.u = o.u'), ('f.k2 = o.k2 AND f.f = o.f'),
	('f.flag = (o.k4 > 5) AND f.k4 = o.k4')) v(c);
-- kinds of joins; grouping by either side; expressions; HAVING
SELECT test.twins(query => q, :how), q FROM (VALUES
	('SELECT f.s, o.grp, count(*), sum(o.price), sum(f.x * o.price) FROM @_fact f JOIN @_one o USING (k4) GROUP BY f.s, o.grp'),
	('SELECT o.grp, count(*), count(o.k4), sum(f.x), min(o.big), max(o.big), count(DISTINCT o.big) FROM @_fact f LEFT JOIN @_one o USING (k4) GROUP BY o.grp'),
	('SELECT o.big, max(f.s), count(DISTINCT f.s) FROM @_fact f JOIN @_one o USING (k4) GROUP BY o.big'),
	('SELECT count(*), sum(o.w), max(f.id), avg(o.price), avg(o.f), stddev(f.x) FROM @_fact f LEFT JOIN @_one o ON o.k4 = f.k4 AND o.w < f.k2'),
	('SELECT f.k2, sum(x) FROM @_fact f WHERE EXISTS (SELECT FROM @_many m WHERE m.k4 = f.k4) GROUP BY f.k2'),
	('SELECT f.k2, sum(x) FROM @_fact f WHERE NOT EXISTS (SELECT FROM @_many m WHERE m.k4 = f.k4) GROUP BY f.k2'),
	('SELECT f.k2, sum(x) FROM @_fact f WHERE EXISTS (SELECT FROM @_many m WHERE m.k4 = f.k4 AND m.v * 10 > f.k2) GROUP BY f.k2'),
	('SELECT f.k2, sum(x) FROM @_fact f WHERE NOT EXISTS (SELECT FROM @_many m WHERE m.t = f.t AND m.v * 10 > f.k2) GROUP BY f.k2'),
	('SELECT f.s, sum(x) FROM @_fact f WHERE f.k4 IN (SELECT k4 FROM @_rare) GROUP BY f.s HAVING sum(x) > 20000'),
	('SELECT m.note, count(*), sum(f.x), sum(m.p), sum(m.p * f.x), max(m.t), min(f.s) FROM @_fact f JOIN @_many m USING (k4) GROUP BY m.note'),
	('SELECT m.v, f.flag, count(*), sum(f.x), max(f.n), min(f.c) FROM @_fact f LEFT JOIN @_many m ON m.k4 = f.k4 AND m.v > f.k2 % 4 GROUP BY m.v, f.flag'),
	('SELECT m.note, o.grp, count(*), sum(f.x), count(r.rare) FROM @_fact f JOIN @_many m USING (k4) JOIN @_one o ON o.k2 = f.k2 LEFT JOIN @_rare r ON r.k4 = m.v * 10 GROUP BY m.note, o.grp'),
	('SELECT a.v, b.v, count(*), sum(f.x) FROM @_fact f JOIN @_many a USING (k4) JOIN @_many b ON b.t = a.t AND b.v > a.v GROUP BY a.v, b.v'),
	('SELECT CASE o.name WHEN ''name 1'' THEN ''one'' ELSE ''other'' END, sum(CASE WHEN o.name LIKE ''%3'' THEN f.x ELSE 0 END), count(*) FILTER (WHERE o.price > 5) FROM @_fact f JOIN @_one o USING (k4) GROUP BY 1'),
	('SELECT extract(month FROM o.d), substr(o.t, 1, 5), sum(f.k4 * o.w) FROM @_fact f JOIN @_one o USING (k4) GROUP BY 1, 2'),
	('SELECT o.name, sum(f.x) FROM @_fact f JOIN @_one o ON o.k4 = f.k4 AND (o.w > 5 OR f.flag) WHERE f.id % 3 <> 0 GROUP BY o.name'),
	('SELECT o.name, count(*), sum(f.x) FROM @_fact f LEFT JOIN @_one o USING (k4) WHERE o.price IS NULL OR o.price > f.k2 GROUP BY o.name'),
	('SELECT n.name, count(*), sum(x) FROM @_fact f JOIN @_none n USING (k4) GROUP BY n.name'), ('SELECT count(*), sum(x), max(n.name) FROM @_fact f LEFT JOIN @_none n USING (k4)'),
	('SELECT count(*), sum(x) FROM @_fact f WHERE EXISTS (SELECT FROM @_none n WHERE n.k4 = f.k4)'), ('SELECT count(*), sum(x) FROM @_fact f WHERE NOT EXISTS (SELECT FROM @_none n WHERE n.k4 = f.k4)'),
	('SELECT o.name, count(*), sum(f.x) FROM @_fact f JOIN @_one o USING (k4) WHERE f.id < 0 GROUP BY o.name'), ('SELECT sum(n.k4), sum(o.price) FROM @_none n JOIN @_one o USING (k4)'),
	('SELECT o.gone, o.zero, count(*), max(o.gone), sum(o.zero) FROM @_fact f JOIN (SELECT k4, NULL::text AS gone, NULL::numeric AS zero FROM @_one OFFSET 0) o USING (k4) GROUP BY o.gone, o.zero'),
	('SELECT o.long, count(*), max(o.mixed) FROM @_fact f JOIN (SELECT k4, repeat(name, k4) AS long, price + 1e9 * k4 AS mixed FROM @_one WHERE k4 % 5 = 0 OFFSET 0) o USING (k4) GROUP BY o.long'),
	('SELECT DISTINCT o.name, f.s FROM @_fact f JOIN @_one o USING (k4)'),
	('SELECT o.name, sum(f.x), random() < 2 FROM @_fact f JOIN @_one o USING (k4) GROUP BY o.name'),
	('SELECT o.name, sum(f.x) FROM @_fact f JOIN @_one o USING (k4) GROUP BY o.name ORDER BY sum(f.x) DESC LIMIT 2')) v(q);
-- conditions that raise errors do so for pairs, and for no other rows
SELECT test.twins(query => q, :how), q FROM (VALUES
	('SELECT count(*), sum(f.x) FROM @_fact f JOIN @_one o ON o.k4 = f.k4 AND 100 / (f.k4 - 2) > o.w'), ('SELECT count(*), sum(f.x) FROM @_fact f JOIN @_one o ON o.k4 = f.k4 AND 100 / (f.k4 - 20) > o.w'),
	('SELECT count(*), sum(f.x) FROM @_fact f LEFT JOIN @_one o ON o.k4 = f.k4 AND 100 / (f.k4 - 2) > o.w'), ('SELECT count(*), sum(100 / (o.k4 - 2)) FROM @_fact f LEFT JOIN @_one o ON o.k4 = f.k4'),
	('SELECT count(*), sum(100 / (o.k4 - 3)) FROM @_fact f LEFT JOIN @_one o ON o.k4 = f.k4'), ('SELECT count(*), sum(x) FROM @_fact f WHERE EXISTS (SELECT FROM @_many m WHERE m.k4 = f.k4 AND 10 / m.v > 2)'),
	('SELECT count(*), sum(f.x) FROM @_fact f JOIN @_one o ON o.k4 = f.k4 WHERE 100 / (f.id - 5000) > 0'), ('SELECT 100 / (o.w - 20), count(*) FROM @_fact f JOIN @_one o ON o.k4 = f.k4 GROUP BY 1'),
	('SELECT sum(f.k2 * (o.k2 * 1000)::int2) FROM @_fact f JOIN @_one o ON o.k4 = f.k4')) v(q);
-- rows in the row tree, and deleted ones, on both sides
\set ECHO none
INSERT INTO h_fact SELECT id + 5000, k2, k4, k8, n, f, d, ts, t, c, u, b, flag, x, s FROM h_fact WHERE id % 50 < 3;
INSERT INTO z_fact SELECT id + 5000, k2, k4, k8, n, f, d, ts, t, c, u, b, flag, x, s FROM z_fact WHERE id % 50 < 3;
UPDATE h_fact SET x = 'NaN' WHERE id = 77;
UPDATE z_fact SET x = 'NaN' WHERE id = 77;
UPDATE h_one SET price = 1e60 WHERE k4 = 30;
UPDATE z_one SET price = 1e60 WHERE k4 = 30;
DELETE FROM h_fact WHERE id % 11 = 5;
DELETE FROM z_fact WHERE id % 11 = 5;
DELETE FROM h_one WHERE k4 = 12;
DELETE FROM z_one WHERE k4 = 12;
\set ECHO all
SELECT test.twins(query => q, :how), q FROM (VALUES
	('SELECT o.name, count(*), sum(f.x), max(o.price), sum(o.price), min(f.id) FROM @_fact f JOIN @_one o USING (k4) GROUP BY o.name'),
	('SELECT o.grp, count(*), sum(f.x), sum(m.p) FROM @_fact f LEFT JOIN @_one o USING (t) LEFT JOIN @_many m ON m.k4 = f.k4 AND m.v = o.w % 6 GROUP BY o.grp'),
	('SELECT f.s, count(*), sum(f.x * o.price) FROM @_fact f JOIN @_one o ON o.n = f.n AND o.price < 1000 GROUP BY f.s')) v(q);
-- rescans: with parameters on either side, in conditions, and with none; tables stay where nothing of them changes
SET zedstore.debug_vector = verify;
SELECT g, (SELECT sum(f.x) FROM z_fact f JOIN z_one o USING (k4) WHERE f.id < g * 100 AND f.x <> 'NaN') FROM generate_series(1, 3) g;
SELECT g, (SELECT sum(f.id) FROM z_fact f JOIN z_one o USING (k4) WHERE o.w < g) FROM generate_series(1, 3) g;
SELECT g, (SELECT sum(f.id) FROM z_fact f JOIN z_one o ON o.k4 = f.k4 AND o.w * g < f.k2) FROM generate_series(1, 3) g;
SELECT g, s.* FROM generate_series(1, 2) g, LATERAL (SELECT o.name, sum(f.id + g) FROM z_fact f JOIN z_one o USING (k4) JOIN z_many m ON m.k4 = f.k4 AND m.v > g GROUP BY o.name OFFSET 0) s ORDER BY 1, 2;
SELECT g, s.* FROM generate_series(1, 2) g, LATERAL (SELECT count(*), sum(f.id) FROM z_fact f JOIN z_one o USING (k4) OFFSET 0) s;
SELECT sum(f.id * (SELECT max(k4) FROM z_rare)) FROM z_fact f JOIN z_one o USING (k4) WHERE f.k2 < (SELECT min(k4) FROM z_rare);
SELECT test.joined('SELECT g, s.* FROM generate_series(1, 2) g, LATERAL (SELECT count(*), sum(f.id) FROM z_fact f JOIN z_one o USING (k4) WHERE f.k2 > g OFFSET 0) s');
PREPARE hash_join(int) AS SELECT o.name, sum(f.id) FROM z_fact f JOIN z_one o USING (k4) WHERE o.w < $1 GROUP BY o.name ORDER BY 1;
SET plan_cache_mode = force_generic_plan;
EXECUTE hash_join(10);
SET zedstore.enable_vector_join = off;
EXECUTE hash_join(10);
RESET zedstore.enable_vector_join;
RESET plan_cache_mode;
DEALLOCATE hash_join;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT o.name, sum(f.id), count(*) FROM z_fact f JOIN z_one o USING (k4) GROUP BY o.name ORDER BY o.name;
FETCH 2 FROM c;
DELETE FROM z_one;
FETCH BACKWARD 1 FROM c;
FETCH ALL FROM c;
ROLLBACK;
RESET zedstore.debug_vector;
-- what must not be read twice is core's
SET zedstore.debug_vector = force;
EXPLAIN (COSTS OFF) SELECT o.name, sum(f.x) FROM z_fact f JOIN (SELECT * FROM z_one WHERE random() < 2 OFFSET 0) o USING (k4) GROUP BY o.name;
RESET zedstore.debug_vector;
-- a table that does not fit into memory comes in parts, or core's join runs instead
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SET zedstore.debug_vector = force;
SELECT test.joined('SELECT o.grp, max(o.big), count(*) FROM z_fact f JOIN z_one o USING (k4) GROUP BY o.grp');
RESET zedstore.debug_vector;
SELECT test.twins(query => q, :how), q FROM (VALUES ('SELECT o.big, count(*) FROM @_fact f JOIN @_rare r USING (k4) JOIN @_one o ON o.k4 = f.k4 GROUP BY o.big'),
	('SELECT count(*), sum(a.x + b.x), max(b.s) FROM @_fact a JOIN @_fact b ON b.id = a.id + 1'), ('SELECT a.k2, count(*), max(b.s) FROM @_fact a LEFT JOIN @_fact b ON b.id = a.id + 1 GROUP BY a.k2')) v(q);
SELECT g, (SELECT count(b.s) FROM z_fact a JOIN z_fact b ON b.id = a.id + 1 WHERE b.id > g) FROM generate_series(1, 3) g;
RESET work_mem;
RESET hash_mem_multiplier;
-- arguments and keys that have no program are computed row by row, in the order of rows; not where
-- FILTER stands before them, nor above a join that core does
SELECT test.twins(query => q, :how), q FROM (VALUES
	('SELECT o.name, sum(f.x / 3), avg(f.x / 7), count(*) FROM @_fact f JOIN @_one o USING (k4) GROUP BY o.name'),
	('SELECT sum(f.x / 3), max(reverse(o.name)), min(f.n ^ 2) FROM @_fact f JOIN @_one o USING (k4)'),
	('SELECT reverse(o.name), count(*), sum(f.x) FROM @_fact f LEFT JOIN @_one o USING (k4) GROUP BY 1'),
	('SELECT md5(o.big), sum(f.x / 3), max(lpad(f.s, 20)) FROM @_fact f JOIN @_one o USING (k4) GROUP BY 1'),
	('SELECT o.name, sum(m.p / 3) FROM @_fact f JOIN @_many m USING (k4) JOIN @_one o USING (k4) GROUP BY o.name HAVING sum(m.p / 3) > 10'),
	('SELECT o.name, sum(1 / (f.id - 3000)), sum(f.x / (f.id - 17)) FROM @_fact f JOIN @_one o USING (k4) GROUP BY o.name'),
	('SELECT o.name, sum(f.x / (f.id - 4711)) FROM @_fact f JOIN @_one o USING (k4) WHERE f.id > 4000 GROUP BY o.name'),
	('SELECT o.name, sum(f.x / 3) FILTER (WHERE f.id > 17), sum(f.x) FROM @_fact f JOIN @_one o USING (k4) GROUP BY o.name'),
	('SELECT f.s, count(DISTINCT f.x / 3), sum(DISTINCT o.w / 3.0) FROM @_fact f JOIN @_one o USING (k4) GROUP BY f.s'),
	('SELECT i.name, sum(i.y) FROM (SELECT o.name, o.price / 3 AS y, o.k4 FROM @_one o) i JOIN @_fact f USING (k4) GROUP BY i.name')) v(q);
-- below Gather each process has its tables
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET enable_parallel_hash = off;
ALTER TABLE z_fact SET (parallel_workers = 2);
SET zedstore.debug_vector = force;
EXPLAIN (COSTS OFF) SELECT o.name, sum(f.x), max(o.price) FROM z_fact f JOIN z_one o USING (k4) GROUP BY o.name;
RESET zedstore.debug_vector;
SELECT test.twins(query => q, :how), q FROM (VALUES ('SELECT o.name, sum(f.x), max(o.price), avg(f.id) FROM @_fact f JOIN @_one o USING (k4) GROUP BY o.name'),
	('SELECT m.note, count(*), sum(m.p) FROM @_fact f JOIN @_many m USING (k4) JOIN @_one o ON o.t = f.t GROUP BY m.note')) v(q);
SET enable_parallel_hash = on;
SELECT test.twins(query => 'SELECT o.name, sum(f.x), max(o.price), avg(f.id) FROM @_fact f JOIN @_one o USING (k4) GROUP BY o.name', :how);
DROP TABLE h_fact, z_fact, h_one, z_one, h_many, z_many, h_none, z_none, h_rare, z_rare;
