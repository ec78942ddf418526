# Distributed, reference and local tables under Citus: loads, changes, queries, indexes, DDL, from the coordinator and
# from a worker.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;
use ZedstoreCitus;

plan skip_all => citus_missing() if citus_missing();

my @nodes = citus_cluster();
my ($coordinator, $worker1, $worker2) = @nodes;
my %with = (h => 'using heap', z => 'using zedstore with (zedstore_compression = zstd, zedstore_compression_level = 3)');

sub zedstore_count
{
	my ($like) = @_;
	my $n = 0;

	$n += () = zedstore_shards($_, $like) =~ /^./mg for @nodes;
	return $n;
}

# ---- tables of all kinds

for my $twin ('h', 'z')
{
	$coordinator->safe_psql('postgres', qq{
		create table customer_$twin (region int, id int, name text, primary key (region, id)) $with{$twin};
		create table orders_$twin (region int, id bigint, customer int, day date, amount numeric(10,2), note text, tags text[], doc jsonb,
			primary key (region, id)) $with{$twin};
		create table rate_$twin (code text primary key, factor numeric, note text) $with{$twin};
		create table local_$twin (id int primary key, v text) $with{$twin};
		create table managed_$twin (id int primary key, rate text references rate_$twin) $with{$twin};
		create table event_$twin (id bigserial, kind int, payload text) $with{$twin};
		select create_reference_table('rate_$twin');
		select create_distributed_table('customer_$twin', 'region', shard_count => 6);
		select create_distributed_table('orders_$twin', 'region', colocate_with => 'customer_$twin');
		select create_distributed_table('event_$twin', 'kind', shard_count => 4, colocate_with => 'none');
		alter table orders_$twin add constraint to_customer_$twin foreign key (region, customer) references customer_$twin (region, id) on delete cascade;
		alter table customer_$twin add column currency text;
		alter table customer_$twin add constraint to_rate_$twin foreign key (currency) references rate_$twin (code);
	});
}
my $all = zedstore_shards($worker1, '_z_\d{6}$') . "\n" . zedstore_shards($worker2, '_z_\d{6}$');
is(scalar(() = $all =~ /^\w+\|\{zedstore_compression=zstd,zedstore_compression_level=3\}$/mg),
	6 + 6 + 4 + 2, 'each shard of six, six and four, and two copies of the reference table, have the options');
is(scalar(() = $all =~ /^./mg), 18, 'and there are no others');
is(zedstore_shards($coordinator, '_z$') =~ tr/\n//, 5, 'the tables themselves are zedstore on the coordinator');
is($coordinator->safe_psql('postgres', q{select count(*) from citus_tables where access_method = 'zedstore' and citus_table_type in ('distributed', 'reference')}),
	'4', 'citus_tables says so');

# ---- loads

twins($coordinator, 'INSERT into a reference table', q{
	insert into rate_@ select 'c' || g, g / 7.0, repeat('n', g) from generate_series(1, 20) g;
	select count(*), sum(factor), sum(length(note)) from rate_@;
});
twins($coordinator, 'COPY into distributed tables', q{
	copy customer_@ from program 'for r in $(seq 1 40); do for i in $(seq 1 50); do echo "$r,$i,name $i,c$((i % 20 + 1))"; done; done' with (format csv);
	copy orders_@ (region, id, customer, day, amount, note) from program 'awk ''BEGIN { for (i = 1; i <= 60000; i++) printf "%d|%d|%d|2026-01-%02d|%d.%02d|note %d of a row\n", i % 40 + 1, i, i % 50 + 1, i % 28 + 1, i % 1000, i % 100, i % 77 }''' with (delimiter '|');
	select count(*), sum(id), sum(amount), count(distinct note) from orders_@;
	select region, count(*), min(id), max(day), sum(amount) from orders_@ group by region order by region;
	copy (select * from orders_@ where region = 7 order by id limit 5) to stdout;
});
mixed($coordinator, 'the same rows in both', q{
	select (select count(*) from (select * from orders_h except select * from orders_z) x) = 0 and
		(select count(*) from (select * from orders_z except select * from orders_h) x) = 0});
twins($coordinator, 'COPY that fails leaves nothing', q{
	copy customer_@ from program 'echo 1,900,x,c1; echo 2,1,twice,c1' with (format csv);
	select count(*) from customer_@;
}, error => qr/duplicate key value violates unique constraint/);
twins($coordinator, 'COPY whose foreign key fails', q{
	copy customer_@ from program 'echo 1,901,x,none' with (format csv);
	select count(*) from customer_@;
}, error => qr/violates foreign key constraint/);

# ---- INSERT ... SELECT: pushed down, repartitioned, through the coordinator

for my $twin ('h', 'z')
{
	$coordinator->safe_psql('postgres', qq{
		create table total_$twin (region int primary key, n bigint, amount numeric) $with{$twin};
		create table bycustomer_$twin (customer int, region int, n bigint, primary key (customer, region)) $with{$twin};
		select create_distributed_table('total_$twin', 'region', colocate_with => 'customer_$twin');
		select create_distributed_table('bycustomer_$twin', 'customer', shard_count => 5, colocate_with => 'none');
		set client_min_messages = warning;
	});
}
like($coordinator->safe_psql('postgres', 'explain (costs off) insert into total_z select region, count(*), sum(amount) from orders_z group by region'),
	qr/Task Count: 6/, 'pushed down');
like($coordinator->safe_psql('postgres', 'explain (costs off) insert into bycustomer_z select customer, region, count(*) from orders_z group by customer, region'),
	qr/INSERT\/SELECT method: repartition/, 'repartitioned');
like($coordinator->safe_psql('postgres', 'explain (costs off) insert into total_z select region, n, n from (select region, count(*) n from orders_z group by region order by n limit 7) x'),
	qr/INSERT\/SELECT method: pull to coordinator/, 'pulled to the coordinator');
twins($coordinator, 'INSERT ... SELECT pushed down', q{
	insert into total_@ select region, count(*), sum(amount) from orders_@ group by region;
	select * from total_@ order by 1;
});
twins($coordinator, 'INSERT ... SELECT repartitioned', q{
	insert into bycustomer_@ select customer, region, count(*) from orders_@ group by customer, region;
	select count(*), sum(customer), sum(n) from bycustomer_@;
	select * from bycustomer_@ order by 1, 2 limit 20;
});
twins($coordinator, 'INSERT ... SELECT pulled to the coordinator', q{
	insert into total_@ select 1000 + row_number() over (order by region), n, n from (select region, count(*) n from orders_@ group by region order by region limit 7) x;
	insert into total_@ select 2000 + g, g, g from generate_series(1, 100) g;
	insert into local_@ select region, n::text from total_@;
	insert into total_@ select id + 10000, id, id from local_@ where id < 50;
	select count(*), sum(region), sum(n), sum(amount) from total_@;
	select count(*), min(v), max(v) from local_@;
});
twins($coordinator, 'INSERT ... SELECT with ON CONFLICT: pushed down, repartitioned, through the coordinator', q{
	insert into total_@ select region, 1, 2 from orders_@ group by region on conflict (region) do update set n = total_@.n + excluded.n;
	insert into bycustomer_@ select customer, region, 5 from orders_@ where region < 9 group by customer, region
		on conflict (customer, region) do update set n = bycustomer_@.n + excluded.n;
	insert into total_@ select g, g, g from generate_series(990, 1010) g on conflict (region) do update set amount = excluded.amount;
	insert into total_@ select g, g, g from generate_series(990, 1020) g on conflict do nothing;
	select count(*), sum(n), sum(amount) from total_@;
	select count(*), sum(n) from bycustomer_@;
});

# ---- changes

twins($coordinator, 'single rows', q{
	insert into orders_@ values (1, 100001, 1, '2026-02-01', 5, 'one', '{a,b}', '{"a": 1}') returning *;
	insert into orders_@ values (1, 100001, 2, '2026-02-01', 6, 'again') on conflict (region, id) do update set amount = orders_@.amount + excluded.amount returning amount, tags;
	insert into orders_@ values (1, 100001, 2, '2026-02-01', 6, 'again') on conflict do nothing;
	insert into orders_@ values (1, 100002, 1), (2, 100003, 1), (3, 100004, 1) returning region, id;
	update orders_@ set doc = doc || '{"b": 2}' where region = 1 and id = 100001 returning doc;
	delete from orders_@ where region = 3 and id = 100004 returning id;
	select * from orders_@ where id > 100000 order by id;
});
twins($coordinator, 'errors', q{
	insert into orders_@ values (1, 100001, 1);
	insert into orders_@ values (1, 100010, 999);
	delete from rate_@ where code = 'c3';
	update orders_@ set region = 5 where region = 1;
	select count(*), sum(id) from orders_@;
}, error => qr/duplicate key.*foreign key constraint.*violates foreign key/s);
twins($coordinator, 'UPDATE and DELETE over all shards', q{
	update orders_@ set amount = amount + 1, note = 'changed ' || note where id % 10 = 3;
	update orders_@ o set amount = amount * r.factor from customer_@ c, rate_@ r
		where c.region = o.region and c.id = o.customer and r.code = c.currency and o.id % 7 = 1;
	delete from orders_@ where id % 11 = 5;
	delete from orders_@ o using customer_@ c where c.region = o.region and c.id = o.customer and c.name = 'name 13';
	with gone as (delete from orders_@ where region = 12 and id % 3 = 0 returning *) select count(*), sum(amount) from gone;
	select count(*), sum(id), sum(amount), sum(length(note)) from orders_@;
});
twins($coordinator, 'MERGE: in the shard, with repartition, and from a reference table', q{
	create table delta_@ (region int, id bigint, amount numeric);
	select create_distributed_table('delta_@', 'region', colocate_with => 'customer_@');
	insert into delta_@ select g % 40 + 1, g * 3, g from generate_series(1, 25000) g where (g * 3) % 40 = g % 40;
	insert into delta_@ select g % 40 + 1, g + 200000, g from generate_series(1, 500) g;
	merge into orders_@ o using delta_@ d on o.region = d.region and o.id = d.id
		when matched and d.amount % 2 = 0 then delete
		when matched then update set amount = o.amount + d.amount
		when not matched then insert (region, id, customer, amount) values (d.region, d.id, 1, d.amount);
	select count(*), sum(id), sum(amount) from orders_@;
	create table source_@ (id int, region int, n int);
	select create_distributed_table('source_@', 'id', shard_count => 3, colocate_with => 'none');
	insert into source_@ select g, g, g from generate_series(1, 300) g;
	merge into total_@ t using source_@ s on t.region = s.region
		when matched then update set n = t.n + s.n
		when not matched then insert (region, n, amount) values (s.region, s.n, 0);
	select count(*), sum(n), sum(amount) from total_@;
	drop table delta_@, source_@;
});
twins($coordinator, 'savepoints and roll back', q{
	begin;
	update orders_@ set amount = 0 where region < 20;
	savepoint a;
	delete from orders_@ where region > 5;
	insert into orders_@ select region, 300000 + id, id from customer_@ where region < 4;
	select count(*), sum(amount) from orders_@;
	rollback to a;
	select count(*), sum(amount) from orders_@;
	insert into orders_@ values (7, 400000, 1);
	rollback;
	select count(*), sum(amount) from orders_@;
});
twins($coordinator, 'cascading foreign keys', q{
	delete from customer_@ where region = 20 and id < 10;
	select count(*) from orders_@ where region = 20;
	update rate_@ set factor = factor + 1 where code in ('c1', 'c2');
	insert into managed_@ select g, 'c' || g from generate_series(1, 5) g;
	insert into managed_@ values (7, 'none');
	select m.id, r.factor from managed_@ m join rate_@ r on r.code = m.rate order by 1;
	select count(*), sum(factor) from rate_@;
}, error => qr/violates foreign key constraint "managed_\@_rate_fkey/);
check_shards('changes', @nodes);

# ---- queries

my @queries = (
	[ 'aggregates', 'select count(*), sum(amount), avg(id), min(note), max(day), stddev(amount)::numeric(20,4), count(*) filter (where id % 2 = 0) from orders_@' ],
	[ 'count(distinct)', 'select count(distinct customer), count(distinct note), count(distinct (region, customer)) from orders_@' ],
	[ 'grouping sets', 'select region, customer % 3, count(*), sum(amount) from orders_@ where region = 5 group by grouping sets ((region, customer % 3), (region), ()) order by 1 nulls last, 2 nulls last' ],
	[ 'join of colocated tables', 'select c.name, count(*), sum(o.amount) from orders_@ o join customer_@ c on c.region = o.region and c.id = o.customer group by c.name order by 1' ],
	[ 'join with a reference table', 'select r.code, round(sum(o.amount * r.factor), 2) from orders_@ o join customer_@ c on c.region = o.region and c.id = o.customer join rate_@ r on r.code = c.currency group by 1 order by 1' ],
	[ 'join with repartition', q{set citus.enable_repartition_joins = on; select count(*), sum(o.amount) from orders_@ o join bycustomer_@ b on b.customer = o.customer and b.region = 4 where o.region = 4} ],
	[ 'join with a local table', 'select count(*), min(l.v) from orders_@ o join local_@ l on l.id = o.region' ],
	[ 'left join, subquery, window', 'select region, id, rank from (select region, id, rank() over (partition by region order by amount desc, id) from orders_@) x where rank <= 2 order by 1, 2' ],
	[ 'CTE and set operations', 'with a as materialized (select region, count(*) n from orders_@ group by 1), b as (select region from total_@ where n > 100) (select region from a where n > 10 intersect select region from b) union all select -1 order by 1' ],
	[ 'correlated subquery', 'select count(*) from customer_@ c where (select count(*) from orders_@ o where o.region = c.region and o.customer = c.id) > 25' ],
	[ 'router query', 'select id, amount, note from orders_@ where region = 9 and id between 100 and 900 order by id' ],
	[ 'top rows', 'select * from orders_@ order by amount desc, id limit 25 offset 5' ],
	[ 'locked rows', 'begin; select id from orders_@ where region = 9 and id < 500 order by id for update; commit' ],
	[ 'row values', q{select o from orders_@ o where region = 1 and id in (40, 80, 100001) order by id} ]);
for my $query (@queries)
{
	twins($coordinator, $query->[0], $query->[1]);
}
twins($coordinator, 'adaptive executor with one connection, and with many', q{
	set citus.max_adaptive_executor_pool_size = 1;
	select count(*), sum(amount) from orders_@;
	set citus.force_max_query_parallelization = on;
	set citus.max_adaptive_executor_pool_size = 16;
	select count(*), sum(amount) from orders_@;
});
twins($coordinator, 'cursors', q{
	begin;
	declare c cursor for select region, id from orders_@ where region in (2, 3) order by region, id;
	fetch 5 from c;
	fetch 3 from c;
	move 100 from c;
	fetch 2 from c;
	close c;
	declare w cursor with hold for select region, count(*) from orders_@ group by 1 order by 1;
	commit;
	fetch 4 from w;
	close w;
});
twins($coordinator, 'prepared statements', q{
	prepare one(int, bigint) as select id, amount from orders_@ where region = $1 and id = $2;
	execute one(1, 40); execute one(2, 41); execute one(3, 42); execute one(4, 43); execute one(5, 44); execute one(6, 45); execute one(7, 46);
	prepare chg(int, int) as update orders_@ set amount = amount + $2 where region = $1;
	execute chg(1, 1); execute chg(2, 1); execute chg(3, 1); execute chg(4, 1); execute chg(5, 1); execute chg(6, 1); execute chg(7, 1);
	select sum(amount) from orders_@;
});
twins($coordinator, 'functions, views, materialized views and CREATE TABLE AS', q{
	create view v_@ as select region, count(*) n from orders_@ group by region;
	select * from v_@ order by 1 limit 3;
	create materialized view mv_@ as select * from v_@;
	select sum(n) from mv_@;
	refresh materialized view mv_@;
	create table ctas_@ as select * from orders_@ where region < 3;
	select count(*) from ctas_@;
	drop materialized view mv_@;
	drop view v_@;
	drop table ctas_@;
});

# ---- from a worker

twins($worker1, 'queries and changes from a worker', q{
	select count(*), sum(amount) from orders_@;
	select c.name, count(*) from orders_@ o join customer_@ c on c.region = o.region and c.id = o.customer group by 1 order by 1 limit 5;
	insert into orders_@ values (11, 500001, 1, '2026-03-01', 11), (12, 500002, 1, '2026-03-01', 12);
	update orders_@ set note = 'by a worker' where id > 500000;
	delete from orders_@ where region = 12 and id = 500002;
	insert into event_@ (kind, payload) select g % 5, 'p' || g from generate_series(1, 5000) g;
	select kind, count(*), min(payload) from event_@ group by 1 order by 1;
	copy event_@ (kind, payload) from program 'seq -f "%g,copied" 1 2000' with (format csv);
	select count(*) from event_@;
	insert into rate_@ values ('w', 1, 'from a worker');
	select * from orders_@ where id > 500000;
});
twins($worker2, 'what another worker sees', q{
	select count(*), count(distinct kind) from event_@;
	select * from rate_@ where code = 'w';
});
check_shards('queries', @nodes);

# ---- indexes and constraints

twins($coordinator, 'indexes of all kinds', q{
	create index day_@ on orders_@ (day);
	create index concurrently note_@ on orders_@ (note, amount);
	create index amount_@ on orders_@ using brin (amount);
	create index tags_@ on orders_@ using gin (tags);
	create index hash_@ on orders_@ using hash (id);
	create index part_@ on orders_@ (id) include (amount) where amount > 500;
	create index expr_@ on orders_@ ((amount * 2));
	create unique index concurrently uniq_@ on orders_@ (region, id, customer);
	select count(*) from orders_@ where day = '2026-01-05';
	select sum(amount) from orders_@ where note = 'note 3 of a row';
	select count(*) from orders_@ where tags @> '{a}';
	reindex table orders_@;
	reindex index concurrently note_@;
	drop index concurrently note_@;
	drop index hash_@;
	select count(*) from orders_@ where id = 77;
});
twins($coordinator, 'an index that cannot be unique', q{
	create unique index no_@ on orders_@ (region, customer);
	select count(*) from orders_@;
}, error => qr/could not create unique index/);
check_shards('indexes', @nodes);

# ---- DDL

$coordinator->safe_psql('postgres', 'create schema other');
twins($coordinator, 'columns and constraints', q{
	alter table orders_@ add column extra int default 7;
	alter table orders_@ add column stamp timestamptz default '2026-01-01 00:00:00+00';
	alter table orders_@ add column doubled numeric generated always as (amount * 2) stored;
	select count(*), sum(extra), min(stamp), sum(doubled) from orders_@;
	update orders_@ set extra = 8 where region = 2;
	alter table orders_@ alter column extra type bigint;
	alter table orders_@ rename column extra to more;
	alter table orders_@ alter column more set not null;
	alter table orders_@ alter column more drop default;
	alter table orders_@ add constraint ck_@ check (more > 0);
	select more, count(*) from orders_@ group by 1 order by 1;
	alter table orders_@ drop column note;
	alter table orders_@ drop constraint ck_@;
	create statistics st_@ on region, customer from orders_@;
	vacuum orders_@;
	vacuum (analyze) orders_@;
	analyze orders_@;
	vacuum full total_@;
	cluster orders_@ using day_@;
	select count(*), sum(more), sum(doubled) from orders_@;
	alter table orders_@ rename to renamed_@;
	alter table renamed_@ rename to orders_@;
	alter table event_@ set schema other;
	select count(*) from other.event_@;
	alter table other.event_@ set schema public;
	truncate event_@;
	select count(*) from event_@;
});
twins($coordinator, 'a check that rows violate', q{
	alter table orders_@ add constraint no_@ check (more < 8);
	insert into orders_@ (region, id, customer) values (1, 600000, 1);
	select count(*) from orders_@;
}, error => qr/violated by some row.*null value in column "more"/s);
twins($coordinator, 'triggers', q{
	set citus.enable_unsafe_triggers = on;
	create function upper_@() returns trigger language plpgsql as $$ begin new.payload := upper(new.payload); return new; end $$;
	create trigger up_@ before insert or update on event_@ for each row execute function upper_@();
	insert into event_@ (kind, payload) select g % 3, 'lower' || g from generate_series(1, 100) g;
	select kind, min(payload), max(payload) from event_@ group by 1 order by 1;
	drop trigger up_@ on event_@;
});
my $options = sub {
	my ($table) = @_;
	my %seen = map { $_ => 1 } map { /\|(.*)$/ } split /\n/,
	  join "\n", map { zedstore_shards($_, "^${table}_\\d{6}\$") } $worker1, $worker2;
	return join ' ', sort keys %seen;
};
$coordinator->safe_psql('postgres', 'alter table orders_z set (zedstore_rel_extension_factor = 64, zedstore_compression = lz4)');
is($options->('orders_z'), '{zedstore_compression_level=3,zedstore_rel_extension_factor=64,zedstore_compression=lz4}', 'ALTER TABLE SET reaches all shards');
$coordinator->safe_psql('postgres', 'alter table orders_z reset (zedstore_compression_level, zedstore_rel_extension_factor)');
is($options->('orders_z'), '{zedstore_compression=lz4}', 'ALTER TABLE RESET, too');
$coordinator->safe_psql('postgres', 'alter table rate_z set (zedstore_compression = none)');
is($options->('rate_z'), '{zedstore_compression_level=3,zedstore_compression=none}', 'also of a reference table');
isnt($coordinator->psql('postgres', 'alter table orders_z set (zedstore_compression = pigeon)', stderr => \my $stderr), 0, 'a wrong value is refused');
like($stderr, qr/invalid value for (enum )?option "zedstore_compression"/, 'with the error of any option');
is($options->('orders_z'), '{zedstore_compression=lz4}', 'and changes no shard');
check_shards('DDL', @nodes);

# ---- a relation cache that is full of what both libraries remember

my $many = join "\n", map { "insert into orders_z (region, id, customer, more) values ($_, 700000, 1, 1) on conflict (region, id) do update set amount = 1; alter table total_z add column c$_ int; select count(*) from orders_z o join customer_z c using (region) where region = $_;" } 1 .. 8;
is($coordinator->psql('postgres', $many), 0, 'changes and DDL in one session');

twins($coordinator, 'the tables at the end', q{
	select count(*), sum(id), sum(amount) from orders_@ where id <> 700000;
	select count(*) from customer_@;
	select count(*), sum(factor) from rate_@;
	set client_min_messages = warning;
	drop table orders_@, customer_@, total_@, bycustomer_@, local_@, managed_@, event_@, rate_@ cascade;
});
is(zedstore_count('_\d{6}$'), 0, 'DROP TABLE drops the shards');
for my $node (@nodes)
{
	unlike(slurp_file($node->logfile), qr/TRAP:|PANIC:|terminated by signal|out of relcache_callback_list/, $node->name . ': nothing crashed');
}

done_testing();
