# The documents' SQL runs as it stands there: the tutorial, and all other pages that have some, one
# after the other, each in a database that has what the page takes for granted; and the statements
# between backticks that are whole.  Settings that they show in the form of postgresql.conf are
# accepted, and plans are those that EXPLAIN shows.  A block that is not run here, nor named with
# what runs it, fails the test.

use strict;
use warnings FATAL => 'all';

use File::Basename;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

my $node = new_node('main', extension => 0, conf => q{search_path = '"$user", public'});
my $source = dirname(dirname(__FILE__));

my %seen;    # blocks that have run: page, heading, language, and the number among those

# All blocks of a page: language ("sql", "sh", or none), heading, text, and the name for %seen.
sub all_blocks
{
	my ($page) = @_;
	my ($heading, $inside) = ('');
	my (@blocks, %count);

	for my $line (split /\n/, slurp_file("$source/$page"))
	{
		if ($line =~ /^```(\w*)$/)
		{
			$inside = defined $inside ? undef : $1;
			next if !defined $inside;
			push @blocks, { language => $inside, heading => $heading, text => '' };
			$blocks[-1]{name} = join ' ', grep { $_ ne '' } $page, $heading, $inside,
			  ++$count{$heading}{$inside};
		}
		elsif (defined $inside)
		{
			$blocks[-1]{text} .= "$line\n";
		}
		elsif ($line =~ /^#/)
		{
			$heading = $line;
		}
	}
	return @blocks;
}

# The texts of a page's blocks, or of those under one heading, that are in a language.
sub blocks_of
{
	my ($page, $heading, $language) = @_;
	my @wanted = grep {
		$_->{language} eq ($language // 'sql')
		  && (!defined $heading || $_->{heading} eq $heading)
	} all_blocks($page);

	$seen{ $_->{name} } = 1 for @wanted;
	return map { $_->{text} } @wanted;
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
	'readme', 'select 1',
	{
		'generate_series(1, 1000000)' => 'generate_series(1, 50000)',
		'/data/trips.csv' => $csv,
	},
	blocks_of('README.md', '## Install into your own server'),
	blocks_of('README.md', '## What to expect'),
	'DROP TABLE trips',
	blocks_of('README.md', '## Getting started'),
	blocks_of('README.md', '## Upgrading'),
	"COPY (SELECT 1000000 + id, pickup, distance, fare, payment FROM trips LIMIT 100)
		TO '$csv' (FORMAT csv)",
	blocks_of('docs/using.md'));

# ---- plans that pages show -----------------------------------------------------------------

# A block without a language below statements EXPLAIN (COSTS OFF) is what these show, a blank line
# between plans.
{
	my ($explain) = grep { /^EXPLAIN \(COSTS OFF\)/ } blocks_of('docs/using.md', '## Querying');
	my ($shown) = blocks_of('docs/using.md', '## Querying', '');

	$node->safe_psql('readme', 'vacuum analyze trips');
	is( $node->safe_psql('readme',
			$explain =~ s/;\n(?=.)/;\nselect '';\n/gr,
			extra_params => [ '-v', 'ON_ERROR_STOP=1' ]) =~ s/^ +$//mgr,
		join("\n", map { s/^ //r } split /\n/, $shown),
		'docs/using.md: plans');
}

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

# ---- commands of a shell ------------------------------------------------------------------

for my $command (blocks_of('docs/adopt-watch.md', undef, 'sh'))
{
	local $ENV{OLD} = $node->connstr('watching');
	local $ENV{PATH} = "$source/scripts:$ENV{PATH}";
	my ($out, $err) = run_command([ 'bash', '-e', '-c', $command ]);

	is("$out$err", '', "docs/adopt-watch.md: $command");
}

# ---- statements between backticks -----------------------------------------------------------

# Whole ones, that is; "ALTER TABLE ... SET" and "VACUUM (ANALYZE)" are names of commands.
my $whole = qr/^(?:SELECT\ .*\w\(|CALL\ \w+\([^)]|SET\ \S+\ =\ |
	ALTER\ (?:TABLE|DATABASE|ROLE)\ \w+\ |ALTER\ EXTENSION\ \w+\ UPDATE$|
	CREATE\ EXTENSION\ \w+|DROP\ EXTENSION\ \w+)/x;
my %others = (    # what runs them
	'CREATE EXTENSION citus' => 'make test-citus');
my $n = 0;

for my $page (map { s{^\Q$source\E/}{}r } glob("$source/README.md $source/docs/*.md"))
{
	my $text = slurp_file("$source/$page") =~ s/^```.*?^```//gmsr;
	my %statements = map { s/\s+/ /gr => 1 } $text =~ /`([^`]+)`/g;

	for my $statement (sort keys %statements)
	{
		next if $statement !~ $whole || $statement =~ /\.\.\./ || $others{$statement};
		my $name = 'statement_' . ++$n;
		my $before = $tables . '; create table t (a int primary key) using zedstore';

		$before = 'create schema x' if $statement =~ /^CREATE EXTENSION zedstore_io/;
		run_page($name, $before,
			{ 'your_table' => 'orders', 'DATABASE app' => "DATABASE $name" }, $statement);
		$node->safe_psql('postgres', "drop database $name");
	}
}
cmp_ok($n, '>', 8, 'statements were found');

# ---- no block is left out -----------------------------------------------------------------

# Blocks that other tests run, or that need what a server alone does not have, by the beginning of
# their names.
my %elsewhere = (
	'README.md # zedstore_io sh' => 'make demo, make test themselves',
	'README.md ## Install into your own server sh' => 'root; make test-package builds by them',
	'docs/adopt-leave.md ## To a server without the library sh' => 't/adopt_leave.pl',
	'docs/adopt-leave.md ## Uninstalling sh' => 't/adopt_leave.pl',
	'docs/packaging.md # Packages sh' => 't/build_packages.pl: make dist',
	'docs/packaging.md ## Installing a package sh' => 'root; make test-package',
	'docs/packaging.md ## Taking a package off sh' => 'root; make test-package',
	'docs/packaging.md ## Debian sh' => 'root; make test-package',
	'docs/packaging.md ## RPM sh' => 'a system that has RPM',
	'docs/packaging.md ## Image sh' => 'needs Docker',
	'docs/scaling-out.md' => 'make test-citus',
	'docs/extensions.md ## TimescaleDB' => 'make test-timescaledb',
	'docs/testing.md ## Plans by batches' => 'takes hours',
	'docs/testing-tap.md ## Crashes' => 'shows how a test is called',
	'CONTRIBUTING.md' => 'scripts/check-docs: the targets of make exist',
	'bench/README.md' => 'scripts/check-docs: the programs exist');
my @left = grep { !$seen{$_} }
  map { map { $_->{name} } all_blocks(s{^\Q$source\E/}{}r) }
  glob("$source/*.md $source/docs/*.md $source/bench/*.md");

for my $name (sort keys %elsewhere)
{
	my @these = grep { index("$_ ", "$name ") == 0 } @left;

	cmp_ok(scalar(@these), '>', 0, "$name: $elsewhere{$name}");
	@left = grep { index("$_ ", "$name ") != 0 } @left;
}
is_deeply(\@left, [], 'all blocks run');

$node->stop;
done_testing();
