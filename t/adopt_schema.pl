# The extension's functions and views have a schema of their own in new databases: they work
# whatever the search_path is, for users who are nobody special; another schema may be named; dumps
# of databases that have them elsewhere restore.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

my $node = new_node('main', extension => 0, conf => q{search_path = '"$user", public'});

sub in_database
{
	my ($db, $sql) = @_;

	return $node->safe_psql($db, $sql);
}

# Which schema the extension of a database is in, and how many of its functions and views are not.
sub place_of
{
	my ($db) = @_;

	return in_database($db, q{
		select e.extnamespace::regnamespace,
			(select count(*) from pg_depend d left join pg_proc p on d.classid = 'pg_proc'::regclass
					and p.oid = d.objid
				left join pg_class c on d.classid = 'pg_class'::regclass and c.oid = d.objid
				where d.refclassid = 'pg_extension'::regclass and d.refobjid = e.oid
					and d.deptype = 'e'
					and coalesce(p.pronamespace, c.relnamespace) <> e.extnamespace)
		from pg_extension e where extname = 'zedstore_io'});
}

# ---- where it goes ----------------------------------------------------------------------

in_database('postgres', "create database $_")
  for qw(own named other old elsewhere twice theirs none app);
in_database('own', 'create extension zedstore_io');
is(place_of('own'), 'zedstore|0', 'a schema of its own');
is( in_database('own', q{
		select count(*) from pg_namespace, aclexplode(nspacl)
		where nspname = 'zedstore' and grantee = 0 and privilege_type = 'USAGE'}),
	'1', 'which everybody may use');
in_database('named', 'create extension zedstore_io schema public');
is(place_of('named'), 'public|0', 'a schema that is named');
is(in_database('named', q{select count(*) from pg_namespace where nspname = 'zedstore'}),
	'0', '... and no other one is made');
in_database('other', 'create schema zs; 
	create extension if not exists zedstore_io with schema zs');
is(place_of('other'), 'zs|0', 'one of the user');
in_database('twice', 'create extension zedstore_io schema public;
	create extension if not exists zedstore_io');
is(in_database('twice', q{select count(*) from pg_namespace where nspname = 'zedstore'}),
	'0', 'nothing is made for an extension that is there');
in_database('theirs', 'create schema zedstore; create table zedstore.t (a int);
	create extension zedstore_io');
is(place_of('theirs'), 'zedstore|0', 'a schema that is there already');

in_database('none', q{alter database "none" set search_path = ''});
in_database('none', q{create extension zedstore_io;
	create table public.t (a int primary key, b text) using zedstore;
	insert into public.t select i, 'b' from generate_series(1, 5000) i;
	vacuum analyze public.t});
is(place_of('none'), 'zedstore|0', 'no search path');
in_database('none', q{call zedstore.zs_convert('public.t', 'heap')});
in_database('none', q{call zedstore.zs_convert('public.t')});
is( in_database('none', q{select count(*), sum(a) from public.t where a <= 100;
		select relation from zedstore.zs_tables;
		select count(*) from zedstore.zs_check('public.t')}),
	"100|5050\npublic.t\n0", '... and all works');
in_database('app', q{create schema app; alter database app set search_path = app});
in_database('app', q{create extension zedstore_io; create table t (a int) using zedstore});
is(place_of('app'), 'zedstore|0', 'another default schema');

my (undef, undef, $err) =
  $node->psql('postgres', 'create role nobody; set role nobody; create extension zedstore_io');
like($err, qr/permission denied to create extension "zedstore_io"/, "a user: core's error");
(undef, undef, $err) =
  $node->psql('postgres', 'begin read only; create extension zedstore_io');
like($err, qr/cannot execute CREATE EXTENSION in a read-only/, "read only: core's error");
(undef, undef, $err) = $node->psql('postgres', q{create extension zedstore_io version '7'});
like($err, qr/no installation script nor update path/, "unknown version: core's error");
is(in_database('postgres', q{select count(*) from pg_namespace where nspname = 'zedstore'}),
	'0', 'nothing is left of those');

(undef, undef, $err) = $node->psql('postgres', 'begin; create extension zedstore_io; rollback');
like($err, qr/NOTICE: .* of extension "zedstore_io" go to schema "zedstore"\nHINT: .*search_path/,
	'a notice tells where they are');
is(in_database('postgres', q{select count(*) from pg_namespace where nspname = 'zedstore'}),
	'0', 'nor of one that is rolled back');

# ---- it works from there -----------------------------------------------------------------

in_database('own', q{
	create role owner login;
	create role watcher login in role pg_monitor;
	grant create on schema public to owner;
	set role owner;
	create table t (a int primary key, b text) using zedstore;
	insert into t select i, 'b' || i from generate_series(1, 5000) i;
	create table h (a int primary key, b text);
	insert into h select i, 'b' || i from generate_series(1, 5000) i;
	grant select on t, h to watcher});

# Views, and functions that need nothing but a table or nothing at all.
my @calls = split /\n/, in_database('own', q{
	select format('select count(*) >= 0 from zedstore.%I', relname) from pg_class
		where relnamespace = 'zedstore'::regnamespace and relkind = 'v'
	union all
	select format('select count(*) >= 0 from zedstore.%I(%s)', proname,
			case when pronargs > pronargdefaults then
				case when proname = 'zs_estimate' then '''public.h''' else '''public.t''' end end)
		from pg_proc
		where pronamespace = 'zedstore'::regnamespace and prokind = 'f'
			and prorettype not in ('trigger'::regtype, 'event_trigger'::regtype,
				'table_am_handler'::regtype)
			and pronargs - pronargdefaults <= 1
			and (pronargs = pronargdefaults or proargtypes[0] = 'regclass'::regtype)
			and proname !~ '^zs_(io_calibrate|convert_cleanup)'
	order by 1});
cmp_ok(scalar(@calls), '>', 15, 'views and functions');
for my $call (@calls)
{
	is(in_database('own', "set search_path = pg_catalog; $call"), 't', $call);
}
is(in_database('own', 'set role watcher; select count(*) from zedstore.zs_tables'),
	'1', 'members of pg_monitor');
in_database('own', q{
	set role owner; set search_path = pg_catalog; call zedstore.zs_convert('public.h')});
is(in_database('own', 'select count(*) from zedstore.zs_check($$h$$)'), '0',
	'a user converts a table');
in_database('own', 'create view seen as select * from zedstore.zs_tables');

# ---- dumps ------------------------------------------------------------------------------

# Dumps a database and restores it to a new one, all errors counting.
sub copy_database
{
	my ($from, $to) = @_;
	my $file = $node->basedir . "/$from.sql";

	command_ok([ 'pg_dump', '-f', $file, '-d', $node->connstr($from) ], "dump of $from");
	in_database('postgres', "create database $to");
	$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($to),
			'-f', $file ], "restored as $to");
	return;
}

copy_database('own', 'own2');
is(place_of('own2'), 'zedstore|0', 'a dump keeps the schema');
is(in_database('own2', 'set role watcher; select count(*) from zedstore.zs_tables'), '2',
	'... with the right to use it');
is(in_database('own2', q{select sum(a) from t}), '12502500', '... and the tables');

in_database('named', q{
	create table t (a int) using zedstore; create view seen as select * from zs_tables});
copy_database('named', 'named2');
is(place_of('named2'), 'public|0', 'so does one that has it in public');
copy_database('other', 'other2');
is(place_of('other2'), 'zs|0', 'and one that has it elsewhere');

# ---- older versions ----------------------------------------------------------------------

in_database('old', q{
	create extension zedstore_io schema public version '0.1.0';
	create view seen as select * from pg_zs_trees('pg_class') where false;
	alter extension zedstore_io update});
is(place_of('old'), 'public|0', 'an update leaves it where it is');
in_database('elsewhere', q{
	create extension zedstore_io version '0.1.0'; alter extension zedstore_io update});
is(place_of('elsewhere'), 'zedstore|0', 'the older version in a new database, updated');
my ($status, undef, $error) = $node->psql('old',
	'create schema x; alter extension zedstore_io set schema x');
isnt($status, 0, 'it is not moved');
like($error, qr/ERROR:  extension "zedstore_io" does not support SET SCHEMA/, "... core's error");

# ---- and it goes ------------------------------------------------------------------------

# not with tables there, of which core names every kind
in_database('app', q{
	create role other;
	create table p (a int) partition by list (a) using zedstore;
	create table p1 partition of p for values in (1);
	create table p2 partition of p for values in (2) using heap;
	create materialized view m using zedstore as select 1 as a;
	create view v as select * from p;
	create table stays (a int)});
for my $case (
	[ 'drop extension zedstore_io', qr/DETAIL:  table t depends on access method zedstore\n/ ],
	[ 'drop extension zedstore_io', qr/^table\ p\ depends\ on\ access\ method\ zedstore\n
		view\ v\ depends\ on\ table\ p\n
		materialized\ view\ m\ depends\ on\ access\ method\ zedstore\n/mx ],
	[ 'drop access method zedstore', qr/because extension zedstore_io requires it/ ],
	[ 'drop schema zedstore', qr/extension zedstore_io depends on schema zedstore/ ],
	[ 'set role other; drop extension zedstore_io cascade', qr/must be owner of extension/ ],
	[ 'set role other; alter extension zedstore_io update', qr/must be owner of extension/ ])
{
	my ($sql, $words) = @$case;
	my (undef, undef, $said) = $node->psql('app', $sql);

	like($said, $words, $sql);
}
in_database('app', 'drop extension zedstore_io cascade');
is(in_database('app', q{select string_agg(relname, ' ') from pg_class
		where relnamespace = 'app'::regnamespace}), 'stays', 'cascade takes all of them');

in_database('theirs', 'drop extension zedstore_io');
is(in_database('theirs', q{select count(*) from zedstore.t}), '0', "the user's objects stay");
in_database('theirs', 'create extension zedstore_io');
in_database('own', 'drop extension zedstore_io cascade; drop schema zedstore');

$node->stop;
done_testing();
