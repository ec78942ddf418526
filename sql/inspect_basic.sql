--
-- Inspection functions: what they show, whom they show it to, what they refuse.
--
CREATE TABLE inspect_t (id int, d date, f float8, n numeric, t text) USING zedstore;

-- an empty table
SELECT version, next_row, array_length(cursors, 1) AS ncursors, file_blocks, physical_blocks, ndirectory
FROM pg_zs_meta_page('inspect_t');
SELECT * FROM pg_zs_trees('inspect_t');
SELECT * FROM pg_zs_free_pages('inspect_t');
SELECT * FROM pg_zs_segments('inspect_t');
SELECT * FROM pg_zs_btree_pages('inspect_t');
SELECT * FROM pg_zs_tid_items('inspect_t');
SELECT * FROM zs_check('inspect_t');

-- a bulk load
INSERT INTO inspect_t
SELECT i, '2020-01-01'::date + i % 365, i / 4.0, i / 10.0, CASE WHEN i % 10 <> 0 THEN 'row ' || i END
FROM generate_series(1, 200000) i;
SELECT * FROM zs_check('inspect_t');

SELECT attno, attname, count(*) > 1 AS many, count(DISTINCT first_row) = count(*) AS differ,
	bool_and(first_row % 1024 = 0) AS aligned, bool_and(encodings ~ '^[a-z0-9]+(\+[a-z0-9]+)?:[0-9]+') AS encoded,
	bool_and(stored_bytes BETWEEN 1 AND nblocks * 8192) AS fits, bool_and(raw_bytes > stored_bytes) AS smaller,
	bool_and((attno = 5) = (nnulls > 0)) AS nulls, min(natts) AS natts
FROM pg_zs_segments('inspect_t') GROUP BY 1, 2 ORDER BY 1;

-- all rows are in segments or in the row tree
SELECT attno, sum(nrows) + (SELECT sum(nitems) FROM pg_zs_btree_pages('inspect_t') WHERE attno = -1 AND level = 0) AS nrows
FROM pg_zs_segments('inspect_t') GROUP BY 1 ORDER BY 1;

-- zone maps print as values where they are values
SELECT attname, max(max::date) AS d FROM pg_zs_segments('inspect_t') WHERE attname = 'd' GROUP BY 1;
SELECT bool_and(s.min::int <= s.max::int) AS id, max(s.max::int) <= 200000 AS bounded
FROM pg_zs_segments('inspect_t') s WHERE attname = 'id';
SELECT bool_and(s.min::float8 <= s.max::float8) AS f FROM pg_zs_segments('inspect_t') s WHERE attname IN ('f', 'n');

-- pages: ranges of a level follow each other, so do next blocks
WITH p AS (
	SELECT attno, level, blkno, nextblk, lokey, hikey,
		lead(blkno) OVER w AS next, lead(lokey) OVER w AS nextkey
	FROM pg_zs_btree_pages('inspect_t')
	WHERE attno >= 0
	WINDOW w AS (PARTITION BY attno, level ORDER BY lokey, blkno))
SELECT attno, level, count(*) > 0 AS pages,
	bool_and(nextblk = coalesce(next, 4294967295)) AS linked,
	bool_and(level = 0 AND attno > 0 OR hikey = coalesce(nextkey, hikey)) AS tiled
FROM p GROUP BY 1, 2 ORDER BY 1, 2;
SELECT attno, sum(totalsz) AS bytes_of_pages FROM pg_zs_btree_pages('inspect_t') WHERE attno > 0 GROUP BY 1
EXCEPT
SELECT attno, sum(stored_bytes) FROM pg_zs_segments('inspect_t') GROUP BY 1;
SELECT attno, sum(nitems) AS rows_of_pages FROM pg_zs_btree_pages('inspect_t') WHERE attno > 0 AND level = 0 GROUP BY 1
EXCEPT
SELECT attno, sum(nrows) FROM pg_zs_segments('inspect_t') GROUP BY 1;

-- how far is it from a page to the next one? (block distance, 2020)
SELECT count(*) > 0 AS pages, avg(nextblk - blkno) < 100 AS near
FROM pg_zs_btree_pages('inspect_t'::regclass)
WHERE level = 0 AND attno > 0 AND nextblk IS NOT NULL AND nextblk <> 4294967295;

-- the free page maps are what the directory counts
SELECT attno, nfree FROM pg_zs_trees('inspect_t') WHERE nfree > 0
EXCEPT
SELECT attno, sum(length) FROM pg_zs_free_pages('inspect_t') GROUP BY 1;

-- visibility
SELECT sum(nrows) FROM pg_zs_tid_items('inspect_t') WHERE slotno <> 2;
BEGIN;
DELETE FROM inspect_t WHERE id = 1000;
SELECT xmin <> xmax AS deleted, cmin, cmax, flags LIKE '%keys_updated%' AS keys_updated, successor
FROM pg_zs_tid_items('inspect_t') WHERE nrows = 1 AND xmax::text <> '0';
ROLLBACK;
BEGIN;
UPDATE inspect_t SET t = 'new' WHERE id = 1000;
SELECT nrows, flags LIKE '%updated%' AS updated, successor <> first_row AS has_successor
FROM pg_zs_tid_items('inspect_t') WHERE successor IS NOT NULL;
COMMIT;

-- more of everything
INSERT INTO inspect_t SELECT i, NULL, NULL, 1, repeat('long ' || i, 10000) FROM generate_series(1, 20) i;
INSERT INTO inspect_t VALUES (-1, NULL, NULL, NULL, 'alone');
DELETE FROM inspect_t WHERE id % 7 = 0;
UPDATE inspect_t SET t = t || '+' WHERE id % 1000 = 1;
SELECT * FROM zs_check('inspect_t');
ALTER TABLE inspect_t ADD COLUMN later int DEFAULT 5;
ALTER TABLE inspect_t DROP COLUMN n;
INSERT INTO inspect_t SELECT i, NULL, NULL, 'x', i FROM generate_series(1, 20000) i;
SELECT * FROM zs_check('inspect_t', true);
SELECT attno, attname FROM pg_zs_trees('inspect_t') WHERE attno > 0;
BEGIN;
INSERT INTO inspect_t SELECT i FROM generate_series(1, 20000) i;
SELECT * FROM zs_check('inspect_t');
ROLLBACK;
SELECT * FROM zs_check('inspect_t');
VACUUM inspect_t;
SELECT * FROM zs_check('inspect_t') WHERE severity = 'error';

-- what is no zedstore table
CREATE TABLE inspect_heap (a int) USING heap;
CREATE VIEW inspect_view AS SELECT 1 AS a;
CREATE INDEX inspect_index ON inspect_heap (a);
CREATE TABLE inspect_parts (a int) PARTITION BY RANGE (a) USING zedstore;
SELECT * FROM pg_zs_btree_pages('inspect_heap');
SELECT * FROM pg_zs_meta_page('inspect_view');
SELECT * FROM pg_zs_segments('inspect_index');
SELECT * FROM zs_check('inspect_parts');
CREATE TEMP TABLE inspect_temp (a int) USING zedstore;
INSERT INTO inspect_temp SELECT generate_series(1, 10000);
SELECT * FROM zs_check('inspect_temp');

-- who may look
CREATE ROLE regress_zs_nobody;
CREATE ROLE regress_zs_monitor IN ROLE pg_monitor;
GRANT SELECT (id) ON inspect_t TO regress_zs_monitor;
SET ROLE regress_zs_nobody;
SELECT * FROM pg_zs_trees('inspect_t');
SELECT * FROM zs_check('inspect_t');
SET ROLE regress_zs_monitor;
SELECT count(*) > 0 AS allowed FROM pg_zs_trees('inspect_t');
SELECT * FROM zs_check('inspect_t') WHERE severity = 'error';
SELECT * FROM zs_check('inspect_t', true);
SELECT attname, bool_and(min IS NOT NULL) AS shown FROM pg_zs_segments('inspect_t')
WHERE attname IN ('id', 'd') AND first_row < 100000 GROUP BY 1 ORDER BY 1;
RESET ROLE;

DROP VIEW inspect_view;
DROP TABLE inspect_t, inspect_heap, inspect_parts, inspect_temp;
DROP ROLE regress_zs_nobody, regress_zs_monitor;
