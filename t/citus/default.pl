# Databases where zedstore is the default: Citus's catalogs are heap, and everything works as with USING zedstore.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;
use ZedstoreCitus;

plan skip_all => citus_missing() if citus_missing();

my @nodes = map { citus_node($_, conf => "default_table_access_method = zedstore\n") } qw(coordinator worker1 worker2);
my ($coordinator, $worker1, $worker2) = @nodes;

# zedstore first: without it there is no such access method
$_->safe_psql('postgres', 'create extension zedstore_io schema public') for @nodes;
join_cluster('postgres', @nodes);
# which Citus does on all nodes
$coordinator->safe_psql('postgres', 'create extension citus_columnar') if has_columnar();
for my $node (@nodes)
{
	is($node->safe_psql('postgres', q{
			select string_agg(c.oid::regclass::text, ' ') from pg_class c join pg_am a on a.oid = c.relam where a.amname = 'zedstore'}),
		'', $node->name . ': no table of an extension is zedstore');
}
is($coordinator->safe_psql('postgres', 'select count(*) from pg_dist_node'), '3', 'three nodes');

$coordinator->safe_psql('postgres', q{
	create table t_h (a int primary key, b text) using heap;
	create table t_z (a int primary key, b text);
	create table r_h (a int primary key, b text) using heap;
	create table r_z (a int primary key, b text);
	select create_reference_table('r_h'), create_reference_table('r_z'), create_distributed_table('t_h', 'a', shard_count => 4), create_distributed_table('t_z', 'a', shard_count => 4)});
is($coordinator->safe_psql('postgres', q{
		select count(*) from run_command_on_all_nodes($$ set citus.override_table_visibility = off;
			select count(*) from pg_class c join pg_am a on a.oid = relam where amname = 'zedstore' and relname ~ '^[tr]_z_\d+$' $$) where result <> '0'}),
	'3', 'shards on all nodes take the default');
twins($coordinator, 'rows', q{
	insert into r_@ select g, 'r' || g from generate_series(1, 100) g;
	insert into t_@ select g, 'b' || g % 100 from generate_series(1, 20000) g;
	insert into t_@ select a + 20000, b from t_@ on conflict do nothing;
	update t_@ set b = 'u' || b where a % 7 = 0;
	delete from t_@ where a % 11 = 0;
	select count(*), sum(t.a), count(distinct t.b), sum(r.a) from t_@ t left join r_@ r on r.a = t.a % 150;
	create table c_@ as select b, count(*) n from t_@ group by b;
	select count(*), sum(n) from c_@;
});
check_shards('tables', @nodes);

# Tables that Citus makes by itself, from its own C code and its functions
$coordinator->safe_psql('postgres', q{
	set client_min_messages = error;
	select undistribute_table('t_z');
	select create_distributed_table('t_z', 'a', shard_count => 6, colocate_with => 'none');
	select alter_distributed_table('t_z', shard_count => 3);
	select alter_table_set_access_method('t_z', 'heap');
	select alter_table_set_access_method('t_z', 'zedstore')});
twins($coordinator, 'there and back', 'select count(*), sum(a), count(distinct b) from t_@');
check_shards('there and back', @nodes);

# A node that is added later, and one that goes
runs($coordinator, 'a node is drained', 'select citus_drain_node(' . node_name($worker2) . ", 'block_writes')");
runs($coordinator, 'and removed', 'set client_min_messages = error; call citus_cleanup_orphaned_resources(); select citus_remove_node(' . node_name($worker2) . ')');
twins($coordinator, 'with one worker', 'select count(*), sum(a), count(distinct b) from t_@; insert into r_@ values (1000)');
runs($coordinator, 'and added again', 'select citus_add_node(' . node_name($worker2) . ')');
runs($coordinator, 'and gets shards', q{select rebalance_table_shards(shard_transfer_mode => 'block_writes')});
twins($_, 'rows from ' . $_->name, 'select count(*), sum(a), count(distinct b) from t_@; select count(*) from r_@') for @nodes;
check_shards('another worker', @nodes);

# In a second database the extension is created on the coordinator only, before one worker is added and after the other one.
$_->safe_psql('postgres', 'create database other') for @nodes;
$_->safe_psql('other', 'set default_table_access_method = heap; create extension citus') for @nodes;
$coordinator->safe_psql('other', 'select citus_set_coordinator_host(' . node_name($coordinator) . ')');
$coordinator->safe_psql('other', 'select citus_add_node(' . node_name($worker1) . ')');
$coordinator->safe_psql('other', 'create extension zedstore_io schema public');
$coordinator->safe_psql('other', 'select citus_add_node(' . node_name($worker2) . ')');
is($coordinator->safe_psql('other', q{
		select count(*), count(distinct result), bool_and(success)
		from run_command_on_all_nodes($$select extversion from pg_extension where extname = 'zedstore_io'$$)}),
	'3|1|t', 'Citus creates the extension on all nodes');
is($coordinator->safe_psql('other', q{
		create table t (a int) using zedstore;
		select create_distributed_table('t', 'a');
		insert into t select generate_series(1, 1000);
		select count(*) from t}), "\n1000", 'and it works in a second database');

# A dump of a distributed table can be restored where there is no Citus.
my $dump = $coordinator->basedir . '/t.sql';
$coordinator->command_ok([ 'pg_dump', '-t', 't_z', '-f', $dump, 'postgres' ], 'pg_dump of a distributed table');
like(slurp_file($dump), qr/SET default_table_access_method = zedstore;/, 'names the access method');

for my $node (@nodes)
{
	unlike(slurp_file($node->logfile), qr/TRAP:|PANIC:|terminated by signal|out of relcache_callback_list/, $node->name . ': nothing crashed');
}

done_testing();
