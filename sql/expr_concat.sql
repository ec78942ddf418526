-- strings put together, and remainders of numerics, by batches
\getenv abs_srcdir PG_ABS_SRCDIR
\set batches :abs_srcdir '/sql/include/batches.sql'
\i :batches
SET max_parallel_workers_per_gather = 0;
SET zedstore.min_segment_rows = 1024;
\set ECHO none
CREATE TABLE h_con (id int, b bigint, s smallint, few text, many text, v varchar(20), c char(6), n
	numeric, p numeric(10,2), q numeric(8,4), d date) USING heap;
INSERT INTO h_con SELECT g, CASE g % 5 WHEN 0 THEN -9223372036854775808 WHEN 1 THEN g ELSE NULL END,
	g % 100 - 50, CASE WHEN g % 13 <> 0 THEN 'few ' || g % 5 END, md5(g::text),
	CASE WHEN g % 7 <> 0 THEN 'v' || g % 300 END, 'c' || g % 9, CASE g % 4 WHEN 0 THEN g WHEN 1 THEN
	round(g / 7.0, g % 6) WHEN 2 THEN -g / 8.0 END, g / 16.0 - 100, (g % 77) / 3.0,
	date '2000-01-01' + g % 50 FROM generate_series(1, 4000) g;
CALL test.twin('con', 'id');
INSERT INTO h_con (id, few, many, n) VALUES (5000, 'row', 'row tree', 7.50), (5001, '', '', 1e30),
	(5002, repeat('long', 5000), repeat('longer', 9000), 'NaN'), (5003, 'x', NULL, 'Infinity');
INSERT INTO z_con SELECT * FROM h_con WHERE id >= 5000;
\set ECHO all
\set how 'plan => ''ZedstoreAgg.\\son'', longest => 70, runs => test.small_and_large()'
SELECT test.twins('con', what, :how), what FROM (VALUES
	('count(few || many), count(few || ''x''), count(''x'' || v)'),
	('count(DISTINCT few || ''x''), count(DISTINCT ''<'' || few || ''>'' || v)'),
	('count(DISTINCT many || id), count(DISTINCT b::text), count(DISTINCT s || few)'),
	('sum(length(few || v)), sum(length(id::text || many)), max(length(b::text))'),
	('sum(length(v || repeat(''y'', 100000))) FILTER (WHERE id < 400)'),
	('count(DISTINCT c || v), count(DISTINCT c || ''!''), sum(octet_length(v || c))'),
	('count(*) FILTER (WHERE few || v = ''few 1v26'')'),
	('count(*) FILTER (WHERE few || ''a'' LIKE ''%1a'')'),
	('count(*) FILTER (WHERE id::text LIKE ''%77%''), count(*) FILTER (WHERE b::text = ''11'')'),
	('count(few || NULL), count(upper(few || v)), count(DISTINCT left(many || few, 3))'),
	('count(CASE WHEN id < 2000 THEN few || v ELSE many || s END)'),
	('count(COALESCE(few || v, many))'),
	('count(DISTINCT CASE WHEN id < 2000 THEN few || 1 ELSE many || s END)'),
	('count(id::varchar || v)'),
	('count(d::text), count(p::text)'), ('count(id::varchar(2)), count(id::char(3))')) w(what);
SELECT test.twins('con', what || ', count(*), sum(id)', what, cond, :how), what, cond FROM (VALUES
	('few || ''x''', 'true'), ('few || v', 'true'), ('''id '' || id % 7', 'true'), ('s::text',
	'id < 3000'),
	('many || b', 'true'), ('left(many, 1) || few', 'few || v <> ''few 1v26'''),
	('c || ''|'' || c', 'id::text < ''3'''), ('few, v || few', 'id % 3 = 0')) w(what, cond);
-- remainders: display scales, signs, divisions by zero, what is no integer of 64 bits
SELECT test.twins('con', what, '', cond, :how), what, cond FROM (VALUES
	('sum(n % 3), min(n % 2.50), max(-n % 7)',
	'id < 5000'),
	('sum(p % 0.7), sum(mod(q, 0.0300)), avg(p % (q + 1))', 'true'), ('sum(n % p)', 'p <> 0'),
	('sum(n % p)', 'true'), ('sum(p % (q - q))', 'true'), ('sum(n % 5)', 'true'), ('sum(5 % n)',
	'n <> 0'),
	('count(*) FILTER (WHERE n % 2 = 0), count(*) FILTER (WHERE p % 1 > 0.5)', 'true'),
	('sum(1000000000000 % p)', 'p <> 0'), ('sum(n % 1e20)', 'true'),
	('sum(n % 0.0000000000000001)', 'id < 5000'), ('sum(CASE WHEN p <> 0 THEN n % p ELSE 0 END)',
	'true'))
	w(what, cond);
SELECT test.twins('con', 'n % 2, count(*)', 'n % 2', 'id < 5000', :how),
	test.twins('con', 'p % 0.5, count(*)', 'p % 0.5', :how);
DROP TABLE h_con, z_con;
