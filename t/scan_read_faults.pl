# Reads that fail or are cut short while a scan looks ahead, and statements that are canceled
# meanwhile: a statement gives the right rows or the error, the session goes on, and nothing stays
# pinned.
#
# Takes 20 seconds of a processor: scripts/run-tests starts it early.
# Needs a disk, to read ahead from.

use strict;
use warnings FATAL => 'all';

use Errno qw(ECANCELED EIO);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

my $tmp = PostgreSQL::Test::Utils::tempdir_short();
# injection points find it from the server's folder of libraries
my $library = '../' x 20 . substr("$tmp/read_faults", 1);

my $node = new_node('main', conf => <<'CONF');
shared_buffers = 2MB
autovacuum = off
jit = off
max_parallel_workers_per_gather = 0
CONF

if (!has_injection_points($node) || $node->pg_version < 18 || !build_c($tmp, 'read_faults.so'))
{
	plan skip_all => 'faults need injection points with arguments, and a compiler';
}
$node->append_conf('postgresql.conf', 'io_method = sync');
$node->restart;
$node->safe_psql('postgres', qq{
	create function read_faults(text, oid, int, int, int) returns void
		as '$tmp/read_faults' language c;
	create table z (id int, k int, a bigint, c text, d text, e float8, n int) using zedstore;
	do \$\$ begin for part in 0 .. 3 loop
		insert into z select i, i * 7919 % 1009, hashint8extended(i, 1),
			md5(i::text) || md5((i + 1)::text), 'word ' || i % 50, hashint4(i)::float8 / 3,
			case when i % 3 = 0 then i end
			from generate_series(part * 15000 + 1, (part + 1) * 15000) i;
		commit;
	end loop; end \$\$;
	delete from z where hashint4(id) % 3 = 0;
	create index z_k on z (k);
	vacuum z;
	create table w using zedstore as select i from generate_series(1, 600000) i;
	delete from w where hashint4(i) % 3 = 0;
	create table r (i int, t text) using zedstore;
	do \$\$ begin for part in 0 .. 9 loop
		insert into r select g, md5(g::text) || repeat('x', 60)
			from generate_series(part * 2000 + 1, part * 2000 + 2000) g;
		commit;
	end loop; end \$\$});

my $bitmap = 'set enable_seqscan = off; set enable_indexscan = off;';
my $index = 'set enable_seqscan = off; set enable_bitmapscan = off;';
my $all = 'count(*), sum(hashtext(z.*::text)::bigint)';
my @statements = (
	[ 'bitmap scan', $bitmap, "select $all from z where k between 300 and 420" ],
	[ 'index scan', $index, "select $all from z where k in (17, 401, 770)" ],
	[ 'sequential scan', '', "select $all from z" ],
	[ 'top-N', '', 'select * from z order by a limit 40' ],
	[ 'leaves of row numbers', '', 'select count(*) from w', 'w' ],
	[ 'leaves of rows', '', 'select count(*), sum(hashtext(t)::bigint) from r', 'r' ],
	[ 'sample', '', 'select count(*), sum(a), min(c) from z tablesample bernoulli (100)' ],
	[ 'ANALYZE', '', q{analyze z; select count(*) from pg_stats where tablename = 'z'} ]);

# Output and errors of a statement in whose midst reads of a table go wrong, and of the same one
# after that.
sub with_faults
{
	my ($settings, $sql, $before, $times, $result, $table) = @_;

	$table //= 'z';
	return $node->psql('postgres', qq{
		$settings
		select count(pg_buffercache_evict(bufferid)) from pg_buffercache \\g /dev/null
		select read_faults('$library', pg_relation_filenode('$table'), $before, $times, $result)
			\\g /dev/null
		$sql;
		select read_faults('', 0, 0, 0, 0) \\g /dev/null
		$sql;
		select count(*) from pg_buffercache where pinning_backends > 0
			and relfilenode = pg_relation_filenode('$table')}, on_error_stop => 0);
}

$node->safe_psql('postgres', 'create extension pg_buffercache; create extension amcheck');
like($node->safe_psql('postgres', "explain $_->[2]"), qr/ZedstoreTopN/, 'top-N: plan')
  for grep { $_->[0] eq 'top-N' } @statements;

for my $statement (@statements)
{
	my ($title, $settings, $sql, $table) = @$statement;
	my $expected = $node->safe_psql('postgres', "$settings $sql");
	my $failed = 0;
	my @odd;

	isnt($expected, '', "$title: there is a result");

	# every read may be the one that fails
	for my $before (0 .. 30, 40, 60, 90, 150, 300)
	{
		my (undef, $out, $err) = with_faults($settings, $sql, $before, 1, -EIO(), $table);

		if ($err eq '')
		{
			push @odd, "$before: $out" if $out ne "$expected\n$expected\n0";
		}
		else
		{
			$failed++;
			push @odd, "$before: $out $err"
				if $out !~ /^(?:\d+\n)?\Q$expected\E\n0\z/ ||
				$err !~ /could not read blocks .* Input\/output error/;
		}
	}
	is("@odd", '', "$title: EIO");
	cmp_ok($failed, '>=', 5, "$title: $failed errors");

	# all of them are cut short, some in the midst of a page
	for my $result (8192, 3 * 8192 + 100)
	{
		my (undef, $out, $err) = with_faults($settings, $sql, 0, 1_000_000, $result, $table);
		is("$out$err", "$expected\n$expected\n0", "$title: reads of $result bytes");
	}
	my (undef, $out, $err) = with_faults($settings, $sql, 2, 1, 0, $table);
	like($err, qr/could not read blocks .*: read only 0 of/, "$title: nothing was read");
	like($out, qr/^(?:\d+\n)?\Q$expected\E\n0\z/, "$title: and goes on");

	# canceled when a read has ended, and others are under way
	$failed = 0;
	@odd = ();
	for my $before (0, 1, 3, 8, 20, 60, 150)
	{
		(undef, $out, $err) = with_faults($settings, $sql, $before, 1, -ECANCELED(), $table);
		my $canceled = $err =~ /canceling statement due to user request/;
		my $rows = $canceled ? $expected : "$expected\n$expected";

		$failed++ if $canceled;
		push @odd, "$before: $out $err" if $out !~ /^(?:\d+\n)?\Q$rows\E\n0\z/;
	}
	is("@odd", '', "$title: canceled");
	cmp_ok($failed, '>=', 3, "$title: $failed times");
}

# what changes the table, or makes an index of it, is done anew by the same statement
my $expected = $node->safe_psql('postgres', "select $all from z where hashint4(k) % 2 = 0");
for my $case (
	[ 'VACUUM', 'vacuum v' ],
	[ 'CREATE INDEX', 'drop index if exists v_a; create index v_a on v (a, c)' ])
{
	my ($title, $sql) = @$case;
	my %failed = (EIO() => 0, ECANCELED() => 0);
	my @odd;

	for my $fault (map { ([ EIO, $_ ], [ ECANCELED, $_ ]) } 0 .. 5, 8, 12, 20, 40, 80, 160)
	{
		my ($errno, $before) = @$fault;
		$node->safe_psql('postgres', q{
			create table v using zedstore as select * from z;
			create index v_k on v (k);
			delete from v where hashint4(k) % 2 <> 0});
		my (undef, $out, $err) = with_faults('', $sql, $before, 1, -$errno, 'v');

		$failed{ EIO() }++ if $err =~ /could not read blocks .* Input\/output error/;
		$failed{ ECANCELED() }++ if $err =~ /canceling statement due to user request/;
		$err =~ s/^psql:.*(?:index "v_a" does not exist|could not read blocks .* error).*\n?//gm;
		$err =~ s/^(?:psql:.*canceling statement due to user request|CONTEXT:  while .*)\n?//gm;
		push @odd, "$errno, $before: $out $err" if $out ne '0' || $err ne '';
		my $got = $node->safe_psql('postgres', "select $all from v z; $index
			select $all from v z where k is not null;
			select bt_index_check(indexrelid::regclass, true)
				from pg_index where indrelid = 'v'::regclass; select * from zs_check('v')");
		push @odd, "$errno, $before: $got" if $got !~ /^\Q$expected\E\n\Q$expected\E\n+\z/;
		$node->safe_psql('postgres', 'drop table v');
	}
	is("@odd", '', "$title: EIO and canceled");
	cmp_ok($failed{$_}, '>=', 5, "$title: $failed{$_} errors of $_") for EIO, ECANCELED;
}

# a row that is fetched again after an error within the same statement
$node->safe_psql('postgres', q{
	create table tids as select row_number() over (order by id) as n, ctid as tid from z
		where id % 3001 = 0;
	create function by_tid() returns text language plpgsql as $$
	declare
		t tid;
		row z;
		h bigint := 0;
		failed int := 0;
	begin
		for t in select tid from tids order by n loop
			loop
				begin
					select * into strict row from z where ctid = t;
					h := h + hashtext(row::text);
					exit;
				exception when io_error then
					failed := failed + 1;
				end;
			end loop;
		end loop;
		raise notice 'failed: %', failed;
		return h;
	end $$});
my $rows = $node->safe_psql('postgres', 'select by_tid()');
for my $before (0, 1, 2, 5, 9, 20)
{
	my (undef, $out, $err) = with_faults('', 'select by_tid()', $before, 150, -EIO());

	is($out, "$rows\n$rows\n0", "rows by TID, errors after $before reads");
	like($err, qr/failed: 150\n.*failed: 0/s, '150 errors');
}

unlike(slurp_file($node->logfile), qr/refcount leak|resource was not closed|TRAP/,
	'nothing leaked');
zs_check_all($node, 'postgres');

done_testing();
