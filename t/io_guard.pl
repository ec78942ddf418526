# I/O workers slow down while clients wait for WAL, and go on slowly rather than not at all.  A
# client that is stopped while it syncs WAL stands for a device that is too slow for both.
#
# Takes 10 seconds of a processor: scripts/run-tests starts it early.

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
zedstore.io_cleaner = off
zedstore.io_request_size = 1
# so that the checkpoint takes long enough
zedstore.io_max_iops = 200
shared_buffers = 64MB
max_wal_size = 2GB
checkpoint_timeout = 1h
bgwriter_lru_maxpages = 0
autovacuum = off
# or nobody would wait
fsync = on
CONF

# Requests per second that the guard allows, and what the checkpoint has done; 0 without a limit.
my $state = q{
	select coalesce(io_rate, 0), coalesce(checkpoint_blocks_done, -1), requests
	from pg_stat_zedstore_io where role = 'checkpoint'};

foreach my $method (grep { case_wanted($_) } 'pwritev', 'io_uring')
{
	my $node = new_node("main_$method", conf => "$conf\nzedstore.io_method = $method\n");
	if (!io_method_works($node, $method))
	{
		$node->stop;
		next;
	}
	# it has read what it needs long before the checkpoint that it looks at: there is another one in
	# between
	my $watch = $node->background_psql('postgres');
	$watch->query_safe($state);
	$node->safe_psql('postgres', q{
		create table big (a int, pad text);
		alter table big alter pad set storage plain;
		insert into big select i, repeat('x', 3000) from generate_series(1, 8000) i;
		create table small (a int);
		insert into small select generate_series(1, 100);
		checkpoint;
		update big set a = a + 1 where a % 3 = 0});

	# -- nobody else is there: who has waited for the UPDATE's WAL has left
	my $checkpoint = IPC::Run::start([
		'psql', '-X', '-c', 'checkpoint', $node->connstr('postgres') ],
		'>', '/dev/null', '2>', '/dev/null');
	my ($allowed, $blocks, $guarded) = (1, -1, 0);
	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		($allowed, $blocks) = split /\|/, $watch->query_safe($state);
		last if $blocks >= 0 && $allowed == 0;
		$guarded = $blocks if $allowed > 0;
		usleep(100_000);
	}
	is($allowed, 0, "$method: no limit while nobody waits but for the checkpoint");
	# half a second as the worker counts
	cmp_ok($guarded, '<', 100, "$method: and at once");
	$watch->quit;

	my $load = start_commits($node, 600);
	wait_for_sql($node, q{
		select io_rate is not null from pg_stat_zedstore_io where role = 'checkpoint'});
	pass("$method: a limit when clients commit");

	# -- stop a client in the middle of a sync; nobody syncs until it goes on
	my $stopped;
	for (1 .. 500)
	{
		my $pid = $node->safe_psql('postgres', q{
			select max(pid) from pg_stat_activity
			where query like 'update small%' and wait_event in ('WalSync', 'WALSync')});
		next if $pid eq '';
		kill 'STOP', $pid;
		usleep(20_000);
		# it may have been stopped with a lock that others need to connect
		my $event = '';
		eval {
			$node->psql('postgres', "select wait_event from pg_stat_activity where pid = $pid",
				stdout => \$event, timeout => 10, timed_out => \my $timed_out);
		};
		if (($event // '') =~ /^walsync$/i)
		{
			$stopped = $pid;
			last;
		}
		kill 'CONT', $pid;
	}
	ok($stopped, "$method: a client is stopped in a sync");
	wait_for_sql($node, q{
		select io_rate = 50 from pg_stat_zedstore_io where role = 'checkpoint'});
	my ($rate, $done, $before) = split /\|/, $node->safe_psql('postgres', $state);
	is($rate, 50, "$method: the worker slows down");
	cmp_ok($done, '>', 0, "$method: while it works for a checkpoint");
	wait_for_sql($node, qq{
		select requests > $before + 10 from pg_stat_zedstore_io where role = 'checkpoint'});
	pass("$method: and goes on");
	kill 'CONT', $stopped;

	# -- off
	$node->append_conf('postgresql.conf', "zedstore.io_guard = off\nzedstore.io_max_iops = 0\n");
	$node->reload;
	wait_for_sql($node, q{
		select io_rate is null from pg_stat_zedstore_io where role = 'checkpoint'});
	pass("$method: no limit without the guard");
	$checkpoint->finish;
	$load->signal('TERM');
	$load->finish;
	is($node->safe_psql('postgres', 'select sum(errors) from pg_stat_zedstore_io'), '0',
		"$method: no errors");
	$node->stop('fast');
	command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ], "$method: checksums");
}

done_testing();
