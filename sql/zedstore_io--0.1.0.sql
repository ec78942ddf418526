/* sql/zedstore_io--0.1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION zedstore_io" to load this file. \quit

-- table access method

CREATE FUNCTION zedstore_tableam_handler(internal)
RETURNS table_am_handler
AS 'MODULE_PATHNAME'
LANGUAGE C;

CREATE ACCESS METHOD zedstore TYPE TABLE HANDLER zedstore_tableam_handler;
COMMENT ON ACCESS METHOD zedstore IS 'columnar, compressed table access method';
