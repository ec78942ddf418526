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
