# Watching: the view zs_tables, the queries for exporters as they stand in docs/, and
# zs_check_all with its exit status.

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

# ---- queries for exporters ---------------------------------------------------------------

my $queries = slurp_file("$source/docs/zedstore-queries.yaml");
my $n = 0;
while ($queries =~ /^(\w+):\n  query: \|\n((?:    .*\n)+)  metrics:\n((?:    - .*\n)+)/mg)
{
	my ($name, $query, $metrics) = ($1, $2, $3);
	my @columns = $metrics =~ /^    - (\w+):/mg;

	is( $node->safe_psql('postgres', "create temp view q as $query;
			select string_agg(attname, ' ' order by attnum) from pg_attribute
			where attrelid = 'q'::regclass and attnum > 0; select count(*) >= 0 from q"),
		join(' ', @columns) . "\nt", "$name: columns have metrics");
	$n++;
}
is($n, 2, 'queries were found');

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
