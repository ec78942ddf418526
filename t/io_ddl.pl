# What makes, moves, shortens and removes files, while blocks of these files are on their way: a
# worker stops at an injection point with a table's blocks under BM_IO_IN_PROGRESS, before they are
# submitted or after they were written, the statement begins, the worker goes on. After all of them
# the server is stopped at once, and recovers.
#
# Then an error and a crash at each step of a write.
#
# Takes 24 seconds of a processor: scripts/run-tests starts it early.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreIo;
use ZedstoreTest;

my $worker = 'zedstore I/O worker';

# ---- statements -----------------------------------------------------------------------------

# Statements on a table T, of which blocks are being written, in database D.
#   setup   before the last checkpoint
#   dirty   what makes dirty the blocks that are being written
#   sql     the statements
#   other   run in another database than the table's
#   result  of "select count(*) from T", or of the query
my $dirty = 'update T set a = a';
my @statements = (
	{ title => 'DROP TABLE', sql => 'drop table T', query => "select to_regclass('T') is null",
		result => 't' },
	{ title => 'TRUNCATE', sql => 'truncate T; insert into T values (1)', result => 1 },
	{ title => 'TRUNCATE in the transaction',
		sql => 'begin; truncate T; insert into T values (1); truncate T; commit', result => 0 },
	{ title => 'SET TABLESPACE', sql => 'alter table T set tablespace ts; update T set a = 1',
		result => 2000 },
	{ title => 'there and back', sql => ['alter table T set tablespace ts',
		'alter table T set tablespace pg_default'], result => 2000 },
	{ title => 'VACUUM FULL', sql => 'vacuum full T', result => 2000 },
	{ title => 'CLUSTER', setup => 'create index T_a on T (a)', sql => 'cluster T using T_a',
		result => 2000 },
	{ title => 'VACUUM that truncates', dirty => 'delete from T',
		sql => [ 'vacuum T', 'vacuum T', 'insert into T values (1)' ], result => 1 },
	{ title => 'extension',
		sql => q{insert into T select i, repeat('x', 300) from generate_series(1, 3000) i},
		result => 5000 },
	{ title => 'ROLLBACK of a new table', dirty => 'update T set a = a',
		sql => [ "begin; create table T_new as table T; rollback",
		'create table T_new as table T' ], query => 'select count(*) from T_new', result => 2000 },
	{ title => 'SET UNLOGGED', sql => 'alter table T set unlogged', result => 2000, lost => 1 },
	{ title => 'SET LOGGED', setup => 'alter table T set unlogged', dirty =>
		'create table T_other as table T', sql => 'alter table T set logged', result => 2000 });
my @databases = (
	{ title => 'CREATE DATABASE wal_log',
		sql => 'create database D_new template D strategy wal_log', at => 'new' },
	{ title => 'CREATE DATABASE file_copy',
		sql => 'create database D_new template D strategy file_copy', at => 'new' },
	{ title => 'ALTER DATABASE SET TABLESPACE', sql => 'alter database D set tablespace ts',
		at => 'old' },
	{ title => 'DROP DATABASE', sql => 'drop database D' });

# Brings the worker to the point with blocks of the table; returns the checkpoint.
sub stop_worker
{
	my ($node, $point, $dbname, $sql) = @_;

	# so that the table's are the only dirty blocks
	$node->safe_psql('postgres', 'checkpoint');
	wait_for_gate($node);
	$node->safe_psql($dbname, $sql);
	$node->safe_psql('postgres', "select injection_points_attach('$point', 'wait')");
	my $checkpoint = start_sql($node, 'checkpoint');
	$node->wait_for_event($worker, $point);
	return $checkpoint;
}

sub release_worker
{
	my ($node, $point, @sessions) = @_;
	my $result = 0;

	$node->safe_psql('postgres',
		"select injection_points_detach('$point'); select injection_points_wakeup('$point')");
	for my $session (@sessions)
	{
		$session->finish;
		$result ||= $session->result(0);
	}
	return $result;
}

# A session that runs statements; it has begun when this returns.
sub begin_statements
{
	my ($node, $title, @sql) = @_;
	my $session = start_sql($node, "set application_name = 'ddl'", '\set ON_ERROR_STOP on', @sql);

	# it waits for the blocks, or went through
	for (1 .. 15)
	{
		last if !$session->pumpable;
		last if $node->safe_psql('postgres', "select count(*) from pg_stat_activity
			where application_name = 'ddl' and wait_event_type in ('IPC', 'BufferPin')") > 0;
	}
	return $session;
}

sub test_statements
{
	my ($node, $method, $point) = @_;
	my @later;
	my $n = 0;

	$node->safe_psql('postgres',
		q{set allow_in_place_tablespaces = on; create tablespace ts location ''})
	  if $node->safe_psql('postgres', q{select count(*) from pg_tablespace where spcname = 'ts'})
		eq '0';
	foreach my $case (@statements)
	{
		my $table = 't' . ($point =~ s/\W/_/gr) . $n++;
		my $am = $n % 2 ? 'heap' : 'zedstore';
		$am = 'heap' if $case->{title} =~ /LOGGED/;
		my $title = "$method, $point, $case->{title}";
		next if !case_wanted($title);
		my $for_table = sub { map { s/\bT\b|T(?=_)/$table/gr } map { ref $_ ? @$_
			: $_ } grep { defined } @_ };
		my $query = ($for_table->($case->{query} // 'select count(*) from T'))[0];

		$node->safe_psql('postgres', join ';',
			$for_table->("create table T (a int, b text) using $am",
				q{insert into T select i, repeat('x', 300) from generate_series(1, 2000) i},
					$case->{setup}));
		my $checkpoint = stop_worker($node, $point, 'postgres', join ';',
			$for_table->($case->{dirty} // $dirty));
		my $session = begin_statements($node, $title, $for_table->($case->{sql}));
		is(release_worker($node, $point, $checkpoint, $session), 0, "$title: both go through");
		is($node->safe_psql('postgres', $query), $case->{result}, "$title: result");
		push @later, [ $query, $case->{lost} ? 0 : $case->{result}, $title ];
	}
	return @later;
}

sub test_databases
{
	my ($node, $method, $point) = @_;
	my @later;
	my $n = 0;

	foreach my $case (@databases)
	{
		my $db = 'd' . ($point =~ s/\W/_/gr) . $n++;
		my $title = "$method, $point, $case->{title}";
		next if !case_wanted($title);
		my $sql = $case->{sql} =~ s/\bD\b|D(?=_new)/$db/gr;

		$node->safe_psql('postgres', "create database $db");
		$node->safe_psql($db,
			q{create table t as select i a, repeat('x', 300) b from generate_series(1, 2000) i});
		my $checkpoint = stop_worker($node, $point, $db, 'update t set a = a + 1');
		my $session = begin_statements($node, $title, $sql);
		is(release_worker($node, $point, $checkpoint, $session), 0, "$title: both go through");
		next if !$case->{at};
		my $at = $case->{at} eq 'new' ? "${db}_new" : $db;
		is($node->safe_psql($at, 'select count(*), sum(a) from t'), '2000|2003000',
			"$title: result");
		push @later, [ 'select count(*), sum(a) from t', '2000|2003000', $title, $at ];
	}
	return @later;
}

# ---- steps of a write -------------------------------------------------------------------------

my @steps = qw(zs-io-claimed zs-io-open zs-io-flush zs-io-submit zs-io-written zs-io-release);

# An error ends the worker, which gives back its blocks: the checkpointer writes them.
sub test_errors
{
	my ($node, $method) = @_;

	# behind the write there is nothing that could fail
	foreach my $point (grep { !/written|release/ && case_wanted("$method, error at $_") } @steps)
	{
		my $log_end = -s $node->logfile;

		change_twins($node);
		wait_for_gate($node);
		$node->safe_psql('postgres', "select injection_points_attach('$point', 'error')");
		$node->safe_psql('postgres', 'checkpoint');
		$node->safe_psql('postgres', "select injection_points_detach('$point')");
		like(slurp_file($node->logfile, $log_end), qr/error triggered for injection point $point/,
			"$method, error at $point");
		$node->stop('immediate');
		$node->start;
		wait_for_workers($node);
	}
	check_twins($node, "$method, errors");
	return;
}

sub test_crashes
{
	my ($node, $method, @points) = @_;

	foreach my $point (grep { case_wanted("$method, crash at $_") } @points)
	{
		my $checkpoint = stop_worker($node, $point, 'postgres',
			'update h set v = v + 1 where id % 3 = 0; update z set v = v + 1 where id % 3 = 0');
		if ($point =~ /written|submit/ && $method eq 'io_uring')
		{
			my $log_end = -s $node->logfile;

			kill 'KILL', $node->safe_psql('postgres',
				'select distinct pid from pg_stat_zedstore_io where worker = 1');
			$node->wait_for_log(qr/database system is ready to accept connections/, $log_end);
		}
		else
		{
			kill_server($node);
			kill_and_restart($node, killed => 1);
		}
		$checkpoint->finish;
		wait_for_workers($node);
		is($node->safe_psql('postgres', 'select (select sum(v) from h) = (select sum(v) from z)'),
			't', "$method, crash at $point");
	}
	check_twins($node, "$method, crashes");
	return;
}

# ---- both methods --------------------------------------------------------------------------------

foreach my $method ('pwritev', 'io_uring')
{
	my $node = new_node($method, conf => io_conf($method) . "log_checkpoints = on\n");
	if (!has_injection_points($node))
	{
		$node->stop;
		plan skip_all => 'the server comes without injection points';
	}
	if (!io_method_works($node, $method))
	{
		$node->stop;
		next;
	}
	make_twins($node);
	$node->safe_psql('postgres', 'create extension injection_points');

	my $point = $method eq 'pwritev' ? 'zs-io-submit' : 'zs-io-written';
	my @later = (test_statements($node, $method, $point), test_databases($node, $method, $point));

	# -- neither unlogged nor temporary tables are theirs
	$node->safe_psql('postgres', 'checkpoint');
	my $before = blocks_written($node);
	$node->safe_psql('postgres', q{insert into u select generate_series(1, 50000)});
	$node->safe_psql('postgres',
		q{create temp table tmp as select generate_series(1, 50000); checkpoint});
	# 200 blocks each, and some of the catalog
	cmp_ok(blocks_written($node) - $before, '<', 150,
		"$method: unlogged and temporary tables are left alone");

	$node->stop('immediate');
	$node->start;
	wait_for_workers($node);
	foreach my $check (@later)
	{
		my ($query, $result, $title, $dbname) = @$check;
		is($node->safe_psql($dbname // 'postgres', $query), $result, "$title: after a crash");
	}
	is($node->safe_psql('postgres', 'select count(*) from u'), '0',
		"$method: unlogged tables are empty after a crash");
	zs_check_all($node);

	test_errors($node, $method);
	test_crashes($node, $method, $method eq 'io_uring' ? @steps : qw(zs-io-submit zs-io-release));

	# -- without checksums
	$node->stop('fast');
	command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ], "$method: checksums");
	run_log([ 'pg_checksums', '--disable', '-D', $node->data_dir ]);
	$node->start;
	wait_for_workers($node);
	change_twins($node);
	wait_for_gate($node);
	$node->safe_psql('postgres', 'checkpoint');
	cmp_ok(blocks_written($node), '>', 0, "$method: without checksums");
	$node->stop('immediate');
	$node->start;
	check_twins($node, "$method, without checksums");
	ok(!$node->log_contains('TRAP:|PANIC:'), "$method: no assertion failed");
	$node->stop;
}

done_testing();
