# A short run of the differential tester with a fixed seed: sequential rounds, where each statement
# must give the same on heap and zedstore, one of expressions that fail, and a concurrent one;
# scripts/difftest does long ones.

use strict;
use warnings FATAL => 'all';

use ZedstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $pg_config = $ENV{TEST_PG_CONFIG} || 'pg_config';
my $node = new_node('main', conf => <<'CONF');
fsync = off
max_prepared_transactions = 50
autovacuum = off
log_min_error_statement = panic
CONF

plan skip_all => 'amcheck or btree_gist is not installed'
  if $node->safe_psql(
	'postgres', q{
	select count(*) from pg_available_extensions
	where name in ('amcheck', 'btree_gist')}) != 2;

my $out = $node->basedir;
my $source = 'difftest';
command_ok([ 'make', '-s', '-C', $source, "PG_CONFIG=$pg_config", "OUT=$out" ],
	'the tester compiles');

my @tester = (
	"$out/difftest", '--logs=' . $out . '/difftest-logs',
	'--conninfo=' . $node->connstr);
command_ok([ @tester, '--seed=1', '--rounds=4', '--steps=100', 'sequential' ],
	'statements give the same on heap and zedstore');
command_ok([ @tester, '--seed=1', '--rounds=1', '--steps=150', 'errors' ],
	'expressions fail on zedstore where they do on heap');
command_ok([ @tester, '--seed=1', '--rounds=1', '--phase=6', 'concurrent' ],
	'invariants hold among sessions');
ok(!$node->log_contains('TRAP:|PANIC|was terminated by signal'),
	'no crash');
$node->stop;

done_testing();
