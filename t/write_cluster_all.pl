# CLUSTER without a table sorts all tables that have a sort key, after those that have a marked
# index, each in a transaction of its own; those that have
# lost their key by then are left out.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

my $node = new_node('main', conf => "autovacuum = off\nzedstore.min_segment_rows = 1024\n");

# The row numbers of a table's keys in their order
sub is_sorted
{
	my ($table, $key) = @_;
	return $node->safe_psql('postgres',
		qq{select bool_and(place = wanted) from (select row_number() over (order by ctid) as place,
			row_number() over (order by $key, p) as wanted from $table) s});
}

$node->safe_psql(
	'postgres', q{
	create table keyed (k int, p int) using zedstore with (zedstore_sort_key = 'k desc, p');
	create table marked (k int, p int) using zedstore with (zedstore_sort_key = 'k');
	create table plain (k int, p int) using zedstore;
	create table heap (k int, p int) using heap;
	create table other (k int, p int) using zedstore with (zedstore_sort_key = 'k, p');
	create materialized view mat using zedstore as
		select -g as k, g as p from generate_series(1, 2000) g with no data;
	alter materialized view mat set (zedstore_sort_key = 'k');
	create index marked_p on marked (p desc);
	create index heap_k on heap (k, p);
	alter table marked cluster on marked_p;
	alter table heap cluster on heap_k;
	create role clerk login;
	grant all on schema public to clerk;
	alter table keyed owner to clerk});
$node->safe_psql('postgres',
	"insert into $_ select hashint4(g) % 100, g from generate_series(1, 3000) g")
  foreach qw(keyed marked plain heap other);

my ($ret, $stdout, $stderr) = $node->psql('postgres', 'begin; cluster');
like($stderr, qr/CLUSTER cannot run inside a transaction block/, 'not in a block');
is(is_sorted('keyed', 'k desc'), 'f', 'and nothing was done');

($ret, $stdout, $stderr) = $node->psql('postgres', 'cluster', extra_params => [ '-U', 'clerk' ]);
is($ret, 0, 'CLUSTER by who may do it to one table');
like($stderr, qr/permission denied to cluster "other", skipping it/, 'others are named');
is(is_sorted('keyed', 'k desc'), 't', 'a table with a key is sorted');
is(is_sorted('other', 'k'), 'f', 'another user\'s is not');

$node->safe_psql('postgres', 'insert into keyed values (10000, 0)');
$node->safe_psql('postgres', 'cluster');
is(is_sorted('keyed', 'k desc'), 't', 'sorted anew');
is(is_sorted('other', 'k'), 't', 'by its key');
is(is_sorted('marked', 'p desc'), 't', 'by the index that is marked');
is(is_sorted('heap', 'k'), 't', 'heap by its index');
is(is_sorted('plain', 'k'), 'f', 'without a key as it was');
is($node->safe_psql('postgres', 'select count(*), sum(p) from keyed'), '3001|4501500', 'all rows');

# One whose key goes while the other is waited for
$node->safe_psql('postgres', "insert into $_ values (10000, 0), (-10000, -1)")
  foreach qw(keyed other);
my $blocker = $node->background_psql('postgres');
$blocker->query_safe('begin; lock table keyed, other in access share mode');
my $waiting = $node->background_psql('postgres');
$waiting->query_until(qr/go/, "\\echo go\ncluster;\n");
my $waits = q{from pg_locks where relation in ('keyed'::regclass, 'other'::regclass)
	and not granted};
$node->poll_query_until('postgres', "select count(*) = 1 $waits")
  or die 'CLUSTER did not come to a table';
my $first = $node->safe_psql('postgres', "select relation::regclass $waits");
my %key = (keyed => 'k desc', other => 'k');
my $second = $first eq 'keyed' ? 'other' : 'keyed';
$blocker->query_safe("alter table $second reset (zedstore_sort_key)");
$blocker->query_safe('commit');
$blocker->quit;
$waiting->quit;
is(is_sorted($first, $key{$first}), 't', 'the one that was waited for');
is(is_sorted($second, $key{$second}), 'f', 'a key that went does not count');
zs_check_all($node, 'postgres');
done_testing();
