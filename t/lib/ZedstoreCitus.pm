# Helpers for the tests in t/citus/: a coordinator and two workers on one host.
#
#   use lib 't/lib';   (scripts/run-tests sets PERL5LIB)
#   use ZedstoreCitus;
#
#   my ($coordinator, $worker1, $worker2) = citus_cluster();
#   twins($coordinator, 'title', 'insert into t_@ ...; select ... from t_@ order by 1');
#   check_shards('part', $coordinator, $worker1, $worker2);
#
# Heap is the oracle: each table exists twice, t_h and t_z, and what a script prints for the one
# must be what it prints for the other.

package ZedstoreCitus;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

our @EXPORT = qw(
  citus_missing
  has_columnar
  citus_node
  citus_cluster
  join_cluster
  node_name
  twins
  runs
  mixed
  check_shards
  zedstore_shards
);

sub library_file
{
	my ($name) = @_;
	my $folder = `pg_config --pkglibdir` =~ s/\n//r;

	return -f "$folder/$name.so";
}

# Why these tests cannot run; undef if they can.
sub citus_missing
{
	return library_file('citus') ? undef
		: 'Citus is not installed for this server; see scripts/test-citus';
}

# Is citus_columnar installed, too?
sub has_columnar
{
	return library_file('citus_columnar');
}

# Output plugins must be named on servers that have this setting: splits of shards use one of Citus.
sub plugin_setting
{
	return `postgres --describe-config` =~ /^output_plugin_libraries\t/m
	  ? "output_plugin_libraries = 'pgoutput, citus'\n"
	  : '';
}

# A server with both libraries; no extension is created.
sub citus_node
{
	my ($name, %opts) = @_;
	my $conf = delete $opts{conf} // '';

	my $node = new_node($name,
		extension => 0,
		start => 0,
		conf => <<"CONF" . plugin_setting() . $conf, %opts);
shared_preload_libraries = 'citus,zedstore_io'
wal_level = logical
max_connections = 100
max_prepared_transactions = 100
max_worker_processes = 40
max_replication_slots = 20
max_wal_senders = 20
citus.node_connection_timeout = '120s'
CONF
	# what a node calls itself when it connects to itself
	$node->append_conf('postgresql.conf', "citus.local_hostname = '" . $node->host . "'");
	$node->start;
	return $node;
}

# The name that Citus knows a node by: the folder of its socket.
sub node_name
{
	my ($node) = @_;

	return "'" . $node->host . "', " . $node->port;
}

# Create both extensions in a database of each node and make it one cluster.
sub join_cluster
{
	my ($dbname, $coordinator, @workers) = @_;

	for my $node ($coordinator, @workers)
	{
		$node->safe_psql($dbname,
			'create extension if not exists citus;
			create extension if not exists zedstore_io schema public');
	}
	$coordinator->safe_psql($dbname, 'select citus_set_coordinator_host(' . node_name($coordinator)
		. ')');
	$coordinator->safe_psql($dbname, 'select citus_add_node(' . node_name($_) . ')') for @workers;
	return;
}

# A coordinator, which holds no shards of distributed tables, and two workers, in database postgres.
sub citus_cluster
{
	my (%opts) = @_;
	my @nodes = map { citus_node($_, %opts) } qw(coordinator worker1 worker2);

	join_cluster('postgres', @nodes);
	return @nodes;
}

# What differs between twins for no reason that matters: names, numbers of shards, nodes.
sub normalized
{
	my ($text) = @_;

	$text =~ s/^psql:<stdin>:\d+: //mg;
	$text =~ s/_[hz]_\d{6}\b/_@/g;
	$text =~ s/_[hz](?=\b|_)/_@/g;
	$text =~ s/_\d{6}\b/_N/g;
	$text =~ s/^CONTEXT:.*\n?//mg;
	$text =~ s/Key \(.*\) is duplicated/Key is duplicated/g;
	$text =~ s/ on \S+:\d+/ on NODE/g;
	return $text;
}

# Run a script with _@ for _h and for _z: what it prints, errors included, must be the same.  With
# error => qr/.../ both must print such an error; without, none.  Returns what the zedstore twin
# printed.
sub twins
{
	my ($node, $title, $script, %opts) = @_;
	my (%out, %err);

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	for my $twin ('h', 'z')
	{
		my $text = $script =~ s/_@/_$twin/gr;

		$node->psql($opts{dbname} // 'postgres', $text,
			stdout => \$out{$twin}, stderr => \$err{$twin}, on_error_stop => 0);
		$_ = normalized($_ // '') for $out{$twin}, $err{$twin};
	}
	is($out{z}, $out{h}, "$title: as on heap");
	if (defined $opts{error})
	{
		like($err{h}, $opts{error}, "$title: error");
		is($err{z}, $err{h}, "$title: the same error");
	}
	else
	{
		is($err{h}, '', "$title: no error on heap");
		is($err{z}, '', "$title: no error");
	}
	return $out{z};
}

# Run statements that must succeed; what they print is returned.
sub runs
{
	my ($node, $title, $script, %opts) = @_;
	my ($stdout, $stderr);

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok($node->psql($opts{dbname} // 'postgres', $script, stdout => \$stdout, stderr => \$stderr)
		== 0, $title) or diag($stderr);
	return $stdout;
}

# A query over both kinds of table at once must return true.
sub mixed
{
	my ($node, $title, $query, %opts) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is($node->safe_psql($opts{dbname} // 'postgres', $query), 't', $title);
}

# Zedstore tables of a node with their options, shards included, as "name|options".
sub zedstore_shards
{
	my ($node, $like, %opts) = @_;

	return $node->safe_psql($opts{dbname} // 'postgres', qq{
		set citus.override_table_visibility = off;
		select c.relname, c.reloptions from pg_class c join pg_am a on a.oid = c.relam
		where a.amname = 'zedstore' and c.relkind in ('r', 'm') and c.relname ~ '$like'
		order by 1});
}

# Tests that all zedstore tables of the nodes, shards included, pass zs_check(), and that there are
# shards at all.
sub check_shards
{
	my ($title, @nodes) = @_;
	my $nshards = 0;
	my $problems = '';
	my $tables = q{
		from pg_class c join pg_am a on a.oid = c.relam
		where a.amname = 'zedstore' and c.relkind in ('r', 'm') and c.relpersistence <> 't'};

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	for my $node (@nodes)
	{
		$nshards += $node->safe_psql('postgres', qq{
			set citus.override_table_visibility = off;
			select count(*) $tables and c.relname ~ '_[0-9]{6}\$'});
		$problems .= $node->safe_psql('postgres', qq{
			set citus.override_table_visibility = off;
			with t as materialized (select c.oid $tables)
			select t.oid::regclass, k.* from t, lateral zs_check(t.oid::regclass) k
			where k.severity <> 'notice'});
	}
	is($problems, '', "$title: zs_check of $nshards shards");
	cmp_ok($nshards, '>', 0, "$title: there are shards");
	return;
}

1;
