-- parts of dates and times by batches: the same results as heap's
\getenv abs_srcdir PG_ABS_SRCDIR
\set batches :abs_srcdir '/sql/include/batches.sql'
\i :batches
SET max_parallel_workers_per_gather = 0;
SET zedstore.min_segment_rows = 1024;

\set how 'plan => ''ZedstoreAgg'''
-- all kinds of years; ends of the calendar, infinite ones
\set ECHO none
CREATE TABLE h_tim (id int, d date, t timestamp, tz timestamptz) USING heap;
INSERT INTO h_tim SELECT g, date '1999-12-20' + g, timestamp '1999-12-20' + g * interval '1 day 1 hour 1 min 1.000001 s', timestamptz '1999-12-20 00:00+00' + g * interval '31 min' FROM generate_series(1, 3072) g;
INSERT INTO h_tim SELECT g, date '0001-01-01' + (g - 3073) * 3564, timestamp '0001-01-01' + (g - 3073) * interval '3564 days 17:13:11.7', '2000-01-01' FROM generate_series(3073, 4096) g;
INSERT INTO h_tim SELECT g, date '0001-12-31 BC' - g % 7 * 1000, timestamp '0001-12-31 23:59:59.999999 BC' - g % 7 * interval '1000 days', '2000-01-01' FROM generate_series(4097, 5120) g;
INSERT INTO h_tim SELECT g, date '10000-01-01' + g % 7 * 1000, timestamp '10000-01-01' + g % 7 * interval '1000 days', '2000-01-01' FROM generate_series(5121, 6144) g;
INSERT INTO h_tim SELECT g, CASE WHEN g % 3 > 0 THEN 'infinity'::date END, CASE WHEN g % 3 > 0 THEN '-infinity'::timestamp END, 'infinity' FROM generate_series(6145, 7168) g;
CALL test.twin('tim', 'id');
\set ECHO all
SELECT e, test.twins('tim', format('min(%1$s), max(%1$s), count(%1$s)', e), condition => 'id <= 3072', :how) AS recent, test.twins('tim', format('min(%1$s), max(%1$s)', e), condition => 'id BETWEEN 3073 AND 4096', :how) AS "all",
	test.twins('tim', format('min(%1$s), max(%1$s)', e), condition => 'id BETWEEN 4097 AND 5120', :how) AS before, test.twins('tim', format('min(%1$s), max(%1$s)', e), condition => 'id BETWEEN 5121 AND 6144', :how) AS after, test.twins('tim', format('min(%1$s), max(%1$s), count(%1$s)', e), condition => 'id > 6144', :how) AS infinite
FROM (SELECT format('date_trunc(%L, t)', u) FROM unnest('{microseconds,milliseconds,second,minute,hour,day,week,month,quarter,year,decade,century,millennium,Years,mon}'::text[]) u) v(e);
-- sums of fields tell more than their ends
SELECT e, test.twins('tim', format('sum(%1$s), max(%1$s), sum(%1$s * id)', e), condition => 'id <= 3072', :how) AS recent, test.twins('tim', format('sum(%1$s), max(%1$s), sum(%1$s * id)', e), condition => 'id BETWEEN 3073 AND 4096', :how) AS "all",
	test.twins('tim', format('min(%1$s), max(%1$s)', e), condition => 'id BETWEEN 4097 AND 5120', :how) AS before, test.twins('tim', format('min(%1$s), max(%1$s)', e), condition => 'id BETWEEN 5121 AND 6144', :how) AS after, test.twins('tim', format('min(%1$s), max(%1$s), count(%1$s)', e), condition => 'id > 6144', :how) AS infinite
FROM (SELECT format('extract(%s FROM t)', u) FROM unnest('{microseconds,milliseconds,second,minute,hour,day,week,month,quarter,year,isoyear,decade,century,millennium,dow,isodow,doy,epoch,julian,timezone}'::text[]) u
	UNION ALL SELECT format('extract(%s FROM d)', u) FROM unnest('{day,week,month,quarter,year,isoyear,decade,century,millennium,dow,isodow,doy,epoch,hour}'::text[]) u
	UNION ALL SELECT format('date_part(%L, t)', u) FROM unnest('{day,minute,epoch,second,doy,nonsense}'::text[]) u
	UNION ALL VALUES ('date_part(''year'', d)'), ('extract(epoch FROM tz)'), ('extract(hour FROM tz)')) v(e);
-- in filters
SELECT f, test.twins('tim', 'count(*), sum(id)', condition => f, :how) FROM (VALUES ('extract(year FROM d) = 2003'), ('extract(year FROM t) BETWEEN 2001 AND 2002 AND extract(month FROM d) IN (1, 2, 12)'), ('date_trunc(''month'', t) = ''2004-03-01'''), ('extract(dow FROM d) = 0 AND id < 3000'),
	('date_trunc(''week'', t) < ''2000-02-07'' AND id < 4000'), ('date_part(''hour'', t) > 20.5'), ('extract(second FROM t) < 1.5'), ('extract(year FROM d) = extract(isoyear FROM d)'), ('date_trunc(''day'', tz) > ''2000-01-05'''),
	('CASE WHEN id <= 3072 THEN date_trunc(''year'', t) END = ''2005-01-01''')) v(f);
SET timezone = 'Asia/Kolkata';
SELECT test.twins('tim', 'min(date_trunc(''hour'', tz)), sum(extract(epoch FROM tz))', condition => 'id < 3000', :how);
RESET timezone;

DROP TABLE h_tim, z_tim;
