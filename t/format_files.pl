# Tables that earlier builds wrote are read by this one: for each format version there is a folder
# t/fixtures/format-<version> with tables' files (t/lib/ZedstoreFixture.pm says what else), which no
# later change of the source may make unreadable.  They hold every kind of page and every encoding
# of their version.
#
# Takes 24 seconds of a processor: scripts/run-tests starts it early.

use strict;
use warnings FATAL => 'all';

use File::Basename;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreFixture;
use ZedstoreTest;

my $folder = dirname(__FILE__) . '/fixtures';

# scripts/make-fixture writes a new one, and tests it
make_fixture("$ENV{ZS_MAKE_FIXTURE}/format-" . format_version()) if $ENV{ZS_MAKE_FIXTURE};
$folder = $ENV{ZS_MAKE_FIXTURE} if $ENV{ZS_MAKE_FIXTURE};

# Every way of reading that can be switched off.
my $plain = join ' ', map { "-c zedstore.enable_$_=off" }
  qw(column_projection lazy_decode read_stream fetch_cache zone_maps topn);
my $sequential = '-c enable_indexscan=off -c enable_indexonlyscan=off -c enable_bitmapscan=off';
my $by_index = '-c enable_seqscan=off -c enable_bitmapscan=off -c enable_sort=off';

# The lines of $got that are not in $expected, the first ten.
sub differences
{
	my ($got, $expected) = @_;
	my %known = map { $_ => 1 } split /\n/, $expected;
	my @lines = grep { !$known{$_} } split /\n/, $got;

	push @lines, 'lines are missing' if (() = $got =~ /\n/g) != (() = $expected =~ /\n/g);
	return join "\n", grep { defined } @lines[ 0 .. 9 ];
}

# With other settings for the session.
sub values_with
{
	my ($options, @arguments) = @_;

	local $ENV{PGOPTIONS} = $options;
	return fixture_values(@arguments);
}

# Do the tables have the rows of their heap twins?
sub twins_differ
{
	my ($node, @tables) = @_;

	return $node->safe_psql('postgres', join ';', map {
		qq{select '$_', count(*) from ((table $_ except all table heap.$_) union all (table heap.$_ except all table $_)) d having count(*) > 0}
	} @tables);
}

my @fixtures = sort glob "$folder/format-*";
my $version = format_version();
ok((grep { basename($_) eq "format-$version" } @fixtures),
	"there is a fixture of format version $version");

# At most 1 MB each; of the present version everything that the source knows is in it.
foreach my $dir (@fixtures)
{
	my $size = 0;
	$size += -s $_ for glob "$dir/*";
	cmp_ok($size, '<=', 1024 * 1024, basename($dir) . ': size');
}
{
	my %has = map { $_ => 1 } split /\n/, slurp_file("$folder/format-$version/contents");
	is_deeply([ grep { !$has{$_} } contents_wanted() ], [],
		'all page kinds, encodings, flags are in it');
}

foreach my $dir (@fixtures)
{
	my $name = basename($dir);
	my $expected = slurp_file("$dir/expected");
	my $without_system = join '', grep { !/^\w+\.(?:ctid|xmin|xmax|cmin|cmax) / } split /^/,
		$expected;
	my ($node, $files) = load_fixture($dir, $name =~ s/\W/_/r);
	my @tables = fixture_tables($node);

	is(fixture_contents($node, $files), slurp_file("$dir/contents"),
		"$name: the files hold what they should");
	zs_check_all($node, 'postgres', "$name: zs_check");
	is(differences(values_with($sequential, $node, \@tables, 1), $expected), '',
		"$name: values, as sequential scans read them");
	is(differences(values_with("$sequential $plain", $node, \@tables, 1), $expected), '',
		"$name: the same with all switches off");

	# rows found by indexes are decoded one by one
	$node->safe_psql('postgres', join ';', 'reindex database',
		map { ("create unique index ${_}_by_id on $_ (id)", "analyze $_") } @tables);
	is(differences(values_with($by_index, $node, \@tables, 1), $expected), '',
		"$name: values by indexes");
	is(differences(values_with("$by_index $plain", $node, \@tables, 1), $expected), '',
		"$name: the same without a cache");
	# zone maps
	is( $node->safe_psql('postgres', q{
			select count(*), sum(small) from enc_lz4 where id between 700 and 800 and price > 10 and f8 < 500
				and oids > 3000000001 and day >= '2026-01-10' and id128 > '11111111-1111-1111-1111-111111111111'}),
		$node->safe_psql('postgres', q{
			set zedstore.enable_zone_maps = off;
			select count(*), sum(small) from enc_lz4 where id between 700 and 800 and price > 10 and f8 < 500
				and oids > 3000000001 and day >= '2026-01-10' and id128 > '11111111-1111-1111-1111-111111111111'}),
		"$name: zone maps");

	# they go on living, as their twins do
	$node->safe_psql('postgres', join ';', 'create schema heap', 'create extension amcheck',
		map { ("create table heap.$_ (like $_ including defaults) using heap",
			"insert into heap.$_ table $_") } @tables);
	is(twins_differ($node, @tables), '', "$name: rows of the twins");
	foreach my $table (@tables)
	{
		my $last = $node->safe_psql('postgres', qq{
			select attname from pg_attribute where attrelid = '$table'::regclass and not attisdropped order by attnum desc limit 1});

		foreach my $twin ($table, "heap.$table")
		{
			# a partition takes no row of the others, and no column of its own
			my $part = $table =~ /^parts/;
			my $sign = $part ? '' : '-';

			$node->safe_psql('postgres', qq{
				update $twin set $last = null where id % 4 = 1;
				delete from $twin where id % 5 = 0;
				update $twin set id = $sign id where id % 7 = 0;
				begin;
				select count(*) from (select from $twin where id % 9 = 0 for update) s;
				savepoint s;
				delete from $twin;
				rollback to s;
				update $twin set $last = $last where id % 6 = 0;
				commit});
			$node->safe_psql('postgres', qq{
				set zedstore.min_segment_rows = 64;
				alter table $twin add column more int default 12;
				insert into $twin (id, $last, more) select id + 1000000, $last, id from $twin where id % 3 = 1}) if !$part;
		}
		$node->safe_psql('postgres', qq{
			insert into $table (id) select id from heap.$table where id % 11 = 0 on conflict (id) do nothing});
	}
	is(twins_differ($node, @tables), '', "$name: rows after changes");
	zs_check_all($node, 'postgres', "$name: zs_check after changes");
	kill_and_restart($node);
	is(twins_differ($node, @tables), '', "$name: rows after a crash");
	is( $node->safe_psql('postgres',
		q{insert into unlogged values (1, 'one'); select count(*), (select count(*) from }
		. q{zs_check('unlogged')) from unlogged}),
		'1|0', "$name: an unlogged table begins with its init fork");
	$node->safe_psql('postgres', 'vacuum');
	is(twins_differ($node, @tables), '', "$name: rows after VACUUM");
	zs_check_all($node, 'postgres', "$name: zs_check after VACUUM");
	$node->safe_psql('postgres', join ';', map { "select zs_compact('$_')" } @tables);
	$node->safe_psql('postgres', 'vacuum (freeze, disable_page_skipping)');
	is(twins_differ($node, @tables), '', "$name: rows after compaction and freezing");
	zs_check_all($node, 'postgres', "$name: zs_check after compaction and freezing");
	is($node->safe_psql('postgres', q{
			select bt_index_check(c.oid, true) from pg_class c join pg_index i on i.indexrelid = c.oid
			join pg_class t on t.oid = i.indrelid where t.relnamespace = 'public'::regnamespace}) =~ s/\n//gr,
		'', "$name: indexes agree");
	kill_and_restart($node);
	is(twins_differ($node, @tables), '', "$name: rows after another crash");
	zs_check_all($node, 'postgres', "$name: zs_check after another crash");
	$node->stop;
	command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ], "$name: checksums at the end");

	# in a cluster without checksums, with a rewrite at once
	($node, $files) = load_fixture($dir, ($name =~ s/\W/_/r) . '_plain', no_checksums => 1);
	is($node->safe_psql('postgres', 'show data_checksums'), 'off', "$name: no checksums");
	$node->safe_psql('postgres', 'reindex database');
	is(differences(fixture_values($node, \@tables, 1), $expected), '',
		"$name: values without checksums");
	zs_check_all($node, 'postgres', "$name: zs_check without checksums");
	$node->safe_psql('postgres', join ';', map { "vacuum full $_" } grep { !/^enc/ } @tables);
	$node->safe_psql('postgres', join ';',
		map { "alter table $_ set access method heap" } grep { /^enc/ } @tables);
	is(differences(fixture_values($node, \@tables, 0), $without_system), '',
		"$name: values after a rewrite");
	zs_check_all($node, 'postgres', "$name: zs_check after a rewrite");
	$node->stop;
}

done_testing();
