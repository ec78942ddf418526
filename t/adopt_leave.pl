# Leaving: the commands of docs/adopt-leave.md, as they stand there, on a server that has every kind
# of object, transactions that write all the time until it is stopped, and a standby; and one that
# does not load the library.

use strict;
use warnings FATAL => 'all';

use File::Basename;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreObjects;
use ZedstoreTest;

# Which table has which rows, by name.
sub sorted_rows
{
	my ($node) = @_;

	return join("\n", sort split /\n/, object_rows($node, 'postgres'));
}

my $old = new_node('old', allows_streaming => 1);
my $new = PostgreSQL::Test::Cluster->new('new');

create_objects($old, 'postgres');
$old->safe_psql('postgres', q{
	create table with_options (a int primary key, b text, "c d" int) using zedstore with
		(zedstore_compression = zstd, fillfactor = 70, zedstore_sort_key = '"c d" desc, a');
	create table only_ours (a int primary key) using zedstore
		with (zedstore_rel_extension_factor = 64);
	insert into with_options select i, 'WITH (zedstore_compression=zstd)', i
		from generate_series(1, 2000) i;
	insert into only_ours select i from generate_series(1, 2000) i;
	create function body() returns text language sql as $$ select 'WITH (zedstore_x=1)' $$;
	create table deferred (a int primary key deferrable) using zedstore;
	insert into deferred select i from generate_series(1, 2000) i;
	create table load (id int primary key, v int) using zedstore;
	insert into load select i, 10 from generate_series(1, 5000) i;
});
my $rows = sorted_rows($old);
my $load_query = 'select count(*), sum(v), count(distinct id) from load';
my $load_sum = '5000|50000|5000';
my $standby = standby_of($old, 'standby');
$new->init;
$new->start;

# The page's commands, by heading.
my (%commands, $heading, $inside);
for my $line (split /\n/, slurp_file(dirname(dirname(__FILE__)) . '/docs/adopt-leave.md'))
{
	if ($line =~ /^```(sh)?/)
	{
		$inside = $1;
		push @{ $commands{$heading} }, '' if $inside;
	}
	elsif ($inside)
	{
		$commands{$heading}[-1] .= "$line\n";
	}
	$heading = $1 if !$inside && $line =~ /^## (.*)/;
}
is_deeply([ map { scalar @{ $commands{$_} } } sort keys %commands ],
	[ 2, 3 ], 'commands are there');

# Runs a block as a user's shell would; its output.
sub run_block
{
	my ($heading, $n, $dbname) = @_;
	my $file = $old->basedir . '/block.sh';

	local $ENV{OLD} = $old->connstr($dbname // 'postgres');
	local $ENV{NEW} = $new->connstr('postgres');
	local $ENV{PGDATA} = $old->data_dir;
	unlink $file;
	append_to_file($file, "set -e\ncd '" . $old->basedir . "'\n$commands{$heading}[$n]");
	my ($out, $err) = ('', '');
	my $ok = IPC::Run::run([ 'bash', '-o', 'pipefail', $file ], '>', \$out, '2>', \$err);
	ok($ok, "$heading, block " . ($n + 1)) or diag "$out\n$err";
	return $out;
}

# Each of these transactions leaves the sum of all rows as it is.
my $script = $old->basedir . '/move.sql';
write_move_script($script);
my $load = pgbench_rounds($old, '-c', '2', '-T', '2', '--max-tries=10', '-f', $script);

# ---- to a server without the library ----------------------------------------------------

my $without = 'To a server without the library';
run_block($without, 0);
is(sorted_rows($new), $rows, 'all rows are there');
is($new->safe_psql('postgres', $load_query), $load_sum, 'of one moment');
is( $new->safe_psql('postgres', q{
		select string_agg(reloptions::text, ' ') from pg_class where relname = 'with_options'}),
	'{fillfactor=70}', "options of core's stay");
is( $new->safe_psql('postgres', q{
		select (select count(*) from pg_class where reloptions::text ~ 'zedstore'),
			(select count(*) from pg_am where amname = 'zedstore'),
			(select count(*) from pg_extension where extname = 'zedstore_io'),
			(select count(*) from with_options where b = 'WITH (zedstore_compression=zstd)'),
			(select count(*) from only_ours), body()}),
	'0|0|0|2000|2000|WITH (zedstore_x=1)', 'and nothing of ours');
cmp_ok(run_block($without, 1), '>', 5, 'a dump with the extension');

# ---- uninstalling ----------------------------------------------------------------------

$old->safe_psql('postgres', 'create table written (a int) using zedstore;
	insert into written select i from generate_series(1, 5000) i');
my $session = $old->background_psql('postgres');
$session->query_safe('create temp table temporary (a int) using zedstore');
run_block('Uninstalling', 0);
is($old->safe_psql('postgres', q{
		select string_agg(relname, ', ') from pg_class c join pg_am a on a.oid = relam
		where amname = 'zedstore'}),
	'temporary', 'no zedstore table is left but that of a session');
$session->quit;
wait_for_sql($old, q{select not exists (select from pg_class where relname = 'temporary')});
is(sorted_rows($old), $rows, 'all rows are there');
is($old->safe_psql('postgres', $load_query), $load_sum, 'those of the transactions, too');
run_block('Uninstalling', 1);
end_pgbench_rounds($load, 'transactions meanwhile');
run_block('Uninstalling', 2);
$old->_update_pid(1);
is($old->safe_psql('postgres', 'show shared_preload_libraries'), '', 'the library is gone');
$old->safe_psql('postgres', 'create table more as select i from generate_series(1, 1000) i');
$old->stop('immediate');
$old->start;
is($old->safe_psql('postgres', 'select count(*) from more'), 1000, 'a crash is recovered from');
is(sorted_rows($old), $rows =~ s/^u\|.*$/u|0|/mr, 'all rows are there, but of the unlogged table');

# the standby, which has replayed the shutdown by now
$old->wait_for_replay_catchup($standby);
$standby->stop;
$standby->append_conf('postgresql.conf', q{shared_preload_libraries = ''});
$standby->start;
$old->safe_psql('postgres', 'insert into more select i from generate_series(1, 1000) i');
$old->wait_for_replay_catchup($standby);
is($standby->safe_psql('postgres', "$load_query; select count(*) from more"),
	"$load_sum\n2000", 'the standby follows without the library');

# ---- the library went too early -----------------------------------------------------------

my $early = new_node('early');
$early->safe_psql('postgres', q{
	create table t (a int) using zedstore;
	insert into t select i from generate_series(1, 5000) i});
kill_server($early);
$early->append_conf('postgresql.conf', q{shared_preload_libraries = ''});
ok(!$early->start(fail_ok => 1), 'a crash, and a start without the library');
like(slurp_file($early->logfile), qr/resource manager with ID 158 not registered/,
	'which says what is missing');
$early->append_conf('postgresql.conf', q{shared_preload_libraries = 'zedstore_io'});
kill_and_restart($early, killed => 1);
is($early->safe_psql('postgres', 'select count(*) from t'), 5000, 'put back: all rows');
zs_check_all($early);

$_->stop for $early, $standby, $old, $new;
done_testing();
