# pg_upgrade from an older PostgreSQL (17, or 18 to 19): the files are taken over as they are.  A
# standby of the new server follows its changes, and takes its place.
#
# scripts/run-tests names the older server, with the extension built for it, in
# ZS_OLD_INSTALL.
use strict;
use warnings FATAL => 'all';

use ZedstoreTest;
use ZedstoreObjects;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all =>
  'there is no older PostgreSQL to upgrade from: run "scripts/setup-postgres assert --pg 17" once, or set OLD_PG_CONFIG'
  if !defined $ENV{ZS_OLD_INSTALL};

my $conf = <<'CONF';
shared_preload_libraries = 'zedstore_io'
autovacuum = off
search_path = '"$user", public, zedstore'
CONF
my $old = PostgreSQL::Test::Cluster->new('old', install_path => $ENV{ZS_OLD_INSTALL});
$old->init(extra => ['-k']);
$old->append_conf('postgresql.conf', $conf);
$old->start;
$old->safe_psql('postgres', 'create extension zedstore_io');
create_objects($old, 'postgres');

# Transaction ids, multixacts and their states must carry over, too: rows of aborted
# transactions, row locks of several, updates that are newer than the last VACUUM.
$old->safe_psql('postgres', 'vacuum t, types; update types set n = n + 1 where id % 3 = 0');
$old->safe_psql('postgres',
	"begin; insert into t (a) select 70000 + i from generate_series(1, 3000) i; delete from types; rollback");
my @lockers = map { $old->background_psql('postgres') } 1 .. 2;
$_->query_safe("begin; select count(*) from (select from t where a < 50 for share) s") foreach @lockers;
$_->query_safe('commit') foreach @lockers;
$_->quit foreach @lockers;
$old->safe_psql('postgres', 'create database other');
$old->safe_psql('other',
	q{create extension zedstore_io version '0.1.0'; create table o using zedstore as select generate_series(1, 1000) a});

my $rows = object_rows($old, 'postgres');
my $catalog = object_catalog($old, 'postgres');
my $old_version = $old->safe_psql('postgres', 'show server_version_num');
is(zs_problems($old), '', 'zs_check before');
$old->stop;

my $new = PostgreSQL::Test::Cluster->new('new');
$new->init(extra => ['-k']);
$new->append_conf('postgresql.conf', $conf . "wal_level = replica\nmax_wal_senders = 10\n");

# pg_upgrade writes a script to the present folder
chdir ${PostgreSQL::Test::Utils::tmp_check};
my @upgrade = (
	'pg_upgrade', '--no-sync', '-d', $old->data_dir, '-D', $new->data_dir,
	'-b', "$ENV{ZS_OLD_INSTALL}/bin", '-B', $new->config_data('--bindir'),
	'-s', $new->host, '-p', $old->port, '-P', $new->port, '--copy');

# A new server that does not preload the library would stop in the middle: the check says so.
$new->append_conf('postgresql.conf', q{shared_preload_libraries = ''});
command_fails([ @upgrade, '--check' ], 'pg_upgrade --check without the library');
my ($missing) = glob $new->data_dir . '/pg_upgrade_output.d/*/loadable_libraries.txt';
like(slurp_file($missing),
	qr/zedstore_io must be loaded via "shared_preload_libraries"\nHINT:  Add "zedstore_io"/,
	'... which is named, and what to do');
$new->append_conf('postgresql.conf', q{shared_preload_libraries = 'zedstore_io'});
command_ok([ @upgrade, '--check' ], 'pg_upgrade --check');
command_ok([@upgrade], 'pg_upgrade');

$new->start;
note("upgraded from $old_version to " . $new->safe_psql('postgres', 'show server_version_num'));
is(object_rows($new, 'postgres'), $rows, 'same rows');
is(object_catalog($new, 'postgres'), $catalog, 'same definitions');
is($new->safe_psql('other', 'select count(*), sum(a) from o'), '1000|500500', 'another database');
zs_check_all($new, 'postgres', 'zs_check after');
zs_check_all($new, 'other', 'zs_check of the other database');
is($new->safe_psql('postgres', 'select d, e at time zone $$UTC$$ from t where a = 1'),
	'late|2020-02-02 00:00:00', 'defaults of columns added later');
is( $new->safe_psql(
		'postgres',
		"set enable_seqscan = off; select count(*) from t where b = md5('8'); select count(*) from types where j @> '{\"i\": 7}'"
	),
	"1\n1",
	'indexes find rows');

# The extension stays as old as it was in each database, until somebody updates it.
is($new->safe_psql('other', 'select count(*) > 0, min(extversion) from pg_extension, pg_zs_trees($$o$$) where extname = $$zedstore_io$$'),
	't|0.1.0', 'an older version of the extension');
is($new->safe_psql('other',
	'alter extension zedstore_io update; select library = extension from zs_version()'),
	't', 'which is updated');
is($new->safe_psql('postgres', 'select library = extension from zs_version()'), 't',
	'the newest one stays');

# and it goes on living, with a standby
my $standby = standby_of($new, 'standby');
my @logged = qw(t types m p parent child none empty moved referrer);
is(object_rows($standby, 'postgres', @logged), object_rows($new, 'postgres', @logged),
	'same rows on a standby');
$new->safe_psql('postgres', q{
	update t set b = 'after' where a between 1 and 99;
	insert into t select 80000 + i, 'new' from generate_series(1, 5000) i;
	insert into none select from generate_series(1, 3);
	alter table t add column f int default 5, drop column d;
	refresh materialized view m_empty;
	vacuum (freeze) t, types, p;
	vacuum full moved;
	alter table t set (zedstore_rel_extension_factor = 16);
	});
is( $new->safe_psql(
		'postgres', q{select count(*) filter (where b = 'after'), count(*) filter (where b = 'new'), sum(f) = 5 * count(*) from t}),
	'80|5000|t',
	'rows after further changes');
zs_check_all($new, 'postgres', 'zs_check after further changes');
kill_and_restart($new);
zs_check_all($new, 'postgres', 'zs_check after a crash');
$new->wait_for_replay_catchup($standby);
is(object_rows($standby, 'postgres', @logged), object_rows($new, 'postgres', @logged),
	'same rows on the standby after further changes');
zs_check_all($standby, 'postgres', 'zs_check on the standby');
$new->stop;
$standby->promote;
$standby->safe_psql('postgres', q{
	update t set b = 'promoted' where a between 100 and 199;
	vacuum (freeze) t});
is($standby->safe_psql('postgres', q{select count(*) > 0 from t where b = 'promoted'}), 't',
	'the standby takes its place');
zs_check_all($standby, 'postgres', 'zs_check of the promoted standby');
$standby->stop;
command_ok([ 'pg_checksums', '--check', '-D', $new->data_dir ],
	'checksums of the upgraded cluster');

done_testing();
