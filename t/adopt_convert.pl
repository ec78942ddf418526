# zs_convert(): a table that is in use becomes zedstore and heap again.
#
# Under pgbench, whose transactions keep two sums equal; with every kind of object that hangs on a
# table, by the text of a dump; with an error, a cancel, the end of the backend and kill -9 of the
# server at each step: the table then holds what was committed, has one of the two access methods,
# and another call converts it.
# Takes 140 seconds of a processor: scripts/run-tests starts it early.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);
use ZedstoreTest;

my $node = new_node('convert', allows_streaming => 'logical', conf => <<'CONF');
autovacuum = off
max_connections = 60
deadlock_timeout = 100ms
CONF

# What a table is, but for its access method.
sub schema_text
{
	my $file = $node->basedir . '/schema.sql';

	$node->command_ok(
		[ 'pg_dump', '--schema-only', '--no-table-access-method', '-f', $file, '-d', 'postgres' ],
		'schema');
	my $text = slurp_file($file);
	$text =~ s/^\\(un)?restrict .*$//mg;
	return $text;
}

sub access_method
{
	my ($table) = @_;

	return $node->safe_psql('postgres',
		"select amname from pg_am a join pg_class c on a.oid = relam
			where c.oid = '$table'::regclass");
}

# Tables, triggers and views' rows that a conversion makes.
sub leftovers
{
	return $node->safe_psql('postgres', q{
		select (select count(*) from pg_class where relrewrite <> 0),
			(select count(*) from pg_trigger where tgfoid = 'zs_convert_log'::regproc),
			(select count(*) from pg_stat_zedstore_conversions)});
}

# ---- objects -----------------------------------------------------------------------------

$node->safe_psql('postgres', q{
	create extension amcheck;
	create extension btree_gist;
	create role reader;
	create table parent (code int primary key);
	insert into parent select i from generate_series(0, 9) i;
	create table acct (
		gone text,
		id int8 generated always as identity,
		a int not null,
		b text collate "C" default 'none',
		balance int8 not null default 0 check (balance > -1000000000),
		code int references parent,
		double int8 generated always as (balance * 2) stored,
		wide text,
		during int4range,
		primary key (id) include (code),
		unique (a) deferrable initially deferred,
		exclude using gist (a with =, during with &&));
	alter table acct drop column gone;
	insert into acct (a, b, code, wide, during)
		select i, md5(i::text), i % 10, case when i % 50 = 0 then
			(select string_agg(md5((i * 1000 + k)::text), '') from generate_series(1, 200) k) end,
			int4range(i, i + 5)
		from generate_series(1, 5000) i;
	alter table acct add column later text default 'added';
	alter table acct alter b set statistics 500;
	create index on acct (lower(b)) where code < 5;
	create index on acct using brin (id);
	create index on acct using gin (string_to_array(b, 'a'));
	create index on acct using hash (b);
	create statistics acct_stats on a, code from acct;
	create table child (id int8 references acct on update cascade on delete cascade, n int);
	insert into child select id, 1 from acct where a % 10 = 0;
	create table hist (id int8, delta int8);
	create view acct_view as select id, balance, later from acct;
	grant select (id, b), update on acct to reader;
	alter table acct enable row level security;
	create policy mine on acct using (true);
	create function touch() returns trigger language plpgsql as 'begin return new; end';
	create trigger touched before update on acct for each row execute function touch();
	create publication pub for table acct (id, b, balance);
	alter table acct replica identity using index acct_pkey;
	comment on column acct.b is 'a comment';
	alter table acct cluster on acct_pkey;
	alter table acct set (fillfactor = 80);
	analyze acct;
	create function same_rows(what text) returns bool language sql
		return (select sum(balance) from acct) = (select coalesce(sum(delta), 0) from hist)
			and not exists (select from acct
				left join (select id, sum(delta) s from hist group by id) h using (id)
				where balance <> coalesce(s, 0) or double <> 2 * balance or later <> 'added');
});
my $schema = schema_text();
my $oids = q{
	select c.oid, c.relname from pg_class c left join pg_index i on indexrelid = c.oid
	where c.oid = 'acct'::regclass or indrelid = 'acct'::regclass order by 1};
my $before = $node->safe_psql('postgres', $oids);
my $stats_query =
  q{select attname, n_distinct, correlation from pg_stats where tablename = 'acct' order by 1};
my $stats = $node->safe_psql('postgres', $stats_query);
# ---- writers -----------------------------------------------------------------------------

# Updates, inserts and deletes, changes of the key, savepoints; hist follows.
my $script = $node->basedir . '/write.sql';
append_to_file($script, <<'SQL');
\set a random(1, 5000)
\set b random(1, 5000)
\set d random(1, 100)
\set n random(1, 1000000000)
begin;
with u as (update acct set balance = balance + :d where a = :a returning id)
	insert into hist select id, :d from u;
savepoint s;
update acct set balance = balance - 7, b = 'lost' where a = :b;
rollback to s;
with i as (insert into acct (a, b, code, balance, during)
		values (5000 + :n, 'new', 1, :d, int4range(1, 2)) returning id)
	insert into hist select id, :d from i;
with d as (delete from acct
		where id in (select id from acct where a > 5000 limit 1 for update skip locked)
		returning id, balance)
	insert into hist select id, -balance from d;
end;
SQL

# Changes of the key.
my $keys = $node->basedir . '/keys.sql';
append_to_file($keys, <<'SQL');
\set a random(1, 5000)
begin;
select id from acct where a = :a for update \gset
update hist set id = -id where id = :id;
update acct set id = default where id = :id returning id as new \gset
update hist set id = :new where id = -:id;
end;
SQL

sub start_writers
{
	my ($seconds) = @_;
	my %run = (out => '', err => '');

	$run{handle} = IPC::Run::start(
		[ 'pgbench', '-n', '-c', '3', '--max-tries=10', '-T', $seconds, '-f', "$script\@5",
			'-f', "$keys\@1", $node->connstr('postgres') ], '>', \$run{out}, '2>', \$run{err});
	return \%run;
}

# They stop at the end of the transaction; none may have failed but for deadlocks and duplicates.
sub stop_writers
{
	my ($run, $title) = @_;

	$run->{handle}->finish;
	unlike($run->{err}, qr/aborted/, "$title: no writer failed") or diag $run->{err};
	return;
}

# The tables are right: sums, indexes, and zedstore's trees.
sub check_rows
{
	my ($title) = @_;

	is($node->safe_psql('postgres', q{select same_rows('')}), 't', "$title: each balance is right");
	is( $node->safe_psql('postgres', q{
			set enable_seqscan = off; set enable_bitmapscan = off;
			select count(*) filter (where exists (select from acct b where b.id = a.id)) =
				(select count(*) from acct) from acct a}),
		't', "$title: rows are found by the key");
	$node->safe_psql('postgres', q{
		select bt_index_check(i.indexrelid, true)
		from pg_index i join pg_class c on c.oid = indexrelid join pg_am on pg_am.oid = relam
		where amname = 'btree' and indrelid = 'acct'::regclass});
	zs_check_all($node, 'postgres', "$title: zs_check");
	return;
}

# A subscriber follows all the time.
my $subscriber = new_node('subscriber');
$subscriber->safe_psql('postgres',
	'create table acct (id int8 primary key, b text, balance int8)');
$subscriber->safe_psql('postgres',
	'create subscription sub connection $$' . $node->connstr('postgres') . '$$ publication pub');
$subscriber->wait_for_subscription_sync($node, 'sub');

for my $method ('zedstore', 'heap')
{
	my $run = start_writers(20);

	wait_for_sql($node, 'select count(*) > 100 from hist');
	$node->safe_psql('postgres', "call zs_convert('acct', '$method')");
	is(access_method('acct'), $method, "$method: converted under load");
	is(leftovers(), '0|0|0', "$method: nothing is left");
	stop_writers($run, $method);
	check_rows("$method, under load");
	is($node->safe_psql('postgres', $oids), $before, "$method: the same OIDs");
	is(schema_text(), $schema, "$method: the same schema");
	is($node->safe_psql('postgres', $stats_query), $stats, "$method: the same statistics");
}

$node->wait_for_catchup('sub');
{
	my $sum =
	  q{select count(*), sum(balance), sum(hashtextextended(format('%s %s', id, b), 0)) from acct};

	is($subscriber->safe_psql('postgres', $sum), $node->safe_psql('postgres', $sum),
		'the subscriber has the same rows');
	$subscriber->safe_psql('postgres', 'drop subscription sub');
	$subscriber->stop;
}

# Foreign keys hold in both directions, and unique and exclusion constraints.
for my $method ('zedstore', 'heap')
{
	$node->safe_psql('postgres', "call zs_convert('acct', '$method')");
	for my $case (
		[ 'insert into child values (-1, 1)', qr/violates foreign key constraint/ ],
		[ 'delete from parent where code = 3', qr/violates foreign key constraint/ ],
		[ 'insert into acct (a, code) values (17, 1)', qr/duplicate key value violates unique/ ],
		[ 'insert into acct (a, code) values (-1, 77)', qr/violates foreign key constraint/ ],
		[ q{insert into acct (a, during) values (17, '[17,18)')},
			qr/conflicting key value violates exclusion/ ],
		[ 'update acct set balance = -1000000001 where a = 1', qr/violates check constraint/ ])
	{
		my ($sql, $error) = @$case;
		my ($rc, $out, $err) = $node->psql('postgres', $sql);
		like($err, $error, "$method: $sql");
	}
	is($node->safe_psql('postgres', q{
			select count(*) = count(wide) filter (where length(wide) = 6400) from acct
			where a % 50 = 0 and a <= 5000 and wide is not null}),
		't', "$method: large values");
}
is( $node->safe_psql('postgres', q{
		select t.relname = 'pg_toast_' || c.oid
		from pg_class c join pg_class t on t.oid = c.reltoastrelid
		where c.oid = 'acct'::regclass}), 't', 'the TOAST table has its usual name');

# ---- size ---------------------------------------------------------------------------------

# The copy is written as a load is, by columns: small, before a VACUUM, but for the rows at the end
# of each part.
$node->safe_psql('postgres', q{
	create table loaded (id int primary key, at timestamptz, word text);
	insert into loaded
		select i, timestamptz '2026-01-01' + i * interval '1 minute', 'word ' || i % 9
		from generate_series(1, 100000) i});
my $heap_size = $node->safe_psql('postgres', q{select pg_table_size('loaded')});
$node->safe_psql('postgres', q{call zs_convert('loaded')});
is( $node->safe_psql('postgres', qq{
		select pg_table_size('loaded') < $heap_size / 4,
			(select sum(nblocks) < 20 from pg_zs_trees('loaded') where attno = -1)}),
	't|t', 'a converted table is as small as a loaded one');
$node->safe_psql('postgres', 'drop table loaded');

# ---- options ------------------------------------------------------------------------------

$node->safe_psql('postgres',
	q{call zs_convert('acct', options => array['zedstore_compression=none'])});
is($node->safe_psql('postgres', q{select reloptions from pg_class where relname = 'acct'}),
	'{fillfactor=80,zedstore_compression=none}', 'options of zedstore are given');
$node->safe_psql('postgres', q{call zs_convert('acct', 'heap')});
is($node->safe_psql('postgres', q{select reloptions from pg_class where relname = 'acct'}),
	'{fillfactor=80}', 'and go with it');

# ---- refusals -----------------------------------------------------------------------------

$node->safe_psql('postgres', q{
	create table no_key (a int unique, b int);
	create table plain (a int primary key);
	create function f() returns void language plpgsql as $$ begin call zs_convert('acct'); end $$;
	create procedure p() language plpgsql as $$ begin call zs_convert('acct'); end $$;
	create role other;
	grant all on acct to other;
});
for my $case (
	[ q{call zs_convert('no_key')}, qr/has no key by which its changes can be followed/ ],
	[ q{begin; call zs_convert('acct')}, qr/cannot be called in a transaction block/ ],
	[ q{select f()}, qr/cannot be called in a transaction block/ ],
	[ q{call p()}, qr/cannot be called in a transaction block/ ],
	[ q{do $$ begin call zs_convert('acct'); end $$}, qr/cannot be called in a transaction block/ ],
	[ q{set role other; call zs_convert('acct')}, qr/must be owner of table acct/ ],
	[ q{call zs_convert('acct_view')}, qr/not a table that can be converted/ ],
	[ q{call zs_convert('pg_class')}, qr/not a table that can be converted/ ],
	[ q{call zs_convert('acct', 'nothing')}, qr/access method "nothing" does not exist/ ],
	[ q{call zs_convert('acct', 'btree')}, qr/access method "btree" is not of type TABLE/ ],
	[ q{call zs_convert('acct', lock_timeout => 0)}, qr/must be greater than zero/ ],
	[ q{call zs_convert('acct', options => '{fillfactor=3}')}, qr/./ ],
	[ q{call zs_convert('acct', older_than => '3')}, qr/partitioned by range/ ],
	[ q{create temp table t (a int primary key); call zs_convert('t')}, qr/temporary table/ ],
	[ q{set default_transaction_read_only = on; call zs_convert('acct')},
		qr/read-only transaction/ ],
	[ q{create trigger t after insert on plain for each row execute function zs_convert_log('1');
		insert into plain values (1)}, qr/^$/ ])
{
	my ($sql, $error) = @$case;
	my ($rc, $out, $err) = $node->psql('postgres', $sql);

	like($err, $error, $sql);
}
like(
	($node->psql('postgres', q{call zs_convert('acct', 'heap')}))[2],
	qr/NOTICE:  table "acct" has access method "heap" already/, 'already there');
is(leftovers(), '0|1|0', 'refusals leave nothing');
$node->safe_psql('postgres', 'drop table plain');

# A lock that others keep: an error after the time that is given, and everything is undone.
{
	my $holder = $node->background_psql('postgres');

	$holder->query_safe('begin; select count(*) from acct');
	my ($rc, $out, $err) = $node->psql('postgres',
		q{call zs_convert('acct', lock_timeout => 10, timeout => 1)});
	like($err, qr/the conversion could not end within 1 seconds/, 'others keep a lock');
	$holder->query_safe('commit');
	$holder->quit;
	is($node->safe_psql('postgres', q{select zs_convert_cleanup('acct')}) >= 0, 1, 'cleanup');
	is(leftovers(), '0|0|0', 'undone');
	is(access_method('acct'), 'heap', 'still heap');
}

# ---- partitions ---------------------------------------------------------------------------

$node->safe_psql('postgres', q{
	create table parts (at date not null, id int, primary key (at, id)) partition by range (at);
	create table p1 partition of parts for values from (minvalue) to ('2026-02-01');
	create table p2 partition of parts for values from ('2026-02-01') to ('2026-03-01')
		partition by list (id);
	create table p2_1 partition of p2 for values in (1);
	create table p2_2 partition of p2 default;
	create table p3 partition of parts for values from ('2026-03-01') to ('2026-04-01');
	create table p4 partition of parts default;
	insert into parts select date '2026-01-01' + i, i % 3 from generate_series(0, 200) i;
	call zs_convert('parts', older_than => '2026-03-01');
});
is( $node->safe_psql('postgres', q{
		select string_agg(c.relname || ' ' || amname, ', ' order by c.relname) from pg_class c
		join pg_am a on a.oid = relam where c.relname ~ '^p[1-4](_[12])?$'}),
	'p1 zedstore, p2_1 zedstore, p2_2 zedstore, p3 heap, p4 heap', 'older than');
$node->safe_psql('postgres', q{call zs_convert('parts')});
is( $node->safe_psql('postgres', q{select count(*), count(*) filter (where amname = 'zedstore'),
		(select count(*) from parts) from pg_class c join pg_am a on a.oid = relam
		where c.relname ~ '^p[1-4](_[12])?$'}), '5|5|201', 'all partitions');

# ---- errors, cancels, crashes at each step ---------------------------------------------------

my @points = qw(
  zs-convert-tables zs-convert-trigger zs-convert-part zs-convert-copied zs-convert-index
  zs-convert-caught-up zs-convert-locked zs-convert-applied zs-convert-swapped
  zs-convert-exchanged zs-convert-dropped);

if (!has_injection_points($node))
{
	$node->stop;
	done_testing();
	exit;
}
$node->safe_psql('postgres', q{
	create extension injection_points;
	truncate child, hist, acct;
	insert into acct (a, b, code, during) select i, md5(i::text), i % 10, int4range(i, i + 5)
		from generate_series(1, 5000) i;
});

# A conversion in the background that stops at a point; returns the session and its pid.
sub start_conversion
{
	my ($point, $method) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	my $pid = $session->query('select pg_backend_pid()');

	$node->safe_psql('postgres', "select injection_points_attach('$point', 'wait')");
	$session->query_until(qr//, "call zs_convert('acct', '$method');\n");
	wait_for_sql($node,
		"select wait_event = '$point' from pg_stat_activity where pid = $pid");
	return ($session, $pid);
}

# A transaction that changes a row while the conversion stops, unless it holds the lock.
sub write_meanwhile
{
	my ($node) = @_;

	$node->psql('postgres', q{
		set lock_timeout = '50ms';
		begin;
		update acct set balance = balance + 3 where a = 77;
		insert into hist select id, 3 from acct where a = 77;
		delete from acct where id in (select id from acct where a > 5000 limit 1);
		commit});
	return;
}

sub other_method
{
	return access_method('acct') eq 'heap' ? 'zedstore' : 'heap';
}

for my $point (grep { case_wanted($_) } @points)
{
	my $method = other_method();
	my $old = access_method('acct');
	my $done = $point =~ /exchanged|dropped/;

	# an error
	$node->safe_psql('postgres', "select injection_points_attach('$point', 'error')");
	my ($rc, $out, $err) = $node->psql('postgres', "call zs_convert('acct', '$method')");
	like($err, qr/error triggered for injection point/, "$point: error");
	$node->safe_psql('postgres', "select injection_points_detach('$point')");
	is(access_method('acct'), $done ? $method : $old, "$point: access method after the error");
	is(leftovers(), '0|0|0', "$point: nothing is left of the error");
	check_rows("$point, error");

	# a cancel, with writes before it
	($method, $old) = (other_method(), access_method('acct'));
	my ($session, $pid) = start_conversion($point, $method);
	write_meanwhile($node);
	$node->safe_psql('postgres', "select injection_points_detach('$point')");
	$node->safe_psql('postgres', "select pg_cancel_backend($pid)");
	wait_for_sql($node, "select state = 'idle' from pg_stat_activity where pid = $pid");
	$session->quit;
	is(leftovers(), '0|0|0', "$point: nothing is left of the cancel");
	check_rows("$point, cancel");

	# the end of the backend: the trigger does nothing, the next call cleans up
	($method, $old) = (other_method(), access_method('acct'));
	($session, $pid) = start_conversion($point, $method);
	$node->safe_psql('postgres', "select injection_points_detach('$point')");
	$node->safe_psql('postgres', "select pg_terminate_backend($pid)");
	wait_for_sql($node, "select not exists (select from pg_stat_activity where pid = $pid)");
	eval { $session->quit; };
	is(access_method('acct'), $done ? $method : $old, "$point: access method after the end");
	write_meanwhile($node);
	check_rows("$point, end of the backend");
	$node->safe_psql('postgres', "select zs_convert_cleanup()");
	is(leftovers(), '0|0|0', "$point: cleaned up");

	# kill -9 of all processes, in each direction
	for my $direction (qw(zedstore heap))
	{
		my $title = "$point, to $direction";

		$node->safe_psql('postgres', "call zs_convert('acct', '" . other_method() . "')")
		  if access_method('acct') eq $direction;
		$old = access_method('acct');
		($session, $pid) = start_conversion($point, $direction);
		write_meanwhile($node);
		kill_server($node);
		eval { $session->quit; };
		kill_and_restart($node, killed => 1);
		is(access_method('acct'), $done ? $direction : $old, "$title: after the crash");
		write_meanwhile($node);
		check_rows("$title, crash");
		$method = other_method();
		$node->safe_psql('postgres', "call zs_convert('acct', '$method')");
		is(access_method('acct'), $method, "$title: the next call converts");
		is(leftovers(), '0|0|0', "$title: and cleans up");
		check_rows("$title, after the crash");
	}
}

# A table that is dropped takes with it what an interrupted conversion left.
{
	my ($session, $pid) = start_conversion('zs-convert-copied', other_method());

	$node->safe_psql('postgres', "select injection_points_detach('zs-convert-copied')");
	$node->safe_psql('postgres', "select pg_terminate_backend($pid)");
	wait_for_sql($node, "select not exists (select from pg_stat_activity where pid = $pid)");
	eval { $session->quit; };
	is($node->safe_psql('postgres',
			q{select relation, phase from pg_stat_zedstore_conversions}),
		'acct|interrupted', 'the view shows what is left');
	$node->safe_psql('postgres', 'drop table acct cascade');
	is(leftovers(), '0|0|0', 'dropped with the table');
}

$node->stop;
done_testing();
