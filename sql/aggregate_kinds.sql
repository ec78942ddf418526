-- aggregates and group keys by batches: the same results as heap's, in all modes of zedstore.debug_vector
\getenv abs_srcdir PG_ABS_SRCDIR
\set batches :abs_srcdir '/sql/include/batches.sql'
\i :batches
SET max_parallel_workers_per_gather = 0;
SET zedstore.min_segment_rows = 1024;
SET extra_float_digits = 1;
SET synchronize_seqscans = off;
-- groups in one value, made at once and with five in memory; without keys there is one group
\set how 'plan => ''ZedstoreAgg'', longest => 300, runs => test.small_and_large()'
CREATE COLLATION vector_state_ci (PROVIDER = icu, LOCALE = 'und-u-ks-level2', DETERMINISTIC = false);
CREATE COLLATION vector_state_icu (PROVIDER = icu, LOCALE = 'und');
\set ECHO none
CREATE TABLE h_st (id int, k int, s smallint, b bigint, n numeric(10,2), u numeric, f float8, r real, flag bool, t text COLLATE "C",
	tl text COLLATE vector_state_icu, ci text COLLATE vector_state_ci, vc varchar(30) COLLATE "C", c char(6) COLLATE "C", bp bpchar COLLATE "C", o oid,
	iv interval, tz timetz, ip inet, lsn pg_lsn, uu uuid, ba bytea, big text COLLATE "C") USING heap;
INSERT INTO h_st SELECT g, g % 6, CASE WHEN g % 9 = 0 THEN NULL ELSE g % 50 - 20 END, (g - 3000)::bigint * 1000000000000,
		CASE WHEN g % 10 = 0 THEN NULL ELSE (g % 500) / 7.0 END,
		CASE g % 7 WHEN 0 THEN 1.0 WHEN 1 THEN 1.00 WHEN 2 THEN 1 WHEN 3 THEN -2.50 WHEN 4 THEN g % 20 / 4.0 WHEN 5 THEN 1e15 * (g % 3) END,
		CASE g % 8 WHEN 0 THEN 0 WHEN 1 THEN '-0' WHEN 2 THEN NULL ELSE sin(g % 40) * 1000 END, CASE g % 5 WHEN 0 THEN '-0' WHEN 1 THEN 0 ELSE (g % 30) / 8.0 END,
		CASE g % 3 WHEN 0 THEN true WHEN 1 THEN false END,
		CASE WHEN g % 13 = 0 THEN NULL ELSE md5((g % 900)::text) END, CASE g % 3 WHEN 0 THEN 'a' WHEN 1 THEN 'B' ELSE 'c' END || g % 70,
		CASE WHEN g % 2 = 0 THEN 'abc' ELSE 'ABC' END, 'v' || g % 77, 'c' || g % 9, 'x' || repeat(' ', g % 4), (g::bigint * 400000 % 4294967296)::oid,
		g % 400 * interval '1 hour', time '00:00' + g % 86400 * interval '1 s', ('10.0.' || g % 250 || '.1')::inet,
		('0/' || to_hex(g % 3000))::pg_lsn, md5((g % 300)::text)::uuid, decode(md5((g % 200)::text), 'hex'),
		CASE WHEN g % 900 = 0 THEN repeat('z', 9000 + g) ELSE 'small ' || g % 4 END
	FROM generate_series(1, 6000) g;
-- in heap's order, which rows of different lengths do not have by id
CALL test.twin('st');
ALTER TABLE h_st ADD COLUMN late text DEFAULT 'was', ADD COLUMN late_n numeric DEFAULT 1.50, ADD COLUMN late_u uuid DEFAULT '11111111-2222-3333-4444-555555555555';
ALTER TABLE z_st ADD COLUMN late text DEFAULT 'was', ADD COLUMN late_n numeric DEFAULT 1.50, ADD COLUMN late_u uuid DEFAULT '11111111-2222-3333-4444-555555555555';
INSERT INTO h_st (id, k, s, u, t, late, late_n) SELECT g, g % 6, 3, 1.000, 'late', 'now', 1.5 FROM generate_series(6001, 6040) g;
INSERT INTO z_st (id, k, s, u, t, late, late_n) SELECT g, g % 6, 3, 1.000, 'late', 'now', 1.5 FROM generate_series(6001, 6040) g;
DELETE FROM h_st WHERE id % 23 = 0;
DELETE FROM z_st WHERE id % 23 = 0;
\set ECHO all
-- variances
SELECT a, test.twins('st', a, :how) AS ungrouped, test.twins('st', 'k, ' || a, keys => 'k', :how) AS grouped FROM (SELECT string_agg(f || '(' || c || ')', ', ') AS a
	FROM unnest(ARRAY['var_pop', 'var_samp', 'variance', 'stddev_pop', 'stddev_samp', 'stddev']) f, unnest(ARRAY['s', 'id', 'b', 'n', 'u']) c GROUP BY c) v;
SELECT a, test.twins('st', a, condition => 'id <= 6000', :how) AS ungrouped, test.twins('st', 'k, ' || a, keys => 'k', condition => 'id <= 6000', :how) AS grouped FROM (SELECT string_agg(f || '(' || c || ')', ', ') AS a
	FROM unnest(ARRAY['var_pop', 'var_samp', 'variance', 'stddev_pop', 'stddev_samp', 'stddev']) f, unnest(ARRAY['f', 'r']) c GROUP BY c) v;
SELECT test.twins('st', 'stddev(s), var_pop(id), stddev(n), var_samp(f), stddev_pop(f)', condition => 'id = 5', :how), test.twins('st', 'stddev(s), var_pop(n), stddev_pop(f)', condition => 'id < 0', :how);
-- others, alone and in groups
SELECT a, test.twins('st', a, :how) AS ungrouped, test.twins('st', 'k, ' || a, keys => 'k', :how) AS grouped, test.twins('st', a, condition => 'id < 0', :how) AS none FROM (VALUES
	('bool_and(flag), bool_or(flag), every(flag), bool_and(flag) FILTER (WHERE flag), bool_or(flag) FILTER (WHERE NOT flag)'),
	('bit_and(s), bit_or(s), bit_xor(s), bit_and(id), bit_or(id), bit_xor(id), bit_and(b), bit_or(b), bit_xor(b)'),
	('min(t), max(t), min(vc), max(vc)'), ('min(tl), max(tl)'), ('min(c), max(c)'), ('min(ci), max(ci), count(*)'), ('min(bp), max(bp)'), ('md5(min(big)), md5(max(big))'),
	('min(o), max(o), min(lsn) - ''0/0'', max(lsn) - ''0/0'''), ('min(iv), max(iv), min(tz), max(tz), min(ip), max(ip)'), ('sum(iv), avg(iv), sum(iv) FILTER (WHERE s > 0)'), ('min(late), max(late), min(late_n), max(late_n)'),
	('any_value(id), any_value(n), any_value(u), any_value(f), any_value(t), any_value(uu), any_value(flag), any_value(md5(big))'),
	('any_value(id), any_value(n), any_value(u), any_value(f), any_value(t), any_value(uu), any_value(flag), any_value(iv), any_value(late_u)'),
	('count(uu), count(iv), count(ba)'),
	('count(DISTINCT id), count(DISTINCT s), count(DISTINCT n), count(DISTINCT u), count(DISTINCT f), count(DISTINCT t), count(DISTINCT c), count(DISTINCT bp)'),
	('count(DISTINCT uu), count(DISTINCT ba), count(DISTINCT flag), count(DISTINCT late), count(DISTINCT big), count(DISTINCT late_u)'),
	('sum(DISTINCT s), avg(DISTINCT s), sum(s), sum(DISTINCT b), avg(DISTINCT id), stddev(DISTINCT s), sum(DISTINCT n), avg(DISTINCT n), min(DISTINCT s), max(DISTINCT o)'),
	('count(DISTINCT s) FILTER (WHERE n > 10), count(DISTINCT t) FILTER (WHERE flag)'),
	('sum(DISTINCT u)'), ('sum(DISTINCT f)'), ('count(DISTINCT ci)'), ('count(DISTINCT iv)'), ('string_agg(t, '','' ORDER BY id)'),
	('avg(s), sum(s), stddev(s), count(s), min(s)'), ('avg(f), stddev(f), var_pop(f)')) v(a);
-- intervals with months and days, without an end, and out of range
CREATE TABLE h_iv (id int, k int, iv interval) USING heap;
INSERT INTO h_iv SELECT g, g % 4, CASE WHEN g % 9 = 0 THEN NULL WHEN g = 2001 THEN 'infinity' WHEN g = 2501 THEN '-infinity' WHEN g > 2600 THEN interval '170000000 years'
		ELSE make_interval(months => g % 30 - 10, days => g % 50 - 20, secs => g * 1.25) END FROM generate_series(1, 2700) g;
CALL test.twin('iv');
SELECT c, test.twins('iv', 'sum(iv), avg(iv)', condition => c, :how) AS ungrouped, test.twins('iv', 'k, sum(iv), avg(iv)', keys => 'k', condition => c, :how) AS grouped
FROM (VALUES ('id <= 2000'), ('id < 2500'), ('id <= 2600'), ('id > 2600')) v(c);
-- which of equal values is added shows where expressions have no scale of their own
SELECT a, test.twins('st', a, :how) AS ungrouped, test.twins('st', 'k, ' || a, keys => 'k', :how) AS grouped
FROM (VALUES ('sum(DISTINCT u + 0)'), ('avg(DISTINCT n * 1.0)'), ('sum(DISTINCT u::numeric(10,1))'), ('avg(DISTINCT n::numeric(10,1))')) v(a);
-- group keys whose equal values look different: the first row's are shown
SELECT k, test.twins('st', k || ', count(*), sum(id)', keys => k, :how) AS all, test.twins('st', k || ', count(*)', keys => k, condition => 'id > 2', :how) AS later, test.twins('st', k || ', min(id), s', keys => k || ', s', :how) AS two
FROM unnest(ARRAY['n', 'u', 'f', 'r', 'bp', 'uu', 'ba', 'late_n', 'late_u', 'c']) k;
SELECT test.twins('st', 'u, f, bp, count(*)', keys => 'u, f, bp', :how), test.twins('st', 'count(DISTINCT u), n', keys => 'n', :how), test.twins('st', 'count(*)', keys => 'u', tail => 'HAVING u = 1', :how);
-- numerics that are no integers of 18 digits, as values and as keys
\set ECHO none
CREATE TABLE h_od (id int, k int, c int, n numeric) USING heap;
INSERT INTO h_od SELECT g, g % 3, g % 11, CASE g % 11 WHEN 0 THEN 'NaN' WHEN 1 THEN 'Infinity' WHEN 2 THEN '-Infinity' WHEN 3 THEN 123456789012345678901234567890.50
		WHEN 4 THEN 123456789012345678901234567890.5 WHEN 5 THEN 999999999999999999 WHEN 6 THEN 0.1234567890123456 WHEN 7 THEN 0.00000000000000000001
		WHEN 8 THEN 999999999999999999.000 WHEN 9 THEN 1e-30 END
	FROM generate_series(1, 3000) g;
CALL test.twin('od');
\set ECHO all
SELECT test.twins('od', 'n, count(*), min(id)', keys => 'n', :how), test.twins('od', 'count(DISTINCT n)', :how), test.twins('od', 'k, count(DISTINCT n), sum(n), avg(n)', keys => 'k', condition => 'c > 2', :how);
SELECT test.twins('od', 'k, min(n), max(n), stddev(n), var_pop(n)', keys => 'k', condition => c, :how) FROM (VALUES ('true'), ('c > 2'), ('c IN (5, 6, 8)')) v(c);
-- sums that are beyond the largest numeric for a while, or in the end
\set ECHO none
CREATE TABLE h_dig (id int, k int, n numeric) USING heap;
INSERT INTO h_dig SELECT g, 1, CASE g % 3 WHEN 1 THEN 9e131071 WHEN 2 THEN 9e131071 ELSE -9e131071 END FROM generate_series(1, 6) g;
INSERT INTO h_dig SELECT g, 1, g / 8.0 FROM generate_series(7, 2000) g;
INSERT INTO h_dig VALUES (2001, 1, -9e131071);
CALL test.twin('dig');
\set ECHO all
SELECT c, test.twins('dig', 'md5(sum(n)::text), md5(avg(n)::text)', condition => c, :how), test.twins('dig', 'k, md5(sum(n)::text), md5(avg(n)::text)', keys => 'k', condition => c, :how)
FROM (VALUES ('true'), ('id <= 2000'), ('id > 6'), ('id < 4'), ('id IN (1, 3, 100, 200)')) v(c);
-- memory does not grow with the number of values
\set ECHO none
CREATE TABLE z_mem (k int, n numeric, t text COLLATE "C") USING zedstore;
INSERT INTO z_mem SELECT g % 3, (repeat('9', 500) || '.' || g)::numeric * CASE WHEN g % 2 = 0 THEN 1 ELSE -1 END, repeat('t', 100) || g FROM generate_series(1, 5000) g;
CREATE FUNCTION memory(query text) RETURNS int LANGUAGE sql AS $$
	SELECT (test.top_node(query) ->> 'Memory Usage')::int
$$;
\set ECHO all
SET zedstore.debug_vector = force;
SELECT memory('SELECT k, sum(n), avg(n), min(n), max(n) FROM z_mem GROUP BY k') < 300 AS numerics,
	memory('SELECT k, min(t), max(t), stddev(n), count(DISTINCT k) FROM z_mem GROUP BY k') < 300 AS others,
	memory('SELECT k, count(DISTINCT t) FROM z_mem GROUP BY k') > 600 AS distinct_strings;
RESET zedstore.debug_vector;
DROP FUNCTION memory;
-- core does not check permissions of the equality function of DISTINCT
CREATE ROLE regress_vector_state;
GRANT SELECT ON z_st TO regress_vector_state;
REVOKE EXECUTE ON FUNCTION int4eq FROM PUBLIC;
SET zedstore.debug_vector = force;
SET ROLE regress_vector_state;
SELECT count(DISTINCT id) FROM z_st;
RESET ROLE;
GRANT EXECUTE ON FUNCTION int4eq TO PUBLIC;
REVOKE ALL ON z_st FROM regress_vector_state;
DROP ROLE regress_vector_state;
-- many different values: those that memory has no room for are written out (vector_distinct)
RESET zedstore.debug_vector;
ANALYZE z_st;
SET work_mem = '64kB';
EXPLAIN (COSTS OFF) SELECT count(DISTINCT id) FROM z_st;
EXPLAIN (COSTS OFF) SELECT count(DISTINCT k) FROM z_st;
RESET work_mem;
DROP TABLE h_st, z_st, h_od, z_od, h_dig, z_dig, z_mem;
DROP COLLATION vector_state_ci;
DROP COLLATION vector_state_icu;
