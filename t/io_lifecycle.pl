# Life of the I/O workers: start, change and stop by reload, workers that are
# terminated and killed, the postmaster's death, all ways to shut down, standby and
# promotion.
#
# "Slow" checkpoints are under way as long as a test needs: the workers may write a few requests a
# second, and the checkpointer waits behind them.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreIo;
use ZedstoreTest;

sub set_and_reload
{
	my ($node, %settings) = @_;
	$node->append_conf('postgresql.conf', join '',
		map { "$_ = $settings{$_}\n" } sort keys %settings);
	$node->reload;
	wait_for_sql($node, "select current_setting('$_') = '$settings{$_}'") for keys %settings;
	return;
}

sub workers
{
	my ($node) = @_;
	return split /\n/, $node->safe_psql('postgres', q{
		select pid from pg_stat_activity where backend_type = 'zedstore I/O worker' order by pid});
}

# The process of a worker, once it is there; not one of these.
sub worker_pid
{
	my ($node, $worker, @old) = @_;
	my $not = join ',', 0, @old;
	my $query = "from pg_stat_zedstore_io where worker = $worker and pid not in ($not) limit 1";

	wait_for_sql($node, "select count(*) > 0 $query");
	return $node->safe_psql('postgres', "select pid $query");
}

# Starts a checkpoint that a worker is in the midst of, and will be for minutes.
sub start_slow_checkpoint
{
	my ($node) = @_;
	set_and_reload($node, 'zedstore.io_max_iops' => 2, 'zedstore.io_request_size' => '8kB');
	change_twins($node);
	wait_for_gate($node);
	my $checkpoint = start_sql($node, 'checkpoint');
	wait_for_sql($node, 'select bool_or(checkpoint_blocks_done > 0 and
		checkpoint_blocks_done < checkpoint_blocks_total - 200) from pg_stat_zedstore_io');
	return $checkpoint;
}

sub full_speed
{
	my ($node) = @_;
	$node->append_conf('postgresql.conf',
		"zedstore.io_max_iops = 0\nzedstore.io_request_size = 256kB\n");
	return;
}

# ---- reload ---------------------------------------------------------------------------

my $node = new_node('main', allows_streaming => 1, conf => io_conf() . "zedstore.io_workers = 0\n");
make_twins($node);
is(scalar workers($node), 1, 'without workers one process is there');
is($node->safe_psql('postgres', 'select count(*) from pg_stat_zedstore_io'), '0',
	'it never worked');
my ($idle) = workers($node);
is($node->safe_psql('postgres', "select count(*) from pg_locks where pid = $idle"), '0',
	'and has no transaction that a checkpoint could wait for');
$node->safe_psql('postgres', 'checkpoint');
is(blocks_written($node), 0, 'the checkpointer wrote alone');

change_twins($node);
set_and_reload($node, 'zedstore.io_workers' => 3);
wait_for_workers($node);
worker_pid($node, $_) for 1 .. 3;
wait_for_gate($node);
is($node->safe_psql('postgres',
	q{select sum(rounds) from pg_stat_zedstore_io where role = 'checkpoint'}), '0',
	'workers that are started wait for the next checkpoint');
change_twins($node);
$node->safe_psql('postgres', 'checkpoint');
cmp_ok(blocks_written($node), '>', 0, 'a reload starts workers');
is(worker_pid($node, 1), $idle, 'the first is the process that slept');

set_and_reload($node, 'zedstore.io_workers' => 0);
wait_for_workers($node);
my $before = blocks_written($node);
change_twins($node);
$node->safe_psql('postgres', 'checkpoint');
is(blocks_written($node), $before, 'a reload stops them');
wait_for_sql($node, "select count(*) = 0 from pg_locks where pid = $idle");

set_and_reload($node, 'zedstore.io_workers' => 2, 'zedstore.io_checkpoint' => 'off');
change_twins($node);
$node->safe_psql('postgres', 'checkpoint');
is(blocks_written($node), $before, 'the checkpoint role can be turned off');
set_and_reload($node, 'zedstore.io_checkpoint' => 'on');
wait_for_workers($node);

# workers have a transaction all the time
my $pid = worker_pid($node, 1);
{
	local $ENV{PGOPTIONS} = '-c transaction_timeout=0';
	$node->append_conf('postgresql.conf', "transaction_timeout = 200ms\n");
	$node->reload;
	$node->safe_psql('postgres', 'select pg_sleep(0.5)');
	$node->safe_psql('postgres', 'checkpoint');
	is(worker_pid($node, 1), $pid, 'transaction_timeout does not end them');
	$node->append_conf('postgresql.conf', "transaction_timeout = 0\n");
	$node->reload;
}

# a method and other settings in the midst of a checkpoint
my $slow = start_slow_checkpoint($node);
full_speed($node);
set_and_reload($node, 'zedstore.io_method' => 'pwritev', 'zedstore.io_direct' => 'off');
$slow->finish;
is($slow->result(0), 0, 'reload during a checkpoint');
change_twins($node);
$node->safe_psql('postgres', 'checkpoint');
wait_for_sql($node, q{
	select bool_and(method = 'pwritev') from pg_stat_zedstore_io where pid is not null});
set_and_reload($node, 'zedstore.io_method' => 'auto', 'zedstore.io_direct' => 'on');
check_twins($node, 'reload');

# ---- terminated and killed ------------------------------------------------------------------

my ($first, $second) = map { worker_pid($node, $_) } 1, 2;
$node->safe_psql('postgres', "select pg_terminate_backend($second)");
$second = worker_pid($node, 2, $second);
pass('the second worker comes back when it was terminated');
set_and_reload($node, 'log_min_messages' => 'debug1');
my $log_end = -s $node->logfile;
$slow = start_slow_checkpoint($node);
$node->safe_psql('postgres', "select pg_terminate_backend($first)");
full_speed($node);
$node->reload;
$slow->finish;
is($slow->result(0), 0, 'the first is terminated during a checkpoint: the checkpointer goes on');
$first = worker_pid($node, 1, $first);
change_twins($node);
$node->safe_psql('postgres', 'checkpoint') for 1 .. 3;
is(worker_pid($node, 2), $second, 'it comes back, and leaves the second alone');
unlike(slurp_file($node->logfile, $log_end),
	qr/registering background worker "zedstore I\/O worker 2"/,
	'and does not try to start it again');
set_and_reload($node, 'log_min_messages' => 'warning');
check_twins($node, 'terminated');

$slow = start_slow_checkpoint($node);
full_speed($node);
$log_end = -s $node->logfile;
kill 'KILL', $second;
$slow->finish;
$node->wait_for_log(qr/database system is ready to accept connections/, $log_end);
worker_pid($node, 1, $first, $second);
worker_pid($node, 2, $first, $second);
check_twins($node, 'killed');

# ---- shutdown, with a checkpoint under way ----------------------------------------------------

foreach my $mode ('fast', 'immediate')
{
	$slow = start_slow_checkpoint($node);
	full_speed($node);
	$node->stop($mode);
	$slow->finish;
	$node->start;
	wait_for_workers($node);
	check_twins($node, "$mode shutdown");
}

my $load = start_load($node, 10, 50);
# who comes after it has begun is turned away
wait_for_sql($node, q{select count(*) = 3 from pg_stat_activity
	where query ~ '^(begin|update|commit)' and pid <> pg_backend_pid()});
$node->safe_psql('postgres', 'checkpoint');
$node->stop('smart');
$load->finish;
is($load->result(0), 0, 'smart shutdown waits for sessions, with workers');
$node->start;
wait_for_workers($node);

foreach my $i (1 .. 2)
{
	$load = start_load($node, 30);
	$node->safe_psql('postgres', 'checkpoint');
	$node->restart;
	$load->finish;
	wait_for_workers($node);
}
check_twins($node, 'restart under load');
check_files($node, 'shutdown');

# the postmaster alone dies; a worker that went on would keep the next one from starting
$slow = start_slow_checkpoint($node);
full_speed($node);
kill_and_restart($node);
$slow->finish;
wait_for_workers($node);
check_twins($node, 'death of the postmaster');
check_files($node, 'death of the postmaster');

# ---- standby ------------------------------------------------------------------------------------

my $standby = standby_of($node, 'standby',
	conf => "zedstore.io_workers = 0\nmax_standby_streaming_delay = -1\n");
is(scalar workers($standby), 1, 'standby without workers');
set_and_reload($standby, 'zedstore.io_workers' => 2);
wait_for_workers($standby);
worker_pid($standby, $_) for 1, 2;
# without a gate the checkpointer may be through before they notice
for (1 .. 50)
{
	change_twins($node);
	$node->safe_psql('postgres', 'checkpoint');
	$node->wait_for_catchup($standby);
	$standby->safe_psql('postgres', 'checkpoint');
	last if blocks_written($standby) > 0;
}
cmp_ok(blocks_written($standby), '>', 0,
	'a reload starts workers on a standby, which write for restartpoints');
my $pids = join ',', workers($standby);
is($standby->safe_psql('postgres', "select count(*) from pg_locks where pid in ($pids)"), '0',
	'without transactions');

# a conflict with everyone who has a transaction: replay would wait for ever
$node->safe_psql('postgres',
	q{set allow_in_place_tablespaces = on; create tablespace ts location ''});
$node->safe_psql('postgres', 'create table t tablespace ts as select generate_series(1, 5000) a');
$node->wait_for_catchup($standby);
$standby->safe_psql('postgres', 'checkpoint');
$node->safe_psql('postgres', 'drop table t');
$node->safe_psql('postgres', 'drop tablespace ts');
$node->wait_for_catchup($standby);
is(join(',', workers($standby)), $pids,
	'DROP TABLESPACE on a standby does not wait for workers, nor end them');

$log_end = -s $standby->logfile;
kill 'KILL', worker_pid($standby, 2);
$standby->wait_for_log(qr/database system is ready to accept read-only connections/, $log_end);
worker_pid($standby, $_) for 1, 2;
$node->wait_for_catchup($standby);
check_twins($standby, 'standby, worker killed');

# promotion in the midst of a restartpoint
$standby->append_conf('postgresql.conf',
	"zedstore.io_max_iops = 2\nzedstore.io_request_size = 8kB\n");
$standby->reload;
wait_for_sql($standby, "select current_setting('zedstore.io_max_iops') = '2'");
$node->safe_psql('postgres', 'update h set v = v + 1; update z set v = v + 1; checkpoint');
$node->wait_for_catchup($standby);
$slow = start_sql($standby, 'checkpoint');
# the checkpointer may be through before the workers notice
for (1 .. 50)
{
	last if $standby->safe_psql('postgres',
		'select bool_or(checkpoint_blocks_done > 0) from pg_stat_zedstore_io') eq 't';
}
full_speed($standby);
$standby->promote;
$standby->reload;
$slow->finish;
is($slow->result(0), 0, 'promotion during a restartpoint');
# the gate is armed when the checkpoint after the promotion is complete
$standby->safe_psql('postgres', 'checkpoint');
wait_for_gate($standby);
$before = blocks_written($standby);
change_twins($standby);
$standby->safe_psql('postgres', 'checkpoint');
cmp_ok(blocks_written($standby), '>', $before, 'promoted: workers write for checkpoints');
check_twins($standby, 'promoted');
check_files($standby, 'promoted', start => 0);
check_files($node, 'primary', start => 0);

done_testing();
