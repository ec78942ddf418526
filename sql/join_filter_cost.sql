-- Hash joins are planned by the rows that their keys leave of scans by batches.
set max_parallel_workers_per_gather = 0;
set zedstore.min_segment_rows = 1024;
create table z_joincost (id int, k int, n numeric(8,2)) using zedstore;
insert into z_joincost select g, (g * 7919) % 5000, g / 7.0 from generate_series(1, 60000) g;
-- of few keys with many rows each a hash table has long chains
create table z_joincost_few (k int, t text) using zedstore;
insert into z_joincost_few select 17 + g % 4, 'few ' || g from generate_series(1, 100) g;
create table z_joincost_dim (d int, k int, name text) using zedstore;
insert into z_joincost_dim select g, g * 5, 'dim ' || g % 10 from generate_series(1, 1000) g;
vacuum analyze z_joincost, z_joincost_few, z_joincost_dim;

-- The scans of a plan in their order, with the rows that each is expected to return, to a power
-- of two.
create function scans(query text) returns table (alias text, rows_log2 int) language plpgsql as $$
declare
	plan json;
begin
	execute 'explain (format json) ' || query into plan;
	return query select p->>'Alias', round(log(2, (p->>'Plan Rows')::numeric))::int
		from jsonb_path_query(plan::jsonb,
			'strict $.** ? (@."Relation Name" like_regex "z_joincost.*")') p;
end $$;

-- the large table is looked through for the few keys, not put into a hash table
explain (costs off) select f.t, count(*) from z_joincost z join z_joincost_few f on z.k = f.k
	group by 1;
set zedstore.enable_join_filters = off;
explain (costs off) select f.t, count(*) from z_joincost z join z_joincost_few f on z.k = f.k
	group by 1;
reset zedstore.enable_join_filters;

-- the scan's rows are those that are left
select * from scans('select n, name from z_joincost z join z_joincost_dim d on z.k = d.k
	where d.name = ''dim 3'' offset 0');
set zedstore.enable_column_costs = off;
select * from scans('select n, name from z_joincost z join z_joincost_dim d on z.k = d.k
	where d.name = ''dim 3'' offset 0');
reset zedstore.enable_column_costs;
-- a key that is no column of the outer side, and an outer join, leave all rows
select * from scans('select n, name from z_joincost z join z_joincost_dim d on z.k + 1 = d.k
	where d.name = ''dim 3'' offset 0');
select * from scans('select n, name from z_joincost z left join z_joincost_dim d
	on z.k = d.k and d.name = ''dim 3'' offset 0');
-- an outer join that keeps the rows of its hash table leaves them out of the other side
select * from scans('select n, name from z_joincost_dim d left join z_joincost z
	on z.k = d.k where d.name = ''dim 3'' offset 0');
-- below another join, and for a semijoin
set join_collapse_limit = 1;
select * from scans('select n from z_joincost z join z_joincost_dim e on z.k = e.d
	join z_joincost_dim d on z.id = d.k where d.name = ''dim 3'' and e.name > ''dim 1'' offset 0');
-- not below one that may raise an error, which all rows have to meet
select * from scans('select n from z_joincost z join z_joincost_dim e on z.k = e.d
	join z_joincost_dim d on z.id = d.k where d.name = ''dim 3'' and 10 / e.k < 5 offset 0');
select * from scans('select n from z_joincost z join z_joincost_dim e on z.k = e.d
	and 10 / (e.k + z.id) < 5 join z_joincost_dim d on z.id = d.k
	where d.name = ''dim 3'' offset 0');
reset join_collapse_limit;
select * from scans('select n from z_joincost z
	where k in (select k from z_joincost_dim where name = ''dim 3'') offset 0');
-- parallel, with one table that all processes make
set max_parallel_workers_per_gather = 2;
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
set min_parallel_table_scan_size = 0;
select * from scans('select n, name from z_joincost z join z_joincost_dim d on z.k = d.k
	where d.name > ''dim 3'' offset 0');
explain (costs off) select n, name from z_joincost z join z_joincost_dim d on z.k = d.k
	where d.name > 'dim 3';
set max_parallel_workers_per_gather = 0;
reset parallel_setup_cost;
reset parallel_tuple_cost;
reset min_parallel_table_scan_size;

-- rows in the order of the key: a few of its values cost a few vectors, less than an index; with
-- an error that could be hidden, in another order, or for many values they do not
create table z_joincost_sale (d int, k int, n numeric(8,2), x int) using zedstore;
insert into z_joincost_sale select g / 200, g::bigint * 7919 % 5000, g / 7.0, g % 100
	from generate_series(1, 300000) g;
create index on z_joincost_sale (d);
create index on z_joincost_sale (k);
vacuum analyze z_joincost_sale;
explain (costs off) select sum(n) from z_joincost_sale z join z_joincost_dim d on z.d = d.d
	where d.name = 'dim 3' and d.d < 200;
create function scan_cost(plan jsonb) returns numeric language sql as $$
	select jsonb_path_query_first(plan, 'strict $.** ? (@."Relation Name" == "z_joincost_sale"
		&& exists (@."Join Filter Keys"))."Total Cost"')::numeric
$$;
create function dearer(on_clause text,
	condition text default 'd.name = ''dim 3'' and d.d < 200') returns bool language plpgsql as $$
declare
	query text := 'explain (format json) select sum(n) from z_joincost_sale z
		join z_joincost_dim d on %s where %s';
	plan jsonb;
	few jsonb;
begin
	perform set_config('zedstore.enable_zone_maps', 'on', true);
	execute format(query, 'z.d = d.d', 'd.name = ''dim 3'' and d.d < 200') into few;
	perform set_config('zedstore.enable_zone_maps', current_setting('test.zone_maps'), true);
	execute format(query, on_clause, condition) into plan;
	return scan_cost(plan) > scan_cost(few) * 2;
end $$;
set enable_nestloop = off;
set test.zone_maps = 'on';
select dearer('z.d = d.d');
select dearer('z.k = d.d');
select dearer('z.d = d.d and 10 / (z.x + 1) < 100');
select dearer('z.d = d.d', 'd.name <> ''dim 3''');
set test.zone_maps = 'off';
select dearer('z.d = d.d');
-- statistics that cannot be: anybody may restore them
set allow_system_table_mods = on;
set enable_indexscan = off;
set enable_bitmapscan = off;
create function set_correlation(value float4) returns void language plpgsql as $$
begin
	for i in 1 .. 5 loop
		execute format('update pg_statistic set stanumbers%1$s = array[$1] where stakind%1$s = 3
			and starelid = ''z_joincost_sale''::regclass and staattnum = 1', i) using value;
	end loop;
end $$;
select set_correlation(5);
set test.zone_maps = 'on';
select dearer('z.d = d.d'), dearer('z.k = d.d');
select set_correlation('nan');
select dearer('z.d = d.d'), dearer('z.k = d.d');
reset allow_system_table_mods;
reset enable_indexscan;
reset enable_bitmapscan;
reset enable_nestloop;

-- what is returned counts, too: a whole row raises nothing, arithmetic may; so may a clause of the
-- join, or one that has no program, and a Result node above the scan is not looked through
select s.*, q from unnest(array['count(z.*) from z_joincost z join z_joincost_dim d on z.k = d.k',
	'row_to_json(z) from z_joincost z join z_joincost_dim d on z.k = d.k',
	'y from z_joincost_dim d left join (select k, coalesce(id, 0) as y from z_joincost) z
		on z.k = d.k',
	'y from z_joincost_dim d left join (select k, coalesce(id, 0) + 1 as y from z_joincost) z
		on z.k = d.k',
	'n from z_joincost z join z_joincost_dim d on z.k = d.k and z.id + 1 = d.d',
	'n from z_joincost z join z_joincost_dim d on z.k = d.k and length(repeat(''x'', z.k)) > 0',
	'n from (select n, k from z_joincost where current_date > ''2001-01-01'' offset 0) z
		join z_joincost_dim d on z.k = d.k',
	'e.name from z_joincost z join z_joincost_dim e on z.id = e.k
		join z_joincost_dim d on z.k = d.k']) q,
	scans('select ' || q || ' where d.name = ''dim 3''') s where alias like '%z%';
-- so an index finds what no filter can
create unique index on z_joincost (id);
set enable_mergejoin = off;
explain (costs off) select count(z.*) from z_joincost_dim d join z_joincost z on z.id = d.d
	where d.d <= 20;
reset enable_mergejoin;
explain (costs off) select sum(y) from z_joincost_dim d
	left join (select id, coalesce(k, 0) + 1 as y from z_joincost) z on z.id = d.d where d.d <= 20;
drop index z_joincost_id_idx;

-- the same results
create table h_joincost as select * from z_joincost;
create table h_joincost_few as select * from z_joincost_few;
create table h_joincost_dim as select * from z_joincost_dim;
select sum(n), count(*), max(t) from h_joincost z join h_joincost_few f on z.k = f.k;
select sum(n), count(*), max(t) from z_joincost z join z_joincost_few f on z.k = f.k;
select sum(n), count(*), max(name) from h_joincost z join h_joincost_dim d on z.k = d.k
	where name = 'dim 3';
select sum(n), count(*), max(name) from z_joincost z join z_joincost_dim d on z.k = d.k
	where name = 'dim 3';
drop table z_joincost, z_joincost_few, z_joincost_dim, z_joincost_sale, h_joincost, h_joincost_few,
	h_joincost_dim;
drop function scans;

-- for few keys of a table with an index a scan would decode vectors of each column: the more of
-- them are asked for, the dearer it is, though none of its own clauses looks at them
create table z_joincost_wide (id int primary key, a text, b text, c numeric, d text) using zedstore;
insert into z_joincost_wide select g, md5(g::text), 'b ' || md5((-g)::text), g / 7.0, 'd ' || g
	from generate_series(1, 100000) g;
create table z_joincost_ids as select g, (g * 7919 * 13) % 100000 + 1 as id
	from generate_series(1, 20) g;
vacuum analyze z_joincost_wide, z_joincost_ids;
set zedstore.enable_adaptive_join = off;
explain (costs off) select count(w.*) from z_joincost_ids join z_joincost_wide w using (id);
select count(w.*), max(w.a) from z_joincost_ids join z_joincost_wide w using (id);
drop table z_joincost_wide, z_joincost_ids;

-- ... of a narrow one it would read little, yet take longer than a few look-ups in memory
create table z_joincost_name (id int primary key, name text) using zedstore;
insert into z_joincost_name select g, 'name ' || g from generate_series(1, 400000) g;
create table z_joincost_ids as select g, (g * 7919 * 13) % 400000 + 1 as id
	from generate_series(1, 2000) g;
create index on z_joincost_ids (g);
vacuum analyze z_joincost_name, z_joincost_ids;
explain (costs off) select i.g, n.name from z_joincost_ids i join z_joincost_name n using (id)
	where g <= 6;
explain (costs off) select i.g, n.name from z_joincost_ids i left join z_joincost_name n using (id)
	where g <= 6;
explain (costs off) select i.g, n.name from z_joincost_ids i join z_joincost_name n using (id);
set enable_nestloop = off;
explain (costs off) select i.g, n.name from z_joincost_ids i join z_joincost_name n using (id)
	where g <= 6;
drop table z_joincost_name, z_joincost_ids;
