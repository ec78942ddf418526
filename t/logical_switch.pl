# Logical decoding that is switched on and off while the server runs, as PostgreSQL 19 does when
# the first slot is made and the last one goes, with wal_level = replica: changes of a zedstore
# table, of its key too, are decoded as those of its twin in heap, whatever sessions were doing
# meanwhile.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

my $node = new_node('main', conf => "wal_level = replica\nmax_replication_slots = 4\n");
if ($node->safe_psql('postgres', 'show server_version_num') < 190000)
{
	$node->stop;
	plan skip_all => 'decoding is switched on while running since PostgreSQL 19';
}
my @twins = ('h', 'z');

foreach my $t (@twins)
{
	my $am = $t eq 'h' ? 'heap' : 'zedstore';

	$node->safe_psql('postgres', qq{
		create table $t (id int primary key, a int, b text) using $am;
		insert into $t select i, i, md5(i::text) from generate_series(1, 20) i;
		create table full_$t (id int, a int) using $am;
		alter table full_$t replica identity full;
		insert into full_$t select i, i from generate_series(1, 20) i});
}

# One statement on both twins, @ being the name.
sub on_twins
{
	my ($session, $sql) = @_;
	$session->query_safe($sql =~ s/\@/$_/gr) for @twins;
	return;
}

sub change_all
{
	my ($session, $id) = @_;
	on_twins($session, "update \@ set id = id + 1000 where id = $id");
	on_twins($session, "update \@ set a = a + 1 where id = $id + 1");
	on_twins($session, "delete from \@ where id = $id + 2");
	on_twins($session, "insert into \@ values ($id + 5000, 1, 'new')");
	on_twins($session, "update full_\@ set a = 0 where id = $id");
	on_twins($session, "delete from full_\@ where id = $id + 1");
	return;
}

sub changes_are_alike
{
	my ($title) = @_;
	my @lines = split /\n/, $node->safe_psql('postgres',
		q{select data from pg_logical_slot_get_changes('s', null, null, 'skip-empty-xacts', '1')
			where data like 'table%'});
	my @heap = map { s/^table public\.(\w*)h:/$1t:/r } grep { /^table public\.\w*h:/ } @lines;
	my @ours = map { s/^table public\.(\w*)z:/$1t:/r } grep { /^table public\.\w*z:/ } @lines;

	cmp_ok(scalar @heap, '>', 0, "$title: there are changes");
	is(join("\n", @ours), join("\n", @heap), "$title: those of the twin in heap");
	return;
}

# a transaction without an id is open while decoding is switched on, and one with an id ends first
my $idle = $node->background_psql('postgres');
my $busy = $node->background_psql('postgres');
$idle->query_safe('begin isolation level repeatable read; select count(*) from z, h');
$busy->query_safe('begin');
change_all($busy, 14);
my $creator = $node->background_psql('postgres');
$creator->query_until(qr/asked/,
	"\\echo asked\nselect 1 from pg_create_logical_replication_slot('s', 'test_decoding');\n");
$busy->query_safe('commit');
$creator->quit;
change_all($idle, 1);
$idle->query_safe('commit');
is($node->safe_psql('postgres', 'show effective_wal_level'), 'logical', 'it is switched on');
changes_are_alike('a transaction that was open');
change_all($idle, 4);
changes_are_alike('with decoding');

# off, and on again
$idle->query_safe('begin; select count(*) from z');
$node->safe_psql('postgres', q{select pg_drop_replication_slot('s')});
ok($node->poll_query_until('postgres',
		q{select current_setting('effective_wal_level') = 'replica'}),
	'it is switched off');
change_all($idle, 7);
$idle->query_safe('commit');
$idle->query_safe('begin; select count(*) from z');
$node->safe_psql('postgres',
	q{select 1 from pg_create_logical_replication_slot('s', 'test_decoding')});
change_all($idle, 10);
$idle->query_safe('commit');
changes_are_alike('switched on again');
$_->quit for $idle, $busy;

is($node->safe_psql('postgres', q{
	select count(*) from ((table h except table z) union all (table z except table h)) d}),
	'0', 'tables are equal');
zs_check_all($node, 'postgres');
$node->stop;

done_testing();
