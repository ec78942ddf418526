# Files that a newer release wrote: this one refuses their tables in clear words, whatever the
# command, leaves their bytes alone, and goes on with all other tables.  That is what a roll back
# of a release relies on.
#
# A newer release is some more in the version of a metapage, of a page, or of a segment's head.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

my $page_size = 8192;
my $node = new_node('newer', conf => "autovacuum = off\n");

$node->safe_psql('postgres', q{
	create table meta (a int primary key, b text) using zedstore;
	create table page (a int primary key, b text) using zedstore;
	create table segment (a int primary key, b text) using zedstore;
	create table other (a int primary key, b text) using zedstore;
	insert into meta select i, md5(i::text) from generate_series(1, 20000) i;
	insert into page table meta;
	insert into segment table meta;
	insert into other table meta;
	vacuum freeze;
	checkpoint});
my %path;
$path{$_} = $node->data_dir . '/'
  . $node->safe_psql('postgres', "select pg_relation_filepath('$_')")
  for qw(meta page segment);

# Where the versions stand: that of a page in the special space; in contents behind core's header.
my $payload = 24;
my $opaque = $page_size - 40 + 34;
my ($first) = $node->safe_psql('postgres',
	q{select start from pg_zs_segments('segment') where attno = 2 order by first_row limit 1});
my ($leaf) = $node->safe_psql('postgres', q{
	select blkno from pg_zs_btree_pages('page') where attno = 0 and level = 0 order by 1 limit 1});
my %place = (
	meta => $payload + 4,
	page => $leaf * $page_size + $opaque,
	segment => $first * $page_size + $payload + 1);

# Adds to the byte at the table's place.
sub add_to_version
{
	my ($table, $n) = @_;
	my $byte;

	open my $fh, '+<:raw', $path{$table} or die "$path{$table}: $!";
	sysseek $fh, $place{$table}, 0;
	sysread $fh, $byte, 1;
	cmp_ok(ord $byte, '<', 16, "$table: this is a version");
	sysseek $fh, $place{$table}, 0;
	syswrite $fh, chr(ord($byte) + $n);
	close $fh;
	return;
}

sub contents
{
	my ($table) = @_;

	return $node->safe_psql('postgres', "select count(*), sum(hashtext(b)) from $table");
}

my $rows = contents('other');
$node->stop;
command_ok([ 'pg_checksums', '--disable', '-D', $node->data_dir ], 'no checksums');
add_to_version($_, 8) for sort keys %place;
my %bytes = map { $_ => slurp_file($path{$_}) } keys %place;
$node->start;

my $advice = qr/, which this version of zedstore_io does not know
.*The newest version it knows is \d+\.
.*Install a newer release/;
my %words = (
	meta => qr/table "meta" has zedstore format version \d+$advice/,
	page => qr/page has a format version that this build does not know/,
	segment => qr/table "segment" has segments of version \d+$advice/);
my @statements = (
	'select count(b) from T',
	'set enable_seqscan = off; select count(b) from T where a > 0',
	'set zedstore.debug_vector = force; select b, count(*) from T group by b',
	'copy T to stdout',
	'alter table T set access method heap',
	'alter table T alter b type varchar using upper(b)',
	'create index on T (b)',
	'vacuum full T',
	q{call zs_convert('T', 'heap')},
	'analyze T');
# these need not look at each value, so a table may let them pass that has some segments
my @of_table = (
	q{insert into T values (-1, 'x')},
	q{update T set b = 'x' where a = 5},
	'delete from T where a = 6',
	'vacuum T',
	'vacuum (freeze, disable_page_skipping) T');

for my $table (sort keys %place)
{
	for my $statement (@statements, $table eq 'segment' ? () : @of_table)
	{
		my $sql = $statement =~ s/\bT\b/$table/gr;
		my ($status, $out, $err) = $node->psql('postgres', $sql);

		like($err, $words{$table}, $sql);
	}
	my ($status, $out, $err) = $node->psql('postgres', "select * from zs_check('$table')");
	like("$out$err", qr/does not know/, "$table: zs_check()");
}
is(contents('other'), $rows, 'another table');
$node->safe_psql('postgres', q{
	insert into other select i, md5(i::text) from generate_series(20001, 40000) i; vacuum other});

# Nothing was written to them, by a crash and its recovery neither.
$node->stop('immediate');
$node->start;
$node->stop;
for my $table (sort keys %place)
{
	my ($from, $n) = (0, -s $path{$table});

	# of other pages this release may write what it knows
	($from, $n) = ($leaf * $page_size, $page_size) if $table eq 'page';
	ok( substr(slurp_file($path{$table}), $from, $n) eq substr($bytes{$table}, $from, $n),
		"$table: its bytes are what they were");
	add_to_version($table, -8);
}
$node->start;
is(contents($_), $rows, "$_: its rows are there for the newer release") for sort keys %place;
zs_check_all($node, 'postgres', 'zs_check');

# A table that is not understood can be dropped.
$node->stop;
add_to_version('meta', 8);
$node->start;
$node->safe_psql('postgres', 'drop table meta');
ok(!$node->psql('postgres', 'select 1 from other limit 1'), 'the server is well');

$node->stop;
done_testing();
