# Damage to any block of tables of several shapes, without data checksums: halves and ranges of
# zeros, random bytes, blocks of elsewhere.  Every statement then gives an error that stands for
# damage, or what the undamaged table gives; never a crash, a hang, an error of other words, or
# other rows.
#
# The tables are copies of originals, made file by file while the server is down.  Statements that
# write are rolled back, so a copy's rows stay those of its original, whatever failed before; the
# order of statements is random.  t/damage_pages.pl chooses what to damage by hand.
#
#   ZS_DAMAGE_SEED=N      other damages (42)
#   ZS_DAMAGE_ROUNDS=N    copies per shape (a few); each takes half a second
#   ZS_DAMAGE_SHAPES=a,b  of these shapes alone
#   ZS_DAMAGE_ONLY=N      the job of that number alone, in a server log of its own
#
# What bytes cannot tell is excused, and named here (excused()).
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);
use ZedstoreTest;

my $seed = $ENV{ZS_DAMAGE_SEED} // 42;
my $rounds = $ENV{ZS_DAMAGE_ROUNDS} // 10;
my $batch = 250;
my $page_size = 8192;
my $special = $page_size - 40;
my @page_types = qw(invalid meta directory fpm inner tid row index segment overflow free);

srand($seed);

# ---- tables ------------------------------------------------------------------------

# What makes a table of each shape, what fills the original in between, and the columns to look at.
# A step "-- copies" ends what copies need; they get the other steps that are DDL too.
my %shapes = (
	# every kind of page
	mixed => {
		define => [
			q{create table T (id int not null, b text, c numeric, d int, e text) using zedstore
				with (zedstore_rel_extension_factor = 3, zedstore_compression = 'none')},
			q{create unique index T_id on T (id)} ],
		fill => [
			q{insert into T select i, md5(i::text), i / 7.0, i % 10, repeat('x', i % 9) from }
				. q{generate_series(1, 3000) i},
			(map { sprintf(q{insert into T (id, b) select i, (select string_agg(md5((i * 100 + }
				. q{k)::text), '') from generate_series(1, 7) k) from generate_series(%d, %d) i},
				3000 + $_ * 200, 3199 + $_ * 200) } 1 .. 16),
			q{insert into T values (-1, 'tree', 0), (-2, (select string_agg(md5(i::text), '') from }
				. q{generate_series(1, 3000) i), 0)},
			q{do $$ begin for i in 1 .. 60 loop insert into T values (-10 - i, }
				. q{repeat(md5(i::text), 14), i); end loop; end $$},
			q{vacuum T},
			q{delete from T where id between 100 and 2900 and id % 2 = 0},
			q{do $$ declare k int; begin for i in 1 .. 300 loop begin select id into k from T }
				. q{where id = 2000 + (i * 7) % 300 for share; exception when division_by_zero }
				. q{then null; end; end loop; end $$},
			q{insert into T select -1000 - i, (select string_agg(md5((i * k)::text), '') from }
				. q{generate_series(1, 600) k) from generate_series(1, 5) i} ],
		columns => [qw(id b c d e)] },
	# rows of the row tree alone
	rows => {
		define => [
			q{create table T (id int not null, b text, c numeric, d int, e text) using zedstore},
			q{create unique index T_id on T (id)} ],
		fill => [
			map { q{insert into T select i, md5(i::text), i / 7.0, i % 10, repeat('x', i % 9) from }
				. q{generate_series(} . ($_ * 50 + 1) . ', ' . ($_ * 50 + 50) . ') i' } 0 .. 9 ],
		columns => [qw(id b c d e)] },
	# wide: the directory goes on on a page of its own
	wide => {
		define => [
			q{create table T (id int not null, } . join(', ', map { "w$_ int" } 1 .. 80)
				. q{) using zedstore},
			q{create unique index T_id on T (id)} ],
		fill => [
			q{insert into T select i, } . join(', ', map { "i + $_" } 1 .. 80)
				. q{ from generate_series(1, 2500) i},
			q{insert into T (id, w5, w70) select -i, i, i from generate_series(1, 20) i} ],
		columns => [ 'id', map { "w$_" } 1, 2, 27, 28, 29, 30, 40, 56, 57, 58, 59, 60, 70, 80 ] },
	# columns added, columns dropped, before and after rows came
	altered => {
		define => [
			q{create table T (gone text, id int not null, b text, c int) using zedstore},
			q{create unique index T_id on T (id)},
			q{-- copies},
			q{alter table T add d int default 7, add e text},
			q{-- copies},
			q{alter table T drop gone, drop c, add f text default 'f'} ],
		fill => [
			q{insert into T select 'g', i, md5(i::text), i from generate_series(1, 2500) i},
			q{insert into T select 'g', i, md5(i::text), i, i % 5, 'e' from generate_series(3001, }
				. q{5500) i},
			q{insert into T (id, b, d, e, f) select i, md5(i::text), i, 'e', 'g' from }
				. q{generate_series(6001, 8500) i} ],
		last => [
			q{insert into T (id, b, d, f) select -i, i, i, 'h' from generate_series(1, 20) i},
			q{vacuum T},
			q{delete from T where id between 3100 and 3900} ],
		columns => [qw(id b d e f)] });
my @shapes = $ENV{ZS_DAMAGE_SHAPES} ? split(/,/, $ENV{ZS_DAMAGE_SHAPES})
	: qw(mixed rows wide altered);

# ---- damage --------------------------------------------------------------------------

sub random_bytes { return join '', map { chr int rand 256 } 1 .. $_[0]; }

sub opaque
{
	my ($page) = @_;
	my %o;

	@o{qw(lokey hikey right position stamp tree flags type level)} = unpack 'QQLLLSSCC',
		substr($page, $special, 34);
	return \%o;
}

# A range of the page's used contents: [first, end).  Of FIXED bytes, or any number.
sub some_range
{
	my ($page, $fixed) = @_;
	my ($lower, $upper) = unpack 'SS', substr($page, 12, 4);
	# row leaves have their items behind pd_upper
	my @parts = ([ 24, $lower ], [ $upper, $special ]);
	my ($from, $to) = @{ $parts[ $parts[1][1] > $parts[1][0] && rand() < 0.7 ? 1 : 0 ] };

	($from, $to) = (24, $special) if $to - $from < 8;
	my $length = $fixed // 1 + int((rand() ** 3) * ($to - $from));
	my $first = $from + int rand($to - $from);
	my $end = $first + $length;

	$end = $to if $end > $to;
	return ($first, $end - $first);
}

# Each gets a page, the table's file, another table's file and the block, and returns the damaged
# page.
my %damages = (
	'first half zeroed' =>
		sub { my ($page) = @_; substr($page, 0, 4096) = "\0" x 4096; return $page; },
	'second half zeroed' =>
		sub { my ($page) = @_; substr($page, 4096) = "\0" x 4096; return $page; },
	'second half of contents zeroed' => sub {
		my ($page) = @_;
		my ($lower, $upper) = unpack 'SS', substr($page, 12, 4);
		my $middle = 24 + int(($lower - 24) / 2);

		($middle, $lower) = ($upper + int(($special - $upper) / 2), $special) if $upper < $special;
		substr($page, $middle, $lower - $middle) = "\0" x ($lower - $middle);
		return $page;
	},
	'contents zeroed' => sub { my ($page) = @_; substr($page, 24, $special - 24) =
		"\0" x ($special - 24); return $page; },
	'sector zeroed' => sub { my ($page) = @_; substr($page, 512 * (1 + int rand 14), 512) =
		"\0" x 512; return $page; },
	'range zeroed' => sub {
		my ($page) = @_;
		my ($first, $length) = some_range($page);

		substr($page, $first, $length) = "\0" x $length;
		return $page;
	},
	'range random' => sub {
		my ($page) = @_;
		my ($first, $length) = some_range($page);

		substr($page, $first, $length) = random_bytes($length);
		return $page;
	},
	'bytes random' => sub {
		my ($page) = @_;

		substr($page, (some_range($page, 1))[0], 1) = random_bytes(1) for 1 .. 1 + int rand 12;
		return $page;
	},
	'contents random' => sub { return substr($_[0], 0, 24) . random_bytes($special - 24)
		. substr($_[0], $special); },
	'identity random' => sub { my ($page) = @_; substr($page, $special + int rand 36, 4) =
		random_bytes(4); return substr($page, 0, $page_size); },
	'block of the table' =>
		sub { my ($page, $own) =
		@_; return substr($own, $page_size * int rand(length($own) / $page_size), $page_size); },
	'block of another table' => sub {
		my ($page, $own, $other, $block) = @_;
		my $nblocks = length($other) / $page_size;

		return substr($other,
			$page_size * (rand() < 0.5 && $block < $nblocks ? $block : int rand $nblocks),
			$page_size);
	});

# Is a result other than the undamaged table's to be expected, because the bytes may be what they
# say?
sub excused
{
	my ($job) = @_;
	my ($old, $new) = map { opaque($_) } $job->{old}, $job->{new};
	# a few zeroes are as good as any other bytes
	my $changed = grep { substr($job->{old}, $_, 1) ne substr($job->{new}, $_,
		1) } 0 .. $page_size - 1;
	my $random = $job->{damage} =~ /random/ || $changed < 16;

	# values have no check of their own
	return 1 if $job->{type} =~ /^(segment|overflow|row)$/
		&& $job->{damage} =~ /range|random|sector|contents/;
	# transactions, numbers of rows, smallest and largest values, free blocks, flags
	return 1 if $random;
	# a page of another table that claims to be what was there, or the root of the tree
	return 1 if $job->{damage} =~ /another/ && $old->{tree} == $new->{tree}
		&& $old->{flags} & $new->{flags} & 1;
	return 1 if $job->{damage} =~ /another/
		&& !grep { $old->{$_} != $new->{$_} } qw(lokey hikey tree type level);
	return 0;
}

# ---- statements ------------------------------------------------------------------------

sub statements
{
	my ($columns) = @_;
	my ($id, @others) = @$columns;
	my $every = join ', ', map { "count($_), sum(hashtext($_\::text)::bigint)" } @$columns;
	my $look = "select count(*), $every from T";
	my $look_new = "select count(*), count(new_column), $every from T";
	my @list = (
		"select count(*) from T",
		"$look",
		(map { "select count($_), sum(hashtext($_\::text)::bigint) from T" } @$columns),
		"select md5(string_agg(t::text, ',' order by id)) from T t",
		"set enable_seqscan = off; set enable_bitmapscan = off; select $every from T where id in (1, 2, 49, 700, 2500, 2999, 4000, 6500, -1, -2, -3, -1001)",
		"set enable_seqscan = off; set enable_indexscan = off; set enable_indexonlyscan = off; select $every from T where id between 20 and 1000",
		"set enable_seqscan = off; set enable_bitmapscan = off; select count(*) from T where id >= "
			. "0",
		"select count(*), sum(hashtext($others[0]::text)::bigint) from T where id < 500 and id > -20",
		"set zedstore.enable_zone_maps = off; set zedstore.enable_lazy_decode = off; $look",
		(map { "set zedstore.debug_vector = force; select count($_), count(distinct $_), min($_), max($_) from T" } @$columns),
		"set zedstore.debug_vector = force; select md5(string_agg(s::text, ',' order by s::text collate \"C\")) from (select $others[0], $others[-1], count(*), sum($id) from T group by 1, 2) s",
		"set zedstore.debug_vector = force; select count(*), sum($id), max($others[1]) filter (where $others[0]::text like '%1%') from T where $id between 20 and 2000 and $others[0]::text > '2'",
		"select id, $others[1] from T order by id desc limit 3",
		"select id, $others[-1] from T where ctid = '(1,10)'",
		"begin; insert into T (id, $others[0]) values (15000, '15'), (15001, '16'); $look; rollback",
		"begin; set local zedstore.min_segment_rows = 64; insert into T (id, $others[0]) select i, i from generate_series(16001, 18500) i; $look; rollback",
		"begin; insert into T (id, $others[0]) values (1, '2') on conflict (id) do update set $others[0] = excluded.$others[0]; $look; rollback",
		"begin; update T set $others[0] = '77' where id between 5 and 45; $look; rollback",
		"begin; update T set $others[-1] = '78'; $look; rollback",
		"begin; delete from T where id between 30 and 700; $look; rollback",
		"begin; select count(*) from (select id from T where id < 100 for update) s; rollback",
		"begin; alter table T add new_column int default 5; $look_new; rollback",
		"begin; alter table T alter $others[0] type text using $others[0] || 'x'; $look; rollback",
		"begin; alter table T drop column $others[0]; select count(*), sum($id) from T; rollback",
		"begin; create index on T ($others[1], id); set local enable_seqscan = off; select count(*) from T where $others[1] is not null; rollback",
		"begin; copy T to '/dev/null'; rollback",
		"begin; truncate T; $look; rollback");
	my @free = (
		"analyze T", "vacuum T", "vacuum (freeze, disable_page_skipping) T",
		"select count(zs_compact('T')) > 0",
		"select count(*) from T tablesample system (50)",
		"select count(*) > 0 from zs_check('T')",
		"select count(*) > 0 from pg_zs_btree_pages('T')",
		"select count(*) >= 0 from pg_zs_segments('T')",
		"select count(*) > 0 from pg_zs_tid_items('T')",
		"select count(*) >= 0 from pg_zs_free_pages('T')",
		"select count(*) > 0 from pg_zs_trees('T')", "select zs_map('T') like '<svg%'");

	return (\@list, \@free);
}

# ---- the test ---------------------------------------------------------------------------

# May stand for damage: data corrupted, index corrupted; in a visibility slot also what core says of
# transactions that it does not know, on heap too.  A version that is damaged may look newer.
my $right_error =
  qr/^ERROR:  (XX001: |XX002: |0A000: .*this version of zedstore_io does not know)/m;
my $unknown_xact = qr/could not access status of transaction|MultiXactId \d+ (has not been created yet|does no longer exist)|has no updating transaction/;

my $node = new_node('main', conf => <<"CONF");
autovacuum = off
restart_after_crash = off
shared_buffers = 64MB
max_wal_size = 4GB
zedstore.min_segment_rows = 64
CONF
$node->stop;
system_or_bail('pg_checksums', '--disable', '--no-sync', '-D', $node->data_dir);
$node->start;

sub path_of
{
	my ($relation) = @_;

	return $node->data_dir . '/'
		. $node->safe_psql('postgres', "select pg_relation_filepath('$relation')");
}

sub write_file
{
	my ($path, $content) = @_;

	open my $file, '>:raw', $path or die "open $path: $!";
	print $file $content;
	close $file;
	return;
}

sub named
{
	my ($table, @statements) = @_;

	s/\bT(_id)?\b/$table . ($1 \/\/ '')/ge for @statements;
	return @statements;
}

# Runs statements in a session; returns for each of them its result or error, and the number of
# those that were run.
sub run_all
{
	my ($table, @statements) = @_;
	my $script = "\\set VERBOSITY verbose\n\\set SHOW_CONTEXT never\n";
	my (%result, %error);

	for my $i (0 .. $#statements)
	{
		my ($sql) = named($table, $statements[$i]);

		$script .= "\\echo ## $i\n\\warn ## $i\nrollback;\nreset all;\nset client_min_messages = error;\nset statement_timeout = '60s';\n$sql;\n";
	}
	my ($status, $out, $errors) =
		$node->psql('postgres', "set client_min_messages = error;\n$script", on_error_stop => 0);
	$result{$1} = $2 while $out =~ /^## (\d+)\n?((?:(?!^## ).*\n?)*)/mg;
	$error{$1} = $2 while $errors =~ /^(?:psql:<stdin>:\d+: )?## (\d+)\n?((?:(?!^## ).*\n?)*)/mg;
	s/^psql:<stdin>:\d+: //mg, s/\n+\z// for values %result, values %error;
	return ($status, \%result, \%error, scalar keys %result);
}

# originals
for my $shape (@shapes)
{
	my $s = $shapes{$shape};
	my @fill = @{ $s->{fill} };

	for my $step (@{ $s->{define} })
	{
		if ($step eq '-- copies') { $node->safe_psql('postgres', $_)
			for named($shape, shift @fill); }
		else { $node->safe_psql('postgres', $_) for named($shape, $step); }
	}
	$node->safe_psql('postgres', $_) for named($shape, @fill, @{ $s->{last} // [] });
	($s->{list}, $s->{free}) = statements($s->{columns});
	# copies get their files, when all of them are written
	$node->safe_psql('postgres', "select count(*) from $shape");
}
$node->safe_psql('postgres',
	'create table good (a int) using zedstore; insert into good select generate_series(1, 3000); '
	. 'checkpoint');
for my $shape (@shapes)
{
	my $s = $shapes{$shape};

	$s->{path} = path_of($shape);
	$s->{index} = path_of("${shape}_id");
}
$node->stop;
for my $shape (@shapes)
{
	my $s = $shapes{$shape};

	$s->{files}{$_} = slurp_file("$s->{path}$_") for grep { -e "$s->{path}$_" } '', '_vm';
	$s->{index_file} = slurp_file($s->{index});
	for my $block (0 .. length($s->{files}{''}) / $page_size - 1)
	{
		my $o = opaque(substr($s->{files}{''}, $block * $page_size, $page_size));
		my $type = $o->{type} > 0 && $o->{type} < 10 ? $page_types[ $o->{type} ] : next;

		push @{ $s->{by_type}{ $type
			. ($type eq 'inner' ? ' ' . ($o->{tree} < 3 ? $o->{tree} : 'n') : '') } }, $block;
	}
}
$node->start;

# what the originals give; those that write leave nothing behind, but the copies have their files
# already
for my $shape (@shapes)
{
	my $s = $shapes{$shape};
	my ($status, $result, $error) = run_all($shape, @{ $s->{list} }, @{ $s->{free} });

	is($status, 0, "$shape: the server is there");
	is(join('', values %$error), '', "$shape: no errors without damage");
	$s->{expected} = $result;
}

my @jobs;
for my $shape (@shapes)
{
	my $s = $shapes{$shape};
	my @types = sort keys %{ $s->{by_type} };

	for my $round (1 .. $rounds)
	{
		# each type of page in turn
		my $type = $types[ $round % @types ];
		my @blocks = @{ $s->{by_type}{$type} };
		my $damage = (sort keys %damages)[ int rand keys %damages ];
		my $block = $blocks[ int rand @blocks ];
		my $other = $shapes{ $shapes[ int rand @shapes ] }{files}{''};
		my $old = substr($s->{files}{''}, $block * $page_size, $page_size);
		my $new = $damages{$damage}->($old, $s->{files}{''}, $other, $block);
		my @order = sort { $a->[1] <=>
			$b->[1] } map { [ $_, rand ] } 0 .. $#{ $s->{list} } + @{ $s->{free} };

		# for VACUUM, most of the damage is in its way when it comes last
		push @jobs, { number => scalar @jobs, shape => $shape, type => $type, damage => $damage,
			block => $block, old => $old, new => $new, order => [ map { $_->[0] } @order ] }
		  if $old ne $new;
	}
}
@jobs = grep { $_->{number} == $ENV{ZS_DAMAGE_ONLY} } @jobs if defined $ENV{ZS_DAMAGE_ONLY};

my %count = map { $_ => 0 } ('crashes', 'hangs', 'wrong code', 'unnamed', 'lies', 'excused',
	'errors', 'right');
my %told;
while (my @now = splice @jobs, 0, $batch)
{
	my $script = '';

	for my $job (@now)
	{
		$job->{table} = "d$job->{number}";
		$script .= join ';', named($job->{table},
			grep { !/^--/ } @{ $shapes{ $job->{shape} }{define} }), '';
		# as old as the rows that the files bring
		$script .= "update pg_class c set relfrozenxid = o.relfrozenxid, relminmxid = o.relminmxid from pg_class o where c.relname = '$job->{table}' and o.relname = '$job->{shape}';\n";
	}
	$node->safe_psql('postgres', $script);
	for my $line (split /\n/,
		$node->safe_psql('postgres',
		q{select relname, pg_relation_filepath(oid) from pg_class where relname ~ '^d\d+(_id)?$'}))
	{
		my ($name, $path) = split /\|/, $line;
		my ($number, $is_index) = $name =~ /^d(\d+)(_id)?$/;
		my ($job) = grep { $_->{number} == $number } @now;

		$job->{ $is_index ? 'index' : 'path' } = $node->data_dir . "/$path" if defined $job;
	}
	$node->stop;
	for my $job (@now)
	{
		my $s = $shapes{ $job->{shape} };
		my %files = %{ $s->{files} };

		substr($files{''}, $job->{block} * $page_size, $page_size) = $job->{new};
		write_file("$job->{path}$_", $files{$_}) for keys %files;
		write_file($job->{index}, $s->{index_file});
	}
	$node->start;

	for my $job (@now)
	{
		my $s = $shapes{ $job->{shape} };
		my @all = (@{ $s->{list} }, @{ $s->{free} });
		my @statements = @all[ @{ $job->{order} } ];
		my $what = "job $job->{number}: $job->{shape}, $job->{type} page, block $job->{block}, $job->{damage}";
		my $excused = excused($job);
		my ($status, $result, $error, $nrun) = run_all($job->{table}, @statements);

		if ($status != 0)
		{
			diag("$what: the server crashed in: " . substr($statements[$nrun - 1], 0, 150) . "");
			$count{crashes}++;
			usleep(10_000) while -e $node->data_dir . '/postmaster.pid';
			$node->_update_pid(0);
			$node->start;
			next;
		}
		for my $i (0 .. $#statements)
		{
			my $message = $error->{$i} // '';
			my $is_read = $job->{order}[$i] < @{ $s->{list} };
			my $kind;

			if ($message =~ /ERROR:/)
			{
				$kind = $message =~ /57014/ ? 'hangs'
				  : $message !~ $right_error ? 'wrong code'
				  : $message =~ $unknown_xact ? undef
				  : $message !~ m{\b$job->{table}(_id)?\b|(relation|file) "?base/} ? 'unnamed'
				  : undef;
				$kind = undef if defined $kind && $job->{type} eq 'tid'
					&& $job->{damage} =~ /random/ && $message =~ $unknown_xact;
				# values of which nothing is known may lead to any error
				$kind = 'excused' if defined $kind && $kind eq 'wrong code' && $excused
					&& $message !~ /ERROR:  XX000/;
				$count{errors}++;
			}
			elsif ($is_read && ($result->{$i} // '') ne ($s->{expected}{ $job->{order}[$i] } // ''))
			{
				$kind = $excused ? 'excused' : 'lies';
			}
			else
			{
				$count{right}++;
			}
			next if !defined $kind;
			$count{$kind}++;
			diag("$what: $kind: " . substr($statements[$i], 0, 150) . ': '
				. ($message ne '' ? $message
				: "got $result->{$i}, not $s->{expected}{ $job->{order}[$i] }"))
			  if $kind ne 'excused' && $told{"$kind $job->{number}"}++ < 2;
		}
	}
	$node->safe_psql('postgres', join '', map { "drop table $_->{table};" } @now) if @jobs;
}
note join ', ', map { "$_: $count{$_}" } sort keys %count;
is($count{crashes}, 0, 'no crash');
is($count{hangs}, 0, 'no hang');
is($count{'wrong code'}, 0, 'errors have the code of damaged data');
is($count{unnamed}, 0, 'errors name the table or the file');
is($count{lies}, 0, 'no other rows are returned');
cmp_ok($count{errors}, '>', $count{crashes}, 'damage is met') if !defined $ENV{ZS_DAMAGE_ONLY};
is($node->safe_psql('postgres', 'select count(*) from good'), '3000', 'other tables are readable');
is($node->psql('postgres', 'checkpoint'), 0, 'a checkpoint succeeds');
ok(!$node->log_contains('TRAP:|PANIC:'), 'no assertion failed');
$node->stop;
done_testing();
