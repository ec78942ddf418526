-- grouping by strings some of which are entries of a segment's dictionary
\getenv abs_srcdir PG_ABS_SRCDIR
\set batches :abs_srcdir '/sql/include/batches.sql'
\i :batches
CREATE SCHEMA vector_known;
SET search_path = vector_known, public;
SET max_parallel_workers_per_gather = 0;
SET zedstore.enable_ordered_scan = off;
-- u: half of the rows repeat one of 700 addresses, the others have their own; v: with NULL
CREATE TABLE h_known (id int, u text, v text) USING heap;
INSERT INTO h_known SELECT g, u, CASE WHEN g % 9 <> 0 THEN u END
	FROM (SELECT g, 'http://www.' || CASE WHEN g % 2 = 0 THEN md5((g * 7919 % 700)::text)
			ELSE md5('own ' || g) || g END || '/index.html?section=' || g % 3 AS u
		FROM generate_series(1, 24000) g) s;
CALL test.twin('known', 'id');
DELETE FROM h_known WHERE id % 50 = 7;
DELETE FROM z_known WHERE id % 50 = 7;
ANALYZE z_known;
SELECT attname, bool_or(encodings LIKE '%mixed%') AS mixed FROM pg_zs_segments('z_known')
	WHERE attname NOT IN ('id', 'xmin') GROUP BY attname ORDER BY attname;
\set how 'ordered => true, plan => ''ZedstoreAgg'', mark => ''batches'', longest => 60'
\set how :how ', runs => test.runs(''off force force:20 force:5000 verify verify:20 rows:20'')'
\set how :how ', switch => ''zedstore.enable_known_strings'''
\set how :how ', switch_runs => test.runs(''force force:20'')'
SELECT what, tail, test.twins('known', what, tail => tail, :how) FROM (VALUES
	('u, count(*)', 'GROUP BY u ORDER BY count(*) DESC, u LIMIT 5'),
	('u, count(*), min(id)', 'GROUP BY u ORDER BY u LIMIT 2000'),
	('v, count(*), max(id)', 'GROUP BY v ORDER BY v NULLS FIRST LIMIT 2000'),
	('v, count(*)', 'GROUP BY v ORDER BY count(*) DESC, v LIMIT 3'),
	('u, v, count(*)', 'GROUP BY u, v ORDER BY u, v LIMIT 2000'),
	('id % 5, u, count(*)', 'GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 4'),
	('u, count(*)', 'WHERE id % 4 < 2 GROUP BY u ORDER BY u LIMIT 2000'),
	('u, count(*)', 'WHERE id % 97 = 0 GROUP BY u ORDER BY u LIMIT 2000'),
	('count(DISTINCT u), count(DISTINCT v)', ''),
	('id % 3, count(DISTINCT v)', 'GROUP BY 1 ORDER BY 1'))
	v(what, tail) \gx
