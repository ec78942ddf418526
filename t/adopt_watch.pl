# Watching: the view zs_tables, the queries of docs/adopt-watch.md and for exporters as they stand
# there, what alarms are about and that the remedy ends it, and zs_check_all with its exit status.

use strict;
use warnings FATAL => 'all';

use File::Basename;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

my $source = dirname(dirname(__FILE__));
my $node = new_node('watch', conf => "autovacuum = off\n", allows_streaming => 1);

$node->safe_psql('postgres', q{
	create table loaded (a int primary key, b text) using zedstore;
	insert into loaded select i, md5(i::text) from generate_series(1, 20000) i;
	create table single (a int, b text) using zedstore;
	do $$ begin for i in 1 .. 500 loop insert into single values (i, repeat(md5(i::text), 20));
		end loop; end $$;
	create table "odd ""name" (a int) using zedstore;
	create unlogged table u (a int) using zedstore;
	create materialized view m using zedstore as select 1 as a;
	create table heap (a int);
	create temp table t (a int) using zedstore;
	delete from loaded where a % 2 = 0;
	analyze;
	select pg_stat_force_next_flush();
});

# ---- the view -------------------------------------------------------------------------

is( $node->safe_psql('postgres', 'select relation from zs_tables order by relation::text'),
	join("\n", '"odd ""name"', qw(loaded m single u)), 'zedstore tables, and no others');
is( $node->safe_psql('postgres', q{
		select relation, rowtree_percent > 50, dead_percent > 30, bytes = pg_table_size(relation),
			last_vacuum is null, ratio > 0, free_percent between 0 and 100
		from zs_tables where relation::text in ('loaded', 'single') order by 1}),
	"loaded|f|t|t|t|t|t\nsingle|t|f|t|t|t|t", 'what they are like');
$node->safe_psql('postgres', 'vacuum loaded, single');
is( $node->safe_psql('postgres', q{
		select relation, last_vacuum > now() - interval '1 day' from zs_tables
		where relation::text = 'loaded'}),
	'loaded|t', 'last VACUUM');
$node->safe_psql('postgres',
	'create role watcher login in role pg_monitor; create role other login');
my $count = 'select count(*) from zs_tables';
is($node->safe_psql('postgres', $count, extra_params => [ '-U', 'watcher' ]),
	5, 'a member of pg_monitor');
like(($node->psql('postgres', $count, extra_params => [ '-U', 'other' ]))[2],
	qr/permission denied/, 'and others');

my $standby = standby_of($node, 'standby');
$node->wait_for_replay_catchup($standby);
is($standby->safe_psql('postgres', q{select count(*), count(*) filter (where rowtree_percent is null
	and relation::text = 'u') from zs_tables}), '5|1', 'on a standby');

# ---- what the alarms are about, and what to do ---------------------------------------------

# A query of the page, by its heading.
sub query_of
{
	my ($heading) = @_;
	my ($query) = slurp_file("$source/docs/adopt-watch.md") =~
	  /^## \Q$heading\E\n(?:(?!## ).*\n)*?```sql\n([^`]*)```/m;

	return $query // die "no query below $heading";
}

# A column of zs_tables.
sub figure
{
	my ($table, $column) = @_;

	return $node->safe_psql('postgres',
		"select $column from zs_tables where relation = '$table'::regclass");
}

# The factor or threshold by which an alarm compares a column.
sub limit_of
{
	my ($alarm, $column, $operator) = @_;
	my ($limit) = slurp_file("$source/docs/zedstore-alerts.yaml") =~
	  /alert: $alarm\n\s+expr: zedstore_table_$column $operator ([\d.]+)/;

	return $limit // die "no alarm $alarm";
}

# rows that came one by one
$node->safe_psql('postgres', q{
	create table trickled (a int, b text) using zedstore;
	do $$ begin for i in 1 .. 30000 loop insert into trickled values (i, md5(i::text));
		end loop; end $$});
cmp_ok(figure('trickled', 'rowtree_percent'), '>', 50, 'rows that wait for VACUUM');
$node->safe_psql('postgres', 'vacuum trickled');
cmp_ok(figure('trickled', 'rowtree_percent'), '<', 20, '... which turns them into columns');

# dead rows that somebody keeps: sessions that read or wrote, a prepared transaction
my $thin = query_of('Thin tables');
my $holders = query_of('Who keeps dead rows');
{
	my @sessions = map { $node->background_psql($_) } qw(postgres postgres template1);
	my @pids = map { $_->query_safe('select pg_backend_pid()') } @sessions;

	$sessions[0]->query_safe('begin isolation level repeatable read; select from trickled');
	$sessions[1]->query_safe('begin; create table written (a int)');
	$sessions[2]->query_safe('begin; create table elsewhere (a int)');
	$node->safe_psql('postgres', q{
		begin; create table prepared (a int); prepare transaction 'a global name';
		update trickled set b = 'new';
		select pg_stat_force_next_flush()});
	my (undef, undef, $report) = $node->psql('postgres', 'vacuum (verbose) trickled');
	like($report, qr/30000 are dead but not yet removable/, 'VACUUM says how many');
	like($report, qr/removable cutoff: \d+/, '... and the cutoff');
	cmp_ok(figure('trickled', 'dead_percent'), '>', 20, '... and the view');
	my $found = $node->safe_psql('postgres', $holders);
	like($found, qr/^session\|$pids[0]\|/m, 'a session with a snapshot is named');
	like($found, qr/^session\|$pids[1]\|/m, 'one that wrote, too');
	unlike($found, qr/^session\|$pids[2]\|/m, 'one of another database is not');
	like($found, qr/^prepared transaction\|a global name\|/m, 'a prepared transaction is');
	$_->query_safe('rollback') for @sessions[ 0, 1 ];
	$node->safe_psql('postgres', q{rollback prepared 'a global name'});
	is($node->safe_psql('postgres', $holders), '', 'nobody else');
	$node->safe_psql('postgres', 'vacuum trickled; select pg_stat_force_next_flush()');
	is(figure('trickled', 'dead_rows'), 0, 'and the rows are gone, beside the other database');
	$sessions[2]->query_safe('rollback');
	$_->quit for @sessions;
}

# few rows of many that came in small transactions
for my $remedy ('vacuum full thin', q{call zs_convert('thin', 'heap'); call zs_convert('thin')})
{
	$node->safe_psql('postgres', q{
		create table thin (a int primary key, b text) using zedstore;
		set zedstore.min_segment_rows = 65536;
		do $$ begin for i in 0 .. 9 loop
			insert into thin select i * 20000 + k, repeat(md5(k::text), 20)
				from generate_series(1, 20000) k;
			commit;
		end loop; end $$;
		delete from thin where a % 20 <> 0});
	my (undef, undef, $report) = $node->psql('postgres', 'vacuum (analyze, verbose) thin');
	$node->safe_psql('postgres', 'select pg_stat_force_next_flush()');
	like($report, qr/left in the row tree as too few/, 'VACUUM says so');
	like($node->safe_psql('postgres', $thin), qr/^thin\|/m, 'the query names a thin table');
	$node->safe_psql('postgres', $_) for split /; /, $remedy;
	$node->safe_psql('postgres', 'vacuum analyze thin; select pg_stat_force_next_flush()');
	unlike($node->safe_psql('postgres', $thin), qr/^thin\|/m, "$remedy: no more");
	is($node->safe_psql('postgres', 'select count(*), sum(a) from thin'),
		'10000|1000100000', '... with the same rows');
	$node->safe_psql('postgres', 'drop table thin');
}

# rows that are not in order
$node->safe_psql('postgres', q{
	create table mixed (a int) using zedstore with (zedstore_sort_key = 'a');
	insert into mixed select i from generate_series(1, 70000) i;
	insert into mixed select i from generate_series(1, 70000) i;
	insert into mixed select i from generate_series(1, 70000) i;
	insert into mixed select i from generate_series(1, 70000) i;
	vacuum analyze mixed});
cmp_ok(figure('mixed', 'overlap'), '>', 3, 'segments that overlap');
is(figure('mixed', 'overlap_column'), 'a', '... by the sort key');
$node->safe_psql('postgres', 'cluster mixed; analyze mixed');
cmp_ok(figure('mixed', 'overlap'), '<', 2, '... sorted');
$node->safe_psql('postgres', 'drop table mixed, trickled');

# blocks that nobody uses, of large values, which VACUUM does not move
my $most_free = limit_of('ZedstoreFreeSpace', 'free_percent', '>');
for my $remedy ('vacuum full emptied',
	q{call zs_convert('emptied', 'heap'); call zs_convert('emptied')})
{
	$node->safe_psql('postgres', q{
		create table emptied (a int primary key, b text) using zedstore;
		insert into emptied select i, (select string_agg(md5((i * 2000 + k)::text), '')
			from generate_series(1, 1500) k) from generate_series(1, 100) i;
		vacuum analyze emptied});
	cmp_ok(figure('emptied', 'free_percent'), '<', $most_free, 'a loaded table');
	$node->safe_psql('postgres', 'delete from emptied where a < 96; vacuum analyze emptied');
	cmp_ok(figure('emptied', 'free_percent'), '>', $most_free, '... of which most is deleted');
	$node->safe_psql('postgres', $_) for split /; /, $remedy;
	cmp_ok(figure('emptied', 'free_percent'), '<', $most_free, "$remedy: no more");
	is($node->safe_psql('postgres', 'select count(*), sum(length(b)) from emptied'),
		'5|240000', '... with the same rows');
	$node->safe_psql('postgres', 'drop table emptied');
}

# values that compress, first those of a load, then of small transactions, then others
my $worse = limit_of('ZedstoreRatio', 'ratio', '<');
$node->safe_psql('postgres', q{
	create table squeezed (a int, b text) using zedstore;
	insert into squeezed select i, 'the word ' || i % 10 from generate_series(1, 70000) i;
	vacuum analyze squeezed});
my $week_ago = figure('squeezed', 'ratio');
$node->safe_psql('postgres', q{
	do $$ begin for i in 1 .. 70000 loop insert into squeezed values (i, 'the word ' || i % 10);
		end loop; end $$;
	analyze squeezed});
cmp_ok(figure('squeezed', 'ratio'), '<', $worse * $week_ago, 'half as well as before');
cmp_ok(figure('squeezed', 'rowtree_percent'), '>', 50, '... for rows that came one by one');
$node->safe_psql('postgres', 'vacuum analyze squeezed');
cmp_ok(figure('squeezed', 'ratio'), '>', $worse * $week_ago, '... until VACUUM');
$node->safe_psql('postgres', q{
	truncate squeezed;
	insert into squeezed select i, md5(i::text) from generate_series(1, 70000) i;
	vacuum analyze squeezed});
cmp_ok(figure('squeezed', 'ratio'), '<', $worse * $week_ago, 'other values');
cmp_ok(figure('squeezed', 'rowtree_percent'), '<', 20, '... which are columns');
is( $node->safe_psql('postgres', q{
		select attname from pg_zs_segments('squeezed')
		group by attname order by sum(stored_bytes) desc limit 1}),
	'b', '... of the column that pg_zs_segments() names');
$node->safe_psql('postgres', 'drop table squeezed');

# ---- queries for exporters ---------------------------------------------------------------

my $queries = slurp_file("$source/docs/zedstore-queries.yaml");
my $n = 0;
my %metrics;
while ($queries =~ /^(\w+):\n  query: \|\n((?:    .*\n)+)  metrics:\n((?:    - .*\n)+)/mg)
{
	my ($name, $query, $metrics) = ($1, $2, $3);
	my @columns = $metrics =~ /^    - (\w+):/mg;

	is( $node->safe_psql('postgres', "create temp view q as $query;
			select string_agg(attname, ' ' order by attnum) from pg_attribute
			where attrelid = 'q'::regclass and attnum > 0; select count(*) >= 0 from q"),
		join(' ', @columns) . "\nt", "$name: columns have metrics");
	$metrics{"${name}_$_"} = 1 for @columns;
	$n++;
}
is($n, 2, 'queries were found');

# what alarms and the dashboard ask for
for my $file (qw(zedstore-alerts.yaml zedstore-dashboard.json))
{
	my %asked = map { $_ => 1 } slurp_file("$source/docs/$file") =~ /\b(zedstore_\w+)/g;

	cmp_ok(scalar(keys %asked), '>', 5, "$file asks for metrics");
	is_deeply([ grep { !$metrics{$_} } sort keys %asked ], [], "$file: they are all there");
}

# ---- zs_check_all ---------------------------------------------------------------------

sub check_all
{
	my ($which, @args) = @_;
	my ($out, $err) = ('', '');

	IPC::Run::run([ "$source/scripts/zs_check_all", @args, $which->connstr('postgres') ],
		'>', \$out, '2>', \$err);
	return ($? >> 8, $out, $err);
}
my ($status, $out, $err) = check_all($node);
is($status, 0, 'no problem') or diag "$out\n$err";
($status, $out, $err) = check_all($node, '-j', '3');
is($status, 0, 'no problem, in parallel') or diag "$out\n$err";
($status, $out, $err) = check_all($standby, '-j', '2');
is($status, 0, 'no problem on the standby') or diag "$out\n$err";
$standby->stop;

my $path = $node->data_dir . '/'
  . $node->safe_psql('postgres', q{select pg_relation_filepath('loaded')});
$node->stop;
truncate($path, int((-s $path) / 8192 / 2) * 8192) or die "$path: $!";
$node->start;
($status, $out, $err) = check_all($node, '-j', '3');
cmp_ok($status, '>', 0, 'half a file');
like("$out$err", qr/loaded/, 'which is named');
$node->safe_psql('postgres', 'drop table loaded');
is((check_all($node))[0], 0, 'the others are well');
$node->safe_psql('postgres', 'drop extension zedstore_io cascade');
is((check_all($node))[0], 2, 'no extension');

$node->stop;
done_testing();
