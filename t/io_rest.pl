# The cleaner rests while clients hardly wait for I/O, and pg_stat_zedstore_io tells.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreIo;
use ZedstoreTest;

my $node = new_node('main', conf => <<'CONF');
zedstore.io_workers = 1
checkpoint_timeout = 1h
autovacuum = off
CONF

sub rests
{
	my ($columns) = @_;
	return $node->safe_psql('postgres',
		"select $columns from pg_stat_zedstore_io where role = 'cleaner'");
}

wait_for_sql($node, 'select count(*) = 3 from pg_stat_zedstore_io');
is(rests('rests, rest_time, resting'), '0|0|f', 'no rest before it knows enough');
is($node->safe_psql('postgres', q{
	select count(rests) + count(rest_time) + count(resting) from pg_stat_zedstore_io
	where role <> 'cleaner'}), '0', 'no other role rests');

wait_for_sql($node, q{select bool_or(resting) from pg_stat_zedstore_io});
is(rests('rests'), '1', 'the first rest is counted');
my $time = rests('rest_time');
wait_for_sql($node, "select bool_or(rest_time > $time) from pg_stat_zedstore_io");
pass('its time passes');

# -- what ends it
my $n = 1;
foreach my $setting ('io_rest', 'io_cleaner', 'io_guard')
{
	set_io_conf($node, "zedstore.$setting", 'off');
	wait_for_sql($node, 'select bool_and(not resting) from pg_stat_zedstore_io');
	is(rests('rests'), $n, "$setting: the rest is over");
	$time = rests('rest_time');
	$node->safe_psql('postgres', 'select pg_sleep(0.1)');
	is(rests('rest_time'), $time, "$setting: its time does not pass");
	set_io_conf($node, "zedstore.$setting", 'on');
	wait_for_sql($node, 'select bool_or(resting) from pg_stat_zedstore_io');
	is(rests('rests'), ++$n, "$setting: the next one is counted");
	cmp_ok(rests('rest_time'), '>=', $time, "$setting: times are added up");
}
set_io_conf($node, 'zedstore.io_workers', '0');
wait_for_sql($node, 'select bool_and(not resting) from pg_stat_zedstore_io');
is(rests('rests'), $n, 'no rest without workers');
$node->stop;

done_testing();
