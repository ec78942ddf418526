# xmin as the version of a row: sessions that lock optimistically lose no update beside VACUUM
# FREEZE and compaction; after a crash, on a standby, and after VACUUM FULL xmin of every row is the
# one that it was.
use strict;
use warnings FATAL => 'all';

use ZedstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node(
	'primary',
	allows_streaming => 1,
	conf => <<'CONF');
wal_consistency_checking = 'zedstore'
autovacuum = off
max_wal_size = 128MB
CONF
my $standby = standby_of($node, 'standby', conf => "hot_standby_feedback = off\n");

# Counters, rows that come and go around them, and who changed a counter.
$node->safe_psql('postgres', q{
	create table c (id int primary key, n int, pad text) using zedstore;
	insert into c select g, 0, 'load' from generate_series(1, 20) g;
	insert into c select g, 0, md5(g::text) from generate_series(1001, 9000) g;
	create table done (id int) using heap;
	vacuum freeze c;
});

# ---- optimistic locking ----------------------------------------------------------------------

my $scripts = $node->basedir;
append_to_file("$scripts/lock.sql", <<'SQL');
\set id random(1, 20)
select n, xmin as seen from c where id = :id \gset
with u as (update c set n = :n + 1 where id = :id and xmin = ':seen'::xid returning id)
insert into done select id from u;
SQL
append_to_file("$scripts/rows.sql", <<'SQL');
\set id random(1001, 9000)
\set new random(100000, 1000000000)
delete from c where id = :id;
insert into c values (:new, 0, 'single') on conflict (id) do nothing;
SQL
append_to_file("$scripts/vacuum.sql", <<'SQL');
select pg_try_advisory_lock(1) as mine \gset
\if :mine
vacuum (freeze, disable_page_skipping) c;
select zs_compact('c');
select pg_advisory_unlock(1);
\endif
SQL
$node->command_ok(
	[
		'pgbench', '-n', '-c', 6, '-t', 250, '-f', "$scripts/lock.sql\@10", '-f',
		"$scripts/rows.sql\@10", '-f', "$scripts/vacuum.sql\@1", 'postgres'
	],
	'sessions change counters beside VACUUM');
is( $node->safe_psql('postgres',
		'select sum(n) = (select count(*) from done) from c where id <= 20'),
	't', 'no update of a counter is lost');
is($node->safe_psql('postgres', q{
		select string_agg(c.id::text, ' ') from c
		left join (select id, count(*) as k from done group by id) d using (id)
		where c.id <= 20 and c.n <> coalesce(d.k, 0)}),
	'', 'of each counter');
cmp_ok($node->safe_psql('postgres', 'select count(*) from done'), '>', 0, 'there were some');
zs_check_all($node, 'postgres', 'zs_check beside VACUUM');

# ---- the same everywhere, and for good ----------------------------------------------------------

my $all = q{select count(*), count(distinct xmin::text), count(*) filter (where xmin::text = '2'),
	md5(string_agg(id || ' ' || xmin, ',' order by id)) from c};

sub check_same
{
	my ($before, $title) = @_;

	is($node->safe_psql('postgres', $all), $before, $title);
	$node->wait_for_catchup($standby);
	is($standby->safe_psql('postgres', $all), $before, "$title: on the standby");
	is($standby->safe_psql('postgres', "set enable_seqscan = off; $all"),
		$before, "$title: there by index");
	return;
}

my $before = $node->safe_psql('postgres', $all);
like($before, qr/^\d+\|\d+\|0\|/, 'no row has lost its xmin');
check_same($before, 'at first');
$node->safe_psql('postgres', 'vacuum freeze c');
check_same($before, 'frozen');
kill_and_restart($node);
check_same($before, 'after a crash');
$node->safe_psql('postgres', q{select zs_compact('c')});
kill_and_restart($node);
check_same($before, 'after compaction and a crash');
$node->safe_psql('postgres', 'vacuum full c');
kill_and_restart($node);
check_same($before, 'after VACUUM FULL and a crash');
$node->safe_psql('postgres', 'cluster c using c_pkey');
check_same($before, 'after CLUSTER');

# Rows that a crash meets on their way: single ones, a load, columns that are being put together.
$node->safe_psql('postgres', q{
	do $$ begin
		for i in 1 .. 100 loop
			insert into c values (-i, i, 'single');
			update c set n = n where id = 1000 + i;
			commit;
		end loop;
	end $$;
	begin;
	insert into c select -g, 0, 'load' from generate_series(1001, 6000) g;
	savepoint s;
	insert into c select -g, 0, 'load' from generate_series(6001, 12000) g;
	commit});
$before = $node->safe_psql('postgres', $all);
kill_and_restart($node);
check_same($before, 'rows of all kinds after a crash');
SKIP:
{
	skip 'this server has no injection points', 1 if !has_injection_points($node);
	$node->safe_psql('postgres', 'create extension if not exists injection_points');
	for my $point (qw(zs-compact-written zs-compact-replaced zs-compact-linked zs-compact-moved))
	{
		$node->psql('postgres', qq{
			select injection_points_set_local();
			select injection_points_attach('$point', 'error');
			set zedstore.min_segment_rows = 64;
			select zs_compact('c')});
		check_same($before, "after an error at $point");
		kill_and_restart($node);
		check_same($before, "after an error at $point and a crash");
	}
}
$node->safe_psql('postgres', q{vacuum (freeze, disable_page_skipping) c});
check_same($before, 'at the end');
zs_check_all($node, 'postgres', 'zs_check');
zs_check_all($standby, 'postgres', 'zs_check on the standby');

done_testing();
