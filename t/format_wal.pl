# WAL that earlier builds wrote is replayed by this one: t/fixtures/format-<version>/wal.gz has all
# records of a workload that begins with empty tables.  They are logged again in a new cluster, by
# transactions with the same ids, without touching the tables; the server dies, and recovery makes
# of them what they were.
#
# wal_expected: values of the tables at the end; wal_numbers: transaction ids that were rolled back.
use strict;
use warnings FATAL => 'all';

use File::Basename;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreFixture;
use ZedstoreTest;

my $module = PostgreSQL::Test::Utils::tempdir();
plan skip_all => 'no compiler, or no headers of the server' if !build_c($module, 'wal_vectors.so');

use constant FIRST_XID => 20000;

my $folder = dirname(__FILE__) . '/fixtures';
my @tables = ('w_large', 'w_many', 'w_rows');
my $array = 'array[' . join(', ', map { "'$_'::regclass::oid" } @tables) . ']';
my $functions = qq{
	create function wal_vectors_read(pg_lsn, pg_lsn, oid[]) returns setof text as '$module/wal_vectors', 'wal_vectors_read' language c strict;
	create function wal_vectors_write(text, oid[]) returns pg_lsn as '$module/wal_vectors', 'wal_vectors_write' language c strict;
	create table w_rows (id int, b text, c int) using zedstore;
	create table w_many (id int, b int) using zedstore;
	create table w_large (id int, b text, c int) using zedstore;
};

# The tables are empty files of the format version whose records are replayed.
sub functions
{
	my ($version) = @_;
	return "set zedstore.debug_format_version = $version;" . $functions;
}

# A cluster with the empty tables whose next transaction is FIRST_XID.
sub new_cluster
{
	my ($name, %opts) = @_;
	my $node = new_node($name, conf =>
		"autovacuum = off\nmax_wal_size = 1GB\ncheckpoint_timeout = 1h\n" . ($opts{conf} // ''));

	$node->safe_psql('postgres',
		functions($opts{version} // format_version()) . ($opts{sql} // ''));
	$node->stop;
	command_ok([ 'pg_resetwal', '-x', FIRST_XID, '-D', $node->data_dir ], "$name: transaction ids");
	$node->start;
	return $node;
}

sub values_of
{
	my ($node) = @_;
	return fixture_values($node, \@tables, 1);
}

# ---- scripts/make-fixture --------------------------------------------------------------------

sub make_wal
{
	my ($dir) = @_;
	my $node = new_cluster('maker', sql => 'create unique index on w_rows (id)',
		conf => "wal_level = logical\nfull_page_writes = off\n");
	my $start = $node->safe_psql('postgres', 'select pg_current_wal_insert_lsn()');
	my @aborted;
	my $sql = sub { $node->safe_psql('postgres', join ";\n", @_) };
	my $singly = sub { my ($n, $statement) = @_; $sql->(
		"do \$do\$ begin for i in 1 .. $n loop $statement; commit; end loop; end \$do\$") };
	my $aborted = sub { push @aborted,
		$sql->('begin', @_, 'select pg_current_xact_id()', 'rollback') =~ /(\d+)\s*\z/ };

	# the row tree and its splits, single rows
	$singly->(150, q{insert into w_rows values (i, repeat(chr(97 + i % 26), 30 + i % 9 * 40), i)});
	$singly->(10, q{update w_rows set c = -c where id = i * 3});
	$sql->('delete from w_rows where id % 11 = 0');
	$sql->('begin', 'select count(*) from (select from w_rows where id < 20 for update) s',
		'commit');
	$sql->(q{insert into w_rows values (5, 'again', 0), (1005, 'new', 0) on conflict (id) do update set b = 'conflict'});
	$aborted->(q{insert into w_rows select i, 'rolled back', i from generate_series(2001, 2020) i},
		'delete from w_rows where id = 7');
	# columns, reserved rows that are not used
	$sql->(q{insert into w_rows select i, 'bulk ' || i % 7, i from generate_series(3001, 5000) i});
	$sql->('set zedstore.min_segment_rows = 64',
		q{insert into w_rows select i, 'small bulk', i from generate_series(6001, 6200) i});
	$aborted->(q{insert into w_rows select i, 'rolled back', i from generate_series(7001, 7500) i});
	$sql->('vacuum (truncate off) w_rows');
	$sql->('delete from w_rows where id between 3001 and 3500',
		'update w_rows set b = null where id between 4990 and 5010');
	$sql->('vacuum (freeze, truncate off) w_rows');
	$sql->('set zedstore.min_segment_rows = 64', 'vacuum (truncate off) w_rows');
	$sql->('update w_rows set c = 0 where id = 4444');
	# the TID tree, merges
	$sql->('insert into w_many select i, i % 10 from generate_series(1, 24000) i');
	$sql->('delete from w_many where id % 2 = 0');
	$sql->('vacuum (freeze, truncate off) w_many') for 1 .. 2;
	$sql->('delete from w_many where id % 1000 <> 1 and id > 12000');
	$sql->('set zedstore.enable_relocation = off', 'vacuum (truncate off) w_many');
	$sql->('delete from w_many where id < 100');
	# large values, shared
	$sql->(q{insert into w_large select i, repeat('large ' || i, 3000), i from generate_series(1, 4) i});
	$sql->('update w_large set c = 0 where id in (2, 3)');
	$sql->('delete from w_large where id = 2');
	$sql->('vacuum (disable_page_skipping, truncate off) w_large');

	zs_check_all($node, 'postgres', 'maker: zs_check');
	my $file = $node->basedir . '/lines';
	$node->safe_psql('postgres',
		"copy (select wal_vectors_read('$start', pg_current_wal_insert_lsn(), $array)) to '$file'");
	append_to_file("$dir/wal_expected", values_of($node));
	append_to_file("$dir/wal_numbers", join '', map { "$_\n" } @aborted);
	# there is nothing to redo for LOGICAL records: a few of them will do
	my $nlogical = 0;
	write_gz("$dir/wal.gz", join '', grep { !/^\d+ 208 / || ++$nlogical <= 5 } split /^/,
		slurp_file($file));
	$node->stop;
	return;
}

if ($ENV{ZS_MAKE_FIXTURE})
{
	$folder = $ENV{ZS_MAKE_FIXTURE};
	make_wal("$folder/format-" . format_version());
}

# ---- replay ----------------------------------------------------------------------------------

my @fixtures = grep { -e "$_/wal.gz" } sort glob "$folder/format-*";
ok((grep { basename($_) eq 'format-' . format_version() } @fixtures),
	'there is WAL of this format version');

foreach my $dir (@fixtures)
{
	my $name = basename($dir);
	my $text = read_gz("$dir/wal.gz");
	my @lines = split /\n/, $text;
	my %aborted = map { $_ => 1 } split /\n/, slurp_file("$dir/wal_numbers");
	my (%infos, %ops);

	for (@lines)
	{
		my ($xid, $info, $main) = split ' ';
		$infos{$info}++;
		$ops{ hex substr($main, 10, 2) }++ if $info == 0x60;
	}
	is_deeply([ sort { $a <=> $b } keys %infos ], [ map { $_ * 16 } 0 .. 15 ],
		"$name: records of every kind");
	# insert, xmax, lock, confirm, release, remove dead, retire
	is_deeply([ grep { !$ops{$_} } 1, 2, 3, 4, 6, 7, 9 ], [],
		"$name: changes of rows of many kinds");

	my $node = new_node(($name =~ s/\W/_/r) . '_file', start => 0);
	my $file = $node->basedir . '/lines';
	append_to_file($file, $text);
	$node = new_cluster($name =~ s/\W/_/r, version => $name =~ s/\D//gr, sql => "create table lines (n int generated always as identity, line text); copy lines (line) from '$file'; vacuum freeze lines");

	# each transaction's records in one that has its id
	my $script = '';
	for (my $i = 0; $i < @lines;)
	{
		my ($xid) = split ' ', $lines[$i];
		my $n = 1;
		$n++ while $i + $n < @lines && (split ' ', $lines[ $i + $n ])[0] == $xid;
		my $write = sprintf(
			"do \$\$ declare l text; begin for l in select line from lines where n between %d and %d order by n loop perform wal_vectors_write(l, $array); end loop; end \$\$;\n",
			$i + 1, $i + $n);

		if ($xid > 0)
		{
			$script .= "do \$\$ begin while pg_snapshot_xmax(pg_current_snapshot())::text::int8 < $xid loop perform pg_current_xact_id(); commit; end loop; end \$\$;\n";
			$script .= "begin; select pg_current_xact_id();\n$write"
				. ($aborted{$xid} ? "rollback;\n" : "commit;\n");
		}
		else
		{
			$script .= $write;
		}
		$i += $n;
	}
	$script .= "select pg_logical_emit_message(false, 'zedstore', 'flush', true);\n";
	my ($status, $out, $errors) = $node->psql('postgres', $script, on_error_stop => 1);
	is($errors, '', "$name: records are logged again");
	is($node->safe_psql('postgres', 'select count(*) from w_rows'), '0',
		"$name: the tables are empty still");
	kill_server($node);
	# once: recovery that fails does so again
	$node->start;
	is(values_of($node), slurp_file("$dir/wal_expected"),
		"$name: recovery makes the tables what they were");
	zs_check_all($node, 'postgres', "$name: zs_check");
	$node->safe_psql('postgres', join ';',
		map { ("update $_ set id = -id", "vacuum full $_") } @tables);
	zs_check_all($node, 'postgres', "$name: zs_check later");
	$node->stop;
}

done_testing();
