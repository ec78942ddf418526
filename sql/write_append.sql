--
-- Many rows at once: groups of rows into columns, numerics as integers, text as words
--
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
create schema write_append;
set search_path = write_append, public;
select current_setting('data_directory') || '/zedstore_write_append.data' as file \gset

-- the encodings of a column's segments, without their counts
create function encodings(rel regclass, att text) returns text language sql as $$
	select string_agg(distinct regexp_replace(e, ':.*', ''), ' ' order by regexp_replace(e, ':.*', ''))
	from pg_zs_segments(rel) s, regexp_split_to_table(s.encodings, ',') e where s.attname = att
$$;

-- numerics: one scale, scales that change within a group of rows, what fits no integer, NULLs
create table n_h (i int, one numeric(9,2), late numeric, mixed numeric, special numeric, big numeric, few numeric(5,3),
	nothing numeric) using heap;
create table n_z (like n_h) using zedstore;
insert into n_h select i,
	case when i % 11 > 0 then (i * 7919 % 20000000 - 10000000) / 100.0 end,
	case when i < 5000 then i * 3 else i + 0.5 end,
	case i % 3 when 0 then i when 1 then i + 0.25 else i * 1.000 end,
	case i % 5 when 0 then 'NaN' when 1 then 'Infinity' when 2 then '-Infinity' when 3 then 0.00 else -0.01 end::numeric,
	case i % 4 when 0 then 999999999999999999 when 1 then 1000000000000000000 when 2 then -123456789012345678.9
		else 0.00000000000000000001 end,
	(i % 7)::numeric / 8,
	null
from generate_series(1, 20000) i;
copy n_h to :'file';
copy n_z from :'file';
select test.same('select * from n_@');
select encodings('n_z', 'one') one, encodings('n_z', 'few') few, encodings('n_z', 'nothing') nothing;
select sum(one), sum(late), sum(mixed), sum(few) from n_z;
select test.same('select * from n_@ where i in (4999, 5000, 5001, 20000)');

-- a table of one value per column; the scale of a value below the column's
create table o_h (a numeric, b numeric(4,1)) using heap;
create table o_z (like o_h) using zedstore;
insert into o_h select 12.50, 3 from generate_series(1, 20000);
copy o_h to :'file';
copy o_z from :'file';
select test.same('select * from o_@');
select encodings('o_z', 'a') a;

-- numbers that leave the batch as rows of the row tree, as integers and as bytes
create table r_h (a numeric(6,2), b numeric, c text) using heap;
create table r_z (like r_h) using zedstore;
insert into r_h select i / 100.0, case when i = 150 then 0.5 else i end, repeat('x', i % 5)
from generate_series(1, 200) i;
copy r_h to :'file';
copy r_z from :'file';
select test.same('select * from r_@');
select count(*) segments from pg_zs_segments('r_z');

-- a numeric that is too large for a page
create table l_h (a int, b numeric) using heap;
create table l_z (like l_h) using zedstore;
insert into l_h select i, case when i % 500 = 0 then 10::numeric ^ 20000 + i else i end from generate_series(1, 3000) i;
copy l_h to :'file';
copy l_z from :'file';
select test.same('select * from l_@');

-- all widths, a dropped column, NULLs at the ends of groups
create table w_h (a int, gone text, b bool, c "char", s smallint, l bigint, f real, d float8, n name, u uuid, p char(7),
	v varchar, arr int[]) using heap;
create table w_z (like w_h) using zedstore;
alter table w_h drop column gone;
alter table w_z drop column gone;
insert into w_h select case when i % 64 not in (0, 1, 63) then -i end, i % 3 = 0, (65 + i % 26)::int::"char", -i % 30000,
	i * -10000000000, i / 3.0, i / 7.0, 'name ' || i, md5(i::text)::uuid, i % 1000,
	case when i % 64 not in (0, 1, 63) then repeat('ab', i % 70) end, array[i, i + 1]
from generate_series(1, 10000) i;
copy w_h to :'file';
copy w_z from :'file';
select test.same('select * from w_@');

-- what sees the rows after they were appended: indexes, triggers, transition tables
create table x_h (a int primary key, b text, c int[], seen int) using heap;
create table x_z (a int primary key, b text, c int[], seen int) using zedstore;
create table log (rel text, rows bigint, len bigint, total bigint);
create function before_row() returns trigger language plpgsql as $$
begin
	new.c := new.c || new.a;
	new.c[1] := 7;
	return new;
end $$;
create function after_row() returns trigger language plpgsql as $$
begin
	if new.a % 1000 = 0 then
		insert into log values (tg_table_name, 1, length(new.b), new.c[2]);
	end if;
	return null;
end $$;
create function after_all() returns trigger language plpgsql as $$
begin
	insert into log select tg_table_name, count(*), sum(length(b)), sum(c[2]) from new_rows;
	return null;
end $$;
create trigger t1 after insert on x_h for each row execute function after_row();
create trigger t1 after insert on x_z for each row execute function after_row();
create trigger t2 after insert on x_h referencing new table as new_rows for each statement execute function after_all();
create trigger t2 after insert on x_z referencing new table as new_rows for each statement execute function after_all();
copy (select i, repeat('y', i % 100), array[i, i * 2], null from generate_series(1, 5000) i) to :'file';
copy x_h from :'file';
copy x_z from :'file';
create trigger t0 before insert on x_h for each row execute function before_row();
create trigger t0 before insert on x_z for each row execute function before_row();
copy (select i, repeat('y', i % 100), array[i, i * 2], null from generate_series(5001, 9000) i) to :'file';
copy x_h from :'file';
copy x_z from :'file';
select test.same('select * from x_@');
select count(*), bool_and(h = z) from (
	select array_agg(l order by rows, len, total) filter (where rel = 'x_h') h,
		array_agg(l order by rows, len, total) filter (where rel = 'x_z') z
	from (select rel, rows, len, total, (rows, len, total)::text l from log) x) y;
set enable_seqscan = off;
select test.same('select * from x_@ where a in (1, 63, 64, 65, 4999, 5001, 9000)');
reset enable_seqscan;

-- a load that fails in the middle, inside a savepoint, and one that goes on behind it
create table s_h (a int, b text, c numeric) using heap;
create table s_z (like s_h) using zedstore;
copy (select i, case when i = 900 then 'bad' else i::text end, i from generate_series(1, 1000) i) to :'file';
alter table s_h add check (b <> 'bad');
alter table s_z add check (b <> 'bad');
begin;
select test.both('insert into s_@ select i, ''before'', i from generate_series(1, 3000) i');
\set VERBOSITY sqlstate
savepoint a;
copy s_h from :'file';
rollback to a;
copy s_z from :'file';
rollback to a;
\set VERBOSITY default
select test.both('insert into s_@ select i, ''after'', i + 0.5 from generate_series(1, 3000) i');
commit;
select test.same('select * from s_@');

-- text: words, some of them rare, bytes that no word covers
create table t_h (i int primary key, comment text, hash text, url text) using heap;
create table t_z (i int primary key, comment text, hash text, url text) using zedstore;
insert into t_h
select i,
	case when i % 13 > 0 then (
		select string_agg(case when h % 997 = 0 then E'\u00e9\u20ac' else
			(array['carefully', 'final', 'deposits', 'sleep', 'quickly', 'the', 'above', 'even', 'theodolites', 'haggle',
				'furiously', 'ironic', 'accounts', 'among', 'packages', 'slyly', 'regular', 'pending', 'requests', 'nag',
				'blithely', 'express', 'ideas', 'boost', 'special', 'foxes', 'across', 'silent', 'platelets', 'bold'])
				[1 + h % 30] end, ' ' order by k)
		from (select k, abs(hashint4(i * 16 + k)::bigint) h from generate_series(1, 4 + i % 9) k) x) end,
	md5(i::text),
	'https://www.example.org/' || abs(hashint4(i)) % 100000 || '/page' || i % 17 || '.html'
from generate_series(1, 40000) i;
copy t_h to :'file';
copy t_z from :'file';
select encodings('t_z', 'comment') comment, encodings('t_z', 'hash') hash;
select test.same('select * from t_@');
set enable_seqscan = off;
set enable_bitmapscan = off;
-- around anchors, vectors and the end
select test.same('select * from t_@ where i in (1, 13, 14, 31, 32, 33, 34, 64, 65, 1023, 1024, 1025, 1056, 20000, 39999, 40000)');
select i, comment from t_z where i in (26, 1057);
reset enable_seqscan;
reset enable_bitmapscan;

select test.check(r) from unnest(array['n_z', 'o_z', 'r_z', 'l_z', 'w_z', 'x_z', 's_z', 't_z']::regclass[]) r;

-- a segment without strings does not decide how the ones behind it are encoded, neither in a load nor in VACUUM
create table late (i int, t text) using zedstore;
insert into late
	select i, case when i > 65536 then 'the same words ' || i || ' again and again ' || i % 1000 end
	from generate_series(1, 200000) i;
create view late_segments as
	select bool_or(encodings ~ 'allnull') as some_null, bool_or(encodings ~ 'plain:') as some_plain
	from pg_zs_segments('late') where attname = 't';
select * from late_segments;
delete from late where i % 4 = 0;
vacuum late;
select * from late_segments;
select count(*), count(t), sum(length(t)) from late;
drop view late_segments;
drop table late;
