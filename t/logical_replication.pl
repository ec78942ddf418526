# Publications and subscriptions with zedstore tables on either side, or both.
#
# Most tables are four: hh, hz, zh, zz.  The first letter is the access method on the publisher, the
# second on the subscriber.  All get the same changes, so all must be equal in the end, and hh
# tells what is right.
#
# Takes 20 seconds of a processor: scripts/run-tests starts it early.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

my %am = (h => 'heap', z => 'zedstore');
my @kinds = qw(hh hz zh zz);

my $conf = <<'CONF';
logical_decoding_work_mem = 64kB
max_logical_replication_workers = 20
max_worker_processes = 30
max_replication_slots = 30
max_wal_senders = 30
max_prepared_transactions = 30
track_commit_timestamp = on
wal_retrieve_retry_interval = 1ms
CONF
my $publisher = new_node('publisher', allows_streaming => 'logical', conf => $conf);
my $subscriber = new_node('subscriber', allows_streaming => 'logical', conf => $conf);
my @nodes = ($publisher, $subscriber);
my $connstr = $publisher->connstr;

# Runs SQL once for each kind of table: KIND in it is the kind, USING the access method.
sub on_node
{
	my ($node, $sql, $dbname) = @_;
	my $all = '';

	for my $kind (@kinds)
	{
		my $am = $am{ substr($kind, $node == $publisher ? 0 : 1, 1) };
		my $text = $sql;
		$text =~ s/KIND/$kind/g;
		$text =~ s/USING/using $am/g;
		$all .= "$text;\n";
	}
	$node->safe_psql($dbname // 'postgres', $all);
	return;
}

# The rows of a table, in a form that fits the screen.
sub contents
{
	my ($node, $table, $columns, $dbname) = @_;
	return $node->safe_psql($dbname // 'postgres',
		"select count(*), md5(string_agg(t, '|' order by t))
		from (select ($columns)::text as t from $table) s");
}

# All four copies on the subscriber equal the publisher's heap table.
sub all_equal
{
	my ($title, $prefix, %opts) = @_;
	my $columns = $opts{columns} // 'x';
	my $subscription = $opts{subscription} // 'sub';
	my $dbname = $opts{dbname} // 'postgres';

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$publisher->wait_for_catchup($subscription);
	my $where = $opts{where} ? "(select * from ${prefix}hh where $opts{where})" : "${prefix}hh";
	my $expected = contents($publisher, "$where x", $columns, $dbname);
	isnt($expected, '0|', "$title: there are rows") if !$opts{empty};
	for my $kind (@kinds)
	{
		is(contents($subscriber, "$prefix$kind x", $columns, $dbname), $expected, "$title: $kind");
	}
	return;
}

# ---- initial copy

for my $node (@nodes)
{
	$node->safe_psql('postgres', 'create schema d; create schema f; create schema p');
	on_node($node, 'create table d.KIND (a int primary key, b text, c numeric, d bytea) USING');
	on_node($node, 'create table d.nokey_KIND (a int, b text) USING; alter table d.nokey_KIND replica identity full');
	on_node($node, 'create table d.idx_KIND (a int, b int not null, c text) USING;
		create unique index idx_KIND_b on d.idx_KIND (b); alter table d.idx_KIND replica identity using index idx_KIND_b');
}
on_node($publisher, q{
	insert into d.KIND select i, repeat('x', i % 30), i / 7.0, decode(md5(i::text), 'hex') from generate_series(1, 5000) i;
	insert into d.KIND values (-1, repeat('large', 100000), null, null), (-2, null, 'NaN', '');
	update d.KIND set b = 'updated before' where a % 10 = 0;
	delete from d.KIND where a % 10 = 1;
	insert into d.nokey_KIND select i % 5, 'dup' from generate_series(1, 20) i;
	insert into d.idx_KIND select i, i * 2, 'c' from generate_series(1, 100) i});
$publisher->safe_psql('postgres', 'create publication pub for tables in schema d');
$subscriber->safe_psql('postgres',
	"create subscription sub connection '$connstr' publication pub with (streaming = on)");
$subscriber->wait_for_subscription_sync($publisher, 'sub');
all_equal('initial copy', 'd.');
all_equal('initial copy, no key', 'd.nokey_');

# ---- changes

on_node($publisher, q{
	insert into d.KIND values (10000, 'new', 1, '\x01'), (10001, null, null, null);
	copy d.KIND (a, b) from program 'seq -f "%g	copied" 20000 22000';
	update d.KIND set b = 'updated' where a between 20000 and 20100;
	update d.KIND set a = -a where a between 20200 and 20210;
	update d.KIND set c = 0 where a = -1;
	delete from d.KIND where a between 20300 and 20400;
	insert into d.KIND values (10000, 'conflict') on conflict (a) do update set b = 'on conflict';
	insert into d.KIND select 30000 + i, string_agg(md5(i * j::text::int || ''), ''), null, null
		from generate_series(1, 3) i, generate_series(1, 30000) j group by i;
	update d.KIND set b = b || b where a = 30001;
	update d.KIND set c = 5 where a = 30002;
	update d.KIND set a = 30009 where a = 30003;
	update d.KIND set c = 6 where a = 30009});
all_equal('changes', 'd.');

on_node($publisher, q{
	update d.nokey_KIND set b = 'one of five' where ctid = (select min(ctid) from d.nokey_KIND where a = 3);
	delete from d.nokey_KIND where ctid = (select min(ctid) from d.nokey_KIND where a = 4);
	update d.nokey_KIND set a = 100 where a = 2;
	insert into d.nokey_KIND values (null, null);
	update d.nokey_KIND set b = 'was null' where a is null;
	insert into d.nokey_KIND values (7, repeat('key and value', 20000));
	update d.nokey_KIND set a = 8 where a = 7});
all_equal('no key: rows are found by scanning', 'd.nokey_');

on_node($publisher, q{
	update d.idx_KIND set c = 'same key' where a < 10;
	update d.idx_KIND set b = -b where a between 10 and 20;
	delete from d.idx_KIND where a > 90});
all_equal('replica identity index', 'd.idx_');

on_node($publisher, q{
	begin;
	insert into d.KIND values (40000, 'kept');
	savepoint s1;
	insert into d.KIND values (40001, 'lost');
	delete from d.KIND where a = 40000;
	rollback to s1;
	insert into d.KIND values (40001, 'kept too');
	commit;
	begin; insert into d.KIND values (40002, 'lost'); rollback});
all_equal('savepoints', 'd.');

on_node($publisher, q{
	begin;
	insert into d.KIND select i, 'streamed', i, null from generate_series(50000, 54000) i;
	savepoint s1;
	insert into d.KIND select i, 'lost', i, null from generate_series(60000, 62000) i;
	rollback to s1;
	update d.KIND set b = 'streamed update' where a between 50000 and 51000;
	commit});
all_equal('streaming', 'd.');

# a slot may be ahead of what was flushed: both sides start again where they were
$subscriber->restart;
on_node($publisher, q{insert into d.KIND values (70000, 'after a restart of the subscriber')});
kill_and_restart($publisher);
on_node($publisher, q{insert into d.KIND values (70001, 'after a crash of the publisher');
	delete from d.KIND where a = 70000});
all_equal('restarts', 'd.');
on_node($publisher, q{insert into d.KIND select i, 'crash' from generate_series(71000, 71500) i});
kill_and_restart($subscriber);
on_node($publisher, q{update d.KIND set b = 'after a crash of the subscriber' where a = 71000});
all_equal('crash of the subscriber', 'd.');

on_node($publisher, q{vacuum full d.KIND; alter table d.KIND add column e int default 5});
on_node($subscriber, q{alter table d.KIND add column e int});
$subscriber->safe_psql('postgres', 'alter subscription sub refresh publication');
on_node($publisher, q{update d.KIND set b = 'wider' where a = 10000; insert into d.KIND (a, e) values (80000, 6)});
all_equal('after a rewrite', 'd.', columns => '(a, b, c, d)');
is($subscriber->safe_psql('postgres',
	"select string_agg(e::text, ',' order by a) from d.zz where e is not null"),
	'5,6', 'a column that came later');

on_node($publisher, q{truncate d.KIND; insert into d.KIND values (1, 'after truncate')});
all_equal('truncate', 'd.');

# ---- rows that the subscriber has, or has not

$subscriber->safe_psql('postgres', q{
	alter subscription sub set (disable_on_error = true);
	insert into d.zz values (2, 'local')});
my $offset = -s $subscriber->logfile;
on_node($publisher, q{insert into d.KIND values (2, 'remote')});
wait_for_sql($subscriber, "select not subenabled from pg_subscription where subname = 'sub'");
my $log = slurp_file($subscriber->logfile, $offset);
like($log, qr/duplicate key value violates unique constraint|conflict detected on relation "d.zz": conflict=insert_exists/,
	'conflict: an error says why');
like($log, qr/"zz_pkey"/, 'conflict: and which index');
my ($lsn) = $log =~ m{processing remote data for replication origin .* finished at ([0-9A-F]+/[0-9A-F]+)};
ok($lsn, 'conflict: the log has the position to skip');
$subscriber->safe_psql('postgres',
	"alter subscription sub skip (lsn = '$lsn'); alter subscription sub enable");
on_node($publisher, q{insert into d.KIND values (3, 'goes on')});
$publisher->wait_for_catchup('sub');
is($subscriber->safe_psql('postgres', 'select a, b from d.zz order by a'),
	"1|after truncate\n2|local\n3|goes on", 'conflict: skipped, the local row stays');
if ($subscriber->pg_version >= 18)
{
	# needs the row's xmin, which VACUUM leaves there
	$subscriber->safe_psql('postgres',
		"update d.zz set b = 'local' where a = 1; vacuum freeze d.zz");
	$offset = -s $subscriber->logfile;
	on_node($publisher, q{update d.KIND set b = 'after truncate' where a = 1});
	$publisher->wait_for_catchup('sub');
	like(slurp_file($subscriber->logfile, $offset),
		qr/conflict detected on relation "d.zz": conflict=update_origin_differs/,
		'conflict: an update of a row that was changed here');
}
on_node($subscriber, q{delete from d.KIND where a in (2, 3)});
on_node($publisher, q{update d.KIND set b = 'missing' where a = 3; delete from d.KIND where a = 2; insert into d.KIND values (4, 'x')});
$publisher->wait_for_catchup('sub');
is($subscriber->safe_psql('postgres', 'select a, b from d.zz order by a'),
	"1|after truncate\n4|x", 'rows that the subscriber does not have are left out');

# ---- sessions that meet

# Speculative insertions that fail, rows that another session updates first.  The subscriber applies
# one transaction after the other, so it ends up with the same rows or with an error.
my $script = $publisher->basedir . '/upsert.sql';
append_to_file($script, <<'SQL');
\set a random(1000, 1020)
\set b random(1000, 1020)
insert into d.zz (a, b, c) values (:a, 'insert', :b) on conflict (a) do update set b = d.zz.b || 'x', c = excluded.c;
update d.zz set c = c + 1 where a = :b;
begin;
insert into d.zz (a, b) values (:b, 'nothing') on conflict do nothing;
delete from d.zz where a = :a;
end;
insert into d.nokey_zz values (:a, 'zz');
SQL
$publisher->command_ok([ 'pgbench', '-n', '-c', 6, '-t', 60, '-f', $script,
	'-h', $publisher->host, '-p', $publisher->port, 'postgres' ], 'concurrent changes');
$publisher->wait_for_catchup('sub');
for my $table ('d.zz x where a >= 1000', 'd.nokey_zz x')
{
	is(contents($subscriber, $table, $table =~ /nokey/ ? 'x' : '(a, b, c)'),
		contents($publisher, $table, $table =~ /nokey/ ? 'x' : '(a, b, c)'),
			"concurrent changes: $table");
}

# ---- row filters and column lists

for my $node (@nodes)
{
	on_node($node, 'create table f.row_KIND (a int primary key, b text, c int) USING;
		create table f.col_KIND (a int primary key, b text, c int) USING');
}
on_node($publisher, q{
	insert into f.row_KIND select i, 'initial', i from generate_series(1, 200) i;
	insert into f.col_KIND select i, 'initial', i from generate_series(1, 200) i;
	alter table f.row_KIND replica identity full});
$publisher->safe_psql('postgres', 'create publication filtered for table '
	  . join(', ', map { "f.row_$_ where (c > 100 and b <> 'secret'), f.col_$_ (a, c)" } @kinds));
$subscriber->safe_psql('postgres',
	"create subscription sub_f connection '$connstr' publication filtered with (streaming = off)");
$subscriber->wait_for_subscription_sync($publisher, 'sub_f');
my @filter = (subscription => 'sub_f', where => "c > 100 and b <> 'secret'");
my @columns = (subscription => 'sub_f', columns => '(a, c)');
all_equal('row filter: initial copy', 'f.row_', @filter);
all_equal('column list: initial copy', 'f.col_', @columns);
on_node($publisher, q{
	insert into f.row_KIND values (1000, 'out', 5), (1001, 'in', 500);
	copy f.row_KIND from program 'seq -f "%g	copied	50" 2000 2100';
	copy f.row_KIND from program 'seq -f "%g	copied	150" 2200 2300';
	update f.row_KIND set c = 5 where a between 110 and 120;
	update f.row_KIND set c = 500 where a between 10 and 20;
	update f.row_KIND set b = 'changed' where a between 130 and 140;
	update f.row_KIND set b = 'secret' where a = 150;
	delete from f.row_KIND where a between 50 and 60 or a between 180 and 190;
	insert into f.col_KIND values (1000, 'not sent', 5);
	update f.col_KIND set b = 'not sent' where a < 10;
	update f.col_KIND set c = -c where a between 10 and 20;
	delete from f.col_KIND where a > 150});
all_equal('row filter', 'f.row_', @filter);
all_equal('column list', 'f.col_', @columns);
is($subscriber->safe_psql('postgres', 'select count(*) from f.col_zz where b is not null'), '0',
	'column list: nothing else was sent');

# ---- partitions

# partitions of both access methods; "root" arrives in one table, the other partition by partition
for my $name ('root', 'parts')
{
	$publisher->safe_psql('postgres', qq{
		create table p.$name (a int primary key, b text) partition by range (a);
		create table p.${name}_1 partition of p.$name for values from (0) to (100) using zedstore;
		create table p.${name}_2 partition of p.$name for values from (100) to (200) using zedstore;
		create table p.${name}_3 partition of p.$name for values from (200) to (300) using heap;
		insert into p.$name select i, 'initial' from generate_series(0, 299, 10) i});
}
$publisher->safe_psql('postgres', q{
	create publication roots for table p.root with (publish_via_partition_root = true);
	create publication leaves for table p.parts});
$subscriber->safe_psql('postgres', qq{
	create table p.root (a int primary key, b text) using zedstore;
	create table p.parts (a int primary key, b text) partition by hash (a);
	create table p.parts_1 (a int primary key, b text) using zedstore;
	create table p.parts_2 (a int primary key, b text) using heap;
	create table p.parts_3 (a int primary key, b text) using zedstore;
	create subscription sub_p connection '$connstr' publication roots, leaves});
$subscriber->wait_for_subscription_sync($publisher, 'sub_p');
for my $name ('root', 'parts')
{
	$publisher->safe_psql('postgres', qq{
		update p.$name set a = a + 101 where a in (0, 10, 100);
		update p.$name set b = 'changed' where a between 20 and 250;
		delete from p.$name where a in (30, 130, 230);
		copy p.$name from program 'seq -f "%g	copied" 1 9'});
}
$publisher->wait_for_catchup('sub_p');
is(contents($subscriber, 'p.root x', 'x'), contents($publisher, 'p.root x', 'x'),
	'publish_via_partition_root');
for my $part (1 .. 3)
{
	is(contents($subscriber, "p.parts_$part x", 'x'), contents($publisher, "p.parts_$part x", 'x'),
		"partition $part by itself");
}

# The other way round: into partitions, between which rows move.
$publisher->safe_psql('postgres', 'create table p.into (a int primary key, b text) using zedstore;
	create publication flat for table p.into');
$subscriber->safe_psql('postgres', qq{
	create table p.into (a int primary key, b text) partition by range (a);
	create table p.into_1 partition of p.into for values from (0) to (100) using zedstore;
	create table p.into_2 partition of p.into for values from (100) to (200) using zedstore;
	create subscription sub_i connection '$connstr' publication flat});
$subscriber->wait_for_subscription_sync($publisher, 'sub_i');
$publisher->safe_psql('postgres', q{
	insert into p.into select i, 'x' from generate_series(0, 199) i;
	update p.into set b = 'y' where a < 50;
	delete from p.into where a between 120 and 150;
	update p.into set a = a + 70 where a between 50 and 60;
	truncate p.root});
$publisher->wait_for_catchup($_) for 'sub_i', 'sub_p';
is(contents($subscriber, 'p.into x', 'x'), contents($publisher, 'p.into x', 'x'),
	'into partitions');
is($subscriber->safe_psql('postgres', 'select count(*) from p.root'), '0',
	'truncate of a partitioned table');

# ---- all tables of a database, applied in parallel, two-phase commit, generated columns

$_->safe_psql('postgres', 'create database everything') for @nodes;
my $generated = $publisher->pg_version >= 18;
for my $node (@nodes)
{
	$node->safe_psql('everything', 'create extension zedstore_io');
	my $g = $generated && $node == $subscriber ? 'int' : 'int generated always as (a * 2) stored';
	on_node($node, "create table KIND (a int primary key, b text, g $g) USING", 'everything');
}
$publisher->safe_psql('everything', 'create publication everything for all tables'
	  . ($generated ? ' with (publish_generated_columns = stored)' : ''));
on_node($publisher, q{insert into KIND select i, 'initial' from generate_series(1, 1000) i},
	'everything');
$subscriber->safe_psql('everything',
	"create subscription sub_e connection '$connstr dbname=everything' publication everything with (streaming = parallel, two_phase = true)"
);
$subscriber->wait_for_subscription_sync($publisher, 'sub_e', 'everything');
my @everything = (subscription => 'sub_e', dbname => 'everything');
all_equal('all tables: initial copy', '', @everything);

$subscriber->append_conf('postgresql.conf', 'log_min_messages = debug1');
$subscriber->reload;
$offset = -s $subscriber->logfile;
on_node($publisher, q{
	begin;
	insert into KIND select i, repeat('parallel', i % 20) from generate_series(10000, 13000) i;
	savepoint s1;
	update KIND set b = 'lost' where a < 500;
	rollback to s1;
	update KIND set b = 'parallel' where a between 100 and 200;
	delete from KIND where a between 900 and 950;
	commit}, 'everything');
all_equal('parallel apply', '', @everything);
like(slurp_file($subscriber->logfile, $offset), qr/finished processing the STREAM COMMIT command/,
	'parallel apply: transactions were streamed');

on_node($publisher, q{
	begin;
	insert into KIND values (20000, 'prepared');
	update KIND set b = 'prepared' where a = 1;
	prepare transaction 'small_KIND';
	begin;
	insert into KIND select i, repeat('prepared', i % 20) from generate_series(30000, 33000) i;
	prepare transaction 'large_KIND';
	begin;
	delete from KIND where a > 500 and a < 600;
	prepare transaction 'rolled_back_KIND'}, 'everything');
$publisher->wait_for_catchup('sub_e');
is($subscriber->safe_psql('everything', 'select count(*) from pg_prepared_xacts'), '12',
	'two-phase: prepared there too');
kill_and_restart($subscriber);
on_node($publisher, q{commit prepared 'small_KIND'; commit prepared 'large_KIND'; rollback prepared 'rolled_back_KIND'}, 'everything');
all_equal('two-phase', '', @everything);

# ---- what came by replication is passed on unless it is not wanted

$subscriber->safe_psql('everything', q{
	select pg_create_logical_replication_slot('local', 'test_decoding');
	select pg_create_logical_replication_slot('all', 'test_decoding')});
on_node($publisher, q{insert into KIND values (40000, 'from afar')}, 'everything');
$publisher->wait_for_catchup('sub_e');
on_node($subscriber, q{insert into KIND values (40001, 'from here')}, 'everything');
my $query = "select count(*) from pg_logical_slot_get_changes('%s', null, null%s) where data like '%%INSERT%%'";
is($subscriber->safe_psql('everything', sprintf $query, 'local', ", 'only-local', '1'"), '4',
	'origin: local changes only');
is($subscriber->safe_psql('everything', sprintf $query, 'all', ''), '8', 'origin: all changes');

for my $node (@nodes)
{
	zs_check_all($node, $_) for 'postgres', 'everything';
	$node->stop;
}
done_testing();
