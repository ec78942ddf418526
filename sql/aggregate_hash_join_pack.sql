-- hash joins by batches whose keys are several integers: as one, where the types of the inner side
-- leave room for that
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
-- "j" in front: joins are done by batches.  "J": and the switch is off in the runs before.
\set how 'plan => ''Joins by Batches'', mark => ''j'', longest => 60'
\set how :how ', runs => test.runs(''none off force force:5 verify rows'')'
\set how :how ', switch => ''zedstore.enable_vector_join'', switch_mark => ''-'''
-- the least and the largest integers, zero, such as are equal in their lower bits, and NULL
CREATE TABLE h_fact (id int, a2 int2, b2 int2, a4 int, b4 int, a8 int8, b8 int8, d date, f bool);
INSERT INTO h_fact SELECT g,
		(ARRAY[-32768, -1, 0, 1, 255, 256, 32767, NULL])[1 + g % 8],
		(ARRAY[-32768, -1, 0, 1, 255, 32767, NULL])[1 + g % 7],
		(ARRAY[-2147483648, -65536, -1, 0, 1, 65535, 65536, 2147483647, NULL])[1 + g % 9],
		(ARRAY[-2147483648, -1, 0, 1, 65536, 2147483647, NULL])[1 + g % 7],
		(ARRAY[-9223372036854775808, -4294967297, -4294967296, -2147483649, -2147483648, -1, 0,
			1, 65535, 65536, 2147483647, 2147483648, 4294967295, 4294967296, 4294967297,
			9223372036854775807, NULL])[1 + g % 17],
		(ARRAY[-2147483648, -1, 0, 1, 65536, 4294967296, NULL])[1 + g % 7],
		date '2000-01-01' + (ARRAY[-36525, -1, 0, 1, 36525, NULL])[1 + g % 6], g % 3 = 0
	FROM generate_series(1, 9000) g;
CALL test.twin('fact', 'id');
-- the same values in other pairs: some once, some several times, some never
CREATE TABLE h_inner (LIKE h_fact);
INSERT INTO h_inner SELECT g, f.a2, g.b2, g.a4, f.b4, f.a8, g.b8, f.d, g.f
	FROM (SELECT *, row_number() OVER (ORDER BY id) AS n FROM h_fact WHERE id <= 400) f
	JOIN (SELECT *, row_number() OVER (ORDER BY id % 13, id) AS n FROM h_fact WHERE id <= 400) g
	USING (n), LATERAL (SELECT f.id) AS x (g);
CALL test.twin('inner', 'id');
VACUUM (FREEZE, ANALYZE) h_fact, z_fact, h_inner, z_inner;
-- keys of 32 to 64 bits, and of more; of the same types, and of wider ones on either side
CREATE TABLE keys (nr int, keys text);
INSERT INTO keys SELECT row_number() OVER (), k FROM (VALUES
	('i.a4 = f.a4 AND i.b4 = f.b4'),
	('i.a2 = f.a2 AND i.b2 = f.b2'),
	('i.a2 = f.a2 AND i.b2 = f.b2 AND i.a4 = f.a4'),
	('i.b4 = f.b4 AND i.a2 = f.a2'),
	('i.a4 = f.a8 AND i.b4 = f.b8'),
	('i.a2 = f.a8 AND i.b4 = f.b8'),
	('i.a2 = f.a4 AND i.b2 = f.b4 AND i.b4 = f.a8'),
	('i.d = f.d AND i.b4 = f.b4'),
	('i.d = f.d AND i.a2 = f.a2 AND i.b2 = f.b4'),
	('i.a4 = f.a4 + 0 AND i.b4 = f.b4'),
	('i.a8 = f.a8 AND i.b8 = f.b8'),
	('i.a8 = f.a4 AND i.b2 = f.b2'),
	('i.a4 = f.a4 AND i.b4 = f.b4 AND i.a2 = f.a2'),
	('i.a4 = f.a4 AND i.f = f.f')) v(k);
CREATE TABLE kinds (kind text, query text);
INSERT INTO kinds VALUES
	('inner', 'SELECT f.a2, count(*), sum(i.id), sum(f.id)
		FROM @_fact f JOIN @_inner i ON KEYS GROUP BY f.a2'),
	('left', 'SELECT f.a2, count(i.id), sum(i.id), sum(f.id)
		FROM @_fact f LEFT JOIN @_inner i ON KEYS GROUP BY f.a2'),
	('right', 'SELECT i.b2, count(f.id), sum(i.id), sum(f.id)
		FROM @_fact f RIGHT JOIN @_inner i ON KEYS GROUP BY i.b2'),
	('full', 'SELECT i.b2, f.a2, count(*), sum(i.id), sum(f.id)
		FROM @_fact f FULL JOIN @_inner i ON KEYS GROUP BY i.b2, f.a2'),
	('semi', 'SELECT f.a2, count(*), sum(f.id)
		FROM @_fact f WHERE EXISTS (SELECT FROM @_inner i WHERE KEYS) GROUP BY f.a2'),
	('anti', 'SELECT f.a2, count(*), sum(f.id)
		FROM @_fact f WHERE NOT EXISTS (SELECT FROM @_inner i WHERE KEYS) GROUP BY f.a2');
SELECT nr, kind, test.twins(query => replace(query, 'KEYS', keys), :how) FROM keys, kinds
	ORDER BY nr, kind;
-- a key behind one that is NULL is not computed, as that of row 16; that of row 32, whose first key
-- is out of range of the other side's type, is
SELECT test.twins(query => 'SELECT count(*) FROM @_fact f JOIN @_inner i
	ON i.a4 = f.a8 AND i.b4 = 100 / (f.id - 16)', :how);
SELECT test.twins(query => 'SELECT count(*) FROM @_fact f JOIN @_inner i
	ON i.a4 = f.a8 AND i.b4 = 100 / (f.id - 32)', :how);
SELECT test.twins(query => 'SELECT count(*) FROM @_inner i JOIN @_fact f
	ON i.a4 = f.a8 AND i.b4 = 100 / (f.id - 16)', :how);
SELECT test.twins(query => 'SELECT count(*) FROM @_fact f JOIN @_inner i
	ON f.a8 = 100 / (i.id - 16) AND i.b4 = f.b4', :how);
-- in parts, and with rows of the row tree
SET work_mem = '96kB';
SET hash_mem_multiplier = 1;
UPDATE h_inner SET id = id + 1000 WHERE id % 5 = 0;
UPDATE z_inner SET id = id + 1000 WHERE id % 5 = 0;
SELECT test.twins(query => 'SELECT f.f, count(*), sum(i.id), sum(f.id)
	FROM @_inner i JOIN @_fact f ON f.a4 = i.a4 AND f.b4 = i.b4 GROUP BY f.f', :how);
SELECT nr, kind, test.twins(query => replace(query, 'KEYS', keys), :how) FROM keys, kinds
	WHERE nr IN (1, 5, 7) ORDER BY nr, kind;
RESET ALL;
-- Aggregated rows are joined by batches, not in the order that scans of ours could give; keys of
-- which lower bits are nearly all equal do not lie in clusters.
SET max_parallel_workers_per_gather = 0;
CREATE TABLE z_line (o int, l int2, b bigint) USING zedstore;
INSERT INTO z_line SELECT g / 4, g % 4, g * 65536::bigint FROM generate_series(1, 100000) g;
VACUUM (FREEZE, ANALYZE) z_line;
EXPLAIN (COSTS OFF) SELECT count(*) FROM z_line x JOIN z_line y ON x.o = y.o AND x.l = y.l;
SELECT count(*) FROM z_line x JOIN z_line y ON x.o = y.o AND x.l = y.l;
SELECT count(*) FROM z_line x JOIN z_line y ON x.b = y.b + 0;
DROP TABLE z_line;
DROP TABLE h_fact, z_fact, h_inner, z_inner, keys, kinds;
