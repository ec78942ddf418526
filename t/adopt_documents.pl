# The documents' SQL runs as it stands there: the tutorial, and the pages for whoever adopts
# zedstore, one after the other, each in a database that has what the page takes for granted.

use strict;
use warnings FATAL => 'all';

use File::Basename;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

my $node = new_node('main', extension => 0, conf => q{search_path = '"$user", public'});
my $source = dirname(dirname(__FILE__));

# The blocks of SQL of a page, or of one part of it.
sub blocks_of
{
	my ($page, $heading) = @_;
	my (@blocks, $inside, $wanted);

	$wanted = !defined $heading;
	for my $line (split /\n/, slurp_file("$source/$page"))
	{
		$inside = 0 if $line =~ /^```$/;
		$blocks[-1] .= "$line\n" if $inside;
		$wanted = $line eq $heading if defined $heading && !$inside && $line =~ /^#/;
		if ($wanted && $line =~ /^```sql$/)
		{
			$inside = 1;
			push @blocks, '';
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
	create extension zedstore_io;
	create table orders (id int primary key, what text);
	insert into orders select i, 'what ' || i from generate_series(1, 1000) i},
	{
		'generate_series(1, 1000000)' => 'generate_series(1, 50000)',
		'/data/trips.csv' => $csv,
	},
	blocks_of('README.md', '## Getting started'),
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
run_page('looking', $tables, {}, blocks_of('docs/inspection.md'));
run_page('options', $tables . '; create table trips (a int) using zedstore',
	{}, blocks_of('docs/settings.md'));

$node->stop;
done_testing();
