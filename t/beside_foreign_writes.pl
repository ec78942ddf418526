# Libraries that know of no access method but heap: what they make gets heap, or is refused; what
# they write into a zedstore table all the same is an error for whoever reads it, and is not thrown
# away.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

my $tmp = PostgreSQL::Test::Utils::tempdir_short();
plan skip_all => 'needs a compiler' if !build_c($tmp, 'heap_writer.so');

my $node = new_node('main');
$node->safe_psql('postgres', qq{
	create function heap_insert(regclass, int, int) returns void strict language c as '$tmp/heap_writer', 'heap_writer_insert';
	create function heap_create(text, text, text) returns regclass language c as '$tmp/heap_writer', 'heap_writer_create';
	create function outcome(command text) returns text language plpgsql as \$\$
	declare
		result text;
	begin
		execute command into result;
		return coalesce(result, 'ok');
	exception when others then
		return sqlstate || ' ' || sqlerrm;
	end \$\$});

# The outcome of a command: of one that a function may run, or of another one.
sub outcome
{
	my ($command) = @_;
	my ($status, $stdout, $stderr) =
		$node->psql('postgres', "\\set VERBOSITY verbose\n$command", on_error_stop => 0);

	return $stdout if $stderr !~ /(?:ERROR|WARNING):  (\w{5}): (.*)/;
	return "$1 $2";
}

sub access_method
{
	my ($table) = @_;
	return $node->safe_psql('postgres', qq{
		select amname from pg_class c join pg_am a on a.oid = c.relam where c.oid = '$table'::regclass});
}

# ---- rows written past the access method

my $foreign = qr/^XX001 table "\w+" contains a page that is not zedstore's at block \d+/;

foreach my $nrows (0, 10, 20000)
{
	my $t = "t$nrows";

	$node->safe_psql('postgres', qq{
		create table $t (a int) using zedstore;
		insert into $t select generate_series(1, $nrows);
		vacuum $t});
	my $before = $node->safe_psql('postgres', "select pg_relation_size('$t')");

	# the first row may meet one of our own pages, and fails there or not; what matters is that none
	# is lost silently
	my $written = outcome("select heap_insert('$t', -10000, 3000)");
	my $grown = $node->safe_psql('postgres', "select pg_relation_size('$t') > $before");
	note("$nrows rows: heap_insert: $written, file grown: $grown");
	like($written, qr/^(?:$|XX001 |XX000 )/, "$nrows rows: heap_insert() ends well or in an error");
	if ($grown eq 'f')
	{
		is(outcome("select count(*) from $t"), $nrows,
			"$nrows rows: nothing has happened to the table");
		next;
	}
	like(outcome("select count(*) from $t"), $foreign, "$nrows rows: scan");
	like(outcome("select count(*) from $t where ctid < '(100000,1)'"), $foreign,
		"$nrows rows: TID range scan");
	like(outcome("vacuum $t"), $foreign, "$nrows rows: VACUUM");
	like(outcome("analyze $t"), $foreign, "$nrows rows: ANALYZE");
	like(outcome("insert into $t select generate_series(1, 2000000)"), $foreign,
		"$nrows rows: an INSERT that needs blocks");
	like(outcome("vacuum full $t"), $foreign, "$nrows rows: VACUUM FULL");
	like($node->safe_psql('postgres', "select severity, message from zs_check('$t')"),
		qr/^error\|the \d+ blocks from here on hold something that is not zedstore's$/m,
			"$nrows rows: zs_check()");
	ok($node->safe_psql('postgres', "select pg_relation_size('$t') > $before"),
		"$nrows rows: nothing was cut off");

	# the way out
	like(outcome("set zedstore.ignore_foreign_pages = on; select count(*) from $t"), $foreign,
		"$nrows rows: a warning");
	is($node->safe_psql('postgres',
		"set zedstore.ignore_foreign_pages = on; select count(*) from $t"), $nrows,
		"$nrows rows: the table's own rows are there");
	like(outcome("set zedstore.ignore_foreign_pages = on; vacuum $t"), $foreign,
		"$nrows rows: VACUUM warns");
	ok($node->safe_psql('postgres', "select pg_relation_size('$t') > $before"),
		"$nrows rows: and cuts nothing off");
	$node->psql('postgres', "set zedstore.ignore_foreign_pages = on; vacuum full $t");
	is($node->safe_psql('postgres', "select count(*), count(a) filter (where a < 0) from $t"),
		"$nrows|0",
		"$nrows rows: after VACUUM FULL");
}

# Pages that were added and never written are no foreign ones.
{
	my $file = $node->data_dir . '/' . $node->safe_psql('postgres', q{
		create table empty_end (a int) using zedstore;
		insert into empty_end select generate_series(1, 10000);
		vacuum empty_end;
		checkpoint;
		select pg_relation_filepath('empty_end')});
	$node->stop;
	open(my $fh, '>>', $file) or die "$file: $!";
	print $fh "\0" x (8192 * 3);
	close $fh;
	$node->start;
	is(outcome('select count(*) from empty_end'), '10000', 'empty pages behind the known end');
	is(outcome('vacuum empty_end'), '', 'VACUUM with empty pages there');
	is(outcome('insert into empty_end select generate_series(1, 500000)'), '', 'INSERT into them');
}

# The page that a library takes for the last one of a heap may be one of ours, full or not.
foreach my $ncolumns (20, 21, 22, 23)
{
	my $t = "wide$ncolumns";
	my $columns = join ', ', map { "c$_ text" } 1 .. $ncolumns;
	my $values = join ', ', map { "md5((g * $_)::text)" } 1 .. $ncolumns;

	$node->safe_psql('postgres', qq{
		create table $t (a int, $columns) using zedstore;
		insert into $t select g, $values from generate_series(1, 3000 + $ncolumns * 16) g;
		vacuum $t});
	my $rows = $node->safe_psql('postgres', "select count(*), sum(hashtext(x::text)) from $t x");
	my $written = outcome("select heap_insert('$t', -10000, 3000)");
	my $read = outcome("select count(*), sum(hashtext(x::text)) from $t x");
	note("$t: heap_insert: $written, read: $read");
	ok($written eq '' ? $read =~ /^XX001 / : ($read =~ /^XX001 / || $read eq $rows),
		"$t: nothing is lost silently");
	$node->safe_psql('postgres', "drop table $t");
}

# A session that knows the table: core's functions find no page to insert into, not even our
# metapage.
is($node->safe_psql('postgres', q{
	create table known (a int) using zedstore;
	insert into known values (1);
	select count(*) from known;
	select outcome($$select heap_insert('known', 7, 1)$$) ~ '^(58P01|XX001) ';
	select a from known}), "1\nt\n1", 'heap_insert() of a session that has read the table fails');

# A row on one of our own pages, as such a library might have written it with an earlier build.
{
	my $file = $node->data_dir . '/' . $node->safe_psql('postgres', q{
		create table own_page (a int) using zedstore;
		insert into own_page select generate_series(1, 100);
		select pg_relation_filepath('own_page')});
	$node->stop;
	open(my $fh, '+<:raw', $file) or die "$file: $!";
	my $page;
	sysread($fh, $page, 8192) == 8192 or die "$file: $!";
	# a line pointer at pd_lower and 32 bytes below the special space; no checksum, which is another
	# matter
	my ($lower, $upper) = unpack('x12 S S', $page);
	substr($page, $lower, 4) = pack('L', ($upper - 32) | 1 << 15 | 32 << 17);
	substr($page, 8, 8) = pack('S S S S', 0, 0, $lower + 4, $upper - 32);
	sysseek($fh, 0, 0);
	syswrite($fh, $page) == 8192 or die "$file: $!";
	close $fh;
	$node->append_conf('postgresql.conf', 'ignore_checksum_failure = on');
	$node->start;
	my ($status, $stdout, $stderr) = $node->psql('postgres', 'select count(*) from own_page');
	like($stderr, qr/The metapage is not valid: something that is not zedstore's lies on the page/,
		'a row on the metapage');
	$node->safe_psql('postgres', 'drop table own_page');
	$node->adjust_conf('postgresql.conf', 'ignore_checksum_failure', 'off');
	$node->restart;
}
zs_check_all($node);

# ---- tables that a library makes

$node->append_conf('postgresql.conf', "default_table_access_method = 'zedstore'");
$node->reload;
my $refused = qr/^0A000 table "\w+" cannot get the access method "zedstore" by default$/;

like(outcome("select heap_create('public.made', null, null)"), $refused, 'a table made by C code');
is(outcome("select heap_create('made_heap', 'heap', null)"), 'made_heap', 'with heap named');
like(outcome("create table made_by as select heap_create('public.made', null, null)"), $refused,
	'within CREATE TABLE AS');
like(outcome("create materialized view made_by as select heap_create('public.made', null, null)"),
	$refused, 'within CREATE MATERIALIZED VIEW');
like(outcome("do \$\$begin create table inner_one (a int); perform heap_create('public.made', null, null); end\$\$"), $refused,
	'beside a CREATE TABLE');
is($node->safe_psql('postgres',
	"select count(*) from pg_class where relname like 'made%' or relname = 'inner_one'"), '1',
	'nothing else is left');
is(outcome("set default_table_access_method = heap; select heap_create('made_named', 'zedstore', "
	. "null)"), 'made_named',
	'with zedstore named, where heap is the default');
is(access_method('made_named'), 'zedstore', 'it has it');

# children get their rows through the parent
$node->safe_psql('postgres', q{
	create table parent (a int, b text);
	select heap_create('child', 'zedstore', 'parent');
	insert into child select g, 'x' from generate_series(1, 5000) g});
is($node->safe_psql('postgres', 'select count(*) from parent'), '5000',
	'a child table made by C code');

# everything that a statement makes
$node->safe_psql('postgres', q{
	create table s_plain (a int primary key, b serial);
	create table s_as as select 1 as a;
	select 1 as a into s_into;
	create materialized view s_view as select * from s_as;
	create table s_partitioned (a int) partition by range (a);
	create table s_partition partition of s_partitioned for values from (1) to (10);
	create table s_like (like s_plain including all);
	create schema s_schema create table s_plain (a int);
	create temp table s_temp (a int);
	create unlogged table s_unlogged (a int);
	create type s_type as (a int);
	create table s_typed of s_type;
	explain analyze create table s_explained as select 1 as a;
	prepare p as select 1 as a;
	create table s_executed as execute p;
	do $$begin create table s_plpgsql (a int); end$$;
	insert into s_plain select g from generate_series(1, 10) g;
	refresh materialized view s_view;
	alter table s_plain add c float default random();
	vacuum full s_plain;
	cluster s_plain using s_plain_pkey;
	truncate s_as;
	alter table s_as set access method heap;
	alter table s_as set access method default});
foreach my $table (qw(s_plain s_as s_into s_view s_partition s_like s_schema.s_plain s_unlogged s_typed s_explained
	s_executed s_plpgsql))
{
	is(access_method($table), 'zedstore', "$table is what the default says");
}

# ---- scripts of extensions

my $sharedir = $node->config_data('--sharedir') . '/extension';
SKIP:
{
	skip "cannot write to $sharedir", 3 if !-w $sharedir;
	my %script = (
		'0' => q{
			create table x_plain (a int primary key, b text);
			create table x_as as select 1 as a;
			select 1 as a into x_into;
			create materialized view x_view as select 1 as a;
			create table x_partitioned (a int) partition by range (a);
			create table x_partition partition of x_partitioned for values from (1) to (10);
			create table x_named (a int) using zedstore;
			create table x_options (a int) using zedstore with (zedstore_compression = zstd);
			create table x_parent (a int) partition by range (a) using zedstore;
			create table x_child partition of x_parent for values from (1) to (10);
			do $$begin execute 'create table x_plpgsql (a int)'; end$$;
			create table x_altered (a int) using zedstore;
			alter table x_altered set access method default;
			create table x_kept (a int);
			alter table x_kept set access method zedstore;
			select pg_catalog.pg_extension_config_dump('x_plain', '')},
		'0--1' => q{create table x_updated (a int); create table x_updated_named (a int) using }
			. q{zedstore},
		'c' => q{select heap_create('x_made', null, null)});
	foreach my $version (keys %script)
	{
		append_to_file("$sharedir/zs_test_script--$version.sql", $script{$version});
	}
	append_to_file("$sharedir/zs_test_script.control",
		"default_version = '0'\ncomment = 'test of zedstore_io'\n");
	$node->safe_psql('postgres', 'create extension zs_test_script');
	$node->safe_psql('postgres', q{alter extension zs_test_script update to '1'});
	my $tables = $node->safe_psql('postgres', q{
		select string_agg(relname, ' ' order by relname) filter (where amname = 'heap'),
			string_agg(relname, ' ' order by relname) filter (where amname = 'zedstore')
		from pg_class c join pg_am a on a.oid = c.relam
		where relname like 'x\_%' and relkind in ('r', 'm')});
	is($tables, 'x_altered x_as x_into x_partition x_plain x_plpgsql x_updated x_view|'
		  . 'x_child x_kept x_named x_options x_updated_named',
			'what a script does not name is heap');

	# a dump of it restores
	my $dump = "$tmp/dump.sql";
	$node->safe_psql('postgres',
		q{insert into x_plain values (1, 'one'); create database restored});
	$node->command_ok([ 'pg_dump', '--file', $dump, $node->connstr('postgres') ], 'pg_dump');
	$node->command_ok([ 'psql', '-X', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('restored'),
		'-f', $dump ],
		'psql restores it');
	is($node->safe_psql('restored', q{
		select amname, b from x_plain, pg_class c join pg_am a on a.oid = c.relam where relname = 'x_plain'}),
		'heap|one', 'the catalog of a restored extension is heap, with its rows');

	my ($status, $stdout, $stderr) =
		$node->psql('postgres',
		q{drop extension zs_test_script; create extension zs_test_script version 'c'});
	like($stderr, qr/table "x_made" cannot get the access method "zedstore" by default/,
		'C code called by a script');
	unlink glob("$sharedir/zs_test_script*");
}
zs_check_all($node);

done_testing();
