# Autovacuum takes care of zedstore tables by itself: rows that trickle in become columns, dead
# rows and their index entries go.  What pg_stat_progress_vacuum shows.  What is reported in the
# end, by VERBOSE and in the log, and the failsafe, with heap as the oracle.
use strict;
use warnings FATAL => 'all';

use ZedstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node(
	'main',
	conf => <<'CONF');
autovacuum_naptime = 1s
autovacuum_vacuum_cost_delay = 0
autovacuum_freeze_max_age = 100000
vacuum_failsafe_age = 0
maintenance_work_mem = 64MB
log_autovacuum_min_duration = 0
CONF
$node->safe_psql('postgres', 'create extension amcheck');

# ---- rows that trickle in ------------------------------------------------------------

# thresholds of inserts, then of dead rows, as for heap
$node->safe_psql('postgres', q{
	create table trickle (a int primary key, b text) using zedstore
		with (autovacuum_vacuum_insert_threshold = 5000, autovacuum_vacuum_insert_scale_factor = 0,
			autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0, autovacuum_analyze_threshold = 2000000000);
	create index on trickle (b);
});
my $script = $node->basedir . '/trickle.sql';
append_to_file($script, "insert into trickle values (nextval('s'), 'trickle ' || currval('s'));\n");
$node->safe_psql('postgres', 'create sequence s');
$node->command_ok([ 'pgbench', '-n', '-t', 6000, '-f', $script, $node->connstr('postgres') ],
	'rows are inserted one by one');
wait_for_sql($node, q{
	select count(*) > 0 from pg_zs_segments('trickle') where attno = 2});
pass('autovacuum turned them into columns');
is( $node->safe_psql('postgres', q{
	select autovacuum_count > 0, vacuum_count from pg_stat_user_tables where relname = 'trickle'}),
	't|0', 'nobody else did');
is($node->safe_psql('postgres', 'select count(*), sum(a), count(distinct b) from trickle'),
	'6000|18003000|6000', 'nothing is missing');

# a VACUUM that is still at it would miss rows that die now, and report that there are none
wait_for_sql($node, q{
	select n_ins_since_vacuum < 5000 and not exists (select from pg_stat_progress_vacuum)
	from pg_stat_user_tables where relname = 'trickle'});
$node->safe_psql('postgres',
	"delete from trickle where a % 4 > 0; update trickle set b = 'updated' where a % 12 = 0");
wait_for_sql($node, q{
	select n_dead_tup = 0 and n_tup_del = 4500 and n_tup_upd = 500 from pg_stat_user_tables where relname = 'trickle'});
is($node->safe_psql('postgres', q{
	select sum(nrows) from pg_zs_tid_items('trickle') where slotno not in (1, 2, 3)}), '1500', 'autovacuum removed dead rows');
is($node->safe_psql('postgres', q{
	select count(*), count(*) filter (where b = 'updated') from trickle}), '1500|500', 'and no others');
$node->safe_psql('postgres', q{select bt_index_check(i.indexrelid, true) from pg_index i where indrelid = 'trickle'::regclass});
zs_check_all($node, undef, 'zs_check after autovacuum');
# what pgBadger and its like look for, in the lines of each autovacuum of the table
my $log = slurp_file($node->logfile);
my $trickle = qr/automatic vacuum of table "postgres\.public\.trickle": index scans: \d+/;
my @reports = $log =~ /LOG:  ($trickle\n(?:\t.*\n)+)/g;
cmp_ok(scalar @reports, '>=', 2, 'the log has a report of each autovacuum');
unlike($log, qr/LOG:  finished vacuuming/, '... and none that reads as that of a VACUUM');
foreach my $line (
	qr/automatic (aggressive )?vacuum (to prevent wraparound )?of table "\S+": index scans: \d+\n/,
	qr/^\tpages: \d+ removed, \d+ remain, \d+ scanned \([\d.]+% of total\)/m,
	qr/^\ttuples: \d+ removed, \d+ remain, \d+ are dead but not yet removable$/m,
	qr/^\tremovable cutoff: \d+, which was \d+ XIDs old when operation ended$/m,
	qr/^\tavg read rate: [\d.]+ MB\/s, avg write rate: [\d.]+ MB\/s$/m,
	qr/^\tbuffer usage: \d+ hits, \d+ (?:reads|misses), \d+ dirtied$/m,
	qr/^\tWAL usage: \d+ records, \d+ full page images, \d+ bytes/m,
	qr/^\tsystem usage: CPU: user: [\d.]+ s, system: [\d.]+ s, elapsed: [\d.]+ s$/m)
{
	is(scalar(grep { /$line/ } @reports), scalar @reports, "each has a line as $line");
}
like(join('', @reports), qr/^\tcolumns: [1-9]\d* rows moved into them, /m, 'ours stand behind');
my $removed = 0;
$removed += $_ for map { /^\ttuples: (\d+) removed/m } @reports;
cmp_ok($removed, '>=', 5000, 'all dead rows were counted');

$node->append_conf('postgresql.conf', "autovacuum = off\n");
$node->reload;

# rows that lie too far apart to become columns, and those of the stripe that is being filled
$node->safe_psql('postgres', q{
	create table thin (a int) using zedstore;
	do $$ begin for i in 0..99 loop
		insert into thin select i * 50 + g from generate_series(1, 50) g; commit;
	end loop; end $$;
	delete from thin where a % 500 <> 0});
my (undef, undef, $verbose) = $node->psql('postgres', 'vacuum (verbose) thin');
like($verbose, qr/^columns: 0 rows moved into them, [1-9] left in the row tree as too few, /m,
	'VACUUM tells what stays in the row tree');

# ---- progress ---------------------------------------------------------------------------

sub create_twins
{
	my ($name) = @_;

	$node->safe_psql('postgres', join '', map { qq{
		create table ${name}_$_->[0] (a int primary key, b int) using $_->[1] with (autovacuum_enabled = off);
		create index on ${name}_$_->[0] (b);
		insert into ${name}_$_->[0] select i, -i from generate_series(1, 30000) i;
		delete from ${name}_$_->[0] where a % 3 = 0;
	} } ([ 'h', 'heap' ], [ 'z', 'zedstore' ]));
	return;
}

# A VACUUM that sleeps after each page is met in the middle of an index; heap shows the same.
create_twins('p');
for my $table ('p_h', 'p_z')
{
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	my $pid = $session->query_safe('select pg_backend_pid()');

	$session->query_safe(
		'set vacuum_cost_page_hit = 10; set vacuum_cost_limit = 10; set vacuum_cost_delay = 50');
	$session->query_until(qr/started/,
		"\\echo started\nvacuum (index_cleanup on, parallel 0) $table;\n");
	ok($node->poll_query_until('postgres', qq{
		select heap_blks_total > 0 and heap_blks_scanned = heap_blks_total and num_dead_item_ids = 10000
			and dead_tuple_bytes > 0 and max_dead_tuple_bytes = 64 * 1024 * 1024 and index_vacuum_count = 0
			and indexes_total = 2 and indexes_processed < 2
		from pg_stat_progress_vacuum where relid = '$table'::regclass and phase = 'vacuuming indexes'}),
		"$table: what is collected, and how many indexes there are");
	SKIP:
	{
		skip 'the server does not show who started a VACUUM', 1 if $node->pg_version->major < 19;
		is( $node->safe_psql('postgres',
				"select mode, started_by from pg_stat_progress_vacuum where pid = $pid"),
			'normal|manual',
			"$table: who started it, and how thorough it is");
	}
	$node->safe_psql('postgres', "select pg_cancel_backend($pid)");
	$session->quit;
}

SKIP:
{
	skip 'injection points are not there', 2 unless has_injection_points($node);
	$node->safe_psql('postgres', 'create extension injection_points');
	my $session = $node->background_psql('postgres', on_error_stop => 0);

	$session->query_safe(
		q{select injection_points_set_local(), injection_points_attach('zs-vacuum-indexes', 'wait'),
		injection_points_attach('zs-vacuum-leaks', 'wait')});
	$session->query_until(qr/started/,
		"\\echo started\nvacuum (index_cleanup on, parallel 0) p_z;\n");
	for my $expected (
		[ 'zs-vacuum-indexes', '10000|0|0|1|0', 'behind the indexes' ],
		[ 'zs-vacuum-leaks', '0|0|0|1|100', 'at the end' ])
	{
		my ($point, $row, $title) = @$expected;

		$node->wait_for_event('client backend', $point);
		is( $node->safe_psql('postgres', q{
			select num_dead_item_ids, indexes_total, indexes_processed, index_vacuum_count,
				100 * heap_blks_vacuumed / heap_blks_total
			from pg_stat_progress_vacuum where phase = 'vacuuming heap' or index_vacuum_count = 1}),
			$row, "progress $title");
		$node->safe_psql('postgres', "select injection_points_wakeup('$point')");
	}
	$session->quit;
	is($node->safe_psql('postgres', 'select count(*), sum(b) from p_z'), '20000|-300000000',
		'rows that stay');
}

# ---- the report ---------------------------------------------------------------------------------

# What VACUUM VERBOSE says of a table: the last message in one piece, with our own lines cut off.
sub report
{
	my ($table, $options) = @_;
	my ($stdout, $stderr);

	$node->psql(
		'postgres', qq{
		set track_io_timing = on;
		} . ($node->pg_version >= 18 ? 'set track_cost_delay_timing = on;' : '') . qq{
		} . ($options =~ /parallel/ ? 'set min_parallel_index_scan_size = 0;' : '') . qq{
		vacuum (verbose$options) $table;},
		stdout => \$stdout,
		stderr => \$stderr,
		on_error_die => 1);
	my ($text) = $stderr =~ /INFO:  (finished vacuuming .*)/s;
	$text =~ s/_[hz]\b/_x/g;
	$text =~ s/_[hz]_/_x_/g;
	$text =~ s/^(columns|space): .*\n?//mg;
	return $text =~ s/\n\z//r;
}

# Rows, index entries and transaction ids that are the same whatever the table's pages are like.
sub facts
{
	my ($text) = @_;

	return join "\n", map { $text =~ /$_/m ? $& : "no $_" } (
		'^tuples: \w+ removed',
		'\d+ are dead but not yet removable$',
		'^index scan [a-z ]+:',
		'\d+ dead item identifiers.*',
		'^finished.*: index scans: \d+');
}

# The lines without their numbers.  Which rows are frozen is up to the access method.
sub shape
{
	my ($text) = @_;

	$text =~ s/^new relfrozenxid: \d+, which is \d+ XIDs ahead of previous value\n//m;
	return $text =~ s/\d+(\.\d+)?/N/gr;
}

create_twins('r');
my $reader = $node->background_psql('postgres');
for my $case (
	[ '', 'rows are removed', '' ],
	[ '', 'there is nothing to do', '' ],
	[ ', freeze', 'aggressive', '' ],
	[ '', 'rows that somebody may see', 'delete from r_$ where a % 3 = 1 and a < 1000' ],
	[ '', 'rows that nobody sees any more', '' ],
	[
		', index_cleanup off',
		'indexes are left alone',
		'delete from r_$ where a between 2000 and 4999'
	],
	[ ', index_cleanup on', 'they are caught up with', '' ],
	[ ', parallel 2', 'several processes', 'delete from r_$ where a between 5000 and 9999' ],
	[ ', disable_page_skipping', 'all pages', '' ])
{
	my ($options, $title, $before) = @$case;
	my %text;

	$reader->query_safe('begin isolation level repeatable read; select count(*) from r_h')
	  if $title =~ /may see/;
	for my $kind ('h', 'z')
	{
		$node->safe_psql('postgres', $before =~ s/\$/$kind/r) if $before;
		$text{$kind} = report("r_$kind", $options);
	}
	$reader->query_safe('commit') if $title =~ /may see/;
	is(shape($text{z}), shape($text{h}), "VERBOSE has heap's lines: $title");

	# heap counts rows as removed though their items stay
	if ($options =~ /index_cleanup/)
	{
		s/^tuples: \d+ removed/tuples: some removed/m for @text{ 'h', 'z' };
	}
	is(facts($text{z}), facts($text{h}), "... and its numbers: $title");
}
$reader->quit;

# ---- autovacuum in several processes ---------------------------------------------------------

SKIP:
{
	skip 'autovacuum has parallel workers since PostgreSQL 19', 1 if $node->pg_version->major < 19;
	my %text;

	$node->append_conf('postgresql.conf',
		"autovacuum = on\nautovacuum_max_parallel_workers = 2\nmin_parallel_index_scan_size = 0\n");
	$node->reload;
	create_twins('a');
	for my $table ('a_h', 'a_z')
	{
		my $title = qr/automatic vacuum of table "postgres\.public\.$table"/;
		my $start = -s $node->logfile;

		$node->safe_psql('postgres', qq{
			alter table $table set (autovacuum_enabled = on, autovacuum_parallel_workers = 2,
				autovacuum_vacuum_threshold = 100, autovacuum_vacuum_scale_factor = 0)});
		$node->wait_for_log(qr/LOG:  $title: index scans: 1\n\tpages: [^\0]*\tsystem usage: /,
			$start);
		my ($log) = slurp_file($node->logfile, $start) =~ /LOG:  $title.*\n((?:\t.*\n)+)/;
		$text{$table} = join '', $log =~ /^(\tparallel workers: .*\n)/mg;
	}
	like($text{a_z}, qr/index vacuum: 1 planned, /, 'autovacuum asks for a worker');
	is(shape($text{a_z}), shape($text{a_h}), "the log has heap's lines about parallel workers");
	$node->append_conf('postgresql.conf', "autovacuum = off\n");
	$node->reload;
}

# ---- the failsafe ---------------------------------------------------------------------------

# Ages the tables by subtransactions, each of which takes a transaction id.  Autovacuum comes for
# tables of that age though it is off, and waits for the lock; whoever gets the table first falls
# into the failsafe.
create_twins('f');
create_twins('w');
my $locker = $node->background_psql('postgres');
$locker->query_safe('begin; lock table f_h, f_z in share update exclusive mode');
$node->safe_psql('postgres', q{
	create table burn (a int);
	do $$
	begin
		for i in 1 .. 106000 loop
			begin
				insert into burn values (1);
			exception when others then
				raise;
			end;
		end loop;
	end $$;
});
my $log_start = -s $node->logfile;
$locker->query_safe('commit');
$locker->quit;
my %outcome;
for my $table ('f_h', 'f_z')
{
	$node->safe_psql('postgres', "vacuum $table");
	$node->wait_for_log(qr/WARNING:  bypassing nonessential maintenance of table "postgres\.public\.$table" as a failsafe after 0 index scans/,
		$log_start);
	pass("$table: the failsafe");
	$outcome{$table} = $node->safe_psql('postgres',
		"select age(relfrozenxid) < 1000 from pg_class where oid = '$table'::regclass") . ' '
	  . $node->safe_psql('postgres', "select count(*), sum(a) from $table");
}
is($outcome{f_z}, $outcome{f_h}, 'all that had to be done was done');
is($outcome{f_z}, 't 20000|300000000', '... and what heap did is right');

# nobody else comes for these
for my $table ('w_h', 'w_z')
{
	my $title =
	  qr/automatic aggressive vacuum to prevent wraparound of table "postgres\.public\.$table"/;

	$node->wait_for_log(qr/LOG:  $title: index scans: 0\n\tpages: /, $log_start);
	my ($text) = slurp_file($node->logfile, $log_start) =~ /LOG:  $title.*\n((?:\t.*\n)+)/;
	like(
		$text,
		qr/^\tindex scan bypassed by failsafe: .* have 10000 dead item identifiers$/m,
		"$table: the log tells of the failsafe");
}

# the dead rows are there for the next VACUUM, which has nothing to fear
$node->safe_psql('postgres', 'vacuum f_z');
is($node->safe_psql('postgres', "select count(*) from pg_zs_tid_items('f_z') where slotno = 1"),
	'0',
	'the next VACUUM removed what was left');
$node->safe_psql('postgres',
	q{select bt_index_check('f_z_pkey', true), bt_index_check('f_z_b_idx', true)});

zs_check_all($node);
done_testing();
