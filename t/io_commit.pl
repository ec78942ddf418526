# Commits wait for each other where a sync of the WAL is slow: commit_delay is set for as long as a
# commit takes, whatever comes of it; not where the user has set it, nor where nobody waits for the
# WAL, nor on a fast device.  A library that is loaded first makes the device slow or fast, and
# tells what each sync finds.
#
# Takes 10 seconds of a processor: scripts/run-tests starts it early.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);
use ZedstoreIo;
use ZedstoreTest;

my $tmp = PostgreSQL::Test::Utils::tempdir_short();

if (!build_c($tmp, 'slow_sync.so'))
{
	plan skip_all => 'no compiler';
}

# Microseconds that a sync takes from now on.
sub set_sync
{
	my ($us) = @_;
	open my $file, '>', "$tmp/us.new" or die;
	print $file "$us\n";
	close $file;
	rename "$tmp/us.new", "$tmp/us" or die;
	return;
}

# What commit_delay and commit_siblings were in the syncs of a process, in their order.
sub settings_of
{
	my ($pid) = @_;
	return slurp_file("$tmp/log") =~ /^$pid (-?[0-9]+ -?[0-9]+)$/mg;
}

set_sync(4000);
$ENV{ZS_SLOW_SYNC} = $tmp;
$ENV{LD_PRELOAD} = "$tmp/slow_sync.so";
my $node = new_node('main', conf => <<'CONF');
zedstore.io_workers = 1
shared_buffers = 32MB
checkpoint_timeout = 1h
autovacuum = off
fsync = on
wal_sync_method = fdatasync
CONF

$node->safe_psql('postgres', q{
	create table small (a int);
	insert into small select generate_series(1, 100);
	create table h (a int);
	create table z (a int) using zedstore;
	create table skew (k text primary key, n int);
	insert into skew values ('x', 1), ('y', 1);
	create procedure commits() language plpgsql as
		$$ begin for i in 1 .. 5 loop insert into h values (i); commit; end loop; end $$});
is($node->safe_psql('postgres', 'select distinct commit_delay from pg_stat_zedstore_io'), '0',
	'no delay at first');
my $load = start_commits($node, 900);

# -- what is measured, and what is made of it
wait_for_sql($node, q{
	select count(*) = 3 from pg_stat_zedstore_io
	where wal_sync_time >= 3 and abs(commit_delay - least(wal_sync_time / 2, 5)) < 0.002});
pass('commits are told to wait for half a sync');

my $session = $node->background_psql('postgres', on_error_stop => 0);
my $pid = $session->query_safe('select pg_backend_pid()');

sub commits_delayed
{
	return $node->safe_psql('postgres',
		q{select commits_delayed from pg_stat_zedstore_io where role = 'cleaner'});
}

# What both are while the session's statements sync the WAL: the last of those that are new.
# Others may have synced for it, so there may be several tries.  Statements behind "then" are run
# afterwards each time.
sub settings_in
{
	my $text = join '; ', @_;
	my ($during, $then) = map { [ split /; / ] } split /; then; /, "$text; then; select 1";
	for (1 .. 1000)
	{
		my @before = settings_of($pid);
		$session->query($_) foreach @$during;
		my @after = settings_of($pid);
		$session->query($_) foreach @$then;
		return $after[-1] if @after > @before;
	}
	die "no sync by: $text";
}

# Until a query of the session, which has to see new settings first, says so.
sub wait_in_session
{
	my ($query, $wanted) = @_;
	for (1 .. 1800)
	{
		return if $session->query($query) eq $wanted;
		usleep(100_000);
	}
	die "timed out waiting in the session for: $query";
}

sub as_before
{
	my ($title) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is( $session->query(
			q{select current_setting('commit_delay'), current_setting('commit_siblings')}),
		'0|5', "$title: as before afterwards");
	return;
}

sub waits
{
	my ($title, @statements) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($delay, $siblings) = split / /, settings_in(@statements);
	ok($delay > 0 && $delay <= 5000 && $siblings == 3, "$title: waits") or diag "$delay $siblings";
	as_before($title);
	return;
}

sub waits_for
{
	my ($settings, $title, @statements) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(settings_in(@statements), $settings, $title);
	return;
}

foreach my $table ('h', 'z')
{
	waits($table, "insert into $table values (1)");
	waits("$table, a block", 'begin', "insert into $table values (1)", 'savepoint s',
		"insert into $table values (2)", 'rollback to s', 'commit');
	foreach my $end ('commit', 'rollback')
	{
		waits("$table, prepared, $end", 'begin', "insert into $table values (1)",
			q{prepare transaction 't'}, 'then', "$end prepared 't'");
	}
}
waits('a procedure that commits', 'call commits()');
waits_for('0 5', 'a transaction that sets it for itself', 'begin', 'set local commit_delay = 0',
	'insert into h values (1)', 'commit');
waits('the next one', 'insert into h values (1)');

# -- aborts, at the commit
my $delayed = commits_delayed();
cmp_ok($delayed, '>', 0, 'they are counted');
my $other = $node->background_psql('postgres');
$_->query_safe('begin isolation level serializable') foreach $session, $other;
$_->query_safe('select sum(n) from skew') foreach $session, $other;
$session->query_safe("update skew set n = 2 where k = 'x'");
$other->query_safe("update skew set n = 2 where k = 'y'");
$other->query_safe('commit');
$session->{stderr} = '';
$session->query('commit');
like($session->{stderr}, qr/could not serialize access/, 'a commit that fails');
$session->{stderr} = '';
as_before('a commit that fails');
waits('the one after that', 'insert into h values (1)');
SKIP:
{
	skip 'no injection points', 4 if !has_injection_points($node);
	$node->safe_psql('postgres', 'create extension injection_points');
	$session->query_safe(q{select injection_points_set_local()});
	$session->query_safe(q{select injection_points_attach('zs-io-commit', 'error')});
	foreach my $end ('commit', q{prepare transaction 't'})
	{
		$session->query_safe('begin');
		$session->query_safe('insert into h values (-1)');
		$session->query($end);
		like($session->{stderr}, qr/error triggered for injection point/, "$end: an error");
		$session->{stderr} = '';
		as_before("$end, with an error");
	}
	$session->query_safe(q{select injection_points_detach('zs-io-commit')});
}
is($node->safe_psql('postgres', 'select count(*) from h where a < 0'),
	'0', 'nothing of them is left');

# -- what the user has set
foreach my $delay (0, 10)
{
	$session->query_safe("set commit_delay = $delay");
	waits_for("$delay 5", "a session with commit_delay = $delay", 'insert into h values (1)');
	is($session->query('show commit_delay'), $delay, 'as before afterwards');
}
$session->query_safe('reset commit_delay');
$session->query_safe('set commit_siblings = 7');
like(settings_in('insert into h values (1)'), qr/^[1-9][0-9]* 7$/, 'with commit_siblings = 7');
$session->query_safe('reset commit_siblings');
waits('after reset', 'insert into h values (1)');
# who drops a table waits for the WAL nevertheless
waits_for('0 5', 'not without synchronous_commit', 'set synchronous_commit = off',
	'create table dropped (a int)', 'drop table dropped');
$session->query_safe('reset synchronous_commit');

# -- the server's own settings
foreach my $setting (
	'commit_delay = 0',
	'zedstore.io_group_commit = off',
	'zedstore.io_guard = off',
	'zedstore.io_workers = 0')
{
	my ($name, $value) = split / = /, $setting;
	my $file = $node->data_dir . '/postgresql.conf';
	my $conf = slurp_file($file);
	my $source = "select source from pg_settings where name = '$name'";
	my $usual = $session->query("show $name");

	append_to_file($file, "$setting\n");
	$node->reload;
	wait_in_session("select setting from pg_settings where name = '$name'", $value);
	wait_in_session($source, 'configuration file');
	wait_for_sql($node, 'select count(*) = 0 from pg_stat_zedstore_io where commit_delay > 0')
	  if $name ne 'commit_delay';
	waits_for('0 5', $setting, 'insert into h values (1)');

	unlink $file;
	append_to_file($file, $conf);
	$node->reload;
	wait_in_session("show $name", $usual);
	wait_in_session($source, 'default') if $name eq 'commit_delay';
	wait_for_sql($node, 'select count(*) = 3 from pg_stat_zedstore_io where commit_delay > 0');
	waits("after $setting", 'insert into h values (1)');
}

# -- a fast device
set_sync(0);
wait_for_sql($node, 'select count(*) = 0 from pg_stat_zedstore_io where commit_delay > 0');
waits_for('0 5', 'not on a fast device', 'insert into h values (1)');

# -- a server that dies
set_sync(4000);
wait_for_sql($node, 'select count(*) = 3 from pg_stat_zedstore_io where commit_delay > 0');
kill_and_restart($node);
is( $node->safe_psql('postgres', q{
		select coalesce(sum(commits_delayed), 0) from pg_stat_zedstore_io}),
	'0', 'nothing is left after a crash');
$load->finish;
$session->{run}->kill_kill;
$other->{run}->kill_kill;
is($node->safe_psql('postgres', 'show commit_delay'), '0', 'nor of the setting');
zs_check_all($node);
$node->stop;

done_testing();
