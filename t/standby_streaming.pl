# Streaming replication: a standby that checks every page, reads on it while the
# primary writes, restart, promotion.
#
# Takes 35 seconds of a processor: scripts/run-tests starts it early.

use strict;
use warnings FATAL => 'all';

use ZedstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = new_node(
	'primary',
	allows_streaming => 1,
	conf => <<'CONF');
wal_consistency_checking = 'all'
shared_buffers = 8MB
zedstore.write_buffer_size = 1MB
max_wal_size = 128MB
wal_keep_size = 8GB
CONF
my $standby = standby_of(
	$primary, 'standby', conf => <<'CONF');
max_standby_streaming_delay = 1s
hot_standby_feedback = off
CONF

my @tables = qw(t small wide toast part p1 p2);
my $summary = 'select * from (' . join(' union all ', map {
	"select '$_' as t, count(*), sum(hashtext(x::text)::bigint) from $_ x"
} @tables) . ') s order by 1';

# Everything that the primary has arrives, and reads the same.
sub check_same
{
	my ($title) = @_;

	$primary->wait_for_catchup($standby);
	is($standby->safe_psql('postgres', $summary),
		$primary->safe_psql('postgres', $summary), "$title: same rows");
	zs_check_all($standby, 'postgres', "$title: zs_check on the standby");
	return;
}

my $columns = join ', ', map { "c$_ int" } 1 .. 300;
my $values = join ', ', map { "i % $_" } 1 .. 300;
$primary->safe_psql(
	'postgres', qq{
	create table t (a int, b text, c numeric) using zedstore;
	create index t_a on t (a);
	create index t_b on t using hash (b);
	create table small (a int primary key, b text) using zedstore;
	create table wide ($columns) using zedstore;
	create table toast (a int, b text) using zedstore;
	create table part (a int, b text) partition by hash (a);
	create table p1 partition of part for values with (modulus 2, remainder 0) using zedstore;
	create table p2 partition of part for values with (modulus 2, remainder 1) using heap;
});
check_same('empty tables');

$primary->safe_psql(
	'postgres', qq{
	insert into t select i, md5(i::text), i / 10.0 from generate_series(1, 40000) i;
	insert into wide select $values from generate_series(1, 5000) i;
	insert into toast select i, repeat(md5(i::text), i * 20) from generate_series(1, 200) i;
	insert into toast values (0, (select string_agg(md5(i::text), '') from generate_series(1, 50000) i));
	insert into part select i, 'p' || i from generate_series(1, 20000) i;
});
$primary->safe_psql('postgres', "insert into small values ($_, 'small')")
  for 1 .. 100;
check_same('after loading');

# Reads while the primary writes: a transaction sees all of its rows or none.
my $reader = $standby->background_psql('postgres');
my $bad = 0;
for my $round (1 .. 10)
{
	$primary->safe_psql(
		'postgres', qq{
		begin;
		insert into t select -$round, 'round', 0 from generate_series(1, 1000);
		insert into t select -$round, 'round', i from generate_series(1, 5) i;
		update t set c = -1 where a = $round;
		commit});
	my $counts = $reader->query_safe(
		'select count(*) from t where a < 0 group by a having count(*) <> 1005'
	);
	$bad++ if $counts ne '';
}
is($bad, 0, 'the standby shows whole transactions only');
check_same('after writes and reads');

# An old snapshot on the standby keeps its view, or is cancelled: it never sees anything else.
$reader->query_safe('begin transaction isolation level repeatable read');
my $before = $reader->query_safe('select count(*), sum(a) from t');
$primary->safe_psql('postgres',
	'update t set b = b where a between 1 and 20; delete from small where a > 50');
$primary->wait_for_catchup($standby);
is($reader->query_safe('select count(*), sum(a) from t'),
	$before, 'an open snapshot sees what it saw');
$reader->query_safe('commit');
$reader->quit;
check_same('after update and delete');

# Savepoints, aborts, prepared transactions, DDL
$primary->safe_psql(
	'postgres', q{
	begin;
	insert into t values (1000001, 'x', 1);
	savepoint s;
	insert into t select 1000002, 'y', i from generate_series(1, 5000) i;
	rollback to s;
	commit;
	begin;
	insert into t select 1000003, 'prepared', i from generate_series(1, 3000) i;
	prepare transaction 'one';
	begin;
	insert into t select 1000004, 'prepared', i from generate_series(1, 3000) i;
	prepare transaction 'two';
	commit prepared 'one';
	rollback prepared 'two';
	alter table t add column d int default 42;
	insert into t values (1000005, 'd', 0, 1);
	alter table toast drop column a;
});
check_same('after subtransactions, two-phase commit, DDL');

$primary->safe_psql('postgres', 'delete from t where a % 3 = 0');
$primary->safe_psql('postgres', 'vacuum t; vacuum freeze small; analyze t');
$primary->safe_psql('postgres',
	"insert into t select i, 'again', 5, 6 from generate_series(1, 3000) i");
check_same('after VACUUM');
is( $standby->safe_psql(
		'postgres',
		'set enable_seqscan = off; select count(*), sum(a) from t where a between 1 and 5000'
	),
	$primary->safe_psql(
		'postgres',
		'set enable_seqscan = off; select count(*), sum(a) from t where a between 1 and 5000'
	),
	'index scan on the standby after VACUUM');
is( $standby->safe_psql(
		'postgres',
		'set enable_seqscan = off; set enable_bitmapscan = off; select count(a) from t where a between 1 and 5000'
	),
	$primary->safe_psql(
		'postgres', 'select count(a) from t where a between 1 and 5000'),
	'index-only scan on the standby after VACUUM');

$primary->safe_psql('postgres',
	'vacuum full small; cluster t using t_a; truncate p1; reindex table t');
check_same('after VACUUM FULL, CLUSTER, TRUNCATE');

# Standby restarts, cleanly and not, with WAL to replay.
$primary->safe_psql('postgres',
	"insert into t select i, 'restart', 1, 2 from generate_series(1, 30000) i");
$standby->restart;
check_same('after a restart of the standby');
$standby->stop('immediate');
$primary->safe_psql('postgres',
	"insert into t select i, 'restart again', 1, 2 from generate_series(1, 30000) i; vacuum t");
$standby->start;
check_same('after a crash of the standby');

ok( $standby->safe_psql('postgres', 'show transaction_read_only') eq 'on',
	'the standby is read-only');
my ($ret, $out, $err) =
  $standby->psql('postgres', "insert into t values (1, 'no', 1, 1)");
like($err, qr/read-only transaction/, 'and says so');

# Promotion in the middle of a transaction of the primary.
my $session = $primary->background_psql('postgres');
$session->query_safe(
	"begin; insert into t select 2000000, 'open', 1, i from generate_series(1, 20000) i; select count(*) from t"
);
$primary->safe_psql('postgres', "insert into small values (1000, 'last')");
$primary->wait_for_catchup($standby);
my $last = $primary->safe_psql('postgres', $summary);
$standby->promote;
is($standby->safe_psql('postgres', $summary), $last, 'rows after promotion');
is( $standby->safe_psql(
		'postgres', 'select count(*) from t where a = 2000000'),
	'0',
	'the transaction that was open is gone');
$standby->safe_psql('postgres',
	"insert into t select 3000000, 'promoted', 1, i from generate_series(1, 20000) i; insert into small values (1001, 'x'); delete from t where a % 7 = 0; vacuum t"
);
is($standby->safe_psql('postgres', 'select count(*) from t where a = 3000000'),
	'20000', 'the promoted server takes writes');
zs_check_all($standby, 'postgres', 'zs_check of the promoted server');
eval { $session->quit };

for my $node ($primary, $standby)
{
	ok(!$node->log_contains('TRAP:|PANIC|inconsistent page found'),
		'no inconsistency on ' . $node->name);
}
$standby->stop;
$primary->stop;

done_testing();
