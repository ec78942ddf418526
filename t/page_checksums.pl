# Data checksums that are switched off and on while the server runs, as PostgreSQL 19 can: each
# block of a file gets one, whether the file has more blocks than the range of TIDs or fewer.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

my $node = new_node('main');
if ($node->safe_psql('postgres', 'show server_version_num') < 190000)
{
	$node->stop;
	plan skip_all => 'checksums are switched on while running since PostgreSQL 19';
}

# Waits until data_checksums is as wanted.
sub wait_for_checksums
{
	my ($state) = @_;
	ok($node->poll_query_until('postgres', "select current_setting('data_checksums') = '$state'"),
		"checksums are $state");
	return;
}

my $wide = q{select i as a,
		(select string_agg(md5((i * j)::text), '') from generate_series(1, 40) j) as b
	from generate_series(1, 2000) i};
my $thin = 'select i as a from generate_series(1, 100000) i';
my $sums = q{select (select sum(a) || md5(string_agg(b, '' order by a)) from wide),
	(select sum(a) from thin), (select sum(a) from late)};

$node->safe_psql('postgres', "create table wide using zedstore as $wide");
$node->safe_psql('postgres', "create table thin using zedstore as $thin");
$node->safe_psql('postgres', "create unlogged table late (a int) using zedstore");
$node->safe_psql('postgres', 'select pg_disable_data_checksums()');
wait_for_checksums('off');

# written without
$node->safe_psql('postgres', q{
	update wide set a = a + 1 where a % 10 = 0;
	delete from thin where a % 3 = 0;
	insert into late select i from generate_series(1, 5000) i;
	vacuum wide, thin;
	checkpoint});
my $before = $node->safe_psql('postgres', $sums);

my $log = -s $node->logfile;
$node->safe_psql('postgres', 'select pg_enable_data_checksums()');
wait_for_checksums('on');
unlike(slurp_file($node->logfile, $log), qr/ERROR/, 'no error');
$node->restart;
is($node->safe_psql('postgres', $sums), $before, 'all rows can be read');
zs_check_all($node);
$node->stop;
command_ok([ 'pg_checksums', '--check', '--pgdata', $node->data_dir ],
	'each block has its checksum');

done_testing();
