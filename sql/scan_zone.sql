-- zone maps: segments that a filter excludes are not read; on against off
SET max_parallel_workers_per_gather = 0;
SET zedstore.min_segment_rows = 1024;
-- ordinary scans; where_basic.sql has the others
SET zedstore.enable_vector_scan = off;
CREATE TABLE zone_row (id int, b bigint, s smallint, o oid, f float8, r real, n numeric, d date,
	ts timestamptz, t text COLLATE "C", u uuid, bt bytea, tl text COLLATE "POSIX", bp char(8)) USING heap;
CREATE TABLE zone (LIKE zone_row) USING zedstore;
CREATE FUNCTION zone_rows(first int, last int) RETURNS SETOF zone_row LANGUAGE sql AS $$
	SELECT g, g::bigint * 1000000007, (g / 10)::smallint, (g::bigint + 4294900000)::oid,
		CASE WHEN g = 2500 THEN 'NaN' WHEN g = 2600 THEN 'Infinity' ELSE g / 3.0 END,
		g / 7.0, CASE WHEN g % 100 = 0 THEN NULL WHEN g = 4100 THEN 'NaN' ELSE g / 100.0 END,
		date '2020-01-01' + g, timestamptz '2020-01-01 00:00+00' + g * interval '1 minute',
		lpad(g::text, 10, 'k'), lpad(g::text, 32, '0')::uuid, decode(lpad(to_hex(g), 8, '0'), 'hex'),
		'p' || g, 'c' || g
	FROM generate_series(first, last) g
$$;
-- several segments, one of them with rows in the row tree behind it, and a late column
INSERT INTO zone SELECT * FROM zone_rows(1, 5000);
INSERT INTO zone SELECT * FROM zone_rows(5001, 10000);
INSERT INTO zone SELECT * FROM zone_rows(10001, 15000);
INSERT INTO zone SELECT * FROM zone_rows(1, 3);
ALTER TABLE zone ADD COLUMN late int DEFAULT 7;
INSERT INTO zone SELECT z.*, 8 FROM zone_rows(20001, 25000) z;
DELETE FROM zone WHERE id BETWEEN 6000 AND 6100;

-- "Rows Removed by Filter" shows what was read
CREATE FUNCTION rows_removed(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' || query LOOP
		IF line LIKE '%Removed by Filter%' THEN
			RETURN NEXT trim(line);
		END IF;
	END LOOP;
END $$;
SELECT rows_removed('SELECT * FROM zone WHERE id > 21000');
SELECT rows_removed('SELECT * FROM zone WHERE 12000 <= id AND id < 12010');
SELECT rows_removed('SELECT * FROM zone WHERE id = 30000');
SET zedstore.enable_zone_maps = off;
SELECT rows_removed('SELECT * FROM zone WHERE id > 21000');
RESET zedstore.enable_zone_maps;

CREATE FUNCTION zone_differs(filter text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	query text := 'SELECT count(*) || '':'' || coalesce(sum(id), 0) FROM zone WHERE ' || filter;
	with_zones text;
	without text;
BEGIN
	EXECUTE query INTO with_zones;
	PERFORM set_config('zedstore.enable_zone_maps', 'off', true);
	EXECUTE query INTO without;
	PERFORM set_config('zedstore.enable_zone_maps', 'on', true);
	RETURN CASE WHEN with_zones = without THEN 'same ' || without ELSE with_zones || ' <> ' || without END;
END $$;
SELECT f, zone_differs(f) FROM (VALUES
	('id = 2'), ('id <> 2'), ('id < 3'), ('id <= 3'), ('id >= 24999'), ('id > 25000'), ('2 > id'),
	('id = 6050'), ('id = 3000000000'), ('id > -3000000000'), ('id = 7000::smallint'),
	('b > 20001::int'), ('b < 0'), ('b = 1000000007'), ('s = 1234'), ('s > 40000'),
	('o > 4294967290'), ('o < 100'), ('o = 4294905000'),
	('f = ''NaN'''), ('f > 1e300'), ('f >= ''Infinity'''), ('f < 1'), ('f = 1000::real'), ('r > 3000'), ('r = 1e30'),
	('n = 45.67'), ('n > 149.99'), ('n = ''NaN'''), ('n < 0.02'), ('n IS NULL'), ('n > 1e100'),
	('d = ''2030-01-01'''), ('d > ''2088-01-01'''), ('d < timestamp ''2020-01-05'''), ('ts >= ''2020-01-17 00:00+00'''),
	('t = ''kkkkkk5000'''), ('t > ''kkkkk24990'''), ('t < ''k'''), ('t = ''zz'''), ('t LIKE ''kkkkk12%'''),
	('u = ''00000000-0000-0000-0000-000000005000'''), ('u < ''00000000-0000-0000-0000-000000000003'''),
	('bt = ''\x00001388'''), ('bt > ''\x000061a0'''), ('tl = ''p777'''), ('bp = ''c777'''),
	('late = 7'), ('late = 8'), ('late > 8'), ('late < 7'), ('id = 1 OR id = 24000'), ('id = NULL'),
	('id > 100 AND n < 2 AND d >= ''2020-05-01''')) v(f);

-- a type with another order without a rewrite: the old segments' zone maps do not count, the new ones' do
CREATE TABLE zone_sign (id int, o oid) USING zedstore;
INSERT INTO zone_sign SELECT g - 5000, (g::bigint + 2147480000)::oid FROM generate_series(1, 10000) g;
ALTER TABLE zone_sign ALTER id TYPE oid, ALTER o TYPE int;
INSERT INTO zone_sign SELECT g, g - 5000 FROM generate_series(1, 10000) g;
SELECT count(*) FROM zone_sign WHERE id > 4000000000;
SELECT count(*) FROM zone_sign WHERE id < 10;
SELECT count(*) FROM zone_sign WHERE o < 0;
SELECT rows_removed('SELECT * FROM zone_sign WHERE id = 3000000000');
SELECT * FROM zs_check('zone_sign', true);
DROP TABLE zone_sign;

-- directions mixed, and a parallel scan
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id FROM zone WHERE id > 14998;
FETCH 3 FROM c;
FETCH BACKWARD 2 FROM c;
FETCH 2 FROM c;
FETCH LAST FROM c;
FETCH FIRST FROM c;
COMMIT;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SELECT count(*), sum(id) FROM zone WHERE id BETWEEN 9000 AND 11000;
DROP FUNCTION rows_removed(text), zone_differs(text), zone_rows(int, int);
DROP TABLE zone_row;

-- a condition that raises an error meets the rows that those in front of it let pass, whatever stands behind
SET max_parallel_workers_per_gather = 0;
CREATE TABLE zone_raise (t text, y int) USING zedstore;
INSERT INTO zone_raise SELECT 'row ' || g, g FROM generate_series(10, 9000) g;
CREATE FUNCTION boom(text) RETURNS bool LANGUAGE plpgsql IMMUTABLE COST 0.0001 AS $$
BEGIN
	RAISE EXCEPTION 'boom: %', $1;
END $$;
EXPLAIN (COSTS OFF) SELECT * FROM zone_raise WHERE boom(t) AND y < 10;
SELECT * FROM zone_raise WHERE boom(t) AND y < 10;
SELECT * FROM zone_raise WHERE t ~ '(' AND y < 10;
SELECT * FROM zone_raise WHERE t LIKE 'r\' AND y < 10;
PREPARE zone_raise(text) AS SELECT * FROM zone_raise WHERE t LIKE $1 AND y < 10;
SET plan_cache_mode = force_generic_plan;
EXECUTE zone_raise('r\');
RESET plan_cache_mode;
-- behind a condition that skips everything nothing is met, as on heap when no row passes it
ALTER FUNCTION boom(text) COST 100;
EXPLAIN (COSTS OFF) SELECT * FROM zone_raise WHERE boom(t) AND y < 10;
SELECT * FROM zone_raise WHERE boom(t) AND y < 10;
-- conditions that cannot raise do not keep others from being used
CREATE FUNCTION rows_removed(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' || query LOOP
		IF line LIKE '%Removed by Filter%' THEN
			RETURN NEXT trim(line);
		END IF;
	END LOOP;
END $$;
CREATE FUNCTION quiet(text) RETURNS bool LANGUAGE plpgsql IMMUTABLE COST 0.0001 AS 'BEGIN RETURN true; END';
SELECT rows_removed($$SELECT * FROM zone_raise WHERE y < 10$$);
SELECT rows_removed($$SELECT * FROM zone_raise WHERE t LIKE 'r%7' AND t <> 'q' AND t IS NOT NULL AND y < 10$$);
SELECT rows_removed($$SELECT * FROM zone_raise WHERE quiet(t) AND y < 10$$);
DROP TABLE zone_raise;
DROP FUNCTION boom(text), quiet(text), rows_removed(text);
