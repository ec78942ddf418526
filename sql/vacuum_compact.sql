--
-- VACUUM and zs_compact(): rows become columns, columns give back what they lost
--
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
\set horizon :abs_srcdir '/sql/include/horizon.sql'
\i :horizon
create schema vacuum_compact;
set search_path = vacuum_compact, public;

-- rows in the row tree and in segments of the first column, and how many segments that has
create function shape(rel regclass) returns text language sql as $$
	select format('%s rows in segments, %s of %s segments in small ones',
		coalesce(sum(nrows - nnulls), 0), count(*) filter (where nrows < 4096), count(*))
	from pg_zs_segments(rel) where attno = 1
$$;
create function overflow_blocks(rel regclass) returns bigint language sql as $$
	select coalesce(sum(nblocks - nfree), 0) from pg_zs_trees(rel) where attname = 'big'
$$;
-- single-row inserts: each is a command of its own
create function insert_rows(first int, last int) returns void language plpgsql as $$
begin
	for k in first .. last loop
		insert into t_h select * from new_row(k);
		insert into t_z select * from new_row(k);
	end loop;
end $$;

create table t_h (i int, s text, n numeric, f float8, ts timestamptz, b bool, arr int[],
	js jsonb, u uuid, c char(5), nul int, big text) using heap with (autovacuum_enabled = off);
create table t_z (like t_h) using zedstore with (autovacuum_enabled = off);
create function new_row(k int) returns setof t_h language sql as $$
	select k, case when k % 7 <> 0 then 'row ' || k end, (k * 1.25)::numeric, (k / 3.0)::float8,
		'2026-01-01 00:00:00+00'::timestamptz + k * interval '1 minute', k % 2 = 0, array[k, k + 1],
		jsonb_build_object('k', k), md5(k::text)::uuid, ('c' || k % 10)::char(5), null::int,
		case when k % 500 = 0 then repeat(md5(k::text), 600) when k % 3 = 0 then 'small' end
$$;

-- single rows become segments
select insert_rows(1, 10000);
create index t_z_i on t_z (i);
select shape('t_z');
:vacuum t_z;
select shape('t_z');
select test.same('select * from t_@');
set enable_seqscan = off;
select test.same('select * from t_@ where i between 100 and 300');
reset enable_seqscan;
select test.check('t_z');
select overflow_blocks('t_z') > 0;

-- nothing to do the second time
create table before as select * from pg_zs_segments('t_z');
:vacuum t_z;
select count(*) from (select * from before except select * from pg_zs_segments('t_z')) d;

-- the rest of an open stripe stays, also for zs_compact()
select zs_compact('t_z');

-- a setting keeps VACUUM from it
select insert_rows(10001, 16000);
set zedstore.enable_compaction = off;
:vacuum t_z;
select shape('t_z');
reset zedstore.enable_compaction;
:vacuum t_z;
select shape('t_z');
select test.same('select * from t_@');
select test.check('t_z');

-- few rows lost: the segment stays; more than half: it is replaced; overflow values go
select test.both('delete from t_@ where i % 8 = 0');
:vacuum t_z;
select shape('t_z');
select test.same('select * from t_@');
select overflow_blocks('t_z') as overflow_before \gset
select test.both('delete from t_@ where i % 4 <> 1');
:vacuum t_z;
select shape('t_z');
select overflow_blocks('t_z') < :overflow_before / 2;
select test.same('select * from t_@');
select test.same('select big from t_@ where big is not null');
select test.check('t_z');

-- updates move rows to new places; their values follow
select test.both('update t_@ set s = s || ''!'', n = -n where i % 3 = 0');
select test.both('update t_@ set big = repeat(''new'', 4000) where i % 101 = 0');
:vacuum t_z;
select zs_compact('t_z') >= 0;
select zs_compact('t_z');
select test.same('select * from t_@');
select test.same('select * from t_@ where n < 0');
select test.check('t_z');

-- columns added later, and dropped ones
select insert_rows(20001, 25000);
select test.both('alter table t_@ add column added text default ''added''');
select test.both('alter table t_@ add column wide text default repeat(''w'', 300)');
:vacuum t_z;
select test.same('select * from t_@');
select count(*) from pg_zs_segments('t_z') where attname in ('added', 'wide');
select test.both('insert into t_@ (i, added) select i, ''own'' from generate_series(30001, 36000) i');
select test.both('update t_@ set added = ''changed'' where i between 20001 and 20100');
:vacuum t_z;
select zs_compact('t_z') >= 0;
select test.same('select * from t_@');
select test.check('t_z');
select test.both('alter table t_@ drop column big');
select test.both('alter table t_@ drop column i');
select test.both('insert into t_@ (s) values (''after the drop'')');
:vacuum t_z;
select sum(nblocks - nfree) <= 4 from pg_zs_trees('t_z') where attno in (1, 12);
select test.same('select * from t_@');
select test.check('t_z');

-- everything goes
select test.both('delete from t_@');
:vacuum t_z;
select count(*) from pg_zs_segments('t_z');
select test.same('select * from t_@');
select test.check('t_z');

-- bulk loads, the rest of their last stripes, and what goes there: small neighbours are merged
create table m_h (a int, t text) using heap with (autovacuum_enabled = off);
create table m_z (a int, t text) using zedstore with (autovacuum_enabled = off);
do $$
begin
	for k in 1 .. 6 loop
		insert into m_h select i, 'bulk' || i from generate_series(1, 5000 + k * 100) i;
		insert into m_z select i, 'bulk' || i from generate_series(1, 5000 + k * 100) i;
		for r in 1 .. 200 loop
			insert into m_h values (r, 'single');
			insert into m_z values (r, 'single');
		end loop;
		commit;
	end loop;
end $$;
select count(*) from pg_zs_segments('m_z') where attno = 2;
:vacuum m_z;
select count(*) < 6 from pg_zs_segments('m_z') where attno = 2;
select test.same('select * from m_@');
select test.check_tight('m_z');
select zs_compact('m_z') >= 0;
select test.same('select * from m_@');
select test.check_tight('m_z');

-- savepoints: holes in stripes
begin;
insert into m_h select i, 'sp' from generate_series(1, 3000) i;
insert into m_z select i, 'sp' from generate_series(1, 3000) i;
savepoint a;
insert into m_h select i, 'undone' from generate_series(1, 5000) i;
insert into m_z select i, 'undone' from generate_series(1, 5000) i;
insert into m_z values (1, 'undone');
rollback to a;
insert into m_h select i, 'sp2' from generate_series(1, 200) i;
insert into m_z select i, 'sp2' from generate_series(1, 200) i;
savepoint b;
insert into m_z select i, 'undone' from generate_series(1, 100) i;
rollback to b;
commit;
:vacuum m_z;
select test.same('select * from m_@');
select zs_compact('m_z') > 0;
select test.same('select * from m_@');
select test.check('m_z');

-- every row number that no row has is retired, so all blocks but those of open stripes are visible to all
:vacuum m_z;
select relpages - relallvisible <= 8 * 4 from pg_class where oid = 'm_z'::regclass;

-- ANALYZE and sampling see moved rows
analyze m_z;
select null_frac from pg_stats where tablename = 'm_z' and schemaname = 'vacuum_compact'
	order by attname;
select count(*) = (select count(*) from m_h) from m_z tablesample system (100);

-- temporary and unlogged tables
create temp table tt (a int, b text) using zedstore;
create unlogged table ut (a int, b text) using zedstore with (autovacuum_enabled = off);
do $$
begin
	for k in 1 .. 9000 loop
		insert into tt values (k, 'b' || k);
		insert into ut values (k, 'b' || k);
	end loop;
end $$;
:vacuum tt;
:vacuum ut;
select shape('tt'), shape('ut');
select count(*), sum(a), count(distinct b) from tt;
select count(*), sum(a), count(distinct b) from ut;

-- an open cursor reads what it saw
begin;
declare c cursor for select * from ut where b <> '' order by ctid;
fetch 2 from c;
select zs_compact('ut');
rollback;

-- who may, and what
create role regress_compact;
grant usage on schema vacuum_compact to regress_compact;
set role regress_compact;
select zs_compact('ut');
reset role;
grant maintain on ut to regress_compact;
set role regress_compact;
select zs_compact('ut') >= 0;
reset role;
select zs_compact('m_h');
create view v as select 1;
select zs_compact('v');
create index ut_i on ut (a);
select zs_compact('ut_i');
begin;
alter table ut add column x int;
select zs_compact('ut');
rollback;
begin;
create table nt (a int) using zedstore;
select zs_compact('nt');
rollback;
select zs_compact(null);

drop owned by regress_compact;
drop role regress_compact;
set client_min_messages = warning;
drop schema vacuum_compact cascade;
