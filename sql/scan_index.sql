--
-- Every index access method, every kind of index
--
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
create schema scan_index;
set search_path = scan_index, public;

create table t_h (a int, b text, arr int[], r int4range, p point, js jsonb, ts tsvector, d date) using heap with (autovacuum_enabled = off);
create table t_z (a int, b text, arr int[], r int4range, p point, js jsonb, ts tsvector, d date) using zedstore with (autovacuum_enabled = off);
create function fill(first int, last int) returns text language sql as $$
	select test.both(format('insert into t_@ select i, ''text '' || i %% 1000, array[i %% 10, i %% 77], int4range(i, i + i %% 50),
		point(i %% 100, i / 100), jsonb_build_object(''k'', i %% 33), to_tsvector(''simple'', ''w'' || i %% 40 || '' all''), date ''2000-01-01'' + i / 10
		from generate_series(%s, %s) i', first, last))
$$;
select fill(1, 6000);
select test.both('delete from t_@ where a % 6 = 5');

-- the queries that the indexes serve
create table queries (n int, am text, query text);
insert into queries values
	(1, 'btree', 'select * from t_@ where a between 100 and 300'), (2, 'btree', 'select * from t_@ where b = ''text 7'''),
	(3, 'hash', 'select * from t_@ where b = ''text 8'''), (4, 'gin', 'select a from t_@ where arr @> array[3, 5]'),
	(5, 'gin', 'select a from t_@ where js @> ''{"k": 5}'''), (6, 'gin', 'select a from t_@ where ts @@ ''w5 & all'''),
	(7, 'gist', 'select a from t_@ where r && int4range(500, 510)'), (8, 'gist', 'select a from t_@ where p <@ box(point(0, 0), point(10, 10))'),
	(9, 'spgist', 'select a from t_@ where p <@ box(point(20, 0), point(30, 10))'), (10, 'spgist', 'select a from t_@ where b ^@ ''text 77'''),
	(11, 'brin', 'select a from t_@ where d between ''2000-05-01'' and ''2000-05-20'''), (12, 'partial', 'select a from t_@ where a % 100 = 7 and b > ''text 5'''),
	(13, 'expression', 'select a from t_@ where lower(b) = ''text 99'''), (14, 'covering', 'select a, d from t_@ where a = 77'),
	(15, 'distance', 'select a, p <-> point(3, 3) from t_@ order by p <-> point(3, 3), a limit 30');
create function run() returns text language plpgsql as $$
declare
	q record;
	failed text;
begin
	for q in select * from queries order by n loop
		if test.same(q.query) <> 't' then
			failed := concat_ws('; ', failed, q.am || ': ' || q.query);
		end if;
	end loop;
	return coalesce(failed, 't');
end $$;
select run();

select test.both('create index t_@_a on t_@ (a)');
select test.both('create index t_@_b on t_@ (b)');
select test.both('create index t_@_hash on t_@ using hash (b)');
select test.both('create index t_@_arr on t_@ using gin (arr)');
select test.both('create index t_@_js on t_@ using gin (js)');
select test.both('create index t_@_ts on t_@ using gin (ts) with (fastupdate = off)');
select test.both('create index t_@_r on t_@ using gist (r)');
select test.both('create index t_@_p on t_@ using gist (p)');
select test.both('create index t_@_sp on t_@ using spgist (p)');
select test.both('create index t_@_st on t_@ using spgist (b)');
select test.both('create index t_@_brin on t_@ using brin (d) with (pages_per_range = 4, autosummarize = off)');
select test.both('create index t_@_part on t_@ (b) where a % 100 = 7');
select test.both('create index t_@_expr on t_@ (lower(b))');
select test.both('create index t_@_incl on t_@ (a) include (d)');
analyze t_h;
analyze t_z;
set enable_seqscan = off;
select run();

-- more rows, through the indexes
select fill(6001, 9000);
select fill(i, i) from generate_series(9001, 9020) i \g /dev/null
select test.both('update t_@ set arr = array[3, 5], b = ''text 8'', p = point(5, 5), r = int4range(501, 502), d = ''2000-05-05'' where a % 501 = 1');
select test.both('delete from t_@ where a between 200 and 250');
select run();
vacuum t_z;
select run();

-- each index alone gives the right answer
create function one_by_one() returns table (idx text, result text) language plpgsql as $$
declare
	i record;
begin
	for i in select indexrelid::regclass::text as name from pg_index where indrelid = 't_z'::regclass order by 1 loop
		update pg_index set indisvalid = false where indrelid = 't_z'::regclass and indexrelid <> i.name::regclass;
		update pg_index set indisvalid = true where indexrelid = i.name::regclass;
		idx := i.name;
		result := run();
		return next;
	end loop;
	update pg_index set indisvalid = true where indrelid = 't_z'::regclass;
end $$;
select * from one_by_one();

-- BRIN: ranges that are not summarized, and summarizing by hand
select brin_summarize_new_values('t_z_brin') as after_vacuum;
select fill(9021, 12000);
select run();
select brin_summarize_new_values('t_z_brin') > 0 as summarized;
select brin_summarize_new_values('t_z_brin');
select run();
select brin_desummarize_range('t_z_brin', 0);
select run();
select brin_summarize_range('t_z_brin', 0);
select run();

-- REINDEX, CONCURRENTLY
reindex table t_z;
select run();
reindex index t_z_arr;
reindex table concurrently t_z;
select run();
drop index t_z_a, t_z_b, t_z_p, t_z_arr, t_z_brin, t_z_st;
create index concurrently t_z_a on t_z (a);
create index concurrently t_z_b on t_z (b);
create index concurrently t_z_p on t_z using gist (p);
create index concurrently t_z_arr on t_z using gin (arr);
create index concurrently t_z_brin on t_z using brin (d) with (pages_per_range = 4);
create index concurrently t_z_st on t_z using spgist (b);
select run();
select count(*) from pg_index where indrelid = 't_z'::regclass and not (indisvalid and indisready);
drop index concurrently t_z_st;
select run();

-- unique, with NULLs
create table u_h (a int, b int) using heap;
create table u_z (a int, b int) using zedstore;
select test.both('insert into u_@ select i, case when i % 10 > 0 then i end from generate_series(1, 3000) i');
select test.both('create unique index u_@_a on u_@ (a)');
select test.both('create unique index u_@_b on u_@ (b)');
select test.both('insert into u_@ values (1, 10000)');
select test.both('insert into u_@ values (10000, 1)');
select test.both('insert into u_@ values (10001, null)');
select test.both('delete from u_@ where a = 1');
select test.both('insert into u_@ values (1, 1)');
select test.both('create unique index on u_@ (b) nulls not distinct');
select test.both('delete from u_@ where b is null');
select test.both('create unique index u_@_n on u_@ (b) nulls not distinct');
select test.both('insert into u_@ values (20000, null)');
select test.both('insert into u_@ values (20001, null)');
select test.both('update u_@ set a = a + 1 where a = 5');
select test.both('alter table u_@ add constraint u_@_pk primary key using index u_@_a');
select test.both('insert into u_@ values (null, 5)');
select test.both('alter table u_@ add constraint u_@_def unique (b, a) deferrable initially deferred');
begin;
select test.both('update u_@ set b = b + 100000');
select test.both('update u_@ set a = a + 100000');
commit;
select test.same('select * from u_@');
-- a duplicate that a running transaction deleted, inserted, rolled back
begin;
delete from u_z where a = 100007;
insert into u_z values (100007, -1);
rollback;
begin;
insert into u_z values (-5, -5);
rollback;
insert into u_z values (-5, -5);
select * from u_z where a < 0;
create unique index concurrently u_z_c on u_z (a, b);
\set VERBOSITY terse
insert into u_z values (-5, -6);
create table dup_z (a int) using zedstore;
insert into dup_z values (1), (2), (1);
create unique index on dup_z (a);
create unique index concurrently dup_bad on dup_z (a);
select indisvalid from pg_index where indexrelid = 'dup_bad'::regclass;
delete from dup_z where ctid = (select max(ctid) from dup_z where a = 1);
reindex index concurrently dup_bad;
select indisvalid from pg_index where indexrelid = 'dup_bad'::regclass;
\set VERBOSITY default

-- exclusion constraints
create table ex_z (r int4range, exclude using gist (r with &&)) using zedstore;
insert into ex_z select int4range(i * 10, i * 10 + 10) from generate_series(1, 300) i;
\set VERBOSITY terse
insert into ex_z values (int4range(55, 56));
delete from ex_z where r = int4range(50, 60);
insert into ex_z values (int4range(55, 56));
\set VERBOSITY default

-- parallel build
set min_parallel_table_scan_size = 0;
set max_parallel_maintenance_workers = 2;
create index t_z_par on t_z (d, a);
create index t_z_parbrin on t_z using brin (a);
select run();
select test.same_order('select d, a from t_@ order by d, a');

-- an index made in the transaction that fills the table, and before a savepoint is rolled back
begin;
create table n_z (a int) using zedstore;
insert into n_z select generate_series(1, 3000);
create index n_z_a on n_z (a);
savepoint s;
insert into n_z select generate_series(3001, 6000);
rollback to s;
insert into n_z values (7000);
commit;
select count(*), max(a) from n_z where a > 0;
-- rows that are being deleted or inserted by this transaction are in the index that needs them
begin;
delete from n_z where a < 100;
insert into n_z values (8000);
create index n_z_2 on n_z (a desc);
select count(*), max(a), min(a) from n_z where a > 0;
commit;
select count(*), max(a), min(a) from n_z where a > 0;
reset enable_seqscan;

select test.check(oid) from pg_class
where relnamespace = 'scan_index'::regnamespace and relkind = 'r' and relname like '%\_z' order by relname;
