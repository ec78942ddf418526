# Look-ahead of scans that are not sequential: with few shared buffers, so that nearly every page
# has to be read, statements return the same with look-ahead, without, and from a heap twin.
#
# Takes 30 seconds of a processor: scripts/run-tests starts it early.
# Needs a disk, to read ahead from.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

my $node = new_node('main', conf => <<'CONF');
shared_buffers = 2MB
autovacuum = off
jit = off
max_parallel_workers_per_gather = 0
wal_level = minimal
max_wal_senders = 0
CONF

# ---- two tables with the same rows: wide and narrow columns, text, NULLs, large values, columns
# that were dropped and added; rows in the row tree, rows that are gone

my $rows = 60_000;
for my $am (qw(heap zedstore))
{
	$node->safe_psql(
		'postgres', qq{
		create table $am (id int, k int, gone int, a bigint, b numeric, c text, d text, e float8,
			n int, f timestamptz, g uuid, m text) using $am;
		alter table $am alter m set storage external;
		do \$\$ begin for part in 0 .. 3 loop
			insert into $am select i, i * 7919 % 1009, i, hashint8extended(i, 1),
				hashint4(i) / 100.0, md5(i::text) || md5((i + 1)::text), 'word ' || i % 50,
				hashint4(i)::float8 / 3, case when i % 3 = 0 then i end,
				'2026-11-01'::timestamptz + i * interval '1 s', md5(i::text)::uuid,
				case when i % 20000 = 0 then repeat(md5(i::text), 300) end
				from generate_series(part * $rows / 4 + 1, (part + 1) * $rows / 4) i;
			commit;
		end loop; end \$\$;
		alter table $am drop column gone, add column late int default 5, add column later text;
		create index ${am}_k on $am (k);
		create index ${am}_id on $am (id);
		delete from $am where id % 50 = 7;
		update $am set n = -1, later = 'new' where id % 1000 = 3;
		insert into $am select i, 5, i, i, 'row tree'
			from generate_series($rows + 1, $rows + 500) i;
		vacuum $am;
		insert into $am select i, 6, i, i, 'row tree'
			from generate_series($rows + 501, $rows + 900) i});
}

my %ways = (
	'on' => '',
	'off' => 'set zedstore.enable_read_stream = off;',
	'no concurrency' => 'set effective_io_concurrency = 0; set maintenance_io_concurrency = 0;',
	'no cache' => 'set zedstore.enable_fetch_cache = off; set zedstore.enable_lazy_decode = off;');

# Runs a statement, in which T stands for the table, on heap, and on zedstore in each way.
sub same
{
	my ($title, $settings, $sql, @only) = @_;
	my %result;

	for my $am (qw(heap zedstore))
	{
		for my $way (sort keys %ways)
		{
			next if $am eq 'heap' && $way ne 'on';
			(my $text = $sql) =~ s/\bT(?=\b|_narrow)/$am/g;
			$result{"$am $way"} = $node->safe_psql('postgres', "$settings $ways{$way} $text");
		}
	}
	my $expected = delete $result{'heap on'};

	isnt($expected, '', "$title: there are rows");
	is($result{$_}, $expected, "$title: $_") for sort keys %result;
	return;
}

my $bitmap = 'set enable_seqscan = off; set enable_indexscan = off;'
  . 'set enable_indexonlyscan = off;';
my $index = 'set enable_seqscan = off; set enable_bitmapscan = off;';
my $all = "count(*), sum(hashtext((t.*)::text)::bigint)";

same('bitmap scan of all columns', $bitmap, "select $all from T t where k in (3, 77, 500, 901)");
same('bitmap scan of most blocks', $bitmap,
	'select count(*), sum(a), min(c), max(d), sum(n) from T where k < 400');
same('bitmap scan of few columns', $bitmap,
	'select sum(b), count(e) from T where k between 10 and 12');
same('bitmap scan without columns', $bitmap, 'select count(*) from T where k between 10 and 30');
same('bitmap scan with LIMIT', $bitmap,
	'select count(*), count(distinct id), min(k), max(k)
		from (select * from T where k = 44 limit 7) s');
same('bitmap scan again and again', $bitmap,
	'select v, (select sum(a) from T where k = v and n > v) from generate_series(1, 9) v');
my $shared = qq{
	$bitmap
	set max_parallel_workers_per_gather = 2;
	set parallel_setup_cost = 0;
	set parallel_tuple_cost = 0;
	set min_parallel_table_scan_size = 0;};
same('bitmap scan in parallel', $shared, "select $all from T t where k between 200 and 300");
like($node->safe_psql('postgres',
		"$shared explain select $all from zedstore t where k between 200 and 300"),
	qr/Parallel Bitmap Heap Scan/, 'bitmap scan in parallel: plan');
same('index scan of all columns', $index, "select $all from T t where k in (2, 88)");
same('rows by index, in its order', $index,
	'select * from T where id between 7000 and 7050 order by id');
same('rows of the row tree', $index, "select $all from T t where id > $rows - 100");
same('values of their own', $index,
	"select id, length(m), md5(m) from T where id in (20000, 40000, 20002)");
same('rows of a join', "$index set enable_hashjoin = off; set enable_mergejoin = off;",
	"select $all from generate_series(1, 200) v, T t where t.id = v * 299");
same('UPDATE and RETURNING', $index,
	'begin; update T set n = n + 1 where id in (9, 30009, 55001) returning *; rollback');
same('sorted by another column, limited', '', 'select * from T order by a limit 20');
like($node->safe_psql('postgres', 'explain select * from zedstore order by a limit 20'),
	qr/ZedstoreTopN/, 'sorted by another column, limited: plan');
same('few rows of a sequential scan', 'set enable_indexscan = off; set enable_bitmapscan = off;',
	'select * from T where k = 9 and length(c) = 64 order by id');
same('sample of all rows', '', "select $all from T t tablesample bernoulli (100)");
same('sample of all blocks', '',
	'select count(*), sum(a), max(c) from T tablesample system (100)');

# ---- bitmaps of more blocks than work_mem has room for

for my $am (qw(heap zedstore))
{
	$node->safe_psql('postgres', qq{
		create table ${am}_narrow (id int, k int) using $am;
		insert into ${am}_narrow select i, i * 19 % 1009 from generate_series(1, 400000) i;
		create index on ${am}_narrow (k);
		vacuum analyze ${am}_narrow});
}
my $small = "$bitmap set work_mem = '64kB';";

like($node->safe_psql('postgres',
		"$small explain (analyze, timing off) select sum(id) from zedstore_narrow where k < 700"),
	qr/lossy=[1-9]/, 'lossy bitmap: plan');
same('lossy bitmap', $small,
	'select count(*), sum(id), sum(id::bigint * k), min(k), max(k) from T_narrow where k < 700');

# ---- sequential scans in parallel: streams claim the chunks to come

my $parallel = 'set max_parallel_workers_per_gather = 2; set parallel_setup_cost = 0;'
  . 'set parallel_tuple_cost = 0; set min_parallel_table_scan_size = 0;'
  . 'set enable_indexscan = off; set enable_bitmapscan = off;';
my $by_rows = 'set zedstore.enable_vector_scan = off; set zedstore.enable_vector_agg = off;';

for my $way ('', $by_rows)
{
	my $title = 'parallel scan' . ($way eq '' ? '' : ' by rows');

	like($node->safe_psql('postgres', "$parallel $way explain $_"), qr/Parallel/, "$title: plan")
	  for "select $all from zedstore t";
	same($title, "$parallel $way", "select $all from T t");
	same("$title of few columns", "$parallel $way",
		'select count(*), sum(a), min(c), max(d), sum(n) from T');
	same("$title, selective", "$parallel $way",
		'select count(*), sum(b), max(c), max(f) from T where id between 31000 and 31500 or k = 9');
	same("$title without leader", "$parallel $way set parallel_leader_participation = off;",
		'select count(*), sum(a), sum(e::numeric) from T');
	same("$title without workers", "$parallel $way set max_parallel_workers = 0;",
		'select count(*), sum(a), sum(b), max(g::text) from T');
	same("$title, serializable",
		"$parallel $way set default_transaction_isolation = serializable;",
		'select count(*), sum(a) from T');
	same("$title with LIMIT", "$parallel $way",
		'select count(*), count(distinct id) from (select * from T where a > 0 limit 5000) s');
	same("$title again and again",
		"$parallel $way set enable_material = off; set enable_memoize = off;"
		  . 'set enable_hashjoin = off; set enable_mergejoin = off;',
		'select v, s.* from (values (1), (2), (3), (4)) x (v) left join lateral
			(select count(*), sum(a), sum(n) from T where k % 4 = v) s on true order by v');
	same("$title of a join", "$parallel $way set enable_nestloop = off;",
		'select count(*), sum(x.a), sum(y.a) from T x join T y on x.id = y.id');
}

# of samples and by TID there is no heap twin
for my $case (
	[ 'sample of rows', "select $all from zedstore t tablesample bernoulli (3) repeatable (1)" ],
	[ 'sample of blocks', "select $all from zedstore t tablesample system (3) repeatable (1)" ],
	[ 'by TID', "select $all from zedstore t where ctid = any (array(
		select ('(' || i * 13 || ',9)')::tid from generate_series(1, 50) i))" ])
{
	my ($title, $sql) = @$case;
	my $result = $node->safe_psql('postgres', "$ways{off} $sql");

	unlike($result, qr/^0/, "$title: there are rows");
	is($node->safe_psql('postgres', "$ways{$_} $sql"), $result, "$title: $_") for sort keys %ways;
}

# ---- a temporary table, in few local buffers

for my $way (sort keys %ways)
{
	my %of;

	for my $am (qw(heap zedstore))
	{
		$of{$am} = $node->safe_psql('postgres', qq{
			set temp_buffers = 100;
			create temp table t using $am as select * from heap;
			create index on t (k);
			$ways{$way} $bitmap
			select $all from t where k between 40 and 90;
			$index
			select $all from t where k in (3, 300);
			set default_statistics_target = 1000;
			analyze t;
			select null_frac, n_distinct from pg_stats where tablename = 't'
				and attname in ('n', 'k') order by attname});
	}
	is($of{zedstore}, $of{heap}, "temporary table: $way");
}

# ---- ANALYZE that looks at all rows finds the same

sub analyzed
{
	my ($am, $settings, $columns) = @_;

	return $node->safe_psql(
		'postgres', qq{
		$settings
		set default_statistics_target = 1000;
		analyze $am;
		select attname, $columns from pg_stats where tablename = '$am' order by 1});
}
my $columns = 'null_frac, avg_width, n_distinct, most_common_vals, most_common_freqs, '
  . 'histogram_bounds, correlation';
my $expected = analyzed('zedstore', $ways{off}, $columns);
is(analyzed('zedstore', $ways{$_}, $columns), $expected, "ANALYZE: $_") for sort keys %ways;
$columns = 'null_frac, n_distinct';
is(analyzed('zedstore', '', $columns), analyzed('heap', '', $columns), 'ANALYZE as on heap');

# ---- segments are written anew and move while a scan is ahead of its reader

my $evict = 'checkpoint; select count(pg_buffercache_evict(bufferid)) from pg_buffercache';
$node->safe_psql('postgres', 'create extension pg_buffercache');

for my $way (sort keys %ways)
{
	my $select = 'select id, a, c, d, e, n, later from moved where k between 300 and 340';
	my $segments = q{select attno, start, nblocks from pg_zs_segments('moved') order by 1, 2};

	# what goes is none of the scan's, and gone before it has a snapshot
	$node->safe_psql('postgres', q{
		create table moved using zedstore as select * from heap where id <= 30000;
		create index on moved (k);
		delete from moved where k % 4 = 1 and k not between 300 and 340});
	my $before = $node->safe_psql('postgres', $segments);
	my $result = $node->safe_psql('postgres', "$bitmap $select");
	my $session = $node->background_psql('postgres');

	# nothing that it wants is in shared buffers
	$node->safe_psql('postgres', $evict) if $node->pg_version >= 18;
	$session->query_safe("$bitmap $ways{$way} begin; declare c cursor for $select");
	my $got = $session->query_safe('fetch 200 from c');
	is($session->query_safe('select wish_pages > 0 and farthest > 0 from zs_read_ahead()'),
		$way eq 'off' || $way eq 'no concurrency' ? 'f' : 't', "a scan is ahead: $way")
	  if $node->pg_version >= 18;
	$node->safe_psql('postgres', 'vacuum moved');
	isnt($node->safe_psql('postgres', $segments), $before, "VACUUM rewrites segments: $way");
	$got .= "\n" . $session->query_safe('savepoint s; fetch 150 from c; rollback to s');
	$got .= "\n" . $session->query_safe('fetch all from c');
	$session->query_safe('commit');
	$session->quit;
	is($got, $result, "VACUUM while a scan is ahead: $way");
	$node->safe_psql('postgres', 'drop table moved');
}

# ---- segments are dropped while a scan is ahead of its reader, and others take their blocks

for my $way (sort keys %ways)
{
	my $select = 'select id, a, c, d, e, n, later from dropped where k between 300 and 340';
	my $segments = q{select count(*) from pg_zs_segments('dropped')};

	# the index still leads to the rows that are gone
	$node->safe_psql('postgres', q{
		create table dropped using zedstore as select * from heap where id <= 10000;
		insert into dropped select * from heap where id between 10001 and 20000;
		insert into dropped select * from heap where id between 20001 and 30000;
		insert into dropped select * from heap where id between 30001 and 40000;
		create index on dropped (k);
		delete from dropped where id between 10001 and 30000});
	my $before = $node->safe_psql('postgres', $segments);
	my $result = $node->safe_psql('postgres', "$bitmap $select");
	my $session = $node->background_psql('postgres');

	$node->safe_psql('postgres', $evict) if $node->pg_version >= 18;
	$session->query_safe("$bitmap $ways{$way} begin; declare c cursor for $select");
	my $got = $session->query_safe('fetch 20 from c');
	$node->safe_psql('postgres', 'vacuum (index_cleanup on) dropped');
	cmp_ok($node->safe_psql('postgres', $segments), '<', $before, "VACUUM drops segments: $way");
	$node->safe_psql('postgres', 'insert into dropped select * from heap where id > 30000');
	$got .= "\n" . $session->query_safe('fetch all from c');
	$session->query_safe('commit');
	$session->quit;
	is($got, $result, "segments are dropped while a scan is ahead: $way");
	zs_check_all($node, 'postgres');
	$node->safe_psql('postgres', 'drop table dropped');
}

# ---- a scan that is ahead has few pins, and gives them back

for my $case (
	[ 'bitmap scan', $bitmap, 'select * from zedstore where k < 300' ],
	[ 'sequential scan', 'set enable_indexscan = off; set enable_bitmapscan = off;',
		'select * from zedstore' ],
	[ 'sample', '', 'select * from zedstore tablesample bernoulli (50)' ])
{
	my ($title, $settings, $sql) = @$case;
	my $pins = q{select count(*) from pg_buffercache where pinning_backends > 0
		and relfilenode = pg_relation_filenode('zedstore')};
	my $session = $node->background_psql('postgres');
	my $most = 0;

	$session->query_safe("$settings begin; declare c cursor for $sql");
	for (1 .. 20)
	{
		$session->query_safe('fetch 500 from c');
		my $now = $node->safe_psql('postgres', $pins);
		$most = $now if $now > $most;
	}
	# 13 columns have a stream each, or all of them one
	cmp_ok($most, '<', 256 / 4, "$title: a quarter of shared buffers is not pinned");
	note "$title: $most pages pinned";
	$session->query_safe('commit');
	is($node->safe_psql('postgres', $pins), 0, "$title: and none behind its end");
	$session->quit;
}

# ---- scans that end early leave no pin behind

my ($ret, $out, $err) = $node->psql('postgres', qq{
	$bitmap
	select sum(1 / (k - 320)), sum(a) from zedstore where k < 1009;
	begin;
	declare c cursor for select * from zedstore where k < 300;
	fetch 10 from c \\g /dev/null
	savepoint s;
	declare d cursor for select * from zedstore where k between 300 and 500;
	fetch 10 from d \\g /dev/null
	rollback to s;
	fetch 10 from c \\g /dev/null
	select 1 / (select 0 from zedstore where k < 300 limit 1);
	rollback;
	select count(c), sum(a),
		count(case when id % 9000 = 1 then pg_cancel_backend(pg_backend_pid()) end)
		from zedstore where k < 1009;
	set enable_bitmapscan = off;
	set enable_indexscan = on;
	select count(c), sum(a),
		count(case when id % 9000 = 1 then pg_cancel_backend(pg_backend_pid()) end)
		from zedstore where k < 1009;
	select count(c), sum(a),
		count(case when id % 9000 = 1 then pg_cancel_backend(pg_backend_pid()) end)
		from zedstore tablesample bernoulli (100);
	select 1}, on_error_stop => 0);
is($out, '1', 'errors end scans');
like($err, qr/division by zero.*division by zero.*user request.*user request.*user request/s,
	'as they should');

# ---- what can be seen of it

# Difference of the counters that a statement makes, as text.
sub counted
{
	my ($settings, $sql, $columns) = @_;

	return $node->safe_psql('postgres', qq{
		$settings
		$sql \\g /dev/null
		select $columns from zs_read_ahead()});
}
my $stream = 'set enable_indexscan = off; set enable_bitmapscan = off;';
is(counted($stream, "select $all from zedstore t",
		'streams > 10, asked > 100, used > 0.9 * asked, missed, wishes'),
	't|t|t|0|0', 'counters of a sequential scan');
is(counted("$parallel set max_parallel_workers = 0;", "select $all from zedstore t",
		'streams > 10, used > 0.9 * asked, missed, restarts'),
	't|t|0|0', 'counters of a scan in chunks');
is(counted($by_rows, "select sum(a) from zedstore where ctid >= '(20,1)' and ctid < '(24,1)'",
		'streams, asked < 0.7 * (select max(nblocks) from pg_zs_segments(\'zedstore\')
			where attname = \'a\'), missed, restarts'),
	'1|t|0|0', 'counters of a scan of a part of a segment');
is(counted($ways{off}, "select $all from zedstore t", 'streams, asked, missed, wishes'),
	'0|0|0|0', 'counters without look-ahead');
is(counted('', 'analyze zedstore', 'wishes > 1000, wish_pages > 100, farthest between 20 and 512'),
	't|t|t', 'counters of ANALYZE');
is(counted($index, 'select * from zedstore where k in (2, 88)',
		'asked, wishes > 100, wish_pages > 100, farthest'),
	'0|t|t|0', 'counters of an index scan');
is(counted("$bitmap", 'select * from zedstore where k < 300', 'wishes > 1000, farthest > 20'),
	't|t', 'counters of a bitmap scan')
  if $node->pg_version >= 18;
is(counted('', 'select * from zedstore order by a limit 20',
		'wishes >= 240, wish_pages > 50, farthest'),
	't|t|19', 'counters of a top-N scan');
for my $case (
	[ 'bitmap scan', $bitmap, 'select * from zedstore where k < 300' ],
	[ 'index scan', $index, 'select * from zedstore where k in (2, 88)' ],
	[ 'ANALYZE', '', 'analyze zedstore' ])
{
	my ($title, $settings, $sql) = @$case;

	is(counted("$settings $ways{'no concurrency'}", $sql, 'wish_pages, farthest'),
		'0|0', "no concurrency, no look-ahead: $title");
}

# ---- what nobody asks for is not read

my $value = $node->safe_psql('postgres', 'select a from heap where id = 31234');
my ($whole, $selective, $few) = map {
	counted($stream, $_, 'asked + wish_pages')
} ("select $all from zedstore t", "select * from zedstore where a = $value",
	'select * from (select * from zedstore limit 5) s');
cmp_ok($selective, '<', $whole / 2, "a row of a sequential scan: $selective of $whole pages");
cmp_ok($few, '<', $whole / 4, "LIMIT: $few of $whole pages");
$few = counted("$parallel set max_parallel_workers = 0;",
	'select * from (select * from zedstore limit 5) s', 'asked + wish_pages');
cmp_ok($few, '<', $whole / 4, "LIMIT over a parallel scan: $few of $whole pages");
$node->safe_psql('postgres',
	'create table little using zedstore as select * from heap where id <= 2000');
is(counted($parallel, 'select count(hashtext(l.*::text)) from little l',
		q{asked + wish_pages <= pg_relation_size('little') / 8192}),
	't', 'a parallel scan of a small table');

$node->adjust_conf('postgresql.conf', 'shared_buffers', '64MB');

# vectors that the filter excludes by their zone maps, in runs of eight within each segment
for my $am (qw(heap zedstore))
{
	$node->safe_psql('postgres', qq{
		create table ${am}_runs (k int, id int, a bigint, b bigint) using $am;
		insert into ${am}_runs select i / 8192 % 2, i, hashint8extended(i, 1),
			hashint8extended(i, 2) from generate_series(0, 196607) i;
		vacuum analyze ${am}_runs});
}

# Blocks that a statement reads in a server that has just started.
sub blocks_read
{
	my ($settings, $sql) = @_;

	$node->restart;
	my $plan = $node->safe_psql('postgres',
		"$settings explain (analyze, buffers, costs off, timing off, summary off) $sql");
	return $plan =~ /shared.* read=(\d+)/ ? $1 : 0;
}

for my $way ('by batches', 'by rows', 'in chunks')
{
	my $settings = $way eq 'by rows' ? $by_rows :
	  $way eq 'in chunks' ? "$parallel set max_parallel_workers = 0;" : '';

	for my $filter ('k = 1', 'k = 1 and id < 100000', 'k = 1 and id between 70000 and 90000')
	{
		my $sql = "select sum(a), sum(b % 1000), count(*) from zedstore_runs where $filter";
		my $all = blocks_read($settings,
			'select sum(a), sum(b % 1000), sum(k + id) from zedstore_runs');
		my ($ahead, $needed) = map { blocks_read("$settings $ways{$_}", $sql) } qw(on off);

		cmp_ok($needed, '<', 0.65 * $all, "$way, $filter: $needed of $all blocks are needed");
		cmp_ok($ahead, '<', 1.1 * $needed + 20, "$way, $filter: $ahead are read");
		is($node->safe_psql('postgres', "$settings $sql"),
			$node->safe_psql('postgres', $sql =~ s/zedstore_runs/heap_runs/r), "$way, $filter");
	}
}

# in shared buffers nothing is read ahead
$node->safe_psql('postgres', 'select sum(a), sum(b) from zedstore_runs');
is(counted($ways{on}, 'select sum(a), sum(b) from zedstore_runs', 'streams > 0, asked, missed'),
	't|0|0', 'counters of a scan of pages in shared buffers');

# ---- look-ahead joins the reads of a sample

SKIP:
{
	skip 'server does not count requests', 17 if $node->pg_version < 18;
	my $requests = q{select sum(reads) from pg_stat_io
		where backend_type = 'client backend' and object = 'relation'};
	my %reads;

	for my $way ('on', 'off')
	{
		$node->restart;
		my $session = $node->background_psql('postgres');
		$session->query_safe($ways{$way}) if $ways{$way} ne '';
		my $before = $session->query_safe($requests);
		$session->query_safe('analyze zedstore');
		$session->query_safe('select pg_stat_force_next_flush()');
		$reads{$way} = $session->query_safe($requests) - $before;
		$session->quit;
	}
	cmp_ok($reads{on}, '>', 0, 'pages were read');
	cmp_ok($reads{on}, '<', 0.5 * $reads{off}, 'ANALYZE reads with fewer requests');
	note "$reads{on} requests, $reads{off} without look-ahead";

	# segments are written anew; then what lies at the end of the file moves
	my %rows;
	for my $way ('on', 'off')
	{
		$node->safe_psql('postgres', qq{
			create table v using zedstore as select * from heap;
			insert into v select * from heap;
			delete from v where id % 10 < 4});
		$reads{$way} = 0;
		for my $delete ('', 'delete from v where id < 25000')
		{
			$node->safe_psql('postgres', $delete);
			$node->restart;
			my $session = $node->background_psql('postgres');
			$session->query_safe($ways{$way}) if $ways{$way} ne '';
			my $before = $session->query_safe($requests);
			$session->query_safe('vacuum v');
			$session->query_safe('select pg_stat_force_next_flush()');
			$reads{$way} += $session->query_safe($requests) - $before;
			$session->quit;
		}
		$rows{$way} = $node->safe_psql('postgres', "select $all from v t");
		zs_check_all($node, 'postgres');
		$node->safe_psql('postgres', 'drop table v');
	}
	is($rows{on}, $rows{off}, 'VACUUM leaves the same rows');
	cmp_ok($reads{on}, '<', 0.6 * $reads{off}, 'VACUUM reads with fewer requests');
	note "$reads{on} requests, $reads{off} without look-ahead";

	# leaves of the TID tree, of which there are many where rows went here and there
	my @statements = (
		'select count(*) from w', 'set max_parallel_workers_per_gather = 2; select count(*) from w',
		'set max_parallel_maintenance_workers = 0; create index on w (i)', 'vacuum w');
	my %output;
	for my $way ('on', 'off')
	{
		$node->safe_psql('postgres', q{
			create table w using zedstore as select i from generate_series(1, 300000) i;
			delete from w where hashint4(i) % 3 = 0});
		for my $statement (@statements)
		{
			$node->restart;
			my $session = $node->background_psql('postgres');
			$session->query_safe($ways{$way}) if $ways{$way} ne '';
			my $before = $session->query_safe($requests);
			$output{$way} .= $session->query_safe($statement);
			$session->query_safe('select pg_stat_force_next_flush()');
			$reads{"$way $statement"} = $session->query_safe($requests) - $before;
			$session->quit;
		}
		$output{$way} .= $node->safe_psql('postgres', q{
			create extension if not exists amcheck;
			select bt_index_check('w_i_idx', true);
			select count(*), sum(i) from w});
		zs_check_all($node, 'postgres');
		$node->safe_psql('postgres', 'drop table w');
	}
	is($output{on}, $output{off}, 'leaves are read ahead: the same rows');

	# those of the row tree, before VACUUM
	%output = ();
	for my $way ('on', 'off')
	{
		$node->safe_psql('postgres', q{
			create table r (i int, t text) using zedstore;
			do $$ begin for part in 0 .. 29 loop
				insert into r select g, md5(g::text) || repeat('x', 60)
					from generate_series(part * 2000 + 1, part * 2000 + 2000) g;
				commit;
			end loop; end $$;
			delete from r where i % 7 = 0});
		$node->restart;
		my $session = $node->background_psql('postgres');
		$session->query_safe($ways{$way}) if $ways{$way} ne '';
		my $before = $session->query_safe($requests);
		$output{$way} = $session->query_safe(q{
			begin;
			declare c cursor for select sum(i) over (rows 5 preceding), t from r;
			fetch 10000 from c \g /dev/null
			rollback;
			select count(*), sum(hashtext(t)::bigint) from r});
		$session->query_safe('select pg_stat_force_next_flush()');
		$reads{$way} = $session->query_safe($requests) - $before;
		$session->quit;
		zs_check_all($node, 'postgres');
		$node->safe_psql('postgres', 'drop table r');
	}
	is($output{on}, $output{off}, 'leaves of the row tree are read ahead: the same rows');
	cmp_ok($reads{on}, '<', 0.5 * $reads{off}, 'with fewer requests');
	note "$reads{on} requests, $reads{off} without look-ahead";

	# zs_check tells of pages before it reads them
	my %told;
	for my $way ('on', 'off', 'no concurrency')
	{
		$node->restart;
		($output{$way}, $told{$way}) = split /^-\n/m, $node->safe_psql('postgres', qq{
			$ways{$way}
			select count(*) from zs_check('zedstore');
			select '-';
			select wish_pages from zs_read_ahead()});
	}
	is("$output{on}$output{off}$output{'no concurrency'}", "0\n" x 3, 'zs_check finds nothing');
	cmp_ok($told{on}, '>', 100, "zs_check looks ahead: $told{on} pages");
	is("$told{off} $told{'no concurrency'}", '0 0', 'not when that is switched off');
	for my $statement (@statements[0, 2, 3])
	{
		# those of catalogs are the same
		cmp_ok($reads{"on $statement"}, '<', $reads{"off $statement"} - 15,
			"leaves are read ahead with fewer requests: $statement");
		note qq{$reads{"on $statement"} requests, $reads{"off $statement"} without look-ahead};
	}
}

unlike(slurp_file($node->logfile), qr/refcount leak|resource was not closed|TRAP/,
	'nothing leaked');
zs_check_all($node, 'postgres');

done_testing();
