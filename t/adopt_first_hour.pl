# What a newcomer does in the first hour, on twins: the parts of t/lib/first_hour_*.sql run by psql
# in a database where tables are heap by default, and in one where they are zedstore.  What psql
# prints must be the same: rows, tags, errors with their codes, details and hints.  Then a dump of
# both must have the same definitions and rows, and zs_check() nothing to say.
#
# A part begins with the line "-- @ name".  It may use the variables host, port and DBNAME; the role
# first_hour, which owns nothing; and the tablespace first_hour_space.  Rows need an ORDER BY where
# there is more than one, since that of tables is not promised.
#
# Takes 50 seconds of a processor: scripts/run-tests starts it early.

use strict;
use warnings FATAL => 'all';

use File::Basename;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

my $node = new_node('main', allows_streaming => 'logical', conf => <<'CONF');
allow_in_place_tablespaces = on
autovacuum = off
search_path = '"$user", public'
CONF
my @methods = qw(heap zedstore);

$node->safe_psql('postgres', 'create role first_hour');
$node->safe_psql('postgres', q{create tablespace first_hour_space location ''});
# of both twins, since a table may name its access method
$node->safe_psql('postgres', 'create database model');
$node->safe_psql('model', 'create extension zedstore_io');

# Parts by name, in the order of the files.
sub parts
{
	my (@names, %text);

	for my $file (sort glob(dirname(__FILE__) . '/lib/first_hour_*.sql'))
	{
		for my $line (split /\n/, slurp_file($file))
		{
			push @names, $1 if $line =~ /^-- \@ (\w+)$/;
			$text{ $names[-1] } .= "$line\n" if @names;
		}
	}
	return map { [ $_, $text{$_} ] } @names;
}

# Takes from a text what differs between two databases anyhow.
sub normalized
{
	my ($text) = @_;

	$text =~ s/^LOCATION: .*\n//mg;    # a line of the server's source
	$text =~ s/\bpg_temp_\d+(?:_\d+)?/pg_temp/g;
	$text =~ s/\btwin_(?:heap|zedstore)\b/twin/g;
	$text =~ s/\b(transaction|relation|database) \d+/$1 N/g;    # in contexts of 19
	$text =~ s/^Access method: .*\n//mg;
	$text =~ s/^\\(?:un)?restrict .*\n//mg;
	return $text;
}

# What psql prints when it runs a part.
sub output_of
{
	my ($database, $sql) = @_;
	my $output = '';

	IPC::Run::run(
		[
			'psql', '-X', '-q', '-a', '-v', 'VERBOSITY=verbose',
			'-v', 'host=' . $node->host, '-v', 'port=' . $node->port,
			'-d', $node->connstr($database)
		],
		'<', \$sql, '>&', \$output,
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	return normalized($output);
}

# Lines of a dump, in an order of their own, as rows have none.
sub dump_of
{
	my ($database) = @_;
	my ($dump, $err) = run_command(
		[ 'pg_dump', '--no-table-access-method', '-d', $node->connstr($database) ]);

	is($err, '', "$database: pg_dump");
	return join "\n", sort split /\n/, normalized($dump);
}

my $count = 0;
for my $part (parts())
{
	my ($name, $sql) = @$part;
	my (%output, %dump);

	next if !case_wanted($name);
	$count++;
	for my $method (@methods)
	{
		my $database = "twin_$method";

		$node->safe_psql('postgres', "create database $database template model");
		$node->safe_psql('postgres',
			"alter database $database set default_table_access_method = $method");
		$output{$method} = output_of($database, $sql);
		$dump{$method} = dump_of($database);
	}
	is($output{zedstore}, $output{heap}, "$name: what psql prints");
	unlike($output{heap}, qr/server closed the connection|^FATAL|^PANIC/m, "$name: to its end");
	is($dump{zedstore}, $dump{heap}, "$name: dumps");
	$node->safe_psql('postgres',
		q{alter database twin_zedstore set search_path = "$user", public, zedstore});
	zs_check_all($node, 'twin_zedstore', "$name: zs_check");
	$node->safe_psql('postgres', "drop database twin_$_") for @methods;
}
cmp_ok($count, '>', defined $ENV{TESTS_CASE} ? 0 : 40, 'parts were found');

$node->stop;
done_testing();
