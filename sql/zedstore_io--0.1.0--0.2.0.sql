/* sql/zedstore_io--0.1.0--0.2.0.sql */

-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION zedstore_io UPDATE TO '0.2.0'" to load this file. \quit

/* ---- inspection (docs/inspection.md) ---------------------------------------- */

CREATE FUNCTION zs_version(
	OUT library text, OUT extension text, OUT format int4)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT STABLE ROWS 1;
COMMENT ON FUNCTION zs_version()
IS 'versions of the loaded library, of the extension in this database, and of the format that tables are written in';

CREATE FUNCTION zs_sortedness(relid regclass,
	OUT attno int4, OUT attname text, OUT key_position int4, OUT segments int8,
	OUT segment_depth float8, OUT max_segment_depth int8, OUT vectors int8,
	OUT vector_depth float8, OUT max_vector_depth int8)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
COMMENT ON FUNCTION zs_sortedness(regclass)
IS 'how far the rows of a zedstore table lie in the order of its columns';
REVOKE ALL ON FUNCTION zs_sortedness(regclass) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION zs_sortedness(regclass) TO pg_monitor;

CREATE FUNCTION zs_read_ahead(
	OUT streams int8, OUT asked int8, OUT used int8, OUT missed int8, OUT restarts int8,
	OUT wishes int8, OUT wish_pages int8, OUT farthest int8)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 1;
COMMENT ON FUNCTION zs_read_ahead()
IS 'what look-ahead in zedstore tables has come to in this session';

/* ---- I/O workers (docs/io.md) ------------------------------------------------ */

CREATE FUNCTION pg_stat_get_zedstore_io_clients(
	OUT worker int4, OUT role text, OUT rests int8, OUT rest_time float8, OUT resting boolean,
	OUT wal_sync_time float8, OUT commit_delay float8, OUT commits_delayed int8)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE ROWS 4;
COMMENT ON FUNCTION pg_stat_get_zedstore_io_clients()
IS 'what the I/O workers do by what clients wait for, since the server started';

CREATE OR REPLACE VIEW pg_stat_zedstore_io AS
SELECT s.*, c.rests, c.rest_time, c.resting, c.wal_sync_time, c.commit_delay, c.commits_delayed
FROM pg_stat_get_zedstore_io() s
	LEFT JOIN pg_stat_get_zedstore_io_clients() c ON c.worker = s.worker AND c.role = s.role;

REVOKE ALL ON FUNCTION pg_stat_get_zedstore_io_clients() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pg_stat_get_zedstore_io_clients() TO pg_monitor;

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
