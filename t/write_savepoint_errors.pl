# Rows that wait in the write buffer are written when the table is read.  That may fail half way,
# and a savepoint catch it; the transaction must be able to go on, and commit what it had inserted
# before.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

my $node = new_node('main', conf => "autovacuum = off\n");
plan skip_all => 'the server comes without injection points'
  if !has_injection_points($node);
$node->safe_psql('postgres', 'create extension injection_points');

# Where the write fails; how many rows are inserted before the savepoint, within it, and within an
# earlier one that was rolled back: these are sorted out of the buffer before it is written.
my @cases = (
	[ 'zs-attr-allocate', 5000, 0 ],
	[ 'zs-attr-write', 5000, 0 ],
	[ 'zs-attr-link', 5000, 0 ],
	[ 'zs-attr-link', 5000, 3000 ],
	[ 'zs-attr-link', 20000, 0 ],
	[ 'zs-row-insert', 5, 0 ],
	[ 'zs-row-insert', 50, 30 ],
	[ 'zs-row-insert', 900, 0 ],
	[ 'zs-write-item', 900, 0 ],
	[ 'zs-write-item', 3000, 20 ],
	[ 'zs-btree-split', 900, 0 ],
	[ 'zs-tid-release', 5, 0 ],
	[ 'zs-tid-release', 5000, 2 ],
	[ 'zs-write-judge', 5, 0, 10 ],
	[ 'zs-write-judge', 50, 30, 20 ],
	[ 'zs-page-unreserve-rows', 5000, 0 ],

	# rows of COPY, which get their numbers as they are written
	[ 'zs-attr-allocate', 5000, 0, 0, 'copy' ],
	[ 'zs-page-reserve-rows', 5000, 0, 0, 'copy' ],
	[ 'zs-tid-insert-stripes', 5000, 0, 0, 'copy' ],
	[ 'zs-write-number', 5000, 0, 0, 'copy' ],
	[ 'zs-write-number', 900, 0, 0, 'copy' ],
	[ 'zs-page-cursor-move', 5010, 0, 0, 'copy' ],
	[ 'zs-attr-write', 5010, 0, 100, 'copy' ],
	[ 'zs-attr-write', 5000, 3000, 0, 'copy' ],
	[ 'zs-attr-link', 5000, 0, 4000, 'copy' ],
	[ 'zs-write-item', 900, 0, 0, 'copy' ]);
my $data = $node->basedir;
my $row = "i, repeat('x', 20) || i, i / 8.0";

foreach my $case (@cases)
{
	my ($point, $before, $within, $gone, $copy) = @$case;
	my $name = "$point, $before and $within rows" . ($copy ? ' of COPY' : '');
	my $insert = $copy
	  ? sub { "copy t from '$data/$_[0]'" }
	  : sub { "insert into t select $row from generate_series(1, $_[0]) i" };
	my $inserted = $within == 0 ? '' : $insert->($within) . ';';
	my $rolled_back = !$gone ? '' : "savepoint r; " . $insert->($gone) . "; rollback to r;";
	my $first = $insert->($before);

	foreach my $n (grep { $copy && $_ } $before, $within, $gone)
	{
		$node->safe_psql('postgres',
			"copy (select $row from generate_series(1, $n) i) to '$data/$n'");
	}
	my ($ret, $stdout, $stderr) = $node->psql(
		'postgres', qq{
		drop table if exists t;
		create table t (a int, b text, c numeric) using zedstore;
		insert into t select $row from generate_series(1, 10) i;
		select injection_points_set_local();
		begin;
		$first;
		$rolled_back
		savepoint s;
		$inserted
		select injection_points_attach('$point', 'error');
		select count(*) from t;
		rollback to s;
		select injection_points_detach('$point');
		insert into t select $row from generate_series(1, 7) i;
		commit;
		insert into t select $row from generate_series(1, 3) i;
		},
		on_error_stop => 0);

	like($stderr, qr/error triggered for injection point $point/, "$name: the write failed");
	unlike($stderr, qr/corrupted/, "$name: the commit did not");
	is( $node->safe_psql('postgres', 'select count(*), sum(a), sum(length(b)), sum(c) from t'),
		$node->safe_psql(
			'postgres', qq{
			select count(*), sum(a), sum(length(b)), sum(c)
			from unnest(array[10, $before, 7, 3]) n,
				lateral (select $row from generate_series(1, n) i) r (a, b, c)}),
		"$name: rows");
	is($node->safe_psql('postgres',
		"select message from zs_check('t', true) where severity = 'error'"),
		'', "$name: zs_check");
	$node->safe_psql('postgres', 'vacuum t');
}

# Memory that another table's rows need is taken from a load: its whole stripes are written, and the
# rest waits.  An error in between leaves rows with numbers and rows without.
{
	my ($ret, $stdout, $stderr) = $node->psql(
		'postgres', qq{
		drop table if exists t, other;
		create table t (a int, b text, c numeric) using zedstore;
		create table other (a int, b text) using zedstore;
		copy (select $row from generate_series(1, 20000) i) to '$data/part';
		copy (select i, md5(i::text) from generate_series(1, 60000) i) to '$data/other';
		select injection_points_set_local();
		begin;
		copy t from '$data/part';
		savepoint s;
		set zedstore.write_buffer_size = '1MB';
		select injection_points_attach('zs-write-number', 'error');
		copy other from '$data/other';
		rollback to s;
		select injection_points_detach('zs-write-number');
		copy t from '$data/part';
		commit;
		},
		on_error_stop => 0);

	like($stderr, qr/error triggered for injection point zs-write-number/,
		'memory for others: the write failed');
	is( $node->safe_psql('postgres',
		'select count(*), sum(a), count(distinct a), min(a), max(a) from t'),
		'40000|400020000|20000|1|20000', 'memory for others: rows');
	is($node->safe_psql('postgres',
		"select message from zs_check('t', true) where severity = 'error'"),
		'', 'memory for others: zs_check');
}

# Reading a row by its TID may fail half way, too; what the backend keeps for such rows outlives the
# statement.
for my $lazy ('on', 'off')
{
	my ($ret, $stdout, $stderr) = $node->psql(
		'postgres', qq{
		drop table t;
		create table t (a int, b text) using zedstore;
		alter table t alter b set storage external;
		insert into t select i, repeat('x', i * 1000000) from generate_series(1, 3) i;
		set zedstore.enable_lazy_decode = $lazy;
		select injection_points_set_local();
		begin;
		select length(b || '') from t where ctid = '(0,1)';
		savepoint s;
		select injection_points_attach('zs-attr-overflow-read', 'error');
		select length(b || '') from t where ctid = '(0,2)';
		rollback to s;
		select injection_points_detach('zs-attr-overflow-read');
		select length(b || '') from t where ctid = '(0,3)';
		select length(b || '') from t where ctid = '(0,2)';
		commit;
		},
		on_error_stop => 0);

	like($stderr, qr/error triggered for injection point zs-attr-overflow-read/,
		"lazy decoding $lazy: the read failed");
	is(join(' ', $stdout =~ /\d+/g), '1000000 3000000 2000000',
		"lazy decoding $lazy: the next one did not");
}
zs_check_all($node);
ok(!$node->log_contains('TRAP:|PANIC|corrupted'), 'no assertion failed');
$node->stop;

done_testing();
