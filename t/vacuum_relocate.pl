# Files that become shorter because VACUUM moves what lies at their end: after inserts of
# single rows and rounds of updates; sessions here and on a standby that remember where
# trees and segments were; readers, index lookups and writers while pages move; wide tables,
# large values, and the setting that turns it off.
#
# Takes 40 seconds of a processor: scripts/run-tests starts it early.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

my $primary = new_node(
	'primary',
	allows_streaming => 1,
	conf => <<'CONF');
autovacuum = off
wal_consistency_checking = 'zedstore'
shared_buffers = 16MB
wal_keep_size = 8GB
max_wal_size = 4GB
CONF
my $standby = standby_of(
	$primary, 'standby', conf => <<'CONF');
max_standby_streaming_delay = -1
hot_standby_feedback = off
CONF
$primary->safe_psql('postgres', 'create extension pg_walinspect');

sub blocks
{
	my ($node, $table) = @_;
	return $node->safe_psql('postgres', "select pg_relation_size('$table') / 8192");
}

# Blocks that are in no free page map.
sub used
{
	return $primary->safe_psql('postgres',
		"select sum(nblocks - nfree) + 1 from pg_zs_trees('$_[0]')");
}

sub compare_twins
{
	my ($node, $table, $title) = @_;
	is($node->safe_psql('postgres', qq{
			select count(*) from (
				(table ${table}_z except all table ${table}_h)
				union all (table ${table}_h except all table ${table}_z))}),
		'0', "$title: rows as in heap");
	is($node->safe_psql('postgres', "select * from zs_check('${table}_z')"), '',
		"$title: zs_check");
	return;
}

my $columns = 'id int, a int, b bigint, c int, d text';

sub create_twins
{
	my ($table) = @_;
	$primary->safe_psql('postgres',
		"create table ${table}_h ($columns); create table ${table}_z ($columns) using zedstore");
	return;
}

# Rows one by one, each in a transaction of its own.
sub insert_rows
{
	my ($table, $first, $last) = @_;
	$primary->safe_psql('postgres', qq{
		do \$\$
		begin
			for i in $first .. $last loop
				insert into ${table}_z values (i, hashint4(i), i * 37, i % 1000, md5(i::text));
				commit;
			end loop;
		end \$\$;
		insert into ${table}_h select i, hashint4(i), i * 37, i % 1000, md5(i::text) from generate_series($first, $last) i});
	return;
}

# ---- single rows

create_twins('single');
insert_rows('single', 1, 20000);
$primary->safe_psql('postgres', 'create unique index on single_z (id)');
my $before = blocks($primary, 'single_z');

# these remember roots and segments
my @sessions = map { $_->background_psql('postgres') } $primary, $standby;
$primary->wait_for_catchup($standby);
my $lookup = q{set enable_seqscan = off; set enable_bitmapscan = off;
	select sum(length(d)) + count(*) from single_z where id % 500 = 1 and id between 1 and 20000};
is($_->query_safe($lookup), 40 * 33, 'lookups before') for @sessions;

# columns are written, and stay where they are
$primary->safe_psql('postgres', 'set zedstore.enable_relocation = off; vacuum single_z');
is($_->query_safe($lookup), 40 * 33, 'lookups while nothing has moved') for @sessions;
cmp_ok(blocks($primary, 'single_z'), '>', $before, 'off: the file is longer');
compare_twins($primary, 'single', 'off');

my $lsn = $primary->lsn('insert');
$primary->safe_psql('postgres', 'vacuum (truncate off) single_z');
cmp_ok(blocks($primary, 'single_z'), '>', $before, 'truncate off: so it is');
my ($ret, $out, $err) = $primary->psql('postgres', 'vacuum (verbose) single_z');
like($err, qr/^pages: [1-9]\d* removed.*^space: .* [1-9]\d* moved$/ms, 'VACUUM says what it did');
cmp_ok(blocks($primary, 'single_z'), '<=', used('single_z') * 1.1 + 8,
	'the file has hardly more than it needs');
cmp_ok(blocks($primary, 'single_z'), '<', $before, 'which is less than the rows took');
is($primary->safe_psql('postgres', qq{
	select string_agg(distinct record_type, ' ' order by record_type)
	from pg_get_wal_records_info('$lsn', pg_current_wal_insert_lsn()) where description like 'move, %'}),
	'BTREE_MERGE PAGE_TREE', 'pages and roots moved');
compare_twins($primary, 'single', 'moved');
$primary->wait_for_catchup($standby);
is(blocks($standby, 'single_z'), blocks($primary, 'single_z'), 'the standby has the same file');
compare_twins($standby, 'single', 'standby');
is($_->query_safe($lookup), 40 * 33, 'a session that knew other places finds the rows')
	for @sessions;

# again, with what these sessions know now
insert_rows('single', 20001, 40000);
is($_->query_safe($lookup), 40 * 33, 'lookups') for @sessions;
$primary->safe_psql('postgres', 'vacuum single_z');
is($sessions[0]->query_safe('insert into single_z values (0, 0, 0, 0, null) returning id'), '0',
	'it writes, too');
$primary->safe_psql('postgres', 'insert into single_h values (0, 0, 0, 0, null)');
cmp_ok(blocks($primary, 'single_z'), '<=', used('single_z') * 1.1 + 8, 'the file is short again');
compare_twins($primary, 'single', 'again');
$primary->wait_for_catchup($standby);
is($_->query_safe($lookup), 40 * 33, 'lookups afterwards') for @sessions;
$_->quit for @sessions;
compare_twins($standby, 'single', 'standby again');

# ---- rounds of updates; of fewer rows one segment would take most of the file, and have no place
# to go to

create_twins('round');
$primary->safe_psql('postgres', qq{
	insert into round_$_ select i, hashint4(i), i * 37, i % 1000, md5(i::text) from generate_series(1, 150000) i}) for qw(h z);
for my $round (1 .. 6)
{
	$primary->safe_psql('postgres',
		"update round_$_ set c = c + 1 where hashint4(id # $round) % 5 = 0") for qw(h z);
	$primary->safe_psql('postgres', 'vacuum round_z');
	cmp_ok(blocks($primary, 'round_z'), '<=', used('round_z') * 1.25 + 64,
		"update $round: the file has not much more than it needs");
}
compare_twins($primary, 'round', 'updates');
$primary->wait_for_catchup($standby);
compare_twins($standby, 'round', 'updates, standby');

# ---- large values stay where they are; the rest moves

$primary->safe_psql('postgres', q{
	create table large_z (a int, b text) using zedstore;
	alter table large_z alter b set storage external;
	set zedstore.min_segment_rows = 65536;
	insert into large_z select i, repeat('x', 1000) from generate_series(1, 3000) i;
	insert into large_z select i, repeat('y', 50000) from generate_series(3001, 3005) i;
	insert into large_z select i, repeat('x', 1000) from generate_series(3006, 6000) i;
	insert into large_z select i, 'small' from generate_series(6001, 10000) i});
$before = blocks($primary, 'large_z');
$primary->safe_psql('postgres',
	'delete from large_z where a < 3000 or a between 3006 and 6000; vacuum large_z');
cmp_ok(blocks($primary, 'large_z'), '<', $before * 0.7, 'large values: the file is shorter');
is($primary->safe_psql('postgres', 'select count(*), sum(a), sum(length(b)) from large_z'),
	'4006|32020015|271000', 'large values: rows');
is($primary->safe_psql('postgres', "select * from zs_check('large_z')"), '',
	'large values: zs_check');

# ---- a tree directory of several pages

my $wide = join ', ', map { "c$_ int" } 1 .. 150;
$primary->safe_psql('postgres', qq{
	create table wide_z ($wide) using zedstore;
	set zedstore.min_segment_rows = 65536;
	insert into wide_z select } . join(', ', map { "i + $_" } 1 .. 150) . q{ from generate_series(1, 8000) i});
$before = blocks($primary, 'wide_z');
$primary->safe_psql('postgres', 'vacuum wide_z');
cmp_ok(blocks($primary, 'wide_z'), '<', $before, 'wide table: the file is shorter');
is($primary->safe_psql('postgres', 'select count(*), sum(c1), sum(c150) from wide_z'),
	'8000|32012000|33204000', 'wide table: rows');
is($primary->safe_psql('postgres', "select * from zs_check('wide_z')"), '', 'wide table: zs_check');

# ---- readers and writers while pages move

$primary->safe_psql(
	'postgres', q{
	create table load (id int, v int, pad text) using zedstore;
	create unique index load_id on load (id);
	insert into load select i, 100, md5(i::text) from generate_series(1, 5000) i});
$primary->wait_for_catchup($standby);
my $dir = PostgreSQL::Test::Utils::tempdir;
write_move_script("$dir/move.sql");
append_to_file("$dir/come_and_go.sql", <<'SQL');
\set id random(10000, 100000000)
insert into load select :id + i, 0, repeat('x', 900) from generate_series(1, 40) i on conflict do nothing;
delete from load where id > :id and id <= :id + 40;
SQL
append_to_file("$dir/bulk.sql", <<'SQL');
\set id random(100000001, 2000000000)
insert into load select :id + i, 0, md5(i::text) from generate_series(1, 5000) i on conflict do nothing;
delete from load where id > :id and id <= :id + 5000;
SQL
append_to_file("$dir/read.sql", <<'SQL');
select 1 / (sum(v) = 500000 and count(*) filter (where id <= 5000 and pad = md5(id::text)) = 5000)::int from load;
SQL
append_to_file("$dir/lookup.sql", <<'SQL');
\set id random(1, 5000)
select 1 / (count(*) = 1 and min(pad) = md5(:id::text))::int from load where id = :id;
SQL
my $bench = pgbench_rounds($primary, '-c', 6, '-j', 2, '-t', 30, '--max-tries', 10,
	'-f', "$dir/move.sql\@10", '-f', "$dir/come_and_go.sql\@5", '-f', "$dir/bulk.sql\@1",
	'-f', "$dir/read.sql\@1", '-f', "$dir/lookup.sql\@8");
my $moved = 0;
my $wrong = '';
for (my $round = 1; $round <= 5 || !$moved && $round <= 50; $round++)
{
	# rows of the round before make room in front of this round's
	my $first = -$round * 10000;
	$primary->safe_psql(
		'postgres', qq{
		insert into load select $first + i, 0, md5(i::text) from generate_series(1, 5000) i;
		delete from load where id > $first + 10000 and id < 0});
	my ($ret, $out, $err) = $primary->psql('postgres', 'vacuum (verbose) load');
	$moved += $1 if $err =~ /([0-9]+) moved/;
	my $seen = $standby->safe_psql('postgres',
		'select sum(v), count(*) filter (where id <= 5000 and pad = md5(id::text)) from load');
	$wrong .= "$seen\n" if $seen ne '500000|5000' && $seen ne '|0';
}
end_pgbench_rounds($bench, 'no error under load');
is($wrong, '', 'the standby saw no wrong sum');
cmp_ok($moved, '>', 0, 'pages moved');
$primary->safe_psql('postgres', 'vacuum load');
is($primary->safe_psql('postgres', 'select count(*), sum(v) from load where id between 1 and 5000'),
	'5000|500000', 'nothing is lost');
is($primary->safe_psql('postgres', "select * from zs_check('load')"), '', 'load: zs_check');
# what VACUUM logged last may not have been written yet
$primary->safe_psql('postgres', 'create table written (a int)');
$primary->wait_for_catchup($standby);
is($standby->safe_psql('postgres', "select * from zs_check('load')"), '',
	'load: zs_check on the standby');

$standby->stop;
$primary->stop;
done_testing();
