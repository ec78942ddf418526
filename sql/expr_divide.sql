-- numerics divided by constants: the digits that the server shows, for all sizes of both
\getenv abs_srcdir PG_ABS_SRCDIR
\set batches :abs_srcdir '/sql/include/batches.sql'
\set ECHO none
\i :batches
\set ECHO all
SET max_parallel_workers_per_gather = 0;
SET zedstore.min_segment_rows = 1024;
-- "v" in front: by batches
\set how 'plan => ''ZedstoreAgg'', mark => ''v'', longest => 60'
\set how :how ', runs => test.runs(''off force verify rows'')'
-- numbers of one to eighteen digits, whose first group has one to four; with and without decimals
CREATE TABLE h_num (id int, a numeric, b numeric(12,2), c numeric(18,6), d numeric, e numeric);
INSERT INTO h_num SELECT g, (10 ^ (g % 15))::numeric(20,0) * (1 + g % 9) + g % 7,
		CASE WHEN g % 11 = 0 THEN NULL ELSE (g * 7919 % 1000000) / 100.0 - 3000 END,
		(g * 104729 % 1000003) / 1000000.0 * 10 ^ (g % 6),
		round((g % 50)::numeric / 8, g % 4), (10 ^ (g % 16))::numeric(20,0) / 10 ^ 9
	FROM generate_series(1, 4000) g;
INSERT INTO h_num VALUES (5001, 0, 0, 0, 0.00, 0), (5002, 1, 0.01, 0.000001, 0.5, 0.0001),
	(5003, 9999, 99.99, 9.999999, 9.999, 0.9999), (5004, 10000, 100, 10000, 1.0000, 1.0000),
	(5005, 20000, -20000, 20000.5, -0.002, 2), (5006, 922337203685477580, -1, -1, -1, -1),
	(5007, 9223372036854775807, 1, 1, 1, 1), (5008, 'NaN', 1, 1, 'NaN', NULL);
CALL test.twin('num', 'id');
VACUUM (FREEZE, ANALYZE) h_num, z_num;
CREATE TABLE divisors (d text);
INSERT INTO divisors VALUES ('2'), ('1'), ('-1'), ('10'), ('100'), ('1000'), ('10000'), ('20000'),
	('1e10'), ('0.5'), ('0.25'), ('0.001'), ('0.00001'), ('8'), ('-40'), ('125'), ('1024'),
	('1.00'), ('2.5000'), ('1048576'), ('3'), ('0.3'), ('7e15'), ('1e17'), ('1e-17');
CREATE TABLE queries (q text);
INSERT INTO queries VALUES
	('SELECT sum(b / D), avg(c / D), max(b / D), count(DISTINCT b / D) FROM @_num'),
	('SELECT sum(a / D), min(a / D), max(e / D), avg(e / D) FROM @_num WHERE id < 5006'),
	('SELECT sum(d / D), stddev(d / D), min(d / D) FROM @_num WHERE id < 5008'),
	('SELECT b / D, count(*), sum(b / D * d) FROM @_num GROUP BY 1'),
	('SELECT d / D, count(*) FROM @_num GROUP BY 1'),
	('SELECT sum(a / D) FROM @_num WHERE id <> 5008'),
	('SELECT sum(a / D) FROM @_num');
SELECT d, test.twins(query => replace(q, ' / D', ' / ' || d || '::numeric'), :how)
	FROM divisors, queries ORDER BY d::numeric, d, q;
-- who does it; batches without room for all digits are done again, row by row
CREATE FUNCTION redone(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	result text := 'core';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) '
		|| query LOOP
		IF line ~ 'ZedstoreAgg' THEN
			result := 'ZedstoreAgg';
		ELSIF line ~ 'Redone' THEN
			result := result || ', ' || trim(line);
		END IF;
	END LOOP;
	RETURN result;
END $$;
SELECT q, redone('SELECT sum(' || q || ') FROM z_num WHERE id <= 4000') FROM (VALUES
	('b / 2'), ('d / -40'), ('b / 3'), ('b / 7 * 2'), ('a / 8'), ('c / 1e-17')) v(q);
-- in other expressions, and in filters
SELECT test.twins(query => q, :how), q FROM (VALUES
	('SELECT sum((b - c + d) / 2), sum(b / 4 / 5), sum(b / 100 * (c / 10)) FROM @_num'),
	('SELECT sum(round(b / 8, 1)), sum((b / 2)::numeric(12,1)), sum(-b / 2 + 1) FROM @_num'),
	('SELECT sum(CASE WHEN b > 0 THEN b / 2 ELSE d END), sum(coalesce(b / 2, c)) FROM @_num
		WHERE id < 5008'),
	('SELECT sum(b / 2 / 2 / 2 / 2 * (c / 2) * (d / 2) * (b / 2)) FROM @_num WHERE id < 5008'),
	('SELECT sum(id / 2::numeric), sum(id / 100.0), avg(id::int8 / 0.5) FROM @_num'),
	('SELECT count(*), sum(b) FROM @_num WHERE b / 2 > 1000.005 AND c / 10 < d + 1000'),
	('SELECT sum(b / NULL::numeric), sum(b / 2) FROM @_num'),
	('SELECT sum(b / 0) FROM @_num'),
	('SELECT sum(d / (id - 5000)) FROM @_num WHERE id >= 4999')) v(q);
-- a parameter
PREPARE p(numeric) AS SELECT sum(b / $1), sum(b / 2) FROM z_num;
SET plan_cache_mode = force_generic_plan;
EXECUTE p(4);
EXECUTE p(3);
EXECUTE p(0);
DEALLOCATE p;
RESET ALL;
DROP TABLE h_num, z_num, divisors, queries;
DROP FUNCTION redone;
