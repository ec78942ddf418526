# pg_basebackup, pg_dump and pg_restore, pg_checksums.
use strict;
use warnings FATAL => 'all';

use ZedstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('main', allows_streaming => 1);
my $summary =
  'select count(*), sum(hashtext(t::text)::bigint) from t union all '
  . 'select count(*), sum(hashtext(m::text)::bigint) from m union all '
  . 'select count(*), sum(hashtext(p::text)::bigint) from p';

$node->safe_psql(
	'postgres', q{
	create table t (a int primary key, b text, gone int, c numeric) using zedstore
		with (zedstore_rel_extension_factor = 64, zedstore_compression = 'zstd', zedstore_compression_level = 5);
	insert into t select i, md5(i::text), 1, i / 3.0 from generate_series(1, 50000) i;
	alter table t drop column gone;
	alter table t add column d text default 'late';
	insert into t values (0, repeat('x', 100000), 0, 'y');
	delete from t where a % 5 = 0;
	create materialized view m using zedstore with (zedstore_compression = 'none') as select a % 10 as k, count(*) from t group by 1;
	create table p (a int, b text) partition by range (a);
	create table p1 partition of p for values from (0) to (100) using zedstore with (zedstore_rel_extension_factor = 8);
	create table p2 partition of p for values from (100) to (200) using heap;
	insert into p select i, 'p' from generate_series(0, 199) i;
	create unlogged table u (a int) using zedstore;
	insert into u select generate_series(1, 5000);
});
my $rows = $node->safe_psql('postgres', $summary);
my $options = $node->safe_psql('postgres',
	"select relname, reloptions from pg_class where reloptions::text like '%zedstore%' order by 1");
like($options, qr/zedstore_rel_extension_factor=64/, 'options are stored');

# A base backup, taken while a session loads.
my $session = $node->background_psql('postgres');
$session->query_safe(
	"begin; insert into t select i, 'open', 0, '' from generate_series(100001, 130000) i; select "
		. "count(*) from t"
);
$node->backup('base');
$session->query_safe('commit');
$session->quit;
my $copy = PostgreSQL::Test::Cluster->new('copy');
$copy->init_from_backup($node, 'base');
$copy->start;
is($copy->safe_psql('postgres', $summary),
	$rows, 'base backup: rows committed before its end');
is($copy->safe_psql('postgres', 'select count(*) from u'),
	'0', 'base backup: an unlogged table is empty');
$copy->safe_psql('postgres', 'insert into u values (1)');
zs_check_all($copy, 'postgres', 'base backup: zs_check');
$copy->stop;
command_ok([ 'pg_checksums', '--check', '-D', $copy->data_dir ],
	'pg_checksums of the copy');

# Dump and restore, in two formats.
$node->safe_psql('postgres', 'delete from t where a > 100000');
for my $format ('plain', 'custom')
{
	my $file = $node->basedir . "/dump.$format";
	my $database = "restored_$format";

	$node->command_ok(
		[ 'pg_dump', '-F', $format, '-f', $file, '-d', 'postgres' ],
		"pg_dump in $format format");
	$node->safe_psql('postgres', "create database $database");
	if ($format eq 'plain')
	{
		$node->command_ok(
			[ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $database, '-f', $file ],
			'restore by psql');
	}
	else
	{
		$node->command_ok(
			[ 'pg_restore', '-j', '2', '-d', $database, $file ],
			'restore by pg_restore');
	}
	is($node->safe_psql($database, $summary), $rows, "$format: same rows");
	is( $node->safe_psql(
			$database,
			"select relname, reloptions from pg_class where reloptions::text like '%zedstore%' "
				. "order by 1"
		),
		$options,
		"$format: same options");
	is( $node->safe_psql(
			$database,
			"select string_agg(relname, ' ' order by relname) from pg_class c join pg_am a on "
				. "a.oid = relam where amname = 'zedstore'"
		),
		'm p1 t u',
		"$format: same access methods");
	zs_check_all($node, $database, "$format: zs_check");
}

# Clean stop: all pages have right checksums, among them those that were
# allocated and never used.
$node->stop;
command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ],
	'pg_checksums after a clean stop');
$node->start;
is($node->safe_psql('postgres', $summary), $rows, 'rows after a restart');
is($node->safe_psql('postgres', 'select count(*) from u'),
	'5000', 'an unlogged table survives a clean restart');
$node->stop;

done_testing();
