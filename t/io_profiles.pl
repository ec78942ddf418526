# Storage profiles of tablespaces: which one holds, and that I/O workers keep to it.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);
use ZedstoreIo;
use ZedstoreTest;

my $node = new_node('main', conf => <<'CONF');
zedstore.io_workers = 1
zedstore.io_profile = none
# its pauses would be taken for those of the limits
zedstore.io_guard = off
shared_buffers = 64MB
checkpoint_timeout = 1h
max_wal_size = 2GB
allow_in_place_tablespaces = on
wal_log_hints = on
CONF

# One column of zs_io_volumes() for a tablespace, once the setting holds.
sub volume
{
	my ($column, $tablespace) = @_;
	return $node->safe_psql('postgres',
		"select $column from zs_io_volumes() where tablespace = '$tablespace'");
}

sub set_to
{
	my ($name, $value) = @_;
	$node->append_conf('postgresql.conf', "zedstore.$name = '$value'\n");
	$node->reload;
	wait_for_sql($node, "select current_setting('zedstore.$name') = '$value'");
	return;
}

$node->safe_psql('postgres', "create tablespace slow location ''");
$node->safe_psql('postgres', "create tablespace \"Two Words\" location ''");

# the worker reads clean pages of pg_tablespace without hint bits, with its gate armed
$node->safe_psql('postgres', 'checkpoint');
wait_for_gate($node);
my $log_start = -s $node->logfile;
set_to('io_tablespace_profiles', '"Two Words" = st1');
usleep(500_000);
ok(!$node->log_contains('terminated by signal', $log_start),
	'pages of pg_tablespace without hint bits');

is(volume('setting, profile, write_iops', 'pg_default'), 'none|none|', 'no limits');

# -- the memory that our group may use, as /proc and /sys have it
sub memory_limit
{
	my @groups = (['/sys/fs/cgroup', qr/^0::/, 'memory.max'],
		['/sys/fs/cgroup/memory', qr/^\d+:(?:[^:]*,)?memory[,:]/, 'memory.limit_in_bytes']);
	my ($root, $line, $name) = @{ $groups[-e '/sys/fs/cgroup/cgroup.controllers' ? 0 : 1] };
	my ($group) = map { (split /:/, $_, 3)[2] }
	  grep { $_ =~ $line } split /\n/, slurp_file('/proc/self/cgroup');
	my $least;

	return 'unknown' if !defined $group || !-d "$root$group";
	for (my $dir = $group;; $dir =~ s{/[^/]*$}{})
	{
		my $limit = -r "$root$dir/$name" ? slurp_file("$root$dir/$name") : 'max';
		$least = $limit + 0
		  if $limit =~ /^\d+/ && $limit < 2**60 && (!defined $least || $limit < $least);
		last if $dir eq '' || $dir eq '/';
	}
	return defined $least ? int($least / 1024 / 1024) . ' MB' : 'none';
}

SKIP:
{
	skip 'NOTICE: no cgroups where they usually are: memory limits are not tested', 1
	  if !-e '/sys/fs/cgroup/cgroup.controllers' && !-d '/sys/fs/cgroup/memory';
	is($node->safe_psql('postgres',
			"select setting from zs_io_report() where item = 'memory limit'"),
		memory_limit(), 'memory limit');
}

set_to('io_profile', 'gp3');
is(volume('setting, profile, read_iops, write_iops, write_bandwidth, counted_kb, request_kb',
	'slow'),
	'gp3|gp3|3000|3000|125|256|256', 'limits of a profile');

# -- single tablespaces
set_to('io_tablespace_profiles', 'slow=sc1, "Two Words" = azure-premium-p20, not there = ssd');
is(volume('setting, profile, write_iops, request_kb', 'slow'), 'sc1|sc1|250|1024',
	'its own profile');
is(volume('profile, write_iops', 'Two Words'), 'azure-premium-p20|2300', 'a name in quotes');
is(volume('profile', 'pg_default'), 'gp3', 'the others keep the general one');

# -- zs_io_report() knows what the volumes are best with
sub advice
{
	my ($item, $setting) = @_;
	my $set = defined $setting ? "set $item = $setting;" : '';
	return $node->safe_psql('postgres',
		"$set select coalesce(advice, 'none') from zs_io_report() where item = '$item'");
}

my $queue = volume('queue_depth', 'pg_default');
my $deeper = "Set it to $queue, the queue that the volume is best with.";
is($queue, '32', 'queue of the profile');
is(advice('effective_io_concurrency', $queue - 1), $deeper, 'too few reads in flight');
is(advice('effective_io_concurrency', $queue), 'none', 'enough of them');
is(advice('maintenance_io_concurrency', 1), $deeper, 'too few for maintenance');
is(advice('io_combine_limit', "'64kB'"),
	'Set it to 1024 kB, which the volume counts as one request.',
	'the largest request that one of the volumes is best with');
is(advice('random_page_cost', 4), 'none', 'disks that turn are among them');
set_to('io_tablespace_profiles', '');
is(advice('random_page_cost', 4), 'Set it to 1.1 to 2.', 'no disks that turn');
is(advice('random_page_cost', 2), 'none', 'a cost for such disks');
is(advice('io_combine_limit', "'64kB'"),
	'Set it to 256 kB, which the volume counts as one request.', 'requests of that profile');
set_to('io_profile', 'sc1');
is(advice('random_page_cost', 4), 'none', 'disks that turn');
set_to('io_profile', 'none');
is(advice('effective_io_concurrency', 1), 'none', 'a volume that nothing is known of');
is(advice('random_page_cost', 4), 'none', 'nor its cost');
set_to('io_tablespace_profiles', 'slow=sc1, "Two Words" = azure-premium-p20');
set_to('io_profile', 'gp3');

# -- settings of their own win
set_to('io_max_iops', '77');
is(volume('read_iops, write_iops, write_bandwidth', 'pg_default'), '77|77|125', 'io_max_iops');
set_to('io_max_iops', '0');
is(volume('write_iops', 'slow'), '', 'no limit');
set_to('io_max_iops', '-1');
set_to('io_max_bandwidth', '2MB');
is(volume('write_bandwidth', 'slow'), '2', 'io_max_bandwidth');
set_to('io_max_bandwidth', '-1');
set_to('io_request_size', '64kB');
set_to('io_queue_depth', '3');
is(volume('request_kb, queue_depth', 'slow'), '64|3', 'io_request_size, io_queue_depth');
set_to('io_request_size', '-1');
set_to('io_queue_depth', '-1');

# -- by the device's size
set_to('io_profile', 'gp2');
is(volume('write_iops = least(greatest(100, 3 * gib), 16000)', 'pg_default'), 't', 'per GiB');
set_to('io_profile', 'azure-premium');
is(volume("profile ~ '^azure-premium-p[0-9]+\$'", 'pg_default'), 't', 'a tier');

# -- names follow a rename
$node->safe_psql('postgres', 'alter tablespace slow rename to other');
is(volume('profile', 'other') =~ /^azure-premium/, 1, 'another name, another profile');
$node->safe_psql('postgres', 'alter tablespace other rename to slow');

# -- the worker keeps to the profile of the tablespace, and to that alone: sc1 has a
# few MB a second, and pages of 8 MB to be written
set_to('io_profile', 'none');
$node->restart;
wait_for_sql($node, "select count(*) = 1 from pg_stat_activity
	where backend_type = 'zedstore I/O worker'");
$node->safe_psql('postgres', 'checkpoint');
my $fill = "insert into %s select i, repeat('x', 1000) from generate_series(1, 7000) i";
my $paced = q{select sum(pace_time) from pg_stat_zedstore_io};
my $written = q{select sum(blocks) from pg_stat_zedstore_io};

$node->safe_psql('postgres', 'create table fast (a int, b text)');
$node->safe_psql('postgres', sprintf($fill, 'fast'));
my $before = $node->safe_psql('postgres', $paced);
my $blocks = $node->safe_psql('postgres', $written);
wait_for_gate($node);
$node->safe_psql('postgres', 'checkpoint');
is($node->safe_psql('postgres', $paced), $before, 'a tablespace without limits');
cmp_ok($node->safe_psql('postgres', $written), '>', $blocks + 500, 'the worker wrote it');

$node->safe_psql('postgres', 'create table slow (a int, b text) tablespace slow');
$node->safe_psql('postgres', sprintf($fill, 'slow'));
$blocks = $node->safe_psql('postgres', $written);
wait_for_gate($node);
$node->safe_psql('postgres', 'checkpoint');
cmp_ok($node->safe_psql('postgres', $paced), '>', $before, 'a tablespace with limits');
cmp_ok($node->safe_psql('postgres', $written), '>', $blocks + 500, 'the worker wrote it too');
is($node->safe_psql('postgres', 'select count(*) from fast join slow using (a, b)'), '7000',
	'rows');

$node->safe_psql('postgres', 'drop table slow; drop table fast');
$node->safe_psql('postgres', "drop tablespace slow");
$node->safe_psql('postgres', 'checkpoint');
is($node->safe_psql('postgres', "select count(*) from zs_io_volumes() where tablespace = 'slow'"),
	'0',
	'a tablespace that is gone');
$node->stop;
done_testing();
