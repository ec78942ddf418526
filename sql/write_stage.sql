--
-- COPY in groups of rows: slots that keep their values in a stage
--
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
create schema write_stage;
set search_path = write_stage, public;
select current_setting('data_directory') || '/zedstore_write_stage.data' as file \gset

-- a row of each kind of type, NULLs everywhere, a dropped column
create domain price as numeric(9,2);
create type pair as (a int, b text);
create table m_h (c "char", b bool, s int2, i int4, gone int, l int8, o oid, f4 float4, f8 float8, d date,
	ts timestamptz, n numeric(7,2), p price, n0 numeric(8), n4 numeric(12,4), free numeric, t text, v varchar(20),
	bp char(5), nm name, u uuid, by bytea, iv interval, a int[], j jsonb, r pair) using heap;
create table m_z (like m_h) using zedstore;
alter table m_h drop column gone;
alter table m_z drop column gone;
create function fill(n int, price_of text, free_of text, text_of text) returns void language plpgsql as $$
begin
	execute format($f$
		insert into m_h select case when i %% 7 > 0 then chr(i %% 90 + 33)::"char" end, case when i %% 3 > 0 then i %% 2 = 0 end,
			case when i %% 5 > 0 then i %% 60000 - 30000 end, case when i %% 11 > 0 then i * 7919 end,
			case when i %% 4 > 0 then i * -1234567890123 end, i, i / 8.0, case when i %% 13 > 0 then 1.0 / i end,
			'2000-01-01'::date + i %% 500, '2000-01-01 00:00Z'::timestamptz + i * interval '1 s',
			case when i %% 9 > 0 then (i * 37 %% 19999999 - 9999999) / 100.0 end, %s, i * 13 %% 100000000, i / 16.0, %s,
			%s, repeat('v', i %% 21), i %% 1000, 'name' || i %% 100, md5((i %% 50)::text)::uuid,
			case when i %% 6 > 0 then decode(md5(i::text), 'hex') end, i * interval '1 min',
			case when i %% 10 = 0 then array[i, null, i + 1] end, case when i %% 4 = 0 then jsonb_build_object('k', i) end,
			case when i %% 3 = 0 then row(i, 'x')::pair end
		from generate_series(1, %s) i $f$, price_of, free_of, text_of, n);
end $$;
-- writes heap's rows to a file and loads them into the twin
create function through(file text, options text default '') returns text language plpgsql as $$
begin
	execute format('copy m_h to %L %s', file, options);
	execute format('copy m_z from %L %s', file, options);
	return test.same('select * from m_@');
end $$;

select fill(5000, 'i % 1000 / 10.0', 'i', $$repeat('t', i % 40)$$);
select through(:'file');
truncate m_z;
select through(:'file', '(format binary)');
select test.check('m_z');
truncate m_z;
select format('copy (select * from m_h order by o) to %L', :'file') as command \gset
:command;
copy m_z from :'file';
-- they came as columns, in order
select bool_and(o::int8 = n) from (select o, row_number() over () as n from m_z) x;
truncate m_h, m_z;

-- what a stage does not take, at different places of a group: numerics of other scales, NaN, many digits,
-- large values
select fill(3000, $$case i % 700 when 650 then 'NaN' when 100 then -99.5 when 0 then 0 else i end::numeric$$,
	$$case when i < 1000 then i when i < 2000 then i / 8.0 else (10 ^ (i % 30))::numeric + 0.5 end$$, $$'short'$$);
select fill(3000, $$i$$, $$case when i % 1000 = 777 then 123456789012345678901234567890.123456789 else i * 0.01 end$$,
	$$case when i % 900 = 500 then repeat(md5(i::text), 300 + i) else md5(i::text) end$$);
select through(:'file');
truncate m_z;
select through(:'file', '(format binary)');
select test.check('m_z');
truncate m_h, m_z;
-- all the time
select fill(2000, $$i$$, $$'infinity'$$, $$repeat(md5(i::text), 300)$$);
select through(:'file');
truncate m_h, m_z;

-- groups of all sizes: the first one decides how large a stage is
create table g_h (n int, t text, x numeric(7,2)) using heap;
create table g_z (n int, t text, x numeric(7,2)) using zedstore;
select format('copy (select i, case when i %% 5000 < 3000 then repeat(''x'', 200) else i::text end, i / 100.0 from generate_series(1, 20000) i) to %L', :'file') as command \gset
:command;
select test.both(format('copy g_@ from %L', :'file'));
select format('copy (select i, case when i %% 5000 < 200 then repeat(''x'', 900) end, -i / 100.0 from generate_series(1, 20000) i) to %L', :'file') as command \gset
:command;
select test.both(format('copy g_@ from %L', :'file'));
select format('copy (select i, case when i %% 5000 = 1 then repeat(''x'', 60000) else '''' end, case when i %% 9 = 0 then null else 0 end from generate_series(1, 20000) i) to %L', :'file') as command \gset
:command;
select test.both(format('copy g_@ from %L where n %% 10 > 0', :'file'));
-- an error in the middle of a group
select format('copy (select i, 1, case when i = 15000 then 99999.999 else 1 end from generate_series(1, 20000) i) to %L', :'file') as command \gset
:command;
select test.both(format('copy g_@ from %L', :'file'));
begin;
savepoint s;
copy g_z from :'file';
rollback to s;
select format('copy (select i, 1, i / 100.0 from generate_series(1, 20000) i) to %L', :'file') as command \gset
:command;
copy g_z from :'file';
savepoint t;
copy g_z from :'file';
rollback to t;
copy g_z from :'file';
commit;
copy g_h from :'file';
copy g_h from :'file';
select test.same('select * from g_@');
select test.check('g_z');

-- those who look at the rows after they were written: indexes, triggers, partitions, generated columns
create table k_h (n int primary key, x numeric(7,2), t text default 'none', twice int generated always as (n * 2) stored,
	check (n > 0)) using heap;
create index on k_h (x, n);
create index on k_h ((t || n)) where n % 2 = 0;
create table k_z (like k_h including all) using zedstore;
create table log_h (n int, x numeric, t text) using heap;
create table log_z (n int, x numeric, t text) using zedstore;
create function log_h() returns trigger language plpgsql as $$begin insert into log_h select n, x, t from new; return null; end$$;
create function log_z() returns trigger language plpgsql as $$begin insert into log_z select n, x, t from new; return null; end$$;
select format('copy (select i, i / 100.0 from generate_series(1, 3000) i) to %L', :'file') as command \gset
:command;
select test.both(format('copy k_@ (n, x) from %L', :'file'));
select test.same('select * from k_@');
set enable_seqscan = off;
select test.same('select * from k_@ where x between 5 and 7');
select test.same('select * from k_@ where n % 2 = 0 and t || n in (''none1234'', ''none2999'', ''none7'')');
reset enable_seqscan;
select test.both(format('copy k_@ (n, x) from %L', :'file'));
create trigger log after insert on k_h referencing new table as new for each statement execute function log_h();
create trigger log after insert on k_z referencing new table as new for each statement execute function log_z();
alter table k_h drop constraint k_h_pkey;
alter table k_z drop constraint k_z_pkey;
select test.both(format('copy k_@ (n, x) from %L', :'file'));
select test.same('select * from k_@'), test.same('select * from log_@');
create table p_h (n int, x numeric(7,2), t text) partition by hash (n);
create table p_z (n int, x numeric(7,2), t text) partition by hash (n);
create table p_h0 partition of p_h for values with (modulus 2, remainder 0) using heap;
create table p_z0 partition of p_z for values with (modulus 2, remainder 0) using zedstore;
create table p_h1 (t text not null default 'one', x numeric(7,2), n int) using heap;
create table p_z1 (t text not null default 'one', x numeric(7,2), n int) using zedstore;
alter table p_h attach partition p_h1 for values with (modulus 2, remainder 1);
alter table p_z attach partition p_z1 for values with (modulus 2, remainder 1);
select format('copy (select i, i / 100.0, i %% 77 from generate_series(1, 9000) i) to %L', :'file') as command \gset
:command;
select test.both(format('copy p_@ from %L', :'file'));
select test.same('select * from p_@'), test.same('select * from p_@0'), test.same('select * from p_@1');

set client_min_messages = warning;
drop schema write_stage cascade;
