# wal_level = minimal: new tables are synced instead of logged.  Unlogged
# tables are empty after a crash.
use strict;
use warnings FATAL => 'all';

use ZedstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

for my $threshold ('0', '64MB')
{
	my $node = new_node("threshold_$threshold", conf => <<"CONF");
wal_level = minimal
max_wal_senders = 0
wal_skip_threshold = $threshold
autovacuum = off
CONF
	my $wal = sub {
		return $node->safe_psql('postgres',
			"select pg_current_wal_insert_lsn() - '0/0'");
	};

	$node->safe_psql('postgres',
		'create table old (a int, b text) using zedstore');
	my $before = $wal->();
	$node->safe_psql(
		'postgres', q{
		begin;
		create table t (a int, b text) using zedstore;
		create index on t (a);
		insert into t select i, md5(i::text) from generate_series(1, 50000) i;
		savepoint s;
		insert into t values (-1, 'gone');
		rollback to s;
		insert into t values (0, 'small');
		commit;
		begin;
		truncate old;
		insert into old select i, md5(i::text) from generate_series(1, 50000) i;
		delete from old where a <= 10000;
		commit;
		begin;
		create table frozen (a int) using zedstore;
		copy frozen from program 'seq 1 30000' (freeze);
		commit;
		create table ctas using zedstore as select * from t;
		alter table ctas alter column a type bigint;
	});
	cmp_ok($wal->() - $before, '<', 2_000_000, "$threshold: little WAL")
	  if $threshold eq '0';
	$node->safe_psql(
		'postgres', q{
		create unlogged table u (a int, b text) using zedstore;
		create index on u (a);
		insert into u select i, 'u' from generate_series(1, 20000) i;
		checkpoint;
		create unlogged table u2 (a int) using zedstore;
		insert into u2 values (1);
		alter table u2 set logged;
		create table l2 (a int) using zedstore;
		insert into l2 values (2);
		alter table l2 set unlogged;
	});
	$node->stop('immediate');
	$node->start;

	my $summary = 'select count(*), sum(a)';
	is($node->safe_psql('postgres', "$summary from t"), '50001|1250025000', "$threshold: new table");
	is($node->safe_psql('postgres', "$summary from old"), '40000|1200020000', "$threshold: truncated table");
	is($node->safe_psql('postgres', "$summary from frozen"), '30000|450015000', "$threshold: COPY FREEZE");
	is($node->safe_psql('postgres', "$summary from ctas"), '50001|1250025000', "$threshold: rewritten table");
	is($node->safe_psql('postgres', 'set enable_seqscan = off; select b from t where a = 0'), 'small', "$threshold: index");
	is($node->safe_psql('postgres', 'select count(*) from u'), '0', "$threshold: an unlogged table is empty");
	is($node->safe_psql('postgres', 'select count(*) from u2'), '1', "$threshold: it was unlogged");
	is($node->safe_psql('postgres', 'select count(*) from l2'), '0', "$threshold: it was logged");
	$node->safe_psql('postgres', "insert into u select i, 'again' from generate_series(1, 5000) i; insert into t values (1, 'x')");
	is($node->safe_psql('postgres', 'set enable_seqscan = off; select count(*) from u where a > 0'), '5000', "$threshold: and usable");
	zs_check_all($node, 'postgres', "$threshold: zs_check");

	kill_and_restart($node);
	is($node->safe_psql('postgres', 'select count(*) from u'), '0', "$threshold: empty again after kill -9");
	is($node->safe_psql('postgres', 'select count(*) from t'), '50002', "$threshold: rows after kill -9");
	ok(!$node->log_contains('TRAP:|PANIC'), "$threshold: no assertion failed");
	$node->stop;
}

done_testing();
