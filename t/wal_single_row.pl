# Rows written one at a time, all their pages with one WAL record: what a standby replays and what
# a crash leaves.
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
autovacuum = off
wal_keep_size = 4GB
CONF
my $standby = standby_of($primary, 'standby');

# The same statements on a heap table tell what must come out.
sub both
{
	my ($sql) = @_;

	for my $am (qw(z h))
	{
		(my $statement = $sql) =~ s/\bT\b/t_$am/g;
		$primary->safe_psql('postgres', $statement);
	}
	return;
}

sub check_same
{
	my ($title) = @_;
	my $query = "select count(*), sum(hashtext(x::text)::bigint) from %s x";
	my $expected = $primary->safe_psql('postgres', sprintf($query, 't_h'));

	is($primary->safe_psql('postgres', sprintf($query, 't_z')),
		$expected, "$title: same rows as heap");
	$primary->wait_for_catchup($standby);
	is($standby->safe_psql('postgres', sprintf($query, 't_z')),
		$expected, "$title: same rows on the standby");
	zs_check_all($standby, 'postgres', "$title: zs_check on the standby");
	return;
}

# Descriptions of the WAL records for single rows since an LSN.
sub records
{
	my ($since) = @_;

	return $primary->safe_psql('postgres', qq{
		select description from pg_get_wal_records_info('$since', pg_current_wal_flush_lsn())
		where resource_manager = 'zedstore' and record_type = 'WRITE_ROW'});
}

sub flush_lsn
{
	return $primary->safe_psql('postgres',
		'select pg_switch_wal(); select pg_current_wal_flush_lsn()') =~ s/.*\n//r;
}

$primary->safe_psql(
	'postgres', q{
	create extension pg_walinspect;
	create table t_z (id int primary key, a int, b text, c numeric) using zedstore;
	create table t_h (id int primary key, a int, b text, c numeric) using heap;
});
both('insert into T select i, i, md5(i::text), i / 7.0 from generate_series(1, 20000) i');
both('vacuum T');

# The first single rows of a session may take several steps; from then on it is one.
my $lsn = flush_lsn();
both(join ';', map { "insert into T values (-$_, $_, null, $_)" } 1 .. 300);
like(records($lsn), qr/^row: \d+, cmin: \d+$/m, 'an INSERT is one record');
check_same('INSERT');

# rows of segments and rows of the row tree; visibility map bits go
$lsn = flush_lsn();
both(join ';', map { 'update T set a = a + 1 where id = ' . $_ * 61 } 1 .. 300);
like(records($lsn), qr/updated: \d+.*clears all-visible/, 'an UPDATE is one record');
both(join ';', map { "update T set b = 'x' || a where id = -" . (1 + $_ % 300) } 1 .. 400);
check_same('UPDATE');

# nulls, values that are compressed or too large, another key
both("update T set a = null, c = null where id = $_ * 3") for 1 .. 3;
both("update T set b = (select string_agg(md5(i::text), '') from generate_series(1, 1000) i)
	where id = 7");
both("update T set b = repeat('wide', 1000) where id = 8");
both('update T set a = 0 where id in (7, 8)');
both('update T set id = 1000000 + id where id = 9');
check_same('rows of all kinds');

# leaves that have been split by changes all over the table
both(join ';', map { 'update T set a = a + 1 where id = ' . ($_ * 7919) % 20000 } 1 .. 3000);
$lsn = flush_lsn();
both(join ';', map { 'update T set a = a + 1 where id = ' . ($_ * 7907) % 20000 } 1 .. 300);
isnt(records($lsn), '', 'UPDATEs of old rows on other leaves are one record each');
check_same('many leaves');

# the second time the session knows where to; a row that the transaction has locked, savepoints,
# several rows in one command
$lsn = flush_lsn();
both(join ';', map { "insert into T values ($_, 0, 'conflict', 0)
	on conflict (id) do update set a = T.a + 1, b = excluded.b" } 500, 30001 .. 30005, 30001);
like(records($lsn), qr/token: \d+/, 'a speculative INSERT is one record');
both(q{begin; insert into T values (40000, 1); savepoint s; insert into T values (40001, 1);
	update T set a = 5 where id = 40000; rollback to s; update T set a = a + 1 where id = 40000;
	savepoint s; update T set a = a + 1 where id = 40000; release s;
	update T set a = a + 1 where id between 39990 and 40010; commit});
both('begin; insert into T values (40002, 1); update T set a = 7 where id = 100; rollback');
both(q{insert into T select i, i, 'some' from generate_series(50000, 50400) i});
both('update T set a = a + 1 where id between 50100 and 50300');
check_same('transactions');

# What was committed survives a crash, what was not is gone.
my $session = $primary->background_psql('postgres');
$session->query_safe(
	'begin; insert into t_z values (60000, 1); update t_z set a = -1 where id = 200');
both('update T set a = 201 where id = 201');
$primary->safe_psql('postgres', 'select pg_switch_wal()');
$session->{run}->kill_kill;
kill_and_restart($primary);
check_same('crash');
zs_check_all($primary, 'postgres', 'zs_check on the primary');

both('vacuum T');
both('delete from T where id = 300');
both('insert into T values (300, 1)');
check_same('after VACUUM');

done_testing();
