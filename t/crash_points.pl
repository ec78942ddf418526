# A crash and an error at each injection point of the source, that is between the
# WAL records of every operation (docs/wal.md, "What a crash leaves").
#
# Crash: a session stops at the point, WAL is flushed up to there (and, where no
# page is locked, a checkpoint made), all processes are killed.  Error: the
# statement fails there.  Either way the table must then hold exactly what was
# committed, zs_check() find nothing but leaked blocks, amcheck nothing, and the
# same statement, more writes and VACUUM work.
# Takes 70 seconds of a processor: scripts/run-tests starts it early.

use strict;
use warnings FATAL => 'all';

use File::Basename;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);
use ZedstoreTest;

my $node = new_node('points', conf => <<'CONF');
autovacuum = off
shared_buffers = 16MB
max_wal_size = 256MB
checkpoint_timeout = 1h
zedstore.min_segment_rows = 64
zedstore.write_buffer_size = 1MB
wal_consistency_checking = 'zedstore'
CONF
plan skip_all => 'the server comes without injection points'
  if !has_injection_points($node);
$node->safe_psql('postgres', q{
	create extension injection_points;
	create extension amcheck;
	create function waits_at(session text, event text) returns bool language plpgsql as $$
	begin
		for i in 1 .. 30000 loop
			if exists (select from pg_stat_activity where application_name = session and wait_event = event) then
				return true;
			end if;
			perform pg_sleep(0.02);
			perform pg_stat_clear_snapshot();
		end loop;
		return false;
	end $$;
});

# ---- the points and what leads there -----------------------------------------------------

my $rows = 'insert into T select i, md5(i::text), i / 7.0 from generate_series(%d, %d) i';
my $wide = 'a int, ' . join(', ', map { "c$_ int" } 1 .. 80);
my $single = q{do $$ begin for i in %d .. %d loop insert into T values (i, repeat(md5(i::text), }
	. q{12), i); end loop; end $$};
my $long_rows = q{insert into T select i, (select string_agg(md5((i * 100 + k)::text), '') from }
	. q{generate_series(1, 15) k), i from generate_series(3001, 9000) i};
my $conflict = "insert into T values (5, 'upsert', 0) on conflict (a) do update set b = 'conflict'";

# Each is a new table with the rows `setup`, and a statement that reaches the point.
#   point, title    the point; the title says where it differs for one reached in two ways
#   columns, with   of the table (a int, b text, c numeric by default), storage parameters
#   no_index        without the unique index on a
#   setup           statements on both twins; [ ... ] for several
#   sql             the statement; T stands for the table
#   skip            how many times the point is passed before
#   locked          a page is locked there: no checkpoint is possible
#   alone           VACUUM and the like: not in a transaction, not on the heap twin
#   partner         another session's statements, before; it stays open
#   late            statements on both twins after that
#   then            the partner's statement after the session began to wait for it
#   stop, meanwhile another point where the session stops first; what is committed then
my @cases = (

	# the file and its free page maps
	{ point => 'zs-page-extend', sql => sprintf($rows, 1, 2000) },
	{ point => 'zs-page-gain', locked => 1, sql => sprintf($rows, 1, 2000), skip => 3 },
	{
		point => 'zs-page-take', locked => 1,
		with => 'zedstore_rel_extension_factor = 32',
		setup => sprintf($rows, 1, 2000),
		sql => sprintf($rows, 3001, 5000),
		skip => 1
	},
	{
		point => 'zs-page-take-table',
		columns => $wide,
		with => 'zedstore_rel_extension_factor = 16',
		sql => 'insert into T select i from generate_series(1, 2000) i'
	},
	{ point => 'zs-page-directory-block', columns => $wide, locked => 1,
		sql => 'insert into T (a, c80) select i, i from generate_series(1, 2000) i' },
	{ point => 'zs-page-directory', columns => $wide,
		sql => 'insert into T (a, c80) select i, i from generate_series(1, 2000) i' },
	{ point => 'zs-page-root', locked => 1, sql => 'insert into T values (1, \'one\', 1)' },
	{ point => 'zs-page-images', sql => sprintf($rows, 1, 20000), skip => 1 },
	spilled('zs-page-chain-take-page'),
	spilled('zs-page-chain-push'),
	spilled('zs-page-chain-out'),
	spilled('zs-page-chain-in', filled => 1),

	# row numbers
	{
		point => 'zs-write-number',
		no_index => 1,
		setup => sprintf($rows, 5001, 8000),
		sql => q{copy T from program 'seq 1 5000 | sed "s/.*/&|x&|&/"' (delimiter '|')}
	},
	{ point => 'zs-page-reserve-rows', sql => sprintf($rows, 1, 5000), skip => 1 },
	{ point => 'zs-page-cursor-stripe', sql => sprintf($rows, 1, 20000) },
	{ point => 'zs-page-cursor-move', sql => sprintf($rows, 1, 1500) },
	{ point => 'zs-page-unreserve-rows', sql => sprintf($rows, 1, 20000) },

	# trees
	{ point => 'zs-btree-root-block', sql => sprintf($rows, 1, 2000) },
	{ point => 'zs-btree-root-split-blocks', title => 'row tree', locked => 1,
		sql => sprintf($single, 1, 100) },
	{ point => 'zs-btree-root-split', title => 'row tree', sql => sprintf($single, 1, 100) },
	{ point => 'zs-btree-split-block', title => 'row tree', locked => 1,
		sql => sprintf($single, 1, 200), skip => 2 },
	{ point => 'zs-btree-split', title => 'row tree', locked => 1, sql => sprintf($single, 1, 200),
		skip => 2 },
	{ point => 'zs-btree-downlink', title => 'row tree', locked => 1,
		sql => sprintf($single, 1, 200), skip => 2 },
	(
		map {
			{
				point => $_, title => 'TID tree', locked => 1,
				setup => sprintf($rows, 1, 24000),
				sql => 'delete from T where a % 2 = 0'
			}
		} qw(zs-btree-root-split-blocks zs-btree-root-split zs-btree-split-block zs-btree-split zs-btree-downlink)),
	(
		map {
			{
				point => $_, title => 'segment index', locked => 1,
				setup => [ many_segments(1, 140) ],
				sql => written(many_segments(141, 180))
			}
		} qw(zs-btree-split-block zs-btree-split)),
	{
		point => 'zs-btree-frozen', title => 'set by VACUUM', locked => 1, alone => 1,
		setup => [ sprintf($rows, 1, 24000), 'delete from T where a % 2 = 0',
			sprintf($rows, 50001, 50010) ],
		late => [ 'VACUUM T' ],
		sql => 'vacuum freeze T'
	},
	{
		point => 'zs-btree-frozen', title => 'cleared', locked => 1,
		setup => [ sprintf($rows, 1, 24000), 'delete from T where a % 2 = 0', 'VACUUM FREEZE T',
			'VACUUM FREEZE T' ],
		sql => 'delete from T where a = 1001'
	},
	{
		point => 'zs-tid-unmark', locked => 1,
		setup => [ sprintf($rows, 1, 24000), 'delete from T where a % 2 = 0', 'VACUUM FREEZE T',
			'VACUUM FREEZE T' ],
		sql => 'update T set b = b where a = 1001'
	},

	(
		map {
			{
				point => $_, alone => 1,
				setup => [ sprintf($rows, 1, 60000), 'delete from T where a % 2 = 0',
					'delete from T where a % 1000 <> 1' ],
				sql => 'vacuum T'
			}
		} qw(zs-btree-merge zs-page-free)),

	# rows and their data
	{ point => 'zs-tid-insert-stripes', sql => sprintf($rows, 1, 20000), skip => 1 },
	{ point => 'zs-tid-insert-small',
		sql => 'insert into T values (1, \'one\', 1), (2, \'two\', 2)' },
	{ point => 'zs-tid-release', sql => sprintf($rows, 1, 1500) },
	{ point => 'zs-row-insert', locked => 1, sql => sprintf($single, 1, 200), skip => 2 },
	{ point => 'zs-write-item',
		sql => 'set zedstore.min_segment_rows = 4096; ' . sprintf($rows, 1, 900), skip => 10 },
	{
		point => 'zs-write-judge',
		sql => "begin; insert into T values (1, 'one', 1), (2, 'two', 2); savepoint s; insert into "
			. "T values (3, 'x', 3), (4, 'x', 4); rollback to s; insert into T values (5, 'five', "
			. "5), (6, 'six', 6); select count(*) from T; commit"
	},
	{ point => 'zs-write-row', title => 'insert', sql => sprintf($single, 1, 20), skip => 5 },
	{
		point => 'zs-write-row', title => 'update', setup => sprintf($rows, 1, 100),
		sql => 'do $$ begin for i in 1 .. 20 loop update T set b = null where a = i; end loop; end '
			. '$$', skip => 5
	},
	{ point => 'zs-attr-allocate', sql => sprintf($rows, 1, 20000) },
	{ point => 'zs-attr-write', sql => sprintf($rows, 1, 20000) },
	{ point => 'zs-attr-link', title => 'first column', sql => sprintf($rows, 1, 20000) },
	{ point => 'zs-attr-link', title => 'second column', sql => sprintf($rows, 1, 20000),
		skip => 1 },
	(
		map {
			{
				point => $_,
				setup => sprintf($rows, 1, 10),
				sql => "insert into T select 11, string_agg(md5(i::text), ''), 1 from "
					. "generate_series(1, 20000) i"
			}
		} qw(zs-attr-overflow-allocate zs-attr-overflow-write)),
	{
		point => 'zs-attr-overflow-read',
		setup => "insert into T values (1, (select string_agg(md5(k::text), '') from "
			. "generate_series(1, 1000) k), 1)",
		sql => "update T set c = length(b), b = b || 'x'"
	},

	{
		point => 'zs-write-share', locked => 1,
		setup => "insert into T select i, (select string_agg(md5((k * i)::text), '') from "
			. "generate_series(1, 1000) k), 1 from generate_series(1, 9) i",
		sql => 'do $$ begin for i in 1 .. 9 loop update T set c = 2 where a = i; end loop; end $$',
			skip => 3
	},
	{
		point => 'zs-write-share-buffered',
		setup => "insert into T select i, (select string_agg(md5((k * i)::text), '') from "
			. "generate_series(1, 1000) k), 1 from generate_series(1, 9) i",
		sql => 'update T set c = 2', skip => 3
	},

	# changes of rows
	{ point => 'zs-tid-xmax', title => 'delete', setup => sprintf($rows, 1, 100),
		sql => 'delete from T where a between 20 and 40', skip => 5 },
	{ point => 'zs-tid-xmax', title => 'update', setup => sprintf($rows, 1, 100),
		sql => 'update T set b = null where a between 20 and 40', skip => 5 },
	{ point => 'zs-write-new-version', setup => sprintf($rows, 1, 100),
		sql => 'update T set b = null where a between 20 and 40', skip => 5 },
	{ point => 'zs-tid-lock', locked => 1, setup => sprintf($rows, 1, 100),
		sql => 'select a from T where a = 7 for update' },
	{
		point => 'zs-tid-update-lock', locked => 1,
		setup => sprintf($rows, 1, 100),
		partner => "begin; update T set b = 'partner' where a = 7",
		sql => "update T set b = 'main' where a = 7",
		then => 'rollback'
	},
	{
		point => 'zs-tid-inherit',
		setup => sprintf($rows, 1, 100),
		partner => 'begin; select 1 from T where a = 7 for key share',
		sql => "update T set b = 'main' where a = 7"
	},
	{
		point => 'zs-tid-lock-chain', locked => 1,
		setup => sprintf($rows, 1, 100),
		partner => "begin; update T set b = 'partner' where a = 7",
		sql => 'select a from T where a = 7 for key share'
	},
	{ point => 'zs-write-speculative', setup => sprintf($rows, 10, 100), sql => $conflict },
	{ point => 'zs-tid-confirm', setup => sprintf($rows, 10, 100), sql => $conflict },
	{
		point => 'zs-tid-kill',
		setup => sprintf($rows, 10, 100),
		stop => 'zs-write-speculative',
		meanwhile => "insert into T values (5, 'faster', 0)",
		sql => $conflict
	},

	# room on a TID leaf
	{ point => 'zs-tid-room-fold', locked => 1, setup => sprintf($rows, 1, 20000),
		sql => 'delete from T where a % 2 = 0' },
	{
		# one slot for each row, too many for a page: a block with map bits is cut
		point => 'zs-tid-room-vismap', locked => 1,
		setup => [ sprintf($rows, 1, 1024), 'VACUUM T' ],
		sql => q{do $$ declare k int; begin for i in 0 .. 1023 loop
			begin select a into k from T where a = 1 + (i * 7) % 1024 for share; exception when division_by_zero then null; end;
			end loop; end $$}
	},

	# VACUUM
	vacuum('zs-tid-vacuum-fold', locked => 1),
	{ point => 'zs-tid-vacuum-vismap', locked => 1, alone => 1, setup => sprintf($rows, 1, 3000),
		sql => 'vacuum T' },
	vacuum('zs-vacuum-find'),
	vacuum('zs-vacuum-indexes'),
	vacuum('zs-row-delete'),
	vacuum('zs-vacuum-delete-rows'),
	vacuum('zs-tid-remove', locked => 1),
	vacuum('zs-tid-remove-vismap', locked => 1),
	vacuum('zs-vacuum-leaks'),

	# compaction, and blocks that are given back
	(
		map {
			{
				point => $_, alone => 1,
				setup => [ sprintf($single, 1, 1300), 'delete from T where a % 3 = 0' ],
				sql => 'vacuum T'
			}
		} qw(zs-compact-linked zs-compact-moved)),
	{
		point => 'zs-compact-retired', alone => 1,
		setup => [ sprintf($rows, 1, 1500), sprintf($rows, 2001, 3500), sprintf($rows, 4001, 5500),
			'delete from T where a between 10 and 1500' ],
		sql => 'vacuum T'
	},
	(
		map {
			{
				point => $_, alone => 1,
				setup => [ sprintf($rows, 1, 6000), 'delete from T where a between 100 and 5900' ],
				sql => 'vacuum T'
			}
		} qw(zs-compact-written zs-compact-replaced)),
	{
		point => 'zs-compact-free-overflow', alone => 1,
		setup => [ sprintf($rows, 1, 10),
			"insert into T select 11, string_agg(md5(i::text), ''), 1 from generate_series(1, "
			. "20000) i", 'delete from T where a = 11' ],
		sql => 'vacuum T'
	},
	(
		map {
			{
				point => $_, alone => 1,
				setup => [ sprintf($rows, 1, 2000), $long_rows, 'delete from T' ],
				sql => 'vacuum T'
			}
		} qw(zs-page-cut-tail zs-page-truncate)),
	{
		point => 'zs-page-return', alone => 1,
		setup => [ "insert into T select 1, string_agg(md5(i::text), ''), 1 from "
			. "generate_series(1, 60000) i", sprintf($rows, 100, 2000),
			'delete from T where a = 1' ],
		sql => 'vacuum T'
	},
	(
		map {
			{
				point => $_, alone => 1,
				setup => [ sprintf($single, 1, 3000) ],
				sql => 'vacuum T'
			}
		} qw(zs-relocate-planned zs-page-take-free zs-page-free-to-table zs-btree-move zs-btree-move-root
		zs-attr-move-written zs-attr-moved)),
	{
		point => 'zs-page-move-directory', alone => 1,
		columns => "$wide, d text",
		setup => q{do $$ begin for i in 1 .. 3000 loop insert into T (a, d) values (i, }
			. q{repeat(md5(i::text), 58)); end loop; end $$},
		sql => 'vacuum T'
	},
	spilled('zs-page-tidy', alone => 1, filled => 1, late => ['delete from T where a % 3 > 0'],
		sql => 'vacuum T', locked => 0),
	{
		point => 'zs-tid-assign', alone => 1,
		setup => sprintf($rows, 1, 100),
		partner => 'begin isolation level repeatable read; select 1',
		late => [ 'delete from T where a between 30 and 40' ],
		sql => 'vacuum full T'
	});

# Runs of two blocks out of three that a tree gets at a time: each leaves a rest that
# is too short for the next one, until the entry has no room for more.
sub spilled
{
	my ($point, %more) = @_;
	my $insert = q{insert into T select i, (select string_agg(md5((i * 100 + k)::text), '') from generate_series(1, 7) k),
		(select string_agg(md5((i * 200 + k)::text), '') from generate_series(1, 7) k) from generate_series(%d, %d) i};
	my $filled = delete $more{filled};
	my $small = q{insert into T select i, 'b' || mod(i, 2), 'c' || mod(i, 2)
		from generate_series(%d, %d) i};

	return {
		point => $point,
		columns => 'a int, b text, c text',
		with => "zedstore_rel_extension_factor = 3, zedstore_compression = 'none'",
		setup => [ map { sprintf($insert, $_ * 200 + 1, $_ * 200 + 200) } 0 .. ($filled ? 18 : 9) ],
		sql => written(map { sprintf($filled ? $small : $insert, $_ * 200 + 1,
			$_ * 200 + 200) } $filled ? 20 .. 40 : 10 .. 22),
		locked => 1,
		%more
	};
}

# Statements of one transaction; reading the table in between writes what waits.
sub written
{
	return join ';', map { ($_, 'select count(*) from T') } @_;
}

# One segment of each column for each of these.
sub many_segments
{
	my ($first, $last) = @_;

	return map { sprintf('insert into T select i, \'x\', 1 from generate_series(%d, %d) i',
		$_ * 1000, $_ * 1000 + 129) } $first .. $last;
}

sub vacuum
{
	my ($point, %more) = @_;

	return {
		point => $point,
		setup => [ sprintf($rows, 1, 3000), sprintf($single, 5001, 5100),
			'delete from T where a % 3 = 0' ],
		alone => 1,
		sql => 'vacuum T',
		%more
	};
}

# ---- the list is complete -----------------------------------------------------------------

{
	my $source = dirname(dirname(__FILE__)) . '/src';
	my %tested = map { $_->{point} => 1 } @cases;
	my (%points, %other_points, %named);

	for my $file (glob "$source/*/*.c")
	{
		my $text = slurp_file($file);

		# what the I/O workers do is undone in no other way than what the checkpointer does;
		# a conversion takes many transactions (adopt_convert.pl); a scan writes nothing
		my $points = $file =~ m{/(io|convert|scan)/} ? \%other_points : \%points;
		$points->{$1}++ while $text =~ /ZS_INJECTION_POINT\("([^"]+)"\)/g;
		$other_points{$1}++ while $text =~ /ZS_INJECTION_POINT_ARG\("([^"]+)"/g;
		$other_points{$1}++ while $text =~ /STEP_POINT\(\w+, "([^"]+)"/g;
	}
	for my $file (grep { basename($_) ne basename(__FILE__) } glob dirname(__FILE__) . '/*.pl')
	{
		my $text = slurp_file($file);

		$named{$1} = 1 while $text =~ /\b(zs-[a-z0-9-]+)/g;
	}
	cmp_ok(scalar keys %points, '>', 40, 'the source has injection points');
	is_deeply([ grep { $points{$_} > 1 } sort keys %points ], [], 'no two places have the same');
	is_deeply([ grep { !$tested{$_} } sort keys %points ], [], 'each has a test');
	is_deeply([ grep { !$points{$_} } sort keys %tested ], [], 'each test has one');
	cmp_ok(scalar keys %other_points, '>', 8, 'the source has other points');
	is_deeply([ grep { !$named{$_} } sort keys %other_points ], [],
		'other tests use each of these');
}

# ---- statements and checks -----------------------------------------------------------------

# A statement on the tables of a case: z, h, or both; VACUUM only on z.
sub statements
{
	my ($case, $which, @sql) = @_;
	my $text = '';

	for my $sql (map { ref $_ ? @$_ : $_ } grep { defined } @sql)
	{
		for my $twin ($sql =~ /^vacuum/i ? 'z' : $which eq 'both' ? ('z', 'h') : $which)
		{
			(my $copy = $sql) =~ s/\bT\b/$case->{table}_$twin/g;
			$text .= "$copy;\n";
		}
	}
	return $text;
}

# The tables of some cases, with what they hold at first.
sub create_tables
{
	$node->safe_psql('postgres', join '', map { create_table($_) } @_);
	return;
}

sub create_table
{
	my ($case) = @_;
	my $columns = $case->{columns} // 'a int, b text, c numeric';
	my $with = $case->{with} ? "with ($case->{with})" : '';

	return qq{
		create table $case->{table}_z ($columns) using zedstore $with;
		create table $case->{table}_h ($columns) using heap;
		} . ($case->{no_index} ? '' : qq{
		create unique index on $case->{table}_z (a);
		create unique index on $case->{table}_h (a);
		}) . statements($case, 'both', $case->{setup});
}

# Queries that return what is wrong with the tables of a case.
sub problems
{
	my ($case) = @_;
	my ($z, $h) = map { "$case->{table}_$_" } qw(z h);

	return qq{
		select 'differs: ' || count(*) from
			((table $z except all table $h) union all (table $h except all table $z)) d having count(*) > 0;
		select k from zs_check('$z') k where severity <> 'notice' or message not like 'leaked:%' and message not like '%split%';
		set enable_seqscan = off; set enable_bitmapscan = off;
		select 'differs by index: ' || count(*) from
			((select a from $z where a > 0 except all select a from $h where a > 0) union all
			 (select a from $h where a > 0 except all select a from $z where a > 0)) d having count(*) > 0;
		select bt_index_check(indexrelid, true) from pg_index where indrelid = '$z'::regclass;
	};
}

# The table works: the statement goes through now, and so do more of all kinds.
sub use_table
{
	my ($case) = @_;

	return statements($case, 'both', $case->{sql},
		'insert into T (a) select i from generate_series(900001, 901200) i',
		'insert into T (a) values (-1)',
		'update T set a = -a where a % 7 = 0 and a > 0',
		'delete from T where a % 5 = 0',
		'vacuum T',
		'insert into T (a) select i from generate_series(800001, 800050) i');
}

# Runs several parts one after the other in one session, of which each begins with the defaults.
# Returns what each printed, errors included, and undef for those that were not come to.
sub run_parts
{
	my @parts = @_;
	my (undef, @streams) = $node->psql('postgres',
		join('', map { "\\echo part $_\n\\warn part $_\ndiscard all;\n$parts[$_]\n" }
			0 .. $#parts), on_error_stop => 0);
	my @printed = (undef) x @parts;

	for my $stream (@streams)
	{
		my (undef, %part) = split /^part (\d+)$/m, $stream, -1;

		$printed[$_] .= $part{$_} =~ s/^\n+//r for keys %part;
	}
	return @printed;
}

# Checks some cases after what the title says.
sub check_cases
{
	my ($how, @batch) = @_;
	my @first = run_parts(map { (problems($_), "\\o /dev/null\n" . use_table($_) . '\o') } @batch);
	# by a session that has written nothing
	my @last = run_parts(map { problems($_) } @batch);

	for my $i (0 .. $#batch)
	{
		my $title = "$how at $batch[$i]{title}";

		is($first[ 2 * $i ], '', "$title: what was committed is there and sound");
		is($first[ 2 * $i + 1 ], '', "$title: the statement and others work");
		is($last[$i], '', "$title: still sound");
	}
	return;
}

# Starts the case's partner and its session, and brings that to the point; $control is a session
# that waits for it.
sub reach_point
{
	my ($case, $action, $control) = @_;
	my $point = $case->{point};
	my ($partner, $session);

	if ($case->{partner})
	{
		$partner = $node->background_psql('postgres', on_error_stop => 0);
		$partner->query(statements($case, 'z', $case->{partner}));
	}
	$node->safe_psql('postgres', statements($case, 'both', $case->{late})) if $case->{late};

	my $attach = "set application_name = '$case->{table}'; select injection_points_set_local(); select injection_points_attach('$point', '$action');";
	$attach .= "select injection_points_attach('$case->{stop}', 'wait');" if $case->{stop};
	$session = $node->background_psql('postgres', on_error_stop => 0);
	$case->{output} = $session->query_until(qr/started/, join "\n", $attach, '\echo started',
		$case->{alone} ? () : 'begin;', statements($case, 'z', $case->{sql}),
		$case->{alone} ? () : 'commit;', "\\echo ended\n");
	if ($case->{stop})
	{
		$node->safe_psql('postgres', "select waits_at('$case->{table}', '$case->{stop}')");
		$node->safe_psql('postgres', statements($case, 'both', $case->{meanwhile}));
		$node->safe_psql('postgres', "select injection_points_wakeup('$case->{stop}')");
	}
	if ($case->{then})
	{
		$node->safe_psql('postgres', "select waits_at('$case->{table}', 'transactionid')");
		$partner->query(statements($case, 'z', $case->{then}));
	}
	return ($session, $partner) if $action eq 'error';

	my $waits = "select waits_at('$case->{table}', '$point');";
	my $pass = "select injection_points_wakeup('$point'); select pg_sleep(0.02); $waits";

	is($control->query_safe($waits . $pass x ($case->{skip} // 0)) =~ s/[^t]//gr,
		't' x (1 + ($case->{skip} // 0)), "$case->{title} is reached");
	return ($session, $partner);
}

for my $i (0 .. $#cases)
{
	my $case = $cases[$i];

	$case->{title} = $case->{point} . ($case->{title} ? ", $case->{title}" : '');
	$case->{number} = $i;
}
@cases = grep { case_wanted($_->{title}) } @cases;

# ---- crashes ---------------------------------------------------------------------------------

# Up to eight sessions can wait at points, each at another one; they crash together.
my @batches;
CASE: for my $case (@cases)
{
	for my $batch (@batches)
	{
		next if @$batch == 8 || !!$batch->[0]{locked} != !!$case->{locked};
		next if grep { $_->{point} eq $case->{point} || $_->{point} eq ($case->{stop} // '')
			|| ($_->{stop} // '') eq $case->{point} } @$batch;
		push @$batch, $case;
		next CASE;
	}
	push @batches, [$case];
}

for my $batch (@batches)
{
	$_->{table} = "crash_$_->{number}" for @$batch;
	create_tables(@$batch);

	my $control = $node->background_psql('postgres', on_error_stop => 0);
	my @sessions = ($control, map { reach_point($_, 'wait', $control) } @$batch);

	if (!$batch->[0]{locked})
	{
		my ($status) = $node->psql('postgres', q{set statement_timeout = '60s'; checkpoint});
		is($status, 0, 'checkpoint while they wait');
	}
	$control->query_safe("select pg_logical_emit_message(false, 'zedstore', 'flush', true)");
	kill_server($node);
	kill_and_restart($node, killed => 1);
	eval { $_->quit if $_ } for @sessions;
	check_cases('crash', @$batch);
}

# ---- errors ----------------------------------------------------------------------------------

for my $batch (@batches)
{
	$_->{table} = "error_$_->{number}" for @$batch;
	create_tables(@$batch);
	for my $case (@$batch)
	{
		my ($session, $partner) = reach_point($case, 'error');

		# a quick statement may have ended by then
		$session->query_until(qr/ended/, '') if $case->{output} !~ /ended/;
		# its two streams may be read one after the other
		pump_until($session->{run}, $session->{timeout}, \$session->{stderr},
			qr/triggered for injection point/);
		like($session->{stderr}, qr/error triggered for injection point $case->{point}/,
			"error at $case->{title}");
		$session->{stderr} = '';
		$session->quit;
		$partner->quit if $partner;
	}
	check_cases('error', @$batch);
}

ok(!$node->log_contains('TRAP:|PANIC:'), 'no assertion failed');
$node->stop;
done_testing();
