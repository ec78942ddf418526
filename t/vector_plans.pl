# Plans by batches where SQL tests do not come: on a standby, for temporary and unlogged tables
# across a crash, beside extensions that hook into planner and executor.  Heap twins on the primary
# are the oracle.
use strict;
use warnings FATAL => 'all';

use ZedstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = new_node('primary', allows_streaming => 1);
my $standby = standby_of($primary, 'standby');

# Settings of the runs that must agree, and what a table's twins are asked; T is the table.
my @modes = map { "set zedstore.debug_vector = $_;" } qw(off force verify rows);
push @modes, map { "$_ set max_parallel_workers_per_gather = 2; set parallel_setup_cost = 0; set min_parallel_table_scan_size = 0;" } @modes;
my @queries = (
	'select count(*) from T',
	'select count(*), sum(a), avg(n), min(s), max(d), count(distinct k), stddev(a) from T where k > 2 and s like $$%1%$$',
	'select k, count(*), sum(n), max(s) filter (where a % 2 = 0) from T group by k having count(*) > 1 order by k',
	'select a, s from T where n between 10 and 12 and s <> $$s3$$ order by a',
	'select distinct k, d from T where a < 500 order by k, d');

my $definition = '(a int, k int, n numeric, s text, d date)';
my $rows = q{select i, nullif(i % 7, 3), i / 8.0, 's' || i % 31, date '2020-01-01' + i % 50 from generate_series(1, 20000) i};

# What all queries return of the table.
sub answers
{
	my ($node, $table, $settings, $before) = @_;
	my $sql = join ";\n", map { s/\bT\b/$table/r } @queries;

	return $node->safe_psql('postgres', "$settings $before $sql;");
}

# Do all modes give what heap gives?
sub compare
{
	my ($node, $twins, $title, $before) = @_;
	my ($heap, $zedstore) = @$twins;
	my $expected = answers($node, $heap, 'set max_parallel_workers_per_gather = 0;', $before // '');

	is(answers($node, $zedstore, $_, $before // ''), $expected, "$title: $_") for @modes;
	return $expected;
}

# The plan of a query that can be divided, where plans by batches and parallel ones are preferred.
sub plan_of
{
	my ($node, $table, $before) = @_;

	return $node->safe_psql('postgres', "$modes[5] " . ($before // '') . ' explain (costs off) '
		. $queries[2] =~ s/\bT\b/$table/r);
}

$primary->safe_psql('postgres', qq{
	create table h $definition using heap;
	create table z $definition using zedstore;
	insert into h $rows;
	insert into z table h;
	insert into h values (0, 1, 1.5, 's1', null), (null, null, null, null, null);
	insert into z values (0, 1, 1.5, 's1', null), (null, null, null, null, null);
	delete from h where a % 11 = 0;
	delete from z where a % 11 = 0;
	create unlogged table uh $definition using heap;
	create unlogged table uz $definition using zedstore;
	insert into uh $rows;
	insert into uz table uh});

# ---- on a standby, while it replays ---------------------------------------------------

my $expected = compare($primary, [ 'h', 'z' ], 'primary');
$primary->wait_for_catchup($standby);
is(compare($standby, [ 'h', 'z' ], 'standby'), $expected, 'the standby has what the primary has');
like(plan_of($standby, 'z'), qr/Gather.*Parallel Custom Scan \(ZedstoreAgg\)/s,
	'by batches, in parallel, on the standby');

my $reader = $standby->background_psql('postgres');
$reader->query_safe('set zedstore.debug_vector = verify; begin isolation level repeatable read');
my $before = $reader->query_safe($queries[2] =~ s/\bT\b/z/r);
$primary->safe_psql('postgres', 'update z set n = n + 1, k = k + 1 where a % 3 = 0; update h set n = n + 1, k = k + 1 where a % 3 = 0');
$primary->wait_for_catchup($standby);
is($reader->query_safe($queries[2] =~ s/\bT\b/z/r), $before,
	'a snapshot on the standby keeps its rows');
$reader->query_safe('commit');
$reader->quit;
compare($standby, [ 'h', 'z' ], 'standby, after updates');

# ---- temporary tables, unlogged ones across a crash ---------------------------------------

# a session of its own for each run
my $temp = qq{create temp table th $definition using heap; create temp table tz $definition using zedstore;
	insert into th $rows; insert into tz table th; delete from th where k = 5; delete from tz where k = 5;};
compare($primary, [ 'th', 'tz' ], 'temporary', $temp);
like(plan_of($primary, 'tz', $temp), qr/(?<!Parallel )Custom Scan \(ZedstoreAgg\) on tz/,
	'by batches, not in parallel');
compare($primary, [ 'uh', 'uz' ], 'unlogged');
kill_server($primary);
kill_and_restart($primary, killed => 1);
compare($primary, [ 'h', 'z' ], 'after a crash');
is($primary->safe_psql('postgres', "$modes[2] select count(*), sum(a), max(s) from uz"), '0||',
	'an unlogged table is empty after a crash');
$primary->safe_psql('postgres', "insert into uh $rows; insert into uz table uh");
compare($primary, [ 'uh', 'uz' ], 'unlogged, written again');

# ---- without dynamic shared memory ------------------------------------------------------

# Each Gather keeps a segment until the end of the query, and there are 64 of them and 5 for each
# process: the last one, above a parallel hash join, gets none and is executed as a serial plan.
$primary->append_conf('postgresql.conf', 'max_connections = 4');
$standby->stop;
$primary->restart;
{
	my $key = 'select count(*) + sum(f.a) as n from T f join T g on f.a = g.k where g.a > 19000';
	my $sql = sub {
		my $gathers = join ' union all ', ("select count(*) from z where a = 1") x 400;

		return "set parallel_setup_cost = 0; set parallel_tuple_cost = 0;
			set min_parallel_table_scan_size = 0; set enable_parallel_append = off;
			set zedstore.enable_vector_agg = off; set max_parallel_workers = 0;
			set enable_nestloop = off; set enable_mergejoin = off; $_[0]
			select sum(n) from ($gathers union all (" . $key =~ s/\bT\b/z/gr . ')) q (n)';
	};
	my $plan = $primary->safe_psql('postgres', $sql->('explain (costs off)'));

	is(scalar(() = $plan =~ /Gather/g), 401, 'each part has a Gather');
	like($plan, qr/Parallel Hash Join.*Join Filter Keys: a/s, 'the last one joins');
	is($primary->safe_psql('postgres', $sql->('')),
		400 + $primary->safe_psql('postgres', $key =~ s/\bT\b/h/gr),
		'a parallel hash join for which there is no shared memory');
}
$primary->append_conf('postgresql.conf', 'max_connections = 50');
$primary->restart;
$standby->start;

# ---- beside other extensions -------------------------------------------------------------

SKIP:
{
	my $libraries = $primary->safe_psql('postgres', q{
		select count(*) from pg_ls_dir((select setting from pg_config where name = 'PKGLIBDIR')) f
		where f in ('auto_explain.so', 'pg_stat_statements.so')});

	skip 'auto_explain or pg_stat_statements is not installed', 2 if $libraries ne '2';
	$primary->append_conf('postgresql.conf', <<'CONF');
compute_query_id = on
auto_explain.log_min_duration = 0
auto_explain.log_analyze = on
auto_explain.log_buffers = on
auto_explain.log_verbose = on
auto_explain.log_nested_statements = on
auto_explain.log_format = json
CONF
	# a variable, of which the leader of a parallel plan knows as much as the workers
	$primary->safe_psql('postgres', q{
		create function joined(v int) returns setof bigint language plpgsql
			set plan_cache_mode = force_generic_plan set parallel_setup_cost = 0
			set parallel_tuple_cost = 0 set min_parallel_table_scan_size = 0
			set enable_nestloop = off set enable_mergejoin = off set join_collapse_limit = 1 as $$
		begin
			return query select count(*) from z f join z g on f.a = g.a join z i on f.k = i.a
				where g.a > v and i.a < 5;
		end $$});
	for my $order ('auto_explain, zedstore_io, pg_stat_statements',
		'pg_stat_statements, auto_explain, zedstore_io')
	{
		$primary->append_conf('postgresql.conf', "shared_preload_libraries = '$order'");
		$primary->restart;
		$primary->safe_psql('postgres',
			'create extension if not exists pg_stat_statements; select pg_stat_statements_reset()');
		my $from = -s $primary->logfile;
		compare($primary, [ 'h', 'z' ], $order);
		is( $primary->safe_psql('postgres', 'select joined(19000)'),
			$primary->safe_psql('postgres',
				'select count(*) from h f join h g on f.a = g.a join h i on f.k = i.a
				where g.a > 19000 and i.a < 5'),
			'a join with a variable');
		my $log = slurp_file($primary->logfile, $from);

		like($log, qr/"Custom Plan Provider": "Zedstore$_"/, "auto_explain shows Zedstore$_")
			for qw(Agg Scan);
		like($log, qr/"Parallel Aware": true,(?:(?!"Plan":).)*"Join Filter Keys": \["k", "a"\]/s,
			'keys of parallel hash joins, one of them with a variable');
		is( $primary->safe_psql('postgres', q{
				select calls, rows from pg_stat_statements where query ~ '^select k, count.* from z '}),
			'8|72', 'pg_stat_statements counts rows');
	}
}
zs_check_all($primary);
$standby->stop;
$primary->stop;
done_testing();
