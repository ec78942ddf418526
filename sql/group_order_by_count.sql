-- ORDER BY count(*) DESC LIMIT: few groups tell which are wanted, or the order of their keys does
\getenv abs_srcdir PG_ABS_SRCDIR
\set batches :abs_srcdir '/sql/include/batches.sql'
\i :batches
CREATE SCHEMA vector_few;
SET search_path = vector_few, public;
SET max_parallel_workers_per_gather = 0;
SET zedstore.min_segment_rows = 1024;
-- single: each row another, in no order; two: each value has one row or two; few: some twice;
-- heavy: every third row belongs to one of ten values, the others to 8000; late: the same in the
-- first half, then there are twenty other values; pairs: each value has two rows, far apart
\set ECHO none
CREATE TABLE h_few (single bigint, two int, few int, heavy int, late int, pairs int, d date,
	null_ int, t text, n numeric) USING heap;
INSERT INTO h_few SELECT (g * 7919::bigint) % 40009, (g * 7919) % 40009 / 2 + g % 2,
		CASE WHEN g % 8000 = 0 THEN 7 WHEN g % 9000 < 2 THEN g / 9000 ELSE g * 3 END,
		CASE WHEN g % 3 = 0 THEN g % 10 ELSE 100 + g * 7919 % 8009 END,
		CASE WHEN g > 20000 THEN -100 - g % 20 WHEN g % 3 = 0 THEN g % 10
			ELSE 100 + g * 7919 % 8009 END,
		(g * 7919) % 20011, date '2001-01-01' + (g * 7919) % 40009,
		CASE WHEN g % 7 <> 0 THEN (g * 7919) % 40009 END, 'text ' || (g * 7919) % 40009, g / 8.0
	FROM generate_series(1, 40000) g;
CREATE TABLE z_few (LIKE h_few) USING zedstore WITH (autovacuum_enabled = off);
INSERT INTO z_few SELECT * FROM h_few;
INSERT INTO h_few SELECT -g, -g, -g, -g, -g, -g, date '2000-01-01' + g, g, 'row', 0
	FROM generate_series(1, 50) g;
INSERT INTO z_few SELECT -g, -g, -g, -g, -g, -g, date '2000-01-01' + g, g, 'row', 0
	FROM generate_series(1, 50) g;
DELETE FROM h_few WHERE single % 100 = 50;
DELETE FROM z_few WHERE single % 100 = 50;
ANALYZE z_few;
\set ECHO all
-- what heap returns, and is that returned with memory and without, with rows counted and not?
\set how 'ordered => true, plan => ''Top Groups By'', mark => ''top'', longest => 80'
\set how :how ', runs => test.runs(''off force force:20 force:5000 verify:20 rows rows:20'')'
\set how :how ', switch => ''zedstore.enable_rare_groups'''
\set how :how ', switch_runs => test.runs(''force force:20'')'
-- what is done with rows, if there is memory for so many groups
CREATE FUNCTION done(what text, keys text, tail text, condition text, groups int) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	plan json;
	result text;
BEGIN
	PERFORM set_config('zedstore.debug_vector', 'force', true);
	PERFORM set_config('zedstore.debug_vector_groups', groups::text, true);
	plan := test.top_node('SELECT ' || what || ' FROM z_few WHERE ' || condition || ' GROUP BY ' ||
						  keys || ' ' || tail) -> 'Plans' -> 0 -> 'Plans' -> 0;
	result := CASE WHEN (plan ->> 'Rows of Rare Groups Left Out')::float8 > 0 THEN 'left out'
		ELSE 'kept' END ||
		CASE WHEN (plan ->> 'Disk Usage')::int > 0 THEN ', written' ELSE '' END ||
		CASE WHEN (plan ->> 'Scanned Again')::int > 0 THEN ', scanned again' ELSE '' END;
	PERFORM set_config('zedstore.debug_vector', 'off', true);
	PERFORM set_config('zedstore.debug_vector_groups', '0', true);
	RETURN result;
END $$;
SELECT what, keys, tail, cond, done(what, keys, tail, cond, 0) AS memory,
	done(what, keys, tail, cond, 20) AS none,
	test.twins('few', what, keys, cond, tail, :how) FROM (VALUES
	-- each row is a group
	('single, count(*), sum(two)', '1', 'ORDER BY count(*) DESC, 1 LIMIT 5', 'true'),
	('single, count(*), sum(two)', '1', 'ORDER BY count(*) DESC, 1 DESC LIMIT 5 OFFSET 2', 'true'),
	('single, two, count(*)', '1, 2', 'ORDER BY count(*) DESC, 2, 1 LIMIT 5', 'true'),
	('d, count(*), max(t)', '1', 'ORDER BY count(*) DESC, 1 DESC LIMIT 3', 'single > 5000'),
	('null_, single, count(null_)', '1, 2', 'ORDER BY 3 DESC, 1 NULLS FIRST, 2 LIMIT 3', 'true'),
	('null_, single, count(*)', '1, 2', 'ORDER BY 3 DESC, 1 NULLS FIRST, 2 LIMIT 3', 'true'),
	('null_, single, count(*)', '1, 2', 'ORDER BY 3 DESC, 1 DESC NULLS LAST, 2 LIMIT 3', 'true'),
	-- some groups have two rows
	('two, count(*)', '1', 'ORDER BY count(*) DESC, 1 LIMIT 5', 'true'),
	('few, count(*)', '1', 'ORDER BY count(*) DESC, 1 LIMIT 5', 'true'),
	('few, count(*)', '1', 'ORDER BY count(*) DESC, 1 LIMIT 9', 'true'),
	('pairs, count(*)', '1', 'ORDER BY count(*) DESC, 1 LIMIT 5', 'true'),
	-- their keys do not tell, or not alone
	('t, count(*)', '1', 'ORDER BY count(*) DESC, 1 LIMIT 3', 'true'),
	-- ... or some take as long to form again as to make groups of them
	('few, t, count(*)', '1, 2', 'ORDER BY count(*) DESC, 1, 2 LIMIT 3', 'true'),
	('single, count(*), sum(two)', '1', 'ORDER BY count(*) DESC, 3, 1 LIMIT 3', 'true'),
	('single, count(*), sum(n)', '1', 'ORDER BY count(*) DESC, 1 LIMIT 3', 'true'),
	-- there are a few that have many rows
	('heavy, count(*), sum(two)', '1', 'ORDER BY count(*) DESC, 1 LIMIT 5', 'true'),
	('heavy, count(*), sum(two)', '1', 'ORDER BY count(*) DESC, 1 LIMIT 9', 'n > 100'),
	('heavy, count(*)', '1', 'ORDER BY count(*) DESC, 1 LIMIT 12', 'true'),
	('late, count(*), sum(two)', '1', 'ORDER BY count(*) DESC, 1 LIMIT 5', 'true'),
	('late, count(*), sum(two)', '1', 'ORDER BY count(*) DESC, 1 LIMIT 12', 'true'))
	v(what, keys, tail, cond) \gx
-- and again, with other limits, in one execution
SELECT test.by_batches('SELECT string_agg(x::text, '' '') FROM (SELECT g,
		(SELECT string_agg(y::text, '' '') FROM (SELECT single, count(*) FROM @_few
			WHERE two > g * 2000 GROUP BY single ORDER BY count(*) DESC, 1 LIMIT g) y)
	FROM generate_series(1, 3) g) x', 'Top Groups By', 'top', 200,
	ARRAY[['off', '0', '8'], ['force', '0', '8'], ['force', '20', '8'], ['rows', '20', '8']]);
