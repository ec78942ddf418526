# A subscription with retain_dead_tuples (PostgreSQL 19) that changes a row which a session has
# deleted: the worker looks for the deleted version as if it were heap's.  Of a zedstore table it
# gets none, by index and by a scan, and reports a missing row; a table is copied and indexed in
# the worker nevertheless, by a trigger.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

my $publisher = new_node('publisher', allows_streaming => 'logical');
if ($publisher->safe_psql('postgres', 'show server_version_num') < 190000)
{
	$publisher->stop;
	plan skip_all => 'dead rows are retained for subscriptions since PostgreSQL 19';
}
my $subscriber = new_node('subscriber', allows_streaming => 'logical',
	conf => "track_commit_timestamp = on\n");
my $tables = q{
	create table keyed (id int primary key, v int) using zedstore;
	create table whole (id int, v int) using zedstore;
	alter table whole replica identity full;
	create table told (id int primary key) using zedstore;
};

$_->safe_psql('postgres', $tables) for $publisher, $subscriber;
$publisher->safe_psql('postgres', qq{
	insert into $_ select i, i from generate_series(1, 1000) i}) for 'keyed', 'whole';
$publisher->safe_psql('postgres', 'create publication p for all tables');
$subscriber->safe_psql('postgres', sprintf(
	q{create subscription s connection '%s dbname=postgres' publication p
		with (retain_dead_tuples = true)}, $publisher->connstr));
$subscriber->wait_for_subscription_sync($publisher, 's');

# DDL of a trigger that fires in the worker sees all rows
$subscriber->safe_psql('postgres', q{
	create table copied (id int, v int) using zedstore;
	insert into copied select i, i from generate_series(1, 5000) i;
	create index copied_id on copied (id);
	create function work() returns trigger language plpgsql as $$ begin
		set local enable_seqscan = off;
		create index on public.copied (v);
		cluster public.copied using copied_id;
		set local enable_seqscan = on;
		cluster public.copied;
		return new; end $$;
	create trigger work after insert on told for each row execute function work();
	alter table told enable replica trigger work});

# the worker retains what is deleted from now on
ok($subscriber->poll_query_until('postgres', q{
		select count(*) = 1 from pg_replication_slots
			where slot_name = 'pg_conflict_detection' and xmin is not null}),
	'dead rows are retained');
my $start = -s $subscriber->logfile;
$subscriber->safe_psql('postgres', "delete from $_ where id = 7") for 'keyed', 'whole';
$publisher->safe_psql('postgres', "update $_ set v = 0 where id = 7")
  for 'keyed', 'whole';
$publisher->safe_psql('postgres', 'insert into told values (1)');
$publisher->safe_psql('postgres', "update $_ set v = 0 where id = 8")
  for 'keyed', 'whole';
$publisher->wait_for_catchup('s');

my $log = slurp_file($subscriber->logfile, $start);
foreach my $table ('keyed', 'whole')
{
	like($log, qr/conflict detected on relation "public.$table": conflict=update_missing/,
		"$table: the row is missing");
}
is(() = $log =~ /cannot tell deleted rows of table "\w+" from missing ones/g, 1,
	'the worker says once that it cannot tell');
foreach my $table ('keyed', 'whole')
{
	is($subscriber->safe_psql('postgres', "select count(*), sum(v) from $table"),
		'999|500485', "$table: other changes arrive");
}
is($subscriber->safe_psql('postgres', q{
	set enable_seqscan = off;
	select count(*), sum(id) from copied where v between 1 and 5000}), '5000|12502500',
	'what the worker has copied and indexed is all there');
zs_check_all($_) for $publisher, $subscriber;
$_->stop for $subscriber, $publisher;

done_testing();
