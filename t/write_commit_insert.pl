# Rows that another library inserts in its own callback, after the write buffers have been written
# for the commit, are written, too.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

my $tmp = PostgreSQL::Test::Utils::tempdir_short();
plan skip_all => 'needs a compiler' if !build_c($tmp, 'commit_insert.so');

my $node = new_node('main',
	conf => "shared_preload_libraries = '$tmp/commit_insert,zedstore_io'\n");
$node->safe_psql('postgres',
	'create table t (a int primary key, b text) using zedstore; create sequence s');

# Settings end with the session; the statement sees that it runs for the transactions meant only.
sub commit_with
{
	my ($statement, $transaction) = @_;
	return $node->safe_psql('postgres', "set commit_insert.statement = \$\$$statement\$\$;\n$transaction;\nset commit_insert.statement = ''");
}

my $some = q{insert into t select nextval('s'), 'callback' from generate_series(1, 3)
	where current_setting('test.rows', true) = 'on'};
my $many = $some =~ s/1, 3/1, 5000/r;
foreach my $statement ($some, $many)
{
	my $rows = $statement eq $some ? 3 : 5000;

	# nothing else in the transaction; rows of a single INSERT; rows of a load
	foreach my $own (0, 1, 6000)
	{
		$node->safe_psql('postgres', 'truncate t');
		commit_with($statement, "begin;
			set local test.rows = 'on';
			insert into t select nextval('s'), 'own' from generate_series(1, $own);
			commit");
		is($node->safe_psql('postgres', q{select count(*) filter (where b = 'own'), count(*) filter (where b = 'callback') from t}),
			"$own|$rows", "$rows rows after $own");
		is($node->safe_psql('postgres',
			q{set enable_seqscan = off; select count(b) from t where a > 0}),
			$own + $rows, "$rows rows after $own by index");
	}
}
$node->safe_psql('postgres', 'truncate t');
commit_with($some, "begin;
	set local test.rows = 'on';
	insert into t select nextval('s'), 'own' from generate_series(1, 100);
	prepare transaction 'p'");
$node->safe_psql('postgres', "commit prepared 'p'");
is($node->safe_psql('postgres', 'select count(b) from t'), '103', 'rows of a prepared transaction');
zs_check_all($node);

done_testing();
