-- timestamps with time zone by batches: local time in all kinds of zones, as heap has it
\getenv abs_srcdir PG_ABS_SRCDIR
\set batches :abs_srcdir '/sql/include/batches.sql'
\i :batches
CREATE SCHEMA vector_zone;
SET search_path = vector_zone, public;
SET max_parallel_workers_per_gather = 0;
SET zedstore.min_segment_rows = 1024;
-- minutes of some weeks around changes of the clock, half days of a century, years that are far away, ends of the calendar
\set ECHO none
CREATE TABLE h_zone (id int, tz timestamptz, t timestamp) USING heap;
INSERT INTO h_zone SELECT g, timestamptz '2023-03-10 00:00+00' + g * interval '17 minutes 1.5 seconds', timestamp '2023-03-10' + g * interval '17 minutes' FROM generate_series(1, 2048) g;
INSERT INTO h_zone SELECT g, timestamptz '2011-12-25 00:00+00' + (g - 2048) * interval '11 minutes 0.000001 seconds', timestamp '2023-10-25' + (g - 2048) * interval '11 minutes' FROM generate_series(2049, 4096) g;
INSERT INTO h_zone SELECT g, timestamptz '1850-01-01 00:00+00' + (g - 4097) * interval '19 days 7:13:11.7', timestamp '1850-01-01' + (g - 4097) * interval '19 days 7:13:11' FROM generate_series(4097, 8192) g;
INSERT INTO h_zone SELECT g, timestamptz '0001-01-10 00:00+00' + (g - 8193) * interval '3560 days', timestamp '0001-01-10' + (g - 8193) * interval '3560 days' FROM generate_series(8193, 9216) g;
INSERT INTO h_zone SELECT g, CASE g % 4 WHEN 0 THEN 'infinity' WHEN 1 THEN timestamptz '4713-01-02 00:00+00 BC' WHEN 2 THEN timestamptz '294276-12-30 00:00+00' END,
		CASE g % 3 WHEN 0 THEN '-infinity' WHEN 1 THEN timestamp '294276-12-30' END FROM generate_series(9217, 10240) g;
CALL test.twin('zone', 'id');
CREATE FUNCTION in_zone(what text, zone text, condition text DEFAULT 'id <= 9216') RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('timezone', zone, true);
	RETURN test.by_batches('SELECT ' || what || ' FROM @_zone t WHERE ' || condition,
		'ZedstoreAgg\) on', 'v', 60,
		array[['none', '0', '8'], ['force', '0', '8'], ['verify', '0', '8'], ['rows', '0', '8']]);
END $$;
\set ECHO all
-- the answer for all rows in one value: which rows there are of each local time
SELECT zone, left(in_zone('md5(string_agg(x::text, '' '' ORDER BY x)) FROM (SELECT (date_trunc(''hour'', tz), count(*), sum(id)) AS x', zone, 'id <= 9216 GROUP BY date_trunc(''hour'', tz)) x'), 1) AS hour,
	left(in_zone('md5(string_agg(x::text, '' '' ORDER BY x)) FROM (SELECT (date_trunc(''day'', tz), count(*), sum(id)) AS x', zone, 'id <= 9216 GROUP BY date_trunc(''day'', tz)) x'), 1) AS day,
	left(in_zone('md5(string_agg(x::text, '' '' ORDER BY x)) FROM (SELECT (tz::date, extract(hour FROM tz), count(*), sum(id)) AS x', zone, 'id <= 9216 GROUP BY tz::date, extract(hour FROM tz)) x'), 1) AS date
FROM unnest('{UTC,America/Los_Angeles,America/St_Johns,Europe/Berlin,Europe/Dublin,Asia/Kolkata,Asia/Kathmandu,Australia/Lord_Howe,Africa/Monrovia,Africa/Casablanca,Pacific/Apia,Antarctica/Troll,America/Sao_Paulo,<+03>-3,EST5EDT}'::text[]) zone;
SELECT e, in_zone('ROW(sum(' || e || '), min(' || e || '), max(' || e || '))::text', 'Australia/Lord_Howe') AS lord_howe, in_zone('ROW(sum(' || e || '), sum(' || e || ' * id))::text', 'Europe/Berlin', 'id < 4000') AS berlin
FROM (SELECT format('extract(%s FROM tz)', u) FROM unnest('{microseconds,milliseconds,second,minute,hour,day,week,month,quarter,year,isoyear,decade,century,millennium,dow,isodow,doy,epoch,julian,timezone,timezone_hour}'::text[]) u
	UNION ALL SELECT format('date_part(%L, tz)', u) FROM unnest('{hour,doy,epoch,second,nonsense}'::text[]) u) v(e);
SELECT e, in_zone('ROW(min(' || e || '), max(' || e || '), count(' || e || '))::text', 'America/Sao_Paulo') AS sao_paulo, in_zone('max(' || e || ')', 'Pacific/Apia', 'id < 4000') AS apia,
	in_zone('min(' || e || ')', 'UTC', 'id > 9000') AS ends
FROM (SELECT format('date_trunc(%L, tz)', u) FROM unnest('{microseconds,milliseconds,second,minute,hour,day,week,month,quarter,year,decade,century,millennium,nonsense}'::text[]) u
	UNION ALL VALUES ('tz::timestamp'), ('t::timestamptz'), ('tz::date'), ('date_trunc(''day'', tz, ''Asia/Tokyo'')')) v(e);
-- in filters; a zone that changes between two executions of one plan
SELECT f, in_zone('ROW(count(*), sum(id))::text', 'Europe/Berlin', f) FROM (VALUES ('extract(hour FROM tz) = 2 AND id <= 9216'), ('tz::date = ''2023-03-26'''), ('date_trunc(''month'', tz) = ''2023-03-01'''),
	('id < 9000 AND extract(dow FROM tz) IN (0, 6)'), ('id < 3000 AND date_trunc(''day'', tz) <> date_trunc(''day'', tz + interval ''3 hours'')')) v(f);
SET zedstore.debug_vector = verify;
SET plan_cache_mode = force_generic_plan;
PREPARE p AS SELECT min(date_trunc('day', tz)), max(extract(hour FROM tz)), count(*) FILTER (WHERE tz::date = '2023-03-26') FROM z_zone WHERE id < 3000;
SET timezone = 'Asia/Kolkata';
EXECUTE p;
SET timezone = 'UTC';
EXECUTE p;
