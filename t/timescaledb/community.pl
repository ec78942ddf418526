# Hypertables whose chunks are zedstore tables, and the part of TimescaleDB that is under its own
# license: continuous aggregates, policies and jobs, reordering, moving and skipping of chunks.
use strict;
use warnings FATAL => 'all';

use ZedstoreTest;
use ZedstoreTimescale;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = timescale_node('main');
plan skip_all => 'this is the Apache part of TimescaleDB' if is_apache($node);

my $twins = timescale_twins($node);
$node->safe_psql('ts', 'create extension amcheck');
make_hypertables($twins, 't', 'ts timestamptz not null, dev int not null, v float8, note text',
	rows => q{select timestamptz '2026-01-01' + i * interval '10 min', i % 7, i * 0.5, 'n' || i from generate_series(1, 3000) i});
$twins->both('create unique index on t_@ (dev, ts)');

# The materialization hypertables' names are not theirs.
sub materialization
{
	my ($view) = @_;
	return $node->safe_psql('ts', qq{
		select format('%I.%I', materialization_hypertable_schema, materialization_hypertable_name)
		from timescaledb_information.continuous_aggregates where view_name = '$view'});
}

# ---- continuous aggregates

my $query = q{select time_bucket('1 day', ts) as day, dev, count(*) as n, round(sum(v)::numeric, 3) as s, max(note) as m};
# the materialized rows are heap rows, of both
$twins->both("create materialized view c_@ with (timescaledb.continuous) as $query from t_@ group by 1, 2", 'continuous aggregate');
# with rows in a zedstore table, of one
$node->safe_psql('ts', "create materialized view cc_h with (timescaledb.continuous) as $query from t_h group by 1, 2 with no data");
$node->safe_psql('ts', "create materialized view cc_z using zedstore with (timescaledb.continuous) as $query from t_z group by 1, 2 with no data");
$twins->both(q{call refresh_continuous_aggregate('cc_@', null, '2026-01-15')});
is(chunks_am($node, materialization('cc_z')) =~ s/\d+//r, 'zedstore|', 'materialized rows are zedstore rows');
is(chunks_am($node, materialization('c_z')) =~ s/\d+//r, 'heap|', 'or heap rows');
$twins->same("select * from $_") foreach ('c_@', 'cc_@');
# what TimescaleDB itself says of the rows
$twins->same("select * from cc_@ except select * from ($query from t_@ group by 1, 2) q where day < '2026-01-15'");

# changes below and above what is materialized
$twins->both('update t_@ set v = v + 100 where dev = 1');
$twins->both(q{delete from t_@ where dev = 2 and ts < '2026-01-05'});
$twins->both(q{insert into t_@ select timestamptz '2026-01-02' + i * interval '1 min', 7, i, 'late' from generate_series(1, 100) i});
$twins->both(q{insert into t_@ select timestamptz '2026-02-02' + i * interval '1 hour', 1, i, 'new' from generate_series(1, 100) i});
$twins->same('select * from cc_@', 'stale aggregate');
$twins->both(q{call refresh_continuous_aggregate('cc_@', '2026-01-01', '2026-01-10')});
$twins->same('select * from cc_@', 'refreshed in part');
$twins->both(q{call refresh_continuous_aggregate('cc_@', null, null)});
$twins->same('select * from cc_@', 'refreshed');
$twins->same("select * from ($query from t_@ group by 1, 2) q except select * from cc_@");
# real time
$twins->both('alter materialized view cc_@ set (timescaledb.materialized_only = false)');
$twins->both(q{insert into t_@ select timestamptz '2026-04-02' + i * interval '1 hour', 1, i, 'newer' from generate_series(1, 50) i});
$twins->same('select * from cc_@', 'real time');
$twins->both(q{select day, sum(n) from cc_@ where day > '2026-01-20' group by 1 order by 1});
# an aggregate of the aggregate, and its definitions
$node->safe_psql('ts', q{
	create materialized view ccc_h with (timescaledb.continuous) as
		select time_bucket('7 days', day) as week, sum(n) as n from cc_h group by 1;
	create materialized view ccc_z using zedstore with (timescaledb.continuous) as
		select time_bucket('7 days', day) as week, sum(n) as n from cc_z group by 1});
$twins->same('select * from ccc_@', 'aggregate of an aggregate');
$twins->both('create index on cc_@ (n)');
$twins->both('alter materialized view cc_@ rename column s to total');
# MERGE writes what a refresh changes
$twins->both('set timescaledb.enable_merge_on_cagg_refresh = on; update t_@ set v = v * 2 where dev = 5; call refresh_continuous_aggregate(\'cc_@\', null, null)',
	'refresh by MERGE') if $node->safe_psql('ts', q{select count(*) from pg_settings where name = 'timescaledb.enable_merge_on_cagg_refresh'});
$twins->same('select * from cc_@', 'refreshed again');
$twins->both(q{select count(*) from drop_chunks('cc_@', timestamptz '2026-01-05')});
$twins->same('select * from cc_@', 'chunks of the aggregate dropped');
check_hypertables($twins, 't', 'continuous aggregates', 'dev');

# ---- jobs: by hand, and by the scheduler

# the scheduler would run them beside us
$node->safe_psql('ts', q{select _timescaledb_functions.stop_background_workers()});
$node->safe_psql('ts', 'create table jobs (twin text, kind text, id int)');
$node->safe_psql('ts', qq{
	insert into jobs select '$_', 'refresh', add_continuous_aggregate_policy('cc_$_', null, interval '1 hour', interval '1 day');
	insert into jobs select '$_', 'retention', add_retention_policy('t_$_', now() - timestamptz '2026-01-03 12:00');
	insert into jobs select '$_', 'reorder', add_reorder_policy('t_$_', 't_$_\_dev_ts_idx')}) foreach ('h', 'z');
foreach my $twin ('h', 'z')
{
	$node->safe_psql('ts', "call run_job($_)") foreach (split(/\n/, $node->safe_psql('ts', "select id from jobs where twin = '$twin' order by kind")));
}
check_hypertables($twins, 't', 'jobs', 'dev');
$twins->same('select * from cc_@', 'the refresh job');
$twins->same(q{select min(ts) from t_@});
$node->safe_psql('ts', q{
	create procedure load(job_id int, config jsonb) language plpgsql as $$ begin
		execute format('insert into t%s select timestamptz ''2026-06-01'' + i * interval ''1 hour'', 3, i, ''job'' from generate_series(1, 200) i
			on conflict (dev, ts) do update set v = t%1$s.v + 1', config->>'twin');
		commit;
		execute format('delete from t%s where note = ''job'' and v > 150', config->>'twin');
	end $$;
	select _timescaledb_functions.start_background_workers();
	select add_job('load', '1 h', config => '{"twin": "_h"}'), add_job('load', '1 h', config => '{"twin": "_z"}')});
wait_for_sql($node, q{select count(*) = 2 from timescaledb_information.job_stats s join timescaledb_information.jobs j using (job_id)
	where j.proc_name = 'load' and s.total_successes >= 1}, 'ts');
$node->safe_psql('ts', q{select _timescaledb_functions.stop_background_workers()});
check_hypertables($twins, 't', 'jobs of the scheduler', 'dev');
is($node->safe_psql('ts', q{select count(*) from t_z where note = 'job'}), '150', 'the jobs have run');

# ---- chunks

# reorder_chunk() is CLUSTER that lets readers be
$node->safe_psql('ts', qq{select reorder_chunk(c, 't_$_\_dev_ts_idx') from show_chunks('t_$_') c}) foreach ('h', 'z');
check_hypertables($twins, 't', 'reorder_chunk', 'dev');
my ($first) = split(/\n/, $node->safe_psql('ts', q{select s from show_chunks('t_z') s order by 1 limit 1}));
is($node->safe_psql('ts', "set enable_indexscan = off; set enable_bitmapscan = off; select count(*) from (select (dev, ts) < lag((dev, ts)) over () as back from only $first) x where back"),
	'0', 'rows lie in the order of the index');

$node->safe_psql('postgres', qq{set allow_in_place_tablespaces = on; create tablespace $_ location ''}) foreach ('ts1', 'ts2');
foreach my $twin ('h', 'z')
{
	my ($chunk) = split(/\n/, $node->safe_psql('ts', "select s from show_chunks('t_$twin') s order by 1 limit 1"));
	# not in a transaction block, which several statements in one string are
	$node->safe_psql('ts', "select move_chunk('$chunk', 'ts1', 'ts2', 't_${twin}_dev_ts_idx')");
}
$twins->same(q{select count(*), t.spcname from show_chunks('t_@') s join pg_class c on c.oid = s left join pg_tablespace t on t.oid = c.reltablespace group by 2});
check_hypertables($twins, 't', 'move_chunk', 'dev');

# ranges of other columns that chunks have
make_hypertables($twins, 's', 'ts timestamptz not null, id bigint', rows => q{select timestamptz '2026-01-01' + i * interval '1 hour', i from generate_series(1, 500) i});
$twins->both(q{set timescaledb.enable_chunk_skipping = on; select (enable_chunk_skipping('s_@', 'id')).enabled});
$twins->both(q{set timescaledb.enable_chunk_skipping = on; select count(*), sum(id) from s_@ where id between 100 and 150});

# what needs heap says so
foreach my $case (
	[ 'call merge_chunks(CHUNKS)', qr/ERROR:  access method "zedstore" is not supported for merge/, 2 ],
	[ 'call split_chunk(CHUNKS)', qr/ERROR:  access method "zedstore" is not supported for split/, 1 ])
{
	my ($statement, $error, $n) = @$case;
	my ($function) = $statement =~ /call (\w+)/;

	next if !$node->safe_psql('ts', "select count(*) from pg_proc where proname = '$function'");
	my $chunks = join(', ', map { "'$_'" } split(/\n/, $node->safe_psql('ts', "select s from show_chunks('s_z') s order by 1 limit $n")));
	my ($status, undef, $stderr) = $node->psql('ts', $statement =~ s/CHUNKS/$chunks/r);
	isnt($status, 0, "$function is refused");
	like($stderr, $error, "$function says why");
}
check_hypertables($twins, 's', 'refused merges and splits');

# attaching and detaching
foreach my $function ('detach_chunk', 'attach_chunk')
{
	next if !$node->safe_psql('ts', "select count(*) from pg_proc where proname = '$function'");
	foreach my $twin ('h', 'z')
	{
		my $chunk = $function eq 'detach_chunk'
		  ? $node->safe_psql('ts', "select s from show_chunks('s_$twin') s order by 1 limit 1")
		  : $node->safe_psql('ts', "select last from last_$twin");
		$node->safe_psql('ts', "create table last_$twin as select '$chunk'::regclass as last") if $function eq 'detach_chunk';
		$node->safe_psql('ts', $function eq 'detach_chunk'
			? "call detach_chunk('$chunk')"
			: qq{call attach_chunk('s_$twin', '$chunk', '{"ts": ["2025-12-31 00:00:00+00", "2026-01-02 00:00:00+00"]}')});
	}
	check_hypertables($twins, 's', $function);
}

# ---- crash

$twins->both(q{insert into t_@ select timestamptz '2026-09-01' + i * interval '1 hour', 60, i from generate_series(1, 500) i});
$twins->both(q{call refresh_continuous_aggregate('cc_@', null, null)});
$node->stop('immediate');
$node->start;
check_hypertables($twins, $_, 'after a crash') foreach ('t', 's');
$twins->same('select * from cc_@', 'the aggregate after a crash');
$twins->both('drop materialized view ccc_@');
$twins->both('drop materialized view cc_@');
$twins->both('drop table t_@ cascade');

unlike(slurp_file($node->logfile), qr/TRAP:|terminated by signal|PANIC/, 'no crash in the log');
$node->stop;
done_testing();
