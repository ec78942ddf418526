# pg_rewind copies the blocks that the WAL of the old primary names since the servers parted.
# VACUUM of the old primary cuts blocks off its file that are in use on the new one, and the file
# grows again by blocks that nobody writes to: they have to be copied.
use strict;
use warnings FATAL => 'all';

use ZedstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $conf = <<'CONF';
wal_keep_size = 1GB
max_wal_size = 2GB
autovacuum = off
CONF
my $old = new_node('old', allows_streaming => 1, conf => $conf);

$old->safe_psql('postgres', q{
	create table t_h (a int, b text) using heap;
	create table t_z (a int, b text) using zedstore with (zedstore_rel_extension_factor = 400);
	insert into t_h select i, md5(i::text) || md5((-i)::text) from generate_series(1, 600000) i;
	insert into t_z select * from t_h;
	create table single_z (a int, b text) using zedstore;
	insert into single_z select i, md5(i::text) from generate_series(1, 60000) i;
	checkpoint;
});
$old->safe_psql('postgres', 'vacuum');
my $new = standby_of($old, 'new');
$old->wait_for_catchup($new);

# both are primaries now
$new->promote;
$new->safe_psql('postgres', 'checkpoint');
my $length = 'select pg_relation_size(\'t_z\')';
my $before = $old->safe_psql('postgres', $length);
$old->safe_psql('postgres', $_) for
	'delete from t_h where a > 100000; delete from t_z where a > 100000; delete from single_z where a > 500',
	'vacuum', 'vacuum';
cmp_ok($old->safe_psql('postgres', $length), '<', $before / 2, 'the old primary cuts its file off');
$old->safe_psql('postgres', q{
	insert into t_h select i, md5(i::text) from generate_series(1, 3000) i;
	insert into t_z select i, md5(i::text) from generate_series(1, 3000) i;
	do $$ begin for i in 1 .. 3000 loop insert into single_z values (i, md5(i::text)); end loop; end $$;
});
$new->safe_psql('postgres', q{
	update t_h set b = b || 'new' where a % 100 = 0;
	update t_z set b = b || 'new' where a % 100 = 0;
});

# the old one follows the new one
$old->stop;
my $settings = slurp_file($old->data_dir . '/postgresql.conf');
command_ok(
	[ 'pg_rewind', '--no-sync', '--source-server', $new->connstr('postgres'), '--target-pgdata',
		$old->data_dir ],
	'pg_rewind');
unlink $old->data_dir . '/postgresql.conf';
append_to_file($old->data_dir . '/postgresql.conf', $settings);
$old->enable_streaming($new);
$old->set_standby_mode;
$old->start;
$new->wait_for_catchup($old);
for my $table ('t_h', 't_z', 'single_z')
{
	my $sum = "select count(*), sum(a), sum(length(b)), md5(string_agg(b, '' order by a)) from $table";

	is($old->safe_psql('postgres', $sum), $new->safe_psql('postgres', $sum),
		"$table: the same on both servers");
}
is($new->safe_psql('postgres', 'select count(*) from (table t_h except table t_z) d'), '0',
	'as on heap');
zs_check_all($old);
zs_check_all($new);
done_testing();
