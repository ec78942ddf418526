# pg_dump and pg_restore of hypertables whose chunks are zedstore tables, in the way that
# TimescaleDB asks for, also into a database whose default access method is zedstore; a standby;
# a new version of TimescaleDB's tables by its own script is left to TimescaleDB.
use strict;
use warnings FATAL => 'all';

use ZedstoreTest;
use ZedstoreTimescale;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = timescale_node('main', allows_streaming => 1);
my $apache = is_apache($node);
my $twins = timescale_twins($node);

make_hypertables($twins, 't', 'ts timestamptz not null, dev int not null, v float8, note text',
	rows => q{select timestamptz '2026-01-01' + i * interval '10 min', i % 7, i * 0.5, 'n' || i from generate_series(1, 3000) i});
$twins->both('create unique index on t_@ (dev, ts)');
$twins->both('delete from t_@ where dev = 3');
if (!$apache)
{
	$node->safe_psql('ts', qq{create materialized view c_$_->[0] using $_->[1] with (timescaledb.continuous) as
		select time_bucket('1 day', ts) as day, dev, count(*) as n from t_$_->[0] group by 1, 2}) foreach ([ 'h', 'heap' ], [ 'z', 'zedstore' ]);
	$twins->both(q{alter table t_@ set (timescaledb.compress, timescaledb.compress_segmentby = 'dev')});
	$twins->both(q{select count(compress_chunk(c)) from show_chunks('t_@', older_than => timestamptz '2026-01-10') c});
	$twins->both(q{update t_@ set v = v + 1 where dev = 1});
}
my $summary = q{
	select 't', count(*), sum(v), sum(hashtext(x::text)::bigint) from t_@ x union all
	select 'i', count(*), sum(v), 0 from t_@ where dev = 5} . ($apache ? '' : q{ union all
	select 'c', count(*), sum(n), sum(hashtext(x::text)::bigint) from c_@ x});
my $expected = $twins->run_on('h', $summary);
is($twins->run_on('z', $summary), $expected, 'before the dump');
my $tables = q{
	select relname, amname, reloptions from pg_class c join pg_am a on a.oid = c.relam
	where c.relkind = 'r' and c.relname ~ '_hyper_|^t_|_materialized' order by 1};
my $expected_tables = $node->safe_psql('ts', $tables);
like($expected_tables, qr/_hyper_\d+_\d+_chunk\|zedstore/, 'there are zedstore chunks');

foreach my $default ('heap', 'zedstore')
{
	my $dbname = "restored_$default";
	my $file = $node->basedir . "/dump.$default";

	# pg_dump warns of TimescaleDB's circular foreign keys
	$node->command_ok([ 'pg_dump', '-Fc', '-f', $file, '-d', 'ts' ], "pg_dump, $default");
	$node->safe_psql('postgres', "create database $dbname; alter database $dbname set default_table_access_method = $default");
	# first, so that the default is one when TimescaleDB makes its tables
	$node->safe_psql($dbname, 'create extension zedstore_io schema public');
	$node->safe_psql($dbname, 'set client_min_messages = error; create extension timescaledb');
	$node->safe_psql($dbname, 'select timescaledb_pre_restore()');
	$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', $dbname, $file ], "pg_restore where $default is the default");
	$node->safe_psql($dbname, 'select timescaledb_post_restore()');
	my $restored = ZedstoreTwins->new($node, $dbname);
	is($restored->run_on($_, $summary), $expected, "restored: $_, default $default") foreach ('h', 'z');
	is($node->safe_psql($dbname, $tables), $expected_tables, "same access methods, default $default");
	zs_check_all($node, $dbname, "zs_check, default $default");
	$restored->both(q{insert into t_@ select timestamptz '2026-07-01' + i * interval '1 hour', 1, i, 'new' from generate_series(1, 100) i});
	$restored->both(q{update t_@ set v = v + 1 where dev in (1, 2)});
	$restored->both(q{call refresh_continuous_aggregate('c_@', null, null)}) if !$apache;
	$restored->same('select * from t_@');
	$restored->same('select * from c_@') if !$apache;
}

# ---- a standby

my $standby = standby_of($node, 'standby');
$twins->both(q{insert into t_@ select timestamptz '2026-08-01' + i * interval '1 hour', 1, i, 'new' from generate_series(1, 100) i});
$twins->both(q{select count(*) from drop_chunks('t_@', timestamptz '2026-01-03')});
$node->wait_for_replay_catchup($standby);
my $there = ZedstoreTwins->new($standby, 'ts');
$there->same('select * from t_@', 'rows on the standby');
is($there->run_on('z', $summary), $twins->run_on('z', $summary), 'as on the primary');
$node->stop('immediate');
$standby->promote;
my $promoted = timescale_twins($standby);
$promoted->both(q{insert into t_@ select timestamptz '2026-09-01' + i * interval '1 hour', 1, i, 'new' from generate_series(1, 100) i});
check_hypertables($promoted, 't', 'promoted', 'dev');
$standby->stop;
done_testing();
