-- aggregates by batches over rows of any plan: the same results as those of core's plans, in all modes of zedstore.debug_vector
\getenv abs_srcdir PG_ABS_SRCDIR
\set batches :abs_srcdir '/sql/include/batches.sql'
\i :batches
SET max_parallel_workers_per_gather = 0;
SET zedstore.min_segment_rows = 1024;
SET extra_float_digits = 0;
-- "r" in front: the plan has a ZedstoreAgg with another plan below.  Sums of floats in the queries are exact.
\set how 'plan => ''(?n)Custom Scan \\(ZedstoreAgg\\)$'', mark => ''r'', longest => 200'
\set how :how ', runs => test.runs(''none off force:5 force verify rows'')'
\set ECHO none
CREATE TABLE h_row (id int, k int, b bigint, n numeric(12,2), u numeric, f float8, r real, d date, flag bool, t text, c char(4), o oid, ip inet, big text);
INSERT INTO h_row SELECT g, CASE WHEN g % 11 = 0 THEN NULL ELSE g % 7 - 3 END, g::bigint * 1000000007,
		CASE WHEN g % 10 = 0 THEN NULL ELSE (g - 1500) / 7.0 END, CASE g % 4 WHEN 0 THEN g WHEN 1 THEN g / 2.0::numeric(10,1) WHEN 2 THEN round(g / 3.0, 3) END,
		g % 1000 / 4.0, g % 100 / 2.0, date '2020-01-01' + g % 40, CASE g % 3 WHEN 0 THEN true WHEN 1 THEN false END,
		CASE WHEN g % 13 = 0 THEN NULL ELSE 'text ' || g % 9 END, 'c' || g % 3, g % 5, ('10.0.0.' || g % 20)::inet,
		CASE WHEN g % 700 = 0 THEN (SELECT string_agg(md5(i::text || g), '') FROM generate_series(1, 300) i)
			WHEN g % 500 = 0 THEN repeat('y', 3000 + g % 3) ELSE 'small ' || g % 4 END
	FROM generate_series(1, 4000) g;
CALL test.twin('row', 'id');
CREATE TABLE h_dim (k int, name text, price numeric, late numeric);
INSERT INTO h_dim SELECT g, 'name ' || g % 3, g * 1.25, CASE WHEN g > 0 THEN 'NaN'::numeric END FROM generate_series(-3, 3) g;
CALL test.twin('dim');
ANALYZE h_row, z_row, h_dim, z_dim;
\set ECHO all

SET zedstore.debug_vector = force;
EXPLAIN (COSTS OFF) SELECT name, sum(n * price), count(*) FROM z_row JOIN z_dim USING (k) GROUP BY name HAVING sum(n) > 5 ORDER BY name;
EXPLAIN (VERBOSE, COSTS OFF) SELECT sum(n) FILTER (WHERE price > 1), max(r.k + 1) FROM z_row r LEFT JOIN z_dim m ON m.k = r.k;
RESET zedstore.debug_vector;
-- joins, of all types; subqueries, appended tables, functions, values
SELECT test.twins(query => q, :how), q FROM (VALUES
	('SELECT name, sum(n), avg(n), count(*), min(price), max(u) FROM @_row JOIN @_dim USING (k) GROUP BY name'),
	('SELECT sum(n), avg(u), count(name), min(f), max(r), sum(b), avg(b), sum(id) FROM @_row LEFT JOIN @_dim USING (k)'),
	('SELECT m.k, count(r.id), sum(r.n) FROM @_row r RIGHT JOIN @_dim m ON m.k = r.k AND r.id < 10 GROUP BY m.k'),
	('SELECT r.k, m.name, count(*) FROM @_row r FULL JOIN @_dim m ON m.k = r.id GROUP BY r.k, m.name'),
	('SELECT t, c, o, flag, d, count(*) FROM @_row JOIN @_dim USING (k) WHERE id < 1000 GROUP BY t, c, o, flag, d'),
	('SELECT count(*), sum(price) FROM @_row r, @_dim m WHERE r.id < m.k'),
	('SELECT count(*), sum(n) FROM @_row r WHERE EXISTS (SELECT FROM @_dim m WHERE m.k = r.k AND m.price > 0)'),
	('SELECT k, sum(n) FROM (SELECT k, n FROM @_row WHERE id < 2000 UNION ALL SELECT k, price FROM @_dim) x GROUP BY k'),
	('SELECT c, sum(s) FROM (SELECT c, k, sum(n) AS s FROM @_row GROUP BY c, k) x GROUP BY c'),
	('SELECT k, sum(x) FROM (SELECT k, n AS x FROM @_row ORDER BY id LIMIT 1500) y GROUP BY k'),
	('SELECT int4larger(id % 10, 0), sum(n), count(*) FROM @_row GROUP BY int4larger(id % 10, 0)'),
	('SELECT initcap(t), k + 1, avg(u) FROM @_row WHERE abs(k) < 3 GROUP BY initcap(t), k + 1'),
	('SELECT k, count(*), sum(g) FROM @_row, generate_series(1, 3) g GROUP BY k'),
	('SELECT big, count(*) FROM @_row JOIN @_dim USING (k) GROUP BY big'),
	('SELECT int4larger(length(big), 0), count(*) FROM @_row GROUP BY int4larger(length(big), 0)'),
	('SELECT k FROM @_row WHERE abs(k) = 2 GROUP BY k'),
	('SELECT count(DISTINCT k) FROM @_row JOIN @_dim USING (k)'), ('SELECT ip, count(*) FROM @_row JOIN @_dim USING (k) GROUP BY ip'),
	('SELECT sum(price), avg(late), sum(late) FROM @_row JOIN @_dim USING (k)')) v(q);
-- numerics that are no integers, among others; display scales
UPDATE h_row SET u = 'NaN' WHERE id = 700;
UPDATE z_row SET u = 'NaN' WHERE id = 700;
UPDATE h_row SET u = 1e60 WHERE id = 703;
UPDATE z_row SET u = 1e60 WHERE id = 703;
UPDATE h_row SET u = -1e-40 WHERE id = 705;
UPDATE z_row SET u = -1e-40 WHERE id = 705;
SELECT test.twins(query => 'SELECT k, sum(u), avg(u), min(u), max(u), sum(u * n) FROM @_row JOIN @_dim USING (k) WHERE ' || c || ' GROUP BY k', :how)
FROM (VALUES ('true'), ('id <> 700'), ('id < 703'), ('id > 710'), ('id % 4 = 1')) v(c);
-- expressions as arguments and in FILTER; errors come where core has them, and are guarded where it guards them
SELECT test.twins(query => q, :how), q FROM (VALUES
	('SELECT k, sum(n * 2 + 1), sum(id::numeric / 7), avg(abs(f)), max(upper(t)) IS NULL FROM @_row JOIN @_dim USING (k) GROUP BY k'),
	('SELECT sum(n) FILTER (WHERE flag), count(*) FILTER (WHERE t LIKE ''%3''), sum(id) FILTER (WHERE abs(k) = 1) FROM @_row JOIN @_dim USING (k)'),
	('SELECT sum(100 / k) FILTER (WHERE k <> 0), sum(100 / (k + 1)) FILTER (WHERE abs(k) > 2) FROM @_row JOIN @_dim USING (k)'),
	('SELECT sum(100 / k) FROM @_row JOIN @_dim USING (k)'), ('SELECT sum(100 / id) FILTER (WHERE 1 / k > 0) FROM @_row JOIN @_dim USING (k)'),
	('SELECT sum(CASE WHEN k <> 0 THEN 1 / k ELSE n END), sum(coalesce(n, price)) FROM @_row JOIN @_dim USING (k)'),
	('SELECT sum(id), sum(id::smallint * 10::smallint) FROM @_row JOIN @_dim USING (k)'),
	('SELECT sum(f * 1e308) FROM @_row JOIN @_dim USING (k)'),
	('SELECT sum(random() * 0) + count(*) FROM @_row JOIN @_dim USING (k)'),
	('SELECT sum((SELECT max(price) FROM @_dim d WHERE d.k = r.k)) FROM @_row r JOIN @_dim USING (k)'),
	('SELECT grouping(k), count(*) FROM @_row JOIN @_dim USING (k) GROUP BY ROLLUP (k)'),
	('SELECT string_agg(t, '','' ORDER BY id) FROM @_row JOIN @_dim USING (k) WHERE id < 20')) v(q);
-- conditions without columns decide whether there are rows at all
SELECT test.twins(query => q, :how), q FROM (VALUES ('SELECT count(*), sum(n) FROM @_row WHERE (SELECT false)'), ('SELECT count(*), sum(n) FROM @_row WHERE (SELECT true) AND id < 100'),
	('SELECT k, count(*) FROM @_row WHERE (SELECT count(*) FROM @_dim) > 100 GROUP BY k'), ('SELECT count(*) FROM @_row WHERE false'),
	('SELECT count(*), sum(n) FROM @_row WHERE id < (SELECT 100)'), ('SELECT k, sum(n) FROM @_row JOIN @_dim USING (k) WHERE false GROUP BY k'),
	('SELECT count(*), sum(n) FROM @_row JOIN @_dim USING (k) WHERE id < 0'), ('SELECT k, count(*) FROM @_row JOIN @_dim USING (k) WHERE id < 0 GROUP BY k')) v(q);
PREPARE vector_row(int, bool) AS SELECT count(*), sum(n), sum(n * $1) FROM z_row JOIN z_dim USING (k) WHERE $2 AND id < $1;
SET plan_cache_mode = force_generic_plan;
SET zedstore.debug_vector = verify;
EXPLAIN (COSTS OFF) EXECUTE vector_row(100, true);
EXECUTE vector_row(100, true);
EXECUTE vector_row(100, false);
EXECUTE vector_row(1000, true);
RESET plan_cache_mode;
DEALLOCATE vector_row;
-- rescans, with parameters that change in the plan below, in arguments, and not at all
SELECT g, (SELECT sum(n) FROM z_row JOIN z_dim USING (k) WHERE id < g * 10) FROM generate_series(1, 3) g;
SELECT g, (SELECT sum(n * g) FROM z_row JOIN z_dim USING (k) WHERE id < 50) FROM generate_series(1, 3) g;
SELECT g, (SELECT sum(n) FILTER (WHERE id < g) FROM z_row JOIN z_dim USING (k)) FROM generate_series(10, 12) g;
SELECT g, s.* FROM generate_series(1, 2) g, LATERAL (SELECT count(*), sum(n) FROM z_row JOIN z_dim USING (k) WHERE id < 500 OFFSET 0) s;
SELECT * FROM generate_series(1, 2) g LEFT JOIN LATERAL (SELECT name, sum(n + g) FROM z_row JOIN z_dim USING (k) GROUP BY name HAVING count(*) > g) s ON true ORDER BY 1, 2;
SELECT sum(n * (SELECT max(k) FROM z_dim)) FROM z_row JOIN z_dim USING (k) WHERE id < 100;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT name, sum(n), count(*) FROM z_row JOIN z_dim USING (k) GROUP BY name ORDER BY name;
FETCH 2 FROM c;
DELETE FROM z_row;
FETCH BACKWARD 1 FROM c;
FETCH ALL FROM c;
ROLLBACK;
-- joins above
SELECT test.twins(query => 'SELECT d.name, x.s FROM @_dim d JOIN (SELECT m.k, sum(r.n) AS s FROM @_row r JOIN @_dim m USING (k) GROUP BY m.k) x ON x.k = d.k', :how);
-- keys with subqueries, which have parameters of their own
SELECT test.twins(query => 'SELECT k IN (SELECT k FROM @_dim WHERE name <> ''name 1'') AS known, count(*), sum(n) FROM @_row GROUP BY 1', :how),
	test.twins(query => 'SELECT (SELECT min(d.name) FROM @_dim d WHERE d.k > r.k) AS next, count(*), sum(n) FROM @_row r WHERE id < 500 GROUP BY 1', :how);
-- DISTINCT is grouping without aggregates
SET zedstore.debug_vector = force;
EXPLAIN (COSTS OFF) SELECT DISTINCT k, t FROM z_row WHERE id < 500 ORDER BY t, k;
EXPLAIN (COSTS OFF) SELECT DISTINCT upper(t) || 'x' FROM z_row JOIN z_dim USING (k);
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (k) k, t FROM z_row ORDER BY k, t;
RESET zedstore.debug_vector;
SELECT test.twins(query => q, :how), q FROM (VALUES ('SELECT DISTINCT k FROM @_row'), ('SELECT DISTINCT k, t, c FROM @_row WHERE id > 100'), ('SELECT DISTINCT d FROM @_row ORDER BY d DESC LIMIT 3'),
	('SELECT DISTINCT k, 1 AS one, t FROM @_row WHERE k = 2'), ('SELECT DISTINCT id % 7 FROM @_row'), ('SELECT DISTINCT name, k FROM @_row JOIN @_dim USING (k)'),
	('SELECT DISTINCT n FROM @_row'), ('SELECT DISTINCT count(*) FROM @_row GROUP BY k'),
	('SELECT DISTINCT k, count(*) OVER (PARTITION BY k) FROM @_row'), ('SELECT DISTINCT generate_series(1, k) FROM @_row'),
	('SELECT DISTINCT k, sum(n) OVER () FROM @_row WHERE id < 50'), ('SELECT k FROM @_row WHERE id < 30 UNION SELECT k FROM @_dim'),
	('SELECT count(*) FROM (SELECT DISTINCT t, k FROM @_row) x'), ('SELECT DISTINCT k FROM @_row WHERE false'), ('SELECT DISTINCT random() * 0 FROM @_row')) v(q);
SELECT g, (SELECT count(*) FROM (SELECT DISTINCT k FROM z_row WHERE id < g) x) FROM generate_series(1, 4) g;
-- partitions that are not aggregated each by itself
\set ECHO none
CREATE TABLE h_prt (id int, k int, n numeric(8,2)) PARTITION BY LIST (k);
CREATE TABLE h_prt1 PARTITION OF h_prt FOR VALUES IN (1);
CREATE TABLE h_prt2 PARTITION OF h_prt DEFAULT;
CREATE TABLE z_prt (id int, k int, n numeric(8,2)) PARTITION BY LIST (k);
CREATE TABLE z_prt1 PARTITION OF z_prt FOR VALUES IN (1) USING zedstore;
CREATE TABLE z_prt2 (n numeric(8,2), gone text, k int, id int) USING zedstore;
ALTER TABLE z_prt2 DROP COLUMN gone;
ALTER TABLE z_prt ATTACH PARTITION z_prt2 DEFAULT;
INSERT INTO h_prt SELECT g, g % 5, g / 3.0 FROM generate_series(1, 3000) g;
INSERT INTO z_prt SELECT * FROM h_prt;
ANALYZE z_prt;
\set ECHO all
RESET zedstore.debug_vector;
SELECT test.twins(query => 'SELECT int4larger(id % 10, 0), sum(n), count(*) FROM @_prt GROUP BY int4larger(id % 10, 0)', :how), test.twins(query => 'SELECT k, sum(n) FROM @_prt WHERE id > 50 GROUP BY k', :how);
-- below Gather
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
ALTER TABLE z_row SET (parallel_workers = 2);
SET zedstore.debug_vector = force;
EXPLAIN (COSTS OFF) SELECT name, sum(n * price), count(*) FROM z_row JOIN z_dim USING (k) GROUP BY name;
RESET zedstore.debug_vector;
SELECT test.twins(query => q, :how) FROM (VALUES ('SELECT name, sum(n), avg(n), count(*), min(price), max(u) FROM @_row JOIN @_dim USING (k) GROUP BY name'),
	('SELECT sum(n), avg(n), count(name), sum(b), avg(f), sum(n * price) FROM @_row LEFT JOIN @_dim USING (k)'),
	('SELECT int4larger(id % 10, 0), sum(n) FILTER (WHERE abs(k) > 1), count(*) FROM @_row GROUP BY int4larger(id % 10, 0) HAVING count(*) > 5'),
	('SELECT sum(n * (SELECT max(k) FROM @_dim)) FROM @_row JOIN @_dim USING (k)'),
	('SELECT k, sum(n) FROM @_prt WHERE id > 50 GROUP BY k')) v(q);
SET zedstore.debug_vector = verify;
SELECT g, (SELECT sum(n * g) FROM z_row JOIN z_dim USING (k) WHERE id < 50) FROM generate_series(1, 3) g;
SELECT g, s.* FROM generate_series(1, 2) g, LATERAL (SELECT count(*), sum(n) FROM z_row JOIN z_dim USING (k) WHERE id < 500 OFFSET 0) s;
SET max_parallel_workers_per_gather = 0;
-- groups that memory has no room for
RESET zedstore.debug_vector;
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
EXPLAIN (COSTS OFF) SELECT id, sum(n) FROM z_row JOIN z_dim USING (k) GROUP BY id;
SELECT count(*), sum(s), sum(c) FROM (SELECT id, sum(n) AS s, count(*) AS c FROM z_row JOIN z_dim USING (k) GROUP BY id) x;
SELECT count(*), sum(s), sum(c) FROM (SELECT id, sum(n) AS s, count(*) AS c FROM h_row JOIN h_dim USING (k) GROUP BY id) x;
RESET work_mem;
RESET hash_mem_multiplier;
-- chosen by its costs, where it pays; never for tables of others
EXPLAIN (COSTS OFF) SELECT name, sum(n) FROM z_row JOIN z_dim USING (k) GROUP BY name;
EXPLAIN (COSTS OFF) SELECT count(*) FROM z_row JOIN z_dim USING (k);
SET zedstore.enable_vector_join = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM z_row JOIN z_dim USING (k);
RESET zedstore.enable_vector_join;
SET zedstore.debug_vector = force;
EXPLAIN (COSTS OFF) SELECT name, sum(n) FROM h_row JOIN h_dim USING (k) GROUP BY name;
RESET zedstore.debug_vector;
SET enable_hashagg = off;
EXPLAIN (COSTS OFF) SELECT name, sum(n) FROM z_row JOIN z_dim USING (k) GROUP BY name;
RESET enable_hashagg;
-- values that a partition of heap keeps out of line, or compressed
\set ECHO none
CREATE TABLE h_out (id int, s text, n numeric) PARTITION BY RANGE (id);
CREATE TABLE h_out1 PARTITION OF h_out FOR VALUES FROM (0) TO (100);
CREATE TABLE h_out2 PARTITION OF h_out FOR VALUES FROM (100) TO (300);
CREATE TABLE z_out (id int, s text, n numeric) PARTITION BY RANGE (id);
CREATE TABLE z_out1 PARTITION OF z_out FOR VALUES FROM (0) TO (100) USING zedstore;
CREATE TABLE z_out2 PARTITION OF z_out FOR VALUES FROM (100) TO (300) USING heap;
ALTER TABLE z_out2 ALTER s SET STORAGE EXTERNAL;
INSERT INTO z_out SELECT i, repeat(md5((i % 7)::text), 1 + 80 * (i % 2)), i FROM generate_series(1, 199) i;
INSERT INTO h_out SELECT * FROM z_out;
CREATE TABLE out_queries (q text);
INSERT INTO out_queries VALUES ('SELECT s, count(*), sum(n), min(id) FROM @_out GROUP BY s'),
	('SELECT min(s), max(s), count(DISTINCT s), sum(length(s)), max(n) FROM @_out'),
	('SELECT id % 3, s, max(s), sum(n * 2) FROM @_out GROUP BY id % 3, s'),
	('SELECT length(s), count(*) FROM @_out GROUP BY length(s)'),
	('SELECT count(*) FILTER (WHERE s LIKE ''c%''), count(*) FILTER (WHERE n > 1000) FROM @_out');
\set ECHO all
SELECT test.twins(query => q, :how) FROM out_queries;
ALTER TABLE z_out2 ALTER s SET STORAGE MAIN;
INSERT INTO z_out SELECT i, repeat(md5((i % 5)::text), 90), repeat('7', 200 + i)::numeric FROM generate_series(200, 220) i;
INSERT INTO h_out SELECT * FROM z_out WHERE id >= 200;
SELECT count(*) FILTER (WHERE pg_column_size(s) < octet_length(s) AND id >= 200) AS compressed,
	pg_relation_size((SELECT reltoastrelid FROM pg_class WHERE oid = 'z_out2'::regclass)) > 100000 AS out_of_line FROM z_out;
SELECT test.twins(query => q, :how) FROM out_queries;
DROP TABLE h_row, z_row, h_dim, z_dim, h_prt, z_prt, h_out, z_out, out_queries;
