# I/O workers write blocks through the page cache that it holds, and leave them there, by themselves
# or by threads; others directly.  With both methods; what is written is the same in all ways, also
# when the server is killed.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreIo;
use ZedstoreTest;

# Requests for checkpoints: all, and those through the page cache.
sub requests
{
	my ($node) = @_;
	return split /\|/, $node->safe_psql('postgres', q{
		select sum(requests), sum(cached_requests) from pg_stat_zedstore_io
		where role = 'checkpoint'});
}

# A checkpoint of changed twins, which the page cache holds or not; returns the requests of both
# kinds that it took.  There are some for catalogs, too.
sub checkpoint_twins
{
	my ($node, %opts) = @_;
	change_twins($node);
	empty_cache($node) if $opts{empty};
	wait_for_gate($node);
	my @before = requests($node);
	$node->safe_psql('postgres', 'checkpoint');
	my @after = requests($node);
	return ($after[0] - $before[0], $after[1] - $before[1]);
}

# Bytes of the heap twin's file that the page cache holds.
sub bytes_cached
{
	my ($node) = @_;
	my $path = $node->data_dir . '/'
		. $node->safe_psql('postgres', "select pg_relation_filepath('h')");
	return `fincore --bytes --noheadings --output RES $path` + 0;
}

# Throws the twins out of the page cache.
sub empty_cache
{
	my ($node) = @_;
	foreach my $file (split /\n/, $node->safe_psql('postgres', q{
		select pg_relation_filepath(c.oid) from pg_class c
		where c.relname in ('h', 'z', 'h_pkey', 'z_pkey')}))
	{
		system_or_bail('dd', 'of=' . $node->data_dir . "/$file", 'oflag=nocache',
			'conv=notrunc,fdatasync', 'count=0', 'status=none');
	}
	return;
}

foreach my $method ('pwritev', 'io_uring')
{
	my $node = new_node("main_$method", conf => io_conf() . "zedstore.io_method = $method\n"
		. <<'CONF');
zedstore.io_keep_cached = on
# the twins stay in shared buffers, so nothing is read into the page cache once more
shared_buffers = 64MB
# injection points tell
log_min_messages = notice
CONF
	if (!io_method_works($node, $method))
	{
		$node->stop;
		next;
	}
	my $points = has_injection_points($node);
	$node->safe_psql('postgres', 'create extension injection_points') if $points;
	make_twins($node);
	$node->safe_psql('postgres', 'checkpoint');
	if ($node->safe_psql('postgres', 'select sum(buffered_files) from pg_stat_zedstore_io') != 0)
	{
		diag 'SKIPPED: no direct I/O in this file system';
		$node->stop;
		next;
	}
	$node->safe_psql('postgres', q{select injection_points_attach('zs-io-own', 'notice')})
	  if $points;
	my $log_end = -s $node->logfile;
	my ($requests, $cached) = checkpoint_twins($node);
	if ($cached == 0)
	{
		diag 'SKIPPED: the kernel does not tell what it has cached';
		$node->stop;
		next;
	}
	cmp_ok($cached, '>', $requests / 2,
		"$method: blocks that the page cache holds are written through it");
	my $size = $node->safe_psql('postgres', "select pg_relation_size('h')");
	cmp_ok(bytes_cached($node), '>=', $size / 2, "$method: and stay there");
	check_files($node, "$method, cached");
	check_twins($node, "$method, cached");
	ok(!$points || $node->log_contains(qr/injection point zs-io-own/, $log_end),
		"$method: the worker itself wrote them");

	# -- by threads
	set_io_conf($node, 'zedstore.io_own_writes', 'off');
	# until the worker has read the setting, too
	checkpoint_twins($node) for 1 .. 2;
	$log_end = -s $node->logfile;
	($requests, $cached) = checkpoint_twins($node);
	cmp_ok($cached, '>', $requests / 2, "$method: threads write through the page cache");
	ok(!$node->log_contains(qr/injection point zs-io-own/, $log_end),
		"$method: the worker itself did not");
	check_files($node, "$method, cached, threads");
	check_twins($node, "$method, cached, threads");
	set_io_conf($node, 'zedstore.io_own_writes', 'on');

	# -- what the page cache does not hold
	($requests, $cached) = checkpoint_twins($node, empty => 1);
	cmp_ok($requests, '>', $cached, "$method: what is not cached is written directly");
	is(bytes_cached($node), 0, "$method: and it did not get into the page cache");
	check_files($node, "$method, not cached");
	check_twins($node, "$method, not cached");

	# -- off
	set_io_conf($node, 'zedstore.io_keep_cached', 'off');
	# until the worker has read the setting, too
	checkpoint_twins($node) for 1 .. 2;
	($requests, $cached) = checkpoint_twins($node);
	cmp_ok($requests, '>', 0, "$method: a worker writes when it is off");
	is($cached, 0, "$method: all directly");
	set_io_conf($node, 'zedstore.io_keep_cached', 'on');

	# -- both ways in turn under load, in a server that dies
	foreach my $cycle (1 .. 3)
	{
		set_io_conf($node, 'zedstore.io_own_writes', $cycle % 2 ? 'on' : 'off');
		my $load = start_load($node, 60);
		foreach (1 .. 6)
		{
			empty_cache($node) if $_ % 2;
			$node->safe_psql('postgres', 'checkpoint');
		}
		kill_and_restart($node);
		$load->finish;
		wait_for_workers($node);
	}
	is($node->safe_psql('postgres', 'select sum(errors) from pg_stat_zedstore_io'), '0',
		"$method: no errors");
	check_files($node, "$method, killed");
	check_twins($node, "$method, killed");
	$node->stop('fast');
}

plan skip_all => 'needs direct I/O, and a kernel that tells what it has cached'
	if Test::More->builder->current_test == 0;
done_testing();
