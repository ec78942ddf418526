--
-- VACUUM writes segments anew that lost rows: values of every kind come out as they went in
--
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
\set horizon :abs_srcdir '/sql/include/horizon.sql'
\i :horizon
create schema vacuum_values;
set search_path = vacuum_values, public;
set zedstore.min_segment_rows = 1024;

create table t_h (i int, flag bool, tiny "char", small int2, large int8, f4 float4, f8 float8,
	price numeric(9,2), -- integers of one scale
	later numeric, -- another scale, then more digits, then no numbers, from some stripe on
	mixed numeric, -- scales in turn
	few numeric(5,1), -- a dictionary
	same numeric, none numeric, s text, code char(7), doc text, u uuid, span interval,
	bits varbit) using heap with (autovacuum_enabled = off);
create table t_z (like t_h) using zedstore with (autovacuum_enabled = off);
create table as_new (like t_h) using heap;
create function new_rows(first int, last int) returns setof as_new language sql as $$
	select k, k % 3 = 0, chr(65 + k % 26)::"char", (k * 7 % 30011)::int2,
		case when k % 11 <> 0 then k::int8 * 1000003 * (1 - 2 * (k % 2)) end,
		(k / 3.0)::float4, case k % 500 when 0 then 'nan' when 1 then '-0' else k / 7.0 end::float8,
		case when k % 13 <> 0 then ((k * 7919) % 9999999 - 5000000) / 100.0 end,
		case when k < 9000 then (k / 100.0)::numeric(9,2)
			when k < 10000 then (k / 100.0)::numeric(9,3)
			when k < 11000 then k * 1e30 + 0.5
			when k % 2 = 0 then 'nan' else '-infinity' end,
		round(k / 8.0, k % 4), k % 50 / 10.0, 42.50, null::numeric,
		case k % 4 when 0 then '' when 1 then null else 'row ' || k end, 'c' || k % 100,
		case when k % 700 = 0 then repeat(md5(k::text), 600)
			when k % 7 = 0 then repeat('x', k % 90) end,
		md5(k::text)::uuid, k * interval '1 minute', k::bit(13)::varbit
	from generate_series(first, last) k
$$;
-- rows of one command are columns at once
insert into t_h select * from new_rows(1, 16000);
insert into t_z select * from new_rows(1, 16000);
create function shape() returns table (attname name, rows bigint) language sql as $$
	select a.attname, sum(nrows - nnulls) from pg_zs_segments('t_z') s
	join pg_attribute a on attrelid = 't_z'::regclass and a.attnum = s.attno
	where a.attname in ('i', 'price', 'later') group by 1 order by 1
$$;
select * from shape();

-- most rows go, here and there; whole stripes, too
select test.both('delete from t_@ where i % 5 in (0, 2, 3) or i between 3000 and 6000');
:vacuum t_z;
select * from shape();
select test.same('select * from t_@');
select test.same('select sum(price), sum(later), sum(mixed), sum(few), sum(same) from t_@
	where i < 9000');
select test.check('t_z');

-- with rows of the row tree between them, and columns that the older rows do not have
select test.both('alter table t_@ add added numeric default 7.25');
select test.both('alter table t_@ add late text default ''old''');
do $$
begin
	for k in 16001 .. 18000 loop
		insert into t_h select n.*, k / 4.0, 'new' from new_rows(k, k) n;
		insert into t_z select n.*, k / 4.0, 'new' from new_rows(k, k) n;
	end loop;
end $$;
select test.both('update t_@ set later = 0.125 where i % 1000 = 4');
:vacuum t_z;
select test.both('delete from t_@ where i % 3 = 1');
:vacuum t_z;
select test.same('select * from t_@');
select test.check('t_z');
select zs_compact('t_z') is not null;
select test.same('select * from t_@');
select test.check('t_z');

-- nothing is left of some columns but NULLs
select test.both('delete from t_@ where later is not null or price is not null');
:vacuum t_z;
select test.same('select * from t_@');
select test.check('t_z');
