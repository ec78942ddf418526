# REPACK (CONCURRENTLY), which PostgreSQL 19 has: a zedstore table and its twin in heap, changed by
# the same transactions while the zedstore table is repacked again and again, are equal afterwards.
# Other tables, whose changes are decoded beside, keep out of it.  A REPACK that is cancelled, or
# ended by a crash, leaves the table as it was.
use strict;
use warnings FATAL => 'all';

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

my $node = new_node('main',
	conf => "wal_level = replica\nmax_replication_slots = 10\nautovacuum = off\n");
if ($node->safe_psql('postgres', 'show server_version_num') < 190000)
{
	$node->stop;
	plan skip_all => 'REPACK (CONCURRENTLY) came with PostgreSQL 19';
}
my $rounds = 6;

$node->safe_psql('postgres', q{
	create function large(n bigint) returns text language sql as
		$f$ select string_agg(md5((n * g)::text), '') from generate_series(1, 380) g $f$;
	create table h (id int primary key, client int, v int, pad text, big text);
	create table z (like h) using zedstore;
	alter table z add primary key (id);
	create index z_v on z (v);
	create table other_z (id int primary key, client int, v int, pad text, big text) using zedstore;
	create table other_h (id int primary key, v int);
	insert into h select i, i % 3, i * 7919 % 10007, md5(i::text),
		case when i % 50 = 0 then large(i) end
		from generate_series(1, 30000) i;
	insert into z table h;
	insert into other_z select i, 0, 0, 'other', null from generate_series(1, 2000) i;
	insert into other_h select i, 0 from generate_series(1, 2000) i});

# Each client has rows of its own, so that none waits for another one.
my $script = $node->basedir . '/changes.sql';
my $changes = '';
for my $t ('h', 'z')
{
	$changes .= qq{
		update $t set v = v + 1 where id = :r * 3 + :client_id;
		update $t set id = :new, pad = 'moved' where id = :s * 3 + :client_id;
		delete from $t where id = :d * 3 + :client_id;
		insert into $t values (:r * 3 + :client_id, :client_id, :new, 'upserted', null)
			on conflict (id) do update set v = $t.v + 100, pad = excluded.pad;
		savepoint a;
		update $t set v = -1 where id between :r * 3 and :r * 3 + 30 and client = :client_id;
		insert into $t values (-:new, :client_id, 1, 'undone', repeat('x', 12000));
		rollback to a;
		update $t set big = large(:new) where id = :b * 3 + :client_id;
		update $t set v = v + 3
			where big is not null and client = :client_id and id between :b and :b + 300;
	};
}
# some bring in rows enough for segments of their own, which nobody else has the numbers of
my $loads = join '', map { qq{
		insert into $_ select 400000000 + ((:client_id * 100 + :round) * 250 + :loads) * 5000 + g,
			:client_id, g, 'loaded', null from generate_series(1, 4000) g;} } ('h', 'z');
append_to_file($script, qq{
	\\set r random(1, 9000)
	\\set s random(1, 9000)
	\\set d random(1, 9000)
	\\set b random(1, 9000)
	\\set new 100000 + 3 * random(1, 100000000) + :client_id
	\\set load random(1, 200)
	begin;
	update other_z set v = v + 1 where id = 1 + :r % 2000;
	insert into other_z values (1000000 + :new, 5, 5, 'of the other table', null);
	delete from other_z where id = 1000000 + :new;
	update other_h set v = v + 1 where id = 1 + :r % 2000;
	$changes
	\\if :load = 1 and :loads < 249
		\\set loads :loads + 1
		$loads
	\\endif
	commit;
});

sub start_load
{
	my ($seed) = @_;
	# by which end_load() knows the sessions; it is the test's name otherwise
	local $ENV{PGAPPNAME} = 'pgbench';

	return IPC::Run::start(
		[ 'pgbench', '-n', '-c', 3, '-j', 1, '-t', 100000, '--random-seed', $seed, '-f', $script,
			'-D', "round=$seed", '-D', 'loads=0',
			'-h', $node->host, '-p', $node->port, 'postgres' ],
		'>', \my $out, '2>', \my $err);
}

# The clients end between two transactions or within one, which is then as if it had not been.
sub end_load
{
	my ($load) = @_;
	$load->kill_kill(grace => 1);
	ok($node->poll_query_until('postgres',
			q{select count(*) = 0 from pg_stat_activity where application_name = 'pgbench'}),
		'the clients are gone');
	return;
}

sub twins_are_equal
{
	my ($title) = @_;
	is($node->safe_psql('postgres', q{
		select count(*) from (
			(table h except all table z) union all (table z except all table h)) d}),
		'0', "$title: equal to the twin in heap");
	is($node->safe_psql('postgres', q{
		set enable_seqscan = off; set enable_bitmapscan = off;
		set zedstore.enable_vector_scan = off;
		select (select count(*) from z where id > -2147483648) = (select count(*) from h),
			(select sum(v) from z where v > -2147483648) = (select sum(v) from h)}),
		't|t', "$title: by its indexes, too");
	zs_check_all($node, 'postgres', "$title: zs_check finds no problem");
	return;
}

for my $round (1 .. $rounds)
{
	my $load = start_load($round);
	my $how = ('z using index z_v', 'z', 'z using index z_pkey')[ $round % 3 ];
	my $before = $node->safe_psql('postgres', q{select pg_relation_filenode('z')});

	$node->poll_query_until('postgres', q{select sum(v) > 0 from other_h}) or die 'no load';
	my ($ret, $stdout, $stderr) = $node->psql('postgres', "repack (concurrently) $how");
	is("$ret$stderr", '0', "repack (concurrently) $how");
	end_load($load);
	isnt($node->safe_psql('postgres', q{select pg_relation_filenode('z')}), $before,
		'the table has another file');
	twins_are_equal("round $round");
}
is($node->safe_psql('postgres',
		q{select count(*) from z where pad like 'of the other%' or pad = 'other'}),
	'0', 'no change of another table was applied');
is($node->safe_psql('postgres', q{select count(*) from other_z where pad = 'other'}), '2000',
	'the other table is as it was changed');

# what others wait for is in the end only; until then a REPACK can be given up
SKIP:
{
	skip 'no injection points', 1 if !has_injection_points($node);
	$node->safe_psql('postgres', 'create extension injection_points');

	# what is applied last are rows enough for a bulk load, and nobody reads them before files are
	# swapped
	my $last = $node->background_psql('postgres');

	$last->query_safe(q{select injection_points_set_local();
		select injection_points_attach('repack-concurrently-before-lock', 'wait')});
	$last->query_until(qr/begun/, "\\echo begun\nrepack (concurrently) z;\n");
	$node->wait_for_event('client backend', 'repack-concurrently-before-lock');
	$node->safe_psql('postgres', qq{
		insert into $_ select 390000000 + g, 9, g, 'at the end', null
			from generate_series(1, 12000) g}) for 'h', 'z';
	$node->safe_psql('postgres',
		q{select injection_points_wakeup('repack-concurrently-before-lock')});
	$last->quit;
	twins_are_equal('rows that were inserted at the end');

	for my $end ('cancel', 'crash')
	{
		my $load;
		my $session = $node->background_psql('postgres', on_error_stop => 0);

		$session->query(q{select injection_points_set_local();
			select injection_points_attach('repack-concurrently-before-lock', 'wait')});
		$session->query_until(qr/begun/, "\\echo begun\nrepack (concurrently) z;\n");
		$load = start_load($end eq 'cancel' ? 77 : 78);
		$node->wait_for_event('client backend', 'repack-concurrently-before-lock');
		ok($node->poll_query_until('postgres', q{select count(*) > 0 from other_z where v > 0}),
			"$end: changes beside");
		if ($end eq 'cancel')
		{
			$node->safe_psql('postgres', q{
				select pg_cancel_backend(pid) from pg_stat_activity
					where wait_event = 'repack-concurrently-before-lock'});
			$node->poll_query_until('postgres', q{
				select count(*) = 0 from pg_stat_activity
					where wait_event = 'repack-concurrently-before-lock'})
			  or die 'it goes on';
			end_load($load);
			$session->quit;
		}
		else
		{
			$node->stop('immediate');
			$load->kill_kill(grace => 1);
			eval { $session->quit };
			$node->start;
		}
		twins_are_equal("after a $end");
		is($node->safe_psql('postgres',
				q{select count(*) from pg_class where relname like 'pg_temp_%'}),
			'0', "after a $end: nothing is left behind");
	}
}

# alone: all rows are in columns, in the order asked for; the planner hears of it from ANALYZE
$node->safe_psql('postgres', 'repack (concurrently, analyze) z using index z_pkey');
$node->safe_psql('postgres', 'repack (concurrently) z using index z_v');
my $order = q{select correlation > 0.99 from pg_stats where tablename = 'z' and attname = 'v'};
is($node->safe_psql('postgres', $order), 'f', 'the planner does not know the order');
is($node->safe_psql('postgres', q{
		select count(*) from (select v < lag(v) over (order by ctid) as back from z) s where back}),
	'0', 'rows are in the order of the index');
is($node->safe_psql('postgres', q{
		select coalesce(sum(nblocks), 0) <= 1 from pg_zs_trees('z') where attno = -1}),
	't', 'all rows are in columns');
$node->safe_psql('postgres', 'repack (concurrently, analyze) z using index z_v');
is($node->safe_psql('postgres', $order), 't', 'with ANALYZE it does');
twins_are_equal('at the end');
$node->stop;

done_testing();
