# A zedstore table in a publication refuses changes, instead of losing them on the way.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

my $node = new_node('publisher', conf => <<'CONF');
wal_level = logical
CONF

$node->safe_psql('postgres', <<'SQL');
create table z (a int primary key) using zedstore;
create table h (a int primary key) using heap;
create unlogged table u (a int primary key) using zedstore;
insert into z values (1);
create publication p for table z, h;
SQL

for my $command ('insert into z values (2)', 'update z set a = 3', 'delete from z',
	'copy z from program $$echo 4$$')
{
	my ($rc, $out, $err) = $node->psql('postgres', $command, on_error_stop => 1);
	isnt($rc, 0, "$command: fails");
	like($err, qr/cannot change table "z" because it is published/, "$command: says why");
}
$node->safe_psql('postgres', 'insert into h values (1); insert into u values (1)');
is($node->safe_psql('postgres', 'select * from z'), '1', 'nothing changed');

$node->safe_psql('postgres', 'alter publication p drop table z; insert into z values (2)');
is($node->safe_psql('postgres', 'select count(*) from z'), '2', 'changes go on without the publication');

$node->safe_psql('postgres', 'create publication everything for all tables');
my ($rc, $out, $err) = $node->psql('postgres', 'insert into z values (5)');
like($err, qr/because it is published/, 'for all tables counts, too');

zs_check_all($node, 'postgres', 'zs_check');
$node->stop;
done_testing();
