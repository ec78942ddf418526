# Several I/O workers with all their roles at once: they clean ahead of the clock hand, write for
# checkpoints and behind VACUUM, while clients change twins, load in bulk and vacuum; their number
# changes meanwhile; a worker and the cluster die.  With both methods; heap is the oracle.
#
# Takes 35 seconds of a processor: scripts/run-tests starts it early.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreIo;
use ZedstoreTest;

my $conf = <<'CONF';
zedstore.io_workers = 3
zedstore.io_rest = off
shared_buffers = 8MB
max_wal_size = 2GB
checkpoint_timeout = 1h
bgwriter_lru_maxpages = 0
autovacuum = off
max_worker_processes = 12
restart_after_crash = on
CONF

# What each role of all workers wrote.
sub blocks_of_roles
{
	my ($node) = @_;
	return split /\|/, $node->safe_psql('postgres', q{
		select sum(blocks) filter (where role = 'checkpoint'), sum(blocks) filter (where role = 'cleaner'),
			sum(blocks) filter (where role = 'vacuum'), count(distinct worker) filter (where blocks > 0)
		from pg_stat_zedstore_io});
}

# Single rows, and bulk loads, large deletes and VACUUM; all of it in both twins.
sub start_work
{
	my ($node, $seconds) = @_;
	my $base = $node->basedir;

	if (!-e "$base/rows.sql")
	{
		append_to_file("$base/rows.sql", <<'SQL');
\set id random(1, 40000)
begin;
update h set v = v + :id where id = :id;
update z set v = v + :id where id = :id;
commit;
SQL
		append_to_file("$base/bulk.sql", <<'SQL');
begin;
select pg_advisory_xact_lock(1);
with n as (insert into bulk_h select nextval('ids'), i, repeat(md5(i::text), 10) from generate_series(1, 3000) i returning *)
	insert into bulk_z select * from n;
commit;
vacuum (buffer_usage_limit '256kB') bulk_z;
SQL
		append_to_file("$base/delete.sql", <<'SQL');
begin;
select pg_advisory_xact_lock(1);
delete from bulk_h where id % 3 = 0 or id < (select last_value - 30000 from ids);
delete from bulk_z where id % 3 = 0 or id < (select last_value - 30000 from ids);
commit;
vacuum (buffer_usage_limit '256kB') bulk_h;
vacuum (buffer_usage_limit '256kB') bulk_z;
SQL
	}
	return map {
		IPC::Run::start(
			[ 'pgbench', '-n', '-f', "$base/$_->[0].sql", '-c', $_->[1], '-T', $seconds,
				$node->connstr('postgres') ],
			'<', '/dev/null', '>', "$base/$_->[0].out", '2>&1')
	} [ 'rows', 2 ], [ 'bulk', 1 ], [ 'delete', 1 ];
}

sub check_all
{
	my ($node, $title) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	same_twins($node, "$title, bulk", 'bulk_h', 'bulk_z');
	is($node->safe_psql('postgres', q{select bt_index_check(c, true) from unnest('{bulk_h_pkey, bulk_z_pkey}'::regclass[]) c}) =~ s/\n//gr,
		'', "$title, bulk: indexes");
	check_twins($node, $title);
	return;
}

foreach my $method (grep { case_wanted($_) } 'pwritev', 'io_uring')
{
	my $node = new_node("main_$method", conf => $conf . $io_methods{$method});
	if (!io_method_works($node, $method))
	{
		$node->stop;
		next;
	}
	$node->safe_psql('postgres', q{
		create extension amcheck;
		create sequence ids;
		create table h (id int primary key, v bigint, pad text) with (fillfactor = 50);
		create table z (id int primary key, v bigint, pad text) using zedstore;
		create table bulk_h (like h including all);
		create table bulk_z (id int primary key, v bigint, pad text) using zedstore;
		insert into h select i, 0, repeat(md5(i::text), 10) from generate_series(1, 40000) i;
		insert into z select * from h;
		checkpoint});

	# -- all roles of all workers have something to do, some seconds at a time until each has done
	# it
	my ($checkpoint, $cleaner, $vacuum, $workers) = (0, 0, 0, 0);
	my @work;
	for (1 .. 20)
	{
		last if $checkpoint && $cleaner && $vacuum && $workers == 3;
		@work = start_work($node, 5);
		for (1 .. 70)
		{
			last if !$work[0]->pumpable;
			$node->safe_psql('postgres', 'checkpoint');
		}
		$_->finish for @work;
		is(join(' ', map { $_->result(0) } @work), '0 0 0', "$method: no statement failed");
		($checkpoint, $cleaner, $vacuum, $workers) = blocks_of_roles($node);
	}
	note "$method: blocks for checkpoints $checkpoint, ahead of the clock hand $cleaner, behind VACUUM $vacuum";
	cmp_ok($_->[1], '>', 0, "$method: workers wrote $_->[0]")
	  for [ 'for checkpoints', $checkpoint ], [ 'ahead of the clock hand', $cleaner ],
		[ 'behind VACUUM', $vacuum ];
	is($workers, 3, "$method: all of them");
	is($node->safe_psql('postgres', 'select sum(errors) from pg_stat_zedstore_io'), '0',
		"$method: no errors");
	check_all($node, $method);

	# -- their number changes: other workers own the files, queues are left behind
	@work = start_work($node, 10);
	for my $number (1, 3, 0, 2, 3)
	{
		set_io_conf($node, 'zedstore.io_workers', $number);
		$node->safe_psql('postgres', 'checkpoint');
		wait_for_workers($node);
	}
	$_->finish for @work;
	is(join(' ', map { $_->result(0) } @work), '0 0 0',
		"$method, number changes: no statement failed");
	check_all($node, "$method, number changes");

	# -- a worker dies, and with it all sessions; the cluster dies
	for my $victim ('worker', 'cluster')
	{
		my @before = blocks_of_roles($node);
		@work = start_work($node, 600);
		wait_for_sql($node, qq{
			select (select sum(blocks) from pg_stat_zedstore_io where role = 'cleaner') > $before[1] + 500
				and (select sum(blocks) from pg_stat_zedstore_io where role = 'vacuum') > $before[2]});
		if ($victim eq 'cluster')
		{
			kill_server($node);
			kill_and_restart($node, killed => 1);
		}
		else
		{
			my $log_end = -s $node->logfile;
			kill 'KILL', $node->safe_psql('postgres',
				'select pid from pg_stat_zedstore_io where worker = 2 limit 1');
			$node->wait_for_log(qr/database system is ready to accept connections/, $log_end);
		}
		$_->finish for @work;
		check_all($node, "$method, $victim killed");
	}
	check_files($node, $method, start => 0);
}

done_testing();
