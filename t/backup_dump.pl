# pg_dump and pg_restore of every kind of object: what comes back has the same
# definitions and rows, and dumps to the same text again.
use strict;
use warnings FATAL => 'all';

use ZedstoreTest;
use ZedstoreObjects;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# the objects, and what they are
my $node = new_node('main');
create_objects($node, 'postgres');
my $rows = object_rows($node, 'postgres');
my $catalog = object_catalog($node, 'postgres');
like($catalog, qr/^t\|r\|zedstore\|p\|\{.*zedstore_rel_extension_factor=64/m, 'options are stored');

# The text of a dump without what differs from run to run.
sub schema_text
{
	my ($dbname) = @_;
	my $file = $node->basedir . "/schema.$dbname";

	$node->command_ok([ 'pg_dump', '--schema-only', '-f', $file, '-d', $dbname ],
		"schema of $dbname");
	my $text = slurp_file($file);
	$text =~ s/^\\(un)?restrict .*$//mg;
	return $text;
}
my $schema = schema_text('postgres');

# each format of pg_dump, restored in the way that fits it
my %restore = (
	plain => sub { ('psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $_[0], '-f', $_[1]) },
	custom => sub { ('pg_restore', '--exit-on-error', '-d', $_[0], $_[1]) },
	directory => sub { ('pg_restore', '--exit-on-error', '-j', '3', '-d', $_[0], $_[1]) },
	tar => sub { ('pg_restore', '--exit-on-error', '--single-transaction', '-d', $_[0], $_[1]) },);

foreach my $format (sort keys %restore)
{
	my $file = $node->basedir . "/dump.$format";
	my $dbname = "restored_$format";

	$node->command_ok(
		[
			'pg_dump', '-F', $format, $format eq 'directory' ? ('-j', '3') : (),
			'-f', $file, '-d', 'postgres'
		],
		"pg_dump in $format format");
	$node->safe_psql('postgres', "create database $dbname template template0");
	$node->command_ok([ $restore{$format}->($dbname, $file) ], "restore from $format format");
	is(object_rows($node, $dbname), $rows, "$format: same rows");
	is(object_catalog($node, $dbname), $catalog, "$format: same definitions");
	is(schema_text($dbname), $schema, "$format: same dump");
	zs_check_all($node, $dbname, "$format: zs_check");
}

# As INSERTs
$node->command_ok(
	[
		'pg_dump', '--rows-per-insert=100', '-t', 'types', '-t', 'pair', '-f',
		$node->basedir . '/inserts', '-d', 'postgres'
	],
	'pg_dump as INSERTs');
$node->safe_psql('postgres', 'create database restored_inserts template restored_plain');
$node->safe_psql('restored_inserts', 'drop table types');
$node->command_ok(
	[
		'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', 'restored_inserts', '-f',
		$node->basedir . '/inserts'
	],
	'restore from INSERTs');
is(object_rows($node, 'restored_inserts'), $rows, 'INSERTs: same rows');

# A heap table does not take zedstore's options, in no restore either.
$node->safe_psql('postgres', 'create database heap template template0');
$node->command_fails_like(
	[ 'pg_restore', '--no-table-access-method', '-d', 'heap', $node->basedir . '/dump.custom' ],
	qr/unrecognized parameter "zedstore_/,
	'restore without access methods');
is( $node->safe_psql(
		'heap',
		"select (select count(*) from types), count(*) filter (where amname = 'zedstore') from "
			. "pg_class join pg_am a on a.oid = relam"
	),
	'3003|0',
	'heap: tables without options are there');

# With zedstore.ignore_options they are left out, in a database without the extension, too.
$node->safe_psql('postgres', 'create database heap_all template template0');
{
	local $ENV{PGOPTIONS} = '-c zedstore.ignore_options=on';
	my ($stdout, $stderr) = run_command(
		[ 'pg_restore', '--no-table-access-method', '-d', $node->connstr('heap_all'),
			$node->basedir . '/dump.custom' ]);
	unlike($stderr, qr/unrecognized parameter/, 'restore without access methods and options');
}
is( $node->safe_psql(
		'heap_all',
		"select (select count(*) from types), count(*) filter (where amname = 'zedstore'),
				count(*) filter (where reloptions::text like '%zedstore%')
			from pg_class join pg_am a on a.oid = relam"
	),
	'3003|0|0',
	'heap: all rows, no options');

$node->stop;
done_testing();
