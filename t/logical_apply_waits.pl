# An apply worker that looks for a row waits for the transactions that are at work on that row, as
# it does in a heap table, and for no others: by a scan of the table, by an index, and where all
# other rows are frozen.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

my $conf = <<'CONF';
wal_retrieve_retry_interval = 1ms
max_logical_replication_workers = 20
max_worker_processes = 30
max_replication_slots = 20
max_wal_senders = 20
CONF
my $publisher = new_node('publisher', allows_streaming => 'logical', conf => $conf);
my $subscriber = new_node('subscriber', allows_streaming => 'logical', conf => $conf);
my $connstr = $publisher->connstr;
my %am = (h => 'heap', z => 'zedstore');

# What each table has, by its name; an index that is no key leads to rows whose values are compared.
my %index = (
	none => '',
	btree => 'create index on t_AM_btree (a)',
	key => 'alter table t_AM_key add primary key (a)');

for my $node ($publisher, $subscriber)
{
	for my $am ('h', 'z')
	{
		for my $kind (sort keys %index)
		{
			my $method = $node == $subscriber ? $am{$am} : 'heap';

			$node->safe_psql('postgres', qq{
				create table t_${am}_$kind (a int not null, b text) using $method;
				alter table t_${am}_$kind replica identity full});
			$node->safe_psql('postgres', $index{$kind} =~ s{AM}{$am}gr);
		}
	}
}
for my $am ('h', 'z')
{
	for my $kind (sort keys %index)
	{
		my $name = "${am}_$kind";

		$publisher->safe_psql('postgres', qq{
			insert into t_$name select g, 'first' from generate_series(1, 50) g;
			create publication p_$name for table t_$name});
		$subscriber->safe_psql('postgres',
			"create subscription s_$name connection '$connstr' publication p_$name");
		$subscriber->wait_for_subscription_sync($publisher, "s_$name");
		$subscriber->safe_psql('postgres', "vacuum freeze t_$name");
	}
}

# Is the subscription's worker waiting for a transaction?  Waits until it does.
sub worker_waits
{
	my ($name) = @_;

	return $subscriber->poll_query_until('postgres', qq{
		select count(*) > 0 from pg_stat_activity a join pg_stat_subscription s on a.pid = s.pid
		where s.subname = 's_$name' and a.wait_event_type = 'Lock'});
}

sub row_at_subscriber
{
	my ($name, $a) = @_;

	return $subscriber->safe_psql('postgres',
		"select string_agg(b, ',' order by b) from t_$name where a = $a");
}

sub session
{
	my ($sql) = @_;
	my $session = $subscriber->background_psql('postgres');

	$session->query_safe($sql);
	return $session;
}

for my $am ('h', 'z')
{
	for my $kind (sort keys %index)
	{
		my $name = "${am}_$kind";
		my $title = "$am{$am}, $kind";
		my $offset = -s $subscriber->logfile;

		# frozen rows
		$publisher->safe_psql('postgres', "update t_$name set b = 'second' where a in (1, 25, 50)");
		$publisher->wait_for_catchup("s_$name");
		is(row_at_subscriber($name, $_), 'second', "$title: frozen row $_") for 1, 25, 50;

		# Others are at work on neighbours, from transactions that began before and after.
		my $other = session("begin; insert into t_$name values (1000, 'other')");
		my $neighbour = session("begin; update t_$name set b = 'neighbour' where a = 30;"
			  . "delete from t_$name where a = 20; select from t_$name where a = 10 for update");
		$publisher->safe_psql('postgres', qq{
			update t_$name set b = 'third' where a in (1, 25, 29, 31, 50);
			delete from t_$name where a = 2});
		$publisher->wait_for_catchup("s_$name");
		is(row_at_subscriber($name, $_), 'third', "$title: nobody is at work on row $_")
			for 1, 25, 29, 31, 50;
		is(row_at_subscriber($name, 2), '', "$title: a row that is deleted");

		# The row itself is being updated.
		my $owner = session("begin; update t_$name set b = 'lost' where a = 40");
		$publisher->safe_psql('postgres', "update t_$name set b = 'fourth' where a = 40");
		ok(worker_waits($name), "$title: waits for an update");
		$owner->query_safe('rollback');
		$publisher->wait_for_catchup("s_$name");
		is(row_at_subscriber($name, 40), 'fourth', "$title: and goes on while others do not end");

		# It is being inserted; the subscriber does not have it yet.
		$subscriber->safe_psql('postgres', "delete from t_$name where a = 41");
		$owner->query_safe("begin; insert into t_$name values (41, 'first')");
		$publisher->safe_psql('postgres', "update t_$name set b = 'fifth' where a = 41");
		ok(worker_waits($name), "$title: waits for an insertion");
		$owner->query_safe('commit');
		$publisher->wait_for_catchup("s_$name");
		is(row_at_subscriber($name, 41), 'fifth', "$title: and changes what was inserted");

		# It is being deleted.
		$owner->query_safe("begin; delete from t_$name where a = 42");
		$publisher->safe_psql('postgres', "delete from t_$name where a = 42");
		ok(worker_waits($name), "$title: waits for a deletion");
		$owner->query_safe('commit');
		$publisher->wait_for_catchup("s_$name");
		is(row_at_subscriber($name, 42), '', "$title: and leaves it out");

		$_->query_safe('rollback') for $other, $neighbour;
		$_->quit for $other, $neighbour, $owner;
		unlike(slurp_file($subscriber->logfile, $offset),
			qr/could not access status|worker.*exited/, "$title: the worker did not end");
	}
}
my $all = q{select string_agg(t::text, ' ' order by t) from t_%s_%s t};
is($subscriber->safe_psql('postgres', sprintf $all, 'z', $_),
	$subscriber->safe_psql('postgres', sprintf $all, 'h', $_), "$_: the twins are equal")
	for sort keys %index;
zs_check_all($subscriber);

done_testing();
