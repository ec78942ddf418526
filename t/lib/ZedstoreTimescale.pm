# What the tests in t/timescaledb share: a server with both extensions, and
# twins that are hypertables.

package ZedstoreTimescale;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;
use ZedstoreTwins;

our @EXPORT = qw(
  timescale_node
  timescale_twins
  is_apache
  make_hypertables
  check_hypertables
  chunks_am
);

# A server that preloads both, with both extensions in a new database "ts".
sub timescale_node
{
	my ($name, %opts) = @_;
	# Without policies there is nothing to be done by jobs but TimescaleDB's own housekeeping, in
	# which 2.19 fails an assertion of PostgreSQL 17.11 (a catalog row inserted without a snapshot).
	my $workers = has_community_part() ? 4 : 0;
	my $node = new_node($name, %opts, extension => 0, conf => <<"CONF" . ($opts{conf} // ''));
shared_preload_libraries = 'timescaledb,zedstore_io'
timescaledb.max_background_workers = $workers
max_worker_processes = 24
max_locks_per_transaction = 256
CONF

	$node->safe_psql('postgres', 'create database ts');
	$node->safe_psql('ts', 'set client_min_messages = error; create extension zedstore_io schema public; create extension timescaledb');
	diag 'TimescaleDB '
	  . $node->safe_psql('ts', q{select extversion from pg_extension where extname = 'timescaledb'})
	  . ', license ' . license($node);
	return $node;
}

# Is the part under TimescaleDB's own license installed?
sub has_community_part
{
	my $folder = `pg_config --pkglibdir` =~ s/\n//r;
	return glob("$folder/timescaledb-tsl-*.so") ? 1 : 0;
}

sub license
{
	my ($node) = @_;
	return $node->safe_psql('ts', 'show timescaledb.license');
}

# Is it the part of TimescaleDB without continuous aggregates, compression and policies?
sub is_apache
{
	my ($node) = @_;
	return license($node) eq 'apache';
}

# Chunks are numbered over all hypertables, so their names differ.
sub timescale_twins
{
	my ($node) = @_;
	return ZedstoreTwins->new($node, 'ts', normalize => sub {
		my ($text) = @_;
		$text =~ s/_(hyper|dist_hyper)_\d+_\d+_chunk/_$1_N_chunk/g;
		$text =~ s/_(materialized_hypertable|partial_view|direct_view)_\d+/_$1_N/g;
		$text =~ s/\b\d+_\d+_(\w+_(?:key|fkey|idx|check))/N_$1/g;
		$text =~ s/"\d+_\d+_/"N_/g;
		return $text;
	});
}

# Hypertables NAME_h and NAME_z with the columns given, of which the first one divides them,
# and rows that a query returns.
sub make_hypertables
{
	my ($twins, $name, $columns, %opts) = @_;
	my ($first) = $columns =~ /(\w+)/;
	my $interval = $opts{interval} // q{interval '1 day'};

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$twins->{node}->safe_psql('ts', "set client_min_messages = error;"
		. "create table ${name}_$_->[0] ($columns) using $_->[1];"
		. "select create_hypertable('${name}_$_->[0]', '$first', chunk_time_interval => $interval)")
	  foreach ([ 'h', 'heap' ], [ 'z', 'zedstore' ]);
	$twins->both("insert into ${name}_@ $opts{rows}", "rows of $name") if $opts{rows};
	return;
}

# The access methods of a hypertable's chunks, and how many each has.
sub chunks_am
{
	my ($node, $name) = @_;
	return $node->safe_psql('ts', qq{
		select amname, count(*) from show_chunks('$name') s
			join pg_class c on c.oid = s join pg_am a on a.oid = c.relam group by 1 order by 1});
}

# Twins have the same rows, by sequential scan and, if a key is given, by index; all chunks of
# NAME_z are zedstore tables that pass zs_check().
sub check_hypertables
{
	my ($twins, $name, $title, $key) = @_;
	my $node = $twins->{node};

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$twins->same("select * from ${name}_@", "$title: same rows");
	$twins->same("set enable_seqscan = off; set enable_bitmapscan = off; select $key, count(*) from ${name}_@ group by 1",
		"$title: same rows by index") if $key;
	like(chunks_am($node, "${name}_z"), qr/^(zedstore\|\d+)?$/, "$title: chunks are zedstore tables");
	is($node->safe_psql('ts', q{
		select count(bt_index_check(i.indexrelid, true)) >= 0 from pg_index i
			join pg_class c on c.oid = i.indexrelid join pg_am a on a.oid = c.relam
			join pg_class t on t.oid = i.indrelid join pg_am ta on ta.oid = t.relam
		where a.amname = 'btree' and ta.amname = 'zedstore' and t.relkind = 'r'}), 't', "$title: indexes")
	  if $node->safe_psql('ts', q{select count(*) from pg_extension where extname = 'amcheck'});
	zs_check_all($node, 'ts', "$title: zs_check");
	return;
}

1;
