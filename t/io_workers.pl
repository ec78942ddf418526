# I/O workers: they write for checkpoints what core would write, beside
# everything that makes, moves and removes files, and whoever dies meanwhile.
#
# Each group runs with both methods.  After each: checksums of all files, heap and
# zedstore twins, indexes, zs_check.
#
# Takes 28 seconds of a processor: scripts/run-tests starts it early.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreIo;
use ZedstoreTest;

# Checkpoints one after the other while the load runs; returns how many.
sub checkpoint_storm
{
	my ($node, $load) = @_;
	my $n = 0;
	while ($load->pumpable)
	{
		$node->safe_psql('postgres', 'checkpoint');
		$n++;
	}
	$load->finish;
	return $n;
}

foreach my $method (grep { case_wanted($_) } 'pwritev', 'io_uring')
{
	my $node = new_node("main_$method", conf => io_conf($method));
	if (!io_method_works($node, $method))
	{
		$node->stop;
		next;
	}

	# -- one checkpoint
	make_twins($node);
	my $before = blocks_written($node);
	wait_for_gate($node);
	$node->safe_psql('postgres', 'checkpoint');
	my $lsn = $node->lsn('insert');
	cmp_ok(blocks_written($node), '>', $before, "$method: a worker wrote for a checkpoint");
	is($node->safe_psql('postgres', q{
		select count(*) from pg_stat_zedstore_io where errors > 0}), '0', "$method: no errors");
	$node->wait_for_log(qr/I\/O worker 1 wrote \d+ of \d+ dirty buffers for the checkpoint/);
	pass("$method: the log tells");
	check_files($node, $method);
	check_twins($node, $method);

	# -- the checkpointer stays behind the worker, and finds nothing left to write
	change_twins($node);
	wait_for_gate($node);
	my $log_end = -s $node->logfile;
	$node->safe_psql('postgres', 'checkpoint');
	$node->wait_for_log(qr/I\/O worker 1 wrote (\d+) of (\d+) dirty buffers/, $log_end);
	my ($wrote, $of) = slurp_file($node->logfile,
		$log_end) =~ /I\/O worker 1 wrote (\d+) of (\d+) dirty buffers/;
	cmp_ok($wrote, '>=', 0.95 * $of, "$method: the worker wrote it all");

	# -- under load, with settings that make many small requests
	$node->append_conf('postgresql.conf',
		"zedstore.io_queue_depth = 4\nzedstore.io_request_size = 2\n");
	$node->reload;
	my $load = start_load($node, 4);
	cmp_ok(checkpoint_storm($node, $load), '>=', 1, "$method: checkpoints under load");
	check_files($node, "$method, load");
	check_twins($node, "$method, load");

	# -- limits; what was written before there was one does not count
	my $update = 'update h set v = v + 1; update z set v = v + 1; checkpoint';
	$node->safe_psql('postgres', $update) for 1 .. 4;
	my $requests = $node->safe_psql('postgres', 'select sum(requests) from pg_stat_zedstore_io');
	$node->append_conf('postgresql.conf', "zedstore.io_max_iops = 500\n");
	$node->reload;
	wait_for_sql($node, "select current_setting('zedstore.io_max_iops') = '500'");
	# until the worker has read the setting too
	my $paced = 'f';
	for (1 .. 100)
	{
		$node->safe_psql('postgres', $update);
		$paced = $node->safe_psql('postgres', 'select sum(pace_time) > 0 from pg_stat_zedstore_io');
		last if $paced eq 't';
	}
	is($paced, 't', "$method: a limit slows a checkpoint down");
	# naps that end early count more than once with io_uring
	is($node->safe_psql('postgres', qq{
		select sum(pace_time) <= 2 * (sum(requests) - $requests) * 1000 / 500 from pg_stat_zedstore_io}),
		't', "$method: by no more than its own requests take")
	  if $method eq 'pwritev';
	$node->append_conf('postgresql.conf', "zedstore.io_max_iops = 0\n");

	# -- more and fewer workers, without a restart
	foreach my $n (3, 1, 0, 2)
	{
		$node->append_conf('postgresql.conf', "zedstore.io_workers = $n\n");
		$node->reload;
		wait_for_sql($node, "select current_setting('zedstore.io_workers') = '$n'");
		wait_for_workers($node);
		$node->safe_psql('postgres', 'update h set v = v + 1 where id % 10 = 0; update z set v = v + 1 where id % 10 = 0; checkpoint');
	}
	check_files($node, "$method, workers come and go") if $method eq 'pwritev';
	check_twins($node, "$method, workers come and go");

	# -- files that come, move and go under checkpoints
	mkdir $node->basedir . '/ts';
	my $ts = $node->basedir . '/ts';
	$node->safe_psql('postgres', "create tablespace ts location '$ts'");
	$load = start_load($node, 5);
	my $files = IPC::Run::start(
		[ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-c',
			'set client_min_messages = error' ,
			map { ('-c', $_) } (
				'create table f (a int, b text)',
				(map { (
					"insert into f select i, repeat('x', 200) from generate_series(1, 5000) i",
					'alter table f set tablespace ts', 'truncate f',
					"insert into f select i, repeat('y', 200) from generate_series(1, 3000) i",
					'alter table f set tablespace pg_default',
						'insert into u select generate_series(1, 3000)',
					"create table g$_ using zedstore as select i, md5(i::text) from generate_series(1, 3000) i",
					'delete from f where a > 100', 'vacuum f', "drop table g$_",
					"create database d$_ strategy wal_log",
						"create database e$_ strategy file_copy",
					"drop database d$_", "drop database e$_") } 1 .. 3)) ],
		'>', '/dev/null', '2>', \my $files_err);
	checkpoint_storm($node, $load);
	$files->finish;
	is($files->result(0), 0, "$method: DDL under checkpoints") or diag $files_err;
	is($node->safe_psql('postgres', q{select count(*), count(distinct b) from f}), '100|1',
		"$method: what DDL left");
	check_files($node, "$method, files");
	check_twins($node, "$method, files");

	# -- a worker is killed under load: the server restarts, nothing is lost
	$load = start_load($node, 30);
	$node->safe_psql('postgres', 'checkpoint');
	my $pid = $node->safe_psql('postgres', q{
		select min(pid) from pg_stat_activity where backend_type = 'zedstore I/O worker'});
	$log_end = -s $node->logfile;
	kill 'KILL', $pid;
	$load->finish;
	$node->wait_for_log(qr/database system is ready to accept connections/, $log_end);
	wait_for_sql($node, qq{
		select count(*) > 0 from pg_stat_activity
		where backend_type = 'zedstore I/O worker' and pid <> $pid});
	check_twins($node, "$method, worker killed");

	# -- the cluster is killed under load and checkpoints
	foreach my $cycle (1 .. 3)
	{
		$load = start_load($node, 30);
		$node->safe_psql('postgres', 'checkpoint') for 1 .. $cycle;
		kill_and_restart($node);
		$load->finish;
		check_twins($node, "$method, cluster killed $cycle");
	}
	check_files($node, "$method, cluster killed");
	$node->stop;
}

# -- a standby with workers, and its promotion
my $primary = new_node('primary', allows_streaming => 1,
	conf => io_conf() . "zedstore.io_workers = 2\n");
make_twins($primary);
my $standby = standby_of($primary, 'standby');
wait_for_workers($standby);
my $load = start_load($primary, 5);
while ($load->pumpable)
{
	$primary->safe_psql('postgres', 'checkpoint');
	$standby->safe_psql('postgres', 'checkpoint');
}
$load->finish;
$primary->safe_psql('postgres', 'checkpoint');
$primary->wait_for_catchup($standby);
$standby->safe_psql('postgres', 'checkpoint');
cmp_ok(blocks_written($standby), '>', 0, 'standby: workers wrote for a restartpoint');
check_twins($standby, 'standby');
$standby->promote;
$standby->safe_psql('postgres', 'update h set v = v + 1; update z set v = v + 1; checkpoint');
check_twins($standby, 'promoted');
$standby->stop('fast');
command_ok([ 'pg_checksums', '--check', '-D', $standby->data_dir ], 'promoted: checksums');
$primary->stop;

done_testing();
