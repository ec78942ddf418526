# The way back to an older release, as docs/adopt-leave.md says: a database that the older one made
# is used by this one, and then by the older one again.
#
# scripts/test-rollback names the older server in ZS_OLDER_INSTALL.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

plan skip_all => 'run by scripts/test-rollback' if !defined $ENV{ZS_OLDER_INSTALL};

my $node = PostgreSQL::Test::Cluster->new('server', install_path => $ENV{ZS_OLDER_INSTALL});

# The library of the next start: the older release's or this one's.
sub use_library
{
	my ($which) = @_;

	$node->{_install_path} = $which eq 'older' ? $ENV{ZS_OLDER_INSTALL} : undef;
	return;
}

sub restart_with
{
	my ($which) = @_;

	$node->stop;
	use_library($which);
	$node->start;
	return;
}

# Rows of a table, or the error.
sub rows
{
	my ($table) = @_;
	my ($status, $out, $err) = $node->psql('postgres',
		"select count(*), sum(hashtextextended(t::text, 0)) from $table t");

	return $status == 0 ? $out : $err;
}

sub check_all
{
	my ($title, @tables) = @_;

	for my $table (@tables)
	{
		is($node->safe_psql('postgres', "select count(*) from zs_check('$table')"),
			0, "$title: zs_check($table)");
	}
	return;
}

# ---- the older release makes tables, this one uses them ------------------------------------

$node->init;
$node->append_conf('postgresql.conf', <<'CONF');
shared_preload_libraries = 'zedstore_io'
search_path = '"$user", public, zedstore'
autovacuum = off
CONF
$node->start;
$node->safe_psql('postgres', q{
	create extension zedstore_io;
	create table still (a int primary key, b text, c numeric) using zedstore;
	insert into still select i, md5(i::text), i / 7.0 from generate_series(1, 30000) i;
	create table changed (like still including all) using zedstore;
	insert into changed table still;
	create table rewritten (like still including all) using zedstore;
	insert into rewritten table still;
	create table untouched (like still including all);
	insert into untouched table still;
	vacuum});
my $older = $node->safe_psql('postgres',
	q{select extversion from pg_extension where extname = 'zedstore_io'});
restart_with('newer');
$node->safe_psql('postgres', q{
	update changed set b = 'changed ' || a where a % 3 = 0;
	delete from changed where a % 5 = 0;
	insert into changed select i, 'new ' || i % 20, i from generate_series(30001, 60000) i;
	vacuum changed;
	vacuum full rewritten;
	create table made (like still including all) using zedstore;
	insert into made table still});
my @tables = qw(still changed rewritten untouched made);
my %rows = map { $_ => rows($_) } @tables;

# ---- back ----------------------------------------------------------------------------------

restart_with('older');
my %back = map { $_ => rows($_) } @tables;
for my $table (@tables)
{
	note("$table: " . ($back{$table} eq $rows{$table} ? 'is read' : $back{$table}));
	ok( $back{$table} eq $rows{$table}
		  || $back{$table} =~ /ERROR: .*(format version|segment|corrupted)/s,
		"$table: is read, or refused");
}
is($back{$_}, $rows{$_}, "$_: is read") for qw(still untouched);
isnt($back{$_}, $rows{$_}, "$_: is refused") for grep { $older eq '0.1.0' } qw(rewritten made);

# whatever is tried, the server does not crash, and refused tables keep their bytes
my $log = -s $node->logfile;
my %path = map { $_ => $node->data_dir . '/'
	  . $node->safe_psql('postgres', "select pg_relation_filepath('$_')") } @tables;
my @refused = grep { $back{$_} ne $rows{$_} } @tables;
for my $table (@refused)
{
	my $bytes = slurp_file($path{$table});

	for my $statement (
		'select count(b) from T', q{insert into T values (-1, 'x', 0)},
		q{update T set b = 'x' where a = 4}, 'delete from T where a = 4', 'vacuum T',
		'vacuum (freeze, disable_page_skipping) T', 'vacuum full T', 'analyze T',
		'alter table T set access method heap', 'create index on T (b)')
	{
		my $sql = $statement =~ s/\bT\b/$table/r;

		$sql = "begin; $sql; rollback" if $sql !~ /^vacuum/;
		my ($status, $out, $err) = $node->psql('postgres', $sql);
		unlike($err, qr/server closed|terminat/, $sql);
	}
	$node->safe_psql('postgres', 'checkpoint');
	ok(slurp_file($path{$table}) eq $bytes, "$table: nothing was written")
	  if $table =~ /made|rewritten/;
}
unlike(slurp_file($node->logfile, $log), qr/PANIC|TRAP|was terminated by signal/, 'no crash');
$node->safe_psql('postgres', q{
	insert into still select i, md5(i::text), 0 from generate_series(60001, 65000) i;
	update still set b = 'older' where a < 100;
	vacuum still});
$rows{still} = rows('still');

# ---- and forth again: nothing is damaged ------------------------------------------------------

restart_with('newer');
is(rows($_), $rows{$_}, "$_: its rows are there") for grep { $_ ne 'changed' } @tables;
is((split /\|/, rows('changed'))[0],
	(split /\|/, $rows{changed})[0], 'changed: its rows are there');
check_all('newer again', grep { $_ ne 'untouched' } @tables);

# Refused tables become heap beforehand, with the newer library: then nothing is refused.
$node->safe_psql('postgres', "alter table $_ set access method heap") for @refused;
restart_with('older');
is(rows($_), $rows{$_}, "$_: is read, as heap where it was refused") for @tables;

# A crash with the newer release leaves WAL that the older one may not know: put the newer one back.
restart_with('newer');
$node->safe_psql('postgres', q{
	create table crashed (like still including all) using zedstore;
	insert into crashed table still;
	update crashed set b = 'crashed' where a % 2 = 0});
$rows{crashed} = rows('crashed');
$node->stop('immediate');
$node->start;
is(rows('crashed'), $rows{crashed}, 'a crash is recovered from by the release that wrote the WAL');
check_all('at the end', 'still', 'crashed');

$node->stop;
done_testing();
