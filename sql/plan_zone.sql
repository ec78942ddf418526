--
-- Plans know what zone maps leave of a table: estimates against what is read, and an index only
-- where it is better
--
create schema plan_zone;
set search_path = plan_zone, public;
set max_parallel_workers_per_gather = 0;

-- o in the order of rows, p nearly so, r at random, t as o but a string by a collation
create table t (o int, p int, r int, t text collate "und-x-icu", pay text) using zedstore
	with (autovacuum_enabled = off);
insert into t select g, g + hashint4(g) % 3000, hashint4(g) & 1048575, 'k' || lpad(g::text, 7, '0'),
	md5(g::text) from generate_series(0, 299999) g;
vacuum analyze t;

-- what a filter costs as planned, and reads when executed, as shares of one that leaves all: of
-- the vectors, or of the blocks, where the columns are not alike
create function shares(filter text, whole text, by_blocks bool)
returns table (planned float8, executed float8) language plpgsql as $$
declare
	plan jsonb;
	cost float8[];
	vectors float8[];
	f text;
begin
	foreach f in array array[filter, whole] loop
		execute 'explain (analyze, timing off, summary off, buffers, format json)
			select pay from t where ' || f into plan;
		plan := plan #> '{0,Plan}';
		if plan ->> 'Custom Plan Provider' is distinct from 'ZedstoreScan' then
			raise 'not a scan of ours: %', plan;
		end if;
		cost := cost || (plan ->> 'Total Cost')::float8;
		vectors := vectors || case when by_blocks then (plan ->> 'Shared Hit Blocks')::float8 +
			(plan ->> 'Shared Read Blocks')::float8 else (plan ->> 'Vectors Read')::float8 end;
	end loop;
	return query select cost[1] / cost[2], vectors[1] / vectors[2];
end $$;
select filter, case when planned between executed / 3 - 0.02 and executed * 3 + 0.02 then 'near'
		else format('planned %s, executed %s', planned, executed) end as estimate,
	round(executed::numeric, 1) as executed
from (values ('o = 4711', 'o >= 0'), ('o in (5, 150000, 299000)', 'o >= 0'),
	('o between 100000 and 129999', 'o >= 0'), ('o < 150000', 'o >= 0'), ('o > 299990', 'o >= 0'),
	('o < 0', 'o >= 0'), ('p = 4711', 'p > -5000'), ('p between 100000 and 129999', 'p > -5000'),
	('t = ''k0004711''', 'o >= 0'), ('t like ''k00047%''', 'o >= 0'),
	('r < 500000', 'r >= 0'), ('r = 4711', 'r >= 0'),
	('o < 30000 and r < 500000', 'o >= 0 and r >= 0'),
	('o < 30000 or o > 290000', 'o >= 0 or o > 290000'),
	('o < 30000 or r = 5', 'o >= 0 or r > 290000'),
	('o < 30000 or p > 290000', 'o >= 0 or p > 290000'),
	('o < 9000 and r > 7 or p > 290000', 'o >= 0 or p > 290000 or r > 7')) f (filter, whole),
	shares(filter, whole, filter = 'r = 4711');

-- a sequential scan reads nothing of segments that zone maps leave out, and of others' vectors not
-- much more than how far it looks ahead; row by row and by batches
create function blocks(filter text) returns int language plpgsql as $$
declare
	plan jsonb;
begin
	execute 'explain (analyze, timing off, summary off, buffers, format json)
		select pay from t where ' || filter into plan;
	return (plan #>> '{0,Plan,Shared Hit Blocks}')::int +
		(plan #>> '{0,Plan,Shared Read Blocks}')::int;
end $$;
create function blocks_left() returns table (filter text, few bool) language sql as $$
	select f, blocks(f) < part * (select blocks('o >= 0'))
	from (values ('o < 0', 0.06), ('o = 4711', 0.15), ('o between 100000 and 100999', 0.2),
		('o between 100000 and 129999', 0.3), ('p between 100000 and 100999', 0.25),
		('t = ''k0004711''', 0.15), ('o between 70000 and 80000 and r > 5', 0.3)) v (f, part)
$$;
select * from blocks_left() where not few;
set zedstore.enable_vector_scan = off;
select * from blocks_left() where not few;
set zedstore.enable_zone_maps = off;
select count(*) from blocks_left() where not few;
reset zedstore.enable_zone_maps;
reset zedstore.enable_vector_scan;

-- which plan is chosen
create function chosen(query text) returns text language plpgsql as $$
declare
	plan jsonb;
begin
	execute 'explain (format json) ' || query into plan;
	return (select string_agg(coalesce(n ->> 'Custom Plan Provider', n ->> 'Node Type')
		|| coalesce(' by ' || (n ->> 'Index Name'), ''), ', ')
		from jsonb_path_query(plan, 'strict $.** ? (exists (@."Node Type"))') n
		where n ->> 'Node Type' <> 'Limit');
end $$;
create index t_o on t (o);
create index t_r on t (r);
analyze t;
select filter, chosen('select pay from t where ' || filter)
from (values ('o = 4711'), ('r = 4711'), ('r between 4711 and 4712'), ('o between 4711 and 6000'),
	('o between 4711 and 100000'), ('r between 4711 and 300000'), ('o < 200000 and r = 17'),
	('p = 4711'), ('p between 4711 and 6000'), ('t = ''k0004711''')) f (filter);
-- zone maps are why: without them the index is better
set zedstore.enable_zone_maps = off;
select filter, chosen('select pay from t where ' || filter)
from (values ('o between 4711 and 6000'), ('o between 4711 and 100000'), ('p = 4711')) f (filter);
reset zedstore.enable_zone_maps;
-- orders: by zone maps where they give it, by the index where rows lie at random and few are wanted
select q, chosen(q) from (values ('select * from t order by o limit 10'),
	('select * from t order by o'), ('select * from t order by r limit 10'),
	('select * from t order by r'), ('select o from t where r < 1000 order by o limit 5'),
	('select p from t order by p limit 10 offset 3000'),
	('select p, pay from t order by p')) f (q);
drop table t;

-- a table of more index pages than a plan looks at: planning takes no longer, and knows as much
-- where the server may write, whoever runs it
select current_setting('data_directory') || '/pg_stat_tmp/plan_zone.data' as file \gset
copy (select hashint4(g) from generate_series(1, 1024) g) to :'file';
create table many (o serial, r int) using zedstore with (autovacuum_enabled = off);
create procedure load_many(loads int, file text) language plpgsql as $$ begin
	for i in 1 .. loads loop
		execute format('copy many (r) from %L', file);
		commit;
	end loop;
end $$;
set zedstore.min_segment_rows = 1024;
set synchronous_commit = off;
call load_many(4500, :'file');
analyze many;
select count(*) > 4200 as many_segments from pg_zs_segments('many') where attname = 'o';
create function planned(query text) returns float8 language plpgsql as $$
declare
	plan jsonb;
begin
	execute 'explain (format json) ' || query into plan;
	return plan #>> '{0,Plan,Total Cost}';
end $$;
-- blocks that planning looks at, when the catalogs are in memory: no more when the table grows
create function planning_blocks(query text) returns int language plpgsql as $$
declare
	plan jsonb;
begin
	for i in 1 .. 2 loop
		execute 'explain (buffers, format json) ' || query into plan;
	end loop;
	return (plan #>> '{0,Planning,Shared Hit Blocks}')::int +
		(plan #>> '{0,Planning,Shared Read Blocks}')::int;
end $$;
create table looked as select q, planning_blocks(q) as before
from (values ('select o from many where o = 4000000'), ('select o from many order by o limit 10'),
	('select o from many where o < 1000 or r = 7')) f (q);
select q, before > 64 as looks_at_zone_maps from looked;
select q, planned(q) < part * planned('select o from many where r > 0') as cheap
from (values ('select o from many where o = 4000000', 0.01),
	('select o from many where o between 1000000 and 1100000', 0.1),
	('select o from many where r = 5', 1.1),
	('select o from many order by o limit 10', 0.01)) f (q, part);
select planned('select o from many where r = 5') > 20 * planned('select o from many where o = 5')
	as at_random_is_dear;
select q, chosen(q) from (values ('select * from many order by o limit 10'),
	('select * from many order by r limit 10')) f (q);
select count(*), min(o), max(o) from many where o between 1000000 and 1100000;
select o from many order by o desc limit 2 offset 2000;
call load_many(2000, :'file');
analyze many;
select q, case when planning_blocks(q) <= before + 10 then 'bounded'
	else format('%s, not %s', planning_blocks(q), before) end as planning from looked;
set client_min_messages = warning;
drop schema plan_zone cascade;
