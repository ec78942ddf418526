-- grouping sets over groups that were made by batches: the same rows as heap, in all ways of core's
\getenv abs_srcdir PG_ABS_SRCDIR
\set batches :abs_srcdir '/sql/include/batches.sql'
\i :batches
SET zedstore.min_segment_rows = 1024;
-- "g" in front: the sets are made of groups.  "G": and aggregates by batches are off in the runs before.
\set how 'plan => ''ZedstoreGroupingSets'', mark => ''g'', longest => 60'
\set how :how ', runs => test.runs(''off force verify rows''), switch => ''zedstore.enable_vector_agg'', switch_mark => ''-'''
\set ECHO none
CREATE TABLE h_sale (id int, item int, day date, store text, kind char(3), flag bool, x numeric(10,2), f float8, n numeric, b bigint, u uuid);
INSERT INTO h_sale SELECT g, nullif(g * 7 % 23, 5), date '2026-01-01' + g / 4000, 'store ' || g % 7, chr(97 + g % 3), g % 5 = 0, g % 1000 / 7.0,
	g / 3.0, (g % 4)::numeric(8,2), g::bigint << 30, md5((g % 3)::text)::uuid FROM generate_series(1, 20000) g;
UPDATE h_sale SET store = NULL WHERE id % 11 = 1;
CALL test.twin('sale', 'id');
CREATE TABLE h_item (item int, brand text, class text, price numeric(8,2));
INSERT INTO h_item SELECT g, 'brand ' || g % 5, 'class ' || g % 3, g / 3.0 FROM generate_series(0, 22) g;
CALL test.twin('item');
-- rows that have not moved into columns, and some that were deleted
INSERT INTO h_sale SELECT id + 20000, item, day, store, kind, flag, x, f, n, b, u FROM h_sale WHERE id % 40 = 1;
INSERT INTO z_sale SELECT id + 20000, item, day, store, kind, flag, x, f, n, b, u FROM z_sale WHERE id % 40 = 1;
DELETE FROM h_sale WHERE id % 101 = 5;
DELETE FROM z_sale WHERE id % 101 = 5;
VACUUM ANALYZE h_sale, z_sale, h_item, z_item;
ALTER TABLE z_sale SET (parallel_workers = 2);
SET max_parallel_workers_per_gather = 0;
\set ECHO all
\set rollup 'SELECT i.brand, s.store, s.day, sum(s.x), count(*), grouping(i.brand, s.store) FROM z_sale s JOIN z_item i USING (item) GROUP BY ROLLUP (i.brand, s.store, s.day) HAVING count(*) > 10'
EXPLAIN (COSTS OFF) :rollup;
SET enable_hashagg = off;
EXPLAIN (COSTS OFF) :rollup;
RESET enable_hashagg;
EXPLAIN (VERBOSE, COSTS OFF) SELECT grouping(store) + count(*), upper(store) FROM z_sale GROUP BY CUBE (store, flag);
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
EXPLAIN (COSTS OFF) SELECT store, flag, sum(x) FROM z_sale GROUP BY CUBE (store, flag);
SET max_parallel_workers_per_gather = 0;
-- more groups than half of the rows: core's plan
EXPLAIN (COSTS OFF) SELECT id, store, count(*) FROM z_sale GROUP BY ROLLUP (id, store);
-- the first group is all that is asked for, and an index has it at once
CREATE INDEX z_first ON z_sale (item);
VACUUM z_sale;
EXPLAIN (COSTS OFF) SELECT item, count(*) FROM z_sale GROUP BY ROLLUP (item) LIMIT 1;
DROP INDEX z_first;
\set ECHO none
CREATE TABLE queries (nr int, query text);
INSERT INTO queries SELECT row_number() OVER (), q FROM (VALUES
	('SELECT store, flag, count(*), sum(x), avg(x), min(day), max(item) FROM @_sale GROUP BY ROLLUP (store, flag)'),
	('SELECT store, flag, kind, count(*), sum(b), max(u::text) FROM @_sale GROUP BY CUBE (store, flag, kind)'),
	('SELECT store, flag, kind, count(item) FROM @_sale GROUP BY GROUPING SETS ((store), (flag, kind), (), ())'),
	('SELECT store, flag, kind, count(item) FROM @_sale GROUP BY DISTINCT ROLLUP (store, flag), ROLLUP (store, kind)'),
	('SELECT store, sum(x) FROM @_sale WHERE id < 0 GROUP BY ROLLUP (store)'),
	('SELECT store, sum(x), count(*) FROM @_sale WHERE id < 0 GROUP BY GROUPING SETS ((store), (flag))'),
	('SELECT grouping(store, flag), grouping(flag), store IS NULL, count(*) FROM @_sale GROUP BY CUBE (store, flag)'),
	('SELECT sum(x), grouping(item) FROM @_sale GROUP BY ROLLUP (item) HAVING grouping(item) = 1 OR sum(x) > 60000'),
	('SELECT date_trunc(''month'', day), store || ''!'', sum(x) FROM @_sale GROUP BY ROLLUP (date_trunc(''month'', day), store || ''!'')'),
	('SELECT item % 3, count(*) FILTER (WHERE flag), sum(x) FILTER (WHERE kind = ''b'') FROM @_sale GROUP BY CUBE (item % 3, flag)'),
	('SELECT store, stddev(x), var_samp(item), bool_or(flag), bit_and(item) FROM @_sale GROUP BY ROLLUP (store)'),
	('SELECT coalesce(store, ''all''), sum(x) / count(*), CASE WHEN grouping(flag) = 0 THEN flag END FROM @_sale GROUP BY CUBE (store, flag)'),
	('SELECT i.brand, i.class, s.kind, sum(s.x * i.price), count(DISTINCT 1) FROM @_sale s JOIN @_item i USING (item) GROUP BY ROLLUP (i.brand, i.class, s.kind)'),
	('SELECT i.brand, i.class, s.kind, sum(s.x * i.price), count(*) FROM @_sale s JOIN @_item i USING (item) GROUP BY ROLLUP (i.brand, i.class, s.kind)'),
	('SELECT i.brand, s.store, count(*) FROM @_sale s LEFT JOIN @_item i ON i.item = s.item AND i.price > 3 GROUP BY CUBE (i.brand, s.store)'),
	('SELECT v.k, v.d, sum(v.x) FROM (SELECT kind AS k, day AS d, sum(x) AS x FROM @_sale GROUP BY kind, day, item) v GROUP BY ROLLUP (k, d)'),
	('SELECT store, flag, sum(x), rank() OVER (PARTITION BY grouping(store) + grouping(flag) ORDER BY sum(x) DESC) FROM @_sale GROUP BY ROLLUP (store, flag)'),
	('SELECT store, flag, sum(x) FROM @_sale GROUP BY CUBE (store, flag) ORDER BY 3 DESC, 1, 2 LIMIT 5'),
	('SELECT DISTINCT grouping(store), flag FROM @_sale GROUP BY CUBE (store, flag)'),
	('SELECT kind, (SELECT count(*) FROM @_item i WHERE i.price > count(s.item) / 1000), sum(x) FROM @_sale s GROUP BY ROLLUP (kind)'),
	('SELECT i.item, (SELECT string_agg(v::text, '','' ORDER BY v::text) FROM (SELECT s.kind, sum(s.x) FROM @_sale s WHERE s.item = i.item GROUP BY ROLLUP (s.kind)) v) FROM @_item i'),
	('SELECT n, sum(x) FROM @_sale GROUP BY ROLLUP (n)'),
	('SELECT store, round(sum(f)::numeric, 2) FROM @_sale GROUP BY ROLLUP (store)'),
	('SELECT store, string_agg(kind, '','' ORDER BY id) FROM @_sale GROUP BY ROLLUP (store)'),
	('SELECT store, random() < 2, count(*) FROM @_sale GROUP BY CUBE (store, random() < 2)'),
	('SELECT store, sum(100 / (id - 500)) FROM @_sale GROUP BY ROLLUP (store)'),
	('SELECT u, count(*), max(store) FROM @_sale GROUP BY CUBE (u, item)'),
	('SELECT count(*) FROM @_sale GROUP BY ROLLUP (store, flag)'),
	('SELECT s FROM (SELECT store AS s, count(*) FROM @_sale GROUP BY ROLLUP (store) HAVING sum(x) > 100) v')) v(q);
\set ECHO all
SELECT test.twins(query => query, :how), nr FROM queries ORDER BY nr;
-- by processes that divide the rows
SET max_parallel_workers_per_gather = 2;
SET min_parallel_table_scan_size = 0;
SELECT test.twins(query => query, :how), nr FROM queries ORDER BY nr;
SET max_parallel_workers_per_gather = 0;
-- sorted, hashed, and with more groups than memory holds
SET enable_hashagg = off;
SELECT left(test.twins(query => query, :how), 9), nr FROM queries WHERE nr <= 16 ORDER BY nr;
SET enable_hashagg = on;
SET enable_sort = off;
SELECT substr(test.twins(query => query, :how), 3, 7), nr FROM queries WHERE nr <= 16 ORDER BY nr;
RESET enable_sort;
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SELECT left(test.twins(query => query, :how), 9), nr FROM queries WHERE nr <= 16 ORDER BY nr;
SELECT left(test.twins(query => 'SELECT id / 3, store, kind, count(*), sum(x) FROM @_sale GROUP BY CUBE (id / 3, store, kind)', :how), 9);
RESET work_mem;
RESET hash_mem_multiplier;
-- a constant is NULL in some sets
SELECT substr(test.twins(query => 'SELECT 1, store, count(*) FROM @_sale GROUP BY ROLLUP (1, store)', :how), 3);
-- keys that have one value, that are equal, and what is equal without being a key
CREATE TABLE h_odd (id int, a int, b int, t bpchar, n numeric, v interval, x float8);
INSERT INTO h_odd SELECT g, g % 4, (g / 2) % 3, CASE WHEN g % 2 = 0 THEN 'x' ELSE 'x  ' END, CASE g % 3 WHEN 0 THEN 1.0 WHEN 1 THEN 1.000 ELSE 1.00 END,
	CASE g % 2 WHEN 0 THEN interval '100000000 years' ELSE interval '-100000000 years' END, CASE g % 2 WHEN 0 THEN 0 ELSE '-0'::float8 END FROM generate_series(0, 4999) g;
CALL test.twin('odd', 'id');
VACUUM ANALYZE h_odd, z_odd;
SELECT test.twins(query => q, :how) FROM (VALUES
	('SELECT a, count(*) FROM @_odd WHERE a = 2 GROUP BY ROLLUP (a)'),
	('SELECT a, b, count(*) FROM @_odd WHERE a = b AND a = 1 GROUP BY CUBE (a, b)'),
	('SELECT a AS x, a AS y, count(*) FROM @_odd GROUP BY ROLLUP (x, y)'),
	('SELECT a + 1 AS x, b, a + 1 AS y, count(*) FROM @_odd GROUP BY GROUPING SETS ((1), (3, 2))'),
	('SELECT count(DISTINCT r) FROM (SELECT random() AS r, random() AS s FROM @_odd GROUP BY ROLLUP (a)) v WHERE r <> s'),
	('SELECT id / 2 % 2, (id / 2 + id) % 2, count(*), sum(v) FROM @_odd GROUP BY GROUPING SETS ((), (id / 2 % 2), ((id / 2 + id) % 2))'),
	('SELECT a, min(n), max(n) FROM @_odd GROUP BY ROLLUP (a)'),
	('SELECT a, min(x), max(v), max(t) FROM @_odd GROUP BY ROLLUP (a)'),
	('SELECT octet_length(t), a, count(*) FROM @_odd GROUP BY ROLLUP (t, a)'),
	('SELECT a, min(id), max(b), sum(n) FROM @_odd GROUP BY ROLLUP (a)')) q(q);
SELECT substr(test.twins(query => 'SELECT v.g, v.h, count(*) FROM (SELECT a AS g, a AS h FROM @_odd) v GROUP BY CUBE (1, 2)', :how), 3);
-- a cursor that goes back, and a prepared statement
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT store, count(*) FROM z_sale GROUP BY ROLLUP (store) ORDER BY store;
FETCH ALL FROM c;
FETCH BACKWARD 2 FROM c;
COMMIT;
SET plan_cache_mode = force_generic_plan;
PREPARE p (int) AS SELECT flag, kind, count(*), sum(x) FROM z_sale WHERE item < $1 GROUP BY ROLLUP (kind, flag) ORDER BY count(*), 1;
EXPLAIN (COSTS OFF) EXECUTE p (5);
EXECUTE p (5);
EXECUTE p (2);
DROP TABLE queries, h_sale, z_sale, h_item, z_item, h_odd, z_odd;
