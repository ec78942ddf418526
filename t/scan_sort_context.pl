# A sort copies rows straight into a memory context in which nothing can be freed.  Columns are
# decoded then, and pages read for that; core allocates and frees while it evicts others when many
# requests to sync files wait for the checkpointer.  So the checkpointer stands still here until
# these are too many.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

my $node = new_node('main', conf => <<'CONF');
shared_buffers = 1MB
work_mem = 64MB
autovacuum = off
bgwriter_lru_maxpages = 0
checkpoint_timeout = 1h
zedstore.io_workers = 0
max_parallel_workers_per_gather = 0
CONF
$node->safe_psql(
	'postgres', q{
	create table z (id int, p text, q text) using zedstore;
	insert into z select i, md5(i::text), md5((i + 1)::text) from generate_series(1, 50000) i;
	create table h (i int, p text) with (fillfactor = 10);
	insert into h select i, repeat('x', 500) from generate_series(1, 2000) i;
	checkpoint});

my $checkpointer = $node->safe_psql('postgres',
	q{select pid from pg_stat_activity where backend_type = 'checkpointer'});
kill 'STOP', $checkpointer;

# The updates fill the queue of requests, which has as many places as there are buffers.
my ($ret, $stdout, $stderr) = eval {
	$node->psql('postgres', q{
		update h set i = i + 1;
		update h set i = i + 1;
		create temp table ids as select id from (select * from z order by p) s;
		update h set i = i + 1;
		select count(*), sum(id) from (select * from z order by q, p offset 0) s});
};
kill 'CONT', $checkpointer;
is($stderr, '', 'no error');
is($stdout, '50000|1250025000', 'all rows are sorted');
zs_check_all($node, 'postgres');

done_testing();
