# Logical replication of zedstore tables between an older PostgreSQL and this one, both ways: what
# an upgrade without a pause goes by.
#
# scripts/run-tests names the older server, with the extension built for it, in ZS_OLD_INSTALL.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

plan skip_all => 'there is no older PostgreSQL: see t/upgrade_server.pl'
  if !defined $ENV{ZS_OLD_INSTALL};

my %nodes;
for my $name ('old', 'new')
{
	my $node = PostgreSQL::Test::Cluster->new($name,
		$name eq 'old' ? (install_path => $ENV{ZS_OLD_INSTALL}) : ());

	# what allows_streaming adds is for the new server
	$node->init(extra => ['-k']);
	$node->append_conf('postgresql.conf', <<'CONF');
shared_preload_libraries = 'zedstore_io'
wal_level = logical
max_wal_senders = 10
max_prepared_transactions = 10
logical_decoding_work_mem = 64kB
wal_retrieve_retry_interval = 1ms
CONF
	$node->start;
	$node->safe_psql('postgres', 'create extension zedstore_io schema public');
	$nodes{$name} = $node;
}

# The rows of a table on a node.
sub contents
{
	my ($node, $table) = @_;
	return $node->safe_psql('postgres',
		"select count(*), md5(string_agg(t::text, '|' order by t::text))
		from $table t");
}

for my $way ([ 'old', 'new' ], [ 'new', 'old' ])
{
	my ($from, $to) = map { $nodes{$_} } @$way;
	my $table = "from_$way->[0]";

	$_->safe_psql('postgres',
		"create table $table (a int primary key, b text, c numeric, d int[]) using zedstore")
	  for ($from, $to);
	$from->safe_psql('postgres', qq{
		insert into $table
			select i, 'row ' || i, i / 7.0, array[i, -i] from generate_series(1, 20000) i;
		update $table set b = repeat(md5(b), 400) where a % 5000 = 0;
		create publication p_$table for table $table;
	});
	$to->safe_psql('postgres', "create subscription s_$table connection '"
		. $from->connstr . " dbname=postgres' publication p_$table");
	$to->wait_for_subscription_sync($from, "s_$table");
	is(contents($to, $table), contents($from, $table), "$table: the first copy");

	$from->safe_psql('postgres', qq{
		insert into $table select i, 'later ' || i, null, null from generate_series(20001, 30000) i;
		update $table set c = c + 1 where a % 11 = 0;
		update $table set a = -a where a % 1000 = 1;
		delete from $table where a % 13 = 0;
		begin; insert into $table values (0, 'zero'); savepoint s; delete from $table where a > 0;
		rollback to s; update $table set b = b || '!' where a between 1 and 300; commit;
	});
	$from->wait_for_catchup("s_$table");
	is(contents($to, $table), contents($from, $table), "$table: changes");
}
zs_check_all($nodes{$_}, 'postgres', "$_: zs_check") for ('old', 'new');

done_testing();
