--
-- zs_prewarm(): relations of all kinds, columns of zedstore tables, and what is refused.
--
CREATE TABLE prewarm_z (id int PRIMARY KEY, a text, b float8, "C" int) USING zedstore;
CREATE TABLE prewarm_h (id int PRIMARY KEY, a text, b float8, "C" int) USING heap;
INSERT INTO prewarm_z SELECT i, md5(i::text), i / 7.0, i FROM generate_series(1, 200000) i;
INSERT INTO prewarm_h SELECT i, md5(i::text), i / 7.0, i FROM generate_series(1, 2000) i;
-- rows in the row tree
INSERT INTO prewarm_z SELECT i, md5(i::text), i / 7.0, i FROM generate_series(200001, 200100) i;
CHECKPOINT;

-- whole relations
SELECT name, zs_prewarm(name) = pg_relation_size(name) / 8192 AS all_blocks
FROM unnest(ARRAY['prewarm_z', 'prewarm_h', 'prewarm_z_pkey', 'pg_class', 'pg_class_oid_index']) AS name;
SELECT zs_prewarm('prewarm_h', fork => 'fsm') = pg_relation_size('prewarm_h', 'fsm') / 8192 AS all_blocks;
SELECT zs_prewarm('prewarm_h', first_block => 2, last_block => 5);
SELECT zs_prewarm('prewarm_h', first_block => 5, last_block => 2);
SELECT zs_prewarm('prewarm_h', mode => 'prefetch') = pg_relation_size('prewarm_h') / 8192 AS all_blocks;
CREATE TABLE prewarm_empty (a int) USING zedstore;
SELECT zs_prewarm('prewarm_empty'), zs_prewarm('prewarm_empty', '{a}');

-- columns: the pages of their trees, and those of the trees that each scan reads
CREATE FUNCTION tree_pages(rel regclass, attnos int[]) RETURNS int8 LANGUAGE sql
RETURN (SELECT count(*) FROM pg_zs_btree_pages(rel) WHERE attno = ANY (attnos));
SELECT zs_prewarm('prewarm_z', '{id}') = tree_pages('prewarm_z', '{-1,0,1}') AS id,
	zs_prewarm('prewarm_z', '{a,"C"}') = tree_pages('prewarm_z', '{-1,0,2,4}') AS a_and_c,
	zs_prewarm('prewarm_z', '{b,b}') = tree_pages('prewarm_z', '{-1,0,3}') AS twice_is_once,
	zs_prewarm('prewarm_z', '{}') = tree_pages('prewarm_z', '{-1,0}') AS none,
	zs_prewarm('prewarm_z', '{id,a}', 'prefetch') = tree_pages('prewarm_z', '{-1,0,1,2}') AS prefetch;

-- rows of this transaction that are not written yet
BEGIN;
INSERT INTO prewarm_empty SELECT generate_series(1, 100000);
SELECT zs_prewarm('prewarm_empty', '{a}') = tree_pages('prewarm_empty', '{-1,0,1}') AS flushed;
ROLLBACK;

-- refused
\set VERBOSITY terse
\set SHOW_CONTEXT never
CREATE VIEW prewarm_view AS SELECT 1;
SELECT zs_prewarm('prewarm_z', '{nothing}');
SELECT zs_prewarm('prewarm_z', '{c}');
SELECT zs_prewarm('prewarm_z', '{ctid}');
SELECT zs_prewarm('prewarm_z', '{NULL}');
SELECT zs_prewarm('prewarm_z', '{{id},{a}}');
SELECT zs_prewarm('prewarm_h', '{id}');
SELECT zs_prewarm('prewarm_z_pkey', '{id}');
SELECT zs_prewarm('prewarm_z', '{id}', fork => 'fsm');
SELECT zs_prewarm('prewarm_z', '{id}', first_block => 1);
SELECT zs_prewarm('prewarm_z', mode => 'read');
SELECT zs_prewarm('prewarm_z', fork => 'spoon');
SELECT zs_prewarm('prewarm_z', fork => 'init');
SELECT zs_prewarm('prewarm_h', first_block => -1);
SELECT zs_prewarm('prewarm_h', last_block => 1000000);
SELECT zs_prewarm('prewarm_view');
SELECT zs_prewarm(NULL);
SELECT zs_prewarm(0);
DO $$
BEGIN
	PERFORM zs_prewarm('prewarm_z', '{nothing}');
EXCEPTION WHEN undefined_column THEN RAISE NOTICE 'undefined column';
END $$;
DO $$
BEGIN
	PERFORM zs_prewarm('prewarm_h', '{id}');
EXCEPTION WHEN wrong_object_type THEN RAISE NOTICE 'wrong object type';
END $$;

-- who may read it may warm it; an index belongs to its table
CREATE ROLE prewarm_user;
SET ROLE prewarm_user;
SELECT zs_prewarm('prewarm_z');
SELECT zs_prewarm('prewarm_z_pkey');
RESET ROLE;
GRANT SELECT ON prewarm_z TO prewarm_user;
SET ROLE prewarm_user;
SELECT zs_prewarm('prewarm_z') > 0 AS table, zs_prewarm('prewarm_z_pkey') > 0 AS index, zs_prewarm('prewarm_z', '{a}') > 0 AS column;
RESET ROLE;
REVOKE ALL ON prewarm_z FROM prewarm_user;
DROP ROLE prewarm_user;
DROP VIEW prewarm_view;
DROP FUNCTION tree_pages;
DROP TABLE prewarm_z, prewarm_h, prewarm_empty;
