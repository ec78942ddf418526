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
CREATE TABLE z_known (LIKE h_known) USING zedstore;
INSERT INTO z_known SELECT * FROM h_known ORDER BY id;
DELETE FROM h_known WHERE id % 50 = 7;
DELETE FROM z_known WHERE id % 50 = 7;
ANALYZE z_known;
SELECT attname, bool_or(encodings LIKE '%mixed%') AS mixed FROM pg_zs_segments('z_known')
	WHERE attname NOT IN ('id', 'xmin') GROUP BY attname ORDER BY attname;
CREATE FUNCTION twins(what text, tail text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	query text := 'SELECT string_agg(x::text, '' '') FROM (SELECT ' || what || ' FROM @_known ' ||
		tail || ') x';
	result text;
	off text;
BEGIN
	result := test.by_batches(query, 'ZedstoreAgg', 'batches', 60,
		ARRAY[['off', '0', '8'], ['force', '0', '8'], ['force', '20', '8'], ['force', '5000', '8'],
			['verify', '0', '8'], ['verify', '20', '8'], ['rows', '20', '8']]);
	PERFORM set_config('zedstore.enable_known_strings', 'off', true);
	off := test.by_batches(query, 'ZedstoreAgg', 'batches', 60,
		ARRAY[['force', '0', '8'], ['force', '20', '8']]);
	PERFORM set_config('zedstore.enable_known_strings', 'on', true);
	IF regexp_replace(off, '^(batches|-) ', '') <> regexp_replace(result, '^(batches|-) ', '') THEN
		RETURN 'DIFFERENT: ' || result || ' and ' || off;
	END IF;
	RETURN result;
END $$;
SELECT what, tail, twins(what, tail) FROM (VALUES
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
