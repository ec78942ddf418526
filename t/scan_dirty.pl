# What a dirty snapshot says about each row: who inserts it, who changes it.  Unique indexes,
# exclusion constraints and apply workers wait for what it names, so it must name for each row what
# heap names, and nobody where nobody is at work.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

my $tmp = PostgreSQL::Test::Utils::tempdir_short();
plan skip_all => 'needs a compiler' if !build_c($tmp, 'dirty_scan.so');

my $node = new_node('main', conf => "max_prepared_transactions = 10\n");
$node->safe_psql('postgres', qq{
	create function dirty_scan(regclass, text,
		out a int, out xmin xid, out xmax xid, out token boolean) returns setof record
		as '$tmp/dirty_scan' language c strict;

	-- waits when it is called the second time: once the row is there, before its index entry is
	create sequence calls_h;
	create sequence calls_z;
	create function wait_for_lock(i int, s regclass) returns int language plpgsql immutable as \$\$
	begin
		if i = 400 and nextval(s) = 2 then
			perform pg_advisory_xact_lock(1);
		end if;
		return i;
	end \$\$;

	create table t_h (a int, b int default 0) using heap;
	create table t_z (a int, b int default 0) using zedstore;
	create unique index on t_h (a);
	create unique index on t_z (a);
	create unique index on t_h (wait_for_lock(a, 'calls_h'));
	create unique index on t_z (wait_for_lock(a, 'calls_z'));

	-- names of the transactions in progress, for there are two with a token
	create view running as
		select backend_xid as xid, application_name as name from pg_stat_activity
		where backend_xid is not null
		union all select transaction, gid from pg_prepared_xacts});

sub on_both
{
	my ($sql) = @_;

	return join(' ', map { $sql =~ s/_@/_$_/gr } 'h', 'z');
}

$node->safe_psql('postgres', on_both('insert into t_@ select generate_series(1, 40);'));
$node->safe_psql('postgres', 'vacuum freeze t_h');
$node->safe_psql('postgres', 'vacuum freeze t_z');

# what has ended: committed, and rolled back
$node->safe_psql('postgres', on_both(
	'update t_@ set b = 1 where a = 4; delete from t_@ where a = 9; insert into t_@ values (50);'));
$node->safe_psql('postgres', 'begin; ' . on_both(
	'insert into t_@ values (200); update t_@ set b = 2 where a = 2; delete from t_@ where a = 20;')
	. 'rollback');

# what goes on
my %sessions;
sub session
{
	my ($name) = @_;

	$sessions{$name} = $node->background_psql('postgres');
	$sessions{$name}->query_safe("set application_name = '$name'");
	return $sessions{$name};
}

session('locker')->query_safe('begin; ' . on_both(
	'select from t_@ where a = 7 for update; select from t_@ where a = 8 for key share;'));
session('updater')->query_safe('begin; ' . on_both(
	'update t_@ set b = 3 where a = 3; delete from t_@ where a = 5;
	update t_@ set b = 3 where a = 8;') . 'savepoint s; '
	  . on_both('update t_@ set b = 4 where a = 31;'));
session('inserter')->query_safe('begin; ' . on_both(
	'insert into t_@ values (100), (101);') . 'savepoint s; '
	  . on_both('insert into t_@ values (102); delete from t_@ where a = 101;') . 'rollback to s');
$node->safe_psql('postgres', 'begin; ' . on_both(
	'insert into t_@ values (150); update t_@ set b = 5 where a = 6;')
	  . "prepare transaction 'prepared'");

# a speculative insertion in each table
my $blocker = session('blocker');
$blocker->query_safe('select pg_advisory_lock(1)');
for my $twin ('h', 'z')
{
	my $session = session("speculative_$twin");
	$session->query_safe("set application_name = 'speculative'");
	$session->query_until(qr/started/,
		"\\echo started\ninsert into t_$twin values (400) on conflict do nothing;\n");
}
wait_for_sql($node,
	"select count(*) = 2 from pg_locks where locktype = 'advisory' and not granted");

# the scanning transaction has changed rows, too
my $own = on_both('insert into t_@ values (300); delete from t_@ where a = 10;
	update t_@ set b = 6 where a = 11; savepoint s; delete from t_@ where a = 12; rollback to s;');

my $what = q{
	select a, coalesce(i.name, xmin::text), coalesce(u.name, xmax::text), token, count(*)
	from dirty_scan('t_%s', '%s') d
		left join running i on i.xid = d.xmin left join running u on u.xid = d.xmax
	group by 1, 2, 3, 4 order by 1, 2, 3, 4};

for my $how ('forward', 'backward', 'back from the end', 'range of TIDs', 'by TID', 'visible?',
	'by index')
{
	my %said;

	for my $twin ('h', 'z')
	{
		my $query = sprintf($what, $twin, $how);

		$said{$twin} = $node->safe_psql('postgres', "begin; $own $query; rollback");
	}
	is($said{z}, $said{h}, $how);
	# the rows that the test is about are there
	like($said{h}, qr/^3\|0\|updater\|f\|1$/m, "$how: an update in progress");
	like($said{h}, qr/^31\|0\|\d+\|f\|1$/m, "$how: an update in progress of a subtransaction");
	like($said{h}, qr/^8\|0\|updater\|f\|1$/m, "$how: an update in progress beside a lock");
	like($said{h}, qr/^7\|0\|0\|f\|1$/m, "$how: a row that is only locked");
	like($said{h}, qr/^6\|prepared\|0\|f\|1$/m, "$how: an insertion that is prepared");
	like($said{h}, qr/^100\|inserter\|0\|f\|1$/m, "$how: an insertion in progress");
	like($said{h}, qr/^40\|0\|0\|f\|1$/m, "$how: a frozen row");
	like($said{h}, qr/^400\|speculative\|0\|t\|1$/m, "$how: a speculative insertion")
		if $how ne 'by index';
}

$blocker->query_safe('select pg_advisory_unlock(1)');
$_->quit for values %sessions;
$node->safe_psql('postgres', q{rollback prepared 'prepared'});
zs_check_all($node);

done_testing();
