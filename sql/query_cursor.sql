-- cursors over plans by batches go where heap's go, and refuse what heap's refuse
\getenv abs_srcdir PG_ABS_SRCDIR
\set twins :abs_srcdir '/sql/include/twins.sql'
\i :twins
SET max_parallel_workers_per_gather = 0;
SET zedstore.min_segment_rows = 1024;
CREATE TABLE c_h (id int, a int, n numeric, t text) USING heap;
CREATE TABLE c_z (LIKE c_h) USING zedstore;
INSERT INTO c_h SELECT g, CASE WHEN g % 11 <> 0 THEN g * 7919 % 10007 END, g % 50 / 8.0,
	repeat('t', g % 5) || g FROM generate_series(1, 6000) g;
INSERT INTO c_z SELECT * FROM c_h;
CREATE TABLE d_h (k int, name text) USING heap;
CREATE TABLE d_z (LIKE d_h) USING zedstore;
INSERT INTO d_h SELECT g, 'name ' || g FROM generate_series(1, 20) g;
INSERT INTO d_z SELECT * FROM d_h;
ANALYZE c_h, c_z, d_h, d_z;

-- What a cursor on one twin gives: the rows of each FETCH or MOVE, or the error that ends it.
CREATE FUNCTION course(options text, query text, steps text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text := '';
	step text;
	r record;
BEGIN
	EXECUTE format('DECLARE course %s FOR %s', options, query);
	FOREACH step IN ARRAY steps LOOP
		result := result || step || ':';
		IF step LIKE 'move %' THEN
			EXECUTE format('MOVE %s FROM course', substr(step, 6));
			CONTINUE;
		END IF;
		FOR r IN SELECT * FROM fetched(step) f LOOP
			result := result || ' ' || r.f;
		END LOOP;
		result := result || '; ';
	END LOOP;
	EXECUTE 'CLOSE course';
	RETURN result;
EXCEPTION WHEN OTHERS THEN
	RETURN result || sqlstate || ' ' || sqlerrm;
END $$;
-- The first column of the rows that a FETCH gives.
CREATE FUNCTION fetched(step text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	c refcursor := 'course';
	n int := 1;
	way text := split_part(step, ' ', 1);
	r record;
BEGIN
	IF split_part(step, ' ', 2) <> '' THEN
		n := CASE split_part(step, ' ', 2) WHEN 'all' THEN 100000 ELSE split_part(step, ' ',
		2)::int END;
	END IF;
	FOR i IN 1 .. CASE WHEN way IN ('forward', 'backward') THEN n ELSE 1 END LOOP
		CASE way WHEN 'forward' THEN FETCH FORWARD FROM c INTO r; WHEN 'backward' THEN FETCH
		BACKWARD FROM c INTO r; WHEN 'absolute' THEN FETCH ABSOLUTE n FROM c INTO r;
			WHEN 'relative' THEN FETCH RELATIVE n FROM c INTO r; WHEN 'first' THEN FETCH FIRST
			FROM c INTO r; WHEN 'last' THEN FETCH LAST FROM c INTO r; END CASE;
		EXIT WHEN NOT FOUND;
		RETURN NEXT r::text;
	END LOOP;
END $$;
-- The same on both twins? Then the plan's node of ours, if there is one, and what happened (its
-- md5 where it is long).
CREATE FUNCTION courses(query text, options text, steps text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	heap text := course(options, replace(query, '_@', '_h'), steps);
	zed text := course(options, replace(query, '_@', '_z'), steps);
	plan text := '';
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || replace(query, '_@', '_z') LOOP
		plan := plan || line;
	END LOOP;
	IF heap IS DISTINCT FROM zed THEN
		RETURN format('DIFFERENT: heap %s, zedstore %s', left(heap, 300), left(zed, 300));
	END IF;
	RETURN coalesce(substring(plan FROM 'Zedstore\w+'),
	'core') || ' ' || CASE WHEN length(heap) > 90 THEN md5(heap) ELSE heap END;
END $$;

CREATE TABLE ways (name text, steps text[]);
INSERT INTO ways VALUES ('back', '{forward all,backward 1}'),
	('twice', '{forward all,backward all,forward all,backward 2,forward 1}'),
	('turns', '{forward 2,backward 1,forward 3,backward 4,forward 1}'),
	('before', '{backward 1,forward 1,backward 2,forward 2}'),
	('absolute',
	'{last,first,absolute 2,absolute -1,relative -1,absolute 0,forward 1,relative 0}'),
	('move', '{move 2,forward 1,move backward all,forward 1,move last,backward 1}'),
	('end', '{forward all,forward 1,backward 1,forward 1,forward 1,backward all}');
-- ORDER BY ... LIMIT
SELECT name, courses('SELECT a, id FROM c_@ ORDER BY a, id LIMIT 3', 'CURSOR', steps) AS plain,
	courses('SELECT a, id FROM c_@ ORDER BY a, id LIMIT 3', 'SCROLL CURSOR', steps) AS scroll,
	courses('SELECT a, id FROM c_@ ORDER BY a, id LIMIT 3', 'NO SCROLL CURSOR',
	steps) AS "no" FROM ways;
SELECT name, courses('SELECT id, t FROM c_@ WHERE a > 5000 AND n < 5 ORDER BY a DESC NULLS LAST,
	id LIMIT 40 OFFSET 7', 'CURSOR', steps) AS "offset",
	courses('SELECT * FROM (SELECT id, a FROM c_@ ORDER BY n DESC, id LIMIT 10) s LIMIT 4',
	'CURSOR', steps) AS above, courses('SELECT id FROM c_@ WHERE a < 0 ORDER BY n, id LIMIT 4',
	'CURSOR', steps) AS nothing,
	courses('SELECT id FROM c_@ WHERE id < 3 ORDER BY n, id LIMIT 4', 'CURSOR', steps) AS few,
	courses('SELECT id, upper(t) FROM c_@ ORDER BY n, id LIMIT 5', 'CURSOR',
	steps) AS computed FROM ways;
-- other plans: what core's nodes can do, and what they cannot
SELECT name, courses('SELECT id FROM c_@ WHERE a > 9990', 'CURSOR', steps) AS filter,
	courses('SELECT id FROM c_@ WHERE a > 9990', 'NO SCROLL CURSOR', steps) AS "no",
	courses('SELECT id + 1, t FROM c_@ WHERE a + 1 > 9990 AND t LIKE ''t%''', 'CURSOR',
	steps) AS programs,
	courses('SELECT id FROM c_@ WHERE a > 9990 LIMIT 3', 'CURSOR', steps) AS "limit",
	courses('SELECT id FROM c_@ WHERE a > 9990 ORDER BY t', 'CURSOR', steps) AS sort FROM ways;
SELECT name, courses('SELECT count(*) FROM c_@', 'CURSOR', steps) AS total,
	courses('SELECT n, count(*) FROM c_@ GROUP BY n', 'CURSOR',
	'{forward 0,backward 1}') AS groups,
	courses('SELECT n, count(*) FROM c_@ GROUP BY n ORDER BY n', 'CURSOR', steps) AS sorted,
	courses('SELECT n, count(*) FROM c_@ GROUP BY n ORDER BY count(*) DESC, n LIMIT 3', 'CURSOR',
	steps) AS best, courses('SELECT DISTINCT n FROM c_@ ORDER BY n LIMIT 5', 'CURSOR',
	steps) AS "distinct" FROM ways;
SELECT name, courses('SELECT c.id, d.name FROM c_@ c JOIN d_@ d ON c.id = d.k WHERE c.n < 1',
	'SCROLL CURSOR', steps) AS joined,
	courses('SELECT id FROM c_@ WHERE a > 9990 UNION ALL SELECT k FROM d_@ WHERE k < 4', 'CURSOR',
	steps) AS append,
	courses('SELECT id FROM c_@ WHERE a = (SELECT max(a) FROM c_@ WHERE id < 100)', 'CURSOR',
	steps) AS initplan FROM ways;
-- rescans of a top-N plan: with other parameters, and with the same
SELECT test.same_order('SELECT d.k, s.id FROM d_@ d LEFT JOIN LATERAL (SELECT id FROM c_@ WHERE id
	> d.k * 100 ORDER BY n, id LIMIT 3) s ON true ORDER BY 1, 2'),
	test.same_order('SELECT d.k, (SELECT sum(id) FROM (SELECT id FROM c_@ ORDER BY n DESC, id
	LIMIT 3) s WHERE id > d.k) FROM d_@ d ORDER BY 1');
SET enable_material = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT test.same_order('SELECT d.k, s.id FROM d_@ d JOIN (SELECT id, a FROM c_@ ORDER BY a, id
	LIMIT 30) s ON s.a > d.k * 2 ORDER BY 1, 2');
RESET enable_material;
RESET enable_hashjoin;
RESET enable_mergejoin;
-- WITH HOLD, from where the cursor stands; WHERE CURRENT OF, which takes no Sort
BEGIN;
DECLARE kh CURSOR WITH HOLD FOR SELECT id, a FROM c_h ORDER BY a DESC NULLS LAST, id LIMIT 4;
DECLARE kz CURSOR WITH HOLD FOR SELECT id, a FROM c_z ORDER BY a DESC NULLS LAST, id LIMIT 4;
FETCH 2 FROM kh;
FETCH 2 FROM kz;
COMMIT;
DELETE FROM c_h WHERE a > 10000;
DELETE FROM c_z WHERE a > 10000;
FETCH BACKWARD 1 FROM kh;
FETCH BACKWARD 1 FROM kz;
FETCH ALL FROM kh;
FETCH ALL FROM kz;
FETCH BACKWARD ALL FROM kh;
FETCH BACKWARD ALL FROM kz;
CLOSE ALL;
SELECT test.both($$ DO 'DECLARE c CURSOR FOR SELECT id FROM c_@ ORDER BY a, id LIMIT 3; r record;
	BEGIN c := ''cur''; OPEN c; FETCH c INTO r; UPDATE c_@ SET a = 1 WHERE CURRENT OF c; CLOSE c;
	END' $$),
	test.both($$ DO 'DECLARE c CURSOR FOR SELECT id FROM c_@ WHERE a > 9000; r record; BEGIN c :=
	''cur''; OPEN c; FETCH c INTO r; FETCH c INTO r; FETCH BACKWARD FROM c INTO r; UPDATE c_@ SET
	a = -1 WHERE CURRENT OF c; CLOSE c; END' $$),
	test.same('SELECT id, a FROM c_@');
-- rows that change behind the cursor's back are those of its snapshot
BEGIN;
DECLARE k SCROLL CURSOR FOR SELECT id, t FROM c_z ORDER BY a, id LIMIT 3;
FETCH 1 FROM k;
UPDATE c_z SET t = 'new', a = a + 1 WHERE id < 4000;
FETCH ALL FROM k;
FETCH BACKWARD ALL FROM k;
COMMIT;
DROP TABLE c_h, c_z, d_h, d_z;
DROP FUNCTION fetched(text);
