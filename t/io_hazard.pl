# Asynchronous writes outlive the process that started them.  On a slow volume a long queue is in
# flight when its worker, or the whole cluster, is killed: recovery must not begin
# before the last of these writes has landed.
#
# The proof is the device's own counter of what it wrote: when the log says that the barrier is
# passed, which is before the startup process exists, it must have grown by all that was in flight.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);
use ZedstoreIo;
use ZedstoreTest;
use ZedstoreVolume;

plan skip_all => 'needs loop devices: run scripts/run-tests as root' if !volumes_possible();

# Writes per second while the volume is slow; requests of one block that are in flight then.
my $iops = 25;
my $queue = 100;

# Counters may lag behind by what is ending in this moment.
my $tolerance = 4;

my $barrier = qr/waited for writes in flight to \d+ files? that I\/O worker 1 was writing/;
my $tries = $PostgreSQL::Test::Utils::timeout_default * 500;

# Starts a checkpoint; returns it, what the volume had written, and what was
# in flight to it a moment later.
sub fill_queue
{
	my ($node, $volume) = @_;
	my ($checkpoint, $landed, $full);

	# the counters begin with the server
	$node->restart;
	wait_for_workers($node);
	change_twins($node);
	wait_for_gate($node);
	slow_down($volume, $iops);
	$checkpoint = start_sql($node, 'checkpoint');
	for (1 .. $tries)
	{
		$landed = blocks_landed($volume);
		my $in_flight = $node->safe_psql('postgres', q{
			select checkpoint_blocks_done - blocks - blocks_skipped from pg_stat_zedstore_io
			where worker = 1 and role = 'checkpoint'});

		# what goes to other volumes has ended when it is full for the second time
		return ($checkpoint, $landed, $in_flight) if ($in_flight || 0) >= $queue && $full++;
		usleep(200_000);
	}
	die 'the queue does not fill up';
}

# What the volume had written when the line was in the log.
sub landed_at
{
	my ($node, $volume, $line, $log_end) = @_;
	for (1 .. $tries)
	{
		return blocks_landed($volume) if slurp_file($node->logfile, $log_end) =~ $line;
		usleep(2_000);
	}
	die "the log does not show $line";
}

sub kill_and_check
{
	my ($node, $volume, $victim) = @_;
	my $title = "$volume->{type}, $victim killed";
	my ($checkpoint, $landed, $in_flight) = fill_queue($node, $volume);
	my $goal = $landed + $in_flight - $tolerance;
	my $log_end = -s $node->logfile;

	if ($victim eq 'worker')
	{
		kill 'KILL', $node->safe_psql('postgres',
			'select distinct pid from pg_stat_zedstore_io where worker = 1');
	}
	else
	{
		# the device waits until somebody has looked
		slow_down($volume, 1);
		kill_server($node);
		cmp_ok(blocks_landed($volume), '<', $goal, "$title: writes outlive their process");
		slow_down($volume, $iops);
		unlink $node->data_dir . '/postmaster.pid';
		system_log('pg_ctl', '-D', $node->data_dir, '-W', '-l', $node->logfile, 'start');
	}
	cmp_ok(landed_at($node, $volume, $barrier, $log_end), '>=', $goal,
		"$title: all that was in flight has landed when the barrier is passed");
	slow_down($volume, 0);
	$checkpoint->finish;
	$node->wait_for_log(qr/database system is ready to accept connections/, $log_end);
	$node->_update_pid(1);
	like(slurp_file($node->logfile, $log_end), qr/$barrier.*redo starts/s,
		"$title: and recovery begins after it");
	wait_for_workers($node);
	check_twins($node, $title);
	return;
}

foreach my $type ('ext4', 'xfs')
{
	my $volume = eval { new_volume($type, 400) };

	# only what is started from now on can be slow
	if (!$volume || !eval { slow_down($volume, 0); 1 })
	{
		diag "SKIPPED: $@";
		next;
	}
	$volume->{type} = $type;

	my $node = new_node($type, conf => io_conf('io_uring') . <<'CONF');
zedstore.io_queue_depth = 128
zedstore.io_request_size = 8kB
shared_buffers = 64MB
CONF
	if (!io_method_works($node, 'io_uring'))
	{
		$node->stop;
		last;
	}
	make_twins($node);
	$node->safe_psql('postgres', "create tablespace slow location '$volume->{dir}'");
	$node->safe_psql('postgres', "alter table $_ set tablespace slow") for 'h', 'z';
	$node->safe_psql('postgres', "alter index ${_}_pkey set tablespace slow") for 'h', 'z';
	kill_and_check($node, $volume, $_) for 'worker', 'cluster';
	check_files($node, $type, start => 0);
	slow_down($volume, 0);
}

plan skip_all => 'no slow volumes, or no io_uring, on this machine'
	if !Test::More->builder->current_test;
done_testing();
