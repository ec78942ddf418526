# I/O workers clean buffers ahead of the clock hand: with them, backends that need buffers
# find clean ones, and hardly write themselves.  With both methods; the results are those of a
# heap twin, and checksums of all files hold.
#
# Takes 35 seconds of a processor: scripts/run-tests starts it early.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);
use ZedstoreIo;
use ZedstoreTest;

my $conf = <<'CONF';
zedstore.io_workers = 1
# the load is the cleaner's, however well the device does
zedstore.io_rest = off
shared_buffers = 8MB
max_wal_size = 2GB
checkpoint_timeout = 1h
# what core's background writer does would blur the figures
bgwriter_lru_maxpages = 0
autovacuum = off
CONF

# Random updates of more than shared buffers hold; returns the blocks that client backends and the
# cleaner wrote meanwhile.
sub run_load
{
	my ($node, @options) = @_;
	my $count = q{
		select (select sum(writes) from pg_stat_io
				where backend_type = 'client backend' and object = 'relation' and context = 'normal'),
			(select sum(blocks) from pg_stat_zedstore_io where role = 'cleaner')};

	my @before = split /\|/, $node->safe_psql('postgres', $count);
	$node->command_ok([ 'pgbench', '-n', '-f', $node->basedir . '/load.sql',
			'-c', '2', '-t', '1200',
			@options, 'postgres' ], 'load');
	my @after = split /\|/, $node->safe_psql('postgres', $count);
	return ($after[0] - $before[0], $after[1] - $before[1]);
}

# Does the cleaner write between two looks at the same round of a checkpoint?
sub cleans_in_round
{
	my ($node) = @_;
	my ($round, $blocks) = (-1, 0);
	for (1 .. 1000)
	{
		my ($now, $under_way, $written) = split /\|/, $node->safe_psql('postgres', q{
			select c.rounds, c.checkpoint_blocks_total is not null, k.blocks
			from pg_stat_zedstore_io c, pg_stat_zedstore_io k where c.role = 'checkpoint' and k.role = 'cleaner'});

		return 1 if $under_way eq 't' && $now == $round && $written > $blocks;
		($round, $blocks) = ($under_way eq 't' ? $now : -1, $written);
		usleep(50_000);
	}
	return 0;
}

foreach my $method (grep { case_wanted($_) } 'pwritev', 'io_uring')
{
	my $node = new_node("main_$method", conf => "$conf\nzedstore.io_method = $method\n");
	if (!io_method_works($node, $method))
	{
		$node->stop;
		next;
	}
	append_to_file($node->basedir . '/load.sql', <<'SQL');
\set id random(1, 40000)
begin;
update h set v = v + :id where id = :id;
update z set v = v + :id where id = :id;
commit;
SQL
	$node->safe_psql('postgres', q{
		create table h (id int primary key, v int, pad text) with (fillfactor = 50);
		create table z (id int primary key, v int, pad text) using zedstore;
		insert into h select i, 0, repeat(md5(i::text), 10) from generate_series(1, 40000) i;
		insert into z select * from h;
		create extension amcheck;
		checkpoint});

	set_io_conf($node, 'zedstore.io_cleaner', 'off');
	my $began = time;
	my ($alone) = run_load($node);
	my $rate = 2400 / (time - $began + 1);
	set_io_conf($node, 'zedstore.io_cleaner', 'on');
	run_load($node);
	my ($backends, $cleaner) = run_load($node);
	# a device that cannot follow gets more time for the same load
	for (1 .. 3)
	{
		last if $backends < $cleaner && $backends < $alone / 2;
		$rate /= 3;
		note "$method: $backends by backends, $cleaner by the cleaner; again with $rate transactions per second";
		($backends, $cleaner) = run_load($node, '-R', $rate);
	}
	note "$method: client backends wrote $alone blocks without, $backends with the cleaner, which wrote $cleaner";
	cmp_ok($alone, '>', 1000, "$method: the load makes backends write");
	cmp_ok($backends, '<', $cleaner, "$method: the cleaner writes the larger part");
	cmp_ok($backends, '<', $alone / 2, "$method: backends write less");

	# -- what the page cache holds is written out later, and at once; the point is where the kernel is asked
	if (has_injection_points($node))
	{
		$node->safe_psql('postgres', 'create extension injection_points');
		set_io_conf($node, 'zedstore.io_write_back_delay', '100ms');
		$node->safe_psql('postgres', q{select injection_points_attach('zs-io-later', 'wait')});
		my $load = IPC::Run::start(
			[ 'pgbench', '-n', '-f', $node->basedir . '/load.sql', '-c', '2', '-T', '600',
				$node->connstr('postgres') ], '>', '/dev/null', '2>', '/dev/null');
		my $held = $node->safe_psql('postgres', q{
			select sum(cached_requests) from pg_stat_zedstore_io where role = 'cleaner'});
		if ($held > 0)
		{
			wait_for_sql($node, q{
				select count(*) > 0 from pg_stat_activity where wait_event = 'zs-io-later'});
			pass("$method: written out later");
			$node->safe_psql('postgres', q{
				select injection_points_detach('zs-io-later');
				select injection_points_wakeup('zs-io-later')});
		}
		else
		{
			diag 'SKIPPED: the page cache does not tell what it holds';
			$node->safe_psql('postgres', q{select injection_points_detach('zs-io-later')});
		}
		$load->signal('TERM');
		$load->finish;
		set_io_conf($node, 'zedstore.io_write_back_delay', '0');
		my ($by_backends, $by_cleaner) = run_load($node);
		cmp_ok($by_cleaner, '>', 0, "$method: the cleaner cleans without delay, too");
		same_twins($node, "$method, later and at once");
		set_io_conf($node, 'zedstore.io_write_back_delay', '30s');
	}

	# -- beside a burst of checkpoints; priorities and hints change nothing
	set_io_conf($node, 'zedstore.io_priority', 'idle');
	set_io_conf($node, 'zedstore.io_write_hint', 'long');
	my $load = IPC::Run::start(
		[ 'pgbench', '-n', '-f', $node->basedir . '/load.sql', '-c', '2', '-t', '1200',
			$node->connstr('postgres') ], '>', '/dev/null', '2>', '/dev/null');
	$node->safe_psql('postgres', 'checkpoint') while $load->pumpable;
	$load->finish;
	is($node->safe_psql('postgres', 'select sum(errors) from pg_stat_zedstore_io'), '0',
		"$method: no errors");

	# -- a spread checkpoint that is late, because much WAL comes and the worker may write little:
	# buffers are cleaned meanwhile
	$node->append_conf('postgresql.conf', "max_wal_size = 32MB\nzedstore.io_max_iops = 40\n");
	$node->reload;
	$load = IPC::Run::start(
		[ 'pgbench', '-n', '-f', $node->basedir . '/load.sql', '-c', '2', '-T', '600',
			$node->connstr('postgres') ], '>', '/dev/null', '2>', '/dev/null');
	ok(cleans_in_round($node), "$method: buffers are cleaned in the middle of a late checkpoint");
	$load->signal('TERM');
	$load->finish;
	$node->append_conf('postgresql.conf', "max_wal_size = 2GB\nzedstore.io_max_iops = 0\n");
	$node->reload;

	# -- a server that dies with the cleaner at work
	foreach my $cycle (1 .. 2)
	{
		$load = IPC::Run::start(
			[ 'pgbench', '-n', '-f', $node->basedir . '/load.sql', '-c', '2', '-T', '600',
				$node->connstr('postgres') ], '>', '/dev/null', '2>', '/dev/null');
		wait_for_sql($node, q{
			select sum(blocks) > 500 from pg_stat_zedstore_io where role = 'cleaner'});
		kill_and_restart($node);
		$load->finish;
		same_twins($node, "$method, killed $cycle");
	}
	check_twins($node, $method);
	$node->stop('fast');
	command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ], "$method: checksums");
}

done_testing();
