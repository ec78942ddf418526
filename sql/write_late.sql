--
-- Loads whose rows get their numbers when they are written
--
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
\set include :abs_srcdir '/sql/include/late.sql'
create schema write_late;
set search_path = write_late, public;
\set ECHO all

\set late on
\i :include
\set late off
\i :include
