# I/O workers: they write for checkpoints what core would write, beside
# everything that makes, moves and removes files, and whoever dies meanwhile.
#
# Each group runs with both methods.  After each: checksums of all files, heap
# and zedstore twins, indexes, zs_check.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

my $conf = <<'CONF';
zedstore.io_workers = 1
shared_buffers = 16MB
max_wal_size = 2GB
checkpoint_timeout = 1h
log_checkpoints = on
max_worker_processes = 12
restart_after_crash = on
CONF

# Blocks that the workers wrote for checkpoints, of a server that runs.
sub written
{
	my ($node) = @_;
	return $node->safe_psql('postgres', q{
		select coalesce(sum(blocks), 0) from pg_stat_zedstore_io where role = 'checkpoint'});
}

# As many workers run as the settings ask for; the first is always there.
sub wait_for_worker
{
	my ($node) = @_;
	wait_for_sql($node, q{
		select count(*) = greatest(current_setting('zedstore.io_workers')::int, 1)
		from pg_stat_activity where backend_type = 'zedstore I/O worker'});
	return;
}

# Twins: the same rows in a heap and a zedstore table, with an index each.
sub make_twins
{
	my ($node) = @_;
	$node->safe_psql('postgres', q{
		create table h (id int primary key, v int, pad text);
		create table z (id int primary key, v int, pad text) using zedstore;
		insert into h select i, 0, repeat(md5(i::text), 6) from generate_series(1, 20000) i;
		insert into z select * from h;
		create unlogged table u (a int);
		create extension if not exists amcheck});
	return;
}

sub check_twins
{
	my ($node, $title) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($node->safe_psql('postgres', q{
		select count(*) from (
			(select * from h except select * from z) union all
			(select * from z except select * from h)) d}), '0', "$title: twins agree");
	is($node->safe_psql('postgres', q{
		select count(*) from (select bt_index_check(c.oid, true) from pg_class c
			join pg_index i on i.indexrelid = c.oid
			where i.indrelid in ('h'::regclass, 'z'::regclass)) x}), '2', "$title: indexes");
	zs_check_all($node, 'postgres', "$title: zs_check");
	return;
}

# Stops the server and verifies the checksums of all its files.
sub check_files
{
	my ($node, $title) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$node->stop('fast');
	command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ], "$title: checksums");
	$node->start;
	wait_for_worker($node);
	return;
}

# Work on the twins in the background, the same in both.
sub start_load
{
	my ($node, $seconds) = @_;
	my $script = $node->basedir . '/load.sql';
	append_to_file($script, <<'SQL') unless -e $script;
\set id random(1, 20000)
\set d random(-100, 100)
begin;
update h set v = v + :d where id = :id;
update z set v = v + :d where id = :id;
commit;
SQL
	return IPC::Run::start(
		[ 'pgbench', '-n', '-f', $script, '-c', '3', '-T', $seconds, $node->connstr('postgres') ],
		'>', '/dev/null', '2>', '/dev/null');
}

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

foreach my $method ('pwritev', 'io_uring')
{
	my $node = new_node("main_$method", conf => "$conf\nzedstore.io_method = $method\n");
	wait_for_worker($node);
	my $used = $node->safe_psql('postgres', 'select distinct method from pg_stat_zedstore_io');
	if ($used ne $method)
	{
		diag "SKIPPED: no $method on this machine";
		$node->stop;
		next;
	}

	# -- one checkpoint
	make_twins($node);
	my $before = written($node);
	$node->safe_psql('postgres', 'checkpoint');
	my $lsn = $node->lsn('insert');
	cmp_ok(written($node), '>', $before, "$method: a worker wrote for a checkpoint");
	is($node->safe_psql('postgres', q{
		select count(*) from pg_stat_zedstore_io where errors > 0}), '0', "$method: no errors");
	ok($node->log_contains(qr/I\/O worker 1 wrote \d+ of \d+ dirty buffers for the checkpoint/),
		"$method: the log tells");
	check_files($node, $method);
	check_twins($node, $method);

	# -- under load, with settings that make many small requests
	$node->append_conf('postgresql.conf', "zedstore.io_queue_depth = 4\nzedstore.io_request_size = 2\n");
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
		wait_for_worker($node);
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
		[ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-c', 'set client_min_messages = error' ,
			map { ('-c', $_) } (
				'create table f (a int, b text)',
				(map { (
					"insert into f select i, repeat('x', 200) from generate_series(1, 5000) i",
					'alter table f set tablespace ts', 'truncate f',
					"insert into f select i, repeat('y', 200) from generate_series(1, 3000) i",
					'alter table f set tablespace pg_default', 'insert into u select generate_series(1, 3000)',
					"create table g$_ using zedstore as select i, md5(i::text) from generate_series(1, 3000) i",
					'delete from f where a > 100', 'vacuum f', "drop table g$_",
					"create database d$_ strategy wal_log", "create database e$_ strategy file_copy",
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
	my $log_end = -s $node->logfile;
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
	conf => "$conf\nzedstore.io_workers = 2\n");
make_twins($primary);
my $standby = standby_of($primary, 'standby');
wait_for_worker($standby);
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
cmp_ok(written($standby), '>', 0, 'standby: workers wrote for a restartpoint');
check_twins($standby, 'standby');
$standby->promote;
$standby->safe_psql('postgres', 'update h set v = v + 1; update z set v = v + 1; checkpoint');
check_twins($standby, 'promoted');
$standby->stop('fast');
command_ok([ 'pg_checksums', '--check', '-D', $standby->data_dir ], 'promoted: checksums');
$primary->stop;

done_testing();
