# I/O workers do not keep the space of files that were removed: a dropped database is gone from the
# disk of a standby, too, where nothing tells the workers, and where no restartpoint follows.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);
use ZedstoreIo;
use ZedstoreTest;

plan skip_all => 'needs /proc/PID/fd' if !-d "/proc/$$/fd";

my $conf = <<'CONF';
zedstore.io_workers = 1
shared_buffers = 2MB
max_wal_size = 2GB
checkpoint_timeout = 1h
bgwriter_lru_maxpages = 0
autovacuum = off
CONF

# Files of a database that the first worker has open, and those of them that were removed.
sub open_files
{
	my ($node, $oid) = @_;
	my $pid = $node->safe_psql('postgres', 'select pid from pg_stat_zedstore_io limit 1');
	my @files = grep { defined && m{/base/$oid/} } map { readlink } glob "/proc/$pid/fd/*";

	return (scalar @files, scalar grep { / \(deleted\)$/ } @files);
}

# Updates more than shared buffers hold, until the worker of either server has files of the database
# open.
sub open_some
{
	my ($primary, $standby, $oid) = @_;

	for (1 .. 100)
	{
		$primary->safe_psql('d', 'update t set a = a + 1');
		$primary->wait_for_catchup($standby);
		return 1 if (open_files($standby, $oid))[0] > 0;
	}
	return 0;
}

foreach my $method ('pwritev', 'io_uring')
{
	my $primary = new_node("primary_$method", allows_streaming => 1, conf => $conf
		. $io_methods{$method});
	if (!io_method_works($primary, $method))
	{
		$primary->stop;
		next;
	}
	my $standby = standby_of($primary, "standby_$method");
	wait_for_workers($standby);
	$primary->safe_psql('postgres', 'create database d');
	$primary->safe_psql('d', q{
		create table t (a int, b text);
		insert into t select i, repeat('x', 300) from generate_series(1, 20000) i});
	my $oid = $primary->safe_psql('postgres', q{select oid from pg_database where datname = 'd'});

	ok(open_some($primary, $standby, $oid), "$method: the standby's worker has files open");
	$primary->safe_psql('postgres', 'drop database d');
	$primary->wait_for_catchup($standby);

	foreach my $node ($primary, $standby)
	{
		my ($open, $removed);

		for (1 .. 5 * $PostgreSQL::Test::Utils::timeout_default)
		{
			($open, $removed) = open_files($node, $oid);
			last if $open == 0;
			usleep(200_000);
		}
		is($removed, 0, "$method: " . $node->name . ' closes files that were removed');
	}
	$standby->stop;
	$primary->stop;
}

done_testing();
