-- expressions that mention an argument more than once, within each other, and large ones: as much
-- work as on heap, the same results and errors
\getenv abs_srcdir PG_ABS_SRCDIR
\set batches :abs_srcdir '/sql/include/batches.sql'
\i :batches
SET max_parallel_workers_per_gather = 0;
SET zedstore.min_segment_rows = 1024;
SET extra_float_digits = 1;
\set ECHO none
CREATE TABLE h_nest (id int, a int, k smallint, b bool, n numeric, t text, f float8,
	d date) USING heap;
INSERT INTO h_nest SELECT g, CASE WHEN g % 17 <> 0 THEN g % 40 END, g % 9,
	CASE WHEN g % 5 <> 0 THEN g % 3 = 0 END,
		CASE g % 6 WHEN 0 THEN 1.5 WHEN 1 THEN -2.25 WHEN 2 THEN 100 WHEN 3 THEN 0.000 WHEN 4 THEN
		g / 8.0 END,
		CASE WHEN g % 23 <> 0 THEN 'q' || g % 24 || repeat('x', g % 4) END, g % 30 / 2.0,
		date '2020-01-01' + g % 50
	FROM generate_series(1, 5000) g;
CALL test.twin('nest', 'id');

-- An expression within itself, so many times; @ is where the inner one stands, # the number of the
-- level.
CREATE FUNCTION nest(depth int, inmost text, pattern text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text := inmost;
BEGIN
	FOR i IN 1 .. depth LOOP
		result := replace(replace(pattern, '#', i::text), '@', result);
	END LOOP;
	RETURN result;
END $$;
-- The same piece so many times; # is its number.
CREATE FUNCTION wide(width int, piece text, separator text) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(replace(piece, '#', i::text), separator ORDER BY i) FROM generate_series(1,
	width) i
$$;
-- An aggregate's value, and rows of a filter; 'v': by batches, "-": not.
CREATE FUNCTION total(expr text) RETURNS text LANGUAGE sql AS $$
	SELECT test.by_batches('SELECT ROW(count(*), count(x), min(x), max(x), sum(x))::text FROM
	(SELECT ' || expr || ' AS x FROM @_nest) s', 'ZedstoreAgg\) on', 'v', 100)
$$;
CREATE FUNCTION texts(expr text) RETURNS text LANGUAGE sql AS $$
	SELECT test.by_batches('SELECT md5(string_agg(ROW(x, c)::text, '','' ORDER BY x)) FROM (SELECT
	' || expr || ' AS x, count(*) AS c FROM @_nest GROUP BY 1) s', 'ZedstoreAgg\)', 'v', 100)
$$;
CREATE FUNCTION passing(condition text) RETURNS text LANGUAGE sql AS $$
	SELECT test.by_batches('SELECT ROW(count(*), sum(id), min(id))::text FROM @_nest WHERE ' ||
	condition, 'ZedstoreAgg\) on', 'v', 100)
$$;
\set ECHO all

-- deep: twice the work for each level would never end
SELECT total(nest(100, 'a', 'nullif(@, # + 20)')) AS nullif,
	total(nest(60, 'n', 'nullif(@ + 0.5, #)')) AS numerics,
	total(nest(80, 'f', 'nullif(@, # / 2.0)')) AS floats,
	texts(nest(60, 't', 'nullif(@, ''q#'')')) AS texts,
	total(nest(70, 'a', 'coalesce(nullif(@, #), id)')) AS coalesce,
	total(nest(60, 'a', 'nullif(a, @ + #)')) AS behind;
SELECT total(nest(60, 'a', 'case @ when # then # + 1 when # + 1 then 0 when 7 then null else a
	end')) AS "case",
	total(nest(60, 'k', 'case @ when 1::int2 then 2::int2 when 2::int2 then 1::int2 else k end'))
	AS small,
	total(nest(40, 'n', 'case @ + 0.25 when #.25 then #.5 when 1.75 then 1.500 else n end')) AS
	numerics,
	texts(nest(40, 't', 'case upper(@) when ''Q#'' then ''q1'' when ''Q1X'' then t else t end'))
	AS texts,
	total(nest(50, 'a', 'case a when @ then # else a - # end')) AS conditions,
	total(nest(50, 'a', 'case k when # % 9 then a else @ end')) AS branches,
	total(nest(40, 'b', 'case @ when true then a = # when false then b else a > # end') ||
	'::int') AS booleans;
SELECT passing(nest(100, 'b', '(@ is distinct from (a = #))')) AS "distinct",
	passing(nest(60, 'a', 'nullif(@ + 1, #)') || ' is distinct from 70') AS ints,
	passing(nest(60, 'a', '(case when @ is distinct from # then a end)') ||
	' is not distinct from a') AS both,
	passing(nest(80, 'b', '(@ is not true)')) AS tests,
	passing(nest(80, 'b', '((@ and a <> #) or k = 3)')) AS connectives,
	passing(nest(80, 'b', '(@ is null)')) AS nulls,
	passing(nest(40, 't', 'nullif(@, ''q#'')') || ' like ''q1%''') AS patterns;
-- deeper still, and larger: some without a program
SELECT total(nest(600, 'a', '(@ + 1)')) AS sums,
	total(nest(300, 'a', 'nullif(nullif(@, #), -#)')) AS nullif,
	total('coalesce(' || wide(600, 'nullif(a, a + # - #)', ', ') || ', 5)') AS vectors,
	passing(wide(300, '(a <> # + 100 or b is not true)', ' and ')) AS clauses,
	passing(wide(400, '(a = # and k <> 4)', ' or ')) AS terms;
-- wide
SELECT total('case a ' || wide(1200, 'when # then # * 2', ' ') || ' end') AS "case",
	total('case ' || wide(200, 'when a = # + 5 then a + #', ' ') || ' else id end') AS conditions,
	total('case t ' || wide(100, 'when ''q#x'' then #', ' ') || ' end') AS strings,
	texts('case a ' || wide(200, 'when # then ''q#''', ' ') || ' else t end') AS texts,
	passing(wide(600, 'a = # + 20', ' or ')) AS "or",
	passing(wide(300, 'a <> # + 20', ' and ')) AS "and",
	passing(wide(100, 't = ''q#''', ' or ')) AS equal,
	passing('a + 1 in (' || wide(400, '# + 20', ', ') || ')') AS "in",
	total(wide(100, 'length(t)', ' + ')) AS lengths;
-- strings of many pieces
SELECT texts(wide(60, 't', ' || ')) AS pieces, texts('''x'' || t || ''y'' || ''z''') AS entries,
	texts(nest(50, 't', 'upper(@ || ''#'')')) AS calls,
	total('length(' || wide(100, 't || id::text', ' || ') || ')') AS lengths,
	texts('nullif(t || ''x'', ''q1x'') || k::text') AS nulls;
-- values of a CASE of all kinds, and what stands around them
SELECT total('case a when 1 then 10 when null then 20 when k then 30 when a then 40 end') AS
	columns, total('case a + 0 when 1 then 10 when null then 20 when k then 30 when a then 40
	end') AS programs,
	total('case n when 1.50 then 1 when 100.000 then 2 when id then 3 end') AS numerics,
	total('case n * 1.0 when 1.50 then 1 when 100.000 then 2 when n then 3 else n end') AS scales,
	total('case f when 1 then 1 when 2.5 then 2 end') AS floats,
	total('case extract(day from d) when 1 then 1 when 2 then 2 end') AS days,
	total('case b when true then 1 when false then 0 end') AS flags,
	total('case (a > 20) when true then 1 when null then 2 when false then case b when true then 3
	else 4 end end') AS values,
	total('case a when case k when 3 then 3 else 4 end then case k when 4 then 1 else 2 end else 5
	end') AS scopes,
	total('case substr(t, 2, 1) when ''1'' then 1 when ''2'' then case length(t) when 3 then 3
	when 4 then 4 end end') AS strings;
-- the value is computed for all rows that reach the CASE, before a condition: so are its errors
SELECT total('case 10 / (id - 3000) when 1 then 1 end') AS value,
	total('case 10 / (id - 3000) when null then 1 end') AS unused,
	total('case when id <> 3000 then case 10 / (id - 3000) when 0 then 1 end end') AS reached,
	total('case a when 3 then 1 when 10 / (id - 3000) then 2 end') AS condition,
	total('case id when 3000 then 1 when 10 / (id - 3000) then 2 end') AS hidden,
	total('nullif(10 / (id - 3000), 1000000 * id)') AS first,
	total('nullif(1000000 * id, 10 / (id - 3000))') AS second,
	total('coalesce(a, nullif(1 / (id - 3000), 0))') AS never,
	total('coalesce(nullif(a, 3), 1 / (a - 4))') AS some,
	passing('10 / (id - 3000) is distinct from 1000000 * id') AS "distinct",
	passing('id = 3000 or (10 / (id - 3000) is distinct from a)') AS passed,
	total('case 1000000 * id when 1 then 1 when 10 / (id - 3000) then 2 end') AS "order";
-- more rows are asked for later: scales of numerics change
SELECT test.by_batches('SELECT ROW(sum(x) FILTER (WHERE id % 3 = 0), sum(x) FILTER (WHERE id % 2 =
	0), max(x), min(x) FILTER (WHERE a > 5))::text
	FROM (SELECT id, a, case nullif(n, 100) + 0.5 when 2.0 then n when 0.5 then n * 1.000 else
	nullif(n * 1.5, 2.25) end AS x FROM @_nest) s', 'ZedstoreAgg\) on');
-- parameters
SELECT test.prepared('SELECT ROW(sum(case nullif(a, $1) when $2 then 1 when $4 then 2 end),
	count(*) FILTER (WHERE nullif(a, $1) IS DISTINCT FROM $2))::text FROM @_nest WHERE
	coalesce(nullif(k, $3), 5) <> 4',
	'(int, int, smallint, int)', '3, 7, 2, 5', 100),
	test.prepared('SELECT ROW(sum(' || nest(20, 'a',
	'nullif(@, $1 + #)') || '))::text FROM @_nest', '(int)', '3', 100);

-- the planner charges for what a program does
SELECT test.cost('SELECT sum(case a ' || wide(500, 'when # then #',
	' ') || ' end) FROM z_nest') > 20 * test.cost('SELECT sum(case a when 1 then 1 end) FROM
	z_nest') AS branches,
	test.cost('SELECT sum(a) FROM z_nest WHERE ' || wide(200, 'a <> #',
	' and ')) > 1.5 * test.cost('SELECT sum(a) FROM z_nest WHERE a <> 1') AS clauses,
	test.cost('SELECT sum(length(upper(t))) FROM z_nest') >
	test.cost('SELECT sum(length(t)) FROM z_nest') AS calls,
	test.cost('SELECT sum(case upper(t) when ''A'' then 1 when ''B'' then 2 when ''C'' then 3 end)
	FROM z_nest') < test.cost('SELECT sum(case when upper(t) = ''A'' then 1 when upper(t) = ''B''
	then 2 when upper(t) = ''C'' then 3 end) FROM z_nest') AS once;

DROP TABLE h_nest, z_nest;
