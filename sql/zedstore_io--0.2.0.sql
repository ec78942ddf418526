/* sql/zedstore_io--0.2.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION zedstore_io" to load this file. \quit

-- table access method

CREATE FUNCTION zedstore_tableam_handler(internal)
RETURNS table_am_handler
AS 'MODULE_PATHNAME'
LANGUAGE C;

CREATE ACCESS METHOD zedstore TYPE TABLE HANDLER zedstore_tableam_handler;
COMMENT ON ACCESS METHOD zedstore IS 'columnar, compressed table access method';

/* ---- maintenance ------------------------------------------------------------- */

CREATE FUNCTION zs_compact(relid regclass)
RETURNS int8
AS 'MODULE_PATHNAME' LANGUAGE C STRICT COST 10000;
COMMENT ON FUNCTION zs_compact(regclass)
IS 'turn rows of a zedstore table into columns, and replace sparse and small segments';

CREATE FUNCTION zs_prewarm(relation regclass, columns text[] DEFAULT NULL,
	mode text DEFAULT 'buffer', fork text DEFAULT 'main',
	first_block int8 DEFAULT NULL, last_block int8 DEFAULT NULL)
RETURNS int8
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE COST 10000;
COMMENT ON FUNCTION zs_prewarm(regclass, text[], text, text, int8, int8)
IS 'read a relation, or columns of a zedstore table, into the buffer cache';

/* ---- inspection (docs/inspection.md) ---------------------------------------- */

CREATE FUNCTION pg_zs_btree_pages(relid regclass,
	OUT blkno int8, OUT nextblk int8, OUT attno int4, OUT level int4,
	OUT lokey int8, OUT hikey int8, OUT nitems int4, OUT ncompressed int4,
	OUT totalsz int4, OUT uncompressedsz int4, OUT freespace int4)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
COMMENT ON FUNCTION pg_zs_btree_pages(regclass)
IS 'pages of the trees of a zedstore table';

CREATE FUNCTION pg_zs_meta_page(relid regclass,
	OUT version int4, OUT next_row int8, OUT cursors int8[],
	OUT file_blocks int8, OUT physical_blocks int8, OUT ndirectory int4)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT ROWS 1;
COMMENT ON FUNCTION pg_zs_meta_page(regclass)
IS 'metapage of a zedstore table';

CREATE FUNCTION pg_zs_trees(relid regclass,
	OUT treeno int4, OUT attno int4, OUT attname text, OUT root int8,
	OUT nblocks int8, OUT nfree int8, OUT nextents int4, OUT spill int8)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT ROWS 25;
COMMENT ON FUNCTION pg_zs_trees(regclass)
IS 'tree directory of a zedstore table';

CREATE FUNCTION pg_zs_free_pages(relid regclass,
	OUT attno int4, OUT start int8, OUT length int8)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
COMMENT ON FUNCTION pg_zs_free_pages(regclass)
IS 'free page maps of a zedstore table';

CREATE FUNCTION pg_zs_segments(relid regclass,
	OUT attno int4, OUT attname text, OUT first_row int8, OUT nrows int4,
	OUT nnulls int4, OUT start int8, OUT nblocks int4, OUT encodings text,
	OUT raw_bytes int8, OUT stored_bytes int8, OUT min text, OUT max text,
	OUT natts int4)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
COMMENT ON FUNCTION pg_zs_segments(regclass)
IS 'segments of the columns of a zedstore table';

CREATE FUNCTION pg_zs_tid_items(relid regclass,
	OUT first_row int8, OUT nrows int8, OUT slotno int4, OUT xmin xid,
	OUT xmax xid, OUT cmin cid, OUT cmax cid, OUT flags text, OUT successor int8)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
COMMENT ON FUNCTION pg_zs_tid_items(regclass)
IS 'visibility of the rows of a zedstore table';

CREATE FUNCTION zs_check(relid regclass, strict boolean DEFAULT false,
	OUT severity text, OUT blkno int8, OUT attno int4, OUT message text)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT COST 10000 ROWS 1;
COMMENT ON FUNCTION zs_check(regclass, boolean)
IS 'verify a zedstore table; one row per problem';

CREATE FUNCTION zs_version(
	OUT library text, OUT extension text, OUT format int4)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT STABLE ROWS 1;
COMMENT ON FUNCTION zs_version()
IS 'versions of the loaded library, of the extension in this database, and of the format that tables are written in';

CREATE FUNCTION zs_sortedness(relid regclass, sort_key text DEFAULT NULL,
	OUT attno int4, OUT attname text, OUT key_position int4, OUT segments int8,
	OUT segment_depth float8, OUT max_segment_depth int8, OUT vectors int8,
	OUT vector_depth float8, OUT max_vector_depth int8,
	OUT row_bytes float8, OUT sorted_row_bytes float8, OUT sorted_vector_depth float8)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C CALLED ON NULL INPUT;
COMMENT ON FUNCTION zs_sortedness(regclass, text)
IS 'how far the rows of a zedstore table lie in the order of its columns, and what sorting them would change';

CREATE FUNCTION zs_overlap(relid regclass, OUT attname text, OUT overlap float8)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT ROWS 1;
COMMENT ON FUNCTION zs_overlap(regclass)
IS 'how many segments of a zedstore table lie over each other in the order that its rows follow';

CREATE FUNCTION zs_map(relid regclass)
RETURNS text
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE COST 10000;
COMMENT ON FUNCTION zs_map(regclass)
IS 'picture of the file of a zedstore table, as SVG';

CREATE FUNCTION zs_map(relid regclass, attname name)
RETURNS text
AS 'MODULE_PATHNAME', 'zs_map_column' LANGUAGE C STRICT VOLATILE COST 10000;
COMMENT ON FUNCTION zs_map(regclass, name)
IS 'picture of the zone maps of a column of a zedstore table, as SVG';

CREATE FUNCTION zs_read_ahead(
	OUT streams int8, OUT asked int8, OUT used int8, OUT missed int8, OUT restarts int8,
	OUT wishes int8, OUT wish_pages int8, OUT farthest int8)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 1;
COMMENT ON FUNCTION zs_read_ahead()
IS 'what look-ahead in zedstore tables has come to in this session';

REVOKE ALL ON FUNCTION pg_zs_btree_pages(regclass) FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_zs_meta_page(regclass) FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_zs_trees(regclass) FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_zs_free_pages(regclass) FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_zs_segments(regclass) FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_zs_tid_items(regclass) FROM PUBLIC;
REVOKE ALL ON FUNCTION zs_sortedness(regclass, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION zs_overlap(regclass) FROM PUBLIC;
REVOKE ALL ON FUNCTION zs_check(regclass, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pg_zs_btree_pages(regclass) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pg_zs_meta_page(regclass) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pg_zs_trees(regclass) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pg_zs_free_pages(regclass) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pg_zs_segments(regclass) TO pg_monitor;
GRANT EXECUTE ON FUNCTION pg_zs_tid_items(regclass) TO pg_monitor;
GRANT EXECUTE ON FUNCTION zs_sortedness(regclass, text) TO pg_monitor;
GRANT EXECUTE ON FUNCTION zs_overlap(regclass) TO pg_monitor;
GRANT EXECUTE ON FUNCTION zs_check(regclass, boolean) TO pg_monitor;
REVOKE ALL ON FUNCTION zs_map(regclass) FROM PUBLIC;
REVOKE ALL ON FUNCTION zs_map(regclass, name) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION zs_map(regclass) TO pg_monitor;
GRANT EXECUTE ON FUNCTION zs_map(regclass, name) TO pg_monitor;

CREATE FUNCTION pg_stat_get_zedstore_io(
	OUT worker int4, OUT pid int4, OUT method text, OUT role text,
	OUT rounds int8, OUT requests int8, OUT blocks int8, OUT write_bytes int8,
	OUT write_time float8, OUT pace_time float8, OUT blocks_skipped int8, OUT cached_requests int8,
	OUT errors int8, OUT buffered_files int8, OUT sync_requests_refused int8,
	OUT io_window int4, OUT io_rate int4, OUT vacuum_sleep float8, OUT checkpoint_blocks_total int8, OUT checkpoint_blocks_done int8,
	OUT latency_histogram int8[])
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE ROWS 4;
COMMENT ON FUNCTION pg_stat_get_zedstore_io()
IS 'what the I/O workers wrote since the server started';

CREATE FUNCTION pg_stat_get_zedstore_io_clients(
	OUT worker int4, OUT role text, OUT rests int8, OUT rest_time float8, OUT resting boolean,
	OUT wal_sync_time float8, OUT commit_delay float8, OUT commits_delayed int8)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE ROWS 4;
COMMENT ON FUNCTION pg_stat_get_zedstore_io_clients()
IS 'what the I/O workers do by what clients wait for, since the server started';

CREATE VIEW pg_stat_zedstore_io AS
SELECT s.*, c.rests, c.rest_time, c.resting, c.wal_sync_time, c.commit_delay, c.commits_delayed
FROM pg_stat_get_zedstore_io() s
	LEFT JOIN pg_stat_get_zedstore_io_clients() c ON c.worker = s.worker AND c.role = s.role;

REVOKE ALL ON FUNCTION pg_stat_get_zedstore_io() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pg_stat_get_zedstore_io() TO pg_monitor;
REVOKE ALL ON FUNCTION pg_stat_get_zedstore_io_clients() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pg_stat_get_zedstore_io_clients() TO pg_monitor;
GRANT SELECT ON pg_stat_zedstore_io TO pg_monitor;

CREATE FUNCTION zs_io_report(
	OUT item text, OUT object text, OUT setting text, OUT advice text, OUT reason text)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE ROWS 60;
COMMENT ON FUNCTION zs_io_report()
IS 'what limits I/O on this host, with advice';

REVOKE ALL ON FUNCTION zs_io_report() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION zs_io_report() TO pg_monitor;

CREATE FUNCTION zs_io_profiles(
	OUT profile text, OUT iops float8, OUT iops_per_gib float8, OUT max_iops float8,
	OUT bandwidth float8, OUT bandwidth_per_gib float8, OUT max_bandwidth float8,
	OUT counted_kb int4, OUT request_kb int4, OUT queue_depth int4, OUT tier_gib int4)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT STABLE ROWS 40;
COMMENT ON FUNCTION zs_io_profiles()
IS 'storage profiles: what kinds of volumes are limited to, in MiB/s and requests per second';

CREATE FUNCTION zs_io_volumes(
	OUT tablespace text, OUT setting text, OUT profile text, OUT device text, OUT gib float8,
	OUT read_iops float8, OUT write_iops float8, OUT read_bandwidth float8,
	OUT write_bandwidth float8, OUT counted_kb int4, OUT request_kb int4, OUT queue_depth int4)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE ROWS 4;
COMMENT ON FUNCTION zs_io_volumes()
IS 'storage profile and limits that hold for each tablespace';

REVOKE ALL ON FUNCTION zs_io_volumes() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION zs_io_volumes() TO pg_monitor;

CREATE FUNCTION zs_io_calibrate(tablespace name DEFAULT 'pg_default', seconds float8 DEFAULT 10,
	OUT operation text, OUT request_kb int4, OUT queue_depth int4, OUT requests int8,
	OUT iops float8, OUT bandwidth float8, OUT latency float8, OUT max_latency float8,
	OUT advice text)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE COST 10000 ROWS 24;
COMMENT ON FUNCTION zs_io_calibrate(name, float8)
IS 'measure the device of a tablespace with a scratch file';

REVOKE ALL ON FUNCTION zs_io_calibrate(name, float8) FROM PUBLIC;

CREATE FUNCTION pg_stat_get_zedstore_scans(
	OUT pid int4, OUT leader_pid int4, OUT device text, OUT blocks_left int8,
	OUT waiting boolean, OUT grants int8, OUT waits int8, OUT wait_time float8)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE ROWS 4;
COMMENT ON FUNCTION pg_stat_get_zedstore_scans()
IS 'scans that take turns on a device now';

CREATE FUNCTION pg_stat_get_zedstore_scan_volumes(
	OUT device text, OUT bandwidth float8, OUT grants int8, OUT waits int8, OUT overdue int8,
	OUT wait_time float8)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE ROWS 4;
COMMENT ON FUNCTION pg_stat_get_zedstore_scan_volumes()
IS 'devices on which scans took turns since the server started';

CREATE VIEW pg_stat_zedstore_scans AS SELECT * FROM pg_stat_get_zedstore_scans();
CREATE VIEW pg_stat_zedstore_scan_volumes AS SELECT * FROM pg_stat_get_zedstore_scan_volumes();

REVOKE ALL ON FUNCTION pg_stat_get_zedstore_scans() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_stat_get_zedstore_scan_volumes() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pg_stat_get_zedstore_scans() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pg_stat_get_zedstore_scan_volumes() TO pg_monitor;
GRANT SELECT ON pg_stat_zedstore_scans, pg_stat_zedstore_scan_volumes TO pg_monitor;

-- Conversion of tables that are in use: docs/adopt-convert.md.

CREATE PROCEDURE zs_convert(
	relation regclass, method name DEFAULT 'zedstore', options text[] DEFAULT NULL,
	older_than text DEFAULT NULL, lock_timeout int4 DEFAULT 200, timeout int4 DEFAULT 3600)
AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON PROCEDURE zs_convert(regclass, name, text[], text, int4, int4)
IS 'give a table that is in use another access method';

CREATE FUNCTION zs_convert_log() RETURNS trigger
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION zs_convert_log()
IS 'follows changes of a table during zs_convert()';
REVOKE ALL ON FUNCTION zs_convert_log() FROM PUBLIC;

CREATE FUNCTION zs_convert_cleanup(relation regclass DEFAULT NULL) RETURNS int8
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION zs_convert_cleanup(regclass)
IS 'drop what interrupted conversions left';

CREATE FUNCTION pg_stat_get_zedstore_conversions(
	OUT pid int4, OUT datid oid, OUT relid oid, OUT method oid, OUT started timestamptz,
	OUT phase text, OUT blocks_total int8, OUT blocks_done int8, OUT rows_copied int8,
	OUT indexes_total int8, OUT indexes_done int8, OUT changes_applied int8, OUT lock_tries int8)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE ROWS 4;
COMMENT ON FUNCTION pg_stat_get_zedstore_conversions()
IS 'conversions by zs_convert() that are going on';

CREATE VIEW pg_stat_zedstore_conversions AS
SELECT s.pid, d.datname, c.oid::regclass AS relation, a.amname AS method, s.started, s.phase,
	s.blocks_total, s.blocks_done, s.rows_copied, s.indexes_total, s.indexes_done,
	s.changes_applied, s.lock_tries
FROM pg_stat_get_zedstore_conversions() s
	LEFT JOIN pg_database d ON d.oid = s.datid
	LEFT JOIN pg_class c ON c.oid = s.relid AND d.datname = current_database()
	LEFT JOIN pg_am a ON a.oid = s.method AND d.datname = current_database()
UNION ALL
SELECT NULL, current_database(), l.relrewrite::regclass, NULL, NULL, 'interrupted',
	NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM (SELECT DISTINCT relrewrite FROM pg_class WHERE relrewrite <> 0 AND relkind = 'r') l
WHERE NOT EXISTS (
	SELECT FROM pg_stat_get_zedstore_conversions() s JOIN pg_database d ON d.oid = s.datid
	WHERE d.datname = current_database() AND s.relid = l.relrewrite);
COMMENT ON VIEW pg_stat_zedstore_conversions
IS 'conversions by zs_convert() that are going on, and those of which something is left';

REVOKE ALL ON FUNCTION pg_stat_get_zedstore_conversions() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pg_stat_get_zedstore_conversions() TO pg_monitor;
GRANT SELECT ON pg_stat_zedstore_conversions TO pg_monitor;

-- All zedstore tables of a database: docs/adopt-watch.md.

CREATE VIEW zs_tables AS
SELECT c.oid::regclass AS relation, b.bytes, w.raw::int8 AS raw_bytes,
	round((w.raw / nullif(b.bytes, 0))::numeric, 2) AS ratio,
	round(100.0 * t.rowtree / nullif(t.blocks, 0), 1) AS rowtree_percent,
	round(100.0 * t.free / nullif(t.blocks, 0), 1) AS free_percent,
	s.n_live_tup AS live_rows, s.n_dead_tup AS dead_rows,
	round(100.0 * s.n_dead_tup / nullif(s.n_live_tup + s.n_dead_tup, 0), 1) AS dead_percent,
	s.n_ins_since_vacuum AS inserted_since_vacuum,
	greatest(s.last_vacuum, s.last_autovacuum) AS last_vacuum,
	round(o.overlap::numeric, 1) AS overlap, o.attname AS overlap_column
FROM pg_class c
	JOIN pg_am a ON a.oid = c.relam
		AND a.amhandler = 'zedstore_tableam_handler(internal)'::regprocedure
	LEFT JOIN pg_stat_all_tables s ON s.relid = c.oid
	CROSS JOIN LATERAL (SELECT pg_table_size(c.oid) AS bytes) b
	CROSS JOIN LATERAL (
		SELECT greatest(c.reltuples, 0) * sum(p.stawidth * (1 - p.stanullfrac)) AS raw
		FROM pg_statistic p WHERE p.starelid = c.oid AND NOT p.stainherit) w
	CROSS JOIN LATERAL (
		SELECT sum(z.nblocks) AS blocks, sum(z.nblocks) FILTER (WHERE z.attno = -1) AS rowtree,
			sum(z.nfree) AS free
		FROM pg_zs_trees(CASE WHEN c.relpersistence = 'p' OR NOT pg_is_in_recovery()
			THEN c.oid END) z) t
	LEFT JOIN LATERAL zs_overlap(CASE WHEN c.relpersistence = 'p' OR NOT pg_is_in_recovery()
		THEN c.oid END) o ON true
WHERE c.relkind IN ('r', 'm') AND c.relpersistence <> 't';
COMMENT ON VIEW zs_tables
IS 'zedstore tables of this database, with what tells how they do';
GRANT SELECT ON zs_tables TO pg_monitor;

-- What a heap table would be as zedstore: docs/adopt-estimate.md.

CREATE FUNCTION zs_estimate(relation regclass, percent float8 DEFAULT NULL,
	OUT item text, OUT name text, OUT heap_bytes int8, OUT zedstore_bytes int8, OUT ratio numeric,
	OUT detail text)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE COST 100000 ROWS 30
SET search_path = pg_catalog, pg_temp
SET row_security = off
SET max_parallel_workers_per_gather = 0
SET synchronize_seqscans = off
AS $$
DECLARE
	blcksz CONSTANT int8 := current_setting('block_size')::int8;
	usual_runs CONSTANT int8 := 16;
	most_runs CONSTANT int8 := 64;
	run_bytes CONSTANT int8 := 67108864;	-- of wide rows no more
	run_rows CONSTANT int8 := 65536;	-- of a full segment
	entries CONSTANT float8 := 80;		-- of segments in an index page
	kind text;
	targets text;
	blocks int8;
	density float8;						-- rows of a block
	run int8;							-- blocks
	runs int8;
	segments int8 := 1;					-- of a run
	ranges text[];
	query text;
	sample_rows int8;
	scale float8;
	whole boolean := false;
	started timestamptz;
	seconds float8;
	stat record;
	writers float8;
BEGIN
	IF relation IS NULL THEN
		RAISE EXCEPTION USING ERRCODE = 'null_value_not_allowed',
			MESSAGE = 'the table must not be null';
	END IF;
	SELECT c.relkind INTO kind FROM pg_class c LEFT JOIN pg_am a ON a.oid = c.relam
	WHERE c.oid = relation AND (c.relkind = 'p' OR c.relkind IN ('r', 'm') AND a.amname = 'heap');
	IF kind IS NULL THEN
		RAISE EXCEPTION USING ERRCODE = 'wrong_object_type',
			MESSAGE = format('"%s" is not a heap table', relation);
	END IF;
	IF percent <= 0 OR percent > 100 OR percent = 'NaN' THEN
		RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
			MESSAGE = 'the percentage must be greater than 0 and at most 100';
	END IF;

	-- of a partitioned table those partitions that are heap, and their sum
	IF kind = 'p' THEN
		RETURN QUERY WITH e AS MATERIALIZED (
			SELECT e.* FROM pg_partition_tree(relation) p JOIN pg_class c ON c.oid = p.relid
				JOIN pg_am a ON a.oid = c.relam, @extschema@.zs_estimate(p.relid, percent) e
			WHERE c.relkind = 'r' AND a.amname = 'heap' AND e.item = 'table')
		SELECT 'partition', e.name, e.heap_bytes, e.zedstore_bytes, e.ratio, e.detail FROM e
		UNION ALL
		SELECT 'table', relation::text, sum(e.heap_bytes)::int8, sum(e.zedstore_bytes)::int8,
			round(sum(e.zedstore_bytes) / sum(e.heap_bytes), 4), format('%s partitions', count(*))
		FROM e HAVING count(*) > 0;
		RETURN;
	END IF;
	SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) INTO targets
	FROM pg_attribute
	WHERE attrelid = relation AND attnum > 0 AND NOT attisdropped AND attgenerated <> 'v';
	blocks := pg_relation_size(relation) / blcksz;
	IF targets IS NULL THEN
		RAISE NOTICE 'table "%" has no columns with values of their own', relation;
		RETURN;
	END IF;
	IF blocks = 0 THEN
		RAISE NOTICE 'table "%" is empty', relation;
		RETURN;
	END IF;

	-- runs of neighbouring rows, as long as segments, in the middle of as many parts of the table;
	-- some blocks tell first how many of them a run is
	run := 4;
	runs := usual_runs;
	FOR step IN 1 .. 2 LOOP
		IF step = 2 THEN
			-- where rows are denser a run ends before its last block
			run := CASE WHEN density > 0 THEN ceil(least(run_rows / density * 9 / 8,
				run_bytes::float8 * blocks / pg_table_size(relation))) ELSE blocks END;
			runs := greatest(usual_runs, ceil(blocks * percent / 100 / run));
			segments := ceil(runs::float8 / most_runs);
			runs := least(runs, most_runs);
			run := run * segments;
		END IF;
		whole := runs * run >= blocks;
		IF whole THEN
			runs := 1;
			run := blocks;
		END IF;
		SELECT array_agg(format('FROM ONLY %s WHERE ctid >= ''(%s,0)'' AND ctid < ''(%s,0)''',
				relation, f, f + run) ORDER BY f)
		INTO ranges
		FROM (SELECT floor(blocks::float8 * (2 * i + 1) / (2 * runs) - run / 2.0)::int8 AS f
			FROM generate_series(0, runs - 1) i) r;
		SELECT string_agg('SELECT count(*) AS n ' || r, ' UNION ALL ') INTO query
		FROM unnest(ranges) r;
		EXECUTE format('SELECT sum(n) / $1 FROM (%s) c', query) INTO density USING runs * run;
	END LOOP;

	-- read by one command, which writes as bulk loads do
	SELECT string_agg(format('(SELECT %s %s%s)', targets, r,
			CASE WHEN NOT whole THEN format(' LIMIT %s', run_rows * segments) END),
			' UNION ALL ' ORDER BY n)
	INTO query
	FROM unnest(ranges) WITH ORDINALITY u (r, n);
	started := clock_timestamp();
	EXECUTE 'CREATE TEMP TABLE zs_estimate_sample USING zedstore AS ' || query;
	GET DIAGNOSTICS sample_rows = ROW_COUNT;
	IF sample_rows = 0 THEN
		RAISE NOTICE 'table "%" is empty', relation;
		DROP TABLE pg_temp.zs_estimate_sample;
		RETURN;
	END IF;
	scale := CASE WHEN whole THEN 1 ELSE blocks * density / sample_rows END;

	-- blocks of segments and of large values grow with the table; others hardly do
	CREATE TEMP TABLE zs_estimate_trees USING heap ON COMMIT DROP AS
	WITH s AS (
		SELECT z.attno, z.attname, count(*) AS n, sum(z.nblocks) AS blocks,
			sum(z.raw_bytes) AS raw, sum(z.stored_bytes) AS stored
		FROM @extschema@.pg_zs_segments('pg_temp.zs_estimate_sample') z GROUP BY 1, 2),
	e AS (
		SELECT u.attno, string_agg(u.encoding || ' ' || u.share || ' %', ', ' ORDER BY u.share DESC)
			AS encodings
		FROM (SELECT z.attno, split_part(w, ':', 1) AS encoding,
				round(100 * sum(split_part(w, ':', 2)::numeric)
					/ sum(sum(split_part(w, ':', 2)::numeric)) OVER (PARTITION BY z.attno))
				AS share
			FROM @extschema@.pg_zs_segments('pg_temp.zs_estimate_sample') z,
				unnest(string_to_array(z.encodings, ',')) w
			GROUP BY 1, 2) u
		WHERE u.share > 0 GROUP BY 1)
	SELECT t.attno, t.attname, coalesce(s.raw, 0) * scale AS raw, e.encodings,
		blcksz * CASE
			WHEN whole THEN t.nblocks
			WHEN t.attno IN (-1, 0) THEN least(t.nblocks, 3)
			ELSE coalesce(s.blocks, 0) * scale + ceil(coalesce(s.n, 0) * scale / entries)
				+ scale * greatest(0, t.nblocks - t.nfree - coalesce(s.blocks, 0)
					- ceil(coalesce(s.n, 0) / entries)) END AS bytes
	FROM @extschema@.pg_zs_trees('pg_temp.zs_estimate_sample') t
		LEFT JOIN s USING (attno) LEFT JOIN e USING (attno)
	WHERE t.attno IS NOT NULL;
	seconds := extract(epoch FROM clock_timestamp() - started) * scale;

	FOR item, name, heap_bytes, zedstore_bytes, detail IN
		SELECT 'column', t.attname, t.raw::int8, t.bytes::int8, t.encodings
		FROM pg_temp.zs_estimate_trees t WHERE t.attno > 0 ORDER BY t.attno
	LOOP
		ratio := round(zedstore_bytes::numeric / nullif(heap_bytes, 0), 4);
		RETURN NEXT;
	END LOOP;

	item := 'table';
	name := relation;
	heap_bytes := pg_table_size(relation);
	SELECT (sum(t.bytes) + blcksz)::int8 INTO zedstore_bytes FROM pg_temp.zs_estimate_trees t;
	ratio := round(zedstore_bytes::numeric / heap_bytes, 4);
	detail := format('%s of %s blocks were read, %s rows', CASE WHEN whole THEN blocks
		ELSE round(sample_rows / density)::int8 END, blocks, sample_rows);
	RETURN NEXT;
	DROP TABLE pg_temp.zs_estimate_trees, pg_temp.zs_estimate_sample;

	item := 'indexes';
	heap_bytes := pg_indexes_size(relation);
	zedstore_bytes := heap_bytes;
	ratio := round(zedstore_bytes::numeric / nullif(heap_bytes, 0), 4);
	detail := 'built anew, of the same size as after REINDEX';
	RETURN NEXT;

	heap_bytes := NULL;
	zedstore_bytes := NULL;
	ratio := NULL;
	item := 'conversion';
	name := 'time';
	detail := format('about %s s to copy the table, and then to build %s of indexes',
		ceil(seconds), pg_size_pretty(pg_indexes_size(relation)));
	RETURN NEXT;
	name := 'locks';
	detail := 'zs_convert(): against DDL and VACUUM; against all for a fraction of a second. '
		'ALTER TABLE ... SET ACCESS METHOD: against all, for all of the time';
	RETURN NEXT;

	item := 'advice';
	SELECT * INTO stat FROM pg_stat_all_tables s WHERE s.relid = relation;
	IF stat.n_tup_upd > stat.n_live_tup / 10 THEN
		name := 'updates';
		detail := format('%s updates of %s rows, %s %% of them HOT: each would write an entry to '
			'every index', stat.n_tup_upd, stat.n_live_tup,
			100 * stat.n_tup_hot_upd / greatest(stat.n_tup_upd, 1));
		RETURN NEXT;
	END IF;
	IF stat.idx_scan > 100 * greatest(stat.seq_scan, 1) AND stat.idx_tup_fetch < 10 * stat.idx_scan
	THEN
		name := 'lookups';
		detail := format('%s index scans for %s sequential ones, of few rows each: these gain '
			'nothing but memory', stat.idx_scan, stat.seq_scan);
		RETURN NEXT;
	END IF;
	IF pg_relation_size(relation) < 0.5 * pg_table_size(relation) THEN
		name := 'wide rows';
		detail := format('%s %% of the table are large values, which gain least',
			round(100 - 100.0 * pg_relation_size(relation) / pg_table_size(relation)));
		RETURN NEXT;
	END IF;
	EXECUTE format('SELECT count(*)::float8 / nullif(count(DISTINCT xmin::text), 0) FROM ONLY %s '
				   'WHERE ctid >= $1', relation)
		INTO writers USING format('(%s,0)', greatest(blocks - 100, 0))::tid;
	IF writers < 10 THEN
		name := 'small transactions';
		detail := format('about %s rows for each transaction that wrote the newest ones: they stay '
			'in the row tree until VACUUM', round(writers::numeric, 1));
		RETURN NEXT;
	END IF;
END $$;
COMMENT ON FUNCTION zs_estimate(regclass, float8)
IS 'what a heap table would take as zedstore, and what its conversion would';
