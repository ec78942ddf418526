# What Citus does with whole shards and tables: moves, rebalance, splits, tenants of their own, time partitions, schemas as
# tenants, other access methods and back, tables that are no longer distributed.
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
my %with = (h => 'using heap', z => 'using zedstore with (zedstore_compression = zstd)');
my $err;
my $state = q{
	select count(*), sum(id), sum(n), count(distinct v), sum(length(big)) from item_@;
	select tenant, count(*), sum(n) from item_@ where tenant % 9 = 0 group by 1 order by 1;
	select count(*), sum(i.n) from item_@ i join owner_@ o using (tenant) where o.name like '%1';
};

for my $twin ('h', 'z')
{
	$coordinator->safe_psql('postgres', qq{
		create table owner_$twin (tenant int primary key, name text) $with{$twin};
		create table item_$twin (tenant int references owner_$twin, id bigint, n numeric, v text, big text, primary key (tenant, id)) $with{$twin};
		select create_distributed_table('owner_$twin', 'tenant', shard_count => 4, colocate_with => 'none');
		select create_distributed_table('item_$twin', 'tenant', colocate_with => 'owner_$twin');
		insert into owner_$twin select g, 'tenant ' || g from generate_series(1, 60) g;
		insert into item_$twin select g % 60 + 1, g, g / 3.0, 'v' || g % 500, case when g % 1000 = 0 then repeat(md5(g::text), 700) end
			from generate_series(1, 40000) g;
		create index on item_$twin (v);
		create index on item_$twin using brin (id);
		delete from item_$twin where id % 13 = 0;
		update item_$twin set n = n + 1 where id % 17 = 0;
	});
}
twins($coordinator, 'loaded', $state);

# The node of a shard of a table, and another one.
sub placement
{
	my ($table) = @_;
	my ($shard, $port) = split /\|/, $coordinator->safe_psql('postgres',
		"select shardid, nodeport from citus_shards where table_name = '$table'::regclass order by shardid limit 1");

	return ($shard, $port == $worker1->port ? ($worker1, $worker2) : ($worker2, $worker1));
}

sub clean_up
{
	$coordinator->safe_psql('postgres', 'set client_min_messages = warning; call citus_cleanup_orphaned_resources()');
	return;
}

# Every shard of a table has this access method and options.
sub shards_are
{
	my ($table, $am, $options, $title) = @_;
	my %seen;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	for my $node (@nodes)
	{
		$seen{$_}++ for split /\n/, $node->safe_psql('postgres', qq{
			set citus.override_table_visibility = off;
			select a.amname || ' ' || coalesce(c.reloptions::text, '') from pg_class c join pg_am a on a.oid = c.relam
			where c.relname ~ '^${table}_[0-9]{6,7}\$' and c.relkind = 'r'});
	}
	return is(join(', ', sort keys %seen), $options eq '' ? "$am " : "$am $options", $title);
}

# ---- moves

for my $mode ('block_writes', 'force_logical')
{
	for my $twin ('h', 'z')
	{
		my ($shard, $from, $to) = placement("item_$twin");

		runs($coordinator, "a shard of item_$twin moves by $mode",
			"select citus_move_shard_placement($shard, " . node_name($from) . ', ' . node_name($to) . ", '$mode')");
	}
	clean_up();
	twins($coordinator, "after a move by $mode", $state);
	twins($coordinator, "changes after a move by $mode", q{
		insert into item_@ select g % 60 + 1, g + 1000000 + (select count(*) from item_@), g, 'new', null from generate_series(1, 500) g;
		update item_@ set v = 'seen' where id % 29 = 0;
	} . $state);
	check_shards("moves by $mode", @nodes);
}
shards_are('item_z', 'zedstore', '{zedstore_compression=zstd}', 'a shard that moved keeps its options');

# A logical move while others write: what they wrote is on the new node.
{
	my ($shard, $from, $to) = placement('item_z');
	my $tenant = $coordinator->safe_psql('postgres',
		"select g from generate_series(1, 60) g where get_shard_id_for_distribution_column('item_z', g) = $shard order by 1 limit 1");
	my $script = $coordinator->basedir . '/write.sql';

	append_to_file($script, <<"SQL");
\\set id random(1, 1000000000)
\\set old random(1, 40000)
begin;
insert into item_h values ($tenant, 2000000000::bigint + :id, :id, 'w', null) on conflict (tenant, id) do update set n = item_h.n + excluded.n;
insert into item_z values ($tenant, 2000000000::bigint + :id, :id, 'w', null) on conflict (tenant, id) do update set n = item_z.n + excluded.n;
update item_h set n = n + 1 where tenant = $tenant and id = :old;
update item_z set n = n + 1 where tenant = $tenant and id = :old;
delete from item_h where tenant = $tenant and id = :old + 7;
delete from item_z where tenant = $tenant and id = :old + 7;
commit;
SQL
	my $writers = IPC::Run::start(
		[ 'pgbench', '-n', '-c', '2', '-t', '300', '-f', $script, '-d', $coordinator->connstr('postgres'), '--max-tries=100' ],
		'>', \my $out, '2>', \$err);
	$writers->pump_nb;
	wait_for_sql($coordinator, 'select count(*) > 20 from item_h where id > 2000000000');
	runs($coordinator, 'a shard moves while it is written to',
		"select citus_move_shard_placement($shard, " . node_name($from) . ', ' . node_name($to) . ", 'force_logical')");
	$writers->finish;
	is($writers->result(0), 0, 'and nobody who writes notices') or diag($err);
	clean_up();
	twins($coordinator, 'what they wrote is there', $state);
	check_shards('a move beside writers', @nodes);
}

# ---- rebalance, draining, new nodes

runs($coordinator, 'a node is drained', 'select citus_drain_node(' . node_name($worker2) . ", 'force_logical')");
clean_up();
is($coordinator->safe_psql('postgres', 'select count(*) from citus_shards where nodeport = ' . $worker2->port), '0', 'a drained node has no shards');
twins($coordinator, 'after draining', $state);
$coordinator->safe_psql('postgres', 'select citus_set_node_property(' . node_name($worker2) . ", 'shouldhaveshards', true)");
runs($coordinator, 'rebalance', q{select rebalance_table_shards(shard_transfer_mode => 'force_logical')});
clean_up();
cmp_ok($coordinator->safe_psql('postgres', "select count(*) from citus_shards where nodeport = " . $worker2->port), '>', 2, 'rebalance gives it some');
twins($coordinator, 'after rebalancing', $state);
runs($coordinator, 'rebalance in the background', q{
	select citus_rebalance_start(shard_transfer_mode => 'block_writes');
	select citus_rebalance_wait();
});
check_shards('rebalance', @nodes);

# ---- splits and tenants of their own

for my $mode ('block_writes', 'force_logical')
{
	for my $twin ('h', 'z')
	{
		my ($shard, $min, $node) = split /\|/, $coordinator->safe_psql('postgres', qq{
			select s.shardid, s.shardminvalue::bigint + (s.shardmaxvalue::bigint - s.shardminvalue::bigint) / 2, p.nodeid
			from pg_dist_shard s join pg_dist_placement using (shardid) join pg_dist_node p using (groupid)
			where logicalrelid = 'item_$twin'::regclass order by 1 limit 1});
		my $other = $coordinator->safe_psql('postgres', "select nodeid from pg_dist_node where shouldhaveshards and nodeid <> $node and groupid <> 0 limit 1");

		runs($coordinator, "a shard of item_$twin splits by $mode",
			"select citus_split_shard_by_split_points($shard, array['$min'], array[$node, $other], '$mode')");
	}
	clean_up();
	twins($coordinator, "after a split by $mode", $state);
	check_shards("splits by $mode", @nodes);
}
for my $twin ('h', 'z')
{
	runs($coordinator, "tenant 27 of item_$twin gets a shard of its own",
		"select isolate_tenant_to_new_shard('item_$twin', 27, 'CASCADE', shard_transfer_mode => 'force_logical')");
}
clean_up();
twins($coordinator, 'after isolating a tenant', $state . q{
	select count(distinct shardid) from citus_shards where table_name = 'item_@'::regclass;
	insert into item_@ values (27, 5000000, 1, 'alone', null) returning *;
});
shards_are('item_z', 'zedstore', '{zedstore_compression=zstd}', 'new shards have the options');
check_shards('tenants', @nodes);

# ---- other shapes of a distributed table

twins($coordinator, 'another distribution column, shard count, colocation', q{
	set client_min_messages = error;
	create table plain_@ (a int, b int, c text);
	select create_distributed_table('plain_@', 'a', shard_count => 3, colocate_with => 'none');
	insert into plain_@ select g, g % 10, 'c' || g from generate_series(1, 8000) g;
	select alter_distributed_table('plain_@', distribution_column => 'b', shard_count => 5);
	select count(*), sum(a), count(distinct c) from plain_@;
	select b, count(*) from plain_@ group by 1 order by 1;
	select undistribute_table('plain_@');
	select count(*), sum(a), count(distinct c) from plain_@;
	select create_distributed_table_concurrently('plain_@', 'a', shard_count => 3);
	select count(*), sum(a), count(distinct c) from plain_@;
	select update_distributed_table_colocation('plain_@', 'none');
	drop table plain_@;
});
for my $twin ('h', 'z')
{
	$coordinator->safe_psql('postgres', qq{
		set client_min_messages = error;
		create table shape_$twin (a int primary key, b text) $with{$twin};
		insert into shape_$twin select g, 'b' || g from generate_series(1, 9000) g;
		select create_distributed_table('shape_$twin', 'a', shard_count => 3, colocate_with => 'none');
		insert into shape_$twin select g, 'b' || g from generate_series(9001, 12000) g;
		select alter_distributed_table('shape_$twin', shard_count => 5)});
}
twins($coordinator, 'a table that was distributed with its rows', 'select count(*), sum(a), min(b), max(b) from shape_@');
shards_are('shape_z', 'zedstore', '{zedstore_compression=zstd}', 'alter_distributed_table() keeps the options');
check_shards('shapes', @nodes);

# ---- access methods

$coordinator->safe_psql('postgres', q{
	set client_min_messages = error;
	create table method_h (a int primary key, b text) using heap;
	create table method_z (a int primary key, b text) using heap;
	select create_distributed_table('method_h', 'a', shard_count => 3), create_distributed_table('method_z', 'a', shard_count => 3);
	insert into method_h select g, 'b' || g from generate_series(1, 9000) g;
	insert into method_z select g, 'b' || g from generate_series(1, 9000) g;
	select alter_table_set_access_method('method_z', 'zedstore')});
shards_are('method_z', 'zedstore', '', 'a heap table becomes zedstore');
twins($coordinator, 'with its rows', 'select count(*), sum(a), min(b), max(b) from method_@; insert into method_@ values (9001, $$x$$); update method_@ set b = $$y$$ where a = 5');
check_shards('heap to zedstore', @nodes);
$coordinator->safe_psql('postgres', q{
	set client_min_messages = error;
	select alter_table_set_access_method('method_z', 'heap')});
shards_are('method_z', 'heap', '', 'and heap again');
twins($coordinator, 'with its rows and key', 'select count(*), sum(a), min(b), max(b) from method_@; insert into method_@ values (5)', error => qr/duplicate key/);

# Options go with the table; heap takes it if all nodes are told to leave them out, which Citus does.
isnt($coordinator->psql('postgres', q{select alter_table_set_access_method('shape_z', 'heap')}, stderr => \$err), 0, 'heap refuses the options');
like($err, qr/unrecognized parameter "zedstore_compression"/, 'by name');
$coordinator->safe_psql('postgres', 'alter database postgres set zedstore.ignore_options = on');
is($coordinator->psql('postgres', q{select alter_table_set_access_method('shape_z', 'heap')}, stderr => \$err), 0, 'they are left out')
  or diag($err);
like($err, qr/NOTICE:  ignoring options of zedstore for table.*zedstore_compression=zstd/s, 'with a notice');
shards_are('shape_z', 'heap', '', 'the shards are heap and have no options');
twins($coordinator, 'the rows of the table', 'select count(*), sum(a), min(b), max(b) from shape_@');
$coordinator->safe_psql('postgres', 'alter database postgres reset zedstore.ignore_options');

# ---- undistribute_table

twins($coordinator, 'tables that are no longer distributed', q{
	set client_min_messages = error;
	select undistribute_table('item_@', cascade_via_foreign_keys => true);
	select count(*) from citus_tables where table_name in ('item_@'::regclass, 'owner_@'::regclass);
} . $state . q{
	insert into item_@ values (27, 5000000, 1, 'alone', null);
}, error => qr/duplicate key/);
is($coordinator->safe_psql('postgres', q{select amname, reloptions from pg_class c join pg_am a on a.oid = relam where relname = 'item_z'}),
	'zedstore|{zedstore_compression=zstd}', 'the local table has access method and options');
zs_check_all($coordinator, 'postgres', 'undistribute_table: zs_check');

# ---- time partitions

for my $twin ('h', 'z')
{
	$coordinator->safe_psql('postgres', qq{
		set default_table_access_method = } . ($twin eq 'z' ? 'zedstore' : 'heap') . qq{;
		create table series_$twin (device int, at timestamptz not null, value float8) partition by range (at);
		select create_distributed_table('series_$twin', 'device', shard_count => 4, colocate_with => 'none');
		select create_time_partitions('series_$twin', '1 month', '2026-06-15', '2026-01-10');
	});
}
twins($coordinator, 'time partitions', q{
	set client_min_messages = error;
	insert into series_@ select g % 50, timestamptz '2026-01-15 00:00+00' + g * interval '10 minutes', g % 100 from generate_series(1, 20000) g;
	select count(*), count(distinct device), sum(value) from series_@;
	select date_trunc('month', at at time zone 'UTC'), count(*) from series_@ group by 1 order by 1;
	select device, avg(value) from series_@ where at between '2026-02-10 00:00+00' and '2026-03-10 00:00+00' group by 1 order by 1 limit 7;
	create index on series_@ (at);
	update series_@ set value = -1 where at < '2026-02-01 00:00+00' and device = 7;
	delete from series_@ where at >= '2026-05-01 00:00+00' and value > 90;
	call drop_old_time_partitions('series_@', '2026-03-01 00:00+00');
	select count(*), sum(value) from series_@;
	select count(*) from time_partitions where parent_table = 'series_@'::regclass;
	alter table series_@ add column quality int default 3;
	select quality, count(*) from series_@ group by 1;
});
is($coordinator->safe_psql('postgres', q{select distinct access_method from time_partitions where parent_table = 'series_z'::regclass}), 'zedstore', 'partitions are zedstore');
check_shards('time partitions', @nodes);

# Old partitions to another access method, newer ones stay
SKIP:
{
	skip 'citus_columnar is not installed', 8 if !has_columnar();
	$coordinator->safe_psql('postgres', 'create extension citus_columnar');
	twins($coordinator, 'old partitions become columnar', q{
		set client_min_messages = error;
		call alter_old_partitions_set_access_method('series_@', '2026-04-01 00:00+00', 'columnar');
		select access_method = 'columnar' as columnar, count(*) from time_partitions where parent_table = 'series_@'::regclass group by 1 order by 1;
		select count(*), sum(value), count(distinct device) from series_@;
		insert into series_@ values (1, '2026-03-15 00:00+00', 5, 1), (1, '2026-05-15 00:00+00', 5, 1);
		select count(*), sum(value), count(distinct device) from series_@;
	});
	$coordinator->safe_psql('postgres', q{
		set client_min_messages = error;
		create table three_c (a int, b text, c numeric) using columnar;
		create table three_z (a int, b text, c numeric) using zedstore;
		create table three_h (a int, b text, c numeric) using heap;
		select create_distributed_table('three_c', 'a', shard_count => 4, colocate_with => 'none');
		select create_distributed_table('three_z', 'a', colocate_with => 'three_c');
		select create_distributed_table('three_h', 'a', colocate_with => 'three_c');
		insert into three_c select g, 'b' || g % 100, g / 7.0 from generate_series(1, 30000) g;
		insert into three_z select * from three_c;
		insert into three_h select * from three_z});
	mixed($coordinator, 'columnar, zedstore and heap in one query', q{
		select count(*) = 30000 and sum(c.c) = sum(z.c) and sum(h.c) = sum(z.c) and min(c.b) = min(z.b)
		from three_c c join three_z z using (a) join three_h h using (a)});
	$coordinator->safe_psql('postgres', q{
		set client_min_messages = error;
		select alter_table_set_access_method('three_c', 'zedstore');
		select alter_table_set_access_method('three_h', 'columnar');
		select alter_table_set_access_method('three_z', 'columnar')});
	mixed($coordinator, 'and each as another', q{
		select count(*) = 30000 and sum(c.c) = sum(z.c) and sum(h.c) = sum(z.c) and min(c.b) = min(z.b)
		from three_c c join three_z z using (a) join three_h h using (a)});
	shards_are('three_c', 'zedstore', '', 'columnar shards have become zedstore');
	shards_are('three_z', 'columnar', '', 'zedstore shards have become columnar');
	check_shards('columnar', @nodes);
}

# ---- schemas as tenants

for my $twin ('h', 'z')
{
	$coordinator->safe_psql('postgres', qq{
		set citus.enable_schema_based_sharding = on;
		create schema tenant_a_$twin;
		create schema tenant_b_$twin;
		create table tenant_a_$twin.t (id int primary key, v text) $with{$twin};
		create table tenant_a_$twin.u (id int primary key, t int references tenant_a_$twin.t) $with{$twin};
		create table tenant_b_$twin.t (id int primary key, v text) $with{$twin}});
}
twins($coordinator, 'schemas as tenants', q{
	set client_min_messages = error;
	insert into tenant_a_@.t select g, 'a' || g from generate_series(1, 6000) g;
	insert into tenant_a_@.u select g, g from generate_series(1, 6000, 2) g;
	copy tenant_b_@.t from program 'seq -f "%g,b" 1 5000' with (format csv);
	select count(*), min(v) from tenant_a_@.t join tenant_a_@.u on u.t = t.id;
	update tenant_b_@.t set v = 'c' where id % 3 = 0;
	select v, count(*) from tenant_b_@.t group by 1 order by 1;
	alter table tenant_a_@.t add column w int default 4;
	select sum(w) from tenant_a_@.t;
	delete from tenant_a_@.t where id = 1;
}, error => qr/violates foreign key/);
my $from = $coordinator->safe_psql('postgres', q{select nodeport from citus_shards where table_name = 'tenant_a_z.t'::regclass});
my $to = $from == $worker1->port ? $worker2 : $worker1;
$coordinator->safe_psql('postgres', "select citus_schema_move('tenant_a_z', " . node_name($to) . ", 'force_logical')");
clean_up();
is($coordinator->safe_psql('postgres', q{select distinct nodeport from citus_shards where table_name::text like 'tenant_a_z.%'}), $to->port, 'a schema has moved');
twins($coordinator, 'schemas after a move', q{
	set client_min_messages = error;
	select count(*), min(v), sum(w) from tenant_a_@.t join tenant_a_@.u on u.t = t.id;
	select citus_schema_undistribute('tenant_b_@');
	select count(*), min(v) from tenant_b_@.t;
	drop schema tenant_a_@ cascade;
});
check_shards('schemas', @nodes);

for my $node (@nodes)
{
	unlike(slurp_file($node->logfile), qr/TRAP:|PANIC:|terminated by signal|out of relcache_callback_list/, $node->name . ': nothing crashed');
}

done_testing();
