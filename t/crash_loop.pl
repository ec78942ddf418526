# Crash loop: sessions that write, lock, copy, prepare and roll back, VACUUM and
# checkpoints beside them, kill -9 at any moment, over and over.  After each
# recovery: every acknowledged transaction is there, no other is (but for one in
# flight when the server died), a heap twin that the same transactions wrote is
# equal, zs_check() and amcheck find nothing.
#
# With a standby: it checks each page it replays (wal_consistency_checking),
# reads all the time, is killed too, and is promoted at the end.
#
# Environment (scripts/crash-loop sets it): ZS_CRASH_CYCLES, ZS_CRASH_SEED, ZS_CRASH_STANDBY (0 =
# none, 1 = only with one; both one after the other if unset), ZS_CRASH_SECONDS (longest load of a
# cycle), ZS_CRASH_VECTOR (zedstore.debug_vector of all sessions).
#
# Takes 20 seconds of a processor: scripts/run-tests starts it early.

use strict;
use warnings FATAL => 'all';

use IPC::Open2;
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);
use ZedstoreTest;

my $cycles = $ENV{ZS_CRASH_CYCLES} // 5;
my $seed = $ENV{ZS_CRASH_SEED} // 1;
my $max_seconds = $ENV{ZS_CRASH_SECONDS} // 1.5;
my $vector = $ENV{ZS_CRASH_VECTOR} // 'off';
my @modes = defined $ENV{ZS_CRASH_STANDBY} ? ($ENV{ZS_CRASH_STANDBY}) : (0, 1);

my $nworkers = 5;
my $nhot = 40;        # rows that all sessions update; never deleted
my $nvolatile = 40;   # rows that all sessions insert and delete

# Errors that sessions may make each other.
my $usual_error =
  qr/could not serialize|deadlock detected|duplicate key|current transaction is aborted|due to lock timeout|due to conflict with recovery|terminating connection|the database system is|connection to server|server closed|prepared transaction .* does not exist|no connection to the server|could not receive data|could not send data|in recovery mode|This probably means|before or while processing|Connection refused|Is the server running|another command is already in progress|canceling statement|no COPY in progress|postmaster exited during|lost connection to parallel worker/;

# ---- the work --------------------------------------------------------------------------

my ($w, $n, $next_id);

sub pick { return int rand $_[0]; }

# A statement on both twins; T stands for the table.
sub both
{
	my ($sql) = @_;

	return join '', map { my $s = $sql; $s =~ s/\bT\b/$_/g; "$s;\n" } qw(t_z t_h);
}

sub own_range
{
	my ($max) = @_;
	my $first = $w * 1_000_000 + pick($next_id + 1);

	return "w = $w and id between $first and " . ($first + pick($max));
}

# New rows of this worker: the list for VALUES, or the lines of a COPY.
sub new_rows
{
	my ($count, $as_copy) = @_;
	my @rows;

	for (1 .. $count)
	{
		my $id = $w * 1_000_000 + $next_id++;
		my $b = pick(5) ? "b$id" . 'x' x pick(60) : undef;
		my $c = pick(100000) / 100;

		push @rows, $as_copy
		  ? join("\t", $id, $w, $n, pick(1000), $b // '\\N', $c) . "\n"
		  : "($id, $w, $n, " . pick(1000) . ', ' . (defined $b ? "'$b'" : 'null') . ", $c)";
	}
	return $as_copy ? join('', @rows) : join(', ', @rows);
}

my $columns = '(id, w, n, v, b, c)';
my @operations = (
	sub { return map { both("insert into T $columns values " . new_rows(1)) } 0 .. pick(4); },
	sub { return both("insert into T $columns values " . new_rows(1 + pick(40))); },
	sub {
		my $first = $w * 1_000_000 + $next_id;
		my $last = $first + pick(2500);

		$next_id += $last - $first + 1;
		return both("insert into T $columns select i, $w, $n, i % 100, md5(i::text), i / 7.0 from generate_series($first, $last) i");
	},
	sub {
		my $data = new_rows(1 + pick(pick(3) ? 20 : 400), 1);

		return map { "copy $_ $columns from stdin;\n$data\\.\n" } qw(t_z t_h);
	},
	sub {
		my $id = $w * 1_000_000 + $next_id++;

		return both("insert into T (id, w, n, b) select $id, $w, $n, string_agg(md5(i::text || '$id'), '') from generate_series(1, "
			  . (10 + pick(2000)) . ') i');
	},
	sub { return both("update T set v = v + 1, n = $n, b = b || 'u' where " . own_range(60)); },
	sub { return both("update T set v = v + 1, n = $n where " . own_range(30)); },
	sub { return both("update T set c = c + 1, n = $n where id = (select max(id) from T where w = $w and length(b) > 2500)"); },
	sub { return both("update T set id = id, b = null where " . own_range(5)); },
	sub { return both('delete from T where ' . own_range(120)); },
	sub { return both("delete from T where w = $w and id < "
		. ($w * 1_000_000 + $next_id - 2500)); },
	sub {
		my $id = 1 + pick($nhot);

		return both("insert into T $columns values ($id, 0, $n, 1, 'upsert', 0) on conflict (id) do update set v = T.v + 1, n = excluded.n");
	},
	sub { return both("update T set v = v + 1 where id = " . (1 + pick($nhot))); },
	sub {
		my $mode = ('key share', 'share', 'no key update', 'update')[ pick(4) ];

		return both("select 1 from T where id = " . (1 + pick($nhot)) . " for $mode");
	});

# What sessions insert and delete under each other: both twins must see the same
# rows, so in one snapshot.
my @volatile_operations = (
	sub { my ($id) = @_; return both(
		"insert into T $columns values ($id, 0, $n, 0, 'volatile', 0) on conflict do nothing"); },
	sub { my ($id) = @_; return both(
		"insert into T $columns values ($id, 0, $n, 0, 'volatile', 0)"); },
	sub { my ($id) = @_; return both("delete from T where id = $id"); },
	sub { my ($id) = @_; return both("update T set v = v + 1, b = b || 'v' where id = $id"); });

sub operation
{
	return $operations[ pick(scalar @operations) ]->();
}

# The statements of a transaction, and how it ends: commit, rollback, or the
# second half of a two-phase commit.
sub transaction
{
	my $volatile = !pick(5);
	my $end = pick(12) == 0 ? 'rollback' : pick(12) == 0 ? 'prepare' : 'commit';
	my @sql = 'begin' . ($volatile ? ' isolation level repeatable read' : '') . ";\n";

	for (0 .. pick(4))
	{
		if ($volatile && pick(2))
		{
			my $id = 1000 + pick($nvolatile);

			push @sql, $volatile_operations[ pick(scalar @volatile_operations) ]->($id);
		}
		elsif (!$volatile && !pick(6))
		{
			push @sql, "savepoint s;\n", operation(), pick(2) ? operation() : '',
			  pick(2) ? "rollback to s;\n" : "release s;\n";
		}
		else
		{
			push @sql, operation();
		}
	}
	push @sql, "insert into acks values ($w, $n);\n";
	push @sql, $end eq 'prepare' ? "prepare transaction '${w}_$n';\n" : "$end;\n";
	return ($end, @sql);
}

# ---- sessions --------------------------------------------------------------------------

# A psql whose answers the caller reads.
sub open_session
{
	my ($node, $errors) = @_;
	my @command = (
		'psql', '-XAt', '-d', $node->connstr('postgres') . ' application_name=crash_loop',
		'-v', 'ON_ERROR_STOP=0');

	open STDERR, '>>', $errors or die "open $errors: $!";
	my $pid = open2(my $out, my $in, @command);
	$in->autoflush(1);
	return ($in, $out, $pid);
}

# Sends statements; returns the last command tag, or undef when the server is gone.
sub run
{
	my ($in, $out, $mark, @sql) = @_;
	my $tag = '';

	print {$in} @sql, "\\echo $mark\n" or return;
	while (my $line = <$out>)
	{
		chomp $line;
		return $tag if $line eq $mark;
		$tag = $line if $line =~ /^[A-Z]/;
	}
	return;
}

# Transactions until the server dies.  Each line of the file is one: C committed,
# R rolled back, D in doubt; P prepared and about to be committed, Q to be rolled back.
sub work
{
	my ($node, $file, $errors) = @_;
	my ($in, $out) = open_session($node, $errors);

	open my $log, '>>', $file or die "open $file: $!";
	$log->autoflush(1);
	for (;; $n++)
	{
		my ($end, @sql) = transaction();
		my $tag = run($in, $out, "done $n", @sql);

		if (!defined $tag)
		{
			print $log "D $n $next_id\n";
			return;
		}
		if ($end eq 'prepare' && $tag eq 'PREPARE TRANSACTION')
		{
			my $commit = pick(3);

			print $log $commit ? 'P' : 'Q', " $n $next_id\n";
			defined run($in, $out, "prepared $n",
				($commit ? 'commit' : 'rollback') . " prepared '${w}_$n';\n") or return;
			next;
		}
		print $log $tag eq 'COMMIT' ? 'C' : 'R', " $n $next_id\n";
	}
	return;
}

sub maintain
{
	my ($node, $errors) = @_;
	my ($in, $out) = open_session($node, $errors);

	return if !defined run($in, $out, 'ready', "set lock_timeout = '200ms';\n");
	for (;;)
	{
		my $what = pick(40);

		defined run($in, $out, 'next',
			$what == 0 ? "vacuum full t_z;\n"
			: $what == 1 ? "reindex table t_z;\n"
			: $what == 2 ? "begin; truncate ddl_z, ddl_h; insert into ddl_z select generate_series(1, 3000); insert into ddl_h select generate_series(1, 3000); commit;\n"
			: $what == 3 ? "begin; create table new_z using zedstore as table ddl_z; create table new_h as table ddl_h; drop table ddl_z, ddl_h; alter table new_z rename to ddl_z; alter table new_h rename to ddl_h; commit;\n"
			: $what == 4 ? "cluster t_z using t_z_pkey;\n"
			: $what < 8 ? "vacuum (freeze) t_z;\n"
			: $what < 10 ? "vacuum (index_cleanup off) t_z;\n"
			: $what < 25 ? "vacuum t_z;\n"
			: $what < 30 ? "checkpoint;\n"
			: "analyze t_z;\n") or return;
		sleep(rand 0.1);
	}
	return;
}

my $differences = q{
	select count(*) from (
		(table t_z except all table t_h) union all (table t_h except all table t_z) union all
		(select a, null, null, null, null, null from (table ddl_z except all table ddl_h) d) union all
		(select a, null, null, null, null, null from (table ddl_h except all table ddl_z) d)) x};

# Filters, aggregates and groups of both twins, most of them by batches; the rows that only one of
# them gives.
my $aggregates = join ' union all ', map {
	my ($z, $h) = ("select g::text from ($_) g", "select g::text from ($_) g" =~ s/t_z/t_h/r);

	"(($z) except ($h)) union all (($h) except ($z))"
} 'select w, count(*), count(b), sum(v), avg(c), min(id), max(id), sum(n) filter (where b like '
	. '$$%x%$$) from t_z group by w',
  'select count(*), sum(v), sum(c), max(b) from t_z where v between 0 and 3 and n % 2 = 0 and c > '
	. '10';

# Reads on the standby; complains in the file when the twins differ.
sub watch
{
	my ($node, $file, $errors) = @_;
	my ($in, $out) = open_session($node, $errors);

	open my $log, '>>', $file or die "open $file: $!";
	for (;;)
	{
		print {$in} "$differences;\nselect count(*) from ($aggregates) g;\n\\echo next\n" or return;
		while (1)
		{
			my $line = <$out>;

			return if !defined $line;
			last if $line eq "next\n";
			print $log "twins differ on the standby: $line" if $line =~ /^[1-9]/;
		}
		sleep(rand 0.05);
	}
	return;
}

# A process that does something until its session ends.
sub spawn
{
	my ($do) = @_;
	my $random = pick(2**31);
	my $pid = fork // die "fork: $!";

	return $pid if $pid;
	srand $random;
	$SIG{PIPE} = 'IGNORE';
	$SIG{__DIE__} = 'DEFAULT';
	eval { $do->(); };
	print STDERR $@ if $@;
	POSIX::_exit($@ ? 1 : 0);
}

# ---- verification --------------------------------------------------------------------------

my %acknowledged;    # worker -> n -> C, R or D
my %start;           # worker -> [ n, next_id ] of its next transaction
my %counts;

sub read_acks
{
	my ($dir) = @_;

	for my $worker (1 .. $nworkers)
	{
		open my $log, '<', "$dir/acks.$worker" or next;
		while (my $line = <$log>)
		{
			my ($what, $number, $id) = split ' ', $line;

			$acknowledged{$worker}{$number} = $what;
			$start{$worker} = [ $number + 1, $id ];
			$counts{$what}++;
		}
		close $log;
		unlink "$dir/acks.$worker";
	}
	return;
}

# Ends transactions that are still prepared the way they were meant to end.
sub finish_prepared
{
	my ($node) = @_;

	for my $gid (split /\n/, $node->safe_psql('postgres', 'select gid from pg_prepared_xacts'))
	{
		my ($worker, $number) = split /_/, $gid;
		my $what = $acknowledged{$worker}{$number} // 'D';

		$node->safe_psql('postgres', ($what eq 'Q' ? 'rollback' : 'commit') . " prepared '$gid'");
		$counts{'finished after recovery'}++;
	}
	return;
}

# Lines about transactions that are there and should not be, or the reverse.
sub wrong_acks
{
	my ($node) = @_;
	my %present;
	my @wrong;

	for my $line (split /\n/, $node->safe_psql('postgres', 'select w, n from acks'))
	{
		my ($worker, $number) = split /\|/, $line;

		$present{$worker}{$number} = 1;
	}
	for my $worker (sort keys %acknowledged)
	{
		for my $number (sort { $a <=> $b } keys %{ $acknowledged{$worker} })
		{
			my $what = $acknowledged{$worker}{$number};
			my $there = delete $present{$worker}{$number} // 0;

			if ($what eq 'D')
			{
				# settled for all crashes to come
				$acknowledged{$worker}{$number} = $there ? 'C' : 'R';
				$counts{'in doubt, committed'} += $there;
			}
			elsif ($what =~ /[CP]/ && !$there)
			{
				push @wrong, "transaction $worker/$number was acknowledged and is gone";
			}
			elsif ($what =~ /[RQ]/ && $there)
			{
				push @wrong, "transaction $worker/$number was rolled back and is there";
			}
		}
		push @wrong, map { "transaction $worker/$_ is there and nobody knows it" }
		  keys %{ $present{$worker} };
	}
	return @wrong;
}

# Everything that can be wrong with the tables of a server, as lines.
sub wrong_tables
{
	my ($node) = @_;
	my @wrong;

	my $differing = $node->safe_psql('postgres', $differences);
	push @wrong, "twins differ in $differing rows" if $differing ne '0';
	my $by_batches = $node->safe_psql('postgres', $aggregates);
	push @wrong, "aggregates of the twins differ: $by_batches" if $by_batches ne '';
	my $by_index = $node->safe_psql('postgres', q{
		set enable_seqscan = off; set enable_bitmapscan = off;
		select count(*) from (
			(select id, v from t_z where id >= 0 except all select id, v from t_h where id >= 0) union all
			(select id, v from t_h where id >= 0 except all select id, v from t_z where id >= 0)) x});
	push @wrong, "twins differ in $by_index rows by index" if $by_index ne '0';
	push @wrong, split /\n/, zs_problems($node);
	my ($status, undef, $errors) = $node->psql('postgres', q{
		select bt_index_check(indexrelid, true) from pg_index
		where indrelid = 't_z'::regclass and indisvalid});
	push @wrong, "amcheck: $errors" if $status != 0;
	return @wrong;
}

# Lines of a server's log that must not be there.  Three assertions of core fail by themselves. When
# the postmaster dies during a parallel VACUUM, its leader ends within its end, where it may still
# hold a handle for I/O that it was about to begin.  And the xmin of snapshots on a standby goes
# back after a primary lost numbers of transactions that had logged nothing: the checkpoint that
# ends its recovery counts them as complete (latestCompletedXid), but the next transaction's first
# record makes the standby take them for running (RecordKnownAssignedTransactionIds).
sub panics
{
	my ($node) = @_;
	my $log = slurp_file($node->logfile);
	my %orphan = map { $_
		=> 1 } $log =~ /\[(\d+)\].*FATAL:  postmaster exited during a parallel transaction/g;

	return grep {
		/TRAP:|PANIC:|inconsistent page/
		  && !/IsTransactionOrTransactionBlock.*pgstat\.c/
		  && !(/!pgaio_my_backend->handed_out_io.*aio\.c.*PID: (\d+)/ && $orphan{$1})
		  && !/TransactionIdPrecedesOrEquals\(TransactionXmin, RecentXmin\).*procarray\.c/
	  }
	  split /\n/, $log;
}

# ---- one run ----------------------------------------------------------------------------------

sub crash_primary
{
	my ($node) = @_;
	my $way = pick(10);

	if ($way == 0)
	{
		# one backend dies, the postmaster restarts the others by itself
		my ($pid) = $node->safe_psql('postgres',
			"select pid from pg_stat_activity where application_name = 'crash_loop' limit 1") =~ /(\d+)/;
		my $before = -s $node->logfile;

		return if !$pid;
		kill 'KILL', $pid;
		$node->wait_for_log(qr/all server processes terminated|ready to accept connections/,
			$before);
		sleep(0.05) while system('pg_isready', '-q', '-d', $node->connstr('postgres'), '-t',
			60) != 0;
	}
	elsif ($way == 1)
	{
		$node->stop('immediate');
		$node->start;
	}
	elsif ($way == 2)
	{
		# the postmaster alone; the others end when they notice
		kill_and_restart($node);
	}
	else
	{
		kill_server($node);
		$counts{'recoveries interrupted'} += interrupt_recovery($node) if !pick(4);
		kill_and_restart($node, killed => 1);
	}
	return;
}

# Starts the server and kills it again while it recovers, or soon after.
sub interrupt_recovery
{
	my ($node) = @_;

	my $pidfile = $node->data_dir . '/postmaster.pid';

	unlink $pidfile;
	system_log('pg_ctl', '-D', $node->data_dir, '-W', '-l', $node->logfile, 'start');
	for (1 .. 5000)
	{
		last if -s $pidfile;
		sleep(0.001);
	}
	sleep(rand 0.15);
	return kill_server($node, optional => 1) ? 1 : 0;
}

# Waits until the standby has replayed everything; says why if it does not.
sub catch_up
{
	my ($node, $standby) = @_;

	return if eval { $node->wait_for_catchup($standby); 1 };
	my $reason = $@;

	for my $server ($node, $standby)
	{
		my @lines = split /\n/, slurp_file($server->logfile);

		splice @lines, 0, -30 if @lines > 30;
		diag($server->name . ": $_") for panics($server), @lines;
	}
	die $reason;
}

sub crash_loop
{
	my ($with_standby) = @_;
	my $name = $with_standby ? 'with a standby' : 'alone';
	my $node = new_node(
		$with_standby ? 'primary' : 'alone',
		allows_streaming => 1,
		conf => <<"CONF");
shared_buffers = 4MB
max_wal_size = 48MB
min_wal_size = 32MB
checkpoint_timeout = 30s
checkpoint_completion_target = 0.1
bgwriter_delay = 10ms
wal_writer_delay = 10ms
deadlock_timeout = 100ms
autovacuum_naptime = 1s
zedstore.write_buffer_size = 1MB
zedstore.min_segment_rows = 64
zedstore.debug_vector = $vector
max_connections = 30
log_checkpoints = off
restart_after_crash = on
wal_consistency_checking = '@{[ $with_standby ? 'all' : '' ]}'
CONF
	my $standby;
	my $dir = $PostgreSQL::Test::Utils::tmp_check . "/crash_loop_$with_standby";
	my $failed = 0;

	mkdir $dir;
	srand $seed + $with_standby;
	%acknowledged = %start = %counts = ();
	$node->safe_psql('postgres', qq{
		create extension amcheck;
		create table acks (w int, n int) using heap;
		create table t_z (id bigint primary key, w int, n int, v int default 0, b text, c numeric)
			using zedstore with (autovacuum_vacuum_threshold = 500);
		create index t_z_wv on t_z (w, v);
		create index t_z_b on t_z (md5(b));
		create table t_h (like t_z including all) using heap;
		create table ddl_z (a int) using zedstore;
		create table ddl_h (a int) using heap;
		insert into t_z select i, 0, 0, 0, 'hot', 1 from generate_series(1, $nhot) i;
		insert into t_h table t_z;
	});
	if ($with_standby)
	{
		# however far a standby falls behind that was killed: nothing may hang on wal_keep_size
		$node->safe_psql('postgres',
			q{select pg_create_physical_replication_slot('standby', true)});
		$standby = standby_of($node, 'standby', conf => <<'CONF');
primary_slot_name = 'standby'
hot_standby_feedback = off
max_standby_streaming_delay = 200ms
CONF
	}

	for my $cycle (1 .. $cycles)
	{
		my @pids;
		my @wrong;
		my $began = time;

		for my $worker (1 .. $nworkers)
		{
			($w, $n, $next_id) = ($worker, @{ $start{$worker} // [ 1, 0 ] });
			push @pids, spawn(sub { work($node, "$dir/acks.$worker", "$dir/errors") });
		}
		push @pids, spawn(sub { maintain($node, "$dir/errors") });
		push @pids, spawn(sub { watch($standby, "$dir/watch", "$dir/errors.standby") })
		  if $standby;
		sleep(0.2 + rand $max_seconds);

		if ($standby && !pick(3))
		{
			kill_server($standby);
			sleep(rand 0.3);
			$counts{'standby crashes'}++;
			kill_and_restart($standby, killed => 1);
		}
		crash_primary($node);
		if ($standby)
		{
			# the watcher's session ends with its backend
			$standby->psql('postgres',
				"select pg_terminate_backend(pid) from pg_stat_activity where application_name = "
					. "'crash_loop'");
		}
		waitpid $_, 0 for @pids;

		read_acks($dir);
		finish_prepared($node);
		push @wrong, wrong_acks($node), wrong_tables($node);
		if ($standby)
		{
			catch_up($node, $standby);
			push @wrong, map { "standby: $_" } wrong_tables($standby);
			push @wrong, split /\n/, slurp_file("$dir/watch") if -s "$dir/watch";
		}
		push @wrong, grep { /ERROR|FATAL|PANIC/ && !/$usual_error/ } split /\n/,
			slurp_file("$dir/errors");
		push @wrong, grep { /ERROR|FATAL|PANIC/
			&& !/$usual_error|does not exist|could not open relation/ }
		  split /\n/, slurp_file("$dir/errors.standby") if -e "$dir/errors.standby";
		unlink "$dir/errors", "$dir/errors.standby";
		push @wrong, panics($node), $standby ? panics($standby) : ();
		if (@wrong)
		{
			diag("cycle $cycle (seed $seed, $name): $_") for @wrong;
			$failed = 1;
			last;
		}
		note sprintf "%s: cycle %d, %.1f s, %d transactions, %s rows", $name, $cycle,
		  time - $began, $counts{C} // 0, $node->safe_psql('postgres', 'select count(*) from t_z');
	}
	ok(!$failed, "$name: $cycles crashes");
	note "$name: " . join ', ', map { "$_: $counts{$_}" } sort keys %counts;
	cmp_ok($counts{C} // 0, '>', $cycles, "$name: transactions were committed");

	if ($standby && !$failed)
	{
		$standby->promote;
		is(join("\n", wrong_acks($standby), wrong_tables($standby)), '',
			'the promoted standby is sound');
		$standby->safe_psql('postgres',
			'vacuum t_z; update t_z set v = v + 1; update t_h set v = v + 1; vacuum t_z');
		is(join("\n", wrong_tables($standby)), '', 'and stays so when it is written to');
	}
	$standby->stop('immediate') if $standby;
	$node->stop('immediate');
	return;
}

crash_loop($_) for @modes;
done_testing();
