-- statements that end early in each phase of plans by batches: by a cancel, by an error, by nobody asking for more
SET max_parallel_workers_per_gather = 0;
SET zedstore.min_segment_rows = 1024;
CREATE TABLE z_can (id int, k int, n numeric, t text) USING zedstore;
INSERT INTO z_can SELECT g, g % 1000, g / 8.0, repeat('t', g % 50) || g FROM generate_series(1, 9000) g;
CREATE TABLE z_dim (k int, name text) USING zedstore;
INSERT INTO z_dim SELECT g, 'name ' || g FROM generate_series(0, 999) g;
-- true, and at one row the end
CREATE FUNCTION stop(at int, present int) RETURNS bool LANGUAGE plpgsql PARALLEL SAFE AS $$
BEGIN
	IF present = at THEN
		PERFORM pg_cancel_backend(pg_backend_pid());
	END IF;
	RETURN true;
END $$;
CREATE FUNCTION fail(at int, present int) RETURNS bool LANGUAGE plpgsql PARALLEL SAFE AS $$
BEGIN
	RETURN 1 / (at - present) IS NOT NULL;
END $$;
CREATE FUNCTION contexts() RETURNS bigint LANGUAGE sql AS $$ SELECT count(*) FROM pg_backend_memory_contexts WHERE name LIKE 'zedstore%' $$;
-- What ends the query in 8 tries, and whether it works again afterwards; the session keeps no memory of them.
CREATE FUNCTION tries(query text, mode text, groups int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text := '';
	before bigint;
	found text;
	c refcursor;
	r record;
BEGIN
	PERFORM set_config('zedstore.debug_vector', mode, true);
	PERFORM set_config('zedstore.debug_vector_groups', groups::text, true);
	FOR i IN 1 .. 8 LOOP
		found := 'no error';
		BEGIN
			EXECUTE replace(query, 'STOP', CASE WHEN i % 2 = 0 THEN 'stop' ELSE 'fail' END);
		EXCEPTION WHEN query_canceled OR division_by_zero THEN
			found := sqlstate;
		END;
		BEGIN
			OPEN c FOR EXECUTE replace(replace(query, 'STOP', 'stop'), '5000', '-5');
			FETCH c INTO r;
			IF i % 3 = 0 THEN
				CLOSE c;
				c := NULL;
			END IF;
		END;
		IF c IS NOT NULL THEN
			CLOSE c;
			c := NULL;
		END IF;
		IF i = 4 THEN
			before := contexts();
		END IF;
		result := result || CASE WHEN i < 3 THEN found || ' ' WHEN position(found IN result) = 0 THEN 'then ' || found || ' ' ELSE '' END;
	END LOOP;
	PERFORM set_config('zedstore.debug_vector', 'off', true);
	PERFORM set_config('zedstore.debug_vector_groups', '0', true);
	RETURN result || CASE WHEN contexts() <= before THEN 'ok' ELSE format('%s contexts instead of %s', contexts(), before) END;
END $$;
SELECT what, mode, tries(query, mode, groups) FROM (VALUES
	('filter', 0, 'SELECT * FROM z_can WHERE k < 900 AND STOP(5000, id)'), ('rows of a filter', 0, 'SELECT k, sum(n) FROM z_can WHERE STOP(5000, id) GROUP BY k'),
	('rows, written out', 5, 'SELECT k, sum(n), count(DISTINCT t) FROM z_can WHERE STOP(5000, id) GROUP BY k'),
	('having', 0, 'SELECT k, sum(n), max(t) FROM z_can GROUP BY k HAVING STOP(5000, (max(id) - 8000) + 4500)'),
	('having, written out', 5, 'SELECT k, sum(n), max(t) FROM z_can GROUP BY k HAVING STOP(5000, (max(id) - 8000) + 4500)'),
	('join', 0, 'SELECT name, sum(n) FROM z_can JOIN z_dim USING (k) WHERE STOP(5000, id) GROUP BY name'),
	('subquery', 0, 'SELECT d.k, (SELECT sum(n) FROM z_can c WHERE c.k = d.k AND c.n > 0 HAVING STOP(5000, d.k + 4997)) FROM z_dim d WHERE d.k < 5'),
	('distinct', 0, 'SELECT DISTINCT k, t FROM z_can WHERE STOP(5000, id)')) q(what, groups, query), unnest('{force,verify,rows}'::text[]) mode ORDER BY what, mode;
-- workers and leader
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SELECT what, mode, tries(query, mode, 0) FROM (VALUES
	('filter', 'SELECT * FROM z_can WHERE k < 900 AND STOP(5000, id)'), ('groups', 'SELECT k, sum(n) FROM z_can WHERE k > 5 GROUP BY k HAVING STOP(5000, (max(id) - 8000) + 4500)'),
	('rows', 'SELECT k, sum(n) FROM z_can WHERE STOP(5000, id) GROUP BY k')) q(what, query), unnest('{force,rows}'::text[]) mode ORDER BY what, mode;
-- and the tables are what they were
SET zedstore.debug_vector = verify;
SELECT count(*), sum(id), sum(n), count(DISTINCT t) FROM z_can;
DROP TABLE z_can, z_dim;
DROP FUNCTION tries, contexts, stop, fail;
