# Crash at many points: what was committed is there, what was not is absent,
# and the file is sound.
use strict;
use warnings FATAL => 'all';

use ZedstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Small buffers and a small write buffer make one COPY do everything: many
# segments, extensions, splits, and pages that are written before the crash.
my $node = new_node('crash', conf => <<'CONF');
shared_buffers = 2MB
zedstore.write_buffer_size = 1MB
zedstore.min_segment_rows = 1024
max_wal_size = 64MB
checkpoint_timeout = 1h
wal_consistency_checking = 'zedstore'
CONF

$node->safe_psql(
	'postgres', q{
	create table t (batch int, a int, b text, c numeric) using zedstore;
	create index on t (a);
	create table small (batch int, a int) using zedstore;
	create table fixed (n int) using heap;
});

my $batch = 0;

# Rows that must be there: of each committed batch, its number of rows.
my %committed;

sub check_rows
{
	my ($title) = @_;

	my $expected = join "\n",
	  map { "$_|$committed{$_}" } sort { $a <=> $b } keys %committed;
	is( $node->safe_psql(
			'postgres',
			'select batch, count(*) from t where b = md5(a::text) and c = a / 100.0 group by 1 '
				. 'order by 1'),
		$expected,
		"$title: committed rows are there, others are not");
	is( $node->safe_psql(
			'postgres',
			'set enable_seqscan = off; select count(*) from t where a >= 0'),
		$node->safe_psql('postgres', 'select count(*) from t'),
		"$title: by index too");
	zs_check_all($node, 'postgres', "$title: zs_check");
	return;
}

sub rows_of
{
	my ($n, $rows) = @_;

	return
	  "select $n, i, md5(i::text), i / 100.0 from generate_series(1, $rows) i";
}

# Commit a batch.
sub load
{
	my ($rows) = @_;

	$batch++;
	$node->safe_psql('postgres', "insert into t " . rows_of($batch, $rows));
	$committed{$batch} = $rows;
	return;
}

sub crash
{
	my ($way) = @_;

	if ($way eq 'immediate')
	{
		$node->stop('immediate');
		$node->start;
	}
	else
	{
		kill_and_restart($node);
	}
	return;
}

# Runs an open transaction in the background, up to a point that a query sees, and
# crashes.
sub crash_during
{
	my ($title, $way, $sql, $reached) = @_;

	my $session = $node->background_psql('postgres', on_error_stop => 0);
	$session->query_until(qr/started/, "\\echo started\n$sql\n");
	wait_for_sql($node, $reached) if $reached;
	crash($way);
	eval { $session->quit };
	check_rows($title);
	return;
}

load(10000);
load(3);
load(70000);
check_rows('before any crash');

# Bytes that align rows on a leaf are left over from rows that VACUUM removed, but not
# after recovery got the leaf as an image without its hole.
$node->safe_psql('postgres', $_) for
  'create table padded (a int, b text) using zedstore',
  q{do $$ begin for i in 1 .. 40 loop insert into padded values (i, repeat('x', 60 + i)); end }
	. q{loop; end $$},
  'delete from padded', 'vacuum padded', 'checkpoint',
  map { "insert into padded values ($_, repeat('a', $_))" } 1 .. 8;

crash('immediate');
check_rows('after an idle crash');
is($node->safe_psql('postgres', 'select sum(length(b)) from padded'),
	36, 'rows on a leaf that was emptied');
crash('kill9');
check_rows('after an idle kill -9');

# A COPY that is in the middle: the copied lines are counted by the server.
my $open = "select count(*) > 0 from pg_stat_progress_copy where tuples_processed > %d";
for my $way ('immediate', 'kill9')
{
	# COPY reads 64 kB at a time, so that the last few thousand rows wait
	for my $rows (10000, 90000)
	{
		# A backend that reads from a program does not notice that the postmaster
		# died; so the program looks after it.
		my ($pid) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;

		$batch++;
		crash_during(
			"$way in COPY after $rows rows",
			$way,
			"copy t from program 'seq 1 $rows | sed ''s/.*/$batch\\t&\\tx\\t1/''; while kill -0 $pid; do sleep 0.1; done; exit 1';",
			sprintf($open, $rows - 8000));
	}
	load(500);
}

# Transactions that have written everything and not committed, after a checkpoint
# that brought their pages to disk.
for my $way ('immediate', 'kill9')
{
	$batch++;
	my $session = $node->background_psql('postgres');
	$session->query_safe("begin; insert into t "
		  . rows_of($batch, 30000)
		  . "; select count(*) from t;");
	$node->safe_psql('postgres', 'checkpoint');
	$session->query_safe("insert into t " . rows_of($batch, 30)
		  . "; delete from t where batch = 1; update t set b = 'lost' where batch = 2; select count(*) from t;");
	$node->safe_psql('postgres', 'insert into fixed values (1)');
	crash($way);
	eval { $session->quit };
	check_rows("$way with an open transaction");
	load(2000);
}

# The rows of aborted transactions are in the way of nobody.
$node->safe_psql('postgres', 'vacuum t');
check_rows('after VACUUM');
crash('kill9');
check_rows('kill -9 after VACUUM');

# Deletes, updates and a VACUUM that the crash follows at once.
$node->safe_psql('postgres',
	'delete from t where batch = 1 and a > 4000; update t set a = a where batch = 2');
$committed{1} = 4000;
crash('kill9');
check_rows('kill -9 after DELETE and UPDATE');
$node->safe_psql('postgres', 'vacuum t');
crash('immediate');
check_rows('immediate stop after VACUUM');
$node->safe_psql('postgres', 'vacuum freeze t');
crash('kill9');
check_rows('kill -9 after VACUUM FREEZE');

# A VACUUM in the middle: it waits for the lock on an index page... of a
# table whose rows a second session keeps a cursor on, so that cost delay
# stretches it; the server is killed as soon as it reports progress.
load(50000);
$node->safe_psql('postgres',
	"delete from t where batch = $batch and a % 2 = 0");
$committed{$batch} = 25000;
crash_during(
	'kill -9 in VACUUM',
	'kill9',
	"set vacuum_cost_delay = 100; set vacuum_cost_limit = 1; vacuum t;",
	"select count(*) > 0 from pg_stat_progress_vacuum where phase <> 'initializing'");
$node->safe_psql('postgres', 'vacuum t');
check_rows('after VACUUM of what was left');

# Single inserts, each its own transaction, and crashes in between.
for my $way ('immediate', 'kill9')
{
	$node->safe_psql('postgres',
		join('', map { "insert into small values (1, $_);" } 1 .. 300));
	crash($way);
}
is( $node->safe_psql('postgres', 'select count(*), sum(a) from small'),
	'600|90300', 'single inserts are there after crashes');
zs_check_all($node);

# DDL that was not committed.
{
	my $session = $node->background_psql('postgres');
	$session->query_safe(
		'begin; create table gone using zedstore as select i from generate_series(1, 50000) i; '
			. 'truncate t; select count(*) from gone');
	crash('kill9');
	eval { $session->quit };
	check_rows('TRUNCATE that was not committed');
}

# Crash during recovery: recovery is stopped half way by kill -9, and begins
# again.
load(60000);
$node->safe_psql('postgres', 'checkpoint');
load(60000);
$node->safe_psql('postgres', "delete from t where batch = $batch and a > 100");
$committed{$batch} = 100;
$node->stop('immediate');
for my $try (1 .. 3)
{
	# pg_ctl without waiting returns while the startup process works
	$node->command_ok(
		[
			'pg_ctl', '-D', $node->data_dir, '-W', '-l', $node->logfile, '-o',
			"--cluster-name=crash", 'start'
		],
		"recovery starts for the ${try}th time");
	my $pidfile = $node->data_dir . '/postmaster.pid';
	my $pid;
	for (1 .. 1000)
	{
		if (-f $pidfile && slurp_file($pidfile) =~ /^(\d+)\n/)
		{
			$pid = $1;
			last;
		}
		select undef, undef, undef, 0.01;
	}
	kill 'QUIT', $pid;
	for (1 .. 3000)
	{
		last if !-f $pidfile;
		select undef, undef, undef, 0.01;
	}
}
$node->start;
check_rows('recovery that was interrupted');
load(1000);
check_rows('and a load after it');

ok(!$node->log_contains('TRAP:|PANIC'), 'no assertion failed');
$node->stop;

done_testing();
