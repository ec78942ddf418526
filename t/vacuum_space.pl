# Space below the level of rows: crashes between the records of VACUUM's merges,
# returns and truncation; blocks leaked by errors and crashes; a standby that
# follows all that; writers and readers while pages split and merge.
# Takes 27 seconds of a processor: scripts/run-tests starts it early.

use strict;
use warnings FATAL => 'all';

use ZedstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = new_node(
	'primary',
	allows_streaming => 1,
	conf => <<'CONF');
wal_consistency_checking = 'all'
shared_buffers = 8MB
wal_keep_size = 8GB
max_wal_size = 4GB
CONF
plan skip_all => 'no injection points in this build'
  if !has_injection_points($primary);
$primary->safe_psql('postgres', 'create extension injection_points');
my $standby = standby_of(
	$primary, 'standby', conf => <<'CONF');
max_standby_streaming_delay = 0
hot_standby_feedback = off
CONF

# What zs_check() says of all tables, notices too.
sub all_problems
{
	my ($node) = @_;
	return $node->safe_psql(
		'postgres', q{
		select c.oid::regclass, k.*
		from pg_class c join pg_am a on a.oid = c.relam,
			lateral zs_check(c.oid::regclass) k
		where a.amname = 'zedstore' and c.relkind = 'r'});
}

sub leaked
{
	return $primary->safe_psql('postgres',
		qq{select count(*) > 0 from zs_check('$_[0]') where message like 'leaked%'});
}

sub blocks
{
	my ($node, $table) = @_;
	return $node->safe_psql('postgres', "select pg_relation_size('$table') / 8192");
}

sub check_standby
{
	my ($title) = @_;
	$primary->wait_for_catchup($standby);
	is(all_problems($standby), '', "$title: nothing wrong on the standby");
	return;
}

# ---- blocks that errors leak

$primary->safe_psql(
	'postgres', q{
	create table seg (a int, b text) using zedstore with (autovacuum_enabled = off);
	insert into seg select i, md5(i::text) from generate_series(1, 20000) i;
	create table big (a int, b text) using zedstore with (autovacuum_enabled = off);
	alter table big alter b set storage external;
	insert into big select i, repeat('v', 30000) from generate_series(1, 10) i;
	create table small (a int, b text) using zedstore with (autovacuum_enabled = off);
	insert into small values (0, 'x')});

my %statements = (
	'zs-attr-allocate' =>
		[ 'seg', "insert into seg select i, md5(i::text) from generate_series(1, 20000) i" ],
	'zs-attr-write' => [ 'seg',
		"insert into seg select i, md5(i::text) from generate_series(1, 20000) i" ],
	'zs-attr-overflow-allocate' => [ 'big', "insert into big values (11, repeat('w', 100000))" ],
	'zs-attr-overflow-write' => [ 'big', "insert into big values (11, repeat('w', 100000))" ],
	'zs-btree-split-block' =>
		[ 'small', "insert into small select i, repeat('x', 500) from generate_series(1, 1000) i" ],
	'zs-btree-split' => [ 'small',
		"insert into small select i, repeat('x', 500) from generate_series(1, 1000) i" ]);

sub count_all
{
	return $primary->safe_psql('postgres',
		q{select (select count(*) from seg), (select sum(length(b)) from big),
			(select count(*) from small)});
}

$primary->safe_psql('postgres',
	"insert into small select i, repeat('x', 500) from generate_series(1, 100) i");
my $count = count_all();
for my $point (sort keys %statements)
{
	my ($table, $statement) = @{ $statements{$point} };
	my ($ret, $out, $err) = $primary->psql(
		'postgres', qq{
		select injection_points_set_local();
		select injection_points_attach('$point', 'error');
		$statement});

	like($err, qr/error triggered for injection point $point/, "$point: error");
	is(leaked($table), $point eq 'zs-btree-split' ? 'f' : 't', "$point: leak");
	$primary->safe_psql('postgres', "vacuum $table");
	is(leaked($table), 'f', "$point: VACUUM finds the blocks");
	is($primary->safe_psql('postgres',
		"select * from zs_check('$table') where severity <> 'notice'"),
		'', "$point: nothing else is wrong");
}
is(count_all(), $count, 'all rows are there');

# A writer that is about to use its blocks keeps them, and others' leaks are found nevertheless.
$primary->safe_psql('postgres', "select injection_points_attach('zs-attr-write', 'wait')");
my $writer = $primary->background_psql('postgres');
$writer->query_until(qr/start/, q{
	\echo start
	insert into seg select i, md5(i::text) from generate_series(20001, 40000) i;
});
$primary->wait_for_event('client backend', 'zs-attr-write');
is(leaked('seg'), 't', 'blocks in the hands of a writer look like leaked ones');
$primary->safe_psql('postgres', 'vacuum seg');
$primary->safe_psql('postgres', q{
	select injection_points_detach('zs-attr-write');
	select injection_points_wakeup('zs-attr-write')});
$writer->quit;
is($primary->safe_psql('postgres', 'select count(*), count(distinct a), sum(length(b)) from seg'),
	'40000|40000|1280000', 'VACUUM leaves them alone');
is(all_problems($primary), '', 'nothing is wrong after that');

# A writer gives the tree directory its first page, out of the table's map, after VACUUM has looked
# how many trees there are.
$primary->safe_psql('postgres', $_) for (
	'create table wide (c1 int, c2 text) using zedstore with (autovacuum_enabled = off)',
	'insert into wide values (0)',
	'insert into wide select i, repeat(md5(i::text), 4) from generate_series(1, 60000) i',
	'delete from wide where c1 > 0',
	'alter table wide drop column c2',
	'vacuum (truncate off) wide',
	'alter table wide ' . join(', ', map { "add c$_ int" } 3 .. 100));
cmp_ok($primary->safe_psql('postgres', q{select nfree from pg_zs_trees('wide') where treeno = 0}),
	'>', 64, 'the table has free blocks for all');
$primary->safe_psql('postgres', "select injection_points_attach('zs-vacuum-leaks', 'wait')");
my $leak_vacuum = $primary->background_psql('postgres');
$leak_vacuum->query_until(qr/start/, "\\echo start\nvacuum (truncate off) wide;\n");
$primary->wait_for_event('client backend', 'zs-vacuum-leaks');
$primary->safe_psql('postgres', q{
	set zedstore.min_segment_rows = 64;
	insert into wide (c1, c100) select i, i from generate_series(1, 3000) i});
is($primary->safe_psql('postgres',
	q{select root is not null from pg_zs_trees('wide') where attname = 'c100'}),
	't', 'the directory has another page');
$primary->safe_psql('postgres', q{
	select injection_points_detach('zs-vacuum-leaks');
	select injection_points_wakeup('zs-vacuum-leaks')});
$leak_vacuum->quit;
is(all_problems($primary), '', 'VACUUM leaves a new page of the tree directory alone');
$primary->safe_psql('postgres',
	'insert into wide (c1, c100) select i, i from generate_series(3001, 9000) i');
is($primary->safe_psql('postgres', 'select count(*), count(c100), sum(c1), sum(c100) from wide'),
	'9001|9000|40504500|40504500', 'and its trees');
check_standby('leaks');

# ---- crashes

# A session that stops at the point, then kill -9 and restart.
sub crash_at
{
	my ($point, $statement) = @_;

	$primary->safe_psql('postgres', "select injection_points_attach('$point', 'wait')");
	my $session = $primary->background_psql('postgres', on_error_stop => 0);
	$session->query_until(qr/start/, "\\echo start\n$statement;\n");
	$primary->wait_for_event('client backend', $point);
	kill_and_restart($primary);
	eval { $session->quit };
	return;
}

for my $point (sort keys %statements)
{
	my ($table, $statement) = @{ $statements{$point} };

	crash_at($point, $statement);
	$primary->safe_psql('postgres', "vacuum $table");
	# so that the next crash loses none of VACUUM's last records: their leak would be this table's
	$primary->safe_psql('postgres', 'checkpoint');
	is(all_problems($primary), '', "$point: VACUUM after a crash sees to everything");
}
is(count_all(), $count =~ s/^20000/40000/r, 'all rows are there');

my @fill = (
	'truncate file',
	"insert into file select i, repeat('x', 1000) from generate_series(1, 8000) i",
	'delete from file where a > 1000 and (a / 50) % 3 <> 0',
	'vacuum (truncate off) file',
	'delete from file where a > 1000');
$primary->safe_psql(
	'postgres', q{
	create table file (a int, b text) using zedstore with (autovacuum_enabled = off);
	alter table file alter b set storage plain});
for my $point (
	qw(zs-btree-merge zs-page-tidy zs-page-return zs-page-cut-tail zs-page-truncate))
{
	$primary->safe_psql('postgres', "set zedstore.min_segment_rows = 65536; $_") for @fill;
	my $before = blocks($primary, 'file');

	crash_at($point, 'vacuum file');
	is($primary->safe_psql('postgres', 'select count(*), sum(a), sum(length(b)) from file'),
		'1000|500500|1000000', "$point: rows after the crash");
	zs_check_all($primary, 'postgres', "$point: zs_check after the crash");

	# what the crash left is used, or found
	$primary->safe_psql('postgres',
		"insert into file select i, 'y' from generate_series(10001, 10100) i;
		delete from file where a > 10000; vacuum file");
	is(all_problems($primary), '', "$point: nothing is left after VACUUM");
	cmp_ok(blocks($primary, 'file'), '<', $before * 3 / 4, "$point: the file is shorter");
	check_standby($point);
	is(blocks($standby, 'file'), blocks($primary, 'file'), "$point: on the standby too");
}

# ---- leaked blocks that keep a file long

my @some_rows = (
	"insert into file select i, repeat('x', 1000) from generate_series(1, 8000) i",
	'delete from file where a > 1000 and (a / 50) % 3 <> 0',
	'vacuum (truncate off) file');

# An insert fails and leaves a run behind all others.  A VACUUM that looks for leaked blocks leaves
# it alone, since a writer may have it in hand.  When it looks what is left at the end of the file,
# that writer has gone.
$primary->safe_psql('postgres', 'truncate file');
my $writing = $primary->background_psql('postgres');
$writing->query_safe('begin; lock table file in row exclusive mode');
$primary->safe_psql('postgres', "set zedstore.min_segment_rows = 65536; $_") for $some_rows[0];
my (undef, undef, $said) = $primary->psql(
	'postgres', q{
	select injection_points_set_local();
	select injection_points_attach('zs-attr-write', 'error');
	insert into file select i, md5(i::text) from generate_series(8001, 28000) i});
like($said, qr/error triggered for injection point zs-attr-write/, 'an insert leaves blocks');
$primary->safe_psql('postgres', "set zedstore.min_segment_rows = 65536; $_")
  for @some_rows[ 1, 2 ], 'delete from file where a > 1000';
is(leaked('file'), 't', 'VACUUM leaves them to a writer');
my $long = blocks($primary, 'file');
$primary->safe_psql('postgres', "select injection_points_attach('zs-page-return', 'wait')");
my $tail_vacuum = $primary->background_psql('postgres');
$tail_vacuum->query_until(qr/start/, "\\echo start\nvacuum file;\n");
$primary->wait_for_event('client backend', 'zs-page-return');
$writing->query_safe('commit');
$writing->quit;
$primary->safe_psql(
	'postgres', q{
	select injection_points_detach('zs-page-return');
	select injection_points_wakeup('zs-page-return')});
$tail_vacuum->quit;
is(leaked('file'), 'f', 'VACUUM finds them when they are in its way');
cmp_ok(blocks($primary, 'file'), '<', $long / 3, '... and makes the file shorter');
is($primary->safe_psql('postgres', 'select count(*), sum(a) from file'),
	'1000|500500', '... with all rows');
is(all_problems($primary), '', '... and nothing is wrong');

# A crash while pages move, in a file of more than a gigabyte, most of which is a hole here.
$primary->safe_psql('postgres', 'truncate file');
$primary->safe_psql('postgres', "set zedstore.min_segment_rows = 65536; $_")
  for (
	"insert into file select i, repeat('x', 1000) from generate_series(1, 8000) i",
	'vacuum (truncate off) file',
	'delete from file where a <= 7000');
$primary->safe_psql('postgres', "select injection_points_attach('zs-btree-move', 'wait')");
my $moving = $primary->background_psql('postgres', on_error_stop => 0);
$moving->query_until(qr/start/, "\\echo start\nvacuum file;\n");
$primary->wait_for_event('client backend', 'zs-btree-move');
$primary->safe_psql('postgres', 'checkpoint');
my $path = $primary->data_dir . '/'
  . $primary->safe_psql('postgres', q{select pg_relation_filepath('file')});
kill_and_restart($primary);
eval { $moving->quit };
is(leaked('file'), 't', 'a crash while a page moves leaves its block');
$primary->stop;
truncate($path, 1 << 30) or die "truncate: $!";
append_to_file("$path.1", '');
truncate("$path.1", 8192) or die "truncate: $!";
$primary->start;
cmp_ok(blocks($primary, 'file'), '>', 131072, 'the file is long');
$primary->safe_psql('postgres', 'vacuum file');
is(leaked('file'), 'f', 'VACUUM finds it whatever the length of the file');
cmp_ok(blocks($primary, 'file'), '<', $long / 3, '... and makes it short');
is($primary->safe_psql('postgres', 'select count(*), sum(a) from file'),
	'1000|7500500', '... with all rows');
is(all_problems($primary), '', '... and nothing is wrong');
check_standby('leaked blocks at the end');

# ---- a query that waits for the table while it is truncated

$primary->safe_psql('postgres', $_)
  for (
	'truncate file',
	"insert into file select i, repeat('x', 1000) from generate_series(1, 100) i",
	q{set zedstore.min_segment_rows = 65536;
	insert into file select i, repeat('x', 1000) from generate_series(101, 30000) i},
	'delete from file where a > 100');
$long = blocks($primary, 'file');
cmp_ok($long, '>', 2500, 'there is much to cut off');
$primary->safe_psql('postgres', "select injection_points_attach('zs-page-cut-tail', 'wait')");
my $cutting = $primary->background_psql('postgres');
$cutting->query_until(qr/start/, "\\echo start\nvacuum (verbose) file;\n\\echo cut\n");
$primary->wait_for_event('client backend', 'zs-page-cut-tail');
my $waiting = $primary->background_psql('postgres');
$waiting->query_until(qr/start/, "\\echo start\nselect count(*) from file;\n\\echo counted\n");
wait_for_sql($primary,
	q{select count(*) = 1 from pg_locks where relation = 'file'::regclass and not granted});
$primary->safe_psql(
	'postgres', q{
	select injection_points_detach('zs-page-cut-tail');
	select injection_points_wakeup('zs-page-cut-tail')});
$waiting->query_until(qr/counted/, '');
$waiting->quit;
$cutting->query_until(qr/cut/, '');
like($cutting->{stderr}, qr/"file": suspending truncate due to conflicting lock request/,
	'VACUUM lets the table go');
is(scalar(() = $cutting->{stderr} =~ /"file": truncated/g), 2, '... and goes on afterwards');
$cutting->quit;
cmp_ok(blocks($primary, 'file'), '<', $long / 10, '... until it is done');
is(all_problems($primary), '', '... and nothing is wrong');
check_standby('suspended truncation');

# ---- a query on the standby that is in the way of a truncation

$primary->safe_psql('postgres', "set zedstore.min_segment_rows = 65536; $_") for @fill;
$primary->wait_for_catchup($standby);
my $reader = $standby->background_psql('postgres', on_error_stop => 0);
$reader->query_safe('begin; declare c cursor for select a, length(b) from file');
$reader->query_safe('fetch 10 from c');
my $log = -s $standby->logfile;
$primary->safe_psql('postgres', 'vacuum file');
$standby->wait_for_log(qr/conflict with recovery/, $log);
ok($standby->log_contains(qr/holding a relation lock for too long/, $log),
	'a query that is in the way is cancelled');
$primary->wait_for_catchup($standby);
eval { $reader->quit };
is($standby->safe_psql('postgres', 'select count(*), sum(a) from file'),
	'1000|500500', 'the next one sees the rows');
is(blocks($standby, 'file'), blocks($primary, 'file'), 'the standby truncated too');

# ---- splits and merges under load

$primary->safe_psql(
	'postgres', q{
	create table load (id int, v int) using zedstore with (autovacuum_enabled = off);
	create unique index load_id on load (id);
	insert into load select i, 100 from generate_series(1, 5000) i;
	create extension pg_walinspect});
my $lsn = $primary->lsn('insert');
my $dir = PostgreSQL::Test::Utils::tempdir;
write_move_script("$dir/move.sql");
append_to_file("$dir/come_and_go.sql", <<'SQL');
\set id random(100000, 1000000000)
insert into load values (:id, 0) on conflict do nothing;
delete from load where id = :id;
SQL
append_to_file("$dir/read.sql", <<'SQL');
select 1 / (sum(v) = 500000)::int from load;
SQL
append_to_file("$dir/lookup.sql", <<'SQL');
\set id random(1, 5000)
select 1 / (count(*) = 1)::int from load where id = :id;
SQL
my $bench = pgbench_rounds($primary, '-c', 6, '-j', 2, '-t', 300,
	'-f', "$dir/move.sql\@10", '-f', "$dir/come_and_go.sql\@8",
	'-f', "$dir/read.sql\@1", '-f', "$dir/lookup.sql\@6");
my $holder = $primary->background_psql('postgres');
for (1 .. 5)
{
	# while somebody may still need to know who inserted a row, leaves fill up and split
	$holder->query_safe('begin isolation level repeatable read; select 1');
	$primary->safe_psql('postgres', q{
		do $$ begin
			for i in 1..1500 loop
				insert into load values (-i, 0);
				commit;
			end loop;
		end $$});
	$holder->query_safe('commit');
	$primary->safe_psql('postgres', $_) for 'delete from load where id < 0', 'vacuum load';
}
$holder->quit;
end_pgbench_rounds($bench, 'no error under load');
is($primary->safe_psql('postgres', 'select count(*), sum(v) from load where id <= 5000'),
	'5000|500000', 'nothing is lost');
$primary->safe_psql('postgres', 'vacuum load');
is($primary->safe_psql('postgres', qq{
	select record_type, count(*) > 5
	from pg_get_wal_records_info('$lsn', pg_current_wal_insert_lsn())
	where record_type in ('BTREE_SPLIT', 'BTREE_MERGE') group by 1 order by 1}),
	"BTREE_MERGE|t\nBTREE_SPLIT|t", 'pages were split and merged');
is(all_problems($primary), '', 'nothing is wrong and nothing has leaked');
check_standby('load');

$standby->stop;
$primary->stop;
done_testing();
