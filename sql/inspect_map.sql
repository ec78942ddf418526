-- zs_map(): pictures of files and of columns; their form, who may see them, what is refused
create schema inspect_map;
set search_path = inspect_map, public;

-- What does not depend on sizes: well-formed, not large, with the words that are asked for.
create function picture(svg text, words text)
returns table (well_formed boolean, begins text, small boolean, found boolean) language sql as $$
	select svg ~ '^<svg [^<]*viewBox="0 0 \d+ \d+"[^<]*>\n<title>[^<]*</title>.*</svg>\n$'
			and not exists (
				select from regexp_split_to_table(trim(e'\n' from svg), '\n') line
				where line !~ '^<svg [^<>]*>$'
					and line !~ '^<(title|text)( [a-z]+="[^"<>]*")*>[^<>]*</(title|text)>$'
					and line !~ '^<rect( [a-z]+="[^"<>]*")*/>$' and line <> '</svg>'),
		split_part(svg, ' ', 1), length(svg) < 500000, svg ~ words
$$;

-- an empty table, one of few rows in the row tree, one in columns
create table empty (a int, b text) using zedstore;
create table few (a int, b text) using zedstore;
insert into few values (1, 'a'), (2, 'b');
create table many (a int, "b<&>""'" text, c float8, d numeric(9,2), gone int) using zedstore;
insert into many select i, 'b' || i % 100, sin(i), (i % 1000) / 100.0, i
	from generate_series(1, 50000) i;
alter table many drop column gone;

select * from picture(zs_map('empty'), 'empty: \d+ blocks, 1 for each cell');
select * from picture(zs_map('few'), 'row tree: \d+ blocks');
select * from picture(zs_map('many'), 'c: \d+ blocks, \d+\.\d % of its pages side by side');
select * from picture(zs_map('many'), 'b&lt;&amp;&gt;"''');
select * from picture(zs_map('many'), 'TID tree: 1 blocks');
select * from picture(zs_map('many'), '>free: \d+ blocks');
delete from many where a between 10000 and 40000;
vacuum many;
select * from picture(zs_map('many'), '>free: [1-9]\d* blocks');

-- large values are of no tree
create table large (a int, b text) using zedstore;
insert into large select 1, string_agg(md5(i::text), '') from generate_series(1, 20000) i;
select * from picture(zs_map('large'), 'large values, maps and directory: [1-9]\d\d? blocks');

-- more columns than the legend has lines
do $$ begin
	execute (select format('create table wide (%s) using zedstore',
			string_agg('c' || i || ' int', ', ')) from generate_series(1, 60) i);
	execute (select format('insert into wide select %s from generate_series(1, 9000) i',
			string_agg('i * ' || i, ', ')) from generate_series(1, 60) i);
end $$;
select * from picture(zs_map('wide'), 'and \d+ smaller trees');

-- columns: rising, falling, at random, constant, NULL, without rows
create table orders (up int, down int, wild float8, one int, none int, n numeric, t text,
	ts timestamptz) using zedstore;
insert into orders select i, -i, sin(i) * 100, 7, null, i / 7.0, 't' || i % 10,
	timestamptz '2026-01-01 UTC' + i * interval '1 minute' from generate_series(1, 100000) i;
select attname, p.* from unnest('{up,down,wild,one,none,n,t,ts}'::name[]) attname,
	picture(zs_map('orders', attname),
		'orders\.' || attname || ': values by rows, \d+ row numbers') p;
select (regexp_match(zs_map('orders', 'up'), '\d+ ranges, of[^<]*'))[1];
select (regexp_match(zs_map('orders', 'down'), '\d+ ranges, of[^<]*'))[1];
select (regexp_match(zs_map('orders', 'wild'), '\d+ ranges, of[^<]*'))[1];
select (regexp_match(zs_map('orders', 'up'), 'up to [^<]*'))[1];
set timezone = 'UTC';
select (regexp_match(zs_map('orders', 'ts'), 'up to [^<]*'))[1];
select (regexp_match(zs_map('orders', 'none'), 'no zone maps|ranges[^<]*'))[1];
select * from picture(zs_map('empty', 'a'), 'no zone maps');
select * from picture(zs_map('few', 'a'), 'no zone maps');
create table odd (a float8) using zedstore;
insert into odd select (array['NaN', 'Infinity', '-Infinity', '1', '2']::float8[])[1 + i % 5]
	from generate_series(1, 20000) i;
select * from picture(zs_map('odd', 'a'), 'up to NaN');
create table odder (a float8) using zedstore;
insert into odder select 'NaN' from generate_series(1, 20000) i;
select * from picture(zs_map('odder', 'a'), 'from NaN');

-- what is refused
create table parts (a int) partition by range (a);
create table h (a int);
create view v as select 1 as a;
select zs_map('parts');
select zs_map('h');
select zs_map('v', 'a');
select zs_map('orders', 'nobody');
select zs_map('orders', 'xmin');
select zs_map('many', '........pg.dropped.5........');
select zs_map(null), zs_map('orders', null);

-- members of pg_monitor see files, and columns that they may read
create role regress_zs_map_monitor in role pg_monitor;
create role regress_zs_map_user;
grant usage on schema inspect_map to public;
grant select (up) on orders to regress_zs_map_monitor;
set role regress_zs_map_monitor;
select zs_map('orders') like '<svg%', zs_map('orders', 'up') like '<svg%';
select zs_map('orders', 'down');
set role regress_zs_map_user;
select zs_map('orders');
select zs_map('orders', 'up');
reset role;
alter table orders enable row level security;
set role regress_zs_map_monitor;
select zs_map('orders', 'up');
reset role;
drop owned by regress_zs_map_monitor;
drop role regress_zs_map_monitor, regress_zs_map_user;
