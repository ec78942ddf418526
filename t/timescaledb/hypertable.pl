# Hypertables whose chunks are zedstore tables: whatever TimescaleDB's Apache part does to
# hypertables does the same to a heap twin.
use strict;
use warnings FATAL => 'all';

use ZedstoreTest;
use ZedstoreTimescale;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = timescale_node('main');
my $twins = timescale_twins($node);
$node->safe_psql('ts', 'create extension amcheck');

# ---- rows

make_hypertables($twins, 't', 'ts timestamptz not null, dev int not null, v float8, note text',
	rows => q{select timestamptz '2026-01-01' + i * interval '10 min', i % 7, i * 0.5, 'n' || i from generate_series(1, 3000) i});
check_hypertables($twins, 't', 'INSERT ... SELECT');
is(chunks_am($node, 't_z'), 'zedstore|21', 'a chunk for each day, which zedstore stores');

$twins->both('create unique index on t_@ (dev, ts)');
$twins->both('create index on t_@ (note)');
$twins->both('create index on t_@ using brin (ts)');
$twins->both(q{insert into t_@ select timestamptz '2026-02-01' + i * interval '1 min', 1, i, null from generate_series(1, 300) i});
$twins->both(q{insert into t_@ values ('2026-01-02 00:00', 1, 1, 'duplicate?') returning dev, v, note, tableoid::regclass});
$twins->both(q{insert into t_@ select * from t_@ order by ts limit 10}, 'duplicate keys', error => qr/duplicate key value violates unique constraint/);
$twins->both(q{insert into t_@ select * from t_@ order by ts limit 10 on conflict do nothing});
$twins->both(q{with n as (insert into t_@ select ts, dev, 7, 'again' from t_@ where ts < '2026-01-04'
	on conflict (dev, ts) do update set v = t_@.v + excluded.v, note = excluded.note returning ts, v)
	select count(*), sum(v) from n});
$twins->both('update t_@ set v = v + 1, note = note || dev where dev in (3, 5)');
$twins->both('update t_@ set note = repeat(note, 2000) where dev = 2 and v < 300');
$twins->both('update t_@ set ts = ts where dev = 6');
$twins->both('update t_@ set dev = dev where ts > now() - interval \'100 years\' and v > 1400');
$twins->both(q{delete from t_@ where dev = 4 and ts < '2026-01-10'});
$twins->both(q{with d as (delete from t_@ where v between 200 and 210 returning *) select count(*), sum(v) from d});
$twins->both(q{merge into t_@ t using (select ts, dev, 1000 as v from t_@ where dev = 0
		union all select timestamptz '2026-03-01' + i * interval '1 hour', 0, i from generate_series(1, 40) i) s
	on t.ts = s.ts and t.dev = s.dev
	when matched and s.ts < '2026-01-08' then delete
	when matched then update set v = t.v + s.v
	when not matched then insert values (s.ts, s.dev, s.v, 'merged')});
$twins->both('begin; savepoint a; delete from t_@; rollback to a; insert into t_@ values (\'2026-05-05\', 1, 2, \'kept\');
	savepoint b; insert into t_@ values (\'2026-06-06\', 1, 2, \'lost\'); rollback to b; commit');
check_hypertables($twins, 't', 'changes', 'dev');

# COPY divides rows by its own code
my $file = $node->basedir . '/rows';
open(my $handle, '>', $file) or die $!;
print $handle join("\t", "2026-04-0" . (1 + $_ % 9) . " 01:00:00." . sprintf('%06d', $_), $_ % 5, $_, "copied $_"), "\n" foreach (1 .. 20000);
close($handle);
$twins->both("\\copy t_@ from '$file'", 'COPY FROM');
# which one is met first depends on the order in which chunks are written
$twins->both("\\set VERBOSITY terse\n\\copy t_@ from '$file'", 'COPY FROM of duplicate keys', error => qr/duplicate key value/);
$twins->both(q{copy (select * from t_@ where note like 'copied 1%' order by ts, dev) to stdout}, 'COPY TO');
check_hypertables($twins, 't', 'COPY', 'dev');

# ---- queries

$twins->both($_) foreach (
	q{select time_bucket('1 day', ts) d, dev, count(*), round(sum(v)::numeric, 3), first(note, ts), last(v, ts) from t_@ group by 1, 2 order by 1, 2},
	q{select * from t_@ where dev = 3 order by ts desc limit 20},
	q{select * from t_@ order by ts, dev limit 20},
	q{select distinct on (dev) dev, ts, v from t_@ order by dev, ts desc},
	q{select count(*) from t_@ where ts >= '2026-01-03' and ts < '2026-01-05' and v > 200},
	q{select histogram(v, 0, 2000, 10) from t_@},
	q{select dev, ts from t_@ where (dev, ts) in (select dev, max(ts) from t_@ group by dev) order by 1},
	q{select count(*) from t_@ a join t_@ b using (ts) where a.dev < b.dev},
	q{begin; declare c cursor for select dev, ts from t_@ order by ts, dev; fetch 5 from c; move 100 in c; fetch 3 from c; commit},
	q{select ts, v from t_@ where ts < '2026-01-02' order by ts, dev for update limit 5},
	q{prepare p (timestamptz) as select count(*), sum(v) from t_@ where ts >= $1; execute p ('2026-01-10');
		set plan_cache_mode = force_generic_plan; execute p ('2026-01-15')},
	q{set timescaledb.enable_chunk_append = off; select count(*) from t_@ where ts > now() - interval '100 years'});
$twins->both(q{set max_parallel_workers_per_gather = 2; set parallel_setup_cost = 0; set parallel_tuple_cost = 0;
	set min_parallel_table_scan_size = 0; select dev, count(*), sum(length(note)) from t_@ group by dev order by dev}, 'parallel plan');

# ---- chunks

$twins->both(q{select count(*) from drop_chunks('t_@', timestamptz '2026-01-03')});
$twins->both(q{select count(*) from drop_chunks('t_@', newer_than => timestamptz '2026-06-01')});
$twins->both(q{select set_chunk_time_interval('t_@', interval '7 days')});
$twins->both(q{insert into t_@ select timestamptz '2026-07-01' + i * interval '6 hours', i % 3, i, 'weekly' from generate_series(1, 100) i});
check_hypertables($twins, 't', 'after drop_chunks and another interval', 'dev');
$twins->both(q{select approximate_row_count('t_@') >= 0, hypertable_size('t_@') > 0, (hypertable_detailed_size('t_@')).index_bytes > 0});
$twins->both(q{select count(*), sum((total_bytes > 0)::int) from chunks_detailed_size('t_@')});
$twins->both(q{select chunk_schema, range_start, range_end from timescaledb_information.chunks where hypertable_name = 't_@' order by 2});

# what a user does to single chunks
foreach my $statement (
	'vacuum (freeze) CHUNK', 'analyze CHUNK', 'vacuum full CHUNK', 'cluster CHUNK using INDEX',
	'reindex table CHUNK', 'reindex table concurrently CHUNK', 'truncate CHUNK')
{
	foreach my $twin ('h', 'z')
	{
		my ($chunk, $index) = split(/\|/, $node->safe_psql('ts', qq{
			select s, c.relname from show_chunks('t_$twin') with ordinality x(s, n)
				join pg_index i on i.indrelid = s and i.indisunique join pg_class c on c.oid = i.indexrelid
			order by n offset 2 limit 1}));
		$node->safe_psql('ts', $statement =~ s/CHUNK/$chunk/r =~ s/INDEX/$index/r);
	}
	check_hypertables($twins, 't', "chunk: $statement", 'dev');
}
$twins->both('vacuum (analyze) t_@');
is($node->safe_psql('ts', q{select count(*) > 5 from pg_stats where tablename in (select c.relname from show_chunks('t_z') s join pg_class c on c.oid = s)}),
	't', 'chunks have statistics');
$twins->both('vacuum full t_@');
$twins->both('reindex table t_@');
$twins->both('cluster t_@ using t_@_dev_ts_idx');
check_hypertables($twins, 't', 'VACUUM FULL, REINDEX and CLUSTER of the hypertable', 'dev');
# relpages are logical blocks; rows are rows
$twins->both('analyze t_@');
$twins->same(q{select sum(c.reltuples) from show_chunks('t_@') s join pg_class c on c.oid = s});

# ---- definitions

$twins->both('alter table t_@ add column d1 int default 5');
$twins->both('alter table t_@ add column d2 timestamptz default now()');
$twins->both('alter table t_@ drop column d2');
$twins->both('alter table t_@ add column d3 text collate "C"');
$twins->both(q{update t_@ set d3 = 'x' || dev where dev = 1});
$twins->both('alter table t_@ alter column v type numeric using v::numeric(12, 2)');
$twins->both('alter table t_@ rename column note to remark');
$twins->both('alter table t_@ alter column d1 set default 9, alter column d1 set not null');
$twins->both('alter table t_@ alter column d1 set statistics 500, alter column d3 set storage external');
$twins->both('alter table t_@ add constraint positive check (v > -10) not valid');
$twins->both('alter table t_@ validate constraint positive');
$twins->both('insert into t_@ (ts, dev, v) values (\'2026-07-02\', 99, -11)', undef, error => qr/violates check constraint/);
$twins->both('insert into t_@ (ts, dev, v) values (\'2026-07-02\', 99, 11) returning d1, d3');
check_hypertables($twins, 't', 'ALTER TABLE', 'dev');

# triggers
$node->safe_psql('ts', q{
	create table log_h (op text, dev int, v numeric); create table log_z (op text, dev int, v numeric);
	create function note() returns trigger language plpgsql as $$ begin
		execute format('insert into log%s values ($1, $2, $3)', tg_argv[0])
			using tg_op || tg_when, coalesce(new.dev, old.dev), coalesce(new.v, old.v);
		return coalesce(new, old); end $$});
$twins->both(q{create trigger b before insert or update on t_@ for each row execute function note('_@')});
$twins->both(q{create trigger a after delete or update on t_@ for each row execute function note('_@')});
$twins->both(q{insert into t_@ (ts, dev, v) select timestamptz '2026-08-01' + i * interval '1 day', 50, i from generate_series(1, 20) i});
$twins->both('update t_@ set v = v * 2 where dev = 50');
$twins->both('delete from t_@ where dev = 50 and v > 30');
$twins->same('select * from log_@', 'triggers saw the same rows');

# foreign keys
$node->safe_psql('ts', 'create table devs (dev int primary key) using zedstore; insert into devs select generate_series(0, 100)');
$twins->both('alter table t_@ add constraint fk foreign key (dev) references devs on delete cascade');
$twins->both(q{insert into t_@ (ts, dev, v) values ('2026-07-02', 1000, 1)}, undef, error => qr/violates foreign key/);
$node->safe_psql('ts', 'delete from devs where dev = 2');
$twins->same('select count(*) from t_@ where dev = 2');
# and to a hypertable
$node->safe_psql('ts', 'create table ref_h (dev int, ts timestamptz); create table ref_z (like ref_h) using zedstore');
$twins->both('insert into ref_@ select dev, ts from t_@ where dev in (1, 3)');
$twins->both('alter table ref_@ add foreign key (dev, ts) references t_@ (dev, ts) on delete cascade');
$twins->both(q{insert into ref_@ values (1, '1999-01-01')}, undef, error => qr/violates foreign key/);
$twins->both(q{delete from t_@ where dev = 3 and ts < '2026-02-01'});
$twins->same('select * from ref_@');
$twins->both('drop table ref_@');
check_hypertables($twins, 't', 'foreign keys and triggers', 'dev');

# ---- several dimensions

make_hypertables($twins, 'd', 'ts timestamptz not null, place text not null, n bigint, primary key (ts, place)', interval => q{interval '1 month'});
$twins->both(q{select dimension_id is not null from add_dimension('d_@', 'place', number_partitions => 4)});
$twins->both(q{insert into d_@ select timestamptz '2026-01-01' + i * interval '1 hour', 'p' || i % 50, i from generate_series(1, 4000) i});
$twins->both(q{insert into d_@ select ts, place, 1 from d_@ on conflict on constraint d_@_pkey do update set n = d_@.n + 1});
check_hypertables($twins, 'd', 'space partitions', 'place');
cmp_ok($node->safe_psql('ts', q{select count(*) from show_chunks('d_z')}), '>', 12, 'more chunks than months');
$twins->both(q{select count(*) from d_@ where place = 'p7' and ts > '2026-02-01'});

# integers as time
make_hypertables($twins, 'i', 'n bigint not null, v text', interval => '1000', rows => q{select i, md5(i::text) from generate_series(1, 5000) i});
check_hypertables($twins, 'i', 'integer time');
is(chunks_am($node, 'i_z'), 'zedstore|6', 'a chunk for a thousand numbers each');

# ---- tablespaces

$node->safe_psql('postgres', 'set allow_in_place_tablespaces = on; create tablespace ts1 location \'\'');
$twins->both(q{select attach_tablespace('ts1', 'i_@')});
$twins->both(q{insert into i_@ select i, md5(i::text) from generate_series(10001, 13000) i});
$twins->same(q{select count(*), t.spcname from show_chunks('i_@') s join pg_class c on c.oid = s left join pg_tablespace t on t.oid = c.reltablespace group by 2});
$twins->both(q{select detach_tablespace('ts1', 'i_@')});
foreach my $twin ('h', 'z')
{
	my $chunk = $node->safe_psql('ts', "select s from show_chunks('i_$twin') s limit 1");
	$node->safe_psql('ts', "alter table $chunk set tablespace ts1");
}
check_hypertables($twins, 'i', 'chunks in other tablespaces');

# ---- the access method

# Of the hypertable it is that of the chunks to come.
$node->safe_psql('ts', 'alter table i_z set access method heap');
is(chunks_am($node, 'i_z'), 'zedstore|10', 'SET ACCESS METHOD of the hypertable leaves the chunks');
$node->safe_psql('ts', q{insert into i_z select i, md5(i::text) from generate_series(20001, 20010) i});
$node->safe_psql('ts', q{insert into i_h select i, md5(i::text) from generate_series(20001, 20010) i});
is(chunks_am($node, 'i_z'), "heap|1\nzedstore|10", 'and holds for new ones');
$twins->same('select * from i_@', 'rows after SET ACCESS METHOD heap');
$node->safe_psql('ts', q{do $$ declare c regclass; begin
	alter table i_z set access method zedstore;
	for c in select show_chunks('i_z') loop execute format('alter table %s set access method zedstore', c); end loop; end $$});
check_hypertables($twins, 'i', 'SET ACCESS METHOD zedstore of the chunks');

# ---- options

# of single chunks
my ($chunk) = split(/\n/, $node->safe_psql('ts', q{select s from show_chunks('i_z') s order by 1 limit 1}));
$node->safe_psql('ts', "alter table $chunk set (zedstore_compression = zstd, zedstore_compression_level = 5)");
is($node->safe_psql('ts', "select reloptions from pg_class where oid = '$chunk'::regclass"),
	'{zedstore_compression=zstd,zedstore_compression_level=5}', 'options of a chunk');
$node->safe_psql('ts', "vacuum full $chunk");
check_hypertables($twins, 'i', 'options of a chunk');
$node->safe_psql('ts', "alter table $chunk reset (zedstore_compression, zedstore_compression_level)");
# Those that core knows and what columns have go to new chunks.
$twins->both('alter table i_@ set (autovacuum_enabled = off), alter column v set compression lz4');
$twins->both(q{insert into i_@ select i, md5(i::text) from generate_series(40001, 40010) i});
$twins->same(q{select reloptions, attcompression from pg_attribute a, pg_class c where c.oid = attrelid and attname = 'v'
	and c.oid = (select s from show_chunks('i_@', newer_than => 40000) s)}, 'what a new chunk inherits');
# Ours are refused there, by core: docs/extensions.md.
$node->safe_psql('ts', 'alter table i_z set (zedstore_compression = zstd)');
my ($status, undef, $stderr) = $node->psql('ts', q{insert into i_z values (50001, 'new chunk')});
isnt($status, 0, 'a hypertable with zedstore options gets no new chunk');
like($stderr, qr/ERROR:  unrecognized parameter "zedstore_compression"/, 'and says why');
$node->safe_psql('ts', q{insert into i_z values (40011, 'old chunk'); insert into i_h values (40011, 'old chunk')});
$node->safe_psql('ts', 'alter table i_z reset (zedstore_compression)');
$twins->both(q{insert into i_@ values (50001, 'new chunk')});
check_hypertables($twins, 'i', 'options of the hypertable');

# ---- what does not work says so

$node->safe_psql('ts', q{
	create table m_h (ts timestamptz not null, v int); create table m_z (like m_h) using zedstore;
	insert into m_h select timestamptz '2026-01-01' + i * interval '1 hour', i from generate_series(1, 500) i;
	insert into m_z select * from m_h});
$twins->refused(q{select count(*) from create_hypertable('m_@', 'ts', migrate_data => true)}, qr/ERROR:  only heap AM is supported/);
$twins->same('select * from m_@', 'the rows are still there');
# the way around: from an empty hypertable
$node->safe_psql('ts', q{
	alter table m_z rename to m_old; create table m_z (like m_old) using zedstore;
	select create_hypertable('m_z', 'ts'); insert into m_z select * from m_old; drop table m_old});
check_hypertables($twins, 'm', 'rows moved by INSERT ... SELECT');

# ---- crash

$twins->both(q{insert into t_@ (ts, dev, v) select timestamptz '2026-09-01' + i * interval '1 hour', 60, i from generate_series(1, 500) i});
$node->stop('immediate');
$node->start;
check_hypertables($twins, $_, 'after a crash') foreach ('t', 'd', 'i', 'm');

unlike(slurp_file($node->logfile), qr/TRAP:|terminated by signal|PANIC/, 'no crash in the log');
$node->stop;
done_testing();
