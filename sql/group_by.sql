-- GROUP BY by batches: the same groups as heap's, in all modes of zedstore.debug_vector
\getenv abs_srcdir PG_ABS_SRCDIR
\set batches :abs_srcdir '/sql/include/batches.sql'
\i :batches
SET max_parallel_workers_per_gather = 0;
SET zedstore.min_segment_rows = 1024;
-- groups in one value, made at once and with five in memory
\set how 'longest => 300, runs => test.small_and_large()'
\set ECHO none
CREATE TABLE h_grp (id int, k smallint, b bigint, o oid, d date, flag bool, t text, vc varchar, c char(4), n numeric(10,2), u numeric,
	f float8, r real, big text, few int) USING heap;
INSERT INTO h_grp SELECT g, CASE WHEN g % 11 = 0 THEN NULL ELSE g % 7 - 3 END, g / 10 * 1000000000000, (g::bigint * 2000000 % 4294967296)::oid,
		date '2020-01-01' + g % 40, CASE g % 3 WHEN 0 THEN true WHEN 1 THEN false END,
		CASE WHEN g % 13 = 0 THEN NULL WHEN g % 14 = 0 THEN '' ELSE 'text ' || g % 9 END, 'v' || md5((g / 3)::text), 'c' || g % 3,
		CASE WHEN g % 10 = 0 THEN NULL ELSE g / 7.0 END, CASE WHEN g % 5 = 0 THEN g ELSE round(g / 8.0, 3) END, sin(g) * 1000, cos(g),
		CASE WHEN g % 900 = 0 THEN repeat('z', 9000 + g) ELSE 'small ' || g % 4 END, g / 2500
	FROM generate_series(1, 7000) g;
CALL test.twin('grp', 'id');
ALTER TABLE h_grp ADD COLUMN late text DEFAULT 'was', ADD COLUMN late_n int;
ALTER TABLE z_grp ADD COLUMN late text DEFAULT 'was', ADD COLUMN late_n int;
INSERT INTO h_grp (id, k, t, n, u, late, c) SELECT g, g % 5, 'text ' || g % 4, g, 1.5, 'now', 'c1' FROM generate_series(7001, 7050) g;
INSERT INTO z_grp (id, k, t, n, u, late, c) SELECT g, g % 5, 'text ' || g % 4, g, 1.5, 'now', 'c1' FROM generate_series(7001, 7050) g;
DELETE FROM h_grp WHERE id % 17 = 0;
DELETE FROM z_grp WHERE id % 17 = 0;
\set ECHO all

SET zedstore.debug_vector = force;
EXPLAIN (COSTS OFF) SELECT t, count(*), sum(n) + 1 FROM z_grp WHERE k > 0 GROUP BY t HAVING sum(n) > 100 ORDER BY t;
EXPLAIN (VERBOSE, COSTS OFF) SELECT count(*), k + 1 FROM z_grp g GROUP BY k, flag;
RESET zedstore.debug_vector;
SELECT test.twins('grp', what, keys => keys, condition => cond, :how) FROM (VALUES
	('k, count(*), sum(id), sum(n), avg(n), min(u), max(u), count(n)', 'k', 'true'),
	('flag, count(*), sum(b), avg(b), avg(id), min(d), max(d)', 'flag', 'true'),
	('t, count(*), sum(n), count(t)', 't', 'true'), ('t, count(*)', 't', 'id % 2 = 0'), ('t, count(*)', 't', 'k = 2'),
	('vc, count(*), sum(id)', 'vc', 'true'), ('c, count(*), sum(u), avg(u)', 'c', 'true'), ('d, count(*)', 'd', 'd < ''2020-01-10'''),
	('o, count(*)', 'o', 'id < 40'), ('b, sum(id), max(n)', 'b', 'true'), ('big, count(*)', 'big', 'true'), ('late, count(*)', 'late', 'true'),
	('late_n, count(*)', 'late_n', 'true'), ('few, sum(f), avg(f), sum(r), avg(r), min(f), max(r)', 'few', 'id <= 7000'),
	('k, sum(f), avg(f), sum(r), avg(r), min(f), max(r)', 'k', 'id <= 7000'),
	('k, t, flag, count(*), sum(n)', 'k, t, flag', 'true'), ('count(*)', 't, k', 'true'), ('t, k', 'k, t', 'true'), ('k * 2, count(*)', 'k', 'true'),
	('count(*)', 'id', 'true'), ('k, count(*) FILTER (WHERE flag), sum(n) FILTER (WHERE t = ''text 3'')', 'k', 'true'), ('count(*), k', 'k', 'id < 0'),
	('count(*), n', 'n', 'true'), ('count(*), f', 'f', 'true'), ('count(*), k + 1', 'k + 1', 'true'),
	('grouping(k), count(*)', 'ROLLUP (k)', 'true'), ('id, b, count(*)', 'id, b', 'id < 300')) v(what, keys, cond);
SELECT test.twins('grp', 'k, count(*)', keys => 'k', tail => 'HAVING count(*) > 900', :how), test.twins('grp', 't, sum(n)', keys => 't', tail => 'HAVING min(k) IS NULL OR t > ''text 5''', :how);
-- numerics that are no integers, in one group of many
UPDATE h_grp SET u = 'NaN' WHERE id = 3000;
UPDATE z_grp SET u = 'NaN' WHERE id = 3000;
UPDATE h_grp SET u = 1e40 WHERE id = 3001;
UPDATE z_grp SET u = 1e40 WHERE id = 3001;
VACUUM z_grp;
SELECT test.twins('grp', 'k, sum(u), avg(u), min(u), max(u)', keys => 'k', :how);
SELECT test.twins('grp', 'id, sum(u), avg(u), min(u), max(u)', keys => 'id', condition => 'id BETWEEN 2990 AND 3010', :how);
-- overflow of floats in one group
CREATE TABLE z_inf (k int, f float8) USING zedstore;
INSERT INTO z_inf SELECT g % 3, CASE WHEN g % 3 = 1 THEN 1e308 ELSE g END FROM generate_series(1, 3000) g;
SET zedstore.debug_vector = verify;
SELECT k, sum(f) FROM z_inf GROUP BY k;
SELECT k, sum(f), avg(f) FROM z_inf WHERE k <> 1 GROUP BY k ORDER BY k;
-- nondeterministic collations are core's
CREATE COLLATION vector_group_ci (PROVIDER = icu, LOCALE = 'und-u-ks-level2', DETERMINISTIC = false);
CREATE TABLE z_ci (a text COLLATE vector_group_ci, b bpchar) USING zedstore;
INSERT INTO z_ci SELECT CASE WHEN g % 2 = 0 THEN 'a' ELSE 'A' END, repeat(' ', g % 3) FROM generate_series(1, 2000) g;
EXPLAIN (COSTS OFF) SELECT count(*) FROM z_ci GROUP BY a;
SELECT count(*) FROM z_ci GROUP BY a;
EXPLAIN (COSTS OFF) SELECT count(*) FROM z_ci GROUP BY b;
RESET zedstore.debug_vector;
-- many groups in little memory: vector_spill has more of this
SET work_mem = '64kB';
SET zedstore.debug_vector = force;
SELECT count(*), sum(c), sum(s) FROM (SELECT id, count(*) AS c, sum(n) AS s FROM z_grp GROUP BY id) x;
RESET work_mem;
RESET zedstore.debug_vector_groups;
RESET zedstore.debug_vector;
SELECT count(*), sum(c), sum(s) FROM (SELECT id, count(*) AS c, sum(n) AS s FROM h_grp GROUP BY id) x;
-- a subquery that is scanned again; a cursor; columns that depend on the primary key; DISTINCT, ORDER BY and LIMIT above
SET zedstore.debug_vector = verify;
SELECT g, (SELECT sum(s) FROM (SELECT few, sum(id) AS s FROM z_grp GROUP BY few OFFSET 0) x WHERE few < g) FROM generate_series(0, 3) g;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT few, count(*) FROM z_grp GROUP BY few;
FETCH 2 FROM c;
DELETE FROM z_grp;
FETCH BACKWARD 1 FROM c;
FETCH ALL FROM c;
ROLLBACK;
SELECT few, count(*) FROM z_grp GROUP BY few ORDER BY count(*) DESC, few LIMIT 2;
SELECT DISTINCT sum(k) FROM z_grp GROUP BY c ORDER BY 1;
-- partitions with their columns in another order; window functions above; columns given by the subquery's outer row are core's
\set ECHO none
CREATE TABLE z_prt (id int, k int, n numeric(8,2)) PARTITION BY LIST (k);
CREATE TABLE z_prt1 PARTITION OF z_prt FOR VALUES IN (1) USING zedstore;
CREATE TABLE z_prt2 (n numeric(8,2), gone text, k int, id int) USING zedstore;
ALTER TABLE z_prt2 DROP COLUMN gone;
ALTER TABLE z_prt ATTACH PARTITION z_prt2 DEFAULT;
INSERT INTO z_prt SELECT g, g % 5, g / 3.0 FROM generate_series(1, 10000) g;
\set ECHO all
SET enable_partitionwise_aggregate = on;
EXPLAIN (COSTS OFF) SELECT k, count(*), sum(n) FROM z_prt t WHERE id > 100 GROUP BY k HAVING sum(id) > 5 ORDER BY k;
SELECT k, count(*), sum(n) FROM z_prt t WHERE id > 100 GROUP BY k HAVING sum(id) > 5 ORDER BY k;
SET zedstore.enable_vector_agg = off;
SELECT k, count(*), sum(n) FROM z_prt t WHERE id > 100 GROUP BY k HAVING sum(id) > 5 ORDER BY k;
RESET zedstore.enable_vector_agg;
RESET enable_partitionwise_aggregate;
SELECT k, sum(sum(n)) OVER (ORDER BY k) FROM z_prt2 GROUP BY k;
SELECT DISTINCT k FROM z_prt2 GROUP BY k, id ORDER BY k;
SELECT (SELECT count(*) FROM z_prt2 WHERE id = x.id + 1) FROM z_prt1 x WHERE id < 10;
SET enable_hashagg = off;
EXPLAIN (COSTS OFF) SELECT k, count(*) FROM z_prt2 GROUP BY k;
RESET enable_hashagg;
-- the equality function of a key
CREATE ROLE regress_vector_group;
GRANT SELECT ON z_grp TO regress_vector_group;
REVOKE EXECUTE ON FUNCTION int4eq FROM PUBLIC;
SET ROLE regress_vector_group;
SELECT few, count(*) FROM z_grp GROUP BY few ORDER BY few LIMIT 1;
RESET ROLE;
GRANT EXECUTE ON FUNCTION int4eq TO PUBLIC;
REVOKE ALL ON z_grp FROM regress_vector_group;
DROP ROLE regress_vector_group;
RESET zedstore.debug_vector;
SET enable_hashagg = off;
EXPLAIN (COSTS OFF) SELECT k, count(*) FROM z_prt2 GROUP BY k;
RESET enable_hashagg;
-- short numerics with many zeros behind the point
CREATE TABLE h_zeros AS SELECT round(d::numeric, d) AS n FROM unnest(ARRAY[3, 20, 150, 1900]) d, generate_series(1, 5);
CREATE TABLE z_zeros USING zedstore AS SELECT * FROM h_zeros;
SELECT test.twins('zeros', 'length(n::text), count(*)', keys => 'n', :how);
DROP TABLE h_zeros, z_zeros;
-- products of 16 digits and more, of batches and of rows
CREATE TABLE h_products AS SELECT g AS id, CASE WHEN g = 5000 THEN 'NaN' ELSE round((hashint4(g % 2500) & 1073741823) / 10000.0, 3) END AS n
	FROM generate_series(1, 6000) g;
CREATE TABLE z_products USING zedstore AS SELECT * FROM h_products ORDER BY id;
SELECT test.twins('products', 'n * (n + n), count(*), min(id)', keys => 'n * (n + n)', :how), test.twins('products', 'n * 1e15, count(*)', keys => 'n * 1e15', :how);
DROP TABLE h_products, z_products;
-- many strings: long ones, of a dictionary, with and without blanks that do not count, with few rows of a segment
CREATE TABLE h_many AS SELECT g AS id, CASE WHEN g % 41 <> 0 THEN repeat(md5((g / 2)::text), g % 4) || '-' || g / 2 END AS long,
		'e' || (g * 7919 % 9000) AS entry, (CASE WHEN g % 3 = 0 THEN 'c' || g / 6 || ' ' ELSE 'c' || g / 6 END)::bpchar AS c, g % 29 AS k
	FROM generate_series(1, 24000) g;
CREATE TABLE z_many USING zedstore AS SELECT * FROM h_many ORDER BY id;
SELECT test.twins('many', what, keys => keys, condition => cond, :how) FROM (VALUES ('long, count(*), sum(id)', 'long', 'true'), ('entry, count(*), min(id)', 'entry', 'true'),
	('length(c), count(*), max(id)', 'c', 'true'), ('entry, k, count(*)', 'entry, k', 'id > 12000'), ('long, c, sum(k)', 'long, c', 'k < 9'),
	('k, count(DISTINCT long), count(DISTINCT entry)', 'k', 'true')) v(what, keys, cond);
DROP TABLE h_many, z_many;
DROP TABLE h_grp, z_grp, z_inf, z_ci, z_prt;
DROP COLLATION vector_group_ci;
