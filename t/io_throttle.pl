# VACUUM and ANALYZE are held back while clients wait for WAL, whoever runs them, and go on; they
# are as core's when that is switched off; also after errors, and with parallel workers.  What
# VACUUM writes itself goes on to the device.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreIo;
use ZedstoreTest;

my $node = new_node('main', conf => <<'CONF');
zedstore.io_workers = 1
shared_buffers = 32MB
max_wal_size = 2GB
checkpoint_timeout = 1h
autovacuum = off
autovacuum_naptime = 1s
autovacuum_vacuum_cost_delay = 0
autovacuum_vacuum_threshold = 1
autovacuum_vacuum_scale_factor = 0
autovacuum_analyze_threshold = 1
autovacuum_analyze_scale_factor = 0
min_parallel_index_scan_size = 0
# or nobody would wait
fsync = on
CONF

my $pg18 = $node->safe_psql('postgres', 'show server_version_num') >= 180000;

# Rows of h and z that a VACUUM has to do with.
sub kill_rows
{
	my ($remainder) = @_;
	$node->safe_psql('postgres', $_)
	  for "delete from h where id % 20 = $remainder", "delete from z where id % 20 = $remainder";
	return;
}

# Milliseconds that a statement slept, as it says itself.
sub delay_of
{
	my ($session, $statement) = @_;
	my ($stdout, $stderr) = $session->query($statement);
	my $said = $session->{stderr};
	$session->{stderr} = '';
	return $said =~ /delay time: ([0-9.]+) ms/ ? $1 : undef;
}

$node->safe_psql('postgres', q{
	create extension amcheck;
	create table h (id int primary key, v int, pad text);
	create table z (id int primary key, v int, pad text) using zedstore;
	create table small (a int) with (autovacuum_enabled = off);
	insert into small select generate_series(1, 100);
	insert into h select i, i, repeat(md5(i::text), 6) from generate_series(1, 60000) i;
	insert into z select * from h;
	create index on h (v);
	create index on z (v)});
$node->safe_psql('postgres', 'vacuum analyze');

my $load = start_commits($node, 900);

# -- VACUUM, heap and zedstore, whose VACUUM has less to do
foreach my $table ('h', 'z')
{
	my $vacuum = start_sql($node, map {
			("delete from h where id % 1000 = $_", "delete from z where id % 1000 = $_",
				"vacuum $table")
		} $table eq 'h' ? 400 .. 409 : 410 .. 489);
	wait_for_sql($node, q{
		select count(*) > 0 from pg_stat_activity where query like 'vacuum %' and wait_event = 'VacuumDelay'});
	pass("VACUUM of $table is held back");
	ok($vacuum->finish, 'and ends');
}

# -- autovacuum, again and again: one that is quick may not be seen
set_io_conf($node, 'autovacuum', 'on');
my $updates = start_sql($node, map {
		("update h set v = v where id % 20 = $_ % 20", "update z set v = v where id % 20 = $_ % 20",
			'select pg_sleep(1)')
	} 1 .. 300);
wait_for_sql($node, q{
	select count(*) > 0 from pg_stat_activity
	where backend_type = 'autovacuum worker' and wait_event = 'VacuumDelay'});
pass('autovacuum is held back');
$updates->kill_kill;
set_io_conf($node, 'autovacuum', 'off');
wait_for_sql($node, q{select count(*) = 0 from pg_stat_activity where backend_type = 'autovacuum worker'});

# -- a session goes on after one that was canceled
my $session = $node->background_psql('postgres', on_error_stop => 0);
my $pid = $session->query_safe('select pg_backend_pid()');
my $seen = '';
# one may be over before anybody looks
foreach my $remainder (3, 8 .. 19)
{
	kill_rows($remainder);
	$session->query_until(qr/begun/, "\\echo begun\nvacuum h;\n");
	do
	{
		$seen = $node->safe_psql('postgres', qq{
			select case when wait_event = 'VacuumDelay' then 'delay' when state = 'idle' then 'idle' end
			from pg_stat_activity where pid = $pid});
	} while ($seen eq '');
	last if $seen eq 'delay';
}
is($seen, 'delay', 'VACUUM is held back');
$node->safe_psql('postgres', "select pg_cancel_backend($pid)");
wait_for_sql($node, "select state = 'idle' from pg_stat_activity where pid = $pid");
is($session->query('select 1'), '1', 'the session of a canceled VACUUM goes on');
$session->{stderr} = '';

# -- as core's when that is switched off
SKIP:
{
	skip 'PostgreSQL 18 tells how long VACUUM slept', 2 if !$pg18;
	$session->query('set track_cost_delay_timing = on');
	cmp_ok(delay_of($session, 'vacuum (verbose) h'), '>', 0, 'VACUUM sleeps');
	kill_rows(4);
	set_io_conf($node, 'zedstore.io_vacuum_throttle', 'off');
	is(delay_of($session, 'vacuum (verbose) h'), '0.000', 'not when that is switched off');
	set_io_conf($node, 'zedstore.io_vacuum_throttle', 'on');
}

# -- with parallel workers, and what the user asks for
kill_rows(6);
$session->query_safe('vacuum (parallel 2) h');
$session->query_safe('vacuum (parallel 2) z');
$session->query_safe('set vacuum_cost_delay = 1');
kill_rows(7);
$session->query_safe('vacuum analyze h');
$session->query_safe('vacuum analyze z');
is($session->query_safe('show vacuum_cost_delay'), '1ms', 'the user\'s setting is as it was');

# -- the user's own sleeps, which a timer would end too early: they are as long as they have to be
# at least
SKIP:
{
	skip 'PostgreSQL 18 tells how long VACUUM slept', 2 if !$pg18;
	$node->safe_psql('postgres', q{
		create table c as select i, repeat('x', 500) from generate_series(1, 3000) i; vacuum freeze c});
	$session->query_safe("set vacuum_cost_delay = 100; set vacuum_cost_limit = 20");
	# a page and the free space map cost 1 each time at least; what is below the limit at the end is
	# not slept for
	my $pages = $node->safe_psql('postgres', q{select pg_relation_size('c') / 8192});
	my $wanted = ($pages * 2 / 20 - 1) * 100;
	foreach my $workers (1, 0)
	{
		set_io_conf($node, 'zedstore.io_workers', $workers);
		cmp_ok(delay_of($session, 'vacuum (freeze, disable_page_skipping, verbose) c'), '>',
			0.75 * $wanted,
			"a VACUUM with a long cost delay is not faster than its user wants, workers: $workers");
	}
}
$session->quit;

$load->signal('TERM');
$load->finish;

# -- what VACUUM has to write itself does not stay in the page cache for a burst; as the user says,
# if that is anything
sub write_backs
{
	my ($before, $remainder) = @_;

	kill_rows($remainder);
	# dirty pages would be in shared buffers already, and not in VACUUM's ring
	$node->restart;
	my $own = $node->background_psql('postgres');
	my $count = q{select sum(writes), sum(writebacks) from pg_stat_io
		where backend_type = 'client backend' and context = 'vacuum'};
	$own->query_safe("set stats_fetch_consistency = none; $before");
	my ($writes, $backs) = split /\|/, $own->query_safe($count);
	my $user = $own->query_safe('show backend_flush_after');
	$own->query_safe("vacuum (buffer_usage_limit '128kB') h");
	$own->query_safe('select pg_stat_force_next_flush()');
	my ($new_writes, $new_backs) = split /\|/, $own->query_safe($count);
	is($own->query_safe('show backend_flush_after'), $user, "backend_flush_after is $user again");
	$own->quit;
	cmp_ok($new_writes - $writes, '>=', 40, 'VACUUM has written pages itself');
	return $new_backs - $backs;
}
set_io_conf($node, 'zedstore.io_workers', 1);
cmp_ok(write_backs('', 8), '>', 0, 'VACUUM has the kernel write its pages out');
cmp_ok(write_backs("set backend_flush_after = '64kB'", 9), '>', 0, 'as its user says');
set_io_conf($node, 'zedstore.io_vacuum_throttle', 'off');
is(write_backs('', 10), '0', 'not when that is switched off');
set_io_conf($node, 'zedstore.io_vacuum_throttle', 'on');
same_twins($node, 'at the end');
is($node->safe_psql('postgres', q{
	select count(*) from (select bt_index_check(i.indexrelid, true) from pg_index i
		where i.indrelid in ('h'::regclass, 'z'::regclass)) x}), '4', 'indexes');
zs_check_all($node, 'postgres', 'zs_check');
is($node->safe_psql('postgres', 'select sum(errors) from pg_stat_zedstore_io'), '0', 'no errors');
$node->stop('fast');
command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ], 'checksums');

done_testing();
