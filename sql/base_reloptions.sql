--
-- Options of zedstore tables: where they may be given, what they may be, and
-- that they survive.
--
CREATE SCHEMA base_reloptions;
SET search_path = base_reloptions, public;
SET default_table_access_method = heap;
\set SHOW_CONTEXT never

\pset null '(null)'

-- what a table has
CREATE FUNCTION options(regclass) RETURNS text[] LANGUAGE sql AS
$$ SELECT reloptions FROM pg_class WHERE oid = $1 $$;

-- message, detail and error code of a command
CREATE FUNCTION outcome(command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	message text;
	detail text;
BEGIN
	EXECUTE command;
	RETURN 'ok';
EXCEPTION WHEN others THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
	RETURN concat_ws(' | ', sqlstate, message, nullif(detail, ''));
END $$;

--
-- CREATE TABLE
--
CREATE TABLE t (a int, b text) USING zedstore
	WITH (zedstore_rel_extension_factor = 512, fillfactor = 70,
		  zedstore_compression = zstd, zedstore_compression_level = 3);
SELECT options('t');
\d+ t
INSERT INTO t VALUES (1, 'one');

CREATE TABLE t_none (a int) USING zedstore;
SELECT options('t_none');
CREATE TABLE t_core (a int) USING zedstore WITH (fillfactor = 50, autovacuum_enabled);
SELECT options('t_core');

-- every spelling that core takes
CREATE TABLE t_spelling (a int) USING zedstore
	WITH (zedstore_rel_extension_factor = '0x10', zedstore_compression = 'LZ4');
SELECT options('t_spelling');

-- the access method may be the default one
SET default_table_access_method = zedstore;
CREATE TABLE t_default (a int) WITH (zedstore_compression = none);
SET default_table_access_method = heap;
SELECT options('t_default');

CREATE TEMP TABLE t_temp (a int) USING zedstore
	WITH (zedstore_compression = none) ON COMMIT DROP;
CREATE TEMP TABLE t_temp (a int) USING zedstore WITH (zedstore_compression = none);
SELECT options('t_temp');
CREATE UNLOGGED TABLE t_unlogged (a serial PRIMARY KEY, b text UNIQUE DEFAULT 'x' CHECK (b <> ''))
	USING zedstore WITH (zedstore_rel_extension_factor = 16);
SELECT options('t_unlogged'), options('t_unlogged_a_seq'), options('t_unlogged_pkey');

-- an existing table keeps what it has
CREATE TABLE IF NOT EXISTS t (a int) USING zedstore WITH (zedstore_compression = none);
CREATE TABLE t (a int) USING zedstore WITH (zedstore_compression = none);
SELECT options('t');

-- LIKE does not copy storage parameters, as for heap
CREATE TABLE t_like (LIKE t INCLUDING ALL) USING zedstore;
CREATE TABLE t_like2 (LIKE t INCLUDING ALL, c int) USING zedstore
	WITH (zedstore_rel_extension_factor = 7);
SELECT options('t_like'), options('t_like2');

CREATE TYPE pair AS (a int, b int);
CREATE TABLE t_of OF pair USING zedstore WITH (zedstore_rel_extension_factor = 7);
SELECT options('t_of');

-- inheritance does not hand them down
CREATE TABLE t_child () INHERITS (t) USING zedstore;
SELECT options('t_child');

CREATE SCHEMA base_reloptions_inner
	CREATE TABLE inner_table (a serial) USING zedstore WITH (zedstore_rel_extension_factor = 9)
	CREATE VIEW inner_view AS SELECT a FROM inner_table
	CREATE TABLE inner_heap (a int) USING heap WITH (fillfactor = 99);
SELECT options('base_reloptions_inner.inner_table'), options('base_reloptions_inner.inner_heap');

--
-- CREATE TABLE AS and friends
--
CREATE TABLE t_as USING zedstore WITH (zedstore_compression = zstd, fillfactor = 80)
	AS SELECT g AS a FROM generate_series(1, 10) g;
CREATE TABLE t_as_nodata USING zedstore WITH (zedstore_compression = zstd)
	AS SELECT 1 AS a WITH NO DATA;
CREATE TABLE IF NOT EXISTS t_as USING zedstore WITH (zedstore_compression = none) AS SELECT 1;
SELECT options('t_as'), count(*) FROM t_as;
SELECT options('t_as_nodata');

PREPARE ten AS SELECT g AS a FROM generate_series(1, 10) g;
CREATE TABLE t_as_execute USING zedstore WITH (zedstore_rel_extension_factor = 4) AS EXECUTE ten;
SELECT options('t_as_execute'), count(*) FROM t_as_execute;
DEALLOCATE ten;

EXPLAIN (COSTS OFF) CREATE TABLE t_explain USING zedstore
	WITH (zedstore_rel_extension_factor = 4) AS SELECT 1 AS a;
DO $$ BEGIN
	EXECUTE 'EXPLAIN ANALYZE CREATE TABLE t_explain USING zedstore
		WITH (zedstore_rel_extension_factor = 4) AS SELECT 1 AS a';
END $$;
SELECT options('t_explain');

SET default_table_access_method = zedstore;
SELECT 1 AS a INTO t_into;
SELECT options('t_into');
SET default_table_access_method = heap;

CREATE MATERIALIZED VIEW mv USING zedstore
	WITH (zedstore_compression = zstd, zedstore_rel_extension_factor = 32)
	AS SELECT g AS a FROM generate_series(1, 10) g;
REFRESH MATERIALIZED VIEW mv;
SELECT options('mv'), count(*) FROM mv;
ALTER MATERIALIZED VIEW mv SET (zedstore_rel_extension_factor = 64, fillfactor = 90);
SELECT options('mv');
ALTER MATERIALIZED VIEW mv RESET (zedstore_compression);
SELECT options('mv');
\d+ mv

-- a function that creates tables while a table is created from it
CREATE FUNCTION make_table() RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	CREATE TEMP TABLE t_outer (a int) USING zedstore WITH (zedstore_rel_extension_factor = 2);
	CREATE TEMP TABLE t_nested (a int) USING zedstore;
	RETURN 1;
END $$;
CREATE TABLE t_outer USING zedstore WITH (zedstore_compression = none) AS SELECT make_table() AS a;
SELECT options('base_reloptions.t_outer'), options('pg_temp.t_outer'), options('t_nested');
DROP TABLE pg_temp.t_outer;

-- commands whose parse tree is cached
CREATE FUNCTION again(n int) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
	result text[];
BEGIN
	FOR i IN 1 .. n LOOP
		CREATE TEMP TABLE t_again (a int) USING zedstore WITH (zedstore_compression = zstd, fillfactor = 20);
		ALTER TABLE t_again SET (zedstore_compression_level = 5, fillfactor = 30), RESET (fillfactor);
		SELECT options('t_again') INTO result;
		DROP TABLE t_again;
	END LOOP;
	RETURN result;
END $$;
SELECT again(3);
DO $$ BEGIN CREATE TABLE t_do (a int) USING zedstore WITH (zedstore_compression = none); END $$;
SELECT options('t_do');

--
-- ALTER TABLE
--
SELECT options('t');
ALTER TABLE t SET (fillfactor = 60);
SELECT options('t');
ALTER TABLE t SET (zedstore_rel_extension_factor = 1024);
SELECT options('t');
ALTER TABLE t SET (parallel_workers = 2, zedstore_compression = lz4), RESET (fillfactor);
SELECT options('t');
ALTER TABLE t RESET (zedstore_compression_level, autovacuum_enabled);
SELECT options('t');
-- the last one counts
ALTER TABLE t SET (zedstore_compression = zstd), SET (zedstore_compression = none),
	RESET (parallel_workers), SET (zedstore_compression_level = 7);
SELECT options('t');
ALTER TABLE t SET (zedstore_rel_extension_factor = 3), RESET (zedstore_rel_extension_factor);
SELECT options('t');
ALTER TABLE t RESET (zedstore_compression, zedstore_compression_level);
SELECT options('t');
ALTER TABLE t RESET (zedstore_compression);
ALTER TABLE t SET (toast.autovacuum_enabled = off, zedstore_compression = zstd);
SELECT options('t');

-- beside other subcommands, with and without rewriting the table
ALTER TABLE t ADD COLUMN c int DEFAULT 5, SET (zedstore_rel_extension_factor = 256),
	ALTER COLUMN a SET NOT NULL, ADD CONSTRAINT positive CHECK (a > 0);
ALTER TABLE t ALTER COLUMN a TYPE bigint, SET (fillfactor = 40, zedstore_compression_level = 2);
ALTER TABLE t ADD PRIMARY KEY (a), ALTER COLUMN c TYPE text, RESET (fillfactor);
SELECT options('t'), t.* FROM t;
ALTER TABLE t ALTER COLUMN c TYPE int USING c::int;
CREATE INDEX t_b ON t (b) WITH (fillfactor = 55);
REINDEX TABLE t;
VACUUM FULL t;
CLUSTER t USING t_b;
ANALYZE t;
TRUNCATE t;
ALTER TABLE t SET UNLOGGED;
ALTER TABLE t SET LOGGED;
ALTER TABLE t RENAME TO t_renamed;
ALTER TABLE t_renamed RENAME TO t;
SELECT options('t'), options('t_b');

-- children are not concerned
SELECT options('t_child');
ALTER TABLE ONLY t SET (zedstore_rel_extension_factor = 8);
ALTER TABLE t * SET (zedstore_compression = lz4);
SELECT options('t'), options('t_child');

ALTER TABLE IF EXISTS no_such_table SET (zedstore_rel_extension_factor = 8);
ALTER TABLE no_such_table SET (zedstore_rel_extension_factor = 8);

-- a rollback takes them back
BEGIN;
ALTER TABLE t SET (zedstore_rel_extension_factor = 9);
SAVEPOINT s;
ALTER TABLE t RESET (zedstore_rel_extension_factor);
ROLLBACK TO s;
SELECT options('t');
ROLLBACK;
SELECT options('t');

-- the lock is the weakest one of ALTER TABLE
BEGIN;
ALTER TABLE t SET (zedstore_rel_extension_factor = 9);
SELECT mode FROM pg_locks WHERE relation = 't'::regclass AND pid = pg_backend_pid() ORDER BY 1;
ROLLBACK;
BEGIN;
ALTER TABLE t RESET (zedstore_rel_extension_factor), SET (fillfactor = 77);
SELECT mode FROM pg_locks WHERE relation = 't'::regclass AND pid = pg_backend_pid() ORDER BY 1;
ROLLBACK;

-- read-only transactions
BEGIN READ ONLY;
ALTER TABLE t SET (zedstore_rel_extension_factor = 9);
ROLLBACK;

--
-- SET ACCESS METHOD
--
CREATE TABLE am (a int) USING zedstore WITH (zedstore_compression = zstd, fillfactor = 33);
INSERT INTO am SELECT generate_series(1, 100);
ALTER TABLE am SET ACCESS METHOD heap;
SELECT options('am');
ALTER TABLE am SET (fillfactor = 44);
ALTER TABLE am SET ACCESS METHOD zedstore, SET (zedstore_rel_extension_factor = 128);
SELECT options('am');
ALTER TABLE am SET ACCESS METHOD zedstore;
SELECT options('am');
ALTER TABLE am SET ACCESS METHOD heap, SET (zedstore_rel_extension_factor = 64);
ALTER TABLE am SET (fillfactor = 45), SET ACCESS METHOD DEFAULT;
SELECT options('am'), count(*) FROM am;
ALTER TABLE am SET ACCESS METHOD no_such_am, SET (zedstore_rel_extension_factor = 64);

--
-- partitioned tables hand their options to new partitions
--
CREATE TABLE p (a int, b text) PARTITION BY RANGE (a) USING zedstore
	WITH (zedstore_rel_extension_factor = 256, zedstore_compression = zstd);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10) TO (20)
	WITH (zedstore_compression = none, fillfactor = 90);
CREATE TABLE p3 PARTITION OF p FOR VALUES FROM (20) TO (30) USING heap;
CREATE TABLE p4 PARTITION OF p FOR VALUES FROM (30) TO (40) PARTITION BY LIST (b);
CREATE TABLE p4x PARTITION OF p4 FOR VALUES IN ('x');
CREATE TABLE p5 (a int, b text) USING zedstore;
ALTER TABLE p ATTACH PARTITION p5 FOR VALUES FROM (40) TO (50);
SELECT c::regclass, options(c) FROM unnest('{p,p1,p2,p3,p4,p4x,p5}'::regclass[]) c;
INSERT INTO p VALUES (1, 'a'), (11, 'a'), (21, 'a'), (31, 'x'), (41, 'a');
ALTER TABLE p SET (zedstore_rel_extension_factor = 32);
CREATE TABLE p6 PARTITION OF p DEFAULT;
ALTER TABLE p RESET (zedstore_rel_extension_factor, zedstore_compression);
ALTER TABLE p SET (zedstore_compression_level = 1);
SELECT c::regclass, options(c) FROM unnest('{p,p1,p4,p6}'::regclass[]) c;
\d+ p1
SELECT outcome('ALTER TABLE p SET (fillfactor = 10)');
SELECT outcome('ALTER TABLE p SET (fillfactor = 10, zedstore_compression = zstd)');
SELECT options('p');
ALTER TABLE p SET ACCESS METHOD heap;
SELECT options('p'), options('p1');
SELECT outcome('ALTER TABLE p SET (zedstore_rel_extension_factor = 32)');
ALTER TABLE p SET ACCESS METHOD DEFAULT;
-- without an access method, as pg_dump creates it
CREATE TABLE q (a int) PARTITION BY RANGE (a) WITH (zedstore_rel_extension_factor = 256);
CREATE TABLE q1 PARTITION OF q FOR VALUES FROM (0) TO (10);
ALTER TABLE q SET ACCESS METHOD zedstore;
CREATE TABLE q2 PARTITION OF q FOR VALUES FROM (10) TO (20);
SELECT c::regclass, options(c) FROM unnest('{q,q1,q2}'::regclass[]) c;

--
-- what is refused, in core's words
--
SELECT value, outcome(format('CREATE TABLE bad (a int) USING zedstore WITH (zedstore_rel_extension_factor = %s)', value))
FROM unnest(ARRAY['0', '-1', '65537', 'x', '''''', '99999999999', '''1kB''', 'true']) value;
SELECT value, outcome(format('ALTER TABLE t SET (zedstore_compression = %s)', value))
FROM unnest(ARRAY['pglz', '''''', '1', 'off']) value;
SELECT value, outcome(format('ALTER TABLE t SET (zedstore_compression_level = %s)', value))
FROM unnest(ARRAY['-1', '23', 'x']) value;
SELECT outcome('ALTER TABLE t SET (zedstore_rel_extension_factor)');
SELECT outcome('ALTER TABLE t SET (zedstore_compression = lz4, zedstore_compression = lz4)');
SELECT outcome('CREATE TABLE bad (a int) USING zedstore WITH (zedstore_compression = lz4, zedstore_compression = lz4)');
SELECT outcome('CREATE TABLE bad (a int) USING zedstore WITH (zedstore_nothing = 1)');
SELECT outcome('ALTER TABLE t SET (zedstore_nothing = 1)');
SELECT outcome('ALTER TABLE t SET (zedstore_nothing = 1, zedstore_compression = lz4)');
SELECT outcome('ALTER TABLE t SET (zedstore.rel_extension_factor = 1)');
SELECT outcome('CREATE TABLE bad (a int) USING zedstore WITH (toast.zedstore_compression = lz4)');
-- heap looks at them where there is a TOAST table, or would be
CREATE TABLE long_values (a text) USING zedstore;
CREATE TABLE short_values (a int) USING zedstore;
SELECT outcome(format('ALTER TABLE %s SET (%s)', name, option))
FROM unnest(ARRAY['long_values', 'short_values']) name,
	unnest(ARRAY['toast.nothing = 1', 'toast.autovacuum_enabled = maybe',
		'toast.autovacuum_enabled = off, fillfactor = 50']) option ORDER BY name, option;
DROP TABLE long_values, short_values;
SELECT outcome('ALTER TABLE t SET ("ZEDSTORE_COMPRESSION" = lz4)');
SELECT outcome('ALTER TABLE t SET (fillfactor = 5, zedstore_compression = lz4)');
SELECT outcome('ALTER TABLE t RESET (zedstore_compression = lz4)');
-- nothing of this left a trace
SELECT options('t');

-- relations of other kinds
CREATE TABLE heap_table (a int PRIMARY KEY) USING heap;
CREATE VIEW view AS SELECT 1 AS a;
CREATE SEQUENCE sequence;
CREATE FOREIGN DATA WRAPPER base_reloptions;
CREATE SERVER base_reloptions FOREIGN DATA WRAPPER base_reloptions;
CREATE FOREIGN TABLE foreign_table (a int) SERVER base_reloptions;
SELECT outcome('CREATE TABLE bad (a int) USING heap WITH (zedstore_compression = lz4)');
SELECT outcome('CREATE TABLE bad (a int) USING heap WITH (zedstore_compression = pglz)');
SELECT outcome('CREATE TABLE bad USING heap WITH (zedstore_compression = lz4) AS SELECT 1');
SELECT outcome('CREATE MATERIALIZED VIEW bad USING heap WITH (zedstore_compression = lz4) AS SELECT 1');
SELECT outcome('CREATE TABLE bad (a int) PARTITION BY LIST (a) USING heap WITH (zedstore_compression = lz4)');
SELECT outcome('CREATE TABLE bad PARTITION OF q FOR VALUES FROM (90) TO (91) USING heap WITH (zedstore_compression = lz4)');
SELECT outcome('CREATE VIEW bad WITH (zedstore_compression = lz4) AS SELECT 1');
SELECT outcome('CREATE INDEX bad ON t (b) WITH (zedstore_compression = lz4)');
SELECT outcome('ALTER TABLE heap_table SET (zedstore_compression = lz4)');
SELECT outcome('ALTER TABLE heap_table SET (zedstore_compression = pglz, fillfactor = 10)');
SELECT outcome('ALTER TABLE heap_table RESET (zedstore_compression)');
SELECT outcome('ALTER INDEX heap_table_pkey SET (zedstore_compression = lz4)');
SELECT outcome('ALTER TABLE t_b SET (zedstore_compression = lz4)');
SELECT outcome('ALTER VIEW view SET (zedstore_compression = lz4)');
SELECT outcome('ALTER TABLE sequence SET (zedstore_compression = lz4)');
SELECT outcome('ALTER FOREIGN TABLE foreign_table SET (zedstore_compression = lz4)');
SELECT outcome('ALTER MATERIALIZED VIEW t SET (zedstore_compression = lz4)');
SELECT outcome('ALTER TABLE pg_class SET (zedstore_compression = lz4)');

-- permissions
CREATE ROLE regress_zs_reloptions;
GRANT USAGE ON SCHEMA base_reloptions TO regress_zs_reloptions;
GRANT ALL ON t TO regress_zs_reloptions;
SET ROLE regress_zs_reloptions;
SELECT outcome('ALTER TABLE t SET (zedstore_compression = lz4)');
SELECT outcome('ALTER TABLE t RESET (zedstore_compression)');
RESET ROLE;

--
-- event triggers see one command, and options in place after creation
--
CREATE FUNCTION report() RETURNS event_trigger LANGUAGE plpgsql AS $$
DECLARE
	command record;
BEGIN
	IF tg_event = 'ddl_command_start' THEN
		RAISE NOTICE '% %', tg_event, tg_tag;
	ELSE
		FOR command IN SELECT * FROM pg_event_trigger_ddl_commands() LOOP
			RAISE NOTICE '% % % %', tg_event, command.command_tag, command.object_identity,
				CASE tg_tag WHEN 'CREATE TABLE' THEN options(command.objid) END;
		END LOOP;
	END IF;
END $$;
CREATE EVENT TRIGGER report_start ON ddl_command_start
	WHEN tag IN ('CREATE TABLE', 'ALTER TABLE') EXECUTE FUNCTION report();
CREATE EVENT TRIGGER report_end ON ddl_command_end
	WHEN tag IN ('CREATE TABLE', 'ALTER TABLE') EXECUTE FUNCTION report();
CREATE TABLE e (a int) USING zedstore WITH (zedstore_compression = zstd);
ALTER TABLE e SET (zedstore_compression = none, fillfactor = 12), ADD COLUMN b int;
DROP EVENT TRIGGER report_start;
DROP EVENT TRIGGER report_end;
SELECT options('e');

-- pages are split and the file is extended when the options have just been forgotten
create table split_z (a int primary key, b text) using zedstore with (zedstore_rel_extension_factor = 3);
do $$
begin
	for i in 1..200 loop
		insert into split_z select i * 10 + j, repeat('b', 1500) from generate_series(0, 1) j;
		execute format('alter table split_z set (parallel_workers = %s)', i);
		insert into split_z values (i * 10 + 5, repeat('c', 1500));
		delete from split_z where a = i * 10;
	end loop;
end $$;
select count(*), sum(length(b)) from split_z;
select * from zs_check('split_z');
drop table split_z;

DROP OWNED BY regress_zs_reloptions;
DROP ROLE regress_zs_reloptions;

--
-- Partitions that are split and merged (PostgreSQL 19) have what their parent has
--
SET default_table_access_method = zedstore;
CREATE TABLE s_part (a int, b text) PARTITION BY RANGE (a) USING zedstore WITH (zedstore_compression = none);
CREATE TABLE s_part1 PARTITION OF s_part FOR VALUES FROM (0) TO (5000);
INSERT INTO s_part SELECT i, 'b' || i FROM generate_series(0, 4999) i;
DO $$ BEGIN
	IF current_setting('server_version_num')::int >= 190000 THEN
		EXECUTE 'ALTER TABLE s_part SPLIT PARTITION s_part1 INTO (PARTITION s_part2 FOR VALUES FROM (0) TO (10),
			PARTITION s_part3 FOR VALUES FROM (10) TO (5000))';
		EXECUTE 'ALTER TABLE s_part MERGE PARTITIONS (s_part2, s_part3) INTO s_part1';
	END IF;
END $$;
SET default_table_access_method = heap;
SELECT relname, amname, reloptions FROM pg_class c JOIN pg_am a ON a.oid = relam
	WHERE relname LIKE 's_part%' AND relnamespace = 'base_reloptions'::regnamespace ORDER BY 1;
SELECT count(*), sum(a), max(b) FROM s_part1;

--
-- Options that travel to tables of other access methods
--
SET zedstore.ignore_options = on;
CREATE TABLE i_heap (a int) USING heap WITH (zedstore_compression = zstd, fillfactor = 70);
SELECT options('i_heap');
CREATE TABLE i_as WITH (zedstore_compression_level = 3) AS SELECT 1 AS a;
CREATE MATERIALIZED VIEW i_view USING heap WITH (zedstore_compression = lz4) AS SELECT 1 AS a;
CREATE TABLE i_part (a int) PARTITION BY RANGE (a) USING heap WITH (zedstore_compression = lz4);
ALTER TABLE i_heap SET (zedstore_compression = none, fillfactor = 80), SET (zedstore_rel_extension_factor = 7);
ALTER TABLE i_heap SET (zedstore_compression = none);
SELECT options('i_heap');
ALTER TABLE i_heap RESET (zedstore_compression), RESET (fillfactor);
SELECT options('i_heap');
-- where they belong nothing changes, and names and values of others are checked as ever
CREATE TABLE i_zedstore (a int) USING zedstore WITH (zedstore_compression = zstd);
SELECT options('i_zedstore');
SELECT outcome('ALTER TABLE i_zedstore SET (zedstore_compression = pglz)');
SELECT outcome('ALTER TABLE i_heap SET (zedstore_nonsense = 1)');
SELECT outcome('CREATE TABLE i_bad (a int) USING heap WITH (zedstore_compression = lz4, nonsense = 1)');
SELECT outcome('CREATE INDEX i_index ON i_heap (a) WITH (zedstore_compression = lz4)');
-- leaves, and takes them along in one command
ALTER TABLE i_zedstore SET ACCESS METHOD heap, SET (zedstore_compression = lz4, fillfactor = 90);
SELECT options('i_zedstore');
RESET zedstore.ignore_options;
SELECT outcome('ALTER TABLE i_heap SET (zedstore_compression = none)');
