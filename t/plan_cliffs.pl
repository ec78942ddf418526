# Plans whose statistics lie.  Rows and numbers of different values are made wrong by a factor of a
# thousand, in both directions, of the large tables, of the small ones and of all; whatever is
# believed, a plan may fetch and hash at most three times the rows of the best one.  Rows are those
# that EXPLAIN ANALYZE counts: no time is measured.
use strict;
use warnings FATAL => 'all';

use JSON::PP;
use ZedstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# What a plan may cost: so many times the best one's rows, and so many more.
my $FACTOR = 3;
my $FEW = 5000;

my $node = new_node('plan_cliffs', conf => <<'CONF');
autovacuum = off
jit = off
max_parallel_workers_per_gather = 0
default_statistics_target = 300
random_page_cost = 1.1
CONF

# The best plan would have few rows where it groups below a join, which a small estimate does
# not: that loses grouping early, and no join goes wrong.
if ($node->pg_version->major >= 19)
{
	$node->append_conf('postgresql.conf', 'enable_eager_aggregate = off');
	$node->reload;
}

# The whole tables are samples for ANALYZE, which makes it return the same each time.
$node->safe_psql('postgres', <<'SQL');
set default_table_access_method = zedstore;
create table sales (item int, ticket int, day int, customer int, store int, warehouse int,
	amount int, primary key (item, ticket));
insert into sales select g % 500, g / 6, 1000 + g % 400, (g * 7) % 2000, g % 10, g % 20,
	g % 1000 from generate_series(1, 60000) g;
create index on sales (customer);
create index on sales (day);
create table returns (item int, ticket int, day int, customer int, store int, amount int,
	primary key (item, ticket));
insert into returns select item, ticket, day + 5, customer, store, amount from sales
	where (item * 31 + ticket) % 10 = 0;
create index on returns (customer);
create table item (id int primary key, brand int, category text);
insert into item select g, g % 100, 'C' || g % 50 from generate_series(0, 499) g;
create table brand (id int primary key, name text);
insert into brand select g, 'B' || g from generate_series(0, 99) g;
create table customer (id int primary key, address int, name text);
insert into customer select g, g % 700, 'N' || g % 100 from generate_series(0, 1999) g;
create table address (id int primary key, state text);
insert into address select g, 'S' || g % 30 from generate_series(0, 699) g;
create table store (id int primary key, state text);
insert into store select g, 'S' || g from generate_series(0, 9) g;
create table day (id int primary key, year int, month int);
insert into day select g, 1998 + g / 365, g / 30 % 12 from generate_series(0, 3999) g;
vacuum analyze;
create table true_class as select oid, reltuples from pg_class;
create table true_statistic as select starelid, staattnum, stadistinct, (select reltuples
	from pg_class where oid = starelid) as n from pg_statistic;

create function lie(what text, factor float8, tables text[]) returns void language plpgsql as $$
begin
	update pg_class c set reltuples = t.reltuples from true_class t
		where t.oid = c.oid and c.reltuples <> t.reltuples;
	update pg_statistic s set stadistinct = t.stadistinct from true_statistic t
		where t.starelid = s.starelid and t.staattnum = s.staattnum
		and s.stadistinct <> t.stadistinct;
	if what = 'rows' then
		update pg_class c set reltuples = greatest(c.reltuples * factor, 1) from pg_index i
			where (c.oid = i.indrelid or c.oid = i.indexrelid)
			and i.indrelid = any (tables::regclass[]) and c.reltuples > 0;
	elsif what = 'values' then
		update pg_statistic s set stadistinct = greatest(factor * case when s.stadistinct < 0
				then -s.stadistinct * t.n else s.stadistinct end, 1)
			from true_statistic t where t.starelid = s.starelid and t.staattnum = s.staattnum
			and s.starelid = any (tables::regclass[]);
	end if;
end $$;
SQL

my %shapes = (
	'star, selective dimension' => q{
		select sum(amount) from sales s join item i on i.id = s.item where category = 'C7'},
	'star, whole dimension' => q{
		select category, sum(amount) from sales s join item i on i.id = s.item group by 1},
	'fact by fact' => q{
		select count(*), sum(r.amount) from sales s join returns r
		on r.item = s.item and r.ticket = s.ticket},
	'EXISTS' => q{
		select count(*) from customer c where exists (select from sales s
			where s.customer = c.id and s.day between 1100 and 1102)},
	'OR of EXISTS' => q{
		select count(*) from customer c where exists (select from sales s
			where s.customer = c.id and s.day between 1100 and 1110)
		or exists (select from returns r where r.customer = c.id and r.day < 1010)},
	'scalar subquery, few keys' => q{
		select count(*) from returns r where amount > (select 1.2 * avg(amount) from returns o
			where o.store = r.store)},
	'scalar subquery, all keys' => q{
		select count(*) from customer c where (select sum(amount) from sales s
			where s.customer = c.id) > 15000},
	'CTE twice' => q{
		with w as (select customer, year, sum(amount) as n from sales s
			join day d on d.id = s.day group by 1, 2)
		select count(*) from w a join w b on b.customer = a.customer
		where a.year = 2000 and b.year = 2001 and a.n > b.n},
	'CTE semijoin' => q{
		with w as (select a.ticket from sales a join sales b on b.item = a.item and
			b.ticket = a.ticket where a.warehouse <> b.warehouse + 1 and a.day < 1040)
		select count(distinct ticket), sum(amount) from returns r where day between 1010 and 1020
		and ticket in (select ticket from w) and ticket in (select w.ticket from w join sales s
			on s.ticket = w.ticket) order by 1 limit 10},
	'chain of lookups' => q{
		select sum(s.amount) from sales s join item i on i.id = s.item
		join brand b on b.id = i.brand join customer c on c.id = s.customer
		join address a on a.id = c.address join store t on t.id = s.store
		where s.day = 1033 and a.state <> 'S3' and b.name <> 'B7'},
	'LIMIT without order' => q{
		select s.amount, c.name from sales s join customer c on c.id = s.customer
		where s.amount > 5 limit 10},
	'dates that no fact has' => q{
		select count(*), sum(s.amount) from sales s join day d on d.id = s.day
		where d.year = 2007});

# Settings that force plans; one of them is the best, with statistics that are true.
my @forced = ('',
	'set enable_nestloop = off; set enable_mergejoin = off;',
	'set enable_hashjoin = off; set enable_mergejoin = off; set enable_seqscan = off;',
	'set enable_nestloop = off; set enable_hashjoin = off;',
	'set zedstore.enable_adaptive_join = off; set enable_mergejoin = off;');

my %tables = (
	large => [qw(sales returns)],
	small => [qw(item brand customer address store day)]);
$tables{all} = [ map { @$_ } @tables{qw(large small)} ];

# What is not met, and why: a table is believed to have so few rows that ...
my %known = (
	'dates that no fact has, rows of large tables x 0.001' =>
		'all of it becomes a hash table, and no scan is told what to leave out',
	'OR of EXISTS, rows of small tables x 0.001' =>
		'a subquery by index is as good as never asked',
	'chain of lookups, values of all tables x 1000' =>
		'the chain begins elsewhere, and by index it comes to a hundred times the rows');

# ---- what a plan does --------------------------------------------------------------------------

# Rows that the node fetches, keeps, sorts or hashes; those of its children are counted by
# themselves.
sub rows_of_node
{
	my ($plan) = @_;
	my $type = $plan->{'Node Type'};
	my $loops = $plan->{'Actual Loops'};
	my $rows = $plan->{'Actual Rows'} * $loops;
	my @children = @{ $plan->{Plans} // [] };
	my $input = @children == 0 ? 0 : $children[0]{'Actual Rows'} * $children[0]{'Actual Loops'};

	return 0 if ($plan->{'Custom Plan Provider'} // '') eq 'ZedstoreTee';
	if ($type =~ /^(Seq|Index|Index Only|Bitmap Heap|CTE|WorkTable) Scan$/)
	{
		my $removed = ($plan->{'Rows Removed by Filter'} // 0) +
			($plan->{'Rows Removed by Index Recheck'} // 0);

		# a search without result takes as long as a row
		return max($rows + $removed * $loops, $loops);
	}
	return $rows if $type =~ /^(Hash|Materialize)$/;
	return $input if $type =~ /^(Sort|Incremental Sort)$/ ||
		($type eq 'Aggregate' && ($plan->{Strategy} // '') eq 'Hashed');
	return @children > 0 && $plan->{'Custom Plan Provider'} eq 'ZedstoreAgg' ? $input :
		@children == 0 ? $rows : 0 if $type eq 'Custom Scan';
	return 0;
}

sub max
{
	my ($x, $y) = @_;
	return $x > $y ? $x : $y;
}

sub rows_of_plan
{
	my ($plan) = @_;
	my $sum = rows_of_node($plan);

	$sum += rows_of_plan($_) for @{ $plan->{Plans} // [] };
	return $sum;
}

# The number of rows, and the plan as text.
sub run
{
	my ($query, $settings) = @_;
	my $explain = 'explain (analyze, timing off, costs off, summary off, buffers off';
	my $json = $node->safe_psql('postgres', "$settings $explain, format json) $query");

	return rows_of_plan(decode_json($json)->[0]{Plan});
}

sub plan_of
{
	my ($query) = @_;
	return $node->safe_psql('postgres',
		"explain (analyze, timing off, summary off, buffers off) $query");
}

# ---- the test ----------------------------------------------------------------------------------

my %best;
foreach my $shape (sort keys %shapes)
{
	my @rows = map { run($shapes{$shape}, $_) } @forced;

	($best{$shape}) = sort { $a <=> $b } @rows;
	note "$shape: " . join ' ', map { sprintf '%.0f', $_ } @rows;
}

my @lies = (['truth', 1, 'all']);
foreach my $what (qw(rows values))
{
	foreach my $factor (1000, 0.001)
	{
		push @lies, [ $what, $factor, $_ ] for sort keys %tables;
	}
}
foreach my $lie (@lies)
{
	my ($what, $factor, $which) = @$lie;
	my $names = join ',', @{ $tables{$which} };

	$node->safe_psql('postgres', "select lie('$what', $factor, '{$names}')");
	foreach my $shape (sort keys %shapes)
	{
		my $rows = run($shapes{$shape}, '');
		my $limit = $FACTOR * $best{$shape} + $FEW;

		my $case = "$shape, $what of $which tables x $factor";
		my $title = sprintf '%s: %.0f rows, at most %.0f', $case, $rows, $limit;

		if ($known{$case})
		{
			note "$title, known: $known{$case}";
			next;
		}
		ok($rows <= $limit, $title) || diag plan_of($shapes{$shape});
	}
}

$node->stop;
done_testing();
