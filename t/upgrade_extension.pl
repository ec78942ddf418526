# ALTER EXTENSION UPDATE from each older version, with tables, indexes, views, functions,
# statistics, event triggers and sessions in use: afterwards the database has what a new one has,
# and what was its own is left alone. Before that the new library is called by the older
# definitions.
use strict;
use warnings FATAL => 'all';

use ZedstoreTest;
use ZedstoreObjects;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('main', extension => 0, conf => "track_functions = 'all'\n");
my $newest = $node->safe_psql('postgres',
	"select default_version from pg_available_extensions where name = 'zedstore_io'");
my @older = split /\n/,
  $node->safe_psql('postgres', q{
	select version from pg_available_extension_versions v join pg_available_extensions e using (name)
	where name = 'zedstore_io' and version <> default_version order by 1});
cmp_ok(scalar @older, '>=', 1, "there are versions older than $newest");

$node->safe_psql('postgres',
	'create role regress_reader; create role regress_owner; create database fresh');
$node->safe_psql('fresh', 'create extension zedstore_io');

# Everything that belongs to the extension, with what can be said of it.
sub members
{
	my ($dbname) = @_;

	return $node->safe_psql($dbname, q{
		select pg_describe_object(d.classid, d.objid, d.objsubid), obj_description(d.objid, d.classid::regclass::name),
			case when d.classid = 'pg_proc'::regclass then pg_get_functiondef(d.objid) end,
			(select array_agg(a::text order by a::text) from unnest(p.proacl) a), p.proowner::regrole,
			case when c.relkind = 'v' then pg_get_viewdef(c.oid) end, c.relkind,
			(select array_agg(a::text order by a::text) from unnest(c.relacl) a), c.relowner::regrole,
			(select array_agg(format('%s %s', attname, format_type(atttypid, atttypmod)) order by attnum)
			 from pg_attribute t where t.attrelid = c.oid),
			m.amname, m.amhandler, m.amtype,
			(select array_agg(a::text order by a::text) from pg_init_privs i, unnest(i.initprivs) a
			 where i.classoid = d.classid and i.objoid = d.objid)
		from pg_depend d join pg_extension e on e.oid = d.refobjid
			left join pg_proc p on d.classid = 'pg_proc'::regclass and p.oid = d.objid
			left join pg_class c on d.classid = 'pg_class'::regclass and c.oid = d.objid
			left join pg_am m on d.classid = 'pg_am'::regclass and m.oid = d.objid
		where d.refclassid = 'pg_extension'::regclass and d.deptype = 'e' and e.extname = 'zedstore_io'
		order by 1});
}

# The rest of pg_extension, and what depends on the members, other than the rules of its own views.
sub dependents
{
	my ($dbname) = @_;

	return $node->safe_psql($dbname, q{
		select e.extname, e.extowner::regrole, e.extnamespace::regnamespace, e.extrelocatable, e.extconfig
		from pg_extension e order by 1})
	  . $node->safe_psql($dbname, q{
		select pg_describe_object(o.classid, o.objid, o.objsubid), pg_describe_object(d.classid, d.objid, 0), o.deptype
		from pg_depend d join pg_extension e on e.oid = d.refobjid
			join pg_depend o on o.refclassid = d.classid and o.refobjid = d.objid
		where d.refclassid = 'pg_extension'::regclass and d.deptype = 'e' and e.extname = 'zedstore_io'
			and not exists (select from pg_depend x where x.classid = o.classid and x.objid = o.objid and x.deptype = 'e')
			and not exists (select from pg_rewrite r
				join pg_depend x on x.classid = 'pg_class'::regclass and x.objid = r.ev_class
				where r.oid = o.objid and o.classid = 'pg_rewrite'::regclass and x.deptype = 'e')
		order by 1, 2, 3});
}

sub dump_of
{
	my ($dbname, $name) = @_;
	my $file = $node->basedir . "/$name.sql";

	$node->command_ok([ 'pg_dump', '-f', $file, '-d', $dbname ], "pg_dump: $name");
	my $text = slurp_file($file);
	$text =~ s/^\\(un)?restrict .*$//mg;
	return $text;
}

# The functions that show something of a table or the server, by way of the user's views.
my $views = <<'SQL';
create view v_trees as select * from pg_zs_trees('t');
create view v_check as select relname, k.* from pg_class, lateral zs_check(oid) k
	where relkind in ('r', 'm') and relam = (select oid from pg_am where amname = 'zedstore');
create materialized view m_segments using zedstore as select * from pg_zs_segments('t');
create view v_segments as select * from pg_zs_segments('t');
create view v_pages as select * from pg_zs_btree_pages('t');
create view v_meta as select * from pg_zs_meta_page('t');
create view v_free as select * from pg_zs_free_pages('t');
create view v_items as select * from pg_zs_tid_items('t');
create view v_profiles as select * from zs_io_profiles();
create view v_volumes as select tablespace, profile from zs_io_volumes();
create view v_scans as select * from pg_stat_zedstore_scans;
create view v_scan_volumes as select device, grants from pg_stat_zedstore_scan_volumes;
create view v_io as select worker, method, role, blocks from pg_stat_zedstore_io;
SQL
my @shown = $views =~ /create (?:materialized )?view (\w+)/g;

sub shown
{
	my ($dbname) = @_;
	return $node->safe_psql($dbname, join ';', map { "select * from $_" } @shown);
}

foreach my $version (@older)
{
	my $db = 'from_' . $version =~ s/\W/_/gr;

	$node->safe_psql('postgres', "create database $db");
	$node->safe_psql($db, "create extension zedstore_io version '$version'");
	is( $node->safe_psql($db, q{select extversion from pg_extension where extname = 'zedstore_io'}),
		$version, "$version: is created");
	create_objects($node, $db);
	$node->safe_psql($db, $views);
	$node->safe_psql($db, <<'SQL');
create function compact_them() returns bigint begin atomic select zs_compact('t') + zs_compact('types'); end;
create function check_it(regclass) returns bigint language plpgsql as
	$$ declare n bigint; begin select count(*) into n from zs_check($1); return n; end $$;
create statistics t_stat (ndistinct, mcv) on a, b from t;
create table commands (n serial, event text, tag text);
create function note_command() returns event_trigger language plpgsql security definer set search_path = public as
	$$ begin insert into commands (event, tag) values (tg_event, tg_tag); end $$;
create function note_drops() returns event_trigger language plpgsql security definer set search_path = public as $$
	declare o record; begin for o in select * from pg_event_trigger_dropped_objects() loop
	insert into commands (event, tag) values ('dropped', o.object_identity); end loop; end $$;
-- what users changed of the extension's objects stays
grant execute on function pg_zs_trees(regclass), zs_compact(regclass) to regress_reader;
revoke execute on function zs_check(regclass, boolean) from pg_monitor;
grant select on pg_stat_zedstore_scans to regress_reader;
vacuum analyze;
SQL
	# not before the tables are there: they note every command
	$node->safe_psql($db, <<'SQL');
create event trigger e_start on ddl_command_start execute function note_command();
create event trigger e_end on ddl_command_end execute function note_command();
create event trigger e_drop on sql_drop execute function note_drops();
SQL

	# the new library under the old definitions
	is($node->safe_psql($db, "select compact_them() >= 0, check_it('t')"), 't|0',
		"$version: functions work");
	$node->safe_psql($db, 'refresh materialized view m_segments; vacuum analyze');
	is( $node->safe_psql($db, q{
			select count(*) filter (where item is null) from zs_io_report() union all
			select count(*) from v_check union all
			select zs_prewarm('t', '{a,b}') - zs_prewarm('t', '{a,b}')}),
		"0\n0\n0",
		"$version: more functions work");
	my $was_shown = shown($db);
	my $rows = object_rows($node, $db);
	my $catalog = object_catalog($node, $db);
	my $dependents = dependents($db);
	my $stats = "select relname, n_live_tup, n_tup_ins, n_tup_upd, n_tup_del, last_vacuum, last_analyze
		from pg_stat_user_tables where relname not in ('commands', 'moved') order by 1";
	$stats .= ';select starelid::regclass, staattnum, stanullfrac, stadistinct, stavalues1::text from pg_statistic
		where starelid::regclass::text in (select relname from pg_stat_user_tables) order by 1, 2';
	$stats .= q{;select stxname, stxdndistinct::text, pg_relation_size('t') from pg_statistic_ext join pg_statistic_ext_data on oid = stxoid};
	my $statistics = $node->safe_psql($db, $stats);
	$node->safe_psql($db, 'truncate commands restart identity');
	my $dump = dump_of($db, "before $version");

	# a session in the middle of things: a cursor, a prepared statement, rows in its write buffer
	my $session = $node->background_psql($db);
	$session->query_safe("prepare q as select sum(nblocks) from pg_zs_trees('t')");
	my $blocks = $session->query_safe('execute q');
	$session->query_safe('begin');
	$session->query_safe('declare c cursor for select a from t order by a');
	$session->query_safe('fetch 10 from c');
	$session->query_safe(
		"insert into moved select i, 'buffered' from generate_series(100001, 110000) i");

	# somebody else may not; what is rolled back leaves all as it was
	my $before = members($db);
	$node->safe_psql($db, 'grant create on database ' . $db . ' to regress_owner');
	my ($ret, $out, $err) =
	  $node->psql($db, 'set role regress_owner; alter extension zedstore_io update');
	like($err, qr/must be owner of extension zedstore_io/, "$version: not for everybody");
	$node->safe_psql($db, 'begin; alter extension zedstore_io update; rollback');
	is(members($db), $before, "$version: nothing is left of an update that was rolled back");
	is($node->safe_psql($db, q{select extversion from pg_extension where extname = 'zedstore_io'}),
		$version, "$version: nor its version");

	$node->safe_psql($db, 'alter extension zedstore_io update');
	is($node->safe_psql($db, 'select library, extension from zs_version()'), "$newest|$newest",
		"$version: is updated");
	is( $node->safe_psql($db, "select event, count(*) > 0 from commands where tag = 'ALTER EXTENSION' group by 1 order by 1"),
		"ddl_command_end|t\nddl_command_start|t", "$version: event triggers see the command");
	is($node->safe_psql($db, "select * from commands where event = 'dropped'"), '',
		"$version: nothing is dropped");

	$session->query_safe(
		"insert into moved select i, 'buffered' from generate_series(110001, 111000) i");
	is($session->query_safe('fetch 2 from c'), "12\n13", "$version: a cursor goes on");
	is($session->query_safe('execute q'), $blocks, "$version: so does a prepared statement");
	$session->query_safe("select * from zs_version()");
	$session->query_safe('rollback');
	$session->quit;

	is(shown($db), $was_shown, "$version: views show what they showed");
	is(object_rows($node, $db), $rows, "$version: same rows");
	is(object_catalog($node, $db), $catalog, "$version: same definitions of tables");
	is(dependents($db), $dependents, "$version: same dependencies");
	is($node->safe_psql($db, $stats), $statistics, "$version: same statistics");
	$node->safe_psql($db, 'truncate commands restart identity');
	is(dump_of($db, "after $version"), $dump, "$version: same dump");

	# What users changed is theirs still; without it members are those of a new database.
	is( $node->safe_psql($db, q{
			select has_function_privilege('regress_reader', 'pg_zs_trees(regclass)', 'execute'),
				has_function_privilege('pg_monitor', 'zs_check(regclass, boolean)', 'execute'),
				has_table_privilege('regress_reader', 'pg_stat_zedstore_scans', 'select')}),
		't|f|t',
		"$version: privileges that users gave and took");
	$node->safe_psql($db, <<'SQL');
revoke execute on function pg_zs_trees(regclass), zs_compact(regclass) from regress_reader;
grant execute on function zs_check(regclass, boolean) to pg_monitor;
revoke select on pg_stat_zedstore_scans from regress_reader;
SQL
	# an ACL that says what is the default says the same as none
	my $members = members($db);
	my $compact = quotemeta('{=X/');
	$members =~ s/^(function zs_compact\(.*\n(?:.*\n)*?.*)\|$compact[^}]*\}\|/$1||/m;
	is($members, members('fresh'), "$version: the extension is that of a new database");

	# it goes on living
	$node->safe_psql($db, q{
		update t set b = 'after' where a between 1 and 99;
		insert into t select 80000 + i, 'new' from generate_series(1, 5000) i;
		create table born (a int) using zedstore with (zedstore_compression = zstd);
		vacuum (freeze) t, types, p;
		vacuum full moved;
		});
	zs_check_all($node, $db, "$version: zs_check");
	kill_and_restart($node);
	zs_check_all($node, $db, "$version: zs_check after a crash");

	# a dump of it, restored, has the newest version
	$node->safe_psql('postgres', "create database again_$db template template0");
	$node->command_ok(
		[ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', "again_$db", '-f', $node->basedir
			. "/before $version.sql" ],
		"$version: restore what was dumped before");
	is(object_rows($node, "again_$db"), $rows, "$version: rows of the restored database");
	is($node->safe_psql("again_$db", 'select extension from zs_version()'), $newest,
		"$version: version of the restored one");

	# there is no way back
	($ret, $out, $err) = $node->psql($db, "alter extension zedstore_io update to '$version'");
	like($err, qr/no update path from version "\Q$newest\E" to version "\Q$version\E"/,
		"$version: no way back");
	# but the extension can go, when nothing needs it
	($ret, $out, $err) = $node->psql($db, 'drop extension zedstore_io');
	like($err, qr/other objects depend on it/, "$version: the extension is needed");
}

$node->stop;
done_testing();
