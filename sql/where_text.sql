-- strings of some rows of a vector: what filters leave, and what is asked for later, with
-- zedstore.enable_partial_vectors on and off
\getenv abs_srcdir PG_ABS_SRCDIR
\set batches :abs_srcdir '/sql/include/batches.sql'
\i :batches
SET max_parallel_workers_per_gather = 0;
\set how 'plan => ''Zedstore(Agg|Scan)'', longest => 40'
\set ECHO none
CREATE FUNCTION sentence(g int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT string_agg((ARRAY['carefully', 'final', 'deposits', 'sleep', 'quickly', 'the', 'above',
		'even', 'theodolites', 'haggle', 'furiously', 'ironic', 'accounts', 'among', 'packages',
		E'\u00fcber', 'regular', 'pending', 'requests', 'nag'])
		[1 + abs(hashint4(g * 16 + n)::bigint) % 20], ' ' ORDER BY n) || ' ' || g
	FROM generate_series(1, 4 + g % 9) n
$$;
CREATE TABLE h_some (id int, k int, long text, often text, big text, c char(60), hash text)
USING heap;
INSERT INTO h_some
SELECT g, (g * 7919::bigint % 1000)::int, CASE WHEN g % 13 > 0 THEN s END,
	CASE WHEN g % 3 = 0 THEN s ELSE 'often ' || g % 500 || ' the same sentence as of old' END,
	CASE WHEN g % 5000 = 7 THEN repeat('overflow ', 2000) || g WHEN g % 7 > 0 THEN s END,
	left(s, 40), CASE WHEN g % 11 > 0 THEN md5(s) END
FROM generate_series(1, 30000) g, LATERAL (SELECT sentence(g) AS s OFFSET 0) l;
CALL test.twin('some', 'id');
-- one row is gone, and the last vector is not full
DELETE FROM h_some WHERE id = 20000;
DELETE FROM z_some WHERE id = 20000;
\set ECHO all
SELECT attname, string_agg(DISTINCT regexp_replace(encodings, ':\d+', '', 'g'), ' ')
FROM pg_zs_segments('z_some') WHERE attno > 2 GROUP BY 1 ORDER BY 1;
\set ECHO none
CREATE TABLE asked (what text, condition text, tail text DEFAULT '');
-- rows of a filter: few, one in a stretch, none, all of a vector
INSERT INTO asked VALUES
	('count(*), min(long), max(often), min(big)', 'k < 30'),
	('count(*), min(long), max(often), max(c)', 'k = 700'),
	('min(long)', 'k < 0'),
	('count(*), max(length(long))', 'id BETWEEN 5121 AND 6144'),
	('max(often), max(length(big))', 'id > 29900');
INSERT INTO asked VALUES
	('long, count(*)', 'k < 60', 'GROUP BY long'),
	('often, count(DISTINCT long), max(id)', 'k < 200', 'GROUP BY often'),
	('c, sum(k)', 'k < 99', 'GROUP BY c');
-- coded by symbols
INSERT INTO asked VALUES
	('count(*), min(hash), max(hash)', 'k < 30'),
	('count(*), min(hash)', 'k < 40 AND hash LIKE ''%ab%'''),
	('max(hash) FILTER (WHERE k < 10), min(hash) FILTER (WHERE k > 900)', 'id > 100'),
	('id, hash', 'k < 15 AND hash LIKE ''%0%''');
-- filters one after the other
INSERT INTO asked VALUES
	('count(*), min(id)', 'long LIKE ''%ironic%'' AND k < 100'),
	('count(*)', 'often LIKE ''%nag%'' AND long LIKE ''%even%'' AND k % 7 = 1'),
	('count(*)', 'long <> '''' AND often = ''often 7 the same sentence as of old'''),
	('count(*)', 'big LIKE ''%overflow%'' AND k < 500');
-- rows that nobody has asked for before
INSERT INTO asked VALUES
	('count(*), min(often)', 'k < 20 AND long LIKE ''%final%'' OR long LIKE ''%theodolites%'''),
	('count(*)', 'k < 20 AND long LIKE ''%final%'' OR k BETWEEN 50 AND 60 AND' ||
		' long LIKE ''%the %'' OR k > 990 AND long IS NULL'),
	('max(CASE WHEN k < 20 THEN long WHEN k < 300 THEN often ELSE long END),' ||
		' min(CASE WHEN k > 900 THEN often ELSE long || often END)', 'id % 2 = 0'),
	('max(long) FILTER (WHERE k < 10), min(long) FILTER (WHERE k > 900),' ||
		' max(upper(often)) FILTER (WHERE k = 5)', 'id > 100');
INSERT INTO asked VALUES
	('CASE WHEN k < 40 THEN long END, count(*)', 'k < 300',
		'GROUP BY CASE WHEN k < 40 THEN long END');
-- rows as they are
INSERT INTO asked VALUES
	('id, long, often', 'k < 15 AND long LIKE ''%sleep%'''), ('t.*', 'k = 77'),
	('id, long, big', 'k < 50 AND long LIKE ''%ironic%'' AND random() >= 0');
\set ECHO all
SELECT left(what, 30) AS what, left(condition, 30) AS condition,
	test.twins('some', what, condition => condition, tail => tail, :how)
FROM asked ORDER BY asked.what COLLATE "C", asked.condition COLLATE "C";
SET zedstore.enable_partial_vectors = off;
SELECT count(*) FROM asked
WHERE test.twins('some', what, condition => condition, tail => tail, :how) !~ '^v';
RESET zedstore.enable_partial_vectors;
-- more of a vector while the cursor is in it
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id, long FROM z_some WHERE k < 20 AND long LIKE '%final%';
FETCH 2 FROM c;
MOVE 60 IN c;
FETCH BACKWARD 1 FROM c;
MOVE BACKWARD ALL IN c;
FETCH 1 FROM c;
COMMIT;
DROP TABLE h_some, z_some, asked;
DROP FUNCTION sentence;
