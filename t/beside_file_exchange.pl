# A library that exchanges the files of two tables in pg_class, as pg_repack does, but not their
# access methods: refused before the transaction commits, when one of them cannot read what it gets.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

my $node = new_node('main', conf => "allow_system_table_mods = on\n");
$node->safe_psql('postgres', q{
	create table z1 (a int primary key, t text) using zedstore;
	create table z2 (a int primary key, t text) using zedstore;
	create table h1 (a int primary key, t text) using heap;
	create table h2 (a int primary key, t text) using heap;
	create table e (a int primary key, t text) using heap;
	insert into z1 select i, 'z1' from generate_series(1, 1000) i;
	insert into z2 select i, 'z2' from generate_series(1, 2000) i;
	insert into h1 select i, 'h1' from generate_series(1, 3000) i;
	insert into h2 select i, 'h2' from generate_series(1, 4000) i;
	create procedure exchange(a regclass, b regclass) language sql as $$
		update pg_class c set relfilenode = d.relfilenode
		from pg_class d where c.oid in (a, b) and d.oid in (a, b) and c.oid <> d.oid;
	$$});

# 'ok', or the SQLSTATE and text of the error.
sub outcome
{
	my ($command) = @_;
	my ($status, $stdout, $stderr) =
		$node->psql('postgres', "\\set VERBOSITY verbose\n$command", on_error_stop => 1);

	return $stderr =~ /ERROR:  (\w{5}): (.*)/ ? "$1 $2" : 'ok';
}

# Rows of the four tables: where they come from, and how many.
sub contents
{
	return join(' ', map { $node->safe_psql('postgres',
		"set enable_indexscan = off; select min(t), count(*) from $_") } ('z1', 'z2', 'h1', 'h2'));
}

my $all = 'z1|1000 z2|2000 h1|3000 h2|4000';
my $refused = qr/^0A000 table "[zh]1" cannot get a file that its access method "(zedstore|heap)" has not written$/;

is(contents(), $all, 'before');

# files that the other access method has written
foreach my $end ('commit', "prepare transaction 'p'")
{
	like(outcome("begin; lock z1, h1; call exchange('z1', 'h1'); $end"), $refused,
		"heap and zedstore: $end");
}
like(outcome(q{begin; lock z1; call exchange('z1', 'h1'); commit}),
	qr/ table "z1" cannot get .* "zedstore" has/, 'only the zedstore table is locked');
like(outcome(q{begin; lock h1; call exchange('z1', 'h1'); commit}),
	qr/ table "h1" cannot get .* "heap" has/, 'only the heap table is locked');
like(outcome(q{begin; create table n (a int primary key, t text) using heap; insert into n values (1, 'n'); lock z1;
	call exchange('z1', 'n'); drop table n; commit}), $refused,
		'a table that this transaction has made');
is(contents(), $all, 'nothing has happened');

# what is no damage
is(outcome(q{begin; lock z1, h1; savepoint a; call exchange('z1', 'h1'); rollback to a; commit}),
	'ok', 'rolled back');
is(outcome(q{begin; lock z1, h1; call exchange('z1', 'h1'); call exchange('z1', 'h1'); commit}),
	'ok', 'and back again');
is(outcome(q{begin; lock z1, h1; truncate e; alter table z1 rename to z; alter table z rename to z1;
	alter table h1 set (fillfactor = 90); commit}), 'ok', 'other changes');
is(contents(), $all, 'nothing has happened then either');
is(outcome("begin; lock $_->[0], $_->[1]; call exchange('$_->[0]', '$_->[1]'); commit"), 'ok',
	"$_->[0] and $_->[1]")
  foreach ([ 'z1', 'z2' ], [ 'h1', 'h2' ]);
is(contents(), 'z2|2000 z1|1000 h2|4000 h1|3000', 'files of tables of one access method');

# core's own new files are not looked at
is(outcome($_), 'ok', $_) foreach (
	'vacuum full z1', 'vacuum full h1', 'cluster z2 using z2_pkey',
	'begin; truncate z1; insert into z1 values (1, \'new\'); commit',
	'begin; alter table z2 set access method heap; alter table h2 set access method zedstore; '
		. 'commit',
	'alter table z2 set access method zedstore, alter column t type varchar',
	'begin; alter table h2 set access method heap; savepoint a; truncate h2; rollback to a; commit',
	'create materialized view m using zedstore as select * from h1; refresh materialized view m');
is(contents(), 'new|1 z1|1000 h2|4000 h1|3000', 'rows after rewrites');
zs_check_all($node);
$node->stop;
done_testing();
