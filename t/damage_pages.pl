# Damaged pages: an error that names table and block, or the right rows; never a
# crash, never a hang, and other tables stay readable.
#
# Many tables are copies of one, made file by file while the server is down, and
# each is damaged in its own way: one page of each type, one kind of damage.  The
# server was stopped cleanly, so that recovery repairs nothing.  Without checksums,
# to meet our own checks, and with them.
# Takes 28 seconds of a processor: scripts/run-tests starts it early.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

srand($ENV{ZS_CORRUPTION_SEED} // 42);

my $page_size = 8192;
my @page_types = qw(invalid meta directory fpm inner tid row index segment overflow);

# Kinds of damage; each gets a page and returns another, or undef to end the file before it.
my %damages = (
	zeroes => sub { return "\0" x $page_size; },
	random => sub { return substr($_[0], 0, 24) . random_bytes($page_size - 24); },
	noise => sub { return random_bytes($page_size); },
	header => sub { my ($page) = @_; substr($page, 24, 200) = random_bytes(200); return $page; },
	tail => sub { my ($page) = @_; substr($page, 8100) = random_bytes(92); return $page; },
	# pd_lower, pd_upper, pd_special as the server's own check lets them pass
	fields => sub { my ($page) = @_; substr($page, 12, 6) = pack 'SSS', 24, 8192,
		8192; return $page; },
	lower => sub { my ($page) = @_; substr($page, 12, 2) = pack 'S',
		24 + int rand 8000; return $page; },
	# what stands in the special area, field by field
	lokey => sub { return with_opaque($_[0], 0, pack 'Q', 1 + int rand 100_000); },
	hikey => sub { return with_opaque($_[0], 8, pack 'Q', 1 + int rand 100_000); },
	right => sub { return with_opaque($_[0], 16, pack 'L', int rand 60); },
	far => sub { return with_opaque($_[0], 16, pack 'L', 4_000_000_000); },
	stamp => sub { return with_opaque($_[0], 24, random_bytes(4)); },
	tree => sub { return with_opaque($_[0], 28, pack 'S', int rand 10); },
	type => sub { return with_opaque($_[0], 32, pack 'C', int rand 11); },
	level => sub { return with_opaque($_[0], 33, pack 'C', int rand 4); },
	bytes => sub {
		my ($page) = @_;
		my $lower = unpack 'S', substr($page, 12, 2);
		my $end = $lower > 32 && $lower <= $page_size ? $lower : $page_size;

		substr($page, 24 + int rand($end - 24), 1) = random_bytes(1) for 1 .. 8;
		return $page;
	},
	# the length of the second attribute of each row
	lengths => sub {
		my ($page) = @_;

		for my $pointer (unpack 'L*', substr($page, 24, unpack('S', substr($page, 12, 2)) - 24))
		{
			my $item = $pointer & 0x7FFF;

			substr($page, $item + unpack('C', substr($page, $item + 14, 1)) - 8 + 4, 4) = pack 'L',
				0x3FFFFFFC;
		}
		return $page;
	},
	# free blocks behind the end of the file
	extents => sub {
		my ($page) = @_;

		for my $entry (map { 24 + 248 + 128 * $_ } 0 .. 59)
		{
			substr($page, $entry + 32, 4) = pack 'L', 3_000_000_000
			  if unpack 'S', substr($page, $entry + 20, 2);
		}
		return $page;
	},
	cut => sub { return undef; });

# Values have no checksum of their own: these may give other ones.  A page whose key range
# claims rows of its neighbour hides them, which only zs_check() notices.
my $may_lie = qr/^(random|noise|header|tail|lower|bytes)$/;
my $may_hide = qr/^(lokey|hikey)$/;

sub random_bytes { return join '', map { chr int rand 256 } 1 .. $_[0]; }

sub with_opaque
{
	my ($page, $offset, $bytes) = @_;

	substr($page, $page_size - 40 + $offset, length $bytes) = $bytes;
	return $page;
}

sub write_file
{
	my ($path, $content) = @_;

	open my $file, '>:raw', $path or die "open $path: $!";
	print $file $content;
	close $file;
	return;
}

# What reads the damaged table, and afterwards what writes to it.  The first ones
# return the same from every undamaged copy.
my @readers = (
	'select count(*) from T',
	'select md5(string_agg(t::text, \',\' order by a)) from T t',
	'select count(b), sum(c), sum(length(b)) from T',
	'set enable_seqscan = off; select a, length(b), c from T where a in (1, 700, 2999, -1, -2, -3) '
		. 'order by a; reset enable_seqscan',
	'set enable_seqscan = off; set enable_indexscan = off; set enable_indexonlyscan = off; select '
		. 'count(b) from T where a between 100 and 1000; reset all; set statement_timeout = '
		. '\'60s\'',
	'set enable_seqscan = off; set enable_bitmapscan = off; select count(*) from T where a >= 0; '
		. 'reset all; set statement_timeout = \'60s\'',
	'select a, c from T where ctid = \'(1,10)\'',
	'select count(*) from T where a between 1000 and 1100 and c > 1',
	'select a from T order by a desc limit 3');
my @others = (
	'select count(*) from zs_check(\'T\')',
	'select count(*) from pg_zs_btree_pages(\'T\')',
	'select count(*) from pg_zs_segments(\'T\')',
	'select count(*) from pg_zs_tid_items(\'T\')',
	'select count(*) from pg_zs_free_pages(\'T\')',
	'select zs_map(\'T\') like \'<svg%\'',
	'select count(*) from T tablesample system (50)',
	'analyze T',
	'insert into T values (15000, \'new\', 1)',
	'insert into T select i, md5(i::text), i from generate_series(16001, 18500) i',
	'insert into T select 19000, string_agg(md5(i::text), \'\'), 1 from generate_series(1, 3000) i',
	'insert into T values (1, \'upsert\', 1) on conflict (a) do update set b = excluded.b',
	'update T set b = \'updated\' where a between 600 and 650',
	'delete from T where a between 650 and 660',
	'vacuum T',
	'vacuum freeze T',
	'vacuum full T');

# Errors of these classes may stand for damage: corrupted data, corrupted index, I/O
# (a block behind the end), and an overlong value that cannot be allocated.
my $right_error =
  qr/^ERROR:  (XX001: |XX002: |0A000: .*this version of zedstore_io does not know)/m;

sub corruption
{
	my ($checksums) = @_;
	my $title = $checksums ? 'with checksums' : 'without checksums';
	my $node = new_node($checksums ? 'checksums' : 'plain', conf => <<"CONF");
zedstore.min_segment_rows = 64
autovacuum = off
restart_after_crash = off
shared_buffers = 64MB
max_wal_size = 4GB
CONF
	my $columns = 'a int, b text, c numeric' . join '', map { ", d$_ int" } 1 .. 60;

	if (!$checksums)
	{
		$node->stop;
		system_or_bail('pg_checksums', '--disable', '--no-sync', '-D', $node->data_dir);
		$node->start;
	}
	my $define = sub {
		my ($table) = @_;

		return qq{create table $table ($columns) using zedstore with (zedstore_rel_extension_factor = 3, zedstore_compression = 'none');
			create unique index ${table}_a on $table (a);};
	};
	$node->safe_psql('postgres', q{
		create table good (a int) using zedstore;
		insert into good select generate_series(1, 3000);
	} . $define->('source'));
	$node->safe_psql('postgres', $_) for
	  'insert into source select i, md5(i::text), i / 7.0 from generate_series(1, 3000) i',
	  (map { sprintf("insert into source (a, b) select i, (select string_agg(md5((i * 100 + "
		. "k)::text), '') from generate_series(1, 7) k) from generate_series(%d, %d) i",
		3000 + $_ * 200, 3199 + $_ * 200) } 1 .. 16),
	  "insert into source values (-1, 'tree', 0), (-2, (select string_agg(md5(i::text), '') from "
		. "generate_series(1, 3000) i), 0)",
	  'do $$ begin for i in 1 .. 60 loop insert into source values (-10 - i, repeat(md5(i::text), '
		. '14), i); end loop; end $$',
	  'vacuum source',
	  'delete from source where a between 100 and 2900 and a % 2 = 0',
	  'do $$ declare k int; begin for i in 1 .. 300 loop begin select a into k from source where a '
		. '= 2000 + (i * 7) % 300 for share; exception when division_by_zero then null; end; end '
		. 'loop; end $$',
	  'checkpoint';

	# pages by type, and what to do to which
	my $path_of = sub {
		my ($relation) = @_;

		return $node->data_dir . '/'
			. $node->safe_psql('postgres', "select pg_relation_filepath('$relation')");
	};
	my ($source, $index) = map { $path_of->($_) } qw(source source_a);
	my $heap = slurp_file($source);
	my %by_type;
	for my $block (0 .. length($heap) / $page_size - 1)
	{
		my ($tree, undef, $type, $level) = unpack 'SSCC',
			substr($heap, ($block + 1) * $page_size - 12, 6);

		push @{ $by_type{ $page_types[$type]
			. ($type == 4 ? " of tree " . ($tree < 3 ? $tree : 'n') : '') } }, $block
		  if $type > 0 && $type < @page_types;
	}
	for my $type (@page_types[ 1 .. $#page_types ])
	{
		ok(scalar(grep { /^$type/ } keys %by_type), "$title: the table has pages of type $type");
	}
	my @jobs;
	for my $type (sort keys %by_type)
	{
		for my $damage (grep { case_wanted("$title: $type, $_") } sort keys %damages)
		{
			my @blocks = @{ $by_type{$type} };

			next if $damage eq 'extents' && $type ne 'meta' || $damage eq 'lengths'
				&& $type ne 'row';
			next if !$checksums && !$ENV{ZS_LONG_TESTS} && $damage !~ /^(extents|level|lengths)$/
				&& rand() < 0.6;
			# with checksums all of them look alike
			next if $checksums && $damage !~ /^(zeroes|bytes|cut)$/;
			push @jobs, { table => 'd' . @jobs, type => $type, damage => $damage,
				block => $blocks[ int rand @blocks ] };
		}
	}
	push @jobs, map { { table => "d$_", type => 'visibility map',
		damage => ('zeroes', 'random')[ $_ % 2 ], block => 0, fork => '_vm' } } scalar(@jobs),
		@jobs + 1;

	$node->safe_psql('postgres', join '', map { $define->($_->{table}) } @jobs);
	$_->{path} = $path_of->($_->{table}), $_->{index} = $path_of->("$_->{table}_a") for @jobs;
	$node->stop;

	my %pristine = map { $_ => slurp_file("$source$_") } '', '_vm';
	my $pristine_index = slurp_file($index);
	my $restore = sub {
		my ($job) = @_;

		write_file("$job->{path}$_", $pristine{$_}) for keys %pristine;
		write_file($job->{index}, $pristine_index);
		return;
	};
	for my $job (@jobs)
	{
		my $fork = $job->{fork} // '';
		my $content = $pristine{$fork};
		my $page = $damages{ $job->{damage} }->(substr($content, $job->{block} * $page_size,
			$page_size));

		$restore->($job);
		if (defined $page) { substr($content, $job->{block} * $page_size, $page_size) = $page; }
		else { $content = substr($content, 0, $job->{block} * $page_size); }
		write_file("$job->{path}$fork", $content);
	}
	$node->start;

	# reads one table by all ways; returns what each of them gave
	my $run = sub {
		my ($table, @statements) = @_;
		my $script = "\\set VERBOSITY verbose\n\\set SHOW_CONTEXT never\nset statement_timeout = '60s';\n";
		my (%result, %error);

		for my $i (0 .. $#statements)
		{
			(my $sql = $statements[$i]) =~ s/\bT\b/$table/g;
			$script .= "\\echo ## $i\n\\warn ## $i\n$sql;\n";
		}
		my ($status, $out, $errors) = $node->psql('postgres', $script, on_error_stop => 0);
		$result{$1} = $2 while $out =~ /^## (\d+)\n?((?:(?!^## ).*\n?)*)/mg;
		$error{$1} = $2 while $errors =~ /^(?:psql:<stdin>:\d+: )?## (\d+)\n?((?:(?!^## ).*\n?)*)/mg;
		s/^psql:<stdin>:\d+: //mg, s/\n+\z// for values %result, values %error;
		return ($status, \%result, \%error, $errors);
	};
	my (undef, $expected) = $run->('source', @readers);
	my %count = (crashes => 0, hangs => 0, 'wrong code' => 0, unnamed => 0, lies => 0, errors => 0,
		right => 0);
	my %told;

	for my $job (@jobs)
	{
		my @statements = (@readers, @others);
		my $what = "$title: $job->{type}, block $job->{block}, $job->{damage}";
		my ($status, $result, $error, $all) = $run->($job->{table}, @statements);

		if ($status != 0)
		{
			my $last = (sort { $b <=> $a } keys %$result)[0];
			diag("$what: the server crashed in: $statements[$last]");
			$count{crashes}++;
			$node->_update_pid(-1);
			$node->start if !defined $node->{_pid};
			next;
		}
		for my $i (0 .. $#statements)
		{
			my $message = $error->{$i} // '';

			if ($message =~ /ERROR:/)
			{
				$count{errors}++;
				my $kind = $message =~ /57014/ ? 'hangs'
				  : $message !~ $right_error ? 'wrong code'
				  : $message !~ m{\b$job->{table}(_a)?\b|(relation|file) "?base/} ? 'unnamed'
				  : next;

				$count{$kind}++;
				diag("$what: $statements[$i]: $message")
					if $told{"$kind $statements[$i] $job->{type}"}++ == 0;
			}
			elsif ($i < @readers && ($result->{$i} // '') ne ($expected->{$i} // ''))
			{
				my $excused = !$checksums && ($job->{damage} =~ $may_lie ||
					($job->{damage} =~ $may_hide && ($result->{ scalar @readers } // 0) > 0));

				$count{lies}++;
				$count{'lies without excuse'}++ if !$excused;
				diag("$what: $statements[$i]: other rows") if !$excused;
			}
			elsif ($i < @readers)
			{
				$count{right}++;
			}
		}
	}
	note "$title: " . @jobs . ' tables; ' . join ', ', map { "$_: $count{$_}" } sort keys %count;
	is($count{crashes}, 0, "$title: no crash");
	is($count{hangs}, 0, "$title: no hang");
	is($count{'wrong code'}, 0, "$title: errors have the code of damaged data");
	is($count{unnamed}, 0, "$title: errors name the table or the file");
	is($count{'lies without excuse'} // 0, 0, "$title: no other rows are returned");
	cmp_ok($count{errors}, '>', scalar @jobs, "$title: damage is met");
	is($node->safe_psql('postgres', 'select count(*) from good'), '3000',
		"$title: other tables are readable");
	ok(!$node->log_contains('TRAP:|PANIC:'), "$title: no assertion failed");

	# what was wrong did not spread: everything in memory can be written
	is($node->psql('postgres', 'checkpoint'), 0, "$title: a checkpoint succeeds");

	# the damage was in the files alone
	$node->stop;
	$restore->($_) for @jobs[ 0 .. 5 ];
	$node->start;
	for my $job (grep { defined } @jobs[ 0 .. 5 ])
	{
		next if $node->safe_psql('postgres',
			"select pg_relation_filepath('$job->{table}')") ne ($job->{path} =~ s/.*(?=base)//r);
		my (undef, $result) = $run->($job->{table}, @readers);

		is_deeply($result, $expected, "$title: $job->{table} is readable when its file is back");
	}
	$node->stop;
	return;
}

# zs_check() notices a row number that a segment covers and that is going to be handed out all the
# same.
sub unused_in_segment
{
	my $node = new_node('unused', conf => "zedstore.min_segment_rows = 64\nautovacuum = off");
	my $check = q{select attno, message from zs_check('u') where severity = 'error'};

	$node->safe_psql('postgres', $_)
	  for 'create table u (a int, b int) using zedstore',
		'insert into u select i, i from generate_series(1, 3000) i',
	  'delete from u where a between 1001 and 1500', 'vacuum u';
	is($node->safe_psql('postgres', $check), '', 'retired row numbers may be covered');
	my @retired = split /\n/,
		$node->safe_psql('postgres',
		q{select first_row from pg_zs_tid_items('u') where slotno = 3});
	my $path = $node->data_dir . '/'
		. $node->safe_psql('postgres', q{select pg_relation_filepath('u')});
	$node->stop;
	system_or_bail('pg_checksums', '--disable', '--no-sync', '-D', $node->data_dir);

	my $file = slurp_file($path);
	my $nchanged = 0;
	for my $block (0 .. length($file) / $page_size - 1)
	{
		my $page = substr($file, $block * $page_size, $page_size);

		next if $page_types[ unpack 'C', substr($page, -8, 1) ] ne 'tid';
		# header, marks, visibility slots, then runs
		my ($nslots, $size) = unpack 'SS', substr($page, 24, 4);
		my $at = 24 + 104 + 32 * $nslots;
		my $end = $at + $size;

		while ($at < $end)
		{
			my $byte = ord substr($page, $at, 1);

			if (!($byte & 0x80) && ($byte & 3) == 3)
			{
				substr($page, $at, 1) = chr($byte - 1);
				$nchanged++;
			}
			$at++;
			my $varints = $byte & 0x80 ? 1 + ($byte == 0xFF) : $byte >> 2 == 31;
			for (1 .. $varints)
			{
				1 while ord(substr($page, $at++, 1)) & 0x80;
			}
		}
		substr($file, $block * $page_size, $page_size) = $page;
	}
	cmp_ok($nchanged, '>', 0, 'there are retired row numbers');
	is($nchanged, scalar @retired, 'all of them are called unused now');
	write_file($path, $file);
	$node->start;
	is($node->safe_psql('postgres', $check),
		join("\n", map { my $row = $_; map { qq{$_->[0]|column "$_->[1]" has a segment for row $row, which may still be handed out} } [ 1, 'a' ], [ 2, 'b' ], [ -2, 'xmin' ] } @retired),
		'zs_check tells of them');
	$node->stop;
	return;
}

# VACUUM looks for a row's pointer in a segment, when the row stands in the row tree as well: an
# emptied page of it is an error, not somebody else's change that is soon over.
sub pointer_in_empty_page
{
	my $node = new_node('pointer', conf => 'autovacuum = off');

	SKIP:
	{
		skip 'the server comes without injection points', 2 if !has_injection_points($node);
		$node->safe_psql('postgres', q{
			create extension injection_points;
			create table p (a int, b text) using zedstore;
			do $$
			begin
				for i in 1 .. 1100 loop
					insert into p values (i, (select string_agg(md5((i * 1000 + k)::text), '') from generate_series(1, 80) k));
				end loop;
			end $$});
		my ($ret, $stdout, $stderr) = $node->psql('postgres',
			"select injection_points_set_local(), injection_points_attach('zs-compact-linked', "
				. "'error'); select zs_compact('p')");
		like($stderr, qr/error triggered for injection point/, 'rows stand in both places');
		$node->safe_psql('postgres', 'delete from p');
		my $start = $node->safe_psql('postgres',
			q{select start from pg_zs_segments('p') where attno = 2 limit 1});
		my $path = $node->data_dir . '/'
			. $node->safe_psql('postgres', q{select pg_relation_filepath('p')});
		$node->stop;
		my $file = slurp_file($path);
		substr($file, $start * $page_size, $page_size) = "\0" x $page_size;
		write_file($path, $file);
		$node->start;
		($ret, $stdout, $stderr) =
			$node->psql('postgres', 'vacuum p',
			timeout => $PostgreSQL::Test::Utils::timeout_default);
		like($stderr, qr/contains corrupted page at block $start\n.*does not carry the segment's stamp/s, 'VACUUM says so');
	}
	$node->stop;
	return;
}

corruption(0);
corruption(1);
unused_in_segment();
pointer_in_empty_page();
done_testing();
