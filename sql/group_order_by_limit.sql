-- groups below ORDER BY ... LIMIT: only those that may be among the first are handed out, and the result is heap's
\getenv abs_srcdir PG_ABS_SRCDIR
\set batches :abs_srcdir '/sql/include/batches.sql'
\i :batches
CREATE SCHEMA vector_top;
SET search_path = vector_top, public;
SET max_parallel_workers_per_gather = 0;
SET zedstore.min_segment_rows = 1024;
\set ECHO none
CREATE TABLE h_top (id int, k int, many int, n numeric(10,2), u numeric, f float8, t text, c char(6), d date, flag bool) USING heap;
INSERT INTO h_top SELECT g, CASE WHEN g % 17 = 0 THEN NULL ELSE g % 300 END, g / 3 * 7 % 6000, (g * 7 % 3000) / 4.0,
		CASE WHEN g % 1000 = 0 THEN 'NaN' WHEN g % 1999 = 0 THEN 1e30 ELSE round((g % 700)::numeric / 3, g % 4) END,
		CASE WHEN g % 5000 = 0 THEN 'NaN' WHEN g % 3001 = 0 THEN '-Infinity' ELSE sin(g) END,
		CASE WHEN g % 23 = 0 THEN NULL ELSE 'text ' || g % 900 END, 'c' || g % 40, date '2020-01-01' + g % 500,
		CASE g % 3 WHEN 0 THEN true WHEN 1 THEN false END
	FROM generate_series(1, 20000) g;
CALL test.twin('top', 'id');
INSERT INTO h_top (id, k, many, n) SELECT g, g % 300, g, 1.5 FROM generate_series(20001, 20100) g;
INSERT INTO z_top (id, k, many, n) SELECT g, g % 300, g, 1.5 FROM generate_series(20001, 20100) g;
\set ECHO all
-- rows in their order, with and without these plans; groups in memory, and all but some of them on disk
\set how 'ordered => true, plan => ''Top Groups By'', mark => ''top'', longest => 120'
\set how :how ', runs => test.runs(''off force force:5 verify verify:5 rows'')'
\set how :how ', switch => ''zedstore.enable_top_groups'', switch_mark => ''-'''
SELECT test.twins('top', what, keys => keys, tail => tail, condition => cond, :how), keys, tail FROM (VALUES
	('many, count(*)', 'many', 'ORDER BY count(*) DESC, many LIMIT 5', 'true'),
	('many, sum(n), count(*)', 'many', 'ORDER BY sum(n) DESC NULLS LAST, many DESC LIMIT 7', 'true'),
	('many, sum(u), avg(u)', 'many', 'ORDER BY sum(u) DESC, many LIMIT 30', 'true'),
	('many, sum(u)', 'many', 'ORDER BY 2, 1 LIMIT 6', 'true'),
	('many, avg(f), min(f)', 'many', 'ORDER BY avg(f) DESC, many LIMIT 4', 'id <= 20000'),
	('t, k, count(*)', 't, k', 'ORDER BY t COLLATE "C" DESC NULLS LAST, k NULLS FIRST LIMIT 9', 'true'),
	('t, max(t), count(*)', 't', 'ORDER BY max(t) DESC, t LIMIT 3', 'true'),
	('c, d, min(c)', 'c, d', 'ORDER BY c, d DESC LIMIT 10', 'true'),
	('d, count(*) FILTER (WHERE flag)', 'd', 'ORDER BY 2 DESC, 1 LIMIT 5 OFFSET 3', 'true'),
	('d, flag, many', 'd, flag, many', 'ORDER BY many, flag, d LIMIT 8', 'true'),
	('many, count(DISTINCT k)', 'many', 'ORDER BY 2 DESC, 1 LIMIT 4', 'true'),
	('many, stddev(n), var_pop(u)', 'many', 'ORDER BY var_pop(u) DESC, many LIMIT 4', 'true'),
	-- HAVING; more than there are; none; an offset behind the end
	('many, count(*), sum(id)', 'many', 'HAVING count(*) < 3 ORDER BY sum(id) DESC, many LIMIT 5', 'true'),
	('many, sum(n)', 'many', 'HAVING min(k) > 5 AND sum(n) < 500 ORDER BY sum(n), many LIMIT 5', 'true'),
	('k, count(*)', 'k', 'ORDER BY count(*), k LIMIT 1000', 'true'),
	('k, count(*)', 'k', 'ORDER BY count(*), k LIMIT 0', 'true'),
	('k, count(*)', 'k', 'ORDER BY count(*), k LIMIT 3 OFFSET 299', 'true'),
	('k, count(*)', 'k', 'ORDER BY count(*), k OFFSET 295', 'true'),
	('k, count(*)', 'k', 'ORDER BY count(*), k LIMIT (SELECT 2) OFFSET (SELECT 1)', 'true'),
	('k, count(*)', 'k', 'ORDER BY count(*), k LIMIT NULL', 'k < 3'),
	('many, count(*)', 'many', 'ORDER BY count(*) DESC FETCH FIRST 2 ROWS WITH TIES', 'many < 9'),
	('k, count(*)', 'k', 'ORDER BY count(*), k LIMIT 3', 'id < 0'),
	-- by an expression behind a column; by expressions only
	('k, flag, sum(n)', 'k, flag', 'ORDER BY k DESC NULLS LAST, sum(n) / count(*), flag LIMIT 10', 'true'),
	('k, sum(n)', 'k', 'ORDER BY sum(n) / count(*), k LIMIT 3', 'true')) v(what, keys, tail, cond);
-- what core would evaluate for each group is evaluated: errors of the target list, of HAVING and of results
SELECT test.twins('top', 'many, 10 / (count(*) - 3)', keys => 'many', tail => 'ORDER BY count(*) DESC, many LIMIT 1', :how);
SELECT test.twins('top', 'many, count(*)', keys => 'many', tail => 'HAVING 10 / (count(*) - 3) < 100 ORDER BY many LIMIT 1', :how);
-- ties: some of them
SELECT test.by_batches('SELECT string_agg(x::text, '' '') FROM (SELECT count(*) AS c FROM @_top WHERE id <= 19998 GROUP BY many ORDER BY c DESC LIMIT 5) x', 'Top Groups By', 'top');
-- plans; DISTINCT; a parameter as LIMIT; more in one cursor; a limit that changes with the row of an outer query
SET zedstore.debug_vector = force;
EXPLAIN (COSTS OFF) SELECT k, t, sum(n) FROM z_top GROUP BY k, t HAVING count(*) > 2 ORDER BY sum(n) DESC NULLS LAST, k, t LIMIT 5;
EXPLAIN (COSTS OFF) SELECT DISTINCT t, k FROM z_top ORDER BY t DESC, k LIMIT 5;
\set shown 'Top Groups|Left Out|Grouping|Columns'
SELECT test.explained('SELECT many FROM z_top WHERE id <= 20000 GROUP BY many ORDER BY many LIMIT 5', :'shown', 'verbose, ');
SELECT test.explained('SELECT t, sum(n + u) FROM z_top WHERE id <= 20000 AND u < 1000 GROUP BY t ORDER BY 2 LIMIT 5', :'shown', 'verbose, ');
SELECT test.explained('SELECT few, f, count(*) FROM (SELECT k / 100 AS few, f FROM z_top WHERE id <= 19000 OFFSET 0) x GROUP BY few, f ORDER BY few NULLS FIRST, f LIMIT 5', :'shown', 'verbose, ');
EXPLAIN (COSTS OFF) SELECT k, random() FROM z_top GROUP BY k ORDER BY k LIMIT 5;
EXPLAIN (COSTS OFF) SELECT k FROM z_top GROUP BY k ORDER BY k;
PREPARE top (bigint, bigint) AS SELECT many, count(*) FROM z_top GROUP BY many ORDER BY count(*) DESC, many LIMIT $1 OFFSET $2;
SET plan_cache_mode = force_generic_plan;
EXECUTE top (2, 0);
EXECUTE top (3, 1);
EXECUTE top (NULL, 6098);
RESET plan_cache_mode;
SET zedstore.debug_vector = verify;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT many, count(*) FROM z_top GROUP BY many ORDER BY count(*) DESC, many LIMIT 4;
FETCH 2 FROM c;
FETCH BACKWARD 1 FROM c;
FETCH ALL FROM c;
FETCH BACKWARD ALL FROM c;
ROLLBACK;
SELECT g, (SELECT string_agg(k::text, ' ' ORDER BY k) FROM (SELECT k FROM z_top GROUP BY k ORDER BY count(*), k DESC NULLS LAST LIMIT g) x)
	FROM generate_series(0, 3) g;
SELECT g, (SELECT string_agg(k::text, ' ' ORDER BY k) FROM (SELECT k FROM z_top WHERE id > g * 1000 GROUP BY k ORDER BY count(*), k LIMIT 2) x)
	FROM generate_series(0, 2) g;
-- each partition has its first ones; rows of a join
CREATE TABLE z_topp (k int, v int) PARTITION BY HASH (k);
CREATE TABLE z_topp1 PARTITION OF z_topp FOR VALUES WITH (MODULUS 2, REMAINDER 0) USING zedstore;
CREATE TABLE z_topp2 PARTITION OF z_topp FOR VALUES WITH (MODULUS 2, REMAINDER 1) USING zedstore;
INSERT INTO z_topp SELECT g % 700, g FROM generate_series(1, 9999) g;
SET enable_partitionwise_aggregate = on;
EXPLAIN (COSTS OFF) SELECT k, sum(v) FROM z_topp GROUP BY k ORDER BY sum(v) DESC, k LIMIT 3;
SELECT k, sum(v) FROM z_topp GROUP BY k ORDER BY sum(v) DESC, k LIMIT 3;
SET zedstore.enable_vector_agg = off;
SELECT k, sum(v) FROM z_topp GROUP BY k ORDER BY sum(v) DESC, k LIMIT 3;
RESET zedstore.enable_vector_agg;
RESET enable_partitionwise_aggregate;
RESET zedstore.debug_vector;
SELECT test.by_batches('SELECT string_agg(x::text, '' '') FROM (SELECT a.many, sum(b.n) FROM @_top a JOIN @_top b ON b.id = a.id + 1
	GROUP BY a.many ORDER BY 2 DESC, 1 LIMIT 6) x', 'Top Groups By', 'top', NULL, test.small_and_large());
