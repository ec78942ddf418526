-- ILIKE and regular expressions by batches: core's answers and core's errors
\getenv abs_srcdir PG_ABS_SRCDIR
\set batches :abs_srcdir '/sql/include/batches.sql'
\i :batches
CREATE SCHEMA vector_pattern;
SET search_path = vector_pattern, public;
SET max_parallel_workers_per_gather = 0;
SET zedstore.min_segment_rows = 1024;
CREATE COLLATION vector_pattern_ci (PROVIDER = icu, LOCALE = 'und-u-ks-level2', DETERMINISTIC = false);
-- few strings, many, long ones; NULLs and empty ones; letters that are no ASCII
\set ECHO none
CREATE TABLE h_pat (id int, few text, many text, c char(12), vc varchar(40), icu text COLLATE "und-x-icu", ci text COLLATE vector_pattern_ci) USING heap;
INSERT INTO h_pat SELECT g, CASE WHEN g % 13 = 0 THEN NULL WHEN g % 17 = 0 THEN '' ELSE 'Word ' || g % 7 || ' of MANY' END, md5(g::text) || CASE WHEN g % 500 = 0 THEN repeat('X_%.', 3000) ELSE '' END,
		'Cc' || g % 5, 'a.b\' || g % 30 || E'\nline two', CASE g % 3 WHEN 0 THEN 'ÄRGER' WHEN 1 THEN 'ärger' ELSE 'Straße ' || g % 20 END, 'x' || g % 3
	FROM generate_series(1, 4000) g;
CALL test.twin('pat', 'id');
CREATE FUNCTION matched(condition text, what text DEFAULT 'count(*), sum(id)') RETURNS text LANGUAGE sql AS $$
	SELECT test.twins('pat', what, condition => condition) || ' ' ||
		substr(test.by_batches('SELECT md5(string_agg(many, '' '')) FROM (SELECT many FROM @_pat t WHERE ' || condition || ' OFFSET 0) x', 'Zedstore'), 1, 12)
$$;
\set ECHO all
SELECT c, matched(c) FROM (VALUES ('few ILIKE ''word 3%'''), ('few NOT ILIKE ''%OF m_ny'''), ('few ~ ''^Word [1-3] '''), ('few ~* ''MANY$'''), ('few !~ ''[0-5]'''), ('few !~* ''word (1|2)'''),
	('few ~ '''''), ('few ILIKE '''''), ('few ~ NULL'), ('many ILIKE ''%AB%CD%'''), ('many ~ ''(a|b)\d{3}'''), ('many ~* ''^[A-F]+1'''), ('many !~ ''a.*b.*c'''), ('many ~ ''X_%\.'''), ('many LIKE ''%X\_\%.'''),
	('c ~ ''2 *$'''), ('c ILIKE ''cc3%'''), ('c !~* ''CC[12]'''), ('c NOT ILIKE ''CC1'''), ('vc ~ ''^a\.b\\'''), ('vc ILIKE ''A.B\\\\1_%'''), ('vc ~ ''^line'''), ('vc ~ ''(?n)^line'''),
	('icu ILIKE ''ärger'''), ('icu ~* ''^Ä'''), ('icu ILIKE ''STRASSE%'''), ('icu ~ ''stra[ß]e'' OR icu ~* ''STRAßE 1'''), ('upper(few) ~ ''WORD 5'''), ('few || '''' ~ ''5'''),
	-- two, one behind the other; one that no row comes to; one that is unknown
	('few ~ ''3'' AND many ~ ''^a'''), ('id < 0 AND few ~ (SELECT ''('')'), ('id < 100 OR few ~* ''w.*2'''), ('NOT (few ~ ''3'' AND id > 500)'), ('CASE WHEN id % 2 = 0 THEN few ~ ''3'' ELSE many ILIKE ''A%'' END'),
	-- (the planner looks at constant patterns) errors: no regular expression, an escape at the end, a collation that cannot do it
	('few ~ (SELECT ''('')'), ('few ~* (SELECT ''a{3,1}'')'), ('few ILIKE (SELECT ''%\'')'), ('ci ILIKE (SELECT ''X1'')'), ('ci ~ (SELECT ''x1'')')) v(c);
SELECT matched('true', 'count(*) FILTER (WHERE few ~ ''[35]''), sum(CASE WHEN many ~* ''^A'' THEN id END), count(*) FILTER (WHERE NOT few ILIKE ''WORD 3%'')');
-- pieces in long strings, many places that look like one; lengths of ASCII, of other letters, of what has blanks behind it
SELECT c, matched(c) FROM (VALUES ('many LIKE ''%.X\_\%.%'''), ('many LIKE ''%X\_%.X'''), ('many LIKE ''%12%ab%'''), ('many NOT LIKE ''%X\_\%.X\_\%.%'''), ('vc LIKE ''%2_line%'''), ('vc LIKE ''%line two'''), ('vc LIKE ''%line%two%o%''')) v(c);
SELECT matched('true', 'sum(length(few)), sum(length(many)), max(char_length(many)), sum(length(c)), sum(character_length(vc)), sum(length(icu)), min(length(few))');
-- parameters; plans
SET zedstore.debug_vector = verify;
SET plan_cache_mode = force_generic_plan;
PREPARE p (text) AS SELECT count(*), min(few) FROM z_pat WHERE few ~ $1;
EXECUTE p ('[34]');
EXECUTE p ('[');
EXECUTE p (NULL);
PREPARE h (text) AS SELECT count(*), min(few) FROM h_pat WHERE few ~ $1;
EXECUTE h ('[34]');
RESET plan_cache_mode;
EXPLAIN (COSTS OFF) SELECT id FROM z_pat WHERE few ~* 'word' AND id < 10;
EXPLAIN (COSTS OFF) SELECT count(*) FROM z_pat WHERE few ILIKE 'word%';
