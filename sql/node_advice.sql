-- plans that pg_plan_advice of PostgreSQL 19 asks for: its word about scans and joins is for nodes
-- of ours as for core's
SET max_parallel_workers_per_gather = 0;
CREATE TABLE z_advised (a int PRIMARY KEY, b int, c text) USING zedstore;
INSERT INTO z_advised SELECT i, i % 10, 'x' || i FROM generate_series(1, 20000) i;
CREATE TABLE z_other (a int PRIMARY KEY, b int) USING zedstore;
INSERT INTO z_other SELECT i, i FROM generate_series(1, 20000) i;
VACUUM ANALYZE z_advised, z_other;
-- Does the plan match?  "ok", too, where there is no such library.
CREATE FUNCTION advised(query text, advice text, pattern text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan text := '';
	line text;
BEGIN
	BEGIN
		LOAD 'pg_plan_advice';
	EXCEPTION WHEN undefined_file THEN
		RETURN 'ok';
	END;
	PERFORM set_config('pg_plan_advice.advice', advice, true);
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		plan := plan || line || E'\n';
	END LOOP;
	RETURN CASE WHEN plan ~ pattern THEN 'ok' ELSE plan END;
END $$;
SELECT advised(q, advice, pattern), q, advice FROM (VALUES
	('SELECT c FROM z_advised WHERE a < 15000', '', '^Custom Scan \(ZedstoreScan\)'),
	('SELECT c FROM z_advised WHERE a < 15000', 'INDEX_SCAN(z_advised z_advised_pkey)',
		'^Index Scan using z_advised_pkey'),
	('SELECT c FROM z_advised WHERE a = 15000', '', '^Index Scan'),
	('SELECT c FROM z_advised WHERE a = 15000', 'SEQ_SCAN(z_advised)', '^(Seq|Custom) Scan'),
	('SELECT b, sum(a) FROM z_advised WHERE a < 15000 GROUP BY b', '',
		'^Custom Scan \(ZedstoreAgg\) on'),
	('SELECT b, sum(a) FROM z_advised WHERE a < 15000 GROUP BY b',
		'INDEX_SCAN(z_advised z_advised_pkey)', '-> +Index Scan using z_advised_pkey'),
	('SELECT * FROM z_advised x JOIN z_other y USING (a)', '', 'Hash Join'),
	('SELECT * FROM z_advised x JOIN z_other y USING (a)',
		'JOIN_ORDER(x y) NESTED_LOOP_PLAIN(y)', '^Nested Loop'),
	('SELECT * FROM z_advised x JOIN z_other y USING (a)', 'MERGE_JOIN_PLAIN(y)', '^Merge Join')
	) v (q, advice, pattern);
DROP FUNCTION advised;
DROP TABLE z_advised, z_other;
