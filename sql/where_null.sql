-- three-valued logic by batches: arrays, lists, row comparisons and truth values, each against heap
\getenv abs_srcdir PG_ABS_SRCDIR
\set batches :abs_srcdir '/sql/include/batches.sql'
\i :batches
SET max_parallel_workers_per_gather = 0;
SET zedstore.min_segment_rows = 1;
-- every combination of values and NULL, and others behind them
\set ECHO none
CREATE TABLE h_tri (id int, x int, y bigint, n numeric, t text, c char(3), d date, f float8, p bool, q bool) USING heap;
INSERT INTO h_tri SELECT row_number() OVER (), x, x + 1, x / 2.0, 't' || x, 'c' || x, date '2020-01-01' + x, x, p, q
	FROM (VALUES (NULL), (1), (2), (3)) a(x), (VALUES (NULL), (true), (false)) b(p), (VALUES (NULL), (true), (false)) c(q), generate_series(1, 40);
CALL test.twin('tri', 'id');
-- where it is true, where its negation is, and where neither is, in one line
CREATE FUNCTION truth(condition text) RETURNS text LANGUAGE sql AS $$
	SELECT test.by_batches(format('SELECT concat_ws(''/'', count(*) FILTER (WHERE %1$s), count(*) FILTER (WHERE NOT (%1$s)), count(*) FILTER (WHERE (%1$s) IS NULL),
		(SELECT count(*) FROM @_tri WHERE %1$s), (SELECT sum(id) FROM @_tri WHERE NOT (%1$s)), (SELECT max(id) FROM @_tri WHERE (%1$s) IS NULL)) FROM @_tri', condition), 'ZedstoreAgg')
$$;
\set ECHO all
-- all and any of arrays: with members, NULLs, without any, and no array
SELECT op, which, string_agg(truth(format('x %s %s (%s)', op, which, a)), ' ' ORDER BY no) AS truths
	FROM unnest('{=,<>,<,>=}'::text[]) op, unnest('{any,all}'::text[]) which,
		unnest(ARRAY['''{}''::int[]', '''{NULL}''::int[]', '''{1}''::int[]', '''{1,NULL}''::int[]', '''{1,2,3}''::int[]', 'NULL::int[]', 'ARRAY[x, 1]']) WITH ORDINALITY a(a, no)
	GROUP BY op, which ORDER BY op, which;
-- of other types
SELECT a, truth(a) FROM unnest(ARRAY['y = any (''{2,NULL}''::bigint[])', 'y <> all (''{}''::int[])', 'n = any (''{0.50,1.0}''::numeric[])', 'n < all (''{1.5,NULL}''::numeric[])', 't = any (''{t1,NULL}''::text[])',
	't <> all (''{t1,t2}''::text[])', 't >= any (''{}''::text[])', 't = all (NULL::text[])', 'c = any (''{c1,"c2 "}''::bpchar[])', 'd = any (''{2020-01-02,NULL}''::date[])', 'f <> all (''{1,NaN}''::float8[])', 'p = any (''{t,NULL}''::bool[])']) a;
-- lists
SELECT a, truth(a) FROM unnest(ARRAY['x IN (1, 2)', 'x IN (1, NULL)', 'x NOT IN (1, 2)', 'x NOT IN (1, NULL)', 'x IN (NULL, NULL)', 'x + 0 NOT IN (1, NULL)', 't NOT IN (''t1'', NULL)', 'n NOT IN (0.5, 1)',
	'(x, y) IN ((1, 2), (2, NULL))', '(x, y) NOT IN ((1, 2), (NULL, 3))', 'x IN (SELECT 1)', 'x NOT IN (SELECT NULL::int)', 'x IN (SELECT 1 WHERE false)', 'NULL IN (1, 2)']) a;
-- rows
SELECT a, truth(a) FROM unnest(ARRAY['(x, y) = (1, 2)', '(x, y) <> (1, 2)', '(x, y) < (2, 2)', '(x, y) >= (2, NULL)', '(x, NULL::int) < (2, 3)', '(p, x) > (true, 1)', '(x, t) IS DISTINCT FROM (1, ''t1'')', '(x, t) IS NOT DISTINCT FROM (NULL, NULL)',
	'(x, y) IS NULL', '(x, y) IS NOT NULL', 'ROW(x, p) IS NULL', 'NOT ROW(x, p) IS NULL']) a;
-- truth values: every operator on every pair
SELECT a, truth(a) FROM unnest(ARRAY['p', 'NOT p', 'p AND q', 'p OR q', 'p AND NOT q', 'NOT (p OR q)', 'p = q', 'p <> q', 'p < q', 'p IS TRUE', 'p IS NOT TRUE', 'p IS FALSE', 'p IS NOT FALSE', 'p IS UNKNOWN', 'p IS NOT UNKNOWN',
	'(p AND q) IS UNKNOWN', '(p OR q) IS NOT FALSE', 'p IS DISTINCT FROM q', 'p IS NOT DISTINCT FROM q', 'p AND NULL', 'p OR NULL', 'NULL::bool', 'COALESCE(p, q)', 'NULLIF(p, q)', 'CASE WHEN p THEN q END', 'CASE WHEN p THEN q ELSE NOT q END',
	'CASE p WHEN q THEN true WHEN NULL THEN false END', 'CASE WHEN NULL THEN p ELSE q END', 'p AND x > 1 OR q AND x < 3', '(x > 1) = (p OR q)', 'x BETWEEN 2 AND NULL', 'x NOT BETWEEN 2 AND NULL', 'x BETWEEN SYMMETRIC 3 AND 2', 'GREATEST(x, 2) > 2', 'x = NULL', 'x <> x', 'x IS DISTINCT FROM x']) a;
-- NULL patterns and strings
SELECT a, truth(a) FROM unnest(ARRAY['t LIKE ''t%''', 't NOT LIKE ''%1''', 't LIKE NULL', 't NOT LIKE NULL', 'NULL LIKE t', 'c LIKE ''c1 ''', 'c LIKE ''c1''', 't ILIKE ''T1''', 't NOT ILIKE NULL', 'starts_with(t, NULL)', 't || NULL = ''t1''', 'length(t) > 1', 't COLLATE "C" < ''t2''']) a;
-- keys: only NULLs in many batches, then values far from zero, and both; aggregates that see only NULLs
CREATE TABLE h_far (id int, k bigint, l int, n numeric, t text) USING heap;
INSERT INTO h_far SELECT g, CASE WHEN g % 5000 > 2500 THEN 9000000000000 + g % 7 END, CASE WHEN g > 9000 THEN g % 3 END, CASE WHEN g > 6000 THEN g % 4 / 2.0 END, CASE WHEN g % 3000 > 1500 THEN 'k' || g % 5 END
	FROM generate_series(1, 12000) g;
CALL test.twin('far', 'id');
SELECT keys, test.by_batches(format('SELECT string_agg(r::text, '' '' ORDER BY r::text COLLATE "C") FROM (SELECT %1$s, count(*), sum(id), min(n), max(l), count(DISTINCT k), avg(n), bool_or(k > 5) FROM @_far GROUP BY %1$s) r', keys), 'ZedstoreAgg\) on', 'v', 100, test.small_and_large())
	FROM unnest(ARRAY['k', 'l', 'n', 't', 'k, l', 'l, t', 'k + l', 'n, k', 'k, l, n, t']) keys;
SELECT test.by_batches('SELECT ROW(count(*), count(k), sum(k), avg(l), min(t), max(n), bool_and(k > 0), var_pop(l), count(DISTINCT k), any_value(k), bit_and(l))::text FROM @_far WHERE id < 1500', 'ZedstoreAgg');
