-- what several keys and arguments of aggregates by batches have in common is computed once
\getenv abs_srcdir PG_ABS_SRCDIR
\set batches :abs_srcdir '/sql/include/batches.sql'
\i :batches
SET max_parallel_workers_per_gather = 0;
SET zedstore.min_segment_rows = 1024;
\set ECHO none
CREATE TABLE h_shr (id int, k int, n numeric(10,2), p numeric(6,4), u numeric, f float8, t text)
	USING heap;
-- numerics of one scale and of several, in batches of which few rows pass; overflows in the last
-- rows
INSERT INTO h_shr SELECT g, CASE WHEN g % 10 <> 0 THEN g % 7 END, g / 7.0, (g % 97) / 97.0,
	CASE g % 4 WHEN 0 THEN g WHEN 1 THEN round(g / 7.0, 3) WHEN 2 THEN g * 1.50 END, g / 3.0,
	't' || g % 5 FROM generate_series(1, 5000) g;
CALL test.twin('shr', 'id');
\set ECHO all
\set how 'plan => ''ZedstoreAgg.\\son'', longest => 100, runs => test.small_and_large()'
SELECT test.twins('shr', what, :how), what FROM (VALUES
	('sum(n * (1 - p)), sum(n * (1 - p) * (1 + p)), avg(n * (1 - p)), count(n * (1 - p))'),
	('sum(id + k), sum((id + k) * 2), min(id + k), max((id + k) * 2), count(DISTINCT id + k)'),
	('sum(u * 2), sum(u * 2 + n), min(u * 2), sum(u * 2) FILTER (WHERE k = 3), sum(-(u * 2))'),
	('sum(CASE WHEN k = 3 THEN u * 2 ELSE n END), sum(u * 2), sum(CASE WHEN k > 3 THEN u * 2 END)'),
	('sum(COALESCE(u * 2, n)), sum(u * 2), sum(NULLIF(u * 2, 3)), count(u * 2 > 5)'),
	('sum(f * 2), sum(f * 2 + 1), avg(f * 2), sum(-(f * 2)), sum(f * 2.0 + 1)'),
	('sum(length(t || ''x'')), count(DISTINCT t || ''x''), count(t || ''x'' || id)'),
	('sum(10 / (id % 1999)), sum(id % 1999)'), ('sum(id % 1999), sum(10 / (id % 1998 + 1))'),
	('sum(round(u, 1)), sum(round(u, 1) + 1), sum(round(u, 0)), sum(+u), sum(+u + 1)'),
	('sum(1 + id), sum(1.0 + n), sum(1.00 + n), sum(1 + NULL::int), sum(id + 1)')) v(what);
SELECT test.twins('shr', what, tail => tail, :how), what, tail FROM (VALUES
	('k + 1, sum(k + 1), sum((k + 1) * id), count(DISTINCT k + 1)', 'GROUP BY k + 1'),
	('u * 2, sum(u * 2), count(*)', 'WHERE id < 2500 GROUP BY u * 2'),
	('t || ''x'', t || ''y'', count(t || ''x''), sum(length(t || ''x''))',
	'GROUP BY t || ''x'', t || ''y'''),
	('k, sum(n * (1 - p)), avg(n * (1 - p)), sum(n * (1 - p) * (1 + p))',
	'WHERE id % 300 < 5 GROUP BY k'),
	('sum(u * 2), sum(u * 2 + n), max(n + 1), sum(n + 1)', 'WHERE id IN (10, 1500, 2600, 4001)'))
	v(what, tail);
DROP TABLE h_shr, z_shr;
