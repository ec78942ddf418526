# A database whose default access method is zedstore: TimescaleDB's own tables must be heap tables,
# because it writes them past the access method, and hypertables, chunks and aggregates are zedstore
# tables.  What TimescaleDB compresses lies in a table that it makes with the default access method
# and fills with heap rows; it must be refused then, and lose nothing.
use strict;
use warnings FATAL => 'all';

use ZedstoreTest;
use ZedstoreTimescale;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# the other order of the libraries
my $node = timescale_node('main', conf => "shared_preload_libraries = 'zedstore_io,timescaledb'\n");
my $apache = is_apache($node);

# ---- CREATE EXTENSION under the default

$node->safe_psql('postgres', q{
	create database d;
	alter database d set default_table_access_method = zedstore});
$node->safe_psql('d', 'create extension zedstore_io schema public');
$node->safe_psql('d', 'set client_min_messages = error; create extension timescaledb');
is($node->safe_psql('d', q{
	select string_agg(distinct a.amname, ',') from pg_class c join pg_am a on a.oid = c.relam
		join pg_depend d on d.objid = c.oid and d.classid = 'pg_class'::regclass and d.deptype = 'e'
		join pg_extension e on e.oid = d.refobjid and d.refclassid = 'pg_extension'::regclass
	where c.relkind = 'r' and e.extname = 'timescaledb'}), 'heap', "TimescaleDB's catalogs are heap tables");

my $twins = ZedstoreTwins->new($node, 'd');
sub make_pair
{
	my ($name) = @_;
	$node->safe_psql('d', "set client_min_messages = error; create table ${name}_$_->[0] (ts timestamptz not null, dev int not null, v float8) $_->[1];
			select create_hypertable('${name}_$_->[0]', 'ts', chunk_time_interval => interval '1 day');
			insert into ${name}_$_->[0] select timestamptz '2026-01-01' + i * interval '10 min', i % 7, i * 0.5 from generate_series(1, 2000) i")
	  foreach ([ 'h', 'using heap' ], [ 'z', '' ]);
	return;
}
sub table_ams
{
	my ($pattern) = @_;
	return $node->safe_psql('d', qq{
		select amname, count(*) from pg_class c join pg_am a on a.oid = c.relam
		where c.relkind = 'r' and c.relname ~ '$pattern' group by 1 order by 1});
}

make_pair('t');
$twins->same('select * from t_@');
is($node->safe_psql('d', q{select count(*) from show_chunks('t_z')}), '14', 'chunks');
is($node->safe_psql('d', q{select distinct amname from show_chunks('t_z') s join pg_class c on c.oid = s join pg_am a on a.oid = c.relam}),
	'zedstore', 'which zedstore stores');
is($node->safe_psql('d', q{select distinct amname from show_chunks('t_h') s join pg_class c on c.oid = s join pg_am a on a.oid = c.relam}),
	'heap', 'a hypertable with an access method of its own gives it to its chunks');
# also where the session's default is another one
$node->safe_psql('d', q{set default_table_access_method = heap; insert into t_z values ('2026-05-05', 1, 1)});
$node->safe_psql('d', q{insert into t_h values ('2026-05-05', 1, 1)});
is($node->safe_psql('d', q{select distinct amname from show_chunks('t_z') s join pg_class c on c.oid = s join pg_am a on a.oid = c.relam}),
	'zedstore', 'chunks follow the hypertable');
# chunks that nobody inserts into
foreach my $twin ('h', 'z')
{
	last if $apache;
	$node->safe_psql('d', qq[select _timescaledb_functions.create_chunk('t_$twin', '{"ts": [1798761600000000, 1798848000000000]}')]);
}
$twins->same('select * from t_@');

if (!$apache)
{
	# ---- continuous aggregates

	my $query = q{select time_bucket('1 day', ts) as day, dev, count(*) as n, sum(v) as s};
	$node->safe_psql('d', "create materialized view c_h using heap with (timescaledb.continuous) as $query from t_h group by 1, 2");
	my ($status, $stdout, $stderr) =
	  $node->psql('d', "create materialized view c_z with (timescaledb.continuous) as $query from t_z group by 1, 2");
	is($status, 0, 'continuous aggregate') or diag $stderr;
	$twins->same('select * from c_@');
	$twins->both('update t_@ set v = v + 1 where dev = 3');
	$twins->both(q{call refresh_continuous_aggregate('c_@', null, null)}, 'refresh');
	$twins->same('select * from c_@');

	# ---- compression never loses

	my $count = $node->safe_psql('d', 'select count(*), sum(v) from t_z');
	foreach my $statement (
		q{alter table t_z set (timescaledb.compress, timescaledb.compress_segmentby = 'dev')},
		q{select count(compress_chunk(c)) from show_chunks('t_z') c},
		q{do $$ declare c regclass; begin for c in select show_chunks('t_z') loop perform compress_chunk(c); end loop; end $$},
		q{create table made as select compress_chunk(c) from show_chunks('t_z') c})
	{
		my ($status, $stdout, $stderr) = $node->psql('d', $statement);
		if ($statement =~ /compress_chunk/)
		{
			isnt($status, 0, "refused: $statement");
			like($stderr, qr/ERROR:.*(zedstore|default_table_access_method)/s, 'the error names the reason');
			like($stderr, qr/HINT:.*default_table_access_method/s, 'and the way out');
		}
		is($node->safe_psql('d', 'select count(*), sum(v) from t_z'), $count, "no row is lost by: $statement");
		is(table_ams('^(compress_hyper_|_hyper_.*_compressed$)'), '', 'no table is left');
	}
	# so is a job, which goes on failing
	my $job = $node->safe_psql('d', q{
		set default_table_access_method = heap;
		alter table t_z set (timescaledb.compress, timescaledb.compress_segmentby = 'dev');
		select add_compression_policy('t_z', interval '1 day')});
	my ($job_status, undef, $job_stderr) = $node->psql('d', "call run_job($job)");
	like($job_stderr, qr/cannot get the access method "zedstore" by default/, 'a policy says why it does nothing');
	is($node->safe_psql('d', 'select count(*), sum(v) from t_z'), $count, 'no row is lost by a policy');
	$node->safe_psql('d', q{select remove_compression_policy('t_z')});
	# the way out that the hint names
	$node->safe_psql('d', q{set default_table_access_method = heap;
		alter table t_z set (timescaledb.compress, timescaledb.compress_segmentby = 'dev');
		select compress_chunk(c) from show_chunks('t_z') c});
	is($node->safe_psql('d', 'select count(*), sum(v) from t_z'), $count, 'compressed with heap as the default');
	like(table_ams('^(compress_hyper_|_hyper_.*_compressed$)'), qr/^heap\|\d+$/, 'compressed rows lie in heap tables');
	# changes of compressed rows make no tables
	$twins->both('update t_@ set v = v + 1 where dev = 2');
	$twins->both(q{delete from t_@ where ts < '2026-01-02'});
	$twins->both(q{insert into t_@ select ts, 99, v from t_@ where dev = 1});
	$twins->same('select * from t_@');
	# compressing again does not, if something is left of the compressed chunk
	$node->safe_psql('d', 'set default_table_access_method = heap; select compress_chunk(c, true) from show_chunks(\'t_z\') c');
	$twins->same('select * from t_@');
	$node->safe_psql('d', 'select decompress_chunk(c, true) from show_chunks(\'t_z\') c');
	$twins->same('select * from t_@');

	# hypertables for which compression is on from the start
	$node->safe_psql('d', q{create table n_z (ts timestamptz not null, v int) with (tsdb.hypertable, tsdb.partition_column = 'ts')});
	$node->safe_psql('d', q{insert into n_z select timestamptz '2026-01-01' + i * interval '1 hour', i from generate_series(1, 1000) i});
	isnt($node->psql('d', q{select compress_chunk(c) from show_chunks('n_z') c}), 0, 'refused there, too');
	is($node->safe_psql('d', 'select count(*) from n_z'), '1000', 'no row is lost');
	if ($node->safe_psql('d', q{select count(*) from pg_settings where name = 'timescaledb.enable_direct_compress_insert'}))
	{
		$node->psql('d', q{set timescaledb.enable_direct_compress_insert = on;
			insert into n_z select timestamptz '2026-03-01' + i * interval '1 hour', i from generate_series(1, 1000) i});
		my $left = $node->safe_psql('d', 'select count(*) from n_z');
		like($left, qr/^(1000|2000)$/, 'rows compressed while they are loaded: all or none');
	}
}
zs_check_all($node, 'd');
$twins->both('vacuum t_@');
$twins->same('select * from t_@', 'after VACUUM');

unlike(slurp_file($node->logfile), qr/TRAP:|terminated by signal|PANIC/, 'no crash in the log');
$node->stop;
done_testing();
