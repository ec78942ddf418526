# A database with every kind of object that has zedstore storage, for tests that
# carry databases elsewhere: dump and restore, pg_upgrade.

package ZedstoreObjects;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';

our @EXPORT = qw(
  create_objects
  object_rows
  object_catalog
);

# Fill a database that has the extension.
sub create_objects
{
	my ($node, $dbname) = @_;

	$node->safe_psql($dbname, <<'SQL');
create type mood as enum ('sad', 'ok', 'happy');
create type pair as (a int, b text);
create domain positive as int check (value > 0);

-- columns dropped and added, rows updated and deleted, large values, options
create table t (a int primary key, b text, gone int, c numeric, gone_too text) using zedstore
	with (zedstore_rel_extension_factor = 64, zedstore_compression = 'zstd', zedstore_compression_level = 5);
insert into t select i, md5(i::text), 1, i / 3.0, repeat('z', i % 50) from generate_series(1, 40000) i;
alter table t drop column gone;
alter table t add column d text default 'late', add column e timestamptz default '2020-02-02 UTC';
insert into t values (0, repeat('x', 100000), 0, 'gone', 'y');
insert into t select 50000 + i, repeat(md5(i::text), 500), i, 'gone', 'w' from generate_series(1, 20) i;
alter table t drop column gone_too;
delete from t where a % 5 = 0 and a > 0;
update t set c = -c where a % 7 = 0;
insert into t (a, b) select 60000 + i, 'one by one' from generate_series(1, 30) i;
create index t_b on t using hash (b);
create index t_c on t using brin (c);
create index t_expr on t (lower(b)) include (c) where a > 100;
alter table t alter column b set compression lz4;
comment on table t is 'a columnar table';

-- types
create table types (id int generated always as identity, m mood, p pair, l int[], n positive, r int4range,
	j jsonb, f float8, twice bigint generated always as (id * 2) stored) using zedstore;
insert into types (m, p, l, n, r, j, f)
	select (array['sad', 'ok', 'happy'])[i % 3 + 1]::mood, row(i, i::text)::pair, array[i, null, -i], i,
		int4range(i, i + 3), jsonb_build_object('i', i), i / 8.0 from generate_series(1, 3000) i;
insert into types (f) values ('-infinity'), ('nan'), (null);
create index types_gin on types using gin (j);
create index types_gist on types using gist (r);

-- shapes
create materialized view m using zedstore with (zedstore_compression = 'none')
	as select a % 10 as k, count(*) as n from t group by 1;
create unique index m_k on m (k);
create materialized view m_empty using zedstore as select a, b from t with no data;
create table p (a int, b text) partition by range (a) using zedstore;
create table p1 partition of p for values from (0) to (100) with (zedstore_rel_extension_factor = 8);
create table p2 partition of p for values from (100) to (200) using heap;
create table p3 partition of p for values from (200) to (300) partition by list (b);
create table p3a partition of p3 for values in ('p');
create index on p (a);
insert into p select i, 'p' from generate_series(0, 299) i;
create table parent (a int) using zedstore;
create table child (b int) inherits (parent) using zedstore;
insert into parent select generate_series(1, 10);
insert into child select i, i from generate_series(1, 10) i;
create unlogged table u (a int) using zedstore;
insert into u select generate_series(1, 5000);
create table none () using zedstore;
insert into none select from generate_series(1, 7);
create table empty (a int, b text) using zedstore with (zedstore_rel_extension_factor = 512);
create table moved (a int, b text);
insert into moved select i, 'heap' from generate_series(1, 5000) i;
alter table moved set access method zedstore;
alter table moved add primary key (a);
create table referrer (a int references t, b int references moved) using zedstore;
insert into referrer select a, a from t where a between 1 and 4000;
SQL
	return;
}

# The rows of all these tables, as a number for each.
sub object_rows
{
	my ($node, $dbname, @tables) = @_;

	@tables = qw(t types m p parent child u none empty moved referrer) if !@tables;
	return $node->safe_psql($dbname, join ' union all ',
		map { "select '$_', count(*), sum(hashtext(x::text)::bigint) from $_ x" } @tables);
}

# How they are defined, as far as zedstore has to do with it.
sub object_catalog
{
	my ($node, $dbname) = @_;

	return $node->safe_psql($dbname, q{
		select c.relname, c.relkind, a.amname, c.relpersistence, c.reloptions
		from pg_class c left join pg_am a on a.oid = c.relam
		where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'm', 'p', 'i', 'I')
		order by 1});
}

1;
