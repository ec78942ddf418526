-- subplans in filters, targets, groups and orders beside what goes by batches: the rows of heap,
-- in all modes
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
create schema vector_subplan;
set search_path = vector_subplan, public;
set max_parallel_workers_per_gather = 0;
set zedstore.min_segment_rows = 1024;
set client_min_messages = warning;

-- c_: in columns, with some rows in the row tree; r_: all in the row tree.  Values by value and
-- by reference, with NULLs.
create table c_h (id int, k int, i4 int, i8 bigint, tx text, nm name, nu numeric, uu uuid, d date,
	b bool, iv interval) using heap;
insert into c_h select g, g % 11, n, n, 'x' || n, ('n' || n)::name, n + 0.5, md5(n::text)::uuid,
	'2020-01-01'::date + n, g % 3 = 0, n * '1 h'::interval
	from generate_series(1, 3000) g, lateral (select g % 40 as n) s;
insert into c_h select 3000 + g from generate_series(1, 20) g;
create table c_z (like c_h) using zedstore;
insert into c_z select * from c_h where id <= 3000;
vacuum c_z;
insert into c_z select * from c_h where id > 3000;
create table r_h (like c_h) using heap;
insert into r_h select * from c_h where id <= 60 or id > 3010;
create table r_z (like c_h) using zedstore;
insert into r_z select * from r_h;
analyze;

-- Does the query give the same rows, for each type of column in the place of #, with t_@ in
-- columns and in the row tree?  If
-- not, where it differs.
create function differs(query text) returns text language plpgsql as $$
declare
	mode text;
	col text;
	outer_table text;
	sql text;
	got text;
	result text := '';
begin
	foreach outer_table in array array['c_@', 'r_@'] loop
		foreach col in array array['i4', 'i8', 'tx', 'nm', 'nu', 'uu', 'd', 'b', 'iv'] loop
			sql := replace(replace(query, '#', col), 't_@', outer_table);
			foreach mode in array case outer_table when 'c_@' then array['force', 'verify', 'rows']
				else array['force'] end loop
				perform set_config('zedstore.debug_vector', mode, true);
				got := test.same(sql);
				if got <> 't' then
					result := result || format('%s %s %s: %s; ', outer_table, col, mode, got);
				end if;
			end loop;
		end loop;
	end loop;
	perform set_config('zedstore.debug_vector', 'off', true);
	return case when result = '' then 'same' else result end;
end $$;

-- hashed: the test of the subplan has a parameter that only the subplan sets
select differs('select id from t_@ t where k <> 7 and # not in (select # from r_@ where id = 3)');
select differs('select id from t_@ t where k <> 7 and # not in (select # from r_@ where id
	in (3, 3015))');
select differs('select id from t_@ t where k <> 7 and (# in (select # from r_@ where id % 7
	= 3) or id = 9)');
select differs('select id from t_@ t where k <> 7 and (#, k) not in (select #, k from r_@
	where id < 9)');
select differs('select id from t_@ t where k <> 7 and # is not null and not (# in (select #
	from r_@ where id < 9) and id % 2 = 0)');
-- both ways, of which the executor has one
select differs('select id from t_@ t where k <> 7 and (exists (select 1 from r_@ b where b.#
	= t.# and b.id < 20) or id = 9)');
select differs('select id from t_@ t where k <> 7 and (not exists (select 1 from r_@ b where
	b.# = t.# and b.id < 20) or id = 9)');
-- not hashed
select differs('select id from t_@ t where k <> 7 and (# > all (select # from r_@ b where
	b.id < 4) or # = any (select # from r_@ b where b.id < 3))');
select differs('select id from r_@ t where k <> 7 and (# in (select # from r_@ b where b.k =
	t.k and b.id < 20) or id = 9)');
select differs('select id from r_@ t where k <> 7 and #::text = (select min(b.#::text) from
	r_@ b where b.k = t.k and b.id < 20)');
select differs('select id from r_@ t where k <> 7 and (select count(b.#) from r_@ b where
	b.# = t.# and b.id < 30) > 1');
-- one row, evaluated once: a parameter of the query
select differs('select id from t_@ t where k <> 7 and # = (select # from r_@ where id = 3)');
select differs('select id from t_@ t where k <> 7 and # = any (array(select # from r_@ where
	id < 5))');
select differs('select id from t_@ t where k <> 7 and (# <> (select # from r_@ where id = 3)
	or # in (select # from r_@ where id = 3))');
-- within CASE, COALESCE and other expressions
select differs('select id from t_@ t where k <> 7 and case when # in (select # from r_@
	where id < 9) then k > 2 when k = 1 then null else id % 3 = 0 end');
select differs('select id from t_@ t where k <> 7 and coalesce(# in (select # from r_@ where
	id in (3, 3015)), k = 3)');
select differs('select id from t_@ t where k <> 7 and (# in (select # from r_@ where id in
	(3, 3015))) is not true');
select differs('select id from t_@ t where k <> 7 and nullif(# in (select # from r_@ where
	id < 9), k = 3) is distinct from (id % 2 = 0)');
-- subplans within subplans
select differs('select id from t_@ t where k <> 7 and # not in (select # from r_@ b where
	b.k <> 3 and b.id < 30 and b.# not in (select # from r_@ where id < 9))');
select differs('select id from r_@ t where k <> 7 and exists (select 1 from c_@ b where b.k
	<> 5 and b.id < 90 and b.# = t.# and (b.# in (select # from r_@ where id < 20) or b.id =
	t.id))');
-- in targets, groups and orders
select differs('select id, # in (select # from r_@ where id < 9), exists (select 1 from r_@
	b where b.# = t.# and b.id < 20) from t_@ t where k <> 7');
select differs('select # in (select # from r_@ where id < 9), count(*), sum(k) from t_@ t
	where k <> 7 group by 1');
select differs('select count(*) filter (where # in (select # from r_@ where id < 9)),
	sum(case when # in (select # from r_@ where id < 9) then k else 100 end) from t_@ t where k
	<> 7');
select differs('select #, count(*) from t_@ t where k <> 7 group by # having # not in
	(select # from r_@ where id < 9)');
select differs('select #, count(*) from t_@ t where k <> 7 group by # having count(*) in
	(select count(*) from t_@ group by k) or exists (select 1 from r_@ b where b.# = t.# and
	b.id < 20)');
select differs('select id from (select id from t_@ t where k <> 7 and # not in (select #
	from r_@ where id = 3) order by id desc limit 7) s');
select differs('select id, # from (select id, # from t_@ t where k <> 7 and # is not null
	order by # in (select # from r_@ where id < 9), id limit 7) s');
-- below joins that tell scans their keys
select differs('select count(*), sum(t.id) from t_@ t join r_@ s on s.id = t.id where t.k <>
	7 and (t.# in (select # from r_@ where id < 9) or s.# in (select # from r_@ where id >
	50))');

-- parameters of the query within subplans, and beside them
create function prepared(query text) returns text language plpgsql as $$
declare
	twin text;
	n bigint;
	outcome bigint[];
begin
	perform set_config('plan_cache_mode', 'force_generic_plan', true);
	perform set_config('zedstore.debug_vector', 'force', true);
	foreach twin in array array['h', 'z'] loop
		execute format('prepare p_%s (int, text) as %s', twin, replace(query, '_@', '_' || twin));
		for i in 1 .. 3 loop
			execute format('execute p_%s(%s, ''x%s'')', twin, i, i) into n;
			outcome := outcome || n;
		end loop;
		execute format('deallocate p_%s', twin);
	end loop;
	perform set_config('zedstore.debug_vector', 'off', true);
	return case when outcome[1:3] = outcome[4:6] then 'same' else outcome::text end;
end $$;
select prepared('select count(*) from c_@ t where k <> $1 and tx not in (select tx from r_@
	where id = $1 or tx = $2)');
select prepared('select sum(id) from c_@ t where k <> $1 and (tx in (select tx from r_@
	where k = $1) or tx = $2)');
select prepared('select sum(id) from c_@ t where k <> $1 and (($2, k) in (select tx, k from
	r_@ where k = $1) or tx = $2)');
select prepared('select sum(id) from r_@ t where k <> $1 and (exists (select 1 from r_@ b
	where b.tx = t.tx and b.k > $1) or tx = $2)');

-- a subplan that sets several columns
create function changed(sql text) returns text language sql as $$
	select test.both(sql) || ' ' || test.same('select * from r_@')
$$;
begin;
select changed('update r_@ t set (i4, tx) = (select b.i8, b.tx || t.tx from r_@ b where b.id
	= 5) where k <> 7 and tx not in (select tx from r_@ where id = 3)');
select changed('update r_@ t set (i4, nu) = (select b.i8, b.nu from r_@ b where b.id = t.id
	+ 1), tx = (select max(tx) from c_@) where k <> 7 and (nu in (select nu from r_@ where id <
	30) or id = 59)');
select changed('delete from r_@ t where k <> 7 and (exists (select 1 from r_@ b where b.uu =
	t.uu and b.id < 20) or id = 9)');
rollback;
-- what a target list sorts by is one expression, also where a partition is what concerns us
create table z_part (id int primary key, r int) partition by range (id);
create table z_part_1 partition of z_part for values from (0) to (2000) using zedstore;
create table z_part_2 partition of z_part for values from (2000) to (4000) using heap;
create table asked (id int, c text) using heap;
insert into z_part select g, g from generate_series(1, 3000) g;
insert into asked select g, 'k' || g % 3 from generate_series(1, 100) g;
select id from z_part t where id between 98 and 103
	order by (not exists (select from asked a where a.c = 'k1' and a.id = t.r)), id limit 3;
select id, exists (select from asked a where a.c = 'k1' and a.id = t.r) as e from z_part t
	where id between 98 and 103 and exists (select from asked a where a.c = 'k1' and a.id = t.r) =
		(id % 2 = 0) order by 2, 1;
drop table z_part, asked;
