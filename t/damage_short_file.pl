# Files that are shorter than the free page maps know: a backup tool, or storage that forgot writes,
# has cut off their ends.  What was free there comes back by itself, whatever writes first.  What
# was in use is lost, and who reads it gets an error that says so; nothing crashes.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

my $page_size = 8192;
my $node = new_node('main', conf => <<'CONF');
autovacuum = off
max_wal_size = 4GB
CONF
my $columns = 'a int, b text';

# Rows of two columns at the front, and a free end.
sub create_table
{
	my ($table) = @_;

	$node->safe_psql('postgres', qq{
		create table $table ($columns) using zedstore;
		create table ${table}_h ($columns) using heap;
		alter table $table alter b set storage plain;
		insert into $table select i, repeat('x', 1000) || i from generate_series(1, 3000) i;
		insert into $table select i, md5(i::text) from generate_series(3001, 40000) i;
		delete from $table where a > 2000});
	$node->safe_psql('postgres', "vacuum (truncate off) $table");
	# what VACUUM writes for itself while it frees these goes to the front
	$node->safe_psql('postgres', qq{
		insert into $table select i, md5(i::text) from generate_series(40001, 120000) i;
		delete from $table where a > 2000});
	$node->safe_psql('postgres', "vacuum (truncate off) $table");
	$node->safe_psql('postgres', "insert into ${table}_h table $table");
	return;
}

# Ends the files of these tables at the block that the query gives; the server restarts.
sub cut_off
{
	my ($query, @tables) = @_;
	my %path = map { $_ => $node->data_dir . '/'
		  . $node->safe_psql('postgres', "select pg_relation_filepath('$_')") } @tables;
	my %end = map { $_ => $node->safe_psql('postgres', $query =~ s/TABLE/$_/gr) } @tables;

	$node->stop;
	foreach my $table (@tables)
	{
		cmp_ok(-s $path{$table}, '>', $end{$table} * $page_size, "$table: the file had more");
		truncate($path{$table}, $end{$table} * $page_size) or die "truncate: $!";
	}
	$node->start;
	return;
}

sub same_rows
{
	my ($table, $title) = @_;

	is( $node->safe_psql('postgres', qq{
		select count(*) from ((table $table except all table ${table}_h)
			union all (table ${table}_h except all table $table))}),
		'0',
		"$table: rows as in heap $title");
	return;
}

# ---- free blocks are missing

my %writers = (
	row => "insert into TABLE values (50000, 'single')",
	rows => q{insert into TABLE select i, repeat('y', 500) || i
		from generate_series(60001, 63000) i},
	columns => q{insert into TABLE select i, md5(i::text) from generate_series(70001, 120000) i},
	vacuum => 'vacuum TABLE');
my @tables = sort keys %writers;
create_table($_) for @tables;

# behind the last block that is in use
cut_off(
	q{select max(start) from pg_zs_free_pages('TABLE')
		where start + length = (select file_blocks from pg_zs_meta_page('TABLE'))}, @tables);
foreach my $table (@tables)
{
	my $warnings = '';

	# more of the same until the blocks that are missing are wanted
	for my $round (1 .. 3)
	{
		foreach my $what ($table eq 'row' ? ('row', 'rows') : $table, 'columns')
		{
			my $statement = $writers{$what};
			my ($ret, $out, $err) =
			  $node->psql('postgres', $statement =~ s/TABLE/$table/r);
			is($ret, 0, "$table: $what, round $round");
			$warnings .= $err;
			$node->safe_psql('postgres', $statement =~ s/TABLE/${table}_h/r);
		}
	}
	my @warned = $warnings =~ /(WARNING:  file of table "$table" has \d+ of \d+ blocks)/g;
	cmp_ok(scalar @warned, '<=', 1, "$table: who writes first is warned");
	unlike($warnings, qr/ERROR/, '... and there is no error');
	same_rows($table, 'after all');
}
is( scalar(() = slurp_file($node->logfile) =~ /WARNING:  file of table/g),
	3, 'warnings of tables whose end was not cut off by VACUUM');
zs_check_all($node, undef, 'nothing is wrong');
kill_and_restart($node);
same_rows($_, 'after a crash') for @tables;
zs_check_all($node, undef, 'nothing is wrong after a crash');

# ---- blocks in use are missing, too

create_table('lost');
cut_off(q{select min(start) / 2 from pg_zs_free_pages('TABLE') where length > 64}, 'lost');
my ($ret, $out, $err) = $node->psql(
	'postgres', 'select sum(a), sum(length(b)) from lost',
	extra_params => [ '-v', 'VERBOSITY=verbose' ]);
isnt($ret, 0, 'a scan fails');
like($err, qr/ERROR:  XX001: .*"lost"/, '... and says that the table is damaged');
like($node->safe_psql('postgres', q{select string_agg(message, E'\n') from zs_check('lost')}),
	qr/file/, 'zs_check() tells that the file is short');
foreach my $statement (
	"insert into lost values (50000, 'single')",
	q{insert into lost select i, md5(i::text) from generate_series(70001, 120000) i},
	'update lost set a = -a where a = 1',
	'vacuum lost')
{
	($ret, $out, $err) =
	  $node->psql('postgres', $statement, extra_params => [ '-v', 'VERBOSITY=verbose' ]);
	ok($ret == 0 || $err =~ /ERROR:  XX001: /, "it is damage, or no error: $statement")
	  or diag($err);
}
$node->safe_psql('postgres', 'checkpoint');
same_rows('rows', 'beside a damaged table');
$node->stop;
is(scalar(() = slurp_file($node->logfile) =~ /PANIC|TRAP/g), 0, 'nothing crashes');

done_testing();
