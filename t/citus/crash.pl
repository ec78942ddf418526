# Two-phase commit of Citus while nodes are killed: transactions are prepared on the workers, and a
# worker, the coordinator, or all of them die before the second phase.  What the coordinator
# committed is there on all shards, what it did not is on none.
#
# The first phase is over and the second has not begun while the coordinator waits for a synchronous
# standby that does not exist. One worker has prepared and the other has not while a deferred
# trigger of a shard waits for a lock.
use strict;
use warnings FATAL => 'all';

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;
use ZedstoreCitus;

plan skip_all => citus_missing() if citus_missing();

my @nodes = citus_cluster(conf => <<'CONF');
synchronous_commit = local
citus.recover_2pc_interval = -1
CONF
my ($coordinator, $worker1, $worker2) = @nodes;

for my $twin ('h', 'z')
{
	my $am = $twin eq 'h' ? 'heap' : 'zedstore';

	$coordinator->safe_psql('postgres', qq{
		create table t_$twin (k int, id bigint, v text, n numeric, big text, primary key (k, id)) using $am;
		select create_distributed_table('t_$twin', 'k', shard_count => 4, colocate_with => 'none');
		create index on t_$twin (v);
		insert into t_$twin select g % 40, g, 'v' || g % 300, g / 3.0, case when g % 2000 = 0 then repeat(md5(g::text), 600) end
			from generate_series(1, 40000) g});
}
my $state = 'select count(*), sum(id), sum(n), count(distinct v), sum(length(big)) from t_@; select k, count(*), sum(n) from t_@ group by 1 order by 1';

# Columns, single rows, changes and large values, on all shards of both twins, in one transaction.
sub work
{
	my ($round) = @_;
	my $first = 1000000 * $round;
	my $script = qq{
		insert into t_@ select g % 40, $first + g, 'r$round ' || g % 300, g, case when g % 3000 = 0 then repeat(md5(g::text), 600) end
			from generate_series(1, 30000) g;
		insert into t_@ values (1, $first, 'one'), (2, $first, 'two'), (3, $first, 'three'), (4, $first, 'four');
		update t_@ set n = n + $round where id % 19 = 0;
		update t_@ set big = 'short' where id = 2000 * $round;
		delete from t_@ where id % 23 = $round;
	};
	return 'begin; set local synchronous_commit = on;'
		. join('', map { $script =~ s/_@/_$_/gr } 'h', 'z') . 'commit;';
}

my $nclients = 0;

# psql in the background, with a script.
sub start_client
{
	my ($script) = @_;
	my $file = $coordinator->basedir . '/client' . ++$nclients . '.sql';
	my %client = (out => '', err => '');

	append_to_file($file, $script);
	$client{run} = IPC::Run::start([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d',
		$coordinator->connstr('postgres'), '-f', $file ],
		'<', '/dev/null', '>', \$client{out}, '2>', \$client{err});
	return \%client;
}

sub prepared
{
	my ($node) = @_;
	return $node->safe_psql('postgres', 'select count(*) from pg_prepared_xacts');
}

sub hold_commits
{
	my ($standby) = @_;
	$coordinator->safe_psql('postgres', "alter system set synchronous_standby_names = '$standby'");
	$coordinator->safe_psql('postgres', 'select pg_reload_conf()');
	return;
}

# The workers have prepared, and the coordinator has not told them yet that it has committed.
sub wait_for_prepared
{
	wait_for_sql($_, 'select count(*) > 0 from pg_prepared_xacts') for $worker1, $worker2;
	wait_for_sql($coordinator, q{select count(*) > 0 from pg_stat_activity where wait_event = 'SyncRep' and query ~ 'commit'});
	return;
}

# VACUUM and ANALYZE of all shards of a worker, on the worker itself.
sub vacuum_shards
{
	my ($node) = @_;
	my $tables = $node->safe_psql('postgres', q{
		set citus.override_table_visibility = off;
		select string_agg(oid::regclass::text, ', ') from pg_class where relname ~ '^t_z_\d{6}$'});

	$node->safe_psql('postgres', "vacuum analyze $tables");
	return;
}

# Tell all workers what became of their prepared transactions.
sub recover
{
	wait_for_sql($_, 'select true') for @nodes;
	$coordinator->poll_query_until('postgres', q{
		select recover_prepared_transactions() >= 0 and
			(select bool_and(result = '0') from run_command_on_workers('select count(*) from pg_prepared_xacts'))})
	  or die 'prepared transactions stay';
	return;
}

# ---- a worker dies with transactions that the coordinator has committed

my $before = twins($coordinator, 'before', $state);
for my $round (1 .. 2)
{
	my $title = 'a worker dies between prepare and commit'
		. ($round == 2 ? ', after a checkpoint' : '');

	hold_commits('nobody');
	my $client = start_client(work($round));
	wait_for_prepared();
	my $n = prepared($worker1);
	cmp_ok($n, '>', 0, "$title: $n transactions are prepared there");
	$worker1->safe_psql('postgres', 'checkpoint') if $round == 2;
	kill_server($worker1);
	kill_and_restart($worker1, killed => 1);
	is(prepared($worker1), $n, "$title: they are still there when it is back");
	check_shards("$title, before it is told", $worker1, $worker2);
	vacuum_shards($_) for $worker1, $worker2;
	check_shards("$title, after VACUUM", $worker1, $worker2);
	hold_commits('');
	$client->{run}->finish;
	is($client->{run}->result(0), 0, "$title: the client's transaction has been committed")
		or diag($client->{err});
	recover();
	my $after = twins($coordinator, "$title: the rows", $state);
	isnt($after, $before, "$title: what was committed is there");
	is($coordinator->safe_psql('postgres', "select count(*) from t_z where id between 1000000 * $round and 1000000 * $round + 30000 and id % 23 <> $round"),
		$coordinator->safe_psql('postgres', "select count(*) from generate_series(1000000 * $round, 1000000 * $round + 30000) g where g % 23 <> $round")
		+ $coordinator->safe_psql('postgres',
			"select case when (1000000 * $round) % 23 <> $round then 3 else 0 end"),
			"$title: all of it");
	check_shards($title, @nodes);
	$before = $after;
}

# ---- all of them die

{
	my $round = 3;
	my $title = 'all die between prepare and commit';

	hold_commits('nobody');
	my $client = start_client(work($round));
	wait_for_prepared();
	kill_server($_) for @nodes;
	eval { $client->{run}->finish };
	$coordinator->append_conf('postgresql.conf', "synchronous_standby_names = ''");
	unlink $coordinator->data_dir . '/postgresql.auto.conf';
	append_to_file($coordinator->data_dir . '/postgresql.auto.conf', '');
	kill_and_restart($_, killed => 1) for @nodes;
	recover();
	my $after = twins($coordinator, "$title: the rows", $state);
	isnt($after, $before, "$title: what the coordinator had committed is there");
	check_shards($title, @nodes);
	$before = $after;
}

# ---- one worker has prepared, the coordinator dies before it decides

for my $round (4 .. 5)
{
	my $title = 'the coordinator dies before it has committed'
		. ($round == 5 ? ', the prepared worker too' : '');
	my $shard = $worker2->safe_psql('postgres', q{
		set citus.override_table_visibility = off;
		select oid::regclass from pg_class where relname ~ '^t_z_\d{6}$' order by 1 limit 1});

	$worker2->safe_psql('postgres', qq{
		set citus.enable_ddl_propagation = off;
		set citus.enable_manual_changes_to_shards = on;
		create or replace function wait_here() returns trigger language plpgsql as \$\$ begin perform pg_advisory_xact_lock_shared(4711); return null; end \$\$;
		create constraint trigger wait_here after insert on $shard deferrable initially deferred for each row execute function wait_here()});
	my $holder = $worker2->background_psql('postgres');
	$holder->query_safe('select pg_advisory_lock(4711)');
	my $client = start_client(work($round));
	wait_for_sql($worker1, 'select count(*) > 0 from pg_prepared_xacts');
	wait_for_sql($worker2,
		q{select count(*) > 0 from pg_locks where locktype = 'advisory' and not granted});
	cmp_ok(prepared($worker1), '>', 0, "$title: one worker has prepared");
	kill_server($coordinator);
	if ($round == 5)
	{
		kill_server($worker1);
		kill_and_restart($worker1, killed => 1);
	}
	eval { $client->{run}->finish };
	kill_and_restart($coordinator, killed => 1);
	$holder->quit;
	# the backends of the dead coordinator roll back, or prepare after all
	wait_for_sql($worker2, q{select count(*) = 0 from pg_stat_activity where pid <> pg_backend_pid() and query ~ 'PREPARE TRANSACTION' and state = 'active'});
	recover();
	is(twins($coordinator, "$title: the rows", $state), $before, "$title: nothing of it is there");
	$worker2->safe_psql('postgres', qq{
		set citus.enable_ddl_propagation = off;
		set citus.enable_manual_changes_to_shards = on;
		drop trigger wait_here on $shard});
	check_shards($title, @nodes);
}

# ---- a worker dies in the middle of a load

{
	my $title = 'a worker dies during COPY';
	my $client = start_client(q{copy t_z (k, id, v) from program 'seq -f "%.0f" 90000001 90300000 | sed "s/\(.*\)\(..\)$/\2,\1\2,x/"' with (format csv)});

	wait_for_sql($worker1,
		q{select count(*) > 0 from pg_stat_activity where query ~* '^copy ' and state = 'active'});
	kill_server($worker1);
	eval { $client->{run}->finish };
	isnt($client->{run}->result(0), 0, "$title: the client gets an error");
	kill_and_restart($worker1, killed => 1);
	recover();
	is(twins($coordinator, "$title: the rows", $state), $before, "$title: nothing of it is there");
	twins($coordinator, 'work goes on', 'update t_@ set n = n + 1 where k < 20; delete from t_@ where id % 5 = 0; insert into t_@ values (1, -1); ' . $state);
	vacuum_shards($_) for $worker1, $worker2;
	check_shards($title, @nodes);
}

for my $node (@nodes)
{
	unlike(slurp_file($node->logfile),
		qr/TRAP:|PANIC:|terminated by signal (?:6|11)|out of relcache_callback_list/, $node->name
		. ': nothing crashed by itself');
}

done_testing();
