# A page that this process has begun to read, as read streams do, and not ended: who asks for its
# buffer by the number that it had gets no pin, and none is lost.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

my $tmp = PostgreSQL::Test::Utils::tempdir();
plan skip_all => 'needs a compiler' if !build_c($tmp, 'recent_buffer.so');

my $node = new_node('main', conf => "autovacuum = off\n");
# then a read is begun and ended by one process, the second in WaitReadBuffers()
$node->append_conf('postgresql.conf', 'io_method = sync') if $node->pg_version >= 18;
$node->restart;
$node->safe_psql('postgres', qq{
	create function recent_buffer_pins(regclass) returns text strict language c
		as '$tmp/recent_buffer', 'recent_buffer_pins';
	create table h as select i from generate_series(1, 100) i;
	checkpoint});
# no buffer has it
$node->restart;

my ($ret, $stdout, $stderr) = $node->psql('postgres', q{select recent_buffer_pins('h')});
is($stdout, 'while it is read: no, then: pinned, pins left: 0', 'pins of a page that is read');
is("$ret$stderr", '0', 'nothing to warn of');

# nobody holds it
$node->safe_psql('postgres', 'truncate h');
$node->stop;

done_testing();
