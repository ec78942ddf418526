# zs_io_calibrate() leaves nothing behind: canceled, killed, and on a full disk.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

my $node = new_node('main', conf => "restart_after_crash = on\n");
my $tmp = $node->data_dir . '/base/pgsql_tmp';
my $calibrating =
  "select count(*) = 1 from pg_stat_activity where wait_event = 'ZedstoreIoCalibrate'";

sub scratch_files
{
	my $of_wal = grep { /calibrate/ } slurp_dir($node->data_dir . '/pg_wal');
	return $of_wal if !-d $tmp;
	return $of_wal + grep { !/^\.\.?$/ } slurp_dir($tmp);
}

# Starts one that would take an hour, and waits until it is at work.
sub start_calibration
{
	my ($what) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	my $pid = $session->query_safe('select pg_backend_pid()');
	$session->query_until(qr/started/,
		"\\echo started\nselect count(*) from zs_io_calibrate('$what', 3600);\n");
	wait_for_sql($node, $calibrating);
	return ($session, $pid);
}

for my $what ('pg_default', 'pg_wal')
{
	# -- canceled
	my ($session, $pid) = start_calibration($what);
	is(scratch_files(), 0, "$what: the scratch file has no name");
	is($node->safe_psql('postgres', "select pg_cancel_backend($pid)"), 't', "$what: cancel");
	wait_for_sql($node, "select state = 'idle' from pg_stat_activity where pid = $pid");
	is($session->query('select 1'), '1', "$what: the session goes on");
	is(scratch_files(), 0, "$what: canceled");
	$session->quit;

	# -- terminated
	($session, $pid) = start_calibration($what);
	$node->safe_psql('postgres', "select pg_terminate_backend($pid, 60000)");
	is(scratch_files(), 0, "$what: terminated");
	$session->{run}->finish;

	# -- killed: the server restarts
	($session, $pid) = start_calibration($what);
	kill 'KILL', $pid;
	wait_for_restart($node);
	$node->poll_query_until('postgres',
		"select count(*) = 0 from pg_stat_activity where pid = $pid")
	  or die 'the server did not come back';
	is(scratch_files(), 0, "$what: killed");
	$session->{run}->finish;
}

# -- a full disk
SKIP:
{
	my $tiny = $ENV{ZS_TINY_FS} // '';
	if (!-d $tiny)
	{
		diag 'NOT TESTED: full disk, because ZS_TINY_FS names no folder on a small file system';
		skip 'no ZS_TINY_FS', 2;
	}
	my $folder = "$tiny/calibrate.$$";
	mkdir $folder or die "mkdir $folder: $!";
	chmod 0700, $folder;
	$node->safe_psql('postgres', "create tablespace tiny location '$folder'");
	my ($rc, $out, $err) =
		$node->psql('postgres', "\\set VERBOSITY verbose\nselect * from zs_io_calibrate('tiny')");
	like($err, qr/ERROR:  53100: could not write the scratch file for calibration: No space left on device\nHINT:  .*needs up to 256 MB/,
		'disk full');
	is($node->safe_psql('postgres', q{
		select count(*)
		from pg_ls_tmpdir((select oid from pg_tablespace where spcname = 'tiny'))}), '0',
		'nothing stays on the full disk');
	$node->safe_psql('postgres', 'drop tablespace tiny');
	rmdir $folder;
}

$node->stop;
done_testing();
