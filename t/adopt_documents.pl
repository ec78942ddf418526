# The documents' SQL runs as it stands there: the tutorial, and all other pages that have some, one
# after the other, each in a database that has what the page takes for granted.  Settings that they
# show in the form of postgresql.conf are accepted.  A page with blocks that is not here fails the
# test.

use strict;
use warnings FATAL => 'all';

use File::Basename;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

my $node = new_node('main', extension => 0, conf => q{search_path = '"$user", public'});
my $source = dirname(dirname(__FILE__));

my %seen;    # pages whose blocks have run, or run elsewhere

# The blocks of a page, or of one part of it, that are in a language: "sql", "sh", or none.
sub blocks_of
{
	my ($page, $heading, $language) = @_;
	my (@blocks, $inside, $wanted);

	$language //= 'sql';
	$seen{$page} = 1;
	$wanted = !defined $heading;
	for my $line (split /\n/, slurp_file("$source/$page"))
	{
		if ($line =~ /^```(\w*)$/)
		{
			$inside = defined $inside ? undef : $1;
			push @blocks, '' if $wanted && ($inside // 'end') eq $language;
		}
		elsif (defined $inside)
		{
			$blocks[-1] .= "$line\n" if $wanted && $inside eq $language;
		}
		elsif (defined $heading && $line =~ /^#/)
		{
			$wanted = $line eq $heading;
		}
	}
	return @blocks;
}

# Runs blocks in a database of their own, one psql for each as a reader has it; before is what the
# page takes for granted.  Names that stand for something of the reader's are replaced.
sub run_page
{
	my ($name, $before, $replace, @blocks) = @_;

	cmp_ok(scalar(@blocks), '>', 0, "$name: it has SQL");
	$node->safe_psql('postgres', "create database $name");
	$node->safe_psql('postgres',
		qq{alter database $name set search_path = "\$user", public, zedstore})
	  if $before ne '';
	$node->safe_psql($name, $before) if $before ne '';
	for my $i (0 .. $#blocks)
	{
		my $sql = $blocks[$i];

		$sql =~ s/\Q$_\E/$replace->{$_}/g for keys %$replace;
		my ($status, $out, $err) = $node->psql($name, $sql, on_error_stop => 1);
		is($status, 0, "$name: block " . ($i + 1)) or diag("$sql\n$err");
	}
	return;
}

# ---- the tutorial ------------------------------------------------------------------------

# in one session, which has no search_path but its own; a twentieth of the rows
run_page('tutorial', '', { 'generate_series(1, 1000000)' => 'generate_series(1, 50000)' },
	join("\n", blocks_of('docs/tutorial.md')));

# ---- the README, and the page that goes on from it -----------------------------------------

my $csv = $node->basedir . '/trips.csv';
run_page(
	'readme', q{
	create extension zedstore_io},
	{
		'generate_series(1, 1000000)' => 'generate_series(1, 50000)',
		'/data/trips.csv' => $csv,
	},
	blocks_of('README.md', '## What to expect'),
	'DROP TABLE trips',
	blocks_of('README.md', '## Getting started'),
	blocks_of('README.md', '## Upgrading'),
	"COPY (SELECT 1000000 + id, pickup, distance, fare, payment FROM trips LIMIT 100)
		TO '$csv' (FORMAT csv)",
	blocks_of('docs/using.md'));

# ---- pages for whoever adopts it -----------------------------------------------------------

my $tables = q{
	create extension zedstore_io;
	create table orders (id int primary key, what text);
	insert into orders select i, 'what ' || i from generate_series(1, 3000) i;
	create table events (at date, what text, primary key (at)) partition by range (at);
	create table events_2025 partition of events for values from ('2025-01-01') to ('2026-01-01');
	create table events_2026 partition of events for values from ('2026-01-01') to ('2027-01-01');
	insert into events select date '2025-06-01' + i, 'what ' || i from generate_series(1, 400) i;
	create table store_sales using zedstore as select i as a, 'b' || i as b
		from generate_series(1, 5000) i};

run_page('converting', $tables, {}, blocks_of('docs/adopt-convert.md'));
run_page('estimating', $tables, { 'your_table' => 'orders' }, blocks_of('docs/adopt-estimate.md'));
run_page('watching', $tables, {}, blocks_of('docs/adopt-watch.md'));
run_page(
	'applications', 'create extension zedstore_io; create role reports',
	{}, blocks_of('docs/adopt-applications.md'));
run_page('leaving', $tables, {}, blocks_of('docs/adopt-leave.md'));
run_page('looking', $tables, {}, blocks_of('docs/inspection.md'));
run_page('options', $tables . '; create table trips (a int) using zedstore',
	{}, blocks_of('docs/settings.md'));

# The server has one process that may measure a device at a time, and little patience.
run_page(
	'profiles', $tables,
	{ q{zs_io_calibrate('pg_default', 10)} => q{zs_io_calibrate('pg_default', 0.1)},
		q{zs_io_calibrate('pg_wal')} => q{zs_io_calibrate('pg_wal', 0.1)} },
	blocks_of('docs/io-profiles.md'));
run_page(
	'workers', q{
	create extension zedstore_io;
	create table store_sales (ss_sold_date_sk int, ss_net_paid numeric) using zedstore;
	create table customer (id int primary key) using zedstore},
	{}, blocks_of('docs/io.md'));
run_page(
	'sorting', q{
	create extension zedstore_io;
	create table events (customer int, ts timestamptz) using zedstore},
	{ 'CREATE TABLE events (...)' =>
		  'DROP TABLE events; CREATE TABLE events (customer int, ts timestamptz)' },
	blocks_of('docs/order.md'));

# ---- settings -----------------------------------------------------------------------------

for my $case (
	[ 'README.md', '## Install into your own server' ],
	map { [$_] } qw(docs/io.md docs/io-profiles.md))
{
	my ($page, $heading) = @$case;
	my $file = $node->data_dir . '/documents.conf';
	my @blocks = blocks_of($page, $heading, '');

	$node->append_conf('postgresql.conf', "include_if_exists = 'documents.conf'");
	for my $i (0 .. $#blocks)
	{
		unlink $file;
		append_to_file($file, $blocks[$i]);
		is( $node->safe_psql('postgres', q{
				select count(*) > 0, string_agg(name || ': ' || error, ', ')
					filter (where error <> 'setting could not be applied') from pg_file_settings
				where sourcefile ~ 'documents.conf$'}),
			't|', "$page: settings, block " . ($i + 1))
		  or diag($blocks[$i]);
	}
	unlink $file;
}

# ---- no page is left out ------------------------------------------------------------------

# Pages whose blocks other tests run, or that need what a server alone does not have.
my %elsewhere = (
	'docs/adopt-leave.md' => 't/adopt_leave.pl',
	'docs/packaging.md' => 't/build_packages.pl, as far as there are the programs',
	'docs/scaling-out.md' => 'make test-citus',
	'docs/extensions.md' => 'make test-timescaledb',
	'docs/testing.md' => 'shows what a run prints',
	'docs/testing-tap.md' => 'shows how a test is called',
	'CONTRIBUTING.md' => 'scripts/check-docs: the targets of make exist',
	'bench/README.md' => 'scripts/check-docs: the programs exist');
my @pages = grep { slurp_file("$source/$_") =~ /^```/m }
  map { s{^\Q$source\E/}{}r } glob("$source/*.md $source/docs/*.md $source/bench/*.md");
is_deeply([ grep { !$seen{$_} && !$elsewhere{$_} } @pages ], [], 'pages with blocks all run');
is_deeply([ grep { my $page = $_; !grep { $_ eq $page } @pages } sort keys %elsewhere ],
	[], 'pages that run elsewhere have blocks');

$node->stop;
done_testing();
