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
	# all is synced at commit with a threshold of 0
	cmp_ok($wal->() - $before, '<', 2_000_000, "$threshold: little WAL")
	  if $threshold eq '0';
	# unlogged tables, and tables that change to that and from it
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

	# after a crash: tables that were not logged have their rows, unlogged ones have none
	my $summary = 'select count(*), sum(a)';
	is($node->safe_psql('postgres', "$summary from t"), '50001|1250025000',
		"$threshold: new table");
	is($node->safe_psql('postgres', "$summary from old"), '40000|1200020000',
		"$threshold: truncated table");
	is($node->safe_psql('postgres', "$summary from frozen"), '30000|450015000',
		"$threshold: COPY FREEZE");
	is($node->safe_psql('postgres', "$summary from ctas"), '50001|1250025000',
		"$threshold: rewritten table");
	is($node->safe_psql('postgres', 'set enable_seqscan = off; select b from t where a = 0'),
		'small', "$threshold: index");
	is($node->safe_psql('postgres', 'select count(*) from u'), '0',
		"$threshold: an unlogged table is empty");
	is($node->safe_psql('postgres', 'select count(*) from u2'), '1', "$threshold: it was unlogged");
	is($node->safe_psql('postgres', 'select count(*) from l2'), '0', "$threshold: it was logged");
	$node->safe_psql('postgres', "insert into u select i, 'again' from generate_series(1, 5000) i; insert into t values (1, 'x')");
	is($node->safe_psql('postgres', 'set enable_seqscan = off; select count(*) from u where a > 0'),
		'5000', "$threshold: and usable");
	zs_check_all($node, 'postgres', "$threshold: zs_check");

	# What one session remembers of a leaf must not outlive changes of it that are not logged: its
	# pages keep their LSNs when they are copied.
	$node->safe_psql('postgres', q{
		create table moved (a int) using zedstore;
		insert into moved select generate_series(1, 1500);
		delete from moved where hashint4(a) % 3 = 0;
		vacuum moved;
	});
	my $session = $node->background_psql('postgres', on_error_stop => 1);
	$session->query_safe(q{
		create temp table tids as select a, ctid as t from moved where a >= 1000 order by a;
		select count(*) from moved where ctid = (select t from tids limit 1)});
	my $expected = $session->query_safe('select count(*) from tids');
	$node->safe_psql('postgres', q{
		set allow_in_place_tablespaces = on;
		create tablespace elsewhere location '';
	});
	$node->safe_psql('postgres', q{
		begin;
		alter table moved set tablespace elsewhere;
		delete from moved where a % 6 = 5 and a < 600;
		commit;
	});
	is($session->query_safe(q{
		do $$
		declare
			n int := 0;
			r record;
		begin
			for r in select * from tids order by a loop
				perform 1 from moved where ctid = r.t;
				n := n + case when found then 1 else 0 end;
			end loop;
			perform set_config('zs.found', n::text, false);
		end $$;
		select current_setting('zs.found')}), $expected,
		"$threshold: rows by TID after a change that was not logged");
	$session->quit;
	zs_check_all($node, 'postgres', "$threshold: zs_check after SET TABLESPACE");

	# another crash: of all processes, with rows that were written since
	kill_and_restart($node);
	is($node->safe_psql('postgres', 'select count(*) from u'), '0',
		"$threshold: empty again after kill -9");
	is($node->safe_psql('postgres', 'select count(*) from t'), '50002',
		"$threshold: rows after kill -9");
	ok(!$node->log_contains('TRAP:|PANIC'), "$threshold: no assertion failed");
	$node->stop;
}

# A small new table is not synced at commit: its pages are logged, but those that are all zeroes.  A
# crash of the machine may take the file away; then recovery makes it.
{
	my $node = new_node('lost', conf => <<'CONF');
wal_level = minimal
max_wal_senders = 0
wal_skip_threshold = 1GB
autovacuum = off
CONF
	my @tables = map { "lost_$_" } 1 .. 6;

	$node->safe_psql('postgres', "begin; create table lost_$_ (a int, b text) using zedstore"
		  . ($_ % 2 ? ' with (zedstore_rel_extension_factor = 64)' : '')
		  . "; insert into lost_$_ select i, md5(i::text) from generate_series(1, 1000 * $_) i; commit") for 1 .. 6;
	my @paths = map { $node->data_dir . '/'
		. $node->safe_psql('postgres', "select pg_relation_filepath('$_')") } @tables;

	$node->stop('immediate');
	truncate $_, 0 or die "truncate $_: $!" for @paths;
	$node->start;
	for my $i (1 .. 6)
	{
		is($node->safe_psql('postgres', "select count(*), sum(a) from lost_$i"),
			1000 * $i . '|' . 500 * $i * (1000 * $i + 1), "lost file $i: its rows are back");
		$node->safe_psql('postgres', "insert into lost_$i select i, md5(i::text) from generate_series(1, 20000) i; insert into lost_$i values (-1, 'x')");
		is($node->safe_psql('postgres', "select count(*) from lost_$i"), 1000 * $i + 20001,
			"lost file $i: and it can grow");
	}
	zs_check_all($node);
}

done_testing();
