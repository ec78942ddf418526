# A process has ten slots for callbacks of the relation cache, for core and all libraries together.
# Of these zedstore_io takes one: it works beside a library that leaves no more than that, in
# sessions and in the apply worker of a subscription.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

# Core's own, of the ten: plans and types in a session; these two and its two maps of relations in
# an apply worker.
use constant { SLOTS => 10, SESSION => 2, APPLY_WORKER => 4 };

my $tmp = PostgreSQL::Test::Utils::tempdir_short();
plan skip_all => 'needs a compiler' if !build_c($tmp, 'take_slots.so');

my $node = new_node('main', conf => "shared_preload_libraries = '$tmp/take_slots,zedstore_io'\n"
	  . 'take_slots.count = ' . (SLOTS - SESSION - 1) . "\n");

# Everything that keeps something by relation: options, cursors of inserts, segment heads, fetched
# rows.
$node->safe_psql('postgres', q{
	create table p (a int primary key, b text) using zedstore;
	create table t (a int primary key references p, b text)
		using zedstore with (zedstore_compression = zstd);
	insert into p select g, 'p' || g from generate_series(1, 10000) g;
	insert into t select g, 't' || g from generate_series(1, 10000) g;
	vacuum t, p;
	prepare q as select b from t where a = $1;
	execute q(7);
	insert into t select g, 'more' from generate_series(1, 5) g
		on conflict (a) do update set b = excluded.b;
	insert into t values (6, 'six') on conflict do nothing;
	update t set b = b || '+' where a in (1, 77);
	merge into t using (values (1, 'x'), (2, 'y')) v(a, b) on v.a = t.a
		when matched then update set b = v.b;
	alter table t add column c int default 5;
	delete from t where a = 3;
	analyze t;
});
is($node->safe_psql('postgres', q{select count(*), sum(c), max(b) filter (where a <= 2) from t}),
	'9999|49995|y', 'a session beside a library that leaves one slot');

# The one slot too many ends a process, and core says how.
$node->append_conf('postgresql.conf', 'take_slots.count = ' . (SLOTS - SESSION) . "\n");
$node->restart;
my ($status, $stdout, $stderr) =
	$node->psql('postgres', q{select count(*) from t join p using (a) group by t.b});
like($stderr, qr/out of relcache_callback_list slots/,
	'there are no more slots than this test thinks');

# An apply worker.
my $publisher = PostgreSQL::Test::Cluster->new('publisher');
$publisher->init(allows_streaming => 'logical');
$publisher->start;
$publisher->safe_psql('postgres', q{
	create table t (a int primary key, b text, c int default 5);
	insert into t select g, 'from publisher' from generate_series(20001, 20100) g;
	create publication pub for table t});
$node->append_conf('postgresql.conf', 'take_slots.count = ' . (SLOTS - APPLY_WORKER - 1) . "\n");
$node->restart;
my $connection = $publisher->connstr . ' dbname=postgres';
$node->safe_psql('postgres', qq{
	alter table t drop constraint t_a_fkey;
	create subscription sub connection '$connection' publication pub});
$node->wait_for_subscription_sync($publisher, 'sub');
$publisher->safe_psql('postgres', q{
	update t set b = 'changed' where a % 2 = 0;
	delete from t where a = 20001;
	insert into t select g, 'new' from generate_series(30001, 40000) g});
$publisher->wait_for_catchup('sub');
is($node->safe_psql('postgres', q{select b, count(*) from t where a > 20000 group by b order by b}),
	"changed|50\nfrom publisher|49\nnew|10000",
		'an apply worker beside a library that leaves one slot');
unlike(slurp_file($node->logfile), qr/apply worker .*exited with exit code 1/,
	'it did not have to start again');
zs_check_all($node);

done_testing();
