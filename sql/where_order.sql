-- Filters of aggregates by batches: what costs little comes first, and what is behind a condition
-- that no row passes is not read.
set max_parallel_workers_per_gather = 0;
set zedstore.min_segment_rows = 1024;
set zedstore.enable_zone_maps = off;
-- strings without dictionaries, and numbers, none of which is 0
create table vector_order (a int, b int, c int, d numeric(8,2), s text, t text collate "C", u text)
	using zedstore;
insert into vector_order select g, g * 7, g, g / 3.0, md5(g::text), md5((g * 3)::text),
	md5((g + 70000)::text) || 'u' from generate_series(1, 60000) g;
vacuum analyze vector_order;

-- Pages that counting the rows looks at.
create function pages(condition text) returns int language plpgsql as $$
declare
	plan json;
begin
	execute 'explain (analyze, buffers, timing off, format json) select count(*) from vector_order
		where ' || condition into plan;
	if plan::text !~ '"Custom Plan Provider": "ZedstoreAgg"' then
		raise exception 'not by batches: %', condition;
	end if;
	return (plan->0->'Plan'->>'Shared Hit Blocks')::int +
		(plan->0->'Plan'->>'Shared Read Blocks')::int;
end $$;

set zedstore.debug_vector = force;
-- The first condition of each pair, which is true for no row, costs less than the second one: it
-- comes first however they are written, and the other one's column is not read.
select cheap, dear, pages(cheap || ' and ' || dear) = pages(dear || ' and ' || cheap) as same,
	pages(cheap || ' and ' || dear) < pages(dear) + pages(cheap) / 2 as left_out
from (values
	('a is null', 'b > 0'), ('a is null', 's = ''x'''), ('b = 0', 's <> ''x'''),
	('a in (-1, -2)', 't like ''%a%'''), ('b = a', 's <> ''x'''), ('b = 0', 't > ''0'''),
	('s = ''x''', 't like ''%a%'''), ('b = 0', 'length(u) > 3'), ('b + 1 = 0', 's like ''%a%'''),
	('b * 2 = 0', 'upper(s) <> ''X'''), ('t = ''x''', 'length(u) > 3'),
	('t like ''x%z''', 'upper(u) <> ''X'''),
	('(a is null or b = 0)', 's <> ''x'''), ('not (b <> 0)', 't like ''%a%'''),
	('(b = 0) is true', 't like ''%a%''')) v (cheap, dear);
-- the dear one decides: the cheap one comes first all the same
select pages('t like ''x%z'' and b > 0') = pages('b > 0 and t like ''x%z''') as same;
drop function pages;
drop table vector_order;
