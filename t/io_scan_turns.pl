# Turns of concurrent scans (zedstore.scan_scheduling), of zedstore and of heap: who has to wait, that slots come back on
# every way out, and that scans on a slow volume give the same results as without.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;
use ZedstoreVolume;

my $node = new_node('main', conf => <<'CONF');
shared_buffers = 16MB
max_parallel_workers_per_gather = 0
zedstore.io_profile = none
restart_after_crash = on
max_wal_size = 2GB
CONF

my $slots = 'select count(*) from pg_stat_zedstore_scans';
my $waits = 'select coalesce(sum(waits), 0) from pg_stat_zedstore_scan_volumes';
my $grants = 'select coalesce(sum(grants), 0) from pg_stat_zedstore_scan_volumes';
my $sum = 'select count(*), sum(a), sum(hashtext(b)::bigint) from';

sub value
{
	my ($sql) = @_;
	return $node->safe_psql('postgres', $sql);
}

# A session that takes turns.
sub session
{
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	$session->query_safe('set zedstore.scan_scheduling = on');
	return ($session, $session->query_safe('select pg_backend_pid()'));
}

# Runs what may fail or warn.
sub try_query
{
	my ($session, $sql) = @_;
	my $out = $session->query($sql);
	$session->{stderr} = '';
	return $out;
}

# Sends a query without waiting for its end.
sub start_query
{
	my ($session, $sql) = @_;
	$session->query_until(qr/started/, "\\echo started\n$sql;\n");
	return;
}

$node->safe_psql('postgres', q{
	create table small (a int, b text) using zedstore;
	create table large (like small) using zedstore;
	insert into small select i, md5(i::text) from generate_series(1, 200000) i;
	insert into large select i, md5(i::text) from generate_series(1, 1000000) i});
my %expected = map { $_ => value("$sum $_") } 'small', 'large';

# -- off, and without a limit, there are no turns
is(value($grants), '0', 'off by default');
is(value("set zedstore.scan_scheduling = on; $sum large"), $expected{large}, 'without a limit');
is(value($grants), '0', 'no limit, no turns');

# -- one scan never waits
$node->append_conf('postgresql.conf', "zedstore.io_max_bandwidth = 64kB\n");
$node->reload;
wait_for_sql($node, q{select current_setting('zedstore.io_max_bandwidth') = '64kB'});
is(value("set zedstore.scan_scheduling = on; $sum large"), $expected{large}, 'a scan by itself');
cmp_ok(value($grants), '>', 0, 'grants are counted');
is(value($waits), '0', 'it did not wait');
is(value('select bandwidth * 1024 from pg_stat_zedstore_scan_volumes'), '64', 'the limit');
is(value($slots), '0', 'its slot is free');

# -- slots come back
my ($first, $first_pid) = session();
my $open = 'begin; declare c cursor for select b from small; move 5000 in c';
my $my_slot = "select count(*) from pg_stat_zedstore_scans where pid = $first_pid and grants > 0 and blocks_left > 0";

$first->query_safe($open);
is(value($my_slot), '1', 'an open cursor has a slot');
$first->query_safe('close c');
is(value($slots), '0', 'closed');
$first->query_safe("rollback; $open");
$first->query_safe('commit');
is(value($slots), '0', 'committed');
$first->query_safe("$open; savepoint s; declare d cursor for select a from small; move 5000 in d; rollback to s");
is(value($my_slot), '1', 'the outer cursor is still open');
$first->query_safe('rollback');
is(value($slots), '0', 'rolled back');
try_query($first, 'select 1 / (a - 100000) from small');
is(value($slots), '0', 'an error');
$first->query_safe($open);
value("select pg_terminate_backend($first_pid, 60000)");
is(value($slots), '0', 'terminated');
$first->{run}->finish;

# -- a larger scan waits behind a smaller one, if that read lately: it takes a few
# attempts where the machine is slow
sub make_wait
{
	my ($smaller, $larger, $sql) = @_;
	my $before = value($waits);

	for (1 .. 50)
	{
		try_query($smaller, "rollback; $open");
		start_query($larger, $sql);
		for (1 .. 100)
		{
			return 1 if value($waits) > $before;
			last if value($slots) == 0;
		}
		try_query($larger, 'select 1');
	}
	return 0;
}

($first, $first_pid) = session();
my ($second, $second_pid) = session();
ok(make_wait($first, $second, "$sum large"), 'the larger scan waits');
like(try_query($second, 'select 1'), qr/\Q$expected{large}\E/,
	'it ends, although the smaller does not go on');
is(value("select count(*) from pg_stat_zedstore_scan_volumes where wait_time > 0"), '1',
	'waits are timed');

# -- interrupted while it waits
my $canceled = 0;
for (1 .. 50)
{
	last if !make_wait($first, $second, "$sum large");
	value("select pg_cancel_backend($second_pid) from pg_stat_activity
		where pid = $second_pid and wait_event = 'ZedstoreScanTurn'");
	try_query($second, 'select 1');
	$canceled = $node->log_contains(qr/canceling statement due to user request/);
	last if $canceled;
}
ok($canceled, 'canceled while it waits');
is(value("select count(*) from pg_stat_zedstore_scans where pid = $second_pid"), '0',
	'its slot is free');

# -- killed while it waits: the server restarts
ok(make_wait($first, $second, "$sum large"), 'it waits again');
kill 'KILL', $second_pid;
# a psql that is gone already cannot be written to
eval { $_->{run}->finish } for $first, $second;
wait_for_restart($node);
is(value($slots), '0', 'killed');

# -- the processes of a parallel query do not wait for each other
is(value("set zedstore.scan_scheduling = on; set max_parallel_workers_per_gather = 2; set min_parallel_table_scan_size = 0;
	set parallel_setup_cost = 0; set parallel_tuple_cost = 0; $sum large"), $expected{large}, 'parallel');
is(value($waits), '0', 'parallel: no waits');

# -- heap's scans, in front of filters and without: the same results, and slots come back
$node->safe_psql('postgres', q{
	create table heap_small (like small) using heap;
	create table heap_large (like small) using heap;
	insert into heap_small select * from small;
	insert into heap_large select * from large;
	create function reads(int) returns int language plpgsql volatile as
		'begin return (select count(*) from heap_small where a < $1); end'});
my @heap_queries = ("$sum heap_large", "$sum heap_large where a % 7 = 3", "$sum heap_large where a < 0",
	'select b from heap_large limit 3', 'select reads(500)',
	'select count(*) from heap_small s join heap_large l using (a) where l.a % 3 = 1',
	'select count(*) from heap_small where a = (select max(a) from heap_large where a < 100)');
foreach my $sql (@heap_queries)
{
	my $alone = value("set zedstore.scan_scheduling = off; $sql");
	foreach my $more ('', 'set max_parallel_workers_per_gather = 2; set min_parallel_table_scan_size = 0;
		set parallel_setup_cost = 0; set parallel_tuple_cost = 0;',
		'set jit = on; set jit_above_cost = 0; set jit_inline_above_cost = 0;')
	{
		my $before = value($grants);
		is(value("set zedstore.scan_scheduling = on; $more $sql"), $alone, "$sql $more");
		cmp_ok(value($grants), '>', $before, 'it asked');
	}
}
is(value($slots), '0', 'heap: no slot is left');
my $heap_open = 'begin; declare c cursor for select b from heap_small; move 5000 in c';
($first, $first_pid) = session();
$my_slot = "select count(*) from pg_stat_zedstore_scans where pid = $first_pid and grants > 0 and blocks_left > 0";
$first->query_safe($heap_open);
is(value($my_slot), '1', 'heap: an open cursor has a slot');
$first->query_safe('close c');
is(value($slots), '0', 'heap: closed');
$first->query_safe("rollback; $heap_open; savepoint s; declare d cursor for select a from heap_large; move 5000 in d; rollback to s");
is(value($my_slot), '1', 'heap: the outer cursor is still open');
$first->query_safe('rollback');
is(value($slots), '0', 'heap: rolled back');
try_query($first, 'select 1 / (a - 100000) from heap_small');
is(value($slots), '0', 'heap: an error');
try_query($first, 'select count(*) from heap_small where 1 / (a - 100000) = 0');
is(value($slots), '0', 'heap: an error in a filter');
try_query($first, 'explain select count(*) from heap_large');
is(value($slots), '0', 'heap: explained only');
($second, $second_pid) = session();
{
	my $zedstore_open = $open;
	$open = $heap_open;
	ok(make_wait($first, $second, "$sum large"), 'a larger scan of zedstore waits behind one of heap');
	try_query($second, 'select 1');
	ok(make_wait($first, $second, "$sum heap_large where a % 7 > 2"), 'and so does one of heap');
	try_query($second, 'select 1');
	$open = $zedstore_open;
}
$_->quit for $first, $second;
is(value($slots), '0', 'heap: sessions have left');

# -- for those who watch the server
$node->safe_psql('postgres', 'create role nobody; create role monitor in role pg_monitor');
my ($rc, $out, $err) =
	$node->psql('postgres', 'set role nobody; select * from pg_stat_zedstore_scans');
like($err, qr/permission denied/, 'not for everybody');
($rc, $out, $err) = $node->psql('postgres', 'set role nobody; set zedstore.scan_scheduling = on');
like($err, qr/permission denied/, 'nor is the setting');
is(value('set role monitor; select count(*) from pg_stat_zedstore_scans'), '0', 'for pg_monitor');

# -- four scans of cold tables on a slow volume
SKIP:
{
	my $volume = volumes_possible() ? eval { new_volume('ext4', 512) } : undef;
	if (!$volume || !eval { slow_down($volume, 0, 8); 1 })
	{
		diag 'NOT TESTED: scans of a slow volume: '
			. ($@ || 'needs loop devices: run scripts/run-tests as root');
		skip 'no slow volume', 5;
	}
	$node->append_conf('postgresql.conf',
		"zedstore.io_max_bandwidth = -1\nzedstore.io_profile = auto\nzedstore.scan_scheduling = on\n");
	$node->safe_psql('postgres', "create tablespace slow location '$volume->{dir}'");
	$node->safe_psql('postgres', "create table t$_ (like small) using zedstore tablespace slow;
		insert into t$_ select * from large limit 250000 * $_; analyze t$_") for 1 .. 4;
	my @results = map { value("$sum t$_") } 1 .. 4;

	# past the page cache, into empty shared buffers, and as slow as what this process starts from
	# now on
	$node->append_conf('postgresql.conf', "debug_io_direct = data\n");
	$node->restart;
	is(value("select read_bandwidth > 0 from zs_io_volumes() where tablespace = 'slow'"), 't',
		'the limit of the control group is found');
	my @outputs = ('') x 4;
	my @scans = map {
		IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', "$sum t"
			. ($_ + 1) ],
			'>', \$outputs[$_])
	} 0 .. 3;
	$_->finish for @scans;
	chomp @outputs;
	is_deeply(\@outputs, \@results, 'results of scans that take turns');
	cmp_ok(value($waits), '>', 0, 'some had to wait');
	cmp_ok(value($grants), '>', value($waits), 'more had not');
	is(value($slots), '0', 'no slot is left');
	$node->safe_psql('postgres', "drop table t$_") for 1 .. 4;
	$node->safe_psql('postgres', 'drop tablespace slow');
}

$node->stop;
done_testing();
