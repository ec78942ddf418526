-- hash joins by strings, enums, uuids tell scans what they look for: the same rows as heap
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\set ECHO none
\i :include
create schema join_filter_text;
set search_path = join_filter_text, public;
\set include :abs_srcdir '/sql/include/join_differs.sql'
\i :include
\set ECHO all
set max_parallel_workers_per_gather = 0;
set zedstore.min_segment_rows = 1024;
set client_min_messages = warning;
set enable_nestloop = off;
set enable_mergejoin = off;

create type mood as enum ('sad', 'ok', 'happy', 'odd');
alter type mood add value 'new' before 'ok';
create domain code as varchar(20) check (length(value) > 1);
create collation ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false);

-- the same strings in many types: in order, few, at random; equal in their first eight bytes
create table fact_h (id int, t text, few text collate "C", random text collate "und-x-icu",
	vc varchar(30), ch char(14), nm name, u uuid, by bytea, m mood, dom code, long text,
	blind text collate ci, pl text);
alter table fact_h alter pl set storage plain;
create table fact_z (like fact_h including storage) using zedstore
	with (autovacuum_enabled = off);
create function facts(first int, last int) returns setof fact_h language sql as $$
	select g, case when g % 17 = 0 then null else 'k' || lpad((g / 4)::text, 7, '0') end,
		'shop number ' || g % 300, md5((g * 7919 % 10007)::text), 'common beginning ' || g / 5,
		case when g % 13 = 0 then null else 'k' || lpad((g / 4)::text, g % 6 + 5, '0') end,
		'name of ' || g / 10, md5((g % 5000)::text)::uuid,
		decode(lpad(to_hex(g / 3), 8, '0'), 'hex'), (enum_range(null::mood))[1 + g / 9000],
		'dom ' || g / 7, case when g % 1000 = 5 then repeat('long ', 2000) || g / 2000
			else 'short ' || g / 10 end, 'Key ' || g % 100, 'plain ' || g / 6
	from generate_series(first, last) g
$$;
insert into fact_h select * from facts(1, 30000);
insert into fact_z select * from facts(1, 30000);
insert into fact_h select * from facts(30001, 30050);
insert into fact_z select * from facts(30001, 30050);
select test.both('delete from fact_@ where id between 3000 and 3500 or id % 97 = 5');
-- heap compresses and stores elsewhere what it looks for; empty strings, and one of blanks
create table dim_h as
	select g as i, g % 10 as v, f.t, f.few, f.random, f.vc, f.ch, f.nm, f.u, f.by, f.m, f.dom,
		f.long, f.blind, f.pl, rpad(f.t, 14) as padded, f.t || '  ' as blanks
	from generate_series(1, 3000) g, facts(g * 10, g * 10) f;
insert into dim_h (i, v, t, few, vc, ch, nm, by, long) values
	(-1, 3, '', '', '', '', '', '', ''), (-2, 3, ' ', ' ', ' ', ' ', ' ', '\x00', ' ');
insert into dim_h (i, v, long)
	select -3, 3, repeat('long ', 2000) || g from generate_series(0, 9) g;
insert into fact_h (id, t, few, ch) values (-1, '', '', ''), (-2, ' ', ' ', ' ');
insert into fact_z (id, t, few, ch) values (-1, '', '', ''), (-2, ' ', ' ', ' ');
create table dim_z (like dim_h) using zedstore with (autovacuum_enabled = off);
insert into dim_z select * from dim_h;
analyze fact_h, fact_z, dim_h, dim_z;

explain (costs off) select f.id from fact_z f join dim_z d on f.t = d.t where d.v = 3;
-- one key, some, many; each of the types
select k, differs(format('select f.id, d.i from fact_@ f join dim_@ d on f.%1$s = d.%1$s
	where d.i = 1700', k)) as one, differs(format('select f.id, d.i from fact_@ f
	join dim_@ d on f.%1$s = d.%1$s where d.i between 100 and 200', k)) as some,
	differs(format('select f.id, f.%1$s, d.i from fact_@ f join dim_@ d on f.%1$s = d.%1$s
	where d.v = 3', k)) as many
from unnest('{t,few,random,vc,ch,nm,u,by,dom,long,blind,pl}'::text[]) k;
select differs('select f.id, d.i from fact_@ f join dim_@ d on f.m = d.m where d.i = 1700');
select differs('select f.id from fact_@ f where m in (select d.m from dim_@ d where d.i > 2800)');
-- types that are compared as one; blanks at the end count, or do not; collations
select k, differs('select f.id, d.i from fact_@ f join dim_@ d on ' || k || ' where d.v = 3')
from (values ('f.t = d.vc'), ('f.vc = d.t'), ('f.dom = d.t'), ('f.ch = d.padded::char(14)'),
	('f.t = d.blanks'), ('f.ch = d.t::bpchar'), ('f.t::bpchar = d.ch'), ('f.ch = d.blanks::bpchar'),
	('f.nm = d.t::name'), ('f.t = d.t collate "C"'), ('f.t = d.t collate "und-x-icu"'),
	('f.t = d.t collate ci'), ('f.random = d.random and f.t = d.t'), ('f.nm = d.t'),
	('f.t = d.t and f.u = d.u'), ('lower(f.t) = d.t'), ('f.t = lower(d.t)')) q (k);
-- kinds of joins
select differs('select f.id from fact_@ f where exists (select from dim_@ d where d.t = f.t
	and d.v = 3)');
select differs('select f.id from fact_@ f where not exists (select from dim_@ d where d.t = f.t
	and d.v = 3)');
select differs('select f.id from fact_@ f right join (select * from dim_@ where v = 3) d
	on f.u = d.u');
select differs('select f.id from fact_@ f join dim_@ d on f.few = d.few and d.v = 3 join dim_@ e
	on f.t = e.t and e.i < 20');
-- nothing to look for; more than memory allows; the hash table is made anew for others
select differs('select f.id from fact_@ f join dim_@ d on f.t = d.t and d.v < 0');
set work_mem = '64kB';
select differs('select f.id, d.i from fact_@ f join dim_@ d on f.t = d.t where d.v < 9');
select differs('select f.id, g.id from fact_@ f join fact_@ g on f.random = g.random
	where g.id between 9000 and 9500');
reset work_mem;
set enable_nestloop = on;
select differs('select v, (select count(*) from fact_@ f join dim_@ d on f.few = d.few
	where d.v = o.v and d.i < 100) from generate_series(0, 4) o (v)');
set enable_nestloop = off;

-- zone maps leave segments out, in the order of bytes whatever the collation is
create function left_out(query text) returns text language plpgsql as $$
declare
	plan jsonb;
begin
	execute 'explain (analyze, costs off, timing off, summary off, buffers off, format json) '
		|| query into plan;
	return format('%s segments, %s rows, %s vectors read', jsonb_path_query_first(plan,
		'strict $.** ? (@."Relation Name" == "line_z")."Segments Skipped"'),
		jsonb_path_query_first(plan,
		'strict $.** ? (@."Relation Name" == "line_z")."Rows Removed by Join Filter Keys"'),
		jsonb_path_query_first(plan,
		'strict $.** ? (@."Relation Name" == "line_z")."Vectors Read"'));
end $$;
create table line_z (t text collate "und-x-icu", u uuid, ch char(10), m mood, id int)
	using zedstore with (autovacuum_enabled = off);
do $$ begin
	for part in 0 .. 9 loop
		insert into line_z select 'k' || lpad(g::text, 6, '0'),
			rpad(lpad(to_hex(g), 8, '0'), 32, '0')::uuid, 'k' || lpad(g::text, 6, '0'),
			(enum_range(null::mood))[1 + g / 9000], g
		from generate_series(part * 4096, part * 4096 + 4095) g;
	end loop;
end $$;
create table find_z as select t, u, ch, m, id from line_z where id between 30000 and 30100;
analyze line_z, find_z;
set zedstore.debug_vector = force;
select k, left_out(format('select l.id from line_z l join find_z f on l.%1$s = f.%1$s
	where f.id < 30010', k))
from unnest('{t,u,ch,m}'::text[]) k;
set zedstore.enable_zone_maps = off;
select left_out('select l.id from line_z l join find_z f on l.t = f.t where f.id < 30010');
reset zedstore.enable_zone_maps;
reset zedstore.debug_vector;

-- parallel plans: each process has a table of its own, or all share one
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
set min_parallel_table_scan_size = 0;
set max_parallel_workers_per_gather = 2;
set enable_parallel_hash = off;
select k, differs(format('select f.id, d.i from fact_@ f join dim_@ d on f.%1$s = d.%1$s
	where d.i between 100 and 120', k))
from unnest('{t,few,ch,u}'::text[]) k;
set enable_parallel_hash = on;
select k, differs(format('select f.id, d.i from fact_@ f join dim_@ d on f.%1$s = d.%1$s
	where d.i between 100 and 120', k))
from unnest('{t,few,ch,u}'::text[]) k;
select zs_check('fact_z'), zs_check('line_z');
drop schema join_filter_text cascade;
