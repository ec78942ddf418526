# Logical decoding of zedstore tables: test_decoding's output must be what it is for a heap table
# that the same statements change.
#
# Databases "h" and "z" differ in default_table_access_method only.  A piece of SQL runs in both,
# then the changes that their slots hand out are compared line by line.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

my $node = new_node(
	'publisher',
	conf => <<'CONF',
wal_level = logical
max_wal_senders = 5
max_replication_slots = 10
logical_decoding_work_mem = 64kB
wal_consistency_checking = 'zedstore'
CONF
	allows_streaming => 'logical',
	start => 0);
$node->start;
$node->safe_psql('postgres', 'create database h');
$node->safe_psql('postgres', 'create database z');
$node->safe_psql($_, 'create extension zedstore_io') for 'h', 'z';
$node->safe_psql('postgres', 'alter database z set default_table_access_method = zedstore');

# statements must find rows in the same order
$node->safe_psql('postgres',
	"alter database $_ set enable_seqscan = off; alter database $_ set enable_bitmapscan = off")
  for 'h', 'z';

sub make_slots
{
	my ($name, $twophase) = @_;
	for my $db ('h', 'z')
	{
		$node->safe_psql($db,
			"select pg_create_logical_replication_slot('${name}_$db', 'test_decoding', false, "
			  . ($twophase ? 'true' : 'false') . ')');
	}
	return;
}

# What the slot of a database has to say; %options are test_decoding's.
sub changes
{
	my ($db, $slot, %options) = @_;
	my $options =
	  join '', map { ", '$_', '$options{$_}'" } sort keys %options;
	return $node->safe_psql($db,
		"select data from pg_logical_slot_get_changes('${slot}_$db', null, null, "
		  . "'include-xids', '0', 'skip-empty-xacts', '1'$options)");
}

# Runs $sql in both databases and compares; $check is a pattern that the output must match, to be
# sure that there is something in it.
sub same_changes
{
	my ($title, $sql, $check, %options) = @_;
	my $slot = delete $options{slot} // 's';
	my %out;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	for my $db ('h', 'z')
	{
		# some statements are meant to fail
		$node->psql($db, $sql, on_error_stop => 0);
		$out{$db} = changes($db, $slot, %options);
	}
	is_equal($out{z}, $out{h}, "$title: same changes");
	like($out{z}, $check, "$title: as expected");
	return $out{z};
}

# is(), without printing megabytes.
sub is_equal
{
	my ($got, $expected, $title) = @_;
	my @got = split /\n/, $got;
	my @expected = split /\n/, $expected;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return if ok($got eq $expected, $title);
	diag(@got . ' lines, expected ' . @expected);
	for my $i (0 .. ($#got > $#expected ? $#got : $#expected))
	{
		my $a = $got[$i] // '(none)';
		my $b = $expected[$i] // '(none)';
		next if $a eq $b;
		diag("line $i: got      " . substr($a, 0, 300));
		diag("line $i: expected " . substr($b, 0, 300));
		last;
	}
	return;
}

make_slots('s');

# ---- statements

same_changes('single rows', <<'SQL', qr/DELETE: a\[integer\]:3\n/);
create table t (a int primary key, b text, c numeric, d float8, e bytea, f date, g int[]);
insert into t values (1, 'one', 1.10, 1.5, '\x0001', '2026-01-01', '{1,2}');
insert into t values (2, null, null, null, null, null, null), (3, '', 'NaN', 'infinity', '', 'infinity', '{}');
update t set b = 'uno' where a = 1;
update t set a = 10 where a = 1;
update t set a = a, c = 7 where a = 2;
delete from t where a = 3;
insert into t values (10, 'again', 0, 0, '', null, null);	-- fails
insert into t values (11, 'eleven', 0, 0, '', null, null) returning b;
delete from t where a = 12345;
truncate t;
SQL

same_changes('many rows', <<'SQL', qr/a\[integer\]:19999 /);
create table bulk (a int primary key, b text, c int);
insert into bulk select i, repeat('x', i % 50), nullif(i % 7, 0) from generate_series(1, 5000) i;
copy bulk from program 'seq -f "%g	copied	1" 10000 19999';
update bulk set c = 1000 where a between 10000 and 12000;
delete from bulk where a between 10 and 3000;
create table frozen (a int, b text);
begin; truncate frozen; copy frozen from program 'seq -f "%g	f" 1 300' with (freeze); commit;
create table selected as select * from bulk where a < 5;
create materialized view mat as select * from bulk where a < 5;
refresh materialized view mat;
SQL

# A loader's rows are logged from its stage: nulls, all lengths of values, types of each storage, a
# column that is gone, and a row that the stage does not take.
my $kinds = PostgreSQL::Test::Utils::tempdir() . '/kinds';
$node->safe_psql('postgres', <<"SQL");
copy (select n, nullif(n % 3, 0)::bool, case when n = 2999 then -12345678901234567890.123 when n % 7 > 0 then n / 8.0 end,
		repeat('d', n % 300), chr(97 + n % 3), 'x' || n % 1000, case when n % 2 = 0 then md5(n::text)::uuid end, 'n' || n,
		n * interval '1 hour', repeat('j', n % 200), n / 3.0::float4, sha256(n::text::bytea), n * 1000000007::int8,
		n % 97 + 0.5, case when n % 11 > 0 then date '2026-01-01' + n end
	from generate_series(1, 5000) n) to '$kinds'
SQL
same_changes('COPY of all kinds of columns', <<"SQL", qr/c\[numeric\]:-12345678901234567890.123 .*f\[character\]:'x999 '/);
create table kinds (a int2 not null, b bool, c numeric, d text, gone text, e "char", f char(5), g uuid, h name, i interval,
	j text, k float4, l bytea, m int8, n numeric(7,2), o date);
alter table kinds drop column gone;
alter table kinds alter d set storage plain;
copy kinds from '$kinds';
SQL

same_changes('replica identity', <<'SQL', qr/old-key: a\[integer\]:4 b\[text\]:'x' c\[integer\]:4 d\[text\]:'4' new-tuple/);
create table ri (a int not null, b text, c int not null, d text, unique (c, a));
create unique index ri_c on ri (c);
insert into ri select i, 'x', i, i from generate_series(1, 10) i;
update ri set b = 'y' where a = 1;
update ri set c = 100 where a = 1;
delete from ri where a = 1;
alter table ri replica identity full;
update ri set b = 'y' where a = 4;
update ri set c = 104 where a = 4;
delete from ri where a = 4;
alter table ri replica identity using index ri_c;
update ri set b = 'y' where a = 5;
update ri set c = 105 where a = 5;
update ri set c = c where a = 5;
delete from ri where a = 5;
alter table ri replica identity using index ri_c_a_key;
update ri set b = 'y' where a = 6;
update ri set a = 106 where a = 6;
delete from ri where a = 106;
alter table ri replica identity nothing;
update ri set b = 'y', c = 107 where a = 7;
delete from ri where a = 7;
alter table ri add primary key (a), replica identity default;
update ri set b = 'y' where a = 8;
update ri set a = 108 where a = 8;
delete from ri where a = 108;
alter table ri drop constraint ri_pkey;
update ri set a = 109 where a = 9;
delete from ri where a = 109;
SQL

same_changes('columns that come and go', <<'SQL', qr/e\[integer\]:50 g\[integer\]:20 /);
create table cols (a int primary key, b text, c int, d int);
insert into cols select i, 'b' || i, i, i from generate_series(1, 20) i;
alter table cols drop column c;
alter table cols add column e int default 50;
alter table cols add column f text;
alter table cols add column g int generated always as (a * 2) stored;
alter table cols replica identity full;
update cols set b = 'new' where a = 10;
delete from cols where a = 11;
insert into cols (a, b) values (30, 'thirty');
update cols set a = 31 where a = 30;
alter table cols drop column b, drop column d;
delete from cols where a < 8;
insert into cols values (40);
create table none ();
insert into none default values;
alter table none replica identity full;
delete from none;
SQL

same_changes('virtual generated columns', <<'SQL', qr/UPDATE/)
create table gen (a int primary key, b int generated always as (a + 1) virtual, c text);
alter table gen replica identity full;
insert into gen values (1, default, 'c'), (2, default, null);
update gen set c = 'd' where a = 1;
delete from gen;
SQL
  if $node->pg_version >= 18;

same_changes('transactions', <<'SQL', qr/public\.hp: INSERT: a\[integer\]:-10001 b\[text\]:'dup'/);
create table tx (a int primary key, b text);
create table hp (a int primary key, b text) using heap;
begin;
insert into tx values (1, 'a');
insert into hp values (1, 'a');
savepoint s1;
insert into tx values (2, 'lost');
insert into hp values (2, 'lost');
update tx set b = 'lost' where a = 1;
rollback to s1;
insert into tx values (2, 'kept');
savepoint s2;
insert into hp values (2, 'kept');
update tx set b = 'kept' where a = 1;
release s2;
delete from hp where a = 1;
delete from tx where a = 2;
insert into tx select i, i from generate_series(100, 300) i;
savepoint s3;
copy tx from program 'seq -f "%g	lost" 1000 1200';
rollback to s3;
copy tx from program 'seq -f "%g	kept" 1000 1200';
commit;
begin; insert into tx values (5, 'lost'); insert into hp values (5, 'lost'); rollback;
begin; insert into tx values (6, '6'); insert into hp values (7, '7'); update tx set b = '66' where a = 6; commit;
do $$ begin
	for i in 10000..10100 loop
		begin
			insert into tx values (i - i % 2, i);
			insert into hp values (i, 'h');
		exception when unique_violation then insert into hp values (-i, 'dup');
		end;
	end loop;
end $$;
SQL

same_changes('ON CONFLICT, MERGE, cascades', <<'SQL', qr/UPDATE: a\[integer\]:1 b\[text\]:'two'/);
create table oc (a int primary key, b text);
insert into oc values (1, 'one'), (2, 'x');
insert into oc values (1, 'two') on conflict (a) do update set b = excluded.b;
insert into oc values (1, 'three'), (3, 'three') on conflict do nothing;
insert into oc values (4, 'four') on conflict (a) do update set b = 'not';
create table src (a int, b text) using heap;
insert into src values (1, 'merged'), (2, null), (50, 'new');
merge into oc using (select * from src order by a) src on oc.a = src.a
	when matched and src.b is null then delete
	when matched then update set b = src.b
	when not matched then insert values (src.a, src.b);
create table parent (a int primary key);
create table child (a int primary key, p int references parent on delete cascade on update cascade);
insert into parent values (1), (2);
insert into child values (10, 1), (11, 2);
update parent set a = 5 where a = 1;
delete from parent where a = 2;
truncate parent, child restart identity cascade;
SQL

same_changes('partitions', <<'SQL', qr/p1: DELETE: a\[integer\]:1.*p2: INSERT: a\[integer\]:11/s);
create table pt (a int primary key, b text) partition by range (a);
create table p1 partition of pt for values from (0) to (10);
create table p2 partition of pt for values from (10) to (20);
create table p3 partition of pt for values from (20) to (30) using heap;
insert into pt values (1, 'one'), (12, 'twelve'), (25, 'heap');
update pt set a = 11 where a = 1;
update pt set a = 21 where a = 11;
update pt set a = 2 where a = 25;
delete from pt where a = 21;
copy pt from program 'seq -f "%g	c" 3 9';
truncate pt;
SQL

same_changes('rewrites', <<'SQL', qr/TRUNCATE/);
create table rw (a int primary key, b text);
insert into rw select i, i from generate_series(1, 100) i;
delete from rw where a % 2 = 0;
vacuum full rw;
insert into rw values (200, 'a');
cluster rw using rw_pkey;
begin;
insert into rw values (201, 'in the same transaction');
alter table rw alter a type bigint;
insert into rw values (202, 'after');
update rw set b = 'updated' where a = 201;
commit;
vacuum rw;
alter table rw set access method heap;
delete from rw where a = 1;
alter table rw set access method zedstore;
update rw set a = 300 where a = 3;
begin; truncate rw; insert into rw values (1, 'x'); rollback;
begin; truncate rw; insert into rw values (1, 'y'); commit;
create unlogged table ul (a int primary key);
insert into ul values (1);
create temp table tmp (a int primary key);
insert into tmp values (1);
create table nolog (a int);
reindex table rw;
SQL

same_changes('rewrites that are asked for', <<'SQL', qr/pg_temp_\d+|rw/, 'include-rewrites' => 1);
create table rwi (a int primary key, b text);
insert into rwi select i, i from generate_series(1, 10) i;
alter table rwi add c float8 default random() * 0;
delete from rwi where a = 1;
vacuum full rwi;
SQL

# ---- large values

# The identity's columns are compared by their text in heap, too.
same_changes('large values', <<'SQL', qr/UPDATE: old-key: a\[integer\]:3 /);
create table big (a int primary key, b text, c bytea);
alter table big replica identity full;
insert into big values (1, repeat('0123456789', 10000), null);
insert into big select 2, string_agg(md5(i::text), ''), decode(string_agg(md5((-i)::text), ''), 'hex') from generate_series(1, 40000) i;
insert into big values (3, repeat('long', 750000), '');
update big set b = upper(b), c = '\x01' where a = 2;
update big set b = b || 'x', c = c || '\x00' where a = 3;
delete from big where a = 2;
create table src_big (a int, b text) using heap;
alter table src_big alter b set storage external;
insert into src_big select 100 + i, repeat(chr(64 + i), 20000 * i) from generate_series(1, 5) i;
insert into big select a, b from src_big order by a;
SQL

# Of a value that an update does not touch, and that is stored apart, it is only said that it is
# there, as on heap.  The replica identity is complete, and so is a row whose identity changes.
$node->safe_psql('z', q{
	update big set c = '\x55' where a = 101;
	alter table big replica identity default;
	update big set c = '\x56' where a = 101;
	update big set a = 201 where a = 101;
	delete from big where a <> 201;
	alter table big alter b set not null;
	create unique index big_ab on big (a, b);
	alter table big replica identity using index big_ab;
	update big set c = '\x57' where a = 201;
	alter table big replica identity nothing;
	update big set c = '\x58' where a = 201;
	set zedstore.enable_value_sharing = off;
	update big set c = '\x59' where a = 201});
my $out = changes('z', 's');
like($out, qr/UPDATE: old-key: a\[integer\]:101 b\[text\]:'A{20000}' new-tuple: a\[integer\]:101 b\[text\]:unchanged-toast-datum c\[bytea\]:'\\x55'/,
	'unchanged large value: identity full');
like($out, qr/UPDATE: a\[integer\]:101 b\[text\]:unchanged-toast-datum c\[bytea\]:'\\x56'/,
	'... default');
like($out, qr/UPDATE: old-key: a\[integer\]:101 new-tuple: a\[integer\]:201 b\[text\]:'A{20000}' c\[bytea\]:'\\x56'/, '... default, the key changes');
like($out, qr/UPDATE: a\[integer\]:201 b\[text\]:'A{20000}' c\[bytea\]:'\\x57'/, '... in the key');
like($out, qr/UPDATE: a\[integer\]:201 b\[text\]:unchanged-toast-datum c\[bytea\]:'\\x58'/,
	'... nothing');
like($out, qr/UPDATE: a\[integer\]:201 b\[text\]:'A{20000}' c\[bytea\]:'\\x59'/, '... not shared');

# ---- origins

for my $db ('h', 'z')
{
	$node->safe_psql($db, "select pg_replication_origin_create('elsewhere_$db')");
}
my %out;
for my $db ('h', 'z')
{
	$node->safe_psql($db, <<"SQL");
create table org (a int primary key);
insert into org values (1);
select pg_replication_origin_session_setup('elsewhere_$db');
insert into org values (2);
copy org from program 'seq 10 20';
update org set a = 3 where a = 2;
delete from org where a = 3;
select pg_replication_origin_session_reset();
insert into org values (4);
SQL
	$out{$db} = changes($db, 's', 'only-local' => 1);
}
is_equal($out{z}, $out{h}, 'origins: same changes');
like($out{z}, qr/INSERT: a\[integer\]:1\n.*INSERT: a\[integer\]:4\n/s,
	'origins: local changes are there');
unlike($out{z}, qr/integer\]:[23]/, 'origins: others are not');

# ---- large transactions, streamed

for my $db ('h', 'z')
{
	$node->safe_psql($db, <<'SQL');
create table str (a int primary key, b text);
begin;
insert into str select i, repeat('abc', i % 100) from generate_series(1, 3000) i;
savepoint s1;
copy str from program 'seq -f "%g	streamed" 10000 12000';
rollback to s1;
update str set b = 'new' where a < 1000;
delete from str where a > 2000;
commit;
SQL
	$out{$db} = $node->safe_psql($db,
		"select data from pg_logical_slot_peek_changes('s_$db', null, null, 'include-xids', '0', 'stream-changes', '1')");
}
like($out{z}, qr/opening a streamed block/, 'streaming: transactions come in pieces');
# the savepoint's changes are streamed before it is rolled back, or not at all
cmp_ok(scalar(() = $out{z} =~ /^streaming change for/mg), '>=', 4999,
	'streaming: all changes come');
is_equal(changes('z', 's'), changes('h', 's'), 'the same transaction in one piece: same changes');

# ---- two-phase commit

make_slots('tp', 1);
same_changes('two-phase', <<'SQL', qr/PREPARE TRANSACTION.*COMMIT PREPARED.*ROLLBACK PREPARED/s, slot => 'tp');
create table tp (a int primary key, b text);
begin;
insert into tp values (1, 'prepared');
insert into tp select i, i from generate_series(10, 500) i;
savepoint s; insert into tp values (2, 'lost'); rollback to s;
update tp set b = 'twice' where a = 10;
prepare transaction 'p1';
insert into str values (-1, 'between');
commit prepared 'p1';
begin; delete from tp where a = 1; prepare transaction 'p2'; rollback prepared 'p2';
SQL
changes($_, 's') for 'h', 'z';
$node->safe_psql($_, "select pg_drop_replication_slot('tp_$_')") for 'h', 'z';

# ---- slots that skip, that are copied, and the WAL of a level without row images

$node->safe_psql('z', 'insert into tp values (1000, $$skipped$$)');
$node->safe_psql('z', q{select pg_replication_slot_advance('s_z', pg_current_wal_lsn())});
$node->safe_psql('z', 'insert into tp values (1001, $$seen$$)');
$out = changes('z', 's');
unlike($out, qr/skipped/, 'advance: changes are skipped');
like($out, qr/INSERT: a\[integer\]:1001 b\[text\]:'seen'/, 'advance: the next one is not');

# ---- what is refused

my ($rc, $stdout, $stderr) = $node->psql('z', <<'SQL');
create table cat (a int primary key) with (user_catalog_table = true);
insert into cat values (1);
SQL
isnt($rc, 0, 'user_catalog_table: fails');
like($stderr, qr/zedstore table "cat" cannot be a catalog table for logical decoding/,
	'user_catalog_table: says why');
$node->safe_psql('z', 'alter table cat reset (user_catalog_table); insert into cat values (1)');
changes('z', 's');

# ---- crash

$node->safe_psql('z', <<'SQL');
create table crash (a int primary key, b text);
insert into crash select i, 'before' from generate_series(1, 100) i;
checkpoint;
update crash set b = 'updated' where a <= 10;
copy crash from program 'seq -f "%g	copied" 1000 1200';
delete from crash where a = 50;
SQL
my $open = $node->background_psql('z');
$open->query_safe('begin');
$open->query_safe("insert into crash select i, 'lost' from generate_series(2000, 3000) i");
$open->query_safe("delete from crash where a < 5");
$node->safe_psql('z', "insert into crash values (5000, 'last')");
kill_and_restart($node);
$open->{run}->kill_kill;
$out = changes('z', 's');
is(() = $out =~ /INSERT/g, 302, 'crash: committed inserts are decoded');
is(() = $out =~ /UPDATE/g, 10, 'crash: committed updates are decoded');
is(() = $out =~ /DELETE/g, 1, 'crash: committed deletes are decoded');
unlike($out, qr/lost/, 'crash: others are not');
$node->safe_psql('z', "insert into crash values (6000, 'after')");
like(changes('z', 's'), qr/INSERT: a\[integer\]:6000 b\[text\]:'after'/, 'crash: decoding goes on');

# ---- what is in the WAL

# How many LOGICAL records a piece of SQL writes.
sub logical_records
{
	my ($sql) = @_;
	my $start = $node->safe_psql('z', 'select pg_current_wal_insert_lsn()');
	$node->safe_psql('z', $sql);
	return $node->safe_psql('z',
		qq{select count(*) from pg_get_wal_records_info('$start', pg_current_wal_flush_lsn())
		where resource_manager = 'zedstore' and record_type = 'LOGICAL'});
}

$node->safe_psql('z', 'create extension pg_walinspect; create table w (a int primary key, b text)');
is(logical_records('insert into w values (1, repeat($$x$$, 100000)); update w set b = null; delete from w'), 3, 'a record for each row');
is(logical_records(q{copy w (a) from program 'seq 1000'}), 1, 'COPY: a record for many rows');
is(logical_records('vacuum full w; cluster w using w_pkey; vacuum w; reindex table w; analyze w'),
	0, 'none when rows are moved');
is(logical_records('create temp table w (a int); insert into w values (1); create unlogged table wu (a int); insert into wu values (1)'),
	0, 'none for temporary and unlogged tables');

# ---- decoding on a standby

$node->append_conf('postgresql.conf', "hot_standby_feedback = on\n");
my $standby = standby_of($node, 'standby',
	conf => "hot_standby_feedback = on\nprimary_slot_name = ''\n");
$standby->create_logical_slot_on_standby($node, 'sb', 'z');
$node->safe_psql('z', <<'SQL');
insert into crash values (7000, 'for the standby');
update crash set a = 7001 where a = 7000;
delete from crash where a = 7001;
SQL
$node->wait_for_replay_catchup($standby);
is( $standby->safe_psql('z',
		"select data from pg_logical_slot_get_changes('sb', null, null, 'include-xids', '0', 'skip-empty-xacts', '1')"),
	join("\n",
		"BEGIN",
		"table public.crash: INSERT: a[integer]:7000 b[text]:'for the standby'",
		'COMMIT',
		'BEGIN',
		"table public.crash: UPDATE: old-key: a[integer]:7000 new-tuple: a[integer]:7001 b[text]:'for the standby'",
		'COMMIT',
		'BEGIN',
		'table public.crash: DELETE: a[integer]:7001',
		'COMMIT'),
	'decoding on a standby');
$standby->stop;

# ---- wal_level = replica

$node->safe_psql($_, "select pg_drop_replication_slot('s_$_')") for 'h', 'z';
$node->append_conf('postgresql.conf', 'wal_level = replica');
$node->restart;
is(logical_records('insert into w values (-1); update w set a = -2 where a = -1; delete from w where a = -2'), 0,
	'none with wal_level = replica');

zs_check_all($node, 'z');
$node->stop;
done_testing();
