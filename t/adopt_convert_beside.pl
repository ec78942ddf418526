# What docs/adopt-convert.md says of others beside a conversion: dumps with and without its tables,
# a publication of all tables, a time-out, a nightly job, sessions that wait for it and that it
# waits for, a standby; and of unlogged tables.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

my $node = new_node('main', allows_streaming => 'logical', conf => 'autovacuum = off');

$node->safe_psql('postgres', q{
	create table orders (id int primary key, what text);
	insert into orders select i, md5(i::text) from generate_series(1, 20000) i;
	create publication everything for all tables;
	select pg_create_logical_replication_slot('slot', 'pgoutput')});

# ---- while it waits for a reader -----------------------------------------------------------

my $reader = $node->background_psql('postgres');
$reader->query_safe('begin isolation level repeatable read; select count(*) from orders');
my $conversion = $node->background_psql('postgres', on_error_stop => 0);
$conversion->query_until(qr/started/, "\\echo started\ncall zs_convert('orders');\n");
wait_for_sql($node,
	q{select count(*) > 0 from pg_stat_zedstore_conversions where phase ~ 'older snapshots'});
$node->safe_psql('postgres', q{
	update orders set what = 'meanwhile' where id % 10 = 0;
	insert into orders select -i, 'meanwhile' from generate_series(1, 500) i});
my $sum = q{select count(*), sum(hashtext(o::text)) from orders o};
my $rows = $node->safe_psql('postgres', $sum);
my $tables = q{select string_agg(regexp_replace(relname, '\d+', 'OID'), ' ' order by relname)
	from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace};

for my $case (
	[ 'whole', 'orders pg_temp_OID zs_convert_log_OID' ],
	[ 'without', 'orders', '-T', '*.pg_temp_*', '-T', '*.zs_convert_log_*' ])
{
	my ($name, $expected, @options) = @$case;
	my $file = $node->basedir . "/$name.dump";

	$node->command_ok([ 'pg_dump', '-Fc', @options, '-f', $file, '-d', 'postgres' ],
		"$name: dump");
	$node->safe_psql('postgres', "create database $name");
	$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', $name, $file ], "$name: restore");
	is($node->safe_psql($name, $tables), $expected, "$name: tables");
	is($node->safe_psql($name, $sum), $rows, "$name: rows");
	$node->safe_psql($name, q{
		update orders set what = 'restored' where id < 100; call zs_convert('orders')});
	zs_check_all($node, $name, "$name: zs_check");
}

$reader->query_safe('commit');
$reader->quit;
wait_for_sql($node, q{select amname = 'zedstore' from pg_class c join pg_am a on a.oid = relam
	where c.oid = 'orders'::regclass});
$conversion->quit;
is($node->safe_psql('postgres', $sum), $rows, 'converted: rows');
is($node->safe_psql('postgres', $tables), 'orders', 'nothing is left');

# ---- a publication of all tables -----------------------------------------------------------

is( $node->safe_psql('postgres', q{
		select count(*) filter (where position('meanwhile'::bytea in data) > 0),
			count(*) filter (where position('pg_temp_'::bytea in data) > 0
				or position('zs_convert_log'::bytea in data) > 0)
		from pg_logical_slot_get_binary_changes('slot', null, null, 'proto_version', '1',
			'publication_names', 'everything')}),
	'2500|0', 'changes of the table are published once, and those of its copy are not');

# ---- others -----------------------------------------------------------------------------

$node->safe_psql('postgres', q{
	create unlogged table u (id int primary key);
	insert into u select i from generate_series(1, 5000) i});
$node->safe_psql('postgres', q{call zs_convert('u')});
is( $node->safe_psql('postgres', q{
		select relpersistence, amname, (select count(*) from u)
		from pg_class c join pg_am a on a.oid = relam where relname = 'u'}),
	'u|zedstore|5000', 'an unlogged table stays one');

my (undef, undef, $err) =
  $node->psql('postgres', q{set statement_timeout = 1; call zs_convert('orders', 'heap')});
like($err, qr/canceling statement due to statement timeout/, 'a time-out');
is($node->safe_psql('postgres', $tables), 'orders u', '... leaves nothing');
is($node->safe_psql('postgres', $sum), $rows, '... and all rows');

$node->safe_psql('postgres', q{
	create table events (at date primary key) partition by range (at);
	select format('create table %I partition of events for values from (%L) to (%L)', n,
		current_date + d, current_date + d + 30)
	from (values ('old', -90), ('older', -120), ('new', -20)) p (n, d) \gexec
	insert into events select current_date + i from generate_series(-115, 5) i
		where i not between -60 and -21});
$node->safe_psql('postgres',
	q{call zs_convert('events', older_than => (current_date - 30)::text)});
is( $node->safe_psql('postgres', q{
		select string_agg(relname || ' ' || amname, ', ' order by relname)
		from pg_class c join pg_am a on a.oid = relam where relname in ('old', 'older', 'new')}),
	'new heap, old zedstore, older zedstore', 'a nightly job');

# ---- sessions that wait for the conversion, and that it waits for ----------------------------

$node->safe_psql('postgres', q{call zs_convert('orders', 'heap')});
my $reads = 'begin isolation level repeatable read; select count(*) from u';

# Starts a conversion, and waits until it is in a phase.
sub start_conversion
{
	my ($phase) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0);

	$session->query_until(qr/started/, "\\echo started\ncall zs_convert('orders');\n");
	wait_for_sql($node,
		"select count(*) > 0 from pg_stat_zedstore_conversions where phase ~ '$phase'");
	return $session;
}

# Starts a statement that waits for a lock.
sub start_waiting
{
	my ($session, $sql) = @_;

	$session->query_until(qr/waits/, "\\echo waits\n$sql;\n");
	wait_for_sql($node, q{select count(*) > 0 from pg_locks
		where not granted and relation = 'orders'::regclass and pid <> pg_backend_pid()});
	return;
}

# Both have ended, the conversion by an error that says what `words` match, and undid what it did.
sub check_circle
{
	my ($title, $conversion) = @_;

	wait_for_sql($node, q{select count(*) = 0 from pg_stat_zedstore_conversions});
	like($conversion->query('\\echo :LAST_ERROR_MESSAGE'),
		qr/waits for a transaction that waits for the conversion/, "$title: the conversion ends");
	$conversion->quit;
	is($node->safe_psql('postgres', $tables), 'events new old older orders u',
		"$title: nothing is left");
	is($node->safe_psql('postgres', $sum), $rows, "$title: all rows");
	return;
}

$tables =~ s/relkind = 'r'/relkind in ('r', 'p')/;
$reader = $node->background_psql('postgres');
$reader->query_safe($reads);
$conversion = start_conversion('older snapshots');
{
	my (undef, undef, $err) = $node->psql('postgres', q{call zs_convert('orders')});

	like($err, qr/the table is being converted by another session/, 'a second conversion');
}
# its end, where it has no transaction
$node->safe_psql('postgres', q{
	select pg_terminate_backend(pid, 60000) from pg_stat_zedstore_conversions});
eval { $conversion->quit; };
$reader->query_safe('commit');
$node->safe_psql('postgres', q{
	set lock_timeout = '60s'; alter table orders alter what set statistics 50;
	select zs_convert_cleanup()});
is($node->safe_psql('postgres', $tables), 'events new old older orders u',
	'a session that ends while it waits keeps no lock');

# ANALYZE has a snapshot when it waits for the lock, from before the copy
my $writes = 'begin; lock table orders in row exclusive mode';
$reader->query_safe($writes);
$conversion = start_conversion('starting');
my $analyze = $node->background_psql('postgres');
start_waiting($analyze, 'analyze orders');
$reader->query_safe('commit');
check_circle('analyze', $conversion);
$analyze->quit;

# and so have others, behind one who waits for a stronger lock
$reader->query_safe($writes);
$conversion = start_conversion('starting');
my $alter = $node->background_psql('postgres');
my $dump = $node->background_psql('postgres');
start_waiting($alter, 'alter table orders add column more int default 1');
$dump->query_safe('begin isolation level repeatable read; select count(*) from u');
start_waiting($dump, 'lock table orders in access share mode');
$reader->query_safe('commit');
$alter->quit;
$dump->query_safe('commit');
$dump->quit;
$node->safe_psql('postgres', 'alter table orders drop column more');
check_circle('alter table', $conversion);

# a reader has a lock, and waits for a session that waits for the conversion
my $other = $node->background_psql('postgres');
$other->query_safe(q{set deadlock_timeout = '1h'; select pg_advisory_lock(1)});
$reader->query_safe(q{set deadlock_timeout = '1h'; begin; select count(*) from orders});
$conversion = start_conversion('exchanging');
start_waiting($other, 'alter table orders alter what set statistics 60');
$reader->query_until(qr/waits/, "\\echo waits\nselect pg_advisory_lock_shared(1);\n");
$other->query_safe('select pg_advisory_unlock(1)');
$reader->query_safe('commit');
check_circle('a reader', $conversion);
$_->quit for $reader, $other;

$node->safe_psql('postgres', q{call zs_convert('orders')});
is($node->safe_psql('postgres', $sum), $rows, 'and then it is converted');

# ---- a standby ------------------------------------------------------------------------------

my $standby = standby_of($node, 'standby', conf => "hot_standby_feedback = on\n");
my $report = $standby->background_psql('postgres');
$report->query_safe('begin isolation level repeatable read; select count(*) from events');
wait_for_sql($node, 'select count(*) > 0 from pg_stat_replication where backend_xmin is not null');
$node->safe_psql('postgres', q{call zs_convert('orders', 'heap')});
$node->wait_for_replay_catchup($standby);
is($report->query_safe('select count(*) from orders'),
	0, 'a standby: a snapshot from before the copy misses rows');
$report->query_safe('commit');
is($report->query_safe($sum), $rows, '... and others see all');
$report->quit;
$standby->stop;

$node->stop;
done_testing();
