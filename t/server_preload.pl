# What cannot work says so: every access to a table of a server that has not preloaded the library
# fails with a hint, and leaves the table as it was.

use strict;
use warnings FATAL => 'all';

use ZedstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('main');
my $hint =
  qr/HINT:  Add "zedstore_io" to "shared_preload_libraries" and restart the server\./;

$node->safe_psql(
	'postgres', q{
	create table t (a int, b text) using zedstore;
	create index t_a on t (a);
	insert into t select i, 'b' from generate_series(1, 5000) i;
	checkpoint;
});

# not preloaded
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''");
$node->restart;
for my $sql (
	'insert into t values (1)',
	'copy t (a) from program \'echo 1\'',
	'create table n (a int) using zedstore',
	'delete from t where a = 1',
	'update t set b = 1',
	'select * from t where a = 5',
	'select count(*) from t',
	'vacuum t',
	'truncate t')
{
	my ($ret, $out, $err) = $node->psql('postgres', $sql);
	like($err, $hint, "not preloaded: $sql");
}
$node->safe_psql('postgres', 'create database other');
my (undef, undef, $create) = $node->psql('other', 'create extension zedstore_io');
like($create, $hint, 'not preloaded: create extension');
is( $node->safe_psql('other', q{select count(*) from pg_extension where extname = 'zedstore_io'}),
	'0', '... which is not half there');
is($node->safe_psql('postgres', 'select 1'), '1', 'the server is well');

# and again as it should be
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'zedstore_io'");
$node->restart;
is($node->safe_psql('postgres', 'select count(*) from t'),
	'5000', 'preloaded again: all rows');
$node->safe_psql('other', 'create extension zedstore_io');

ok(!$node->log_contains('TRAP:|PANIC'), 'no assertion failed');
$node->stop;

done_testing();
