# Compression of chunks that are zedstore tables.  TimescaleDB writes what it compresses into a
# table of its own past the access method, as heap rows; that table must be a heap table, and is
# one where heap is the default.  Changes of compressed rows write rows into the chunk again.
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
$twins->both(q{alter table t_@ set (timescaledb.compress, timescaledb.compress_segmentby = 'dev', timescaledb.compress_orderby = 'ts desc')});

# Compressed chunks of a hypertable, and the access methods of their tables.
sub compressed
{
	my ($name) = @_;
	return $node->safe_psql('ts', qq{
		select count(*) filter (where is_compressed) from timescaledb_information.chunks where hypertable_name = '$name'});
}
sub compressed_am
{
	return $node->safe_psql('ts', q{
		select string_agg(distinct amname, ',') from pg_class c join pg_am a on a.oid = c.relam
		where c.relkind = 'r' and c.relname ~ '^(compress_hyper_|_hyper_.*_compressed$)'});
}

$twins->both(q{select count(compress_chunk(c)) from (select c from show_chunks('t_@', older_than => timestamptz '2026-01-15') c) s});
cmp_ok(compressed('t_z'), '>', 10, 'chunks are compressed');
is(compressed_am(), 'heap', 'into heap tables');
check_hypertables($twins, 't', 'compressed', 'dev');

# ---- reading

$twins->both($_) foreach (
	q{select dev, count(*), sum(v) from t_@ group by dev order by dev},
	q{select * from t_@ where dev = 3 and ts < '2026-01-04' order by ts},
	q{select dev, ts, note from t_@ where ts between '2026-01-14 20:00' and '2026-01-15 04:00' order by ts},
	q{select first(v, ts), last(v, ts) from t_@},
	q{select count(*) from t_@ where note = 'n100'});

# ---- changes of compressed rows

$twins->both(q{update t_@ set v = v + 1000 where dev = 2 and ts < '2026-01-05'});
$twins->both(q{delete from t_@ where dev = 3 and ts < '2026-01-07'});
$twins->both(q{delete from t_@ where ts < '2026-01-02' and v < 20});
check_hypertables($twins, 't', 'updated and deleted', 'dev');
$twins->both(q{insert into t_@ select timestamptz '2026-01-03' + i * interval '1 min', 8, i, 'late' from generate_series(1, 500) i});
$twins->both(q{insert into t_@ select ts, dev, 1, 'conflict' from t_@ where ts < '2026-01-03' on conflict do nothing});
$twins->both(q{insert into t_@ select ts, dev, 1, 'conflict' from t_@ where ts < '2026-01-03' and dev in (1, 5)
	on conflict (dev, ts) do update set v = t_@.v + excluded.v, note = excluded.note});
$twins->both(q{insert into t_@ select ts, dev, 1, 'conflict' from t_@ where ts < '2026-01-03' order by ts limit 1}, 'duplicate keys',
	error => qr/duplicate key value/);
$twins->both(q{begin; delete from t_@; rollback});
my $file = $node->basedir . '/rows';
open(my $handle, '>', $file) or die $!;
print $handle join("\t", "2026-01-0" . (1 + $_ % 9) . " 01:00:00." . sprintf('%06d', $_), $_ % 5, $_, "copied $_"), "\n" foreach (1 .. 5000);
close($handle);
$twins->both("\\copy t_@ from '$file'", 'COPY into compressed chunks');
check_hypertables($twins, 't', 'changed', 'dev');

# ---- compressing anew, definitions, VACUUM

$twins->both(q{select count(compress_chunk(c, if_not_compressed => true)) from show_chunks('t_@') c});
check_hypertables($twins, 't', 'recompressed', 'dev');
$twins->both('alter table t_@ add column extra int default 3');
$twins->both('alter table t_@ rename column note to remark');
$twins->both(q{update t_@ set extra = 4 where dev = 1 and ts < '2026-01-03'});
$twins->both('vacuum analyze t_@');
$twins->both('vacuum full t_@');
check_hypertables($twins, 't', 'definitions and VACUUM', 'dev');
$twins->both(q{select count(*) from drop_chunks('t_@', timestamptz '2026-01-03')});
check_hypertables($twins, 't', 'chunks dropped', 'dev');

# newer names of the same
if ($node->safe_psql('ts', q{select count(*) from pg_proc where proname = 'convert_to_columnstore'}))
{
	foreach my $twin ('h', 'z')
	{
		my ($chunk) = split(/\n/, $node->safe_psql('ts', "select s from show_chunks('t_$twin') s order by 1 limit 1"));
		$node->safe_psql('ts', "call convert_to_rowstore('$chunk')");
		$node->safe_psql('ts', "call convert_to_columnstore('$chunk')");
	}
	check_hypertables($twins, 't', 'columnstore and back', 'dev');
}
# policy
$twins->both(q{select count(decompress_chunk(c, true)) from show_chunks('t_@') c});
is(compressed('t_z'), '0', 'all is decompressed');
check_hypertables($twins, 't', 'decompressed', 'dev');
$node->safe_psql('ts', qq{create table if not exists jobs (twin text, id int);
	insert into jobs select '$_', add_compression_policy('t_$_', interval '1 day')}) foreach ('h', 'z');
$node->safe_psql('ts', 'call run_job(' . $node->safe_psql('ts', "select id from jobs where twin = '$_'") . ')') foreach ('h', 'z');
cmp_ok(compressed('t_z'), '>', 10, 'the policy compresses');
check_hypertables($twins, 't', 'compressed by a policy', 'dev');

# hypertables that are made for it
$node->safe_psql('ts', "set client_min_messages = error; create table n_$_->[0] (ts timestamptz not null, dev int, v float8) using $_->[1]
		with (tsdb.hypertable, tsdb.partition_column = 'ts', tsdb.segmentby = 'dev', tsdb.chunk_interval = '1 day')")
  foreach ([ 'h', 'heap' ], [ 'z', 'zedstore' ]);
$twins->both(q{insert into n_@ select timestamptz '2026-01-01' + i * interval '10 min', i % 7, i * 0.5 from generate_series(1, 3000) i});
# rows that are compressed before they are written
foreach my $what (
	[ 'timescaledb.enable_direct_compress_copy', "copy n_@ from '" . $node->basedir . "/direct'" ],
	[ 'timescaledb.enable_direct_compress_insert', q{insert into n_@ select timestamptz '2026-03-01' + i * interval '10 min', i % 7, i from generate_series(1, 3000) i order by i % 7, i} ])
{
	next if !$node->safe_psql('ts', "select count(*) from pg_settings where name = '$what->[0]'");
	$node->safe_psql('ts', q{copy (select timestamptz '2026-02-01' + i * interval '10 min', i % 7, i from generate_series(1, 3000) i order by i % 7, i) to '} . $node->basedir . q{/direct'});
	$twins->both("set $what->[0] = on; $what->[1]");
	check_hypertables($twins, 'n', $what->[0]);
}
cmp_ok(compressed('n_z'), '>', 10, 'rows were compressed while they were loaded')
  if $node->safe_psql('ts', q{select count(*) from pg_settings where name ~ 'timescaledb.enable_direct_compress'});

# compressed aggregates
$node->safe_psql('ts', qq{create materialized view c_$_->[0] using $_->[1] with (timescaledb.continuous) as
		select time_bucket('1 day', ts) as day, dev, count(*) n from n_$_->[0] group by 1, 2}) foreach ([ 'h', 'heap' ], [ 'z', 'zedstore' ]);
$twins->both('alter materialized view c_@ set (timescaledb.compress = true)');
$twins->both(q{select count(compress_chunk(c)) from show_chunks('c_@') c});
$twins->both(q{insert into n_@ select timestamptz '2026-01-01' + i * interval '10 min', 9, i * 0.5 from generate_series(1, 3000) i});
$twins->both('call refresh_continuous_aggregate(\'c_@\', null, null)');
$twins->same('select * from c_@', 'compressed aggregate');

is(compressed_am(), 'heap', 'compressed rows lie in heap tables');

$node->stop('immediate');
$node->start;
check_hypertables($twins, 't', 'after a crash', 'dev');
check_hypertables($twins, 'n', 'after a crash');
unlike(slurp_file($node->logfile), qr/TRAP:|terminated by signal|PANIC/, 'no crash in the log');
$node->stop;
done_testing();
