-- zs_estimate(): what a heap table would take, against what it takes then.
\set VERBOSITY terse
CREATE FUNCTION random_at(seed int, n int) RETURNS int LANGUAGE sql IMMUTABLE
RETURN abs(hashint8(seed::int8 * 7919 + n)) % 100000;

-- constants, sequences, few and many values, numbers, dates, nulls, large values
CREATE TABLE estimate_plain USING heap AS
SELECT i AS id, 7 AS same, 'constant'::text AS word, date '2026-01-01' + i / 1000 AS day,
    random_at(1, i) AS n, (random_at(2, i) % 20)::numeric(8, 2) / 4 AS price,
    (ARRAY['red', 'green', 'blue'])[1 + random_at(3, i) % 3] AS colour, md5(i::text) AS hash,
    CASE WHEN i % 3 = 0 THEN i END AS some, NULL::text AS nothing, i % 2 = 0 AS flag
FROM generate_series(1, 280000) i;
CREATE TABLE estimate_still USING heap AS
SELECT i AS id, 1 AS a, 'x'::text AS b, timestamp '2026-01-01' + i * interval '1 s' AS at,
    0.5::float8 AS f
FROM generate_series(1, 1400000) i;
CREATE TABLE estimate_wide USING heap AS
SELECT i AS id,
    (SELECT string_agg(md5((i * 400 + k)::text), '') FROM generate_series(1, 400) k) AS doc
FROM generate_series(1, 500) i;
-- dead rows in places, dropped columns, another type behind the first quarter
CREATE TABLE estimate_changed (id int, gone text, t text, n int) USING heap
WITH (autovacuum_enabled = off);
INSERT INTO estimate_changed
SELECT i, 'gone', CASE WHEN i < 400000 THEN 'same' ELSE 'number ' || i % 1000 END, random_at(4, i)
FROM generate_series(1, 1600000) i;
ALTER TABLE estimate_changed DROP COLUMN gone;
DELETE FROM estimate_changed WHERE id BETWEEN 600000 AND 700000 OR id % 10 = 0;
CREATE TABLE estimate_few USING heap AS
SELECT i AS id, i::text AS t FROM generate_series(1, 100) i;
ANALYZE estimate_plain, estimate_still, estimate_wide, estimate_few;

CREATE FUNCTION estimate_is_right(tab text, percent float8) RETURNS TABLE (part text, estimate text)
LANGUAGE plpgsql AS $$
DECLARE
    guess int8;
    truth int8;
    blocks text;
BEGIN
    SELECT zedstore_bytes, regexp_replace(detail, ' blocks were read.*', '') INTO guess, blocks
    FROM zs_estimate(tab::regclass, percent) WHERE item = 'table';
    EXECUTE format('CREATE TABLE estimate_truth USING zedstore AS SELECT * FROM %I', tab);
    truth := pg_table_size('estimate_truth');
    DROP TABLE estimate_truth;
    part := CASE WHEN split_part(blocks, ' of ', 1) = split_part(blocks, ' of ', 2) THEN 'all'
        ELSE 'part' END;
    -- a page or two more in a part of the rows are some more in all
    estimate := CASE WHEN abs(guess - truth) <= greatest(truth * 0.1, 49152) THEN 'right'
        ELSE guess || ' for ' || truth END;
    RETURN NEXT;
END $$;
SELECT tab, percent, e.*
FROM (VALUES ('estimate_plain', NULL::float8), ('estimate_still', NULL), ('estimate_still', 100),
    ('estimate_wide', 1), ('estimate_changed', 1), ('estimate_few', NULL), ('estimate_few', 100)
    ) t (tab, percent), estimate_is_right(tab, percent) e
ORDER BY tab, percent;

-- columns with their encodings; what else it says
SELECT item, name, ratio < 1 AS smaller, detail FROM zs_estimate('estimate_plain')
WHERE item = 'column';
CREATE INDEX ON estimate_few (id);
SELECT item, name, regexp_replace(detail, '\d+', 'N', 'g') AS detail
FROM zs_estimate('estimate_few') WHERE item <> 'column';

-- one row a transaction, generated and dropped columns, a domain, names that need quotes
CREATE DOMAIN estimate_code AS int CHECK (VALUE > 0);
CREATE TABLE "Estimate odd" ("a b" int, gone int, "select" estimate_code NOT NULL DEFAULT 1,
    twice int GENERATED ALWAYS AS ("a b" * 2) STORED) USING heap;
ALTER TABLE "Estimate odd" DROP COLUMN gone;
DO $$
BEGIN
    FOR i IN 1..50 LOOP
        INSERT INTO "Estimate odd" ("a b") VALUES (i);
        COMMIT;
    END LOOP;
END $$;
SELECT item, name FROM zs_estimate('"Estimate odd"') WHERE item IN ('column', 'table');
SELECT name, detail FROM zs_estimate('"Estimate odd"') WHERE item = 'advice';

-- partitions that are heap, and their sum; a level below, and none
CREATE TABLE estimate_parts (a int, b text) PARTITION BY LIST (a);
CREATE TABLE estimate_part_1 PARTITION OF estimate_parts FOR VALUES IN (1) USING heap;
CREATE TABLE estimate_part_2 PARTITION OF estimate_parts FOR VALUES IN (2) PARTITION BY LIST (b);
CREATE TABLE estimate_part_2x PARTITION OF estimate_part_2 FOR VALUES IN ('x') USING heap;
CREATE TABLE estimate_part_3 PARTITION OF estimate_parts FOR VALUES IN (3) USING zedstore;
CREATE TABLE estimate_part_4 PARTITION OF estimate_parts FOR VALUES IN (4) USING heap;
INSERT INTO estimate_parts SELECT 1 + i % 3, 'x' FROM generate_series(1, 30000) i;
CREATE TABLE estimate_sums USING heap AS SELECT * FROM zs_estimate('estimate_parts');
SELECT item, name, ratio < 1 AS smaller, detail FROM estimate_sums ORDER BY item, name;
SELECT sum(heap_bytes * sign) AS heap, sum(zedstore_bytes * sign) AS zedstore
FROM estimate_sums, LATERAL (SELECT CASE item WHEN 'table' THEN 1 ELSE -1 END AS sign) s;
CREATE TABLE estimate_bare (a int) PARTITION BY LIST (a);
SELECT * FROM zs_estimate('estimate_bare');

-- in a transaction, which keeps its settings; no parallel scan, which would change the order
SELECT zedstore_bytes AS expected FROM zs_estimate('estimate_still', 100)
WHERE item = 'table' \gset
BEGIN;
SET LOCAL max_parallel_workers_per_gather = 2;
SET LOCAL parallel_setup_cost = 0;
SET LOCAL parallel_tuple_cost = 0;
SET LOCAL min_parallel_table_scan_size = 0;
SELECT zedstore_bytes = :expected AS same FROM zs_estimate('estimate_still', 100)
WHERE item = 'table';
SELECT current_setting('max_parallel_workers_per_gather'),
    current_setting('client_min_messages') = (SELECT reset_val FROM pg_settings
        WHERE name = 'client_min_messages') AS messages;
COMMIT;

-- a member of pg_monitor who may read the table, and others
CREATE ROLE regress_zs_watcher IN ROLE pg_monitor;
CREATE ROLE regress_zs_nobody;
GRANT SELECT ON estimate_few TO regress_zs_watcher, regress_zs_nobody;
SET ROLE regress_zs_watcher;
SELECT count(*) FROM zs_estimate('estimate_few') WHERE item = 'table';
SELECT count(*) FROM zs_estimate('estimate_wide');
SET ROLE regress_zs_nobody;
SELECT count(*) FROM zs_estimate('estimate_few');
RESET ROLE;

-- rows that a policy hides would be missed
ALTER TABLE estimate_few ENABLE ROW LEVEL SECURITY;
SET ROLE regress_zs_watcher;
SELECT * FROM zs_estimate('estimate_few');
RESET ROLE;

-- no heap tables, none with rows, no percentage
CREATE TABLE estimate_zs (a int) USING zedstore;
CREATE TABLE estimate_empty (a int) USING heap;
CREATE VIEW estimate_view AS SELECT 1 AS a;
SELECT * FROM zs_estimate('estimate_zs');
SELECT * FROM zs_estimate('estimate_view');
SELECT * FROM zs_estimate(NULL);
SELECT * FROM zs_estimate('estimate_empty');
INSERT INTO estimate_empty VALUES (1);
DELETE FROM estimate_empty;
SELECT * FROM zs_estimate('estimate_empty');
SELECT * FROM zs_estimate('estimate_few', 0);
SELECT * FROM zs_estimate('estimate_few', 101);
SELECT * FROM zs_estimate('estimate_few', 'NaN');
CREATE TABLE estimate_bare_rows () USING heap;
INSERT INTO estimate_bare_rows DEFAULT VALUES;
SELECT * FROM zs_estimate('estimate_bare_rows');
SELECT count(*) FROM pg_class WHERE relname ~ 'zs_estimate' AND relkind = 'r';

-- a table of the user's that has the name of the sample stays
CREATE TEMP TABLE zs_estimate_sample AS SELECT 1 AS a;
SELECT * FROM zs_estimate('estimate_few');
SELECT * FROM zs_estimate_sample;
DROP TABLE zs_estimate_sample;

DROP VIEW estimate_view;
DROP TABLE estimate_plain, estimate_still, estimate_wide, estimate_changed, estimate_few,
    estimate_parts, estimate_bare, estimate_sums, estimate_zs, estimate_empty, "Estimate odd",
    estimate_bare_rows;
DROP DOMAIN estimate_code;
DROP FUNCTION estimate_is_right, random_at;
DROP ROLE regress_zs_watcher, regress_zs_nobody;
