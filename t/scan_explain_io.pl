# EXPLAIN (ANALYZE, IO) of PostgreSQL 19: what look-ahead did stands below scans of zedstore tables
# as below heap's, those of nodes of ours too, with and without workers, in text and in JSON.
use strict;
use warnings FATAL => 'all';

use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

my $node = new_node('main', conf => <<'CONF');
autovacuum = off
jit = off
max_parallel_workers_per_gather = 0
min_parallel_table_scan_size = 0
parallel_setup_cost = 0
parallel_tuple_cost = 0
CONF
if ($node->safe_psql('postgres', 'show server_version_num') < 190000)
{
	$node->stop;
	plan skip_all => 'EXPLAIN (IO) came with PostgreSQL 19';
}
for my $t ('h', 'z')
{
	my $am = $t eq 'h' ? 'heap' : 'zedstore';

	$node->safe_psql('postgres', qq{
		create table $t (id int, k int, a bigint, b text) using $am;
		insert into $t select i, i * 7919 % 10007, hashint8extended(i, 1), md5(i::text)
			from generate_series(1, 100000) i;
		create index on $t (k);
		vacuum analyze $t});
}

# All nodes of a plan that has been read from JSON.
sub nodes_of
{
	my ($plan) = @_;
	return ($plan, map { nodes_of($_) } @{ $plan->{Plans} // [] });
}

# Cold runs of a query: each line of EXPLAIN's text about I/O, without what it has measured, and the
# node of that name in JSON.
sub explained
{
	my ($settings, $query, $name, $options) = @_;

	$node->restart;
	my $text = $node->safe_psql('postgres',
		"$settings; explain (analyze, io, costs off, timing off, summary off, buffers off$options)
		$query");
	$node->restart;
	my $json = decode_json($node->safe_psql('postgres',
			"$settings; explain (analyze, io, format json$options) $query"));
	my ($plan) = grep {
		($_->{'Custom Plan Provider'} // $_->{'Node Type'}) eq $name
	} nodes_of($json->[0]{Plan});
	return ($text, $plan);
}

my $rows = 'set zedstore.enable_vector_scan = off; set zedstore.enable_vector_agg = off';
my $shared = 'set max_parallel_workers_per_gather = 2; set parallel_leader_participation = on';
my $bitmap = 'set enable_seqscan = off; set enable_indexscan = off';
my $filter = 'b > \'8\'';

my $lines = qr{
	\n\ *Prefetch:\ avg=[\d.]+\ max=\d+\ capacity=\d+
	\n\ *I/O:\ count=\d+\ waits=\d+\ size=[\d.]+\ in-progress=[\d.]+$
}mx;

for my $case (
	[ 'z', 'Seq Scan', $rows, "select * from z where $filter" ],
	[ 'h', 'Seq Scan', $rows, "select * from h where $filter" ],
	[ 'z', 'Seq Scan', "$rows; $shared", "select * from z where $filter", 'workers' ],
	[ 'h', 'Seq Scan', "$rows; $shared", "select * from h where $filter", 'workers' ],
	[ 'z', 'Bitmap Heap Scan', $bitmap, 'select * from z where k between 100 and 900' ],
	[ 'h', 'Bitmap Heap Scan', $bitmap, 'select * from h where k between 100 and 900' ],
	[ 'z', 'Bitmap Heap Scan', "$bitmap; $shared", 'select * from z where k between 100 and 900' ],
	[
		'z', 'Tid Range Scan', 'set enable_seqscan = off',
		q{select sum(a) from z where ctid < '(390,1)'}
	],
	[ 'h', 'Tid Range Scan', '', q{select sum(a) from h where ctid < '(390,1)'} ],
	[
		'z', 'Tid Range Scan', $shared, q{select sum(a) from z where ctid < '(390,1)'}, 'workers'
	],
	[ 'z', 'ZedstoreScan', 'set zedstore.debug_vector = force', 'select * from z where a > 0' ],
	[
		'z', 'ZedstoreScan', "set zedstore.debug_vector = force; $shared",
		'select * from z where a > 0', 'workers'
	],
	[ 'z', 'ZedstoreAgg', '', 'select k % 10, sum(a), max(b) from z group by 1' ],
	[ 'z', 'ZedstoreAgg', $shared, 'select k % 10, sum(a), max(b) from z group by 1', 'workers' ],
	[ 'z', 'ZedstoreTopN', '', 'select * from z order by a limit 5' ],
	[ 'z', 'ZedstoreTopN', 'set zedstore.enable_vector_scan = off',
		'select * from z order by a limit 5' ])
{
	my ($t, $name, $settings, $query, $workers) = @$case;
	my $title = "$name of $t, " . ($workers // 'alone') . ": $settings";
	my ($text, $plan) = explained($settings || 'set work_mem = 4096', $query, $name, '');

	like($text, $lines, "$title: text");
	ok(defined $plan, "$title: JSON") or next;
	cmp_ok($plan->{'I/O Count'}, '>', 0, "$title: requests");
	cmp_ok($plan->{'Average I/O Size'}, '>=', 1, "$title: blocks of a request");
	cmp_ok($plan->{'Prefetch Capacity'}, '>=', $plan->{'Max Prefetch Distance'},
		"$title: distance");
	cmp_ok($plan->{'Average Prefetch Distance'}, '<=', $plan->{'Max Prefetch Distance'},
		"$title: average distance");
}

# who does not ask gets no line, and what is in buffers needs no look-ahead
my $warm = 'select k % 10, sum(a), max(b) from z group by 1';
$node->restart;
unlike($node->safe_psql('postgres', "explain (analyze, io off) $warm"), qr/Prefetch|I\/O/,
	'not asked for');
$node->restart;
like($node->safe_psql('postgres', "explain (analyze, io) $warm"), qr/Prefetch/, 'asked for');
unlike($node->safe_psql('postgres', "explain (analyze, io) $warm"), qr/Prefetch|I\/O:/,
	'all in buffers');

# a scan in a loop counts what all of its rounds did
$node->restart;
like($node->safe_psql('postgres', q{
	set enable_material = off; set enable_hashjoin = off; set enable_mergejoin = off;
	set enable_memoize = off; set zedstore.debug_vector = force;
	explain (analyze, io) select count(*) from generate_series(1, 3) g, z where z.a % 7 = g}),
	qr/Prefetch/, 'in a loop');
$node->stop;

done_testing();
