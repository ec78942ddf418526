-- min and max leave out what zone maps say cannot change them; the result is heap's
\getenv abs_srcdir PG_ABS_SRCDIR
\set batches :abs_srcdir '/sql/include/batches.sql'
\i :batches
CREATE SCHEMA vector_extreme;
SET search_path = vector_extreme, public;
SET max_parallel_workers_per_gather = 0;
SET zedstore.min_segment_rows = 1024;
\set ECHO none
CREATE TABLE h_ext (id int, big bigint, o oid, flag bool, n numeric, f float8, r real, t text COLLATE "C", loc text COLLATE "en-x-icu", c char(9), d date,
	ts timestamptz, m money, few int) USING heap;
CREATE TABLE z_ext (LIKE h_ext) USING zedstore;
-- segments with the largest values first, in the middle and last; NULLs; equal values that look different; no numbers
CREATE PROCEDURE add(part int) LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO h_ext SELECT g, -g::bigint * 1000000007, ((g::bigint * 500000) % 4294967296)::oid, g % 5000 = 1, round(sin(g)::numeric * 100, 2 + part % 2),
			CASE WHEN g % 9000 = 77 THEN 'NaN' WHEN part = 2 THEN -0.0 ELSE cos(g) * part END, sin(g / 4096), 'key ' || lpad(((g * 7) % 20000)::text, 6, '0'),
			'Key ' || g % 977, 'c' || g % 97, date '2020-01-01' + part * 100 + g % 50, timestamptz '2024-01-01' + g * interval '1 minute', g % 300,
			CASE WHEN part % 2 = 0 THEN NULL ELSE part END
		FROM generate_series(part * 5000, part * 5000 + 4999) g;
	INSERT INTO z_ext SELECT * FROM h_ext WHERE id >= part * 5000 ORDER BY id;
END $$;
CALL add(3);
CALL add(4);
CALL add(5);
CALL add(6);
CALL add(7);
INSERT INTO h_ext SELECT * FROM h_ext WHERE id < 17000;
INSERT INTO z_ext SELECT * FROM z_ext WHERE id < 17000 ORDER BY id;
INSERT INTO h_ext (id, n) VALUES (10, 'Infinity'), (11, 'NaN'), (12, 99.99);
INSERT INTO z_ext (id, n) VALUES (10, 'Infinity'), (11, 'NaN'), (12, 99.99);
\set ECHO all
\set how 'longest => 200, switch => ''zedstore.enable_zone_maps'', switch_mark => ''v'''
\set how :how ', switch_runs => test.runs(''none single off force verify rows'')'
SELECT what, cond, test.twins('ext', what, condition => cond, :how) FROM (VALUES ('true'), ('id % 3 = 1 AND n < 50'), ('few IS NULL'), ('d > ''2021-08-01'''), ('id < 0')) c(cond),
	(VALUES ('max(id), min(id)'), ('max(id)'), ('min(id)'), ('max(big)'), ('min(big), max(o)'), ('bool_or(flag), bool_and(flag)'), ('min(n)'), ('max(n)'),
	('max(f)'), ('min(f)'), ('max(r), min(r)'), ('max(t)'), ('min(t)'), ('max(loc), min(loc)'), ('max(c), min(c)'), ('max(d)'), ('min(ts), max(ts), count(*)'),
	('max(m)'), ('min(few)'), ('max(few), count(few), sum(id)'), ('max(id) FILTER (WHERE few = 5), max(id)'), ('max(DISTINCT id)'), ('max(id), max(id) FILTER (WHERE few > 1)'),
	('max(id + 1)')) w(what);
-- errors of filters come all the same
SELECT test.twins('ext', 'max(id)', condition => '10 / (id - 38000) < 100', :how), test.twins('ext', 'max(id) FILTER (WHERE 10 / (id - 38000) < 100)', :how);
-- what is left out: segments for one of them, batches for both, the column alone beside other aggregates
SET zedstore.debug_vector = force;
CREATE TABLE z_seg (LIKE h_ext) USING zedstore;
INSERT INTO z_seg SELECT * FROM h_ext WHERE id >= 30000 ORDER BY id;
INSERT INTO z_seg SELECT * FROM h_ext WHERE id BETWEEN 100 AND 18000 ORDER BY id;
INSERT INTO z_seg SELECT * FROM h_ext WHERE id BETWEEN 20000 AND 28000 ORDER BY id;
SELECT query, test.explained('SELECT ' || query, 'Skipped|Left Out') FROM (VALUES ('max(id) FROM z_seg'), ('min(id) FROM z_seg'), ('max(ts) FROM z_seg WHERE few > 3'),
	('min(id), max(id) FROM z_seg'), ('max(f) FROM z_seg'), ('max(t) FROM z_seg'), ('max(loc) FROM z_seg'), ('max(id) FROM z_seg WHERE 10 / id < 100'),
	('max(id), count(*) FROM z_seg'), ('few, max(id) FROM z_seg GROUP BY few')) v(query);
SET zedstore.enable_zone_maps = off;
SELECT test.explained('SELECT min(id) FROM z_seg', 'Skipped|Left Out');
RESET zedstore.enable_zone_maps;
-- a scan that begins anew looks at all segments again; one that the first value of others does not stop
SELECT g, (SELECT min(id) FROM z_ext WHERE id > g) FROM (VALUES (30000), (0), (20000), (99999)) v(g);
BEGIN;
UPDATE z_ext SET id = 5 WHERE id = 39000;
SELECT min(id) FROM z_ext;
ROLLBACK;
