-- zone maps: what conditions of all kinds let pass, of all types; heap is the oracle
\getenv abs_srcdir PG_ABS_SRCDIR
\set twins :abs_srcdir '/sql/include/twins.sql'
\i :twins
SET max_parallel_workers_per_gather = 0;
SET zedstore.min_segment_rows = 1024;
CREATE COLLATION zone_nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE COLLATION zone_icu (provider = icu, locale = 'en-US');
CREATE TYPE zone_mood AS ENUM ('one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight');
CREATE TABLE zoneset_h (id int, i2 int2, i8 int8, o oid, b bool, ch "char", f4 float4, f8 float8,
	n numeric, d date, ti time, ts timestamp, tz timestamptz, m money, ma macaddr, lsn pg_lsn, x8
	xid8,
	t text COLLATE "C", ti8 text COLLATE zone_icu, v varchar(40) COLLATE zone_icu, bp char(12)
	COLLATE zone_icu,
	bpc char(12) COLLATE "C", bpx bpchar COLLATE zone_icu, na name, u uuid, bt bytea, e zone_mood,
	nd text COLLATE zone_nocase, iv interval, tt timetz, mb text COLLATE zone_icu);
CREATE TABLE zoneset_z (LIKE zoneset_h) USING zedstore;
CREATE TABLE zoneset_row (LIKE zoneset_h);
-- a value of k of each type, so that equal ones and neighbours lie together
CREATE FUNCTION zoneset_rows(first int, last int) RETURNS SETOF zoneset_row LANGUAGE sql AS $$
	SELECT g, (k - 20)::int2, k::int8 * 10000000019 - 100000000000, (k::int8 * 34000000)::oid, k %
	40 > 20,
		chr(k % 120 + 1)::"char", k / 7.0::float4,
		CASE k % 53 WHEN 50 THEN 'NaN' WHEN 51 THEN 'Infinity' WHEN 52 THEN '-Infinity' WHEN 0 THEN
		-0.0::float8 ELSE k / 3.0 - 8 END,
		CASE k % 59 WHEN 57 THEN 'NaN' WHEN 58 THEN '-Infinity' ELSE (k - 30) * 1.10::numeric ^ (k
		% 5 * 40) END,
		date '2020-01-01' + k * 3, time '00:00' + k * interval '7 min', timestamp '2020-01-01' + k
		* interval '9 h',
		timestamptz '2020-01-01 00:00+00' + k * interval '9 h', k::money - 30::money,
		('08:00:2b:01:02:' || lpad(to_hex(k), 2, '0'))::macaddr, ('0/' || to_hex(k *
		4096))::pg_lsn, (k * 3)::text::xid8,
		CASE WHEN k % 17 = 0 THEN '' ELSE 'prefix__' || k END, CASE WHEN k % 17 = 0 THEN '' ELSE
		'k' || lpad(k::text, 9, '0') END,
		'Same 8 bytes ' || k, 'b' || k || CASE WHEN k % 3 = 0 THEN ' x' ELSE '' END, 'B' || k / 2,
		left('longer than eight ' || k, 8 + k % 5) || repeat(' ', k % 4), 'name' || k,
		(lpad(to_hex(k), 8, '0') || '-0000-7000-8000-' || lpad(k::text, 12, '0'))::uuid,
		decode(lpad(to_hex(k), 2, '0'), 'hex') || CASE WHEN k % 2 = 0 THEN '\x00'::bytea ELSE '\x'
		END,
		(enum_range(NULL::zone_mood))[k / 16 % 8 + 1], CASE WHEN k % 2 = 0 THEN 'Nd' ELSE 'nD' END
		|| k,
		CASE WHEN k % 2 = 0 THEN k * interval '1 month' ELSE k * interval '30 days' END,
		timetz '00:00+00' + k * interval '5 min', repeat('ü', k % 7) || chr(228 + k) || 'z'
	FROM (SELECT g, g / 50 AS k FROM generate_series(first, last) g) s
$$;
-- in order, in segments of their own; then one that has all of it, one with NULLs only, one
-- with some, rows in the row tree, and a column and labels of an enum that come later
INSERT INTO zoneset_h SELECT * FROM zoneset_rows(0, 2047);
INSERT INTO zoneset_z SELECT * FROM zoneset_h;
SELECT test.both('INSERT INTO zoneset_@ SELECT * FROM zoneset_rows(2048, 4095)');
SELECT test.both('INSERT INTO zoneset_@ SELECT * FROM zoneset_rows(4096, 6143)');
SELECT test.both('INSERT INTO zoneset_@ (id) SELECT g FROM generate_series(20000, 21100) g');
SELECT test.both('INSERT INTO zoneset_@ SELECT (zoneset_rows(g, g)).*
	FROM generate_series(0, 6120, 7) g');
SELECT test.both('UPDATE zoneset_@ SET (t, ti8, e, u, n, i8, b) =
	(NULL, NULL, NULL, NULL, NULL, NULL, NULL) WHERE id BETWEEN 2300 AND 2350');
SELECT test.both('DELETE FROM zoneset_@ WHERE id BETWEEN 4500 AND 4600');
ALTER TABLE zoneset_h ADD COLUMN late int DEFAULT 7, ADD COLUMN late_null text;
ALTER TABLE zoneset_z ADD COLUMN late int DEFAULT 7, ADD COLUMN late_null text;
ALTER TYPE zone_mood ADD VALUE 'before two' BEFORE 'two';
ALTER TYPE zone_mood ADD VALUE 'last';
SELECT test.both($$INSERT INTO zoneset_@ (id, e, late, late_null) SELECT g, CASE WHEN g % 2 = 0
	THEN 'before two' ELSE 'last' END::zone_mood, g / 100, 'l' || g / 100
	FROM generate_series(30000, 31500) g$$);
VACUUM zoneset_z;
SELECT test.both('INSERT INTO zoneset_@ SELECT z.*, 8, NULL FROM zoneset_rows(6144, 6149) z');

-- The rows that pass a condition, by heap and in all ways by zedstore; what differs is shown.
CREATE FUNCTION zone_ways(filter text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	query constant text :=
	'SELECT count(*) || '':'' || coalesce(sum(id), 0) || '':'' ||
		coalesce(sum(hashint4(id)), 0) FROM ';
	expected text;
	found text;
	way text;
BEGIN
	EXECUTE query || 'zoneset_h WHERE ' || filter INTO expected;
	FOREACH way IN ARRAY ARRAY['on', 'off'] LOOP
		PERFORM set_config('zedstore.enable_vector_scan', way, true);
		EXECUTE query || '(SELECT id FROM zoneset_z WHERE ' || filter || ' OFFSET 0) s' INTO found;
		IF found IS DISTINCT FROM expected THEN
			RETURN NEXT format('%s: batches %s: %s instead of %s', filter, way, found, expected);
		END IF;
	END LOOP;
	PERFORM set_config('zedstore.enable_vector_scan', 'on', true);
	EXECUTE query || 'zoneset_z WHERE ' || filter INTO found;
	IF found IS DISTINCT FROM expected THEN
		RETURN NEXT format('%s: aggregate: %s instead of %s', filter, found, expected);
	END IF;
END $$;

-- Conditions on the column with the values, which are literals.
CREATE FUNCTION zone_conditions(col text, vals text[], typ text) RETURNS SETOF text LANGUAGE sql AS
	$$
	SELECT format('%I %s %L::%s', col, op, v, typ) FROM unnest(vals) v, unnest(ARRAY['=', '<>',
	'<', '<=', '>', '>=',
			'IS DISTINCT FROM', 'IS NOT DISTINCT FROM']) op
	UNION ALL SELECT format('%L::%s %s %I', v, typ, op, col) FROM unnest(vals[1:2]) v,
	unnest(ARRAY['=', '<', '>=']) op
	UNION ALL SELECT format('%I %s (%L::%s[])', col, op, a, typ) FROM (VALUES (vals), (vals ||
	NULL), (vals[1:1]), ('{}'), (ARRAY[NULL]), (NULL)) a(a),
		unnest(ARRAY['= ANY', '<> ALL', '< ANY', '>= ALL', '<> ANY', '= ALL']) op
	UNION ALL SELECT format('%I %s', col, t) FROM unnest(ARRAY['IS NULL', 'IS NOT NULL']) t
	UNION ALL SELECT format('(%I = %L::%s OR %I IS NULL OR %I > %L::%s)', col, vals[1], typ, col,
	col, vals[3], typ)
	UNION ALL SELECT format('(%I BETWEEN %L::%s AND %L::%s OR %I = %L::%s) AND %I <> %L::%s', col,
	vals[1], typ, vals[2], typ, col, vals[3], typ, col, vals[1], typ)
	UNION ALL SELECT format('NOT (%I = %L::%s) IS TRUE', col, vals[1], typ)
	UNION ALL SELECT format('(%I = %L::%s) IS NOT FALSE', col, vals[1], typ)
	UNION ALL SELECT format('(%I = %L::%s AND id > 100 OR %I = %L::%s AND late = 7)', col, vals[1],
	typ, col, vals[2], typ)
	UNION ALL SELECT format('(%I = %L::%s OR late = 8)', col, vals[1], typ)
$$;

-- Values that are there, and some between them, of each column.
CREATE FUNCTION zone_column(col text) RETURNS TABLE (conditions bigint, differ text) LANGUAGE
	plpgsql AS $$
DECLARE
	typ text := (SELECT format_type(atttypid, NULL) FROM pg_attribute WHERE attrelid =
	'zoneset_h'::regclass AND attname = col);
	vals text[];
BEGIN
	EXECUTE format('SELECT array_agg(v ORDER BY k) FROM (SELECT DISTINCT ON (k) k, v
		FROM (SELECT id / 2600 AS k, %I::text AS v, id FROM zoneset_h
		WHERE %I IS NOT NULL) s ORDER BY k, id) s',
		col, col) INTO vals;
	RETURN QUERY SELECT count(*), string_agg(d, E'\n') FROM zone_conditions(col, vals, typ) c LEFT
	JOIN LATERAL zone_ways(c) d ON true;
END $$;
SELECT a.attname, z.* FROM pg_attribute a, zone_column(attname) z
	WHERE attrelid = 'zoneset_h'::regclass AND attnum > 0 AND attname NOT IN ('b', 'ch', 'x8',
	'lsn', 'ma') ORDER BY attnum;
SELECT a.attname, z.* FROM pg_attribute a, zone_column(attname) z
	WHERE attrelid = 'zoneset_h'::regclass AND attnum > 0 AND attname IN ('b', 'ch', 'x8', 'lsn',
	'ma') ORDER BY attnum;

-- strings: patterns, collations, blanks, names; booleans; numbers of another type
SELECT count(*), string_agg(d, E'\n') FROM (VALUES
	('t LIKE ''prefix__12%'''), ('t LIKE ''prefix\_\_12%'''), ('t LIKE ''prefix\_\_12'''),
	('t LIKE ''prefix_'''), ('t LIKE ''%2'''), ('t LIKE '''''),
	('t LIKE ''%'''), ('t LIKE ''_'''), ('t LIKE NULL'), ('t NOT LIKE ''pre%'''),
	('t ~~ ANY (ARRAY[''prefix__1'', ''q%''])'), ('t ^@ ''prefix__4'''),
	('starts_with(t, ''prefix__4'')'), ('starts_with(t, '''')'),
	('ti8 LIKE ''k00000003%'''), ('ti8 LIKE ''K%'''), ('ti8 ILIKE ''K00000003%'''),
	('ti8 ^@ ''k00000011'''), ('ti8 LIKE ''k00000003_'''),
	('ti8 = ''k000000033'' COLLATE "C"'), ('ti8 COLLATE "C" < ''k000000010'''),
	('ti8 < ''k000000010'''), ('ti8 COLLATE zone_nocase = ''K000000033'''),
	('t COLLATE zone_icu < ''prefix__3'''), ('t COLLATE zone_nocase = ''PREFIX__33'''),
	('v LIKE ''Same 8 bytes 5%'''), ('v LIKE ''Same 8 bites%'''),
	('v = ''Same 8 bytes 77''::text'), ('v IN (''Same 8 bytes 77'', ''x'')'),
	('bp = ''b33 x'''), ('bp = ''b33 x     '''), ('bp LIKE ''b33 x%'''), ('bp LIKE ''b33 x'''),
	('bp LIKE ''b34          '''), ('bp::text = ''b34'''), ('bp IN (''b34'', ''b1  '')'),
	('bp = ''b3'''),
	('bpx = ''longer t'''), ('bpx = ''longer th  '''), ('bpx LIKE ''longer t%'''),
	('bpx = ''longer tha'' COLLATE "C"'), ('bpx > ''longer th'''), ('bpc < ''B3'''),
	('bpc COLLATE "C" >= ''B60 '''),
	('na = ''name33'''), ('na = ''name33''::text'), ('''name33''::text = na'), ('na < ''name33'''),
	('na IN (''name33'', ''name4'')'), ('na LIKE ''name3%'''), ('na > ''name44''::text'),
	('na = repeat(''x'', 70)'),
	('nd = ''ND33'''), ('nd IN (''ND33'', ''nd34'')'), ('nd = ''Nd34'' COLLATE "C"'),
	('nd < ''nd5'''),
	('mb = repeat(''ü'', 3) || chr(228 + 3) || ''z'''), ('mb LIKE ''üüü%'''),
	('mb LIKE ''ü_ü%'''),
	('mb ^@ ''üüüü'''), ('mb LIKE chr(228) || ''%'''),
	('b'), ('NOT b'), ('b IS TRUE'), ('b IS NOT TRUE'), ('b IS FALSE'), ('b IS NOT FALSE'),
	('b IS UNKNOWN'), ('b IS NOT UNKNOWN'), ('b = true'), ('b <> true'), ('b > false'),
	('b OR id < 5'),
	('i2 = 33::int8'), ('i2 > 70000'), ('i8 = 5::int2'), ('i8 IN (1::int2, 2)'),
	('f4 = 1.5::float8'), ('f8 = 0'), ('f8 = ''-0'''), ('f8 > 1e300'), ('f8 = 2.5::float4'),
	('f8 IN (''NaN'', ''Infinity'')'),
	('n = 0'), ('n IN (1.10, 2.20, ''NaN'')'), ('n < 1e-20'), ('n = ''-Infinity'''), ('n > 1e30'),
	('o = 34000000'), ('o > 4000000000'), ('o IN (0, 4080000000)'),
	('iv = interval ''60 days'''), ('iv IN (interval ''2 months'', interval ''90 days'')'),
	('tt = ''01:00+00'''), ('tt = ''02:00+01'''),
	('e = ''three'''), ('e IN (''before two'', ''eight'')'), ('e > ''two'''), ('e = ''last'''),
	('e <> ''one'''), ('e < ''two'''),
	('late = 7'), ('late IS NULL'), ('late IN (7, 8)'), ('late IN (8, 305)'), ('late > 310'),
	('late_null IS NULL'), ('late_null IS NOT NULL'), ('late_null = ''l310'''),
	('late_null LIKE ''l31%'''),
	('d = timestamp ''2020-02-03'''), ('d IN (''2020-02-03'', ''2020-02-06'')'),
	('d > ''infinity'''),
	('false'), ('id = 5 AND false'), ('id = 5 OR NULL'), ('id IN (SELECT 5)'),
	('id = ANY (SELECT 5)'),
	('u IN (''00000021-0000-7000-8000-000000000033'', ''00000022-0000-7000-8000-000000000034'')'),
	('id IN (' || (SELECT string_agg((g * 5)::text, ', ') FROM generate_series(1, 3000) g) || ')'),
	('id NOT IN (' || (SELECT string_agg(g::text, ', ') FROM generate_series(1, 3000) g) || ')'),
	('(' || (SELECT string_agg('id = ' || g * 5 || ' OR id > ' || g + 40000, ' OR ') FROM
	generate_series(1, 1500) g) || ')')
	) v(f) LEFT JOIN LATERAL zone_ways(f) d ON true;

-- what is skipped: rows that were looked at, of 6144
SET zedstore.enable_vector_scan = off;
CREATE FUNCTION rows_removed(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	line text;
	n bigint := 0;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' ||
	query LOOP
		n := n + coalesce(substring(line FROM 'Removed by Filter: (\d+)')::bigint, 0);
	END LOOP;
	RETURN n;
END $$;
CREATE TABLE zoneskip (LIKE zoneset_h) USING zedstore;
INSERT INTO zoneskip SELECT z.*, 8, NULL FROM zoneset_rows(0, 6143) z;
SELECT f, rows_removed('SELECT * FROM zoneskip WHERE ' || f) FROM (VALUES
	('i2 IN (11, 95)'), ('i8 = 10000000019'), ('ti8 = ''k000000033'''),
	('ti8 IN (''k000000033'', ''k000000077'')'), ('ti8 LIKE ''k000000%'''),
	('ti8 = ''x'' COLLATE zone_nocase'), ('ti8 COLLATE "C" < ''k0000000'''),
	('ti8 < ''k000000005'''), ('v = ''Same 8 bytes 5'''), ('v = ''Some'''),
	('bp = ''b33 x'''), ('na = ''name33'''), ('u = ''00000021-0000-7000-8000-000000000033'''),
	('u IN (''00000021-0000-7000-8000-000000000033'')'),
	('e = ''one'''), ('e IN (''one'', ''eight'')'), ('e > ''seven'''), ('nd = ''x'''),
	('iv = ''999 years'''), ('late_null IS NOT NULL'), ('id IS NULL'), ('id = 1 OR id = 6000'),
	('id < 20 OR id IN (3000, 5000)'), ('ti8 LIKE ''k\_%'''), ('b'), ('late <> 8')) v(f);
-- parameters: generic plans, and variables of PL/pgSQL
SET plan_cache_mode = force_generic_plan;
PREPARE zone_any(text[]) AS SELECT * FROM zoneskip WHERE ti8 = ANY ($1);
PREPARE zone_like(text) AS SELECT * FROM zoneskip WHERE ti8 LIKE $1;
PREPARE zone_two(int, text) AS SELECT * FROM zoneskip WHERE id > $1 AND bp = $2;
SELECT rows_removed($$EXECUTE zone_any('{k000000033,NULL,k000000077}')$$), rows_removed($$EXECUTE
	zone_any('{}')$$), rows_removed('EXECUTE zone_any(NULL)');
SELECT rows_removed($$EXECUTE zone_like('k00000003%')$$), rows_removed($$EXECUTE
	zone_like(NULL)$$), rows_removed($$EXECUTE zone_like('%3')$$);
SELECT rows_removed($$EXECUTE zone_two(100, 'b50')$$);
EXECUTE zone_like('k\');
RESET plan_cache_mode;
CREATE FUNCTION zone_by_variable(a int[], p text) RETURNS TABLE (n bigint, m bigint) LANGUAGE
	plpgsql AS $$
BEGIN
	SELECT count(*) INTO n FROM zoneset_z WHERE i2 = ANY (a);
	SELECT count(*) INTO m FROM zoneset_z WHERE ti8 LIKE p;
	RETURN NEXT;
END $$;
SELECT g, z.* FROM generate_series(1, 8) g, zone_by_variable(ARRAY[g * 9, NULL], 'k00000003%') z;

-- behind what may raise an error nothing is skipped, and nothing in a condition with such a part
CREATE FUNCTION boom(int) RETURNS bool LANGUAGE plpgsql COST 0.0001 AS $$ BEGIN RAISE EXCEPTION
	'boom'; END $$;
SELECT count(*) FROM zoneskip WHERE boom(id) AND ti8 = 'x';
SELECT count(*) FROM zoneskip WHERE ti8 LIKE 'k\' AND id IN (-1);
SELECT test.both('SELECT count(*) FROM zoneset_@ WHERE (id / (id - 5) = 1 OR id = -1)
	AND (id = -1 OR id IS NULL OR id / 2 = 7)');
-- parallel
RESET zedstore.enable_vector_scan;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SELECT test.same('SELECT id FROM zoneset_@ WHERE ti8 IN (''k000000033'', ''k000000077'')');
SELECT test.same('SELECT id FROM zoneset_@ WHERE u = ''00000021-0000-7000-8000-000000000033''');
SET zedstore.enable_vector_scan = off;
SELECT test.same('SELECT id FROM zoneset_@ WHERE ti8 IN (''k000000033'', ''k000000077'')');
RESET max_parallel_workers_per_gather;
SELECT test.check('zoneset_z');
DROP FUNCTION boom(int), zone_by_variable(int[], text), rows_removed(text), zone_column(text),
	zone_conditions(text, text[], text), zone_ways(text), zoneset_rows(int, int);
DROP TABLE zoneskip, zoneset_row;
