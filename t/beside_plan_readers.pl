# Paths, plans, plan states and slots of ours are such that other libraries can look at them, copy
# them and write them down: a module does what Citus, TimescaleDB, auto_explain and
# pg_stat_statements do, in front of and behind our hooks, and executes plans as they come out of
# stringToNode().  Heap twins are the oracle.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

my $tmp = PostgreSQL::Test::Utils::tempdir_short();
plan skip_all => 'needs a compiler' if !build_c($tmp, 'plan_reader.so');

my $node = new_node('main', conf => "shared_preload_libraries = 'zedstore_io,$tmp/plan_reader'");

# T, U, P (partitioned), I (with children by inheritance) and K, which the module has paths of its
# own for, are tables of either access method.
my @queries = (
	'select * from T where k > 2 and s like $$%1%$$ order by a',
	'select a, n + 1 from T where n between 10 and 12 and s <> $$s3$$ order by a',
	'select a, s from T where k = 3 order by d desc, a limit 7 offset 2',
	'select * from T order by a limit 3',
	'select count(*), sum(n), avg(a), min(s), max(d), count(distinct k) from T where k > 2',
	'select k, count(*), sum(n), max(s) filter (where a % 2 = 0) from T group by k order by k',
	'select k, sum(n) from T group by k having count(*) > 1 order by sum(n) desc, k limit 3',
	'select distinct k, d from T where a < 500 order by k, d',
	'select count(*), sum(T.n) from T join U using (a) where U.k = 4',
	'select U.k, count(*), sum(T.n) from T join U on T.k = U.k and T.a < U.a group by 1 order by 1',
	'select a from T where k <> 7 and s not in (select s from U where k = 3) order by a limit 20',
	'select a from T where k > (select min(k) from U) and (k = 2 or exists
		(select from U where U.a = T.a and U.k <> 3)) order by a limit 20',
	'select g, (select count(*) from T where k = g) from generate_series(1, 4) g order by 1',
	'select a, (select T.s || max(U.s) from U where U.k > T.k), (select T.k from U where U.k = T.k
		limit 1) from T where a < 60 order by 1',
	'select k, sum(n) from (select * from T union all select * from U) s group by k order by k',
	'select k, count(*) from P where a > 5 group by k order by k',
	'select x.a, P.s from T x join P on P.a = x.a where x.k = 5 order by 1 limit 9',
	'select a, s from K where k = 3 order by a',
	'select k, count(*), sum(n) from K where s <> $$s3$$ group by k order by k',
	'select a, s from K where k > 2 order by a desc limit 5',
	'select count(*) from K join T using (a) where T.k = 4',
	'select k, count(*), sum(n) from I where a > 7 group by k order by k');
my @statements = (
	'update T set n = n + 1, s = s || $$+$$ where k = 3 and a % 2 = 0',
	'delete from T where k = 4 and s in (select s from U where k <> 4)',
	'update I set n = n + 1 where k = 3 and s <> $$s1$$',
	'delete from C where k = 4 and s like $$%2%$$',
	'select * from I order by a',
	'insert into T select a + 100000, k, n, s, d from U where k < 3 and n > 2',
	'merge into T using (select a, k from U where k = 5) v on v.a = T.a
		when matched then update set k = v.k + 10');
my $prepared = q{
	set plan_cache_mode = force_generic_plan;
	prepare p (int, text) as
		select k, count(*), sum(n + $1) from T where k <> $1 and s <> $2 group by k order by k;
	execute p(1, 's1'); execute p(2, 's2'); execute p(null, 's3');
	begin;
	declare c scroll cursor for select a, s from T where k <> 5 and n > 2;
	move 50 in c;
	fetch backward 3 in c;
	declare h cursor with hold for select k, sum(n) from T group by k order by k;
	commit;
	fetch 3 from h;
	close h;
	do 'declare r record; total int := 0; begin
		for r in select a from T where k = 2 order by a limit 5 loop total := total + r.a; end loop;
		perform count(*) from T where a = total; end';
	explain (verbose, costs off, format json) select 1};
my @plain = ('set max_parallel_workers_per_gather = 0;');
my @parallel = ('set max_parallel_workers_per_gather = 2; set parallel_setup_cost = 0;
	set parallel_tuple_cost = 0; set min_parallel_table_scan_size = 0;');
my @modes = map { my $setting = $_; map { "$setting $_" } @plain, @parallel }
	map { "set zedstore.debug_vector = $_;" } qw(off force verify rows);

sub named
{
	my ($sql, $am) = @_;

	$sql =~ s/\bK\b/kept$am/g;
	return $sql =~ s/\b([TUPIC])\b(?!')/lc "$am$1"/ger;
}

# What all statements print with the settings, and what the module has seen.
sub answers
{
	my ($am, $settings) = @_;
	my $sql = join ";\n", (map { named($_, $am) } @queries),
		named($prepared, $am), 'begin', (map { named($_, $am) } @statements),
		named('select * from T order by a', $am), 'rollback',
		q{select '# ' || plan_reader_counts()};
	my $output = $node->safe_psql('postgres', "$settings set enable_partitionwise_aggregate = on;
		$sql;");
	my ($answers, $counts) = $output =~ /\A(.*)^# (.*)\z/ms;

	return ($answers, $counts);
}

$node->safe_psql('postgres', qq{
	create function plan_reader_counts() returns text as '$tmp/plan_reader' language c});
for my $am ('heap', 'zedstore')
{
	my $prefix = substr($am, 0, 1);
	my $rows = q{select i, nullif(i % 7, 6), i / 8.0, 's' || i % 31, date '2020-01-01' + i % 50};
	my $definition = '(a int, k int, n numeric, s text, d date)';

	$node->safe_psql('postgres', qq{
		create table ${prefix}t $definition using $am;
		create table ${prefix}u $definition using $am;
		create table ${prefix}p $definition partition by hash (a);
		create table ${prefix}p0 partition of ${prefix}p for values with (modulus 2, remainder 0)
			using $am;
		create table ${prefix}p1 partition of ${prefix}p for values with (modulus 2, remainder 1)
			using $am;
		create table kept$prefix $definition using $am;
		create table ${prefix}i $definition using $am;
		create table ${prefix}c () inherits (${prefix}i) using $am;
		insert into kept$prefix $rows from generate_series(1, 6000) i;
		insert into ${prefix}i $rows from generate_series(1, 5000) i;
		insert into ${prefix}c $rows from generate_series(5001, 9000) i;
		insert into ${prefix}t $rows from generate_series(1, 6000) i;
		insert into ${prefix}u $rows from generate_series(5900, 6100) i;
		insert into ${prefix}p $rows from generate_series(1, 9000) i;
		vacuum analyze ${prefix}t, ${prefix}u, ${prefix}p, ${prefix}i, ${prefix}c, kept$prefix;
		insert into ${prefix}t $rows from generate_series(6001, 6050) i});
}

for my $libraries ("zedstore_io,$tmp/plan_reader", "$tmp/plan_reader,zedstore_io")
{
	my $order = $libraries =~ /^zed/ ? 'a library behind ours' : 'a library in front of ours';
	my %seen;

	$node->append_conf('postgresql.conf', "shared_preload_libraries = '$libraries'");
	$node->restart;
	my ($expected) = answers('h', $plain[0]);
	for my $mode ($libraries =~ /^zed/ ? @modes : @modes[2, 3])
	{
		my ($got, $counts) = answers('z', $mode);

		is($got, $expected, "$order: " . $mode =~ s/\s+/ /gr);
		while ($counts =~ /^(\w+): (.*)$/mg)
		{
			my ($kind, $numbers) = ($1, $2);

			$seen{"$kind $2"} += $1 while $numbers =~ /(\d+) (\w+)/g;
		}
	}
	# paths are offered to libraries whose hooks come behind ours
	for my $kind (qw(ZedstoreScan ZedstoreAgg ZedstoreTopN ZedstoreCache))
	{
		for my $what ($libraries =~ /^zed/ ? 'paths' : (), qw(plans states rows ends))
		{
			cmp_ok($seen{"$kind $what"} // 0, '>', 0, "$order: has seen $what of $kind");
		}
	}
}
zs_check_all($node);
$node->stop;
done_testing();
