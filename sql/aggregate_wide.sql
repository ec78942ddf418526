-- aggregates and filters by batches over tables of very many columns: more than there are read streams
\getenv abs_srcdir PG_ABS_SRCDIR
\set batches :abs_srcdir '/sql/include/batches.sql'
\i :batches
SET max_parallel_workers_per_gather = 0;
SET zedstore.min_segment_rows = 1024;
DO $$
BEGIN
	EXECUTE (SELECT 'CREATE TABLE h_wide (id int, ' || string_agg(format('c%s %s', i, (ARRAY['int', 'bigint', 'numeric', 'text', 'float8', 'date'])[i % 6 + 1]), ', ' ORDER BY i) || ') USING heap'
		FROM generate_series(1, 1000) i);
	EXECUTE (SELECT 'INSERT INTO h_wide SELECT r, ' || string_agg(CASE i % 6 WHEN 0 THEN format('nullif(r %% %s, 0)', i % 50 + 2) WHEN 1 THEN format('r * %s::bigint', i) WHEN 2 THEN format('r / %s.0', i % 7 + 1)
			WHEN 3 THEN format('''t'' || r %% %s', i % 9 + 1) WHEN 4 THEN format('r %% %s', i) ELSE format('date ''2020-01-01'' + r %% %s', i) END, ', ' ORDER BY i) || ' FROM generate_series(1, 2500) r'
		FROM generate_series(1, 1000) i);
END $$;
CALL test.twin('wide', 'id');
-- each column
SELECT test.by_batches('SELECT md5(ROW(' || string_agg(format(CASE WHEN i % 6 IN (3, 5) THEN 'max(c%1$s), count(c%1$s)' WHEN i % 6 = 4 THEN 'sum(c%s)' ELSE 'avg(c%s)' END, i), ', ' ORDER BY i) || ')::text) FROM @_wide', 'ZedstoreAgg')
	FROM generate_series(1, 1000) i;
SELECT test.by_batches('SELECT string_agg(md5(r::text), '' '' ORDER BY r::text COLLATE "C") FROM (SELECT c6, ' || string_agg(format('min(c%s)', i), ', ' ORDER BY i) || ' FROM @_wide GROUP BY c6) r', 'ZedstoreAgg\) on', 'v', 60, test.small_and_large())
	FROM generate_series(1, 1000, 5) i;
-- many conditions, many keys
SELECT test.by_batches('SELECT count(*) || '' '' || sum(id) FROM @_wide WHERE ' || string_agg(format(CASE i % 6 WHEN 3 THEN 'c%s LIKE ''t%%''' WHEN 5 THEN 'c%s < ''2022-01-01''' ELSE '(c%s < 2400 OR id < 2400)' END, i), ' AND ' ORDER BY i), 'ZedstoreAgg')
	FROM generate_series(1, 1000, 7) i;
SELECT test.by_batches('SELECT md5(string_agg(r::text, '','' ORDER BY r::text COLLATE "C")) FROM (SELECT count(*), ' || keys || ' FROM @_wide GROUP BY ' || keys || ') r', 'ZedstoreAgg\) on', 'v', 60, test.small_and_large())
	FROM (SELECT string_agg('c' || i, ', ' ORDER BY i) AS keys FROM generate_series(6, 180, 6) i) k;
