# At the limits: a full disk, memory with many columns and partitions, and
# statements that are cancelled half way.
#
# Takes 30 seconds of a processor: scripts/run-tests starts it early.

use strict;
use warnings FATAL => 'all';

use ZedstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Shared memory that a backend touched counts as its memory; so keep it small.
my $node = new_node('limits', conf => <<'CONF');
shared_buffers = 16MB
max_locks_per_transaction = 1024
max_wal_size = 4GB
fsync = off
jit = off
CONF
my @verbose = (extra_params => [ '-v', 'VERBOSITY=verbose' ]);

# ---- full disk

SKIP:
{
	my $tiny = $ENV{ZS_TINY_FS} // '';
	if (!-d $tiny)
	{
		diag 'NOT TESTED: full disk, because ZS_TINY_FS names no folder on a small file system';
		skip 'no ZS_TINY_FS', 1;
	}
	my $folder = "$tiny/limits.$$";
	mkdir $folder or die "mkdir $folder: $!";
	chmod 0700, $folder;

	# 100 MB of random digits, which no codec makes smaller than 50 MB
	my $digits =
	  q{head -c 50000000 /dev/urandom | od -An -v -w32 -tx1 | tr -d " " | nl -w1};

	$node->safe_psql('postgres', "create tablespace tiny location '$folder'");
	$node->safe_psql(
		'postgres', q{
		create table filler (a int, b text) using zedstore tablespace tiny;
		insert into filler select i, md5(i::text) || md5((-i)::text) from generate_series(1, 100000) i;
		create table t (a int, b text) using zedstore tablespace tiny;
		create index t_a on t (a) tablespace tiny;
		insert into t select i, md5(i::text) from generate_series(1, 20000) i;
		insert into t select -i, md5(i::text) from generate_series(1, 3) i;
		delete from t where a between 101 and 200;
	});
	my $summary = 'select count(*), sum(a), count(*) filter (where b = md5(abs(a)::text)) from t';
	my $before = $node->safe_psql('postgres', $summary);

	for my $try (1 .. 2)
	{
		my ($ret, $out, $err) =
		  $node->psql('postgres', "copy t from program '$digits'", @verbose);
		isnt($ret, 0, "COPY $try to a full disk fails");
		like($err,
			qr/ERROR:  53100: could not extend file .*No space left on device/,
			'with the SQLSTATE of a full disk');
		is($node->safe_psql('postgres', $summary),
			$before, 'the rows committed before are there, no others');
		is( $node->safe_psql(
				'postgres',
				'set enable_seqscan = off; select count(*) from t where a > 0'),
			'19900',
			'by index too');
		zs_check_all($node, 'postgres', 'zs_check on a full disk');
	}

	# Writes that extend nothing, or fail
	my ($ret, $out, $err) =
	  $node->psql('postgres', 'delete from t where a = 1', @verbose);
	ok($ret == 0 || $err =~ /53100/, 'DELETE on a full disk works, or says why not');
	($ret, $out, $err) = $node->psql('postgres', 'vacuum t', @verbose);
	ok($ret == 0 || $err =~ /53100/, 'VACUUM on a full disk works, or says why not');
	zs_check_all($node, 'postgres', 'zs_check after DELETE and VACUUM');

	# Other tables are not concerned
	$node->safe_psql(
		'postgres', q{
		create table elsewhere (a int) using zedstore;
		insert into elsewhere select generate_series(1, 50000)});
	is($node->safe_psql('postgres', 'select count(*) from elsewhere'),
		'50000', 'other tablespaces have space');

	# A crash on a full disk: recovery must not need space
	$before = $node->safe_psql('postgres', $summary);
	kill_and_restart($node);
	is($node->safe_psql('postgres', $summary),
		$before, 'recovery on a full disk');
	zs_check_all($node, 'postgres', 'zs_check after recovery on a full disk');

	$node->safe_psql('postgres', 'drop table filler');
	my $more = 'insert into t select i, md5(i::text) from generate_series(100001, 150000) i';
	$node->safe_psql('postgres', $more);
	is( $node->safe_psql(
			'postgres', 'select count(*), sum(a) from t where a > 100000'),
		'50000|6250025000',
		'DROP TABLE gave space for new rows');
	zs_check_all($node, 'postgres', 'zs_check after DROP TABLE of another table');

	$node->safe_psql('postgres', "truncate t; $more");
	is($node->safe_psql('postgres', $summary),
		'50000|6250025000|50000', 'TRUNCATE gave space for new rows');
	$node->safe_psql('postgres', "$more; $more");
	zs_check_all($node, 'postgres', 'zs_check after TRUNCATE');

	$node->safe_psql('postgres', 'drop table t');

	# What VACUUM drops takes no space: a DELETE of many rows in a row helps on a full disk.  So
	# does what it freezes, be there space for the rest or not.
	$node->safe_psql(
		'postgres', q{
		create table full_up (a int, b text) using zedstore
			with (autovacuum_enabled = off) tablespace tiny;
		insert into full_up select i, md5(i::text) || md5((-i)::text)
			from generate_series(1, 5000) i;
		vacuum full_up;
	});
	my $last = 5000;
	for my $rows (5000, 100, 1)
	{
		for (;;)
		{
			my ($ret) = $node->psql('postgres', "insert into full_up select $last + i,
				md5(i::text) || md5((-i)::text) from generate_series(1, $rows) i");
			last if $ret != 0;
			$last += $rows;
		}
	}
	cmp_ok($last, '>', 100_000, 'the disk is full again');
	$node->safe_psql('postgres',
		"delete from full_up where a > 5000 and a <= $last - 10000");
	my ($failed, undef, $why) = $node->psql('postgres', 'vacuum freeze full_up', @verbose);
	is($why, '', 'VACUUM drops what was deleted on a full disk');
	is($node->safe_psql('postgres',
			"select age(relfrozenxid) < 3 from pg_class where relname = 'full_up'"),
		't', 'and freezes the rest');
	$node->safe_psql('postgres', 'insert into full_up select i, md5(i::text)
		from generate_series(1, 50000) i');
	is($node->safe_psql('postgres', 'select count(*) from full_up'),
		'65000', 'there is space now');
	zs_check_all($node, 'postgres', 'zs_check after VACUUM on a full disk');
	$node->safe_psql('postgres', 'drop table full_up');
	$node->safe_psql('postgres', 'drop tablespace tiny');
	rmdir $folder;
}

# ---- memory

# The most memory that a statement's backend had, in kB.
sub peak_of
{
	my ($sql) = @_;

	my $session = $node->background_psql('postgres');
	my $pid = $session->query_safe('select pg_backend_pid()');
	$session->query_safe($sql);
	my ($peak) = slurp_file("/proc/$pid/status") =~ /^VmHWM:\s+(\d+) kB/m;
	$session->quit;
	return $peak;
}

SKIP:
{
	skip 'no /proc here that tells the memory of processes', 1
	  if !-r "/proc/$$/status" || slurp_file("/proc/$$/status") !~ /^VmHWM:/m;

	# Integers and texts in turns; 100 different rows behind the first column
	my $columns = join ', ', 'c1 int',
	  map { "c$_ " . ($_ % 2 ? 'int' : 'text') } 2 .. 1000;
	$node->safe_psql('postgres', "create table wide ($columns) using zedstore");
	my $script = PostgreSQL::Test::Utils::tempdir . '/rows.pl';
	append_to_file($script, <<'PERL');
my @rest = map { my $row = $_; join "\t", map { $_ % 2 ? $row * $_ : "t$row" } 2 .. 1000 } 0 .. 99;
print "$_\t$rest[$_ % 100]\n" for 1 .. 20000;
PERL
	my $peak = peak_of("copy wide from program '$^X $script'");
	note "COPY into 1000 columns: $peak kB";
	cmp_ok($peak, '<', 512 * 1024, 'COPY of 20,000 rows into 1000 columns: memory in kB');
	is( $node->safe_psql(
			'postgres', 'select count(*), sum(c1), sum(c999), count(distinct c1000) from wide'),
		'20000|200010000|989010000|100',
		'the rows are there');

	$node->safe_psql(
		'postgres', q{
		create table parted (p int, a int, b text, c numeric) partition by list (p);
		do $$ begin
			for i in 0 .. 999 loop
				execute format('create table part_%s partition of parted for values in (%s) using zedstore', i, i);
			end loop;
		end $$;
	});
	$peak = peak_of(
		'insert into parted select i % 1000, i, md5(i::text), i / 100.0 from generate_series(1, 200000) i');
	note "INSERT into 1000 partitions: $peak kB";
	cmp_ok($peak, '<', 512 * 1024, 'INSERT of 200,000 rows into 1000 partitions: memory in kB');
	is( $node->safe_psql(
			'postgres', q{
			select count(*), count(distinct p), sum(a) from parted
			where p = a % 1000 and b = md5(a::text) and c = a / 100.0}),
		'200000|1000|20000100000',
		'the rows are there');
	zs_check_all($node, 'postgres', 'zs_check of wide tables and partitions');
	$node->safe_psql('postgres', 'drop table wide');
}

# ---- cancelled statements

# hold() waits for a lock in the middle of the table
$node->safe_psql(
	'postgres', q{
	create function hold(a int) returns int immutable language plpgsql as
		$$ begin if a = 25000 then perform pg_advisory_xact_lock_shared(7); end if; return a; end $$;
	create table c (a int, b text) using zedstore;
	create index c_a on c (a);
	insert into c select i, md5(i::text) from generate_series(1, 50000) i;
	insert into c values (-1, 'single');
	delete from c where a % 1000 = 1;
});
my $contents = 'select count(*), sum(a), count(distinct b) from c';
my $rows = $node->safe_psql('postgres', $contents);

# Start a statement, cancel it when the query says so.
sub cancel
{
	my ($title, $sql, $reached) = @_;

	my $session = $node->background_psql('postgres', on_error_stop => 0);
	my $pid = $session->query_safe('select pg_backend_pid()');
	$session->query_until(qr/started/,
		"\\set VERBOSITY verbose\n\\echo started\n$sql;\n");
	wait_for_sql($node, "select count(*) > 0 from $reached and pid = $pid");
	is($node->safe_psql('postgres', "select pg_cancel_backend($pid)"),
		't', "$title: cancelled");
	# The session works on, and its open work does not show
	my $answer = $session->query($contents);
	like($session->{stderr}, qr/ERROR:  57014: /, "$title: reports it");
	is($answer, $rows, "$title: the table is unchanged");
	$session->{stderr} = '';
	$session->quit;
	is( $node->safe_psql(
			'postgres',
			'set enable_seqscan = off; set enable_bitmapscan = off; select count(*) from c where a is not null'
		),
		(split /\|/, $rows)[0],
		"$title: by index too");
	zs_check_all($node, 'postgres', "$title: zs_check");
	return;
}

# COPY that never ends by itself
cancel(
	'COPY',
	"copy c (a) from program 'seq 1 2000000000'",
	"pg_stat_progress_copy where tuples_processed > 100000");
cancel(
	'COPY in a transaction that wrote before',
	"begin; insert into c values (1, 'x'); update c set b = 'y' where a < 100; copy c (a) from program 'seq 1 2000000000'; rollback",
	"pg_stat_progress_copy where tuples_processed > 5000");

# CREATE INDEX that waits in the middle of the build
my $locker = $node->background_psql('postgres');
my $building =
  "pg_stat_progress_create_index join pg_locks using (pid) where locktype = 'advisory' and not granted and phase like 'building index%%' and command = '%s'";
$locker->query_safe('select pg_advisory_lock(7)');
cancel(
	'INSERT ... SELECT',
	'insert into c select i, hold(i)::text from generate_series(1, 50000) i',
	"pg_locks where locktype = 'advisory' and not granted");
cancel(
	'CREATE INDEX',
	'create index c_hold on c (hold(a))',
	sprintf($building, 'CREATE INDEX'));
is( $node->safe_psql('postgres', "select to_regclass('c_hold') is null"),
	't', 'a cancelled CREATE INDEX leaves no index');
cancel(
	'CREATE INDEX CONCURRENTLY',
	'create index concurrently c_hold on c (hold(a))',
	sprintf($building, 'CREATE INDEX CONCURRENTLY'));
my $valid = "select indisvalid from pg_index where indexrelid = 'c_hold'::regclass";
is($node->safe_psql('postgres', $valid),
	'f', 'a cancelled CREATE INDEX CONCURRENTLY leaves an invalid index');
$locker->query_safe('select pg_advisory_unlock(7)');

# Writers keep the invalid index up to date
$node->safe_psql('postgres',
	"insert into c values (-2, 'after'); update c set b = 'new' where a between 10 and 20; delete from c where a = 30");
$rows = $node->safe_psql('postgres', $contents);
$node->safe_psql('postgres', 'reindex index concurrently c_hold');
is($node->safe_psql('postgres', $valid),
	't', 'REINDEX CONCURRENTLY makes it valid');
is( $node->safe_psql(
		'postgres',
		'set enable_seqscan = off; select count(*) from c where hold(a) > -10'),
	(split /\|/, $rows)[0],
	'and complete');
$node->safe_psql('postgres', 'drop index c_hold');

# ... that waits for a writer, before the build, and for a snapshot, after it
$locker->query_safe('begin; lock table c in row exclusive mode');
cancel(
	'CREATE INDEX CONCURRENTLY that waits for writers',
	'create index concurrently c_b on c (b)',
	"pg_stat_progress_create_index where phase = 'waiting for writers before build'");
$locker->query_safe('rollback');
$node->safe_psql('postgres', 'drop index c_b');
$locker->query_safe('begin isolation level repeatable read; select 1');
cancel(
	'CREATE INDEX CONCURRENTLY that waits for snapshots',
	'create index concurrently c_b on c (b)',
	"pg_stat_progress_create_index where phase = 'waiting for old snapshots'");
$locker->query_safe('rollback');
$node->safe_psql('postgres', 'reindex index c_b');
$locker->quit;

# Everything works afterwards
$node->safe_psql(
	'postgres', q{
	create index concurrently c_hold on c (hold(a));
});
$node->safe_psql(
	'postgres', q{
	copy c (a) from program 'seq 100001 110000';
	vacuum c});
is( $node->safe_psql(
		'postgres',
		'set enable_seqscan = off; select count(*), sum(hold(a)) from c where hold(a) > 100000'
	),
	'10000|1050005000',
	'COPY and CREATE INDEX work afterwards');
zs_check_all($node);

# ---- file numbers that come again

# When the counter of OIDs has gone round, a temporary table may get the file number of another
# table, if that is no OID in pg_class.
$node->safe_psql(
	'postgres', q{
	create table again (a bigint, b text) using zedstore;
	alter table again alter a type int;
	create index on again (a);
	insert into again select i, 'permanent' from generate_series(1, 5000) i});
$node->safe_psql('postgres', 'vacuum pg_class');
my $number = $node->safe_psql('postgres', q{select pg_relation_filenode('again')});
$node->stop;
command_ok([ 'pg_resetwal', '-o', $number - 100, $node->data_dir ],
	'the counter of OIDs is set back');
$node->start;

my $both = 'select count(*), min(b), max(b) from ';
is( $node->safe_psql(
		'postgres', qq{
		set client_min_messages = warning;
		$both again;
		create temp table takes_oids (a int);
		do \$\$
		declare
			next bigint := 0;
		begin
			while next < $number - 1 loop
				next := lo_create(0);
			end loop;
		end \$\$;
		create temp table temp_again (a int, b text) using zedstore;
		select pg_relation_filenode('temp_again') = $number;
		insert into temp_again select i, 'temporary' from generate_series(1, 20) i;
		$both again;
		$both temp_again;
		insert into again values (5001, 'permanent');
		$both temp_again;
		$both again;
		create index on temp_again (a);
		set enable_seqscan = off; set enable_bitmapscan = off;
		$both again where a = 5;
		$both temp_again where a = 5;
		update again set b = 'changed' where a = 5;
		update temp_again set b = 'temporarily' where a = 5;
		$both again where a = 5;
		$both temp_again where a = 5}),
	join("\n",
		'5000|permanent|permanent', 't',
		'5000|permanent|permanent', '20|temporary|temporary',
		'20|temporary|temporary', '5001|permanent|permanent',
		'1|permanent|permanent', '1|temporary|temporary',
		'1|changed|changed', '1|temporarily|temporarily'),
	'a temporary table and another one with its file number');
is($node->safe_psql('postgres', "$both again"), '5001|changed|permanent', 'another session agrees');
zs_check_all($node);

ok(!$node->log_contains('TRAP:|PANIC|terminated by signal [46]|terminated by signal 11'),
	'no assertion failed');
$node->stop;

done_testing();
