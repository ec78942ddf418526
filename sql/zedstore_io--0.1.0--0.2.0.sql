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

CREATE FUNCTION zs_read_ahead(
	OUT streams int8, OUT asked int8, OUT used int8, OUT missed int8, OUT restarts int8,
	OUT wishes int8, OUT wish_pages int8, OUT farthest int8)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 1;
COMMENT ON FUNCTION zs_read_ahead()
IS 'what look-ahead in zedstore tables has come to in this session';
