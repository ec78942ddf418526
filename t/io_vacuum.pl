# I/O workers write what bulk loads and VACUUM leave dirty: zedstore's hand their
# blocks over, heap's VACUUM is watched.  With both methods.
#
# Takes 25 seconds of a processor: scripts/run-tests starts it early.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreIo;
use ZedstoreTest;

my $conf = <<'CONF';
zedstore.io_workers = 1
zedstore.io_checkpoint = off
zedstore.io_cleaner = off
shared_buffers = 32MB
max_wal_size = 2GB
checkpoint_timeout = 1h
bgwriter_lru_maxpages = 0
autovacuum = off
CONF

sub handed_over
{
	my ($node) = @_;
	return $node->safe_psql('postgres', q{
		select coalesce(sum(blocks), 0) from pg_stat_zedstore_io where role = 'vacuum'});
}

# Blocks that client backends wrote in a kind of ring.
sub own_writes
{
	my ($node, $context) = @_;
	return $node->safe_psql('postgres', qq{
		select pg_stat_force_next_flush();
		select writes from pg_stat_io
		where backend_type = 'client backend' and object = 'relation' and context = '$context'}) =~ s/\s//gr;
}

sub check_all
{
	my ($node, $title) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	same_twins($node, $title);
	zs_check_all($node, 'postgres', "$title: zs_check");
	return;
}

# A VACUUM that is slow enough for a worker to keep up with it.
sub slow_vacuum
{
	my ($node, $table, $cost_limit, $delay) = @_;
	$delay //= 2;
	$node->safe_psql('postgres', qq{
		set vacuum_cost_delay = $delay;
		set vacuum_cost_limit = $cost_limit;
		vacuum (buffer_usage_limit '1MB') $table});
	return;
}

# Deletes some rows of the twins, and lets a slow VACUUM remove those of one of them beside a
# worker. Returns how many blocks VACUUM wrote, and how many the worker did.  Who of the two comes
# first is a matter of processor time as well, so there are a few attempts until they are as wanted.
my @remainders;

sub vacuum_beside_worker
{
	my ($node, $table, $cost_limit, $is_wanted) = @_;
	my ($beside, $workers);

	# slower each time, for a machine or a device that cannot follow
	foreach my $delay (2, 8, 32, 100)
	{
		my $remainder = shift @remainders;
		last if !defined $remainder;
		$node->safe_psql('postgres', $_)
		  for "delete from h where id % 11 = $remainder",
			"delete from z where id % 11 = $remainder",
			'vacuum ' . ($table eq 'h' ? 'z' : 'h'), 'checkpoint';
		my $own = own_writes($node, 'vacuum');
		my $before = handed_over($node);
		slow_vacuum($node, $table, $cost_limit, $delay);
		$beside = own_writes($node, 'vacuum') - $own;
		wait_for_sql($node, "select sum(blocks) > $before from pg_stat_zedstore_io where role = 'vacuum'");
		$workers = handed_over($node) - $before;
		last if $is_wanted->($beside, $workers);
	}
	return ($beside, $workers);
}

foreach my $method ('pwritev', 'io_uring')
{
	@remainders = (0 .. 10);
	my $node = new_node("main_$method", conf => "$conf\nzedstore.io_method = $method\n");
	if (!io_method_works($node, $method))
	{
		$node->stop;
		next;
	}

	# -- bulk load
	$node->safe_psql('postgres', q{
		create extension amcheck;
		create table h (id int, v int, pad text) with (fillfactor = 60);
		create table z (id int, v int, pad text) using zedstore});
	my $fill = q{insert into %s select i, i, string_agg(md5((i * 7 + k)::text), '')
		from generate_series(1, 30000) i, generate_series(1, 20) k group by i};
	my $before = handed_over($node);
	$node->safe_psql('postgres', sprintf($fill, 'z'));
	wait_for_sql($node, "select sum(blocks) > $before from pg_stat_zedstore_io where role = 'vacuum'");
	pass("$method: a worker wrote pages of a bulk load");
	$node->safe_psql('postgres', sprintf($fill, 'h') . q{; vacuum (freeze) h});
	check_all($node, "$method, load");

	# -- VACUUM and compaction of zedstore
	$node->safe_psql('postgres', $_) for 'delete from z where id % 3 = 0',
		'delete from h where id % 3 = 0',
		'checkpoint';
	$before = handed_over($node);
	$node->safe_psql('postgres', 'vacuum z');
	wait_for_sql($node, "select sum(blocks) > $before from pg_stat_zedstore_io where role = 'vacuum'");
	pass("$method: a worker wrote what VACUUM of a zedstore table left");

	# -- VACUUM of heap, without and with
	set_io_conf($node, 'zedstore.io_vacuum', 'off');
	my $own = own_writes($node, 'vacuum');
	slow_vacuum($node, 'h', 400);
	my $alone = own_writes($node, 'vacuum') - $own;
	set_io_conf($node, 'zedstore.io_vacuum', 'on');
	foreach my $rewritten (0, 1)
	{
		my $title = $method . ($rewritten ? ', new file number' : '');
		# the file's number is the OID no longer
		$node->safe_psql('postgres', 'vacuum full h') if $rewritten;
		my ($beside, $workers) = vacuum_beside_worker($node, 'h', 400,
			sub { my ($beside, $workers) = @_; return $rewritten || $beside < $workers });
		note "$title: VACUUM of a heap table wrote $alone blocks alone, $beside beside a worker that wrote $workers";
		cmp_ok($workers, '>', 0, "$title: a worker wrote behind VACUUM of a heap table");
		cmp_ok($beside, '<', $workers, "$title: the larger part") if !$rewritten;
	}
	cmp_ok($alone, '>', 500, "$method: VACUUM of a heap table writes itself when alone");

	# -- into an index
	$node->safe_psql('postgres', "create index ${_}_pad on $_ (left(pad, 400))") for 'h', 'z';
	foreach my $table ('h', 'z')
	{
		my $pages = $node->safe_psql('postgres', "select pg_relation_size('${table}_pad') / 8192");
		my ($beside) = vacuum_beside_worker($node, $table, 100, sub { return $_[0] < $pages / 2 });
		note "$method: VACUUM of $table with an index of $pages blocks wrote $beside blocks";
		cmp_ok($beside, '<', $pages / 2, "$method: a worker wrote pages of an index of $table");
	}
	$node->safe_psql('postgres', "select bt_index_check('$_', true)") for 'h_pad', 'z_pad';
	$node->safe_psql('postgres', 'drop index h_pad, z_pad');
	check_all($node, "$method, vacuum");

	# -- tables that are dropped, truncated and moved with blocks in the queue
	mkdir $node->basedir . '/ts';
	my $ts = $node->basedir . '/ts';
	$node->safe_psql('postgres', "create tablespace ts location '$ts'");
	set_io_conf($node, 'zedstore.io_max_iops', '200');
	for my $i (1 .. 3)
	{
		$node->safe_psql('postgres', $_)
		  for 'create table d using zedstore as select * from z', 'drop table d',
			'create table t using zedstore as select * from z where id < 10000', 'truncate t',
			'insert into t select * from z', 'alter table t set tablespace ts',
			'begin; insert into t select * from z; rollback', 'drop table t',
			'vacuum z';
	}
	is($node->safe_psql('postgres', 'select sum(errors) from pg_stat_zedstore_io'), '0',
		"$method: no errors");
	check_all($node, "$method, files come and go");

	# -- a worker that dies with a full queue; nobody waits for it
	$node->append_conf('postgresql.conf', "zedstore.io_max_iops = 2\n");
	$node->reload;
	wait_for_sql($node, "select current_setting('zedstore.io_max_iops') = '2'");
	my $pid = $node->safe_psql('postgres',
		q{select pid from pg_stat_zedstore_io where role = 'vacuum'});
	my $log_end = -s $node->logfile;
	$node->safe_psql('postgres', 'create table d using zedstore as select * from z');
	$node->safe_psql('postgres', "select pg_terminate_backend($pid)");
	wait_for_sql($node, "select count(*) = 0 from pg_stat_zedstore_io where pid = $pid");
	$node->safe_psql('postgres', 'create table e using zedstore as select * from z');
	set_io_conf($node, 'zedstore.io_max_iops', '0');
	wait_for_sql($node, 'select count(*) > 0 from pg_stat_zedstore_io where pid is not null');
	$before = handed_over($node);
	$node->safe_psql('postgres', 'insert into e select * from z');
	wait_for_sql($node, "select sum(blocks) > $before from pg_stat_zedstore_io where role = 'vacuum'");
	pass("$method: a new worker goes on with the queue");

	# -- the cluster dies
	foreach my $cycle (1 .. 2)
	{
		$before = handed_over($node);
		my $psql = IPC::Run::start(
			[ 'psql', '-X', '-q', '-d', $node->connstr('postgres'), '-c',
				'insert into d select * from z',
				'-c', 'vacuum d', '-c', 'insert into d select * from e', '-c', 'delete from d',
					'-c', 'vacuum d' ],
			'>', '/dev/null', '2>', '/dev/null');
		wait_for_sql($node, "select sum(blocks) > $before from pg_stat_zedstore_io where role = 'vacuum'");
		kill_and_restart($node);
		$psql->finish;
		check_all($node, "$method, killed $cycle");
	}
	$node->stop('fast');
	command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ], "$method: checksums");
}

done_testing();
