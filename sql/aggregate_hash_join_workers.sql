-- hash joins below aggregates in parallel plans: each process has its tables, whatever core would share
\getenv abs_srcdir PG_ABS_SRCDIR
\set batches :abs_srcdir '/sql/include/batches.sql'
\i :batches
SET zedstore.min_segment_rows = 1024;
-- "j" in front: joins are done by batches.  "J": and the switch is off in the runs before.
\set how 'plan => ''Joins by Batches'', mark => ''j'', longest => 100'
\set how :how ', runs => test.runs(''off force verify''), switch => ''zedstore.enable_vector_join'', switch_mark => ''-'''
\set ECHO none
CREATE TABLE h_sale (id int, item int, day int, store int, note text, x numeric(10,2), odd numeric);
INSERT INTO h_sale SELECT g, g * 7 % 503, g / 20, nullif(g % 11, 3), 'note ' || g % 97, g % 1000 / 7.0, nullif(g % 5, 4) FROM generate_series(1, 20000) g;
CALL test.twin('sale', 'id');
CREATE TABLE h_item (item int, brand text, price numeric(8,2), maker int);
INSERT INTO h_item SELECT g, 'brand ' || g % 13, g / 3.0, g % 7 FROM generate_series(1, 600) g;
CALL test.twin('item');
CREATE TABLE h_day (day int, year int, name text);
INSERT INTO h_day SELECT g, 2000 + g / 365, 'day ' || g % 7 FROM generate_series(0, 1200) g;
CALL test.twin('day');
CREATE TABLE h_store (store int, name text);
INSERT INTO h_store SELECT g, 'store ' || g FROM generate_series(0, 12) g;
CALL test.twin('store');
CREATE TABLE z_part (item int PRIMARY KEY, brand text) USING zedstore;
INSERT INTO z_part SELECT g, 'brand ' || g % 13 FROM generate_series(1, 20000) g;
-- rows that have not moved into columns, and some that were deleted
INSERT INTO h_sale SELECT id + 20000, item, day, store, note, x, odd FROM h_sale WHERE id % 40 = 1;
INSERT INTO z_sale SELECT id + 20000, item, day, store, note, x, odd FROM z_sale WHERE id % 40 = 1;
DELETE FROM h_sale WHERE id % 101 = 5;
DELETE FROM z_sale WHERE id % 101 = 5;
VACUUM ANALYZE h_sale, z_sale, h_item, z_item, h_day, z_day, h_store, z_store, z_part;
ALTER TABLE z_sale SET (parallel_workers = 2);
ALTER TABLE z_item SET (parallel_workers = 2);
ALTER TABLE z_day SET (parallel_workers = 2);
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
\set ECHO all
\set three 'SELECT i.brand, d.year, sum(s.x), count(*) FROM z_sale s JOIN z_item i USING (item) JOIN z_day d USING (day) WHERE d.year = 2001 GROUP BY i.brand, d.year'
-- joins that core would do with shared tables, and one that begins as a loop over an index
SET enable_nestloop = off;
EXPLAIN (COSTS OFF) :three;
SET zedstore.enable_vector_join = off;
EXPLAIN (COSTS OFF) :three;
RESET zedstore.enable_vector_join;
RESET enable_nestloop;
SET max_parallel_workers_per_gather = 0;
\set few 'SELECT i.brand, sum(s.x) FROM z_sale s JOIN z_day d USING (day) JOIN z_part i USING (item) WHERE d.year = 2002 AND d.name = ''day 3'' AND s.store = 1 GROUP BY i.brand'
EXPLAIN (COSTS OFF) :few;
SET zedstore.enable_vector_join = off;
EXPLAIN (COSTS OFF) :few;
RESET zedstore.enable_vector_join;
SET max_parallel_workers_per_gather = 2;
\set ECHO none
CREATE TABLE queries (nr int, query text);
INSERT INTO queries SELECT row_number() OVER (), q FROM (VALUES
	('SELECT i.brand, d.year, sum(s.x), count(*) FROM @_sale s JOIN @_item i USING (item) JOIN @_day d USING (day) WHERE d.year = 2001 GROUP BY i.brand, d.year'),
	('SELECT count(*), sum(s.x * i.price) FROM @_sale s JOIN @_item i USING (item)'),
	('SELECT t.name, count(*), count(i.item), sum(i.price) FROM @_sale s LEFT JOIN @_item i ON i.item = s.item AND i.maker > 2 LEFT JOIN @_store t ON t.store = s.store GROUP BY t.name'),
	('SELECT s.store, sum(s.x) FROM @_sale s WHERE EXISTS (SELECT FROM @_item i WHERE i.item = s.item AND i.price > s.x) GROUP BY s.store'),
	('SELECT s.store, sum(s.x) FROM @_sale s WHERE NOT EXISTS (SELECT FROM @_item i WHERE i.item = s.item AND i.maker = 3) GROUP BY s.store'),
	('SELECT s.store, sum(s.x) FROM @_sale s WHERE s.item IN (SELECT item FROM @_item WHERE maker = 1) GROUP BY s.store'),
	('SELECT s.store, count(s.x) FROM @_sale s WHERE s.odd IN (SELECT maker FROM @_item) GROUP BY s.store'),
	('SELECT i.brand, count(*), count(s.id), sum(s.x) FROM @_sale s RIGHT JOIN @_item i ON i.item = s.item AND s.id % 3 = 0 GROUP BY i.brand'),
	('SELECT i.brand, s.store, count(*), sum(s.x) FROM @_sale s FULL JOIN @_item i ON i.item = s.item GROUP BY i.brand, s.store'),
	('SELECT i.maker, count(*) FROM @_item i WHERE NOT EXISTS (SELECT FROM @_sale s WHERE s.item = i.item AND s.x > 140) GROUP BY i.maker'),
	('SELECT i.maker, count(*) FROM @_item i WHERE EXISTS (SELECT FROM @_sale s WHERE s.item = i.item AND s.x > 141) GROUP BY i.maker'),
	('SELECT d.name, sum(v.x) FROM (SELECT s.day, s.x FROM @_sale s JOIN @_item i USING (item) JOIN @_store t USING (store) WHERE i.maker < 4) v JOIN @_day d USING (day) GROUP BY d.name'),
	('SELECT d.name, count(*), sum(s.x) FROM @_day d JOIN (@_sale s JOIN @_item i USING (item)) ON d.day = s.day AND d.year > 2000 + i.maker % 3 GROUP BY d.name'),
	('SELECT a.store, count(*), max(b.note) FROM @_sale a JOIN @_sale b ON b.id = a.id + 1 GROUP BY a.store'),
	('SELECT d.year + i.maker, count(*), sum(s.x) FROM @_sale s JOIN @_item i USING (item) JOIN @_day d USING (day) GROUP BY 1'),
	('SELECT upper(i.brand), sum(CASE WHEN d.name = ''day 2'' THEN s.x ELSE 0 END) FROM @_sale s JOIN @_item i USING (item) JOIN @_day d USING (day) GROUP BY 1'),
	('SELECT i.brand, count(DISTINCT s.note) FROM @_sale s JOIN @_item i USING (item) GROUP BY i.brand'),
	('SELECT DISTINCT i.brand, t.name FROM @_sale s JOIN @_item i USING (item) JOIN @_store t USING (store)'),
	('SELECT i.brand, sum(s.x) FROM @_sale s JOIN @_item i USING (item) GROUP BY i.brand ORDER BY 2 DESC LIMIT 3'),
	('SELECT i.brand, string_agg(DISTINCT t.name, '','' ORDER BY t.name) FROM @_sale s JOIN @_item i USING (item) JOIN @_store t USING (store) GROUP BY i.brand'),
	('SELECT i.brand, max(s.x), min((i.*)::text) FROM @_sale s JOIN @_item i USING (item) GROUP BY i.brand'),
	('SELECT i.brand, sum(s.x) FROM @_sale s JOIN @_item i USING (item) WHERE s.x > (SELECT avg(x) FROM @_sale) GROUP BY i.brand'),
	('SELECT i.brand, sum(s.x) FROM @_sale s JOIN @_item i ON i.item = s.item AND i.price > (SELECT min(p.price) FROM @_item p WHERE p.maker = s.store) GROUP BY i.brand'),
	('SELECT i.brand, avg(s.x), stddev(s.x) FROM @_sale s JOIN @_item i ON i.item = s.item WHERE 100 / (s.id - 20500) > -1000 GROUP BY i.brand'),
	('SELECT i.brand, count(*) FROM @_sale s JOIN @_item i ON i.item = s.item WHERE 100 / (s.id - 15000) > 1000 GROUP BY i.brand'),
	('SELECT s.store, count(*), sum(i.n) FROM @_sale s JOIN (SELECT item, count(*) AS n FROM @_sale GROUP BY item) i USING (item) GROUP BY s.store'),
	('SELECT i.brand, count(*) FROM @_sale s JOIN @_item i USING (item) WHERE s.id < 0 GROUP BY i.brand'),
	('SELECT count(*), sum(s.x), random() < 2 FROM @_sale s JOIN @_item i USING (item) JOIN @_day d USING (day) WHERE random() < 2')) v(q);
\set ECHO all
SELECT test.twins(query => query, :how), nr FROM queries ORDER BY nr;
-- without the leader, and with tables that do not fit
SET parallel_leader_participation = off;
SELECT nr, test.twins(query => query, :how) FROM queries WHERE nr <= 14 ORDER BY nr;
RESET parallel_leader_participation;
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SELECT nr, left(test.twins(query => query, :how), 9) FROM queries WHERE nr <= 14 ORDER BY nr;
RESET work_mem;
RESET hash_mem_multiplier;
-- workers that sort for a loop above them: their first group would come when one process has all
CREATE TABLE z_visit (item int, day int, store int) USING zedstore WITH (parallel_workers = 2);
INSERT INTO z_visit SELECT g * 7 % 503, g / 200, nullif(g % 11, 3) FROM generate_series(1, 200000) g;
CREATE TABLE z_past (item int, n int, PRIMARY KEY (item, n)) USING zedstore;
INSERT INTO z_past SELECT g % 600, g / 600 FROM generate_series(1, 60000) g;
VACUUM ANALYZE z_visit, z_past;
SET parallel_setup_cost = 20;
SET parallel_tuple_cost = 0.1;
\set first 'SELECT i.item, i.brand FROM z_item i JOIN z_visit v USING (item) JOIN z_day d USING (day) JOIN z_past p USING (item) WHERE d.year = 2002 AND i.maker = 2 AND i.price < 20 AND v.store = 1 GROUP BY 1, 2 ORDER BY 1 LIMIT 1'
EXPLAIN (COSTS OFF) :first;
SET zedstore.enable_robust_joins = off;
EXPLAIN (COSTS OFF) :first;
DROP TABLE queries, h_sale, z_sale, h_item, z_item, h_day, z_day, h_store, z_store, z_part, z_visit, z_past;
