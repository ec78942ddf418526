# Segments that earlier builds wrote in a newer form than the first one are read by this one. For
# each version of a segment's payload above 1 there is a folder t/fixtures/segments-<version> with
# the file of a table whose rows are all frozen, its definition, and the md5 of each column.
# t/format_files.pl has the first version and everything else, but for segments of one value, which
# have no pages: t/fixtures/segments-uniform.
#
# ZS_MAKE_FIXTURE=<folder> writes the folder of the newest version, and that of segments of one
# value, there, and tests them.
use strict;
use warnings FATAL => 'all';

use File::Basename;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreFixture;
use ZedstoreTest;

use constant { PAGE => 8192, SEGMENT => 8, WAL => '000000010000000200000000' };

my $top = dirname(__FILE__);
my ($newest) = slurp_file("$top/../include/zs_codec.h") =~ /^#define ZS_CODEC_VERSION_MAX\s+(\d+)/m;
my $folder = $ENV{ZS_MAKE_FIXTURE} // "$top/fixtures";

# Columns of version 2: an integer dictionary of more entries than version 1 has, and dictionaries
# of all values and of the frequent ones whose entries are coded.
my $schema = <<'SQL';
create table repeats (id int, number int8, phrase text, title text) using zedstore;
SQL
my $words = q{array['alpha', 'river', 'mountain', 'software', 'yesterday', 'blue', 'conference', 'of all']};
my $fill = qq{
	insert into repeats
	select i, hashint8extended(n, 1) >> 12,
		case when n % 40 > 0 then concat_ws(' ', 'page', n % 4000, 'of the chapter', n % 91, 'about', ($words)[n % 8 + 1], ($words)[n / 8 % 8 + 1]) end,
		case when i % 2 = 0 then concat_ws(' ', ($words)[n % 8 + 1], 'and its', ($words)[n / 8 % 8 + 1], n % 1500, 'with a subtitle', n % 70)
			else concat_ws(' ', ($words)[i % 8 + 1], i, 'of its', ($words)[i / 64 % 8 + 1]) end
	from (select i, (hashint4(i) & 1073741823) % 20000 as n from generate_series(1, 60000) i) s};

# Columns whose segments have no pages: a number, NULLs, a text.
my %fill = (
	$newest => $fill,
	uniform => q{
		insert into repeats select i, 4711, null, 'title' from generate_series(1, 20000) i});

# The versions of all segments of a file, each once.
sub versions
{
	my ($bytes) = @_;
	my %found;

	for (my $at = 0; $at < length $bytes; $at += PAGE)
	{
		my ($position, $type) = unpack('x20 V x8 C', substr($bytes, $at + PAGE - 40, 40));
		$found{ unpack('x25 C', substr($bytes, $at, PAGE)) }++
		  if $type == SEGMENT && $position == 0;
	}
	return join ' ', sort keys %found;
}

sub values_of
{
	my ($node) = @_;
	return $node->safe_psql('postgres', join ';', map {
		"select '$_', count($_), md5(string_agg($_\::text, ',' order by id)) from repeats"
	} qw(id number phrase title)) . "\n";
}

foreach my $kind ($ENV{ZS_MAKE_FIXTURE} ? sort keys %fill : ())
{
	my $dir = "$folder/segments-$kind";
	my $node = new_node("maker_$kind", conf => "autovacuum = off\n");

	mkdir $dir or die "$dir: $!";
	$node->safe_psql('postgres', $schema);
	$node->safe_psql('postgres', $_) for $fill{$kind},
		('vacuum (freeze, disable_page_skipping) repeats') x 2, 'checkpoint';
	my $path = $node->safe_psql('postgres', q{select pg_relation_filepath('repeats')});
	append_to_file("$dir/schema.sql", $schema);
	append_to_file("$dir/expected", values_of($node));
	$node->stop;
	write_gz("$dir/repeats.gz", slurp_file($node->data_dir . "/$path"));
}

my @fixtures = sort glob "$folder/segments-*";
is(join(' ', map { basename($_) } @fixtures),
	join(' ', map { "segments-$_" } ($ENV{ZS_MAKE_FIXTURE} ? $newest : 2 .. $newest), 'uniform'),
	'there is a fixture for each version');
foreach my $dir (@fixtures)
{
	my ($kind) = $dir =~ /-(\w+)$/;
	my $name = basename($dir);
	my $bytes = read_gz("$dir/repeats.gz");
	my $expected = slurp_file("$dir/expected");
	my $node = new_node($name =~ s/\W/_/r, conf => "autovacuum = off\n");

	like(versions($bytes), qr/\b$kind\b/, "$name: segments are of version $kind")
	  if $kind ne 'uniform';
	$node->safe_psql('postgres', slurp_file("$dir/schema.sql"));
	my $path = $node->data_dir . '/'
		. $node->safe_psql('postgres', q{select pg_relation_filepath('repeats')});
	$node->stop;
	open my $fh, '>:raw', $path or die "$path: $!";
	print $fh $bytes;
	close $fh or die "$path: $!";
	command_ok([ 'pg_resetwal', '-l', WAL, '-D', $node->data_dir ], "$name: WAL behind the pages'");
	$node->start;

	is(values_of($node), $expected, "$name: values");
	is($node->safe_psql('postgres', q{
			select count(distinct attname) from pg_zs_segments('repeats') where start is null}),
		'3', "$name: segments without pages") if $kind eq 'uniform';
	zs_check_all($node, 'postgres', "$name: zs_check");
	$node->safe_psql('postgres', q{
		create unique index on repeats (id);
		create table twin using heap as table repeats;
		create unique index on twin (id);
		analyze repeats, twin});
	is($node->safe_psql('postgres', q{
			set enable_seqscan = off; set enable_bitmapscan = off; set enable_hashjoin = off; set enable_mergejoin = off;
			select count(*) from twin t where id % 97 = 0 and (t.*) is distinct from
				(select r from (select id, number, phrase, title from repeats r where r.id = t.id) r)}),
		'0', "$name: single rows");
	foreach my $table ('repeats', 'twin')
	{
		$node->safe_psql('postgres', $_)
		  for "update $table set title = phrase where id % 50 = 0",
			"delete from $table where id % 4 = 0", "vacuum $table";
	}
	is($node->safe_psql('postgres', 'select count(*) from ((table repeats except all table twin) union all (table twin except all table repeats)) d'),
		'0', "$name: after changes and VACUUM");
	zs_check_all($node, 'postgres', "$name: zs_check after changes");
	$node->stop;
}

done_testing();
