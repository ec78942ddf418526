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
ok(!$node->log_contains('terminated by signal', $log_start), 'pages of pg_tablespace without hint bits');

is(volume('setting, profile, write_iops', 'pg_default'), 'none|none|', 'no limits');

set_to('io_profile', 'gp3');
is(volume('setting, profile, read_iops, write_iops, write_bandwidth, counted_kb, request_kb', 'slow'),
	'gp3|gp3|3000|3000|125|256|256', 'limits of a profile');

# -- single tablespaces
set_to('io_tablespace_profiles', 'slow=sc1, "Two Words" = azure-premium-p20, not there = ssd');
is(volume('setting, profile, write_iops, request_kb', 'slow'), 'sc1|sc1|250|1024', 'its own profile');
is(volume('profile, write_iops', 'Two Words'), 'azure-premium-p20|2300', 'a name in quotes');
is(volume('profile', 'pg_default'), 'gp3', 'the others keep the general one');

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
wait_for_sql($node, "select count(*) = 1 from pg_stat_activity where backend_type = 'zedstore I/O worker'");
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
is($node->safe_psql('postgres', 'select count(*) from fast join slow using (a, b)'), '7000', 'rows');

$node->safe_psql('postgres', 'drop table slow; drop table fast');
$node->safe_psql('postgres', "drop tablespace slow");
$node->safe_psql('postgres', 'checkpoint');
is($node->safe_psql('postgres', "select count(*) from zs_io_volumes() where tablespace = 'slow'"), '0',
	'a tablespace that is gone');
$node->stop;
done_testing();
