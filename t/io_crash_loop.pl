# Crash loop of the I/O workers: pgbench on twins, VACUUM, a checkpoint each second, on a primary
# and its standby, with other settings each time; kill -9 of a worker, of the postmaster, of all
# processes, also of the standby.  After each recovery: every acknowledged transaction is there,
# twins are equal, indexes and zs_check() find nothing, the standby too; at times and at the end the
# checksums of all files of both.
#
# Environment (scripts/io-crash-loop sets it): ZS_CRASH_CYCLES, ZS_CRASH_SEED.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);
use ZedstoreIo;
use ZedstoreTest;

my $cycles = $ENV{ZS_CRASH_CYCLES} // 4;
my $seed = $ENV{ZS_CRASH_SEED} // 1;
my $clients = 4;
my $rows = 12000;
srand $seed;

sub pick { return $_[ int rand @_ ]; }

# Settings for the next start.
sub settings
{
	return join '', map { "$_\n" } (
		'zedstore.io_workers = ' . pick(1, 1, 2, 3),
		'zedstore.io_method = ' . pick('io_uring', 'io_uring', 'pwritev'),
		"debug_io_direct = '" . pick('data', 'data', '') . "'",
		'zedstore.io_request_size = ' . pick(1, 4, 32),
		'zedstore.io_queue_depth = ' . pick(2, 32, 128),
		'zedstore.io_max_iops = ' . pick(0, 0, 100, 1000),
		'zedstore.io_cleaner = ' . pick('on', 'off'),
		'zedstore.io_vacuum = ' . pick('on', 'off'),
		'zedstore.io_guard = ' . pick('on', 'off'),
		'zedstore.io_rest = ' . pick('on', 'off'),
		'zedstore.io_write_back_delay = ' . pick('0', '100ms', '10s'),
		'zedstore.io_own_writes = ' . pick('on', 'off'),
		'zedstore.io_nice = ' . pick(0, 5, 19),
		'shared_buffers = ' . pick('2MB', '8MB'));
}

# ---- the cluster: twins, logs of what was done to them, and a standby

my $primary = new_node('primary', allows_streaming => 1, conf => io_conf() . settings()
	. "max_wal_size = 512MB\nbgwriter_lru_maxpages = 100\nbgwriter_delay = 10ms\n");
$primary->safe_psql('postgres', qq{
	create extension amcheck;
	create table h (id int primary key, v bigint, pad text);
	create table z (id int primary key, v bigint, pad text) using zedstore;
	insert into h select i, 0, repeat(md5(i::text), 6) from generate_series(1, $rows) i;
	insert into z table h;
	create table log_h (id int, d int);
	create table log_z (id int, d int) using zedstore;
	select pg_create_physical_replication_slot('standby', true)});
my $standby = standby_of($primary, 'standby', conf => "primary_slot_name = 'standby'\n");

my $load_script = $primary->basedir . '/load.sql';
append_to_file($load_script, <<"SQL");
\\set id random(1, $rows)
\\set d random(-100, 100)
begin;
update h set v = v + :d where id = :id;
update z set v = v + :d where id = :id;
insert into log_h values (:id, :d);
insert into log_z values (:id, :d);
commit;
SQL
my $checkpoint_script = $primary->basedir . '/checkpoint.sql';
append_to_file($checkpoint_script, "checkpoint;\n\\sleep 700 ms\n");
my $vacuum_script = $primary->basedir . '/vacuum.sql';
append_to_file($vacuum_script, "vacuum (buffer_usage_limit '128kB') h, z;\n\\sleep 100 ms\n");

# Clients of one script that go on until they are ended.
sub start_pgbench
{
	my ($node, $script, $n, $output) = @_;
	return IPC::Run::start(
		[ 'pgbench', '-n', '-f', $script, '-c', $n, '-T', 600, $node->connstr('postgres') ],
		'<', '/dev/null', '>', $output, '2>', '/dev/null');
}

# kill -9 of one of the I/O workers; the server restarts its sessions.  False if there is none.
sub kill_worker
{
	my ($node) = @_;
	my ($pid) = split /\n/, $node->safe_psql('postgres', q{
		select pid from pg_stat_activity where backend_type = 'zedstore I/O worker' order by random()});
	my $log_end = -s $node->logfile;

	return 0 if !$pid;
	kill 'KILL', $pid;
	$node->wait_for_log(qr/ready to accept (?:read-only )?connections/, $log_end);
	return 1;
}

# Ends a server in one of several ways, and starts it with other settings unless it does that
# itself.
sub crash
{
	my ($node) = @_;
	my $way = pick('worker', 'postmaster', 'all', 'all');

	return $way if $way eq 'worker' && kill_worker($node);
	if ($way eq 'postmaster')
	{
		$node->append_conf('postgresql.conf', settings());
		kill_and_restart($node);
		return $way;
	}
	kill_server($node);
	$node->append_conf('postgresql.conf', settings());
	kill_and_restart($node, killed => 1);
	return 'all';
}

# What is wrong with the tables of a server, or in its log; one a line.
sub problems
{
	my ($node) = @_;
	my ($status, $out, $errors) = $node->psql('postgres', q{
		select 'twins differ: ' || count(*) from (
			(table h except all table z) union all (table z except all table h)) d having count(*) > 0;
		select 'logs differ: ' || count(*) from (
			(table log_h except all table log_z) union all (table log_z except all table log_h)) d having count(*) > 0;
		select 'sums differ' where (select sum(v) from h) <> (select coalesce(sum(d), 0) from log_h);
		select bt_index_check(indexrelid, true) from pg_index where indrelid in ('h'::regclass, 'z'::regclass)});

	return grep { $_ ne '' } split(/\n/, $out), split(/\n/, $errors),
		split(/\n/, zs_problems($node)),
	  grep { /TRAP:|PANIC:/ } split(/\n/, slurp_file($node->logfile));
}

# Stops a server and looks at the checksums of all its files.
sub bad_files
{
	my ($node) = @_;
	$node->stop('fast');
	my $result = run_log([ 'pg_checksums', '--check', '-D', $node->data_dir ]);
	$node->start;
	return $result ? () : ($node->name . ': checksums');
}

# ---- cycles

my $acknowledged = 0;
my $failed = 0;
my %ways;
foreach my $cycle (1 .. $cycles)
{
	my @wrong;
	my $output = '';
	my $ignored = '';
	my $load = start_pgbench($primary, $load_script, $clients, \$output);
	my @checkpoints = map { start_pgbench($_, $checkpoint_script, 1, \$ignored) } $primary,
		$standby;
	my $vacuum = start_pgbench($primary, $vacuum_script, 1, \$ignored);

	sleep(0.3 + rand 2.5);
	$ways{'standby: ' . crash($standby)}++ if pick(0, 0, 1);
	$ways{crash($primary)}++;

	# sessions on the standby do not end by themselves
	$checkpoints[1]->kill_kill;
	$_->finish for $load, $checkpoints[0], $vacuum;
	$acknowledged += $1 if $output =~ /number of transactions actually processed: (\d+)/;

	my $present = $primary->safe_psql('postgres', 'select count(*) from log_h');
	push @wrong, "$present transactions of $acknowledged"
	  if $present < $acknowledged || $present > $acknowledged + $clients * $cycle;
	push @wrong, problems($primary);
	push @wrong, bad_files($primary) if $cycle % 10 == 0 || $cycle == $cycles;
	$primary->wait_for_catchup($standby);
	push @wrong, map { "standby: $_" } problems($standby);
	push @wrong, bad_files($standby) if $cycle % 10 == 0 || $cycle == $cycles;
	if (@wrong)
	{
		diag("cycle $cycle (seed $seed): $_") for @wrong;
		$failed = 1;
		last;
	}
	note "cycle $cycle: $acknowledged transactions acknowledged, $present present";

	# what grows for ever would slow the checks down
	$primary->safe_psql('postgres', 'vacuum h, z') if $cycle % 10 == 0;
}
ok(!$failed, "$cycles crashes");
cmp_ok($acknowledged, '>', $cycles, 'transactions were committed');
note join ', ', map { "$_: $ways{$_}" } sort keys %ways;

if (!$failed)
{
	$standby->promote;
	is(join("\n", problems($standby)), '', 'the promoted standby is sound');
}
$standby->stop('immediate');
$primary->stop('immediate');
done_testing();
