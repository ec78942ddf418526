-- ORDER BY count(*) DESC LIMIT without memory: rows of groups that have too few are not grouped
\getenv abs_srcdir PG_ABS_SRCDIR
\set batches :abs_srcdir '/sql/include/batches.sql'
\i :batches
CREATE SCHEMA vector_rare;
SET search_path = vector_rare, public;
SET max_parallel_workers_per_gather = 0;
SET zedstore.min_segment_rows = 1024;
-- early has seven groups of many rows from the beginning; late has three more, which begin later
\set ECHO none
CREATE TABLE h_rare (id int, early int, late int, t text, n numeric, f float8) USING heap;
INSERT INTO h_rare SELECT g, CASE WHEN g % 2 = 0 THEN g % 14 ELSE g END,
		CASE WHEN g > 10000 AND g % 8 < 7 THEN g % 3 - 3 WHEN g % 2 = 0 THEN g % 14 ELSE g END,
		CASE WHEN g % 29 = 0 THEN NULL WHEN g % 3 = 0 THEN 'text ' || g % 5 ELSE 'text ' || g END,
		g / 4.0, g / 2.0
	FROM generate_series(1, 20000) g;
CALL test.twin('rare', 'id');
INSERT INTO h_rare SELECT g, g % 14, g, 'text 1', 0, 0 FROM generate_series(20001, 20100) g;
INSERT INTO z_rare SELECT g, g % 14, g, 'text 1', 0, 0 FROM generate_series(20001, 20100) g;
DELETE FROM h_rare WHERE id % 100 = 50;
DELETE FROM z_rare WHERE id % 100 = 50;
CREATE TABLE z_unknown (LIKE h_rare) USING zedstore WITH (autovacuum_enabled = off);
INSERT INTO z_unknown SELECT * FROM z_rare;
ANALYZE z_rare;
CREATE FUNCTION pg_temp.once(int) RETURNS int VOLATILE LANGUAGE plpgsql
	AS 'BEGIN RETURN $1; END';
\set ECHO all
-- rows in their order, with and without these plans; all groups but some without memory
\set how 'ordered => true, plan => ''Top Groups By'', mark => ''top'', longest => 80'
\set how :how ', runs => test.runs(''off force force:20 force:1000 verify:20 rows:20'')'
\set how :how ', switch => ''zedstore.enable_top_groups'', switch_mark => ''-'''
\set how :how ', switch_runs => test.runs(''force:20'')'
-- what is done with rows that have no memory
CREATE FUNCTION done(what text, tail text, condition text, suffix text DEFAULT 'rare')
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan json;
	result text;
BEGIN
	PERFORM set_config('zedstore.debug_vector', 'force', true);
	PERFORM set_config('zedstore.debug_vector_groups', '20', true);
	plan := test.top_node('SELECT ' || what || ' FROM z_' || suffix || ' WHERE ' || condition ||
						  ' GROUP BY 1 ' || tail) -> 'Plans' -> 0 -> 'Plans' -> 0;
	result := CASE WHEN (plan ->> 'Rows of Rare Groups Left Out')::float8 > 0 THEN 'left out'
		ELSE 'kept' END ||
		CASE WHEN (plan ->> 'Disk Usage')::int > 0 THEN ', written' ELSE '' END ||
		CASE WHEN (plan ->> 'Scanned Again')::int > 0 THEN ', scanned again' ELSE '' END;
	PERFORM set_config('zedstore.debug_vector', 'off', true);
	PERFORM set_config('zedstore.debug_vector_groups', '0', true);
	RETURN result;
END $$;
SELECT what, tail, cond, done(what, tail, cond),
	test.twins('rare', what, '1', cond, tail, :how) FROM (VALUES
	('early, count(*), sum(id), min(t)', 'ORDER BY count(*) DESC, 1 LIMIT 5', 'true'),
	('early, count(*), avg(id)', 'ORDER BY 2 DESC, 1 LIMIT 5', 'id > 3000 AND t IS NOT NULL'),
	('early, count(t) FILTER (WHERE id % 4 < 3)', 'ORDER BY 2 DESC, 1 LIMIT 3 OFFSET 2', 'true'),
	('t, count(*)', 'ORDER BY 2 DESC, 1 LIMIT 5', 'true'),
	('late, count(*), sum(id)', 'ORDER BY count(*) DESC, 1 LIMIT 4', 'true'),
	('late, count(*), max(t)', 'ORDER BY count(*) DESC, 1 LIMIT 7', 'id % 5 < 4'),
	-- there are not so many groups of many rows
	('early, count(*)', 'ORDER BY count(*) DESC, 1 LIMIT 8', 'true'),
	('id, count(*)', 'ORDER BY count(*) DESC, 1 LIMIT 8', 'true'),
	('early, count(*)', 'ORDER BY count(*) DESC, 1 LIMIT 8', 'early < 14'),
	-- something else is wanted, or looked at
	('early, count(*)', 'ORDER BY count(*), 1 LIMIT 5', 'true'),
	('early, sum(id), count(*)', 'ORDER BY sum(id) DESC, 1 LIMIT 5', 'true'),
	('early, count(*)', 'ORDER BY 1 DESC, 2 DESC LIMIT 5', 'true'),
	('early, count(*)', 'HAVING min(id) > 20 ORDER BY count(*) DESC, 1 LIMIT 5', 'true'),
	('early, count(*), sum(f)', 'ORDER BY count(*) DESC, 1 LIMIT 5', 'true'),
	('early, count(*), sum(n)', 'ORDER BY count(*) DESC, 1 LIMIT 5', 'true'),
	('early, count(DISTINCT t)', 'ORDER BY 2 DESC, 1 LIMIT 5', 'true'),
	-- the input is not looked at twice
	('early, count(*)', 'ORDER BY count(*) DESC, 1 LIMIT 5', 'pg_temp.once(id) > 0'))
	v(what, tail, cond) \gx
SELECT done('early, count(*)', 'ORDER BY 2 DESC, 1 LIMIT 5', 'true', 'unknown');
SELECT done('late, count(*)', 'ORDER BY 2 DESC, 1 LIMIT 5', 'true', 'unknown');
-- what was counted is forgotten when the scan begins again
SELECT test.by_batches('SELECT string_agg(x::text, '' '') FROM (SELECT g,
		(SELECT string_agg(y::text, '' '') FROM (SELECT late, count(*) FROM @_rare
			WHERE id > g * 2000 GROUP BY late ORDER BY count(*) DESC, 1 LIMIT g) y)
	FROM generate_series(1, 3) g) x', 'Top Groups By', 'top', 200,
	ARRAY[['off', '0', '8'], ['force', '20', '8'], ['rows', '20', '8']]);
