# A writer that has a leaf locked and looks for its parent is sent, by a stale pointer, to the
# leaf on the left, which VACUUM has locked while it waits for the writer's.  VACUUM moves pages, so
# a block can be another page by the time that it is locked; nobody notices a deadlock of content
# locks.  And a writer that never finds the parent's lock free.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

my $tmp = PostgreSQL::Test::Utils::tempdir_short();
my $node = new_node('main', conf => <<'CONF');
autovacuum = off
zedstore.min_segment_rows = 64
CONF

plan skip_all => 'needs injection points with arguments'
  if !has_injection_points($node) || $node->pg_version < 18;
plan skip_all => 'needs a compiler' if !build_c($tmp, 'stale_pointer.so');

sub value
{
	my ($sql) = @_;
	return $node->safe_psql('postgres', $sql);
}

# TID of a row number.
sub tid
{
	my ($row) = @_;
	return sprintf("'(%d,%d)'", $row >> 8, ($row & 255) + 1);
}

# The session waits for that.
sub wait_for_wait
{
	my ($pid, $event) = @_;
	wait_for_sql($node, "select wait_event = '$event' from pg_stat_activity where pid = $pid");
	return;
}

# Leaves of the TID tree: every second row is gone, so there are several, all of them frozen.
value($_) for (
	"create extension injection_points; create extension amcheck;
	create function stale_pointer_attach(text, text, int, int, int) returns void as '$tmp/stale_pointer' language c;
	create function always_busy_attach(text, text, int) returns void
		as '$tmp/stale_pointer' language c",
	q{create table t (a int primary key, b text) using zedstore;
	insert into t select i, md5(i::text) from generate_series(1, 120000) i},
	'delete from t where a % 2 = 0',
	'vacuum freeze t', 'vacuum freeze t');
my @leaves = map { [ split /\|/ ] } split /\n/, value(q{
	select blkno, lokey, hikey from pg_zs_btree_pages('t') where attno = 0 and level = 0 order by lokey});
cmp_ok(scalar @leaves, '>', 4, 'there are enough leaves');

# The first two leaves lose their rows, so VACUUM merges them, and stops before it looks whether the
# third one fits, too.
value('delete from t where ctid < ' . tid($leaves[1][2]));
my $left = value('select count(*) from t');
my $vacuum = $node->background_psql('postgres');
my $vacuum_pid = $vacuum->query_safe(q{
	select injection_points_set_local();
	select injection_points_attach('zs-btree-merge', 'wait');
	select pg_backend_pid()}) =~ s/\D//gr;
$vacuum->query_until(qr/started/, "\\echo started\nvacuum t;\n\\echo done\n");
wait_for_wait($vacuum_pid, 'zs-btree-merge');

# A writer clears the mark of the third leaf in its parent, with the leaf locked.
my $row = value('select min(a) from t where ctid > ' . tid($leaves[2][1] + 500));
my $writer = $node->background_psql('postgres');
my $writer_pid = $writer->query_safe('select pg_backend_pid()');
my $library = '../' x 20 . substr("$tmp/stale_pointer", 1);
value("select stale_pointer_attach('zs-btree-from-below', '$library', $writer_pid, $vacuum_pid, $leaves[0][0])");
$writer->query_until(qr/started/, "\\echo started\ndelete from t where a = $row;\n\\echo done\n");
wait_for_wait($writer_pid, 'Extension');
value(q{
	select injection_points_detach('zs-btree-merge');
	select injection_points_wakeup('zs-btree-merge')});

# The writer goes on when VACUUM waits for its leaf.
wait_for_sql($node, qq{
	select count(*) = 2 from pg_stat_activity where pid in ($vacuum_pid, $writer_pid) and state = 'idle'});
pass('neither waits for the other');
$_->query_safe('select 1') for $writer, $vacuum;
$_->quit for $writer, $vacuum;
is(value("select count(*) from t where a = $row"), '0', 'the row is gone');
is(value('select count(*) from t'), $left - 1, 'the others are there');
is(value("select bt_index_check('t_pkey', true)"), '', 'index');

# Tries are in vain, as if readers had the parent all the time: the writer waits for it in the end.
# Splits of leaves and of inner pages, marks in downlinks, beside VACUUM, which is in the same
# situation.
for my $title ('a writer', 'VACUUM')
{
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	my $pid = $session->query_safe('select pg_backend_pid()');
	my $statement =
	  $title eq 'VACUUM' ? 'vacuum (freeze) t' : q{
		delete from t where a % 10 = 1;
		insert into t select 200000 + i, repeat('x', 900) from generate_series(1, 1000) i};

	value("select always_busy_attach('zs-btree-busy', '$library', $pid)");
	$session->query_until(qr/started/, "\\echo started\n$statement;\n\\echo done\n");
	wait_for_sql($node, "select state = 'idle' from pg_stat_activity where pid = $pid");
	pass("$title comes to an end");
	value("select injection_points_detach('zs-btree-busy')");
	$session->query_safe('select 1');
	$session->quit;
	is(value("select count(*) from t where a % 10 = 1 and a <= 120000"), '0', 'rows are gone');
	is(value('select count(*) from t where a > 200000'), '1000', '... and others are there');
	is(value("select bt_index_check('t_pkey', true)"), '', '... in the index, too');
}
is( value(q{select count(*) from pg_locks where locktype = 'page'}),
	'0', 'no lock is left');
zs_check_all($node);
$node->stop;
done_testing();
