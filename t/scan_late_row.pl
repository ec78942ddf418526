# ANALYZE judges rows as they are when it comes to them.  Those whose transaction ends after ANALYZE
# has copied the rows around them do not count, nor do row numbers that the transaction gave back.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

my $node = new_node('main', conf => <<'CONF');
autovacuum = off
CONF

plan skip_all => 'needs injection points' if !has_injection_points($node);

$node->safe_psql('postgres', q{
	create extension injection_points;
	create table t (a int primary key, b text, big text) using zedstore;
	insert into t select i, 'text ' || i, repeat('x', 3000) from generate_series(1, 10) i});

# with a column of large values, and one that the first rows do not have
foreach my $round (1, 2)
{
	my $writer = $node->background_psql('postgres');
	my $analyze = $node->background_psql('postgres');
	my $from = $node->safe_psql('postgres', 'select max(a) + 1 from t');

	$writer->query_safe('begin');
	$writer->query_safe("insert into t (a, b, big)
		select $from + i, 'late', repeat(chr(65 + i), 9000) from generate_series(0, 9) i");
	$analyze->query_safe(q{
		select injection_points_set_local();
		select injection_points_attach('zs-source-batch', 'wait')});
	$analyze->query_until(qr/started/, "\\echo started\nanalyze t;\n\\echo ended\n");
	wait_for_sql($node, q{select count(*) > 0 from pg_stat_activity
		where wait_event = 'zs-source-batch'});
	$writer->query_safe('commit');
	$node->safe_psql('postgres', q{select injection_points_wakeup('zs-source-batch')});
	$analyze->query_until(qr/ended/, "\n");
	unlike($analyze->{stderr}, qr/ERROR/, "ANALYZE while rows arrive, round $round");
	is( $node->safe_psql('postgres', q{select reltuples from pg_class where relname = 't'}),
		$from - 1, "they do not count, round $round");
	$analyze->{stderr} = '';
	$writer->quit;
	$analyze->quit;
	$node->safe_psql('postgres', 'alter table t add column if not exists later int');
}
is($node->safe_psql('postgres', q{select count(*) from zs_check('t')}), '0', 'zs_check');

done_testing();
