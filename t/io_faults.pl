# Writes of the I/O workers that fail or are cut short, and systems that refuse io_uring or
# direct writes.  Each time the pages stay dirty and the checkpointer writes them: the
# server is then stopped at once and recovers from that checkpoint, so what was not
# written would be missing.
#
# Takes 20 seconds of a processor: scripts/run-tests starts it early.

use strict;
use warnings FATAL => 'all';

use Errno qw(EAGAIN EINTR EINVAL EIO ENOSPC);
use IO::Handle;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreIo;
use ZedstoreTest;
use ZedstoreVolume;

my $tmp = PostgreSQL::Test::Utils::tempdir_short();
# injection points find it from the server's folder of libraries
my $library = '../' x 20 . substr("$tmp/io_faults", 1);

# Sum of the changes made to each twin.
my $expected = 0;

sub change
{
	my ($node) = @_;
	$node->safe_psql('postgres',
		'update h set v = v + 1 where id % 3 = 0; update z set v = v + 1 where id % 3 = 0');
	$expected += 3333;
	return;
}

sub stop_at_once
{
	my ($node, $title) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$node->stop('immediate');
	$node->start;
	wait_for_workers($node);
	is($node->safe_psql('postgres', 'select (select sum(v) from h), (select sum(v) from z)'),
		"$expected|$expected", "$title: everything was written");
	return;
}

sub counters
{
	my ($node) = @_;
	return $node->safe_psql('postgres', q{
		select sum(errors) > 0, sum(blocks) > 0, sum(errors) from pg_stat_zedstore_io});
}

# ---- injected faults ---------------------------------------------------------------------------

#   result    -errno, or the bytes that are written
#   error     it is one that counts, and the checkpointer has to write
#   times     how often; always if not given
#   point     the injection point, if it is not the one in front of the write
my %faults = (
	pwritev => [
		{ title => 'EIO', result => -EIO(), error => 1 },
		{ title => 'ENOSPC', result => -ENOSPC(), error => 1 },
		{ title => 'EIO once', result => -EIO(), error => 1, times => 1 },
		{ title => 'short writes', result => 4096 },
		{ title => 'an unaligned short write', result => 5000 },
		{ title => 'EINTR', result => -EINTR(), times => 3 },
		{ title => 'direct writes refused', result => -EINVAL(), times => 1 },
		{ title => 'EAGAIN', result => -EAGAIN(), error => 1 } ],
	io_uring => [
		{ title => 'EIO', result => -EIO(), error => 1 },
		{ title => 'ENOSPC', result => -ENOSPC(), error => 1 },
		{ title => 'short writes', result => 4096 },
		{ title => 'writes of some bytes', result => 512 },
		{ title => 'EAGAIN', result => -EAGAIN() },
		{ title => 'submissions refused', result => -EAGAIN(), point => 'zs-io-uring-submit' },
		{ title => 'direct writes refused', result => -EINVAL() } ]);

sub test_faults
{
	my ($node, $method) = @_;
	my $usual_point = $method eq 'pwritev' ? 'zs-io-pwrite' : 'zs-io-uring';

	$node->safe_psql('postgres', qq{
		create function io_fault_attach(text, text, int, int) returns void as '$tmp/io_faults' language c;
		create function io_fault_detach(text) returns bool as '$tmp/io_faults' language c});
	# fewer than a checkpoint has, so that it has to wait for some
	set_io_conf($node, 'zedstore.io_queue_depth', '4');
	foreach my $fault (@{ $faults{$method} })
	{
		my $title = "$method, $fault->{title}";
		my $point = $fault->{point} // $usual_point;
		my $log_end = -s $node->logfile;

		change($node);
		wait_for_gate($node);
		$node->safe_psql('postgres',
			"select io_fault_attach('$point', '$library', $fault->{result}, "
			. ($fault->{times} // 0) . ')');
		my ($status) = $node->psql('postgres', 'checkpoint',
			timeout => $PostgreSQL::Test::Utils::timeout_default,
			timed_out => \my $timed_out);
		ok(!$timed_out && $status == 0, "$title: the checkpoint is complete");
		my ($errors, $written) = split /\|/, counters($node);
		$node->safe_psql('postgres', "select io_fault_detach('$point')");
		my $messages = () = slurp_file($node->logfile, $log_end) =~ /could not write blocks/g;

		is($errors, $fault->{error} ? 't' : 'f', "$title: errors are counted");
		is($messages, $fault->{error} ? 1 : 0, "$title: the log has one message");
		is($written, $fault->{error} && !$fault->{times} ? 'f' : 't',
			"$title: what the worker wrote");
		stop_at_once($node, $title);
	}
	set_io_conf($node, 'zedstore.io_queue_depth', '-1');
	return;
}

# ---- a file system that is full ------------------------------------------------------------------

# Writes to the file until the file system has no room at all.
sub fill
{
	my ($path) = @_;
	open my $file, '>', $path or die "$path: $!";
	for my $size (1024 * 1024, 4096)
	{
		1 while (syswrite($file, 'x' x $size) // 0) == $size;
	}
	$file->sync;
	close $file;
	return;
}

# Files that share their blocks with others take new ones when they are written to.
sub test_full
{
	my ($node, $method) = @_;
	my $title = "$method, full file system";
	my $volume = volumes_possible() ? eval { new_volume('xfs', 400) } : undef;

	if (!$volume || $node->pg_version < 18)
	{
		diag 'SKIPPED: a full file system needs xfs on a loop device, and PostgreSQL 18 that clones';
		return;
	}
	mkdir "$volume->{dir}/ts";
	$node->safe_psql('postgres', "create tablespace full_ts location '$volume->{dir}/ts'");
	$node->safe_psql('postgres', 'create database original tablespace full_ts');
	$node->safe_psql('original', q{
		create table t (a int, v int, pad text) with (fillfactor = 40);
		insert into t select i, 0, repeat('x', 200) from generate_series(1, 5000) i});
	$node->safe_psql('original', 'vacuum freeze t');
	$node->safe_psql('postgres', q{
		set file_copy_method = clone; create database copy template original strategy file_copy});
	$node->safe_psql('postgres', 'checkpoint');
	fill("$volume->{dir}/fill");
	my $log_end = -s $node->logfile;
	$node->safe_psql('copy', 'update t set v = v + 1');
	my ($status, undef, $errors) = $node->psql('postgres', 'checkpoint');
	isnt($status, 0, "$title: the checkpointer cannot write either");
	like(slurp_file($node->logfile, $log_end), qr/could not write blocks .*No space left on device/,
		"$title: the log tells");
	is((split /\|/, counters($node))[0], 't', "$title: errors are counted");
	is($node->safe_psql('copy', 'select sum(v), count(*) from t'), '5000|5000',
		"$title: the server goes on");
	unlink "$volume->{dir}/fill";
	$node->safe_psql('postgres', 'checkpoint');
	stop_at_once($node, $title);
	is($node->safe_psql('copy', 'select sum(v), count(*) from t'), '5000|5000',
		"$title: everything was written when there was room");
	is($node->safe_psql('original', 'select sum(v), count(*) from t'), '0|5000',
		"$title: and to the copy only");
	$node->safe_psql('postgres', "drop database $_") for 'copy', 'original';
	$node->safe_psql('postgres', 'drop tablespace full_ts');
	return;
}

# ---- a device that breaks ------------------------------------------------------------------------

# Writes fail with EIO until it is repaired.  Then recovery must find everything in the WAL: no
# checkpoint may have been completed without the pages that could not be written.
sub test_broken
{
	my ($node, $method) = @_;
	my $title = "$method, broken device";
	my $volume = volumes_possible() ? eval { new_fragile_volume('ext4', 100) } : undef;

	if (!$volume)
	{
		diag 'SKIPPED: a device that breaks needs loop devices: run scripts/run-tests as root';
		return;
	}
	# the page cache takes what the device does not; that shows with the sync
	set_io_conf($node, 'fsync', 'on');
	$node->safe_psql('postgres', "create tablespace broken location '$volume->{dir}'");
	$node->safe_psql('postgres', "alter table $_ set tablespace broken") for 'h', 'z';
	change($node);
	$node->safe_psql('postgres', 'checkpoint');
	change($node);
	wait_for_gate($node);
	my $log_end = -s $node->logfile;
	break_volume($volume);
	my ($status) = $node->psql('postgres', 'checkpoint');
	isnt($status, 0, "$title: the checkpointer cannot write either");
	like(slurp_file($node->logfile, $log_end), qr/could not write blocks .*Input\/output error/,
		"$title: the log tells");
	$node->stop('immediate', fail_ok => 1);
	repair_volume($volume);
	$node->start;
	wait_for_workers($node);
	stop_at_once($node, $title);
	change($node);
	$node->safe_psql('postgres', 'checkpoint');
	stop_at_once($node, "$title, repaired");
	$node->safe_psql('postgres', "alter table $_ set tablespace pg_default") for 'h', 'z';
	$node->safe_psql('postgres', 'drop tablespace broken');
	set_io_conf($node, 'fsync', 'off');
	return;
}

my $have_faults = build_c($tmp, 'io_faults.so');

foreach my $method (grep { case_wanted($_) } 'pwritev', 'io_uring')
{
	my $node = new_node($method, conf => io_conf($method) . "restart_after_crash = on\n");
	if (!io_method_works($node, $method))
	{
		$node->stop;
		next;
	}
	make_twins($node);
	$expected = 0;
	if (!has_injection_points($node) || $node->pg_version < 18 || !$have_faults)
	{
		diag 'SKIPPED: faults need injection points with arguments, and a compiler';
	}
	else
	{
		test_faults($node, $method);
	}
	check_files($node, $method);

	# -- file systems that are none for direct, or not for asynchronous writes
	if ($ENV{ZS_TINY_FS})
	{
		my $location = "$ENV{ZS_TINY_FS}/032_$$";
		mkdir $location;
		$node->safe_psql('postgres', "create tablespace tiny location '$location'");
		$node->safe_psql('postgres', "alter table $_ set tablespace tiny") for 'h', 'z';
		change($node);
		wait_for_gate($node);
		$node->safe_psql('postgres', 'checkpoint');
		cmp_ok(blocks_written($node), '>', 0, "$method, tmpfs: the worker writes there");
		cmp_ok($node->safe_psql('postgres', 'select sum(buffered_files) from pg_stat_zedstore_io'),
			'>', 0,
			"$method, tmpfs: through the cache")
		  if $method eq 'pwritev';
		stop_at_once($node, "$method, tmpfs");
		$node->safe_psql('postgres', "alter table $_ set tablespace pg_default") for 'h', 'z';
		$node->safe_psql('postgres', 'drop tablespace tiny');
		rmdir $location;
	}
	else
	{
		diag 'SKIPPED: no tmpfs (ZS_TINY_FS)';
	}
	test_full($node, $method);
	test_broken($node, $method);
	check_twins($node, $method);
	$node->stop;

	# -- systems that refuse it
	next if $method ne 'io_uring';
	my $path = $ENV{PATH};
	$ENV{PATH} = "$tmp/bin:$path";
	mkdir "$tmp/bin";
	foreach my $limits ('no_io_uring', 'ulimit -l 0')
	{
		if ($limits eq 'no_io_uring' &&
			(!build_c($tmp, 'no_io_uring') || system_log("$tmp/no_io_uring", 'true') != 0))
		{
			diag 'SKIPPED: no seccomp, or no compiler';
			next;
		}
		my $run = $limits eq 'no_io_uring' ? "exec $tmp/no_io_uring" : "$limits; exec";
		open my $script, '>', "$tmp/bin/pg_ctl" or die;
		print $script "#!/bin/sh\nPATH='$path'\n$run pg_ctl \"\$\@\"\n";
		close $script;
		chmod 0755, "$tmp/bin/pg_ctl";

		my $log_end = -s $node->logfile;
		$node->start;
		wait_for_sql($node, 'select count(*) > 0 from pg_stat_zedstore_io');
		change($node);
		wait_for_gate($node);
		$node->safe_psql('postgres', 'checkpoint');
		cmp_ok(blocks_written($node), '>', 0, "$limits: the worker writes");
		if ($limits eq 'no_io_uring')
		{
			is($node->safe_psql('postgres', 'select distinct method from pg_stat_zedstore_io'),
				'pwritev', "$limits: the other method is used");
			$node->log_check("$limits: the log tells why", $log_end,
				log_like => [qr/io_uring is not available: Operation not permitted/]);
		}
		stop_at_once($node, $limits);
		check_twins($node, $limits);
		$node->stop;
	}
	$ENV{PATH} = $path;
	unlink "$tmp/bin/pg_ctl";
}

# ---- page cache that cannot be written back ------------------------------------------------------

# The kernel tells the worker, and then nobody else.  What it could not write may be others', so the
# server has to recover; with data_sync_retry the kernel is trusted to keep it.
sub test_write_back
{
	my ($retry) = @_;
	my $title = "write-back fails, data_sync_retry = $retry";
	my $node = new_node("write_back_$retry", conf => io_conf() . <<"CONF");
zedstore.io_method = pwritev
data_sync_retry = $retry
# the twins stay in shared buffers, so nothing is read into the page cache once more
shared_buffers = 64MB
CONF
	if (!has_injection_points($node) || $node->pg_version < 18 || !$have_faults)
	{
		diag 'SKIPPED: faults need injection points with arguments, and a compiler';
		$node->stop;
		return;
	}
	make_twins($node);
	$expected = 0;
	change($node);
	$node->safe_psql('postgres', 'checkpoint');
	if ($node->safe_psql('postgres', 'select sum(cached_requests) from pg_stat_zedstore_io') == 0)
	{
		diag 'SKIPPED: no direct I/O in this file system, or the kernel does not tell what it has cached';
		$node->stop;
		return;
	}
	set_io_conf($node, 'fsync', 'on');
	change($node);
	$node->safe_psql('postgres', qq{
		create function io_fault_attach(text, text, int, int) returns void as '$tmp/io_faults' language c;
		select io_fault_attach('zs-io-write-back', '$library', -${\ EIO()}, 1)});
	wait_for_gate($node);
	my $log_end = -s $node->logfile;
	my ($status) = $node->psql('postgres', 'checkpoint');
	if ($retry eq 'on')
	{
		is($status, 0, "$title: the checkpoint is complete");
		is((counters($node))[0] =~ s/\|.*//r, 't', "$title: errors are counted");
	}
	else
	{
		isnt($status, 0, "$title: the server restarts");
		$node->wait_for_log(qr/database system is ready to accept connections/, $log_end);
		wait_for_sql($node, 'select count(*) > 0 from pg_stat_zedstore_io where pid is not null');
	}
	my $level = $retry eq 'on' ? 'LOG' : 'PANIC';
	like(slurp_file($node->logfile, $log_end),
		qr/$level:  could not fsync file .*Input\/output error/, "$title: the log tells");
	stop_at_once($node, $title);
	check_twins($node, $title);
	$node->stop;
	return;
}

test_write_back($_) for grep { case_wanted("page cache, $_") } 'off', 'on';

# ---- a server that goes through the page cache ---------------------------------------------------

my $node = new_node('buffered', conf => io_conf() . "zedstore.io_method = io_uring\n");
if (io_method_works($node, 'io_uring'))
{
	make_twins($node);
	$expected = 0;
	change($node);
	wait_for_gate($node);
	$node->safe_psql('postgres', 'checkpoint');
	cmp_ok(blocks_written($node), '>', 0, 'buffered: the worker writes');
	# the list is made for the first asynchronous write
	my $asynchronous = -e $node->data_dir . '/zedstore_io_worker.0';
	my $said_no = $node->log_contains(
		qr/I\/O worker writes with threads to files in the file system/);
	ok(!$asynchronous == !!$said_no, 'buffered: with io_uring, or the log tells that it does not');
	stop_at_once($node, 'buffered');
	check_files($node, 'buffered');
}
$node->stop;

done_testing();
