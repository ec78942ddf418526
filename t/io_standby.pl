# I/O workers with the cleaner role on a standby: restartpoints, buffers that replay needs, a crash
# in the midst of it, and promotion under load, with consistency checks of all pages that are
# replayed. With both methods; heap is the oracle.
#
# Takes 30 seconds of a processor: scripts/run-tests starts it early.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreIo;
use ZedstoreTest;

my $conf = <<'CONF';
wal_consistency_checking = 'all'
zedstore.io_workers = 2
shared_buffers = 8MB
max_wal_size = 2GB
checkpoint_timeout = 1h
log_checkpoints = on
# the cleaner has work, however well the device does
zedstore.io_rest = off
bgwriter_lru_maxpages = 0
autovacuum = off
max_worker_processes = 12
restart_after_crash = on
CONF

sub blocks_of_role
{
	my ($node, $role) = @_;
	return $node->safe_psql('postgres',
		"select coalesce(sum(blocks), 0) from pg_stat_zedstore_io where role = '$role'");
}

# Random rows of both twins, more than shared buffers hold.
sub start_updates
{
	my ($node, $script, $seconds) = @_;

	append_to_file($script, <<'SQL') if !-e $script;
\set id random(1, 30000)
begin;
update h set v = v + :id where id = :id;
update z set v = v + :id where id = :id;
commit;
SQL
	return IPC::Run::start(
		[ 'pgbench', '-n', '-f', $script, '-c', '2', '-T', $seconds, $node->connstr('postgres') ],
		'<', '/dev/null', '>', '/dev/null', '2>', '/dev/null');
}

# Restartpoints while changes arrive, until workers have written for them and ahead of the clock
# hand.
sub run_restartpoints
{
	my ($primary, $standby) = @_;

	for (1 .. 100)
	{
		$primary->safe_psql('postgres', 'checkpoint');
		$primary->wait_for_catchup($standby);
		$standby->safe_psql('postgres', 'checkpoint');
		return if blocks_of_role($standby, 'checkpoint') > 0
			&& blocks_of_role($standby, 'cleaner') > 0;
	}
	return;
}

foreach my $method ('pwritev', 'io_uring')
{
	my $primary = new_node("primary_$method", allows_streaming => 1, conf => $conf
		. $io_methods{$method});
	if (!io_method_works($primary, $method))
	{
		$primary->stop;
		next;
	}
	my $script = $primary->basedir . '/load.sql';
	$primary->safe_psql('postgres', q{
		create extension amcheck;
		create table h (id int primary key, v bigint, pad text) with (fillfactor = 50);
		create table z (id int primary key, v bigint, pad text) using zedstore;
		insert into h select i, 0, repeat(md5(i::text), 10) from generate_series(1, 30000) i;
		insert into z select * from h;
		select pg_create_physical_replication_slot('standby', true)});
	my $standby = standby_of($primary, "standby_$method",
		conf => "primary_slot_name = 'standby'\n");
	wait_for_workers($standby);

	# -- restartpoints
	my $load = start_updates($primary, $script, 600);
	run_restartpoints($primary, $standby);
	note "$method: blocks for restartpoints " . blocks_of_role($standby, 'checkpoint')
	  . ', ahead of the clock hand ' . blocks_of_role($standby, 'cleaner');
	cmp_ok(blocks_of_role($standby, 'checkpoint'), '>', 0,
		"$method: workers write for restartpoints");
	cmp_ok(blocks_of_role($standby, 'cleaner'), '>', 0, "$method: workers write ahead of replay");
	is($standby->safe_psql('postgres', 'select sum(errors) from pg_stat_zedstore_io'), '0',
		"$method: no errors");

	# -- the standby dies, a worker of it dies, with all that under way
	kill_server($standby);
	kill_and_restart($standby, killed => 1);
	wait_for_workers($standby);
	same_twins($standby, "$method, standby killed");
	run_restartpoints($primary, $standby);
	my $log_end = -s $standby->logfile;
	kill 'KILL', $standby->safe_psql('postgres',
		'select pid from pg_stat_zedstore_io where worker = 2 limit 1');
	$standby->wait_for_log(qr/database system is ready to accept read-only connections/, $log_end);
	wait_for_workers($standby);
	same_twins($standby, "$method, worker killed");

	# -- promotion, while the primary goes on, and a restartpoint runs
	my $checkpoint = start_sql($standby, 'checkpoint');
	$standby->promote;
	$checkpoint->finish;
	is($checkpoint->result(0), 0, "$method: promotion during a restartpoint");
	$load->signal('TERM');
	$load->finish;
	same_twins($standby, "$method, promoted");

	# -- the new primary, under load at once
	my @before = map { blocks_of_role($standby, $_) } 'checkpoint', 'cleaner';
	$load = start_updates($standby, $script, 600);
	for (1 .. 100)
	{
		$standby->safe_psql('postgres', 'checkpoint');
		last if blocks_of_role($standby, 'checkpoint') > $before[0]
			&& blocks_of_role($standby, 'cleaner') > $before[1];
	}
	$load->signal('TERM');
	$load->finish;
	cmp_ok(blocks_of_role($standby, 'checkpoint'), '>', $before[0],
		"$method, promoted: workers write for checkpoints");
	cmp_ok(blocks_of_role($standby, 'cleaner'), '>', $before[1],
		"$method, promoted: workers write ahead of the clock hand");
	kill_server($standby);
	kill_and_restart($standby, killed => 1);
	wait_for_workers($standby);
	check_twins($standby, "$method, promoted and killed");
	check_twins($primary, "$method, old primary");
	unlike(slurp_file($standby->logfile), qr/inconsistent page found/,
		"$method: replayed pages are the primary's");
	check_files($standby, "$method, promoted", start => 0);
	check_files($primary, "$method, primary", start => 0);
}

done_testing();
