# Helpers for the tests of the I/O workers.
#
# Twins are a heap and a zedstore table with the same rows and an index each,
# that the same transactions change.

package ZedstoreIo;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use Fcntl;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

our @EXPORT = qw(
  %io_methods
  io_conf
  io_method_works
  set_io_conf
  blocks_written
  wait_for_workers
  wait_for_gate
  make_twins
  change_twins
  same_twins
  check_twins
  check_files
  start_load
  start_commits
  start_sql
);

# Settings that give each method something to do: io_uring in a server that itself writes directly,
# because else it is not used where the page cache has large folios (io_cache.c).  Threads write
# directly, too, whatever the page cache holds.
our %io_methods = (
	pwritev => "zedstore.io_method = pwritev\nzedstore.io_keep_cached = off\n",
	io_uring => "zedstore.io_method = io_uring\ndebug_io_direct = data\n");

sub io_conf
{
	my ($method) = @_;
	return <<"CONF" . ($method ? $io_methods{$method} : '');
zedstore.io_workers = 1
# these tests watch checkpoints: other roles would come to their injection points first
zedstore.io_cleaner = off
zedstore.io_vacuum = off
# its pauses would be taken for those of the limits
zedstore.io_guard = off
shared_buffers = 16MB
max_wal_size = 2GB
checkpoint_timeout = 1h
log_checkpoints = on
bgwriter_lru_maxpages = 0
max_worker_processes = 12
restart_after_crash = on
CONF
}

# Can the method be had in this server?  Says so if not.
sub io_method_works
{
	my ($node, $method) = @_;
	wait_for_sql($node, q{
		select count(*) > 0 from pg_stat_zedstore_io where pid is not null and method is not null});
	my $used = $node->safe_psql('postgres',
		'select distinct method from pg_stat_zedstore_io where pid is not null');
	return 1 if $used eq $method;
	diag "SKIPPED: no $method on this machine";
	return 0;
}

# Changes a setting by reload.
sub set_io_conf
{
	my ($node, $name, $value) = @_;
	$node->append_conf('postgresql.conf', "$name = $value\n");
	$node->reload;
	wait_for_sql($node, "select current_setting('$name') = '$value'");
	return;
}

# Blocks that the workers wrote for checkpoints since the server started.
sub blocks_written
{
	my ($node) = @_;
	return $node->safe_psql('postgres', q{
		select coalesce(sum(blocks), 0) from pg_stat_zedstore_io where role = 'checkpoint'});
}

# As many workers run as the settings ask for; the first is always there.
sub wait_for_workers
{
	my ($node) = @_;
	wait_for_sql($node, q{
		select count(*) = greatest(current_setting('zedstore.io_workers')::int, 1)
		from pg_stat_activity where backend_type = 'zedstore I/O worker'});
	return;
}

# The next checkpoint will wait until all workers have begun to write for it.
sub wait_for_gate
{
	my ($node) = @_;
	wait_for_sql($node, q{
		select count(*) = current_setting('zedstore.io_workers')::int
		from pg_locks l join pg_stat_activity a using (pid)
		where a.backend_type = 'zedstore I/O worker' and l.locktype = 'virtualxid'});
	return;
}

sub make_twins
{
	my ($node) = @_;
	$node->safe_psql('postgres', q{
		create table h (id int primary key, v int, pad text);
		create table z (id int primary key, v int, pad text) using zedstore;
		insert into h select i, 0, repeat(md5(i::text), 6) from generate_series(1, 10000) i;
		insert into z select * from h;
		create unlogged table u (a int);
		create extension if not exists amcheck});
	return;
}

# Dirties some thousand blocks.
sub change_twins
{
	my ($node) = @_;
	$node->safe_psql('postgres',
		'update h set v = v + 1 where id % 3 = 0; update z set v = v + 1 where id % 3 = 0');
	return;
}

# A test that both have the same rows; other tables than h and z may be named.
sub same_twins
{
	my ($node, $title, $h, $z) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$h //= 'h';
	$z //= 'z';
	return is($node->safe_psql('postgres', qq{
		select count(*) from (
			(select * from $h except all select * from $z) union all
			(select * from $z except all select * from $h)) d}), '0', "$title: twins agree");
}

sub check_twins
{
	my ($node, $title) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	same_twins($node, $title);
	is($node->safe_psql('postgres', q{
		select count(*) from (select bt_index_check(c.oid, true) from pg_class c
			join pg_index i on i.indexrelid = c.oid
			where i.indrelid in ('h'::regclass, 'z'::regclass)) x}), '2', "$title: indexes");
	zs_check_all($node, 'postgres', "$title: zs_check");
	return;
}

# Stops the server and verifies the checksums of all its files; start => 0: leaves it stopped.
sub check_files
{
	my ($node, $title, %opts) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$node->stop('fast');
	command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ], "$title: checksums");
	return if !($opts{start} // 1);
	$node->start;
	wait_for_workers($node);
	return;
}

# Work on the twins in the background, the same in both; as many transactions a second as it can, if
# no rate is given.
sub start_load
{
	my ($node, $seconds, $rate) = @_;
	my $script = $node->basedir . '/load.sql';
	append_to_file($script, <<'SQL') unless -e $script;
\set id random(1, 10000)
\set d random(-100, 100)
begin;
update h set v = v + :d where id = :id;
update z set v = v + :d where id = :id;
commit;
SQL
	return IPC::Run::start(
		[ 'pgbench', '-n', '-f', $script, '-c', '3', '-T', $seconds,
			$rate ? ('-R', $rate) : (), $node->connstr('postgres') ],
		'>', '/dev/null', '2>', '/dev/null');
}

# Three clients that commit all the time, in a table "small" with the numbers from 1 to 100.
sub start_commits
{
	my ($node, $seconds) = @_;
	my $script = $node->basedir . '/commits.sql';
	append_to_file($script, <<'SQL');
\set id random(1, 100)
update small set a = a where a = :id;
SQL
	my $load = IPC::Run::start(
		[ 'pgbench', '-n', '-f', $script, '-c', '3', '-T', $seconds, $node->connstr('postgres') ],
		'>', '/dev/null', '2>', '/dev/null');
	wait_for_sql($node, q{
		select count(*) = 3 from pg_stat_activity where query like 'update small%'});
	return $load;
}

# A psql in the background.
sub start_sql
{
	my ($node, @sql) = @_;
	return IPC::Run::start(
		[ 'psql', '-X', '-q', '-d', $node->connstr('postgres'), map { ('-c', $_) } @sql ],
		'<', '/dev/null', '>', '/dev/null', '2>', '/dev/null');
}

1;
