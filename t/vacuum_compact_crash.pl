# Compaction under load, across crashes at each of its steps, and on a standby.
#
# Takes 30 seconds of a processor: scripts/run-tests starts it early.
use strict;
use warnings FATAL => 'all';

use ZedstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node(
	'primary',
	allows_streaming => 1,
	conf => <<'CONF');
shared_buffers = 4MB
zedstore.write_buffer_size = 1MB
zedstore.min_segment_rows = 1
max_wal_size = 128MB
wal_keep_size = 4GB
checkpoint_timeout = 1h
wal_consistency_checking = 'all'
CONF

# h is the oracle: whoever changes z changes h in the same transaction.
$node->safe_psql(
	'postgres', q{
	create table z (id int primary key, v int, p text, n numeric) using zedstore with (autovacuum_enabled = off);
	create table h (id int primary key, v int, p text, n numeric) using heap;
	create index on z (v);
	create sequence batch;
	create function same() returns text language plpgsql as $$
	declare x bigint; y bigint;
	begin
		select count(*) into x from (select * from z except all select * from h) s;
		select count(*) into y from (select * from h except all select * from z) s;
		if x <> 0 or y <> 0 then
			raise exception 'z and h differ: % rows too many, % missing', x, y;
		end if;
		return 'same';
	end $$;
	create function same_by_index(first int) returns void language plpgsql
		set enable_seqscan = off set enable_bitmapscan = off as $$
	declare r record; s record;
	begin
		for r in select * from h where id between first and first + 30 loop
			select * into s from z where id = r.id;
			if s is distinct from r then
				raise exception 'by index: % instead of %', s, r;
			end if;
		end loop;
	end $$;
	create function same_by_bitmap(first int) returns void language plpgsql
		set enable_seqscan = off set enable_indexscan = off as $$
	declare x bigint;
	begin
		select count(*) into x from
			(select * from h where v between first and first + 20
			 except all select * from z where v between first and first + 20) s;
		if x <> 0 then
			raise exception 'by bitmap: % rows missing', x;
		end if;
	end $$;
	create function same_by_cursor() returns void language plpgsql as $$
	declare c cursor for select * from z; r record; n bigint := 0; sum bigint := 0; hn bigint; hsum bigint;
	begin
		select count(*), coalesce(sum(hashtext(t::text)::bigint), 0) into hn, hsum from h t;
		open c;
		loop
			fetch c into r;
			exit when not found;
			n := n + 1;
			sum := sum + hashtext(r::text);
			if n % 1000 = 0 then perform pg_sleep(0.01); end if;
		end loop;
		if n <> hn or sum <> hsum then
			raise exception 'by cursor: % rows instead of %', n, hn;
		end if;
	end $$;
	create function change(i int, nv int) returns void language plpgsql as $$
	begin
		perform pg_advisory_xact_lock(i);
		if exists (select from h where id = i) then
			if nv % 3 = 0 then
				delete from h where id = i;
				delete from z where id = i;
			else
				update h set v = nv, p = 'u' || nv where id = i;
				update z set v = nv, p = 'u' || nv where id = i;
			end if;
		else
			insert into h values (i, nv, case when nv % 100 = 0 then repeat(md5(i::text), 400) else 's' || nv end, i / 3.0);
			insert into z values (i, nv, case when nv % 100 = 0 then repeat(md5(i::text), 400) else 's' || nv end, i / 3.0);
		end if;
	end $$;
	create function load(n int) returns void language plpgsql as $$
	declare s int := 100000 + nextval('batch') * 10000;
	begin
		insert into z select s + g, g % 1000, 'bulk' || g, g / 7.0 from generate_series(1, n) g;
		insert into h select s + g, g % 1000, 'bulk' || g, g / 7.0 from generate_series(1, n) g;
		begin
			insert into z select s + 5000 + g, g % 1000, 'undone', 1 from generate_series(1, n) g;
			raise exception 'undo';
		exception when raise_exception then
			null;
		end;
		if random() < 0.5 then
			insert into z select s + 2500 + g, g % 1000, repeat('y', g % 50), g from generate_series(1, n / 2) g;
			insert into h select s + 2500 + g, g % 1000, repeat('y', g % 50), g from generate_series(1, n / 2) g;
		end if;
	end $$;
	create function singles(n int) returns void language plpgsql as $$
	declare s int := 100000 + nextval('batch') * 10000;
	begin
		for k in 1 .. n loop
			insert into z values (s + k, k % 1000, case when k % 501 = 0 then repeat(md5(k::text), 400) else 'single' end, k);
			insert into h values (s + k, k % 1000, case when k % 501 = 0 then repeat(md5(k::text), 400) else 'single' end, k);
		end loop;
	end $$;
	alter database postgres set synchronous_commit = off;
});

my $standby = standby_of($node, 'standby',
	conf => "hot_standby_feedback = on\nmax_standby_streaming_delay = -1\n");

# A fixed number of transactions of each kind at once; every script fails by an
# exception when it reads something wrong.
sub load_test
{
	my ($title, %scripts) = @_;
	my %running;

	for my $name (sort keys %scripts)
	{
		my $file = $node->basedir . "/$name.sql";
		append_to_file($file, $scripts{$name}{sql}) unless -e $file;
		my $server = $scripts{$name}{standby} ? $standby : $node;
		my ($stdout, $stderr) = ('', '');
		my $command = [
			'pgbench', '-n', '-h', $server->host, '-p', $server->port,
			'-c', $scripts{$name}{clients} // 1,
			'-t', $scripts{$name}{times}, '-f', $file, 'postgres' ];
		$running{$name} = {
			out => \$stdout,
			err => \$stderr,
			handle => IPC::Run::start($command, '>', \$stdout, '2>', \$stderr)
		};
	}
	for my $name (sort keys %running)
	{
		my $r = $running{$name};
		my $ok = IPC::Run::finish($r->{handle});
		ok($ok, "$title: $name") or diag(${ $r->{err} });
	}
	return;
}

my $repeatable = "begin isolation level repeatable read;\n%s\ncommit;\n";
load_test(
	'all at once',
	changes => {
		clients => 3,
		times => 2000,
		sql => "\\set i random(1, 20000)\n\\set v random(1, 1000)\nselect change(:i, :v);\n"
	},
	loads => { times => 8, sql => "select load(2000);\nselect pg_sleep(0.2);\n" },
	vacuum => { times => 30, sql => "vacuum z;\n" },
	compact => { times => 30, sql => "select zs_compact('z');\nselect pg_sleep(0.05);\n" },
	compare => { times => 6, sql => sprintf($repeatable, 'select same();') },
	cursors => { times => 4, sql => sprintf($repeatable, 'select same_by_cursor();') },
	lookups => {
		times => 75,
		sql => "\\set i random(1, 20000)\n\\set v random(1, 1000)\n"
		  . sprintf($repeatable, 'select same_by_index(:i); select same_by_bitmap(:v);')
	},
	standby => {
		standby => 1,
		times => 6,
		sql => sprintf($repeatable, 'select same();')
	},
	check => {
		times => 3,
		sql => "select 1 / (count(*) = 0)::int from zs_check('z') where severity = 'error';\n"
	});

is($node->safe_psql('postgres', 'select same()'), 'same', 'the table is the same as its twin');
zs_check_all($node, 'postgres', 'zs_check after the load');
$node->wait_for_replay_catchup($standby);
is($standby->safe_psql('postgres', 'select same()'), 'same', 'on the standby too');
zs_check_all($standby, 'postgres', 'zs_check on the standby');

# Crashes between the steps.
SKIP:
{
	skip 'injection points are not there', 1 unless has_injection_points($node);
	$node->safe_psql('postgres', 'create extension if not exists injection_points');
	$standby->stop;

	for my $point (
		'zs-compact-retired', 'zs-compact-written', 'zs-compact-replaced',
		'zs-compact-linked', 'zs-compact-moved', 'zs-compact-free-overflow')
	{
		# rows to move, and segments that lost most of their rows
		$node->safe_psql(
			'postgres', q{
			select singles(3000), load(2000);
			checkpoint;
			delete from z where id % 5 <> 0;
			delete from h where id % 5 <> 0;
			select singles(1500)});
		my $session = $node->background_psql('postgres', on_error_stop => 0);
		$session->query_safe("select injection_points_attach('$point', 'wait')");
		$session->quit;
		my $vacuum = $node->background_psql('postgres', on_error_stop => 0);
		$vacuum->query_until(qr/started/, "\\echo started\nvacuum z;\n");
		$node->wait_for_event('client backend', $point);

		# readers and writers go on
		is($node->safe_psql('postgres', 'select same()'), 'same', "$point: reading meanwhile");
		$node->safe_psql('postgres', 'select change(1, 1), change(777777, 5), change(777777, 6)');
		kill_and_restart($node);
		eval { $vacuum->quit };
		is($node->safe_psql('postgres', 'select same()'), 'same', "$point: the same after a crash");
		zs_check_all($node, 'postgres', "$point: zs_check after a crash");
		$node->safe_psql('postgres', 'vacuum z');
		is($node->safe_psql('postgres', q{select same() || (zs_compact('z') >= 0)::text || same()}),
			'sametruesame', "$point: the same after the next VACUUM");
		zs_check_all($node, 'postgres', "$point: zs_check after the next VACUUM");
	}
	$standby->start;
	$node->wait_for_replay_catchup($standby);
	is($standby->safe_psql('postgres', 'select same()'), 'same', 'the standby followed');
	zs_check_all($standby, 'postgres', 'zs_check on the standby at the end');
}

# Nothing of the transaction's own is forgotten when a VACUUM comes between its
# savepoints, and stripes that rolled-back rows shared with others are left to these.
my $writer = $node->background_psql('postgres');
$writer->query_safe(q{
	begin;
	insert into z select 5000000 + g, 1, 'first', g from generate_series(1, 6000) g;
	savepoint a;
	insert into z select 5010000 + g, 1, 'undone', g from generate_series(1, 700) g;
	rollback to a});
$node->safe_psql('postgres', q{select singles(2000)});
$node->safe_psql('postgres', 'vacuum z');
$node->safe_psql('postgres', q{select zs_compact('z')});
$writer->query_safe(q{
	insert into z select 5020000 + g, 1, 'second', g from generate_series(1, 3000) g;
	commit});
$writer->quit;
$node->safe_psql('postgres', q{
	insert into h select 5000000 + g, 1, 'first', g from generate_series(1, 6000) g;
	insert into h select 5020000 + g, 1, 'second', g from generate_series(1, 3000) g});
$node->safe_psql('postgres', 'vacuum z');
is($node->safe_psql('postgres', 'select same()'), 'same', 'savepoints across a compaction');
zs_check_all($node, 'postgres', 'zs_check after savepoints');

done_testing();
