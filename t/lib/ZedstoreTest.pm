# Helpers for the TAP tests in t/.
#
#   use lib 't/lib';   (scripts/run-tests sets PERL5LIB)
#   use ZedstoreTest;
#
#   my $node = new_node('main', conf => "max_connections = 20\n");
#   zs_check_all($node);

package ZedstoreTest;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use File::Basename;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

our @EXPORT = qw(
  case_wanted
  new_node
  standby_of
  kill_server
  kill_and_restart
  wait_for_restart
  zs_check_all
  zs_problems
  wait_for_sql
  write_move_script
  pgbench_rounds
  end_pgbench_rounds
  has_injection_points
  build_c
);

# Is the case of this name to be run?  All are, unless TESTS_CASE is a regular expression that
# it does not match: make test TESTS=t/crash_points TESTS_CASE=page-take
sub case_wanted
{
	my ($name) = @_;

	return !defined $ENV{TESTS_CASE} || $name =~ /$ENV{TESTS_CASE}/;
}

# A cluster with checksums that preloads zedstore_io.
#   conf      => text to append to postgresql.conf
#   start     => 0: leave it stopped
#   extension => 0: no CREATE EXTENSION in database postgres
# Everything else goes to PostgreSQL::Test::Cluster's init().
sub new_node
{
	my ($name, %opts) = @_;
	my $conf = delete $opts{conf} // '';
	my $start = delete $opts{start} // 1;
	my $extension = delete $opts{extension} // 1;

	# Asking for checksums would bypass the template cluster, which has them.
	$opts{extra} = [ @{ $opts{extra} // [] }, '-k' ]
	  if $opts{extra} || !defined $ENV{INITDB_TEMPLATE};

	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(%opts);
	# With allows_streaming there are but ten connections, of which a client that
	# has just ended may still hold one.
	$node->append_conf('postgresql.conf', <<"CONF");
shared_preload_libraries = 'zedstore_io'
max_connections = 50
max_prepared_transactions = 10
autovacuum_naptime = 1h
search_path = '"\$user", public, zedstore'
$conf
CONF
	if ($start)
	{
		$node->start;
		$node->safe_psql('postgres', 'create extension zedstore_io')
		  if $extension;
	}
	return $node;
}

# A running streaming standby of $primary, which needs allows_streaming => 1.
sub standby_of
{
	my ($primary, $name, %opts) = @_;
	my $backup = "backup_$name";

	$primary->backup($backup);
	my $standby = PostgreSQL::Test::Cluster->new($name);
	$standby->init_from_backup($primary, $backup, has_streaming => 1);
	$standby->append_conf('postgresql.conf', $opts{conf}) if $opts{conf};
	$standby->start;
	return $standby;
}

# kill -9 all processes of a server at once: nothing is written any more, not even
# by backends that notice the postmaster's death.  With optional => 1 it may be
# down already; returns whether it was up.
sub kill_server
{
	my ($node, %opts) = @_;
	my $pidfile = $node->data_dir . '/postmaster.pid';
	my ($pid) = -f $pidfile ? slurp_file($pidfile) =~ /^(\d+)\n/ : ();
	my @children;

	if (!$pid || !kill 'STOP', $pid)
	{
		die 'the server is not running' if !$opts{optional};
		return 0;
	}
	@children = map { /^\s*(\d+)\s+$pid\s*$/ ? $1 : () } `ps -A -o pid=,ppid=`;
	kill 'KILL', @children, $pid;

	# Until init has collected them they hold the shared memory and the lock files.
	for my $p ($pid, @children)
	{
		for (1 .. $PostgreSQL::Test::Utils::timeout_default * 100)
		{
			last if !kill 0, $p;
			usleep(10_000);
		}
	}
	$node->{_pid} = undef;
	return 1;
}

# kill -9 the postmaster and start again.  Its children notice only after a
# moment and hold the shared memory until then, so starting is tried again.
# With killed => 1 that was done before.
sub kill_and_restart
{
	my ($node, %opts) = @_;

	$node->kill9 if !$opts{killed};
	for (1 .. $PostgreSQL::Test::Utils::timeout_default * 10)
	{
		return if $node->start(fail_ok => 1);
		usleep(100_000);
		# The node takes the dead server's pid file for a running server.
		$node->stop('fast', fail_ok => 1);
	}
	die 'the server did not start after kill -9';
}

# Waits for a server that restarts by itself, since one of its processes was killed.  A psql that it
# refuses may be gone before it could be written to, which is an error of the node's.
sub wait_for_restart
{
	my ($node) = @_;

	for (1 .. $PostgreSQL::Test::Utils::timeout_default * 10)
	{
		return if (eval { $node->safe_psql('postgres', 'select true') } // '') eq 't';
		usleep(100_000);
	}
	die 'the server did not come back';
}

# Compiles t/lib/NAME.c to the program NAME, or for NAME.so to a library of the server, in a folder.
# False if that is not possible here.
sub build_c
{
	my ($folder, $name) = @_;
	my $source = dirname(__FILE__) . '/' . basename($name, '.so') . '.c';
	my @options = ('-O1');

	if ($name =~ /\.so$/)
	{
		my $pg_config = $ENV{TEST_PG_CONFIG} // 'pg_config';
		my $include = `$pg_config --includedir-server` =~ s/\n//r;

		push @options, '-shared', '-fPIC', '-I', $include, '-I',
		  dirname(__FILE__) . '/../../include';
	}
	return system_log($ENV{CC} // 'cc', @options, '-o', "$folder/$name", $source) == 0;
}

# What zs_check() finds in the zedstore tables of a database, on a standby in those that it has, as
# text.  Its notices, about blocks that aborted transactions left behind, are no problems.
sub zs_problems
{
	my ($node, $dbname) = @_;

	return $node->safe_psql($dbname // 'postgres', q{
		select c.oid::regclass, k.*
		from pg_class c join pg_am a on a.oid = c.relam,
			lateral zs_check(c.oid::regclass) k
		where a.amname = 'zedstore' and c.relkind in ('r', 'm', 't')
			and (c.relpersistence = 'p' or c.relpersistence = 'u' and not pg_is_in_recovery())
			and k.severity <> 'notice'});
}

# A test that all zedstore tables of a database pass zs_check().
sub zs_check_all
{
	my ($node, $dbname, $title) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is(zs_problems($node, $dbname),
		'', $title // 'zs_check finds no problem');
}

# Wait until a query returns true.
sub wait_for_sql
{
	my ($node, $query, $dbname) = @_;

	$node->poll_query_until($dbname // 'postgres', $query)
	  or die "timed out waiting for: $query";
	return;
}

# A script for pgbench: moves something from one of table load's rows 1 to 2500 to one of the rows
# up to 5000, so that the sum of v stays the same.
sub write_move_script
{
	my ($path) = @_;

	append_to_file($path, <<'SQL');
\set one random(1, 2500)
\set two random(2501, 5000)
\set n random(1, 10)
begin;
update load set v = v - :n where id = :one;
update load set v = v + :n where id = :two;
commit;
SQL
	return;
}

# pgbench with these arguments, again and again until end_pgbench_rounds(): whatever a test does
# between the two has company, however fast or slow the machine is.  Its sessions are there when
# this returns; the end waits for a run.
sub pgbench_rounds
{
	my ($node, @arguments) = @_;
	my %load = (stop => PostgreSQL::Test::Utils::tempdir . '/stop', out => '', err => '');
	# it is the test's name otherwise
	local $ENV{PGAPPNAME} = 'pgbench';

	$load{handle} = IPC::Run::start(
		[
			'sh', '-c', 'stop=$1; shift; while ! test -e "$stop"; do pgbench "$@" || exit 1; done',
			'sh', $load{stop}, '-n', '-h', $node->host, '-p', $node->port, @arguments, 'postgres'
		],
		'<', '/dev/null', '>', \$load{out}, '2>', \$load{err});
	wait_for_sql($node,
		q{select count(*) > 0 from pg_stat_activity where application_name = 'pgbench'});
	return \%load;
}

# Ends it; checks that it did something, and that no client met an error.
sub end_pgbench_rounds
{
	my ($load, $title) = @_;

	append_to_file($load->{stop}, '');
	ok($load->{handle}->finish, $title);
	unlike($load->{err}, qr/ERROR|FATAL|aborted/, "$title: no message");
	like($load->{out}, qr/transactions actually processed: [1-9]/, "$title: it ran meanwhile");
	return;
}

# Does the server come with the module injection_points?  The builds of
# scripts/setup-postgres do where injection points are enabled.
sub has_injection_points
{
	my ($node) = @_;

	return $node->safe_psql('postgres', q{
		select count(*) from pg_available_extensions
		where name = 'injection_points'}) > 0;
}

1;
