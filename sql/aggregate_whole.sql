-- aggregates that take vectors as a whole: the same results as heap's, and as row by row
\getenv abs_srcdir PG_ABS_SRCDIR
\set batches :abs_srcdir '/sql/include/batches.sql'
\i :batches
SET max_parallel_workers_per_gather = 0;
SET zedstore.min_segment_rows = 1024;

-- all aggregates that know totals, of one column
\set ECHO none
CREATE FUNCTION totals(col text, condition text DEFAULT 'true') RETURNS text LANGUAGE sql AS $$
	SELECT test.twins('all', format('count(%1$s), sum(%1$s), avg(%1$s), min(%1$s), max(%1$s)', col), condition => condition)
$$;

-- each column has another encoding, or several; the last vector is not full
CREATE TABLE h_all (id int, one int, narrow int, wide bigint, huge bigint, edge bigint, runs int, steps int, few int, patched int,
	half int, rare int, nothing int, tail int, s smallint, d date, flag bool,
	n numeric(9,2), nfew numeric(9,2), none_n numeric(9,2), mixed numeric, dict_mixed numeric, large numeric(30,4), odd numeric, never numeric, asc_n numeric(9,2))
	USING heap;
CREATE FUNCTION all_rows(first int, last int) RETURNS SETOF h_all LANGUAGE sql AS $$
	SELECT g, 7, hashint4(g) % 100, hashint4(g)::bigint * 1000003, hashint8(g) * 4294967296 + hashint4(g), CASE WHEN g % 2 = 0 THEN 4503599627370495 ELSE -4503599627370496 END,
		g / 300, g * 3, (ARRAY[5, 1000000, -77])[g % 3 + 1], CASE WHEN g % 97 = 0 THEN -g * 100000 ELSE g % 8 END,
		CASE WHEN hashint4(g) % 2 = 0 THEN g % 1000 END, CASE WHEN g % 50 = 0 THEN g % 900 END, NULL::int, CASE WHEN g > 3000 THEN g END,
		(g % 300)::smallint, date '2000-01-01' + g % 5000, hashint4(g) % 3 = 0,
		CASE WHEN g % 20 <> 0 THEN hashint4(g) % 100000 / 100.0 END, g % 7 / 4.0, 1.50,
		CASE g % 3 WHEN 0 THEN g WHEN 1 THEN round(g / 2.0, 1) END, CASE g % 4 WHEN 0 THEN 1.0 WHEN 1 THEN 1.00 ELSE 2 END,
		hashint8(g) * 1000000000000.0, CASE WHEN g = 2100 THEN 'NaN' WHEN g = 4200 THEN 1e40 ELSE g END, NULL::numeric, g / 100.0
	FROM generate_series(first, last) g
$$;
INSERT INTO h_all SELECT * FROM all_rows(1, 9300);
CREATE TABLE z_all (LIKE h_all) USING zedstore;
INSERT INTO z_all SELECT * FROM all_rows(1, 9300);
\set ECHO all
SELECT a, totals(a) FROM (VALUES ('id'), ('one'), ('narrow'), ('wide'), ('huge'), ('edge'), ('runs'), ('steps'), ('few'), ('patched'),
	('half'), ('rare'), ('nothing'), ('tail'), ('s'), ('n'), ('nfew'), ('none_n'), ('mixed'), ('dict_mixed'), ('large'), ('odd'), ('never'),
	('asc_n'), ('-id'), ('n + 1')) v(a);
SELECT test.twins('all', 'min(d), max(d), count(d), bool_and(flag), bool_or(flag), min(edge) + max(huge), sum(id) - count(rare)');
-- several of one column, some with FILTER or DISTINCT; beside those that take rows
SELECT test.twins('all', 'sum(id), sum(id) FILTER (WHERE flag), count(DISTINCT narrow), sum(narrow), max(narrow), stddev(narrow), bit_or(narrow)'),
	test.twins('all', 'sum(n), sum(n + 0), sum(mixed), count(DISTINCT nfew), max(nfew), min(nfew)');
-- a condition may be true of all rows of a vector, or of some
SELECT test.twins('all', 'count(*), sum(narrow), sum(n), min(steps), max(asc_n)', condition => c) FROM (VALUES ('id > 0'), ('id > 1024'), ('id > 1025'), ('one = 7'),
	('asc_n < 50'), ('id BETWEEN 1025 AND 2048'), ('id BETWEEN 1024 AND 2049'), ('flag'), ('id < 0'), ('odd > 5000')) v(c);

-- how many vectors are added so: of nine full ones for each aggregate
CREATE FUNCTION added(query text) RETURNS SETOF text LANGUAGE sql SET zedstore.debug_vector = force AS $$
	SELECT test.explained(query, 'Whole|Redone')
$$;
SELECT added('SELECT sum(id), count(n), avg(n) FROM z_all');
SELECT added('SELECT sum(wide + 1), sum(mixed), sum(huge) FROM z_all');
SELECT added('SELECT sum(id) FROM z_all WHERE id > 2048');
SELECT added('SELECT sum(id) FROM z_all GROUP BY one');
SET zedstore.enable_vector_totals = off;
SELECT added('SELECT sum(id), count(n), avg(n) FROM z_all');
RESET zedstore.enable_vector_totals;

-- a row that is gone in one vector, and one that came later; the others are as they were
DELETE FROM h_all WHERE id IN (1500, 9300);
DELETE FROM z_all WHERE id IN (1500, 9300);
SELECT added('SELECT sum(id) FROM z_all');
SELECT a, totals(a) FROM (VALUES ('id'), ('narrow'), ('half'), ('rare'), ('n'), ('nfew'), ('mixed'), ('odd'), ('asc_n')) v(a);
INSERT INTO h_all SELECT * FROM all_rows(9301, 9310);
INSERT INTO z_all SELECT * FROM all_rows(9301, 9310);
UPDATE h_all SET n = n + 1, half = -5 WHERE id = 5000;
UPDATE z_all SET n = n + 1, half = -5 WHERE id = 5000;
SELECT a, totals(a) FROM (VALUES ('id'), ('narrow'), ('half'), ('n'), ('asc_n')) v(a);
-- what only this transaction sees, and what it does not see any more
BEGIN;
DELETE FROM h_all WHERE id BETWEEN 4000 AND 6000;
DELETE FROM z_all WHERE id BETWEEN 4000 AND 6000;
SELECT a, totals(a) FROM (VALUES ('id'), ('n'), ('half')) v(a);
ROLLBACK;
ALTER TABLE h_all ADD COLUMN late int DEFAULT 3, ADD COLUMN late_n numeric(9,2) DEFAULT 1.25;
ALTER TABLE z_all ADD COLUMN late int DEFAULT 3, ADD COLUMN late_n numeric(9,2) DEFAULT 1.25;
SELECT a, totals(a) FROM (VALUES ('late'), ('late_n'), ('id')) v(a);
INSERT INTO h_all (late, late_n) SELECT g, g FROM generate_series(1, 3000) g;
INSERT INTO z_all (late, late_n) SELECT g, g FROM generate_series(1, 3000) g;
SELECT a, totals(a) FROM (VALUES ('late'), ('late_n'), ('id')) v(a);
VACUUM z_all;
SELECT a, totals(a) FROM (VALUES ('late'), ('late_n'), ('id'), ('n'), ('half')) v(a);
-- an extreme of equal numerics is the last one: 1.0 and 1.00 in different vectors
CREATE TABLE h_tie (n numeric) USING heap;
INSERT INTO h_tie SELECT CASE WHEN g <= 1024 THEN 1.0 WHEN g <= 2048 THEN 1.00 WHEN g <= 3072 THEN 1.000 ELSE 1.0 END FROM generate_series(1, 4096) g;
CREATE TABLE z_tie (n numeric) USING zedstore;
INSERT INTO z_tie SELECT CASE WHEN g <= 1024 THEN 1.0 WHEN g <= 2048 THEN 1.00 WHEN g <= 3072 THEN 1.000 ELSE 1.0 END FROM generate_series(1, 4096) g;
SELECT test.by_batches('SELECT ROW(min(n), max(n), sum(n), avg(n))::text FROM @_tie', 'ZedstoreAgg\) on');

-- groups: ranges of keys that grow and become too large, also by batches that are taken row by row (NaN); few groups and many
\set ECHO none
CREATE TABLE h_rng (id int, k int, w bigint, far int, up int, t text, x int, n numeric(8,2), odd numeric, f float8) USING heap;
INSERT INTO h_rng SELECT g, CASE WHEN g BETWEEN 1025 AND 2048 THEN 1000000 + g % 5 WHEN g > 5000 AND g < 9000 THEN -(g % 7) WHEN g % 50 <> 0 THEN g % 10 END,
		CASE WHEN g > 10000 THEN 9223372036854775807 - g % 3 WHEN g > 8000 THEN -9223372036854775808 + g % 3 WHEN g > 2000 THEN g % 4 END,
		(g * 37) % 70000, g / 3, 'text ' || hashint4(g) % 40, CASE WHEN g % 20 <> 0 THEN g % 100 END,
		CASE WHEN hashint4(g) % 20 <> 0 THEN hashint4(g) % 100000 / 100.0 END, CASE WHEN g IN (1100, 5500, 11000) THEN 'NaN' ELSE g::numeric END, g
	FROM generate_series(1, 12000) g;
CALL test.twin('rng', 'id');
CREATE FUNCTION grouped(keys text, what text, condition text DEFAULT 'true') RETURNS text LANGUAGE sql AS $$
	SELECT test.by_batches(format('SELECT md5(string_agg(q::text, '','' ORDER BY q::text COLLATE "C")) || '' '' || count(*)
		FROM (SELECT %s, %s FROM @_rng WHERE %s GROUP BY %1$s) q', keys, what, condition), 'ZedstoreAgg\) on')
$$;
\set ECHO all
SELECT keys, grouped(keys, 'count(*), sum(x), sum(n), avg(n), avg(x), count(n), sum(w)')
FROM (VALUES ('k'), ('w'), ('far'), ('up'), ('t'), ('x'), ('k, t'), ('x, t, k'), ('k, w'), ('left(t, 6), k'), ('id % 63'), ('id % 64'), ('id % 12')) v(keys);
SELECT keys, grouped(keys, 'count(*), sum(x), sum(odd), min(n), max(x), sum(f), count(DISTINCT x), sum(n) FILTER (WHERE x > 50)')
FROM (VALUES ('k'), ('t'), ('k, w'), ('far'), ('n'), ('f'), ('id % 13'), ('id % 11')) v(keys);
SELECT keys, grouped(keys, 'count(*), sum(x), sum(n), sum(up), max(k)', 'x IS DISTINCT FROM 3 AND id > 10')
FROM (VALUES ('k'), ('far'), ('x % 3, t'), ('id % 63')) v(keys);
SELECT keys, test.by_batches(format('SELECT md5(string_agg(q::text, '','' ORDER BY q::text COLLATE "C")) FROM (SELECT %s, count(*), sum(x), sum(n) FROM @_rng GROUP BY %1$s) q', keys),
	'ZedstoreAgg\) on', runs => test.small_and_large()) FROM (VALUES ('k'), ('w'), ('up'), ('x, t')) v(keys);

DROP FUNCTION totals, all_rows, added, grouped;
DROP TABLE h_rng, z_rng;
DROP TABLE h_all, z_all, h_tie, z_tie;
