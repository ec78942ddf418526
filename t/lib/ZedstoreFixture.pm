# Tables' files that an earlier build wrote, and what it takes to read them in another cluster.
#
# A fixture is a folder t/fixtures/format-<version>:
#	schema.sql		makes the tables, empty
#	<table>.gz		main fork; <table>_vm.gz, <table>_init.gz likewise
#	xact.gz, offsets.gz, members.gz		first pages of pg_xact, pg_multixact/offsets and members
#	numbers			first and next transaction id, multixact and member offset
#	expected		for each column of each table the number of values and the md5 of them, by id
#	contents		kinds of pages, encodings and so on that are in it
#	wal*			WAL records, see t/format_wal.pl
#
# Pages are not changed when they are loaded, so that all their bytes are those of the build that
# wrote them. The new cluster is told to go on behind the fixture's transactions (pg_resetwal), gets
# their outcome (FIRST_XID and on of pg_xact, which a new cluster has not used), and WAL beyond the
# LSNs of the pages.  All numbers are small enough for the first page of each of these files, whose
# format is that of PostgreSQL 17 and 18; for 19, whose offsets of multixacts are wider and whose
# files have longer names, they are written anew.
#
# Types whose values hold OIDs of user-defined types (enums, rows, ranges, their arrays) are no use
# here: the OIDs would be others.

package ZedstoreFixture;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use File::Basename;
use IO::Compress::Gzip qw(gzip $GzipError);
use IO::Uncompress::Gunzip qw(gunzip $GunzipError);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

our @EXPORT = qw(
  make_fixture
  load_fixture
  read_gz
  write_gz
  fixture_tables
  fixture_values
  fixture_contents
  contents_wanted
  format_version
);

use constant {
	FIRST_XID => 10000,
	FIRST_MULTI => 1000,
	FIRST_OFFSET => 400,
	PAGE => 8192,
	SPECIAL => 8192 - 40,
	CAPACITY => 8192 - 40 - 24,
};

my $top = dirname(__FILE__) . '/../..';

sub read_gz
{
	my ($file) = @_;
	my $bytes;
	gunzip($file => \$bytes) or die "$file: $GunzipError";
	return $bytes;
}

sub write_gz
{
	my ($file, $bytes) = @_;
	gzip(\$bytes => $file, -Level => 9, -Minimal => 1) or die "$file: $GzipError";
	return;
}

sub read_file
{
	my ($file) = @_;
	open my $fh, '<:raw', $file or die "$file: $!";
	local $/ = undef;
	return scalar <$fh>;
}

sub write_file
{
	my ($file, $bytes) = @_;
	open my $fh, '>:raw', $file or die "$file: $!";
	print {$fh} $bytes or die "$file: $!";
	close $fh or die "$file: $!";
	return;
}

# ---- what a fixture holds -------------------------------------------------------------------

# Names of an enum of the source, by number: from PREFIX_NAME = 0 on.
sub enum_names
{
	my ($header, $type, $prefix) = @_;
	my ($body) = slurp_file("$top/include/$header") =~ /typedef enum $type\s*\{(.*?)\}\s*$type;/s
	  or die "no enum $type in $header";
	my @names;

	$body =~ s{/\*.*?\*/}{}gs;
	push @names, lc($1) =~ s/_/ /gr while $body =~ /\b$prefix(\w+)/g;
	return @names;
}

# The format version that the source writes.
sub format_version
{
	my ($version) = slurp_file("$top/include/zs_format.h") =~ /^#define ZS_FORMAT_VERSION\s+(\d+)/m;
	return $version;
}

my %page_flags = (1 => 'root', 2 => 'incomplete split', 4 => 'all frozen', 8 => 'any visible');
my @kinds = enum_names('zs_codec.h', 'ZsValueKind', 'ZS_KIND_');
my @page_types = enum_names('zs_format.h', 'ZsPageType', 'ZS_PAGE_');
my @compressions = ('', '+lz4', '+zstd');

# What must be in a fixture of the present format: whoever adds a kind of page or an encoding adds
# rows that need it.
sub contents_wanted
{
	my @encodings = grep { $_ ne 'invalid' && $_ ne 'count' } enum_names('zs_codec.h', 'ZsEncoding',
		'ZS_ENC_');

	return (
		(map { "page: $_" } grep { $_ ne 'invalid' } @page_types, 'empty'),
		(map { "page flag: $_" } values %page_flags),
		'item flag: all frozen', 'level of inner pages: 2',
		(map { "kind: $_" } grep { $_ ne 'invalid' } @kinds), 'kind: int unsigned',
		(map { "encoding: $_" } @encodings),
		(map { my $e = $_; map { "encoding: $e+$_" } qw(lz4 zstd) } qw(alp dict plain)),
		(map { "bytes of zone map offsets: $_" } 0, 1, 2, 4, 8),
		(map { "shared: $_" } qw(dictionary symbols prefix words)),
		'shared: dictionary+lz4', 'shared: prefix+zstd',
		(map { "segment flag: $_" } 'zone map', 'nulls', 'overflow', 'unsigned', 'holes',
			'fewer columns'),
		(map { "slot: $_" } qw(frozen dead unused retired far)),
		(
			map { "slot flag: $_" }
			  qw(xmin_committed xmin_invalid xmax_committed xmax_invalid xmax_is_multi xmax_lock_only
			  xmax_keyshr_lock xmax_excl_lock keys_updated updated moved_partition speculative)),
		'run: long', 'overflow: shared', 'overflow: several pages', 'row: overflow pointer',
			'row: nulls', 'row: xmin',
		(map { "xmin: $_" } 'of one value', 'of several values', 'holes'),
		'visibility map: all visible', 'visibility map: all frozen', 'fork: init');
}

# Adds what a segment's first page tells: its payload begins with a header and a directory.
sub segment_contents
{
	my ($page, $found) = @_;
	my $payload = substr($page, 24, CAPACITY);
	my ($magic, undef, $kind, $align, undef, $width, $vectors) = unpack('C4 v C2', $payload);
	my ($shared) = unpack('x16 V', $payload);
	my $head = 32 + ($align & 0x80 ? 16 : 0) + 8 * $vectors + 2 * $width * $vectors;

	die 'no segment' if $magic != ord 'Z';
	$found->{ 'kind: ' . $kinds[ $kind & 0x7F ] . ($kind & 0x80 ? ' unsigned' : '') }++;
	$found->{"bytes of zone map offsets: $width"}++;
	if ($shared > 0)
	{
		my ($flags, $compression) = unpack("x$head C2", $payload);
		my %names = (1 => 'dictionary', 2 => 'symbols', 4 => 'prefix', 8 => 'words');

		$found->{"shared: $names{$_}"}++ for grep { $flags & $_ } keys %names;
		$found->{"shared: $names{$_}$compressions[$compression]"}++
			for grep { $flags & $_ } keys %names;
	}
	return;
}

# Adds what the bytes of a main fork tell, without any code of the library.
sub file_contents
{
	my ($bytes, $natts, $found) = @_;

	for (my $at = 0; $at < length $bytes; $at += PAGE)
	{
		my $page = substr($bytes, $at, PAGE);
		if ($page =~ /\A\0*\z/)
		{
			$found->{'page: empty'}++;
			next;
		}
		my ($lokey, $hikey, $right, $position, $stamp, $tree, $flags, $type, $level, $version,
			undef, $id) =
		  unpack('Q< Q< V V V v v C C v v v', substr($page, SPECIAL));
		die "page $at without identifier" if $id != 0xF2ED;
		my $name = $page_types[$type];
		my ($lower) = unpack('x12 v', $page);

		$found->{"page: $name"}++;
		# of the table, on the metapage; all pages but that one are as of version 3
		$found->{'format: ' . unpack('x4 v', substr($page, 24, 8))}++ if $name eq 'meta';
		die "page $at of version $version" if $version != 3;
		$found->{"page flag: $page_flags{$_}"}++ for grep { $flags & $_ } keys %page_flags;
		if ($name eq 'inner')
		{
			$found->{"level of inner pages: $level"}++;
			my @items = unpack('(Q< V V)*', substr($page, 24, $lower - 24));
			$found->{'item flag: all frozen'}++
				for grep { $items[ 3 * $_ + 2 ] & 1 } 0 .. @items / 3 - 1;
		}
		elsif ($name eq 'segment index')
		{
			for (my $item = 24; $item < $lower; $item += 64)
			{
				my ($item_flags, $holes) = unpack('x44 V x8 V', substr($page, $item, 64));
				my %names = (1 => 'zone map', 2 => 'nulls', 4 => 'overflow', 8 => 'unsigned');

				$found->{"segment flag: $names{$_}"}++ for grep { $item_flags & $_ } keys %names;
				$found->{'segment flag: holes'}++ if $holes > 0;
				if ($tree == 1603)
				{
					my $values = $item_flags & 16 ? 'one value' : 'several values';
					$found->{"xmin: of $values"}++;
					$found->{'xmin: holes'}++ if $holes > 0;
					next;
				}
				$found->{'segment flag: fewer columns'}++ if ($item_flags >> 16) < $natts;
			}
		}
		elsif ($name eq 'segment' && $position == 0)
		{
			segment_contents($page, $found);
		}
		elsif ($name eq 'overflow')
		{
			$found->{'overflow: shared'}++ if $position == 0 && $lokey > 0;
			$found->{'overflow: several pages'}++ if $position > 0;
		}
		elsif ($name eq 'row leaf')
		{
			for (my $pointer = 24; $pointer < $lower; $pointer += 4)
			{
				my $item = unpack('V', substr($page, $pointer, 4));
				my ($infomask) = unpack('x12 v', substr($page, $item & 0x7FFF, 16));

				$found->{'row: nulls'}++ if $infomask & 1;
				$found->{'row: overflow pointer'}++ if $infomask & 4;
				$found->{'row: xmin'}++ if $infomask & 0x100;
			}
		}
		elsif ($name eq 'tid leaf' && $lower > 24)
		{
			# a run of 32 rows or more of a slot with a fixed number
			my ($slots, $size) = unpack('v v', substr($page, 24, 4));
			my $stream = substr($page, 24 + 104 + 32 * $slots, $size);
			my $p = 0;
			while ($p < $size)
			{
				my $byte = ord substr($stream, $p++, 1);
				my $varints = $byte & 0x80 ? ($byte == 255 ? 2 : 1) : ($byte >> 2 == 31 ? 1 : 0);

				$found->{'slot: far'}++ if $byte == 255;
				$found->{'run: long'}++ if !($byte & 0x80) && $varints;
				while ($varints > 0)
				{
					$varints-- if !(ord(substr($stream, $p++, 1)) & 0x80);
				}
			}
		}
	}
	return;
}

# The fixture's tables, without those that are empty after a crash.
sub fixture_tables
{
	my ($node) = @_;

	return split /\n/, $node->safe_psql('postgres', q{
		select c.relname from pg_class c join pg_am a on a.oid = c.relam
		where a.amname = 'zedstore' and c.relkind = 'r' and c.relpersistence = 'p'
			and c.relnamespace = 'public'::regnamespace order by 1});
}

# The list of what the files hold, and what the library's functions say of encodings and slots: one
# a line.
sub fixture_contents
{
	my ($node, $files) = @_;
	my %found;
	my %natts = map { split /\|/ } split /\n/,
	  $node->safe_psql('postgres', "select relname, relnatts from pg_class where relkind = 'r'");

	for my $file (sort keys %$files)
	{
		if ($file =~ /_vm$/)
		{
			for my $byte (map { unpack('x24 C*', $_) } unpack("(a8192)*", $files->{$file}))
			{
				$found{'visibility map: all visible'}++ if $byte & 0x55;
				$found{'visibility map: all frozen'}++ if $byte & 0xAA;
			}
		}
		else
		{
			$found{'fork: init'}++ if $file =~ /_init$/;
			file_contents($files->{$file}, $natts{ $file =~ s/_init$//r }, \%found);
		}
	}
	for my $table (fixture_tables($node))
	{
		$found{"encoding: $_"}++ for split /\n/,
		  $node->safe_psql('postgres', qq{
			select distinct split_part(unnest(string_to_array(encodings, ',')), ':', 1) from pg_zs_segments('$table')});
		$found{"slot: $_"}++ for split /\n/,
		  $node->safe_psql('postgres',
			"select distinct flags from pg_zs_tid_items('$table') where slotno < 4");
		$found{"slot flag: $_"}++ for split /\n/,
		  $node->safe_psql('postgres', qq{
			select distinct unnest(string_to_array(flags, ',')) from pg_zs_tid_items('$table') where slotno >= 4});
	}
	return join('', map { "$_\n" } sort keys %found);
}

# For each column of each table, and for the system columns: values and their md5 in the order of
# ids.
sub fixture_values
{
	my ($node, $tables, $with_system) = @_;
	my $result = '';

	for my $table (@$tables)
	{
		my @columns = split /\n/, $node->safe_psql('postgres', qq{
			select attname from pg_attribute where attrelid = '$table'::regclass and attnum > 0 and not attisdropped
			order by attnum});
		@columns = ('ctid', 'xmin', 'xmax', 'cmin', 'cmax', @columns) if $with_system;
		my $list = join ', ', map {
			qq{'$table.$_ ' || count($_) || ' ' || coalesce(md5(string_agg(coalesce($_\::text, 'null'), E'\\n' order by id)), 'none')}
		} @columns;
		$result .= $node->safe_psql('postgres', qq{
			set timezone = 'UTC'; set datestyle = 'ISO'; set intervalstyle = 'postgres'; set bytea_output = 'hex';
			set lc_monetary = 'C'; set max_parallel_workers_per_gather = 0;
			select array_to_string(array[$list], E'\n') from $table;});
		$result .= "\n";
	}
	return $result;
}

# Bytes of the tables' files of a stopped server, by table and fork; paths is what file_paths()
# returned before.
sub table_files
{
	my ($node, $paths) = @_;
	my %files;

	for my $table (keys %$paths)
	{
		for my $fork ('', '_vm', '_init')
		{
			my $path = $node->data_dir . "/$paths->{$table}$fork";
			$files{"$table$fork"} = read_file($path) if -e $path;
		}
	}
	return \%files;
}

sub file_paths
{
	my ($node) = @_;
	my %paths;

	$paths{$_} = $node->safe_psql('postgres', "select pg_relation_filepath('$_')")
		for fixture_tables($node), 'unlogged';
	return \%paths;
}

# Offsets of multixacts' members in files of the server: so many bytes each.  In fixtures they have
# four.
sub offset_width
{
	my ($node) = @_;
	return $node->pg_version->major >= 19 ? 8 : 4;
}

# The first file of multixacts' members.
sub members_file
{
	my ($node) = @_;
	return 'pg_multixact/members/' . '0' x ($node->pg_version->major >= 19 ? 15 : 4);
}

# ---- loading ---------------------------------------------------------------------------------

# A cluster with the tables of a fixture, running.  Returns it and the bytes of the files.
sub load_fixture
{
	my ($dir, $name, %opts) = @_;
	my $node = new_node($name, conf => "autovacuum = off\nmax_wal_size = 256MB\n"
		. ($opts{conf} // ''));
	my %number = map { split ' ', $_ } grep { /^\w/ } split /\n/, slurp_file("$dir/numbers");
	my %files;

	$node->safe_psql('postgres', slurp_file("$dir/schema.sql"));
	my $paths = file_paths($node);
	$node->stop;
	my $data = $node->data_dir;

	for my $file (glob "$dir/*.gz")
	{
		my $base = basename($file, '.gz');
		my ($table, $fork) = $base =~ /^(\w+?)(_vm|_init)?$/;

		next if !$paths->{$table};
		$files{$base} = read_gz($file);
		write_file("$data/$paths->{$table}" . ($fork // ''), $files{$base});
	}
	is_deeply([ grep { !exists $files{$_} && !exists $files{"${_}_init"} } sort keys %$paths ],
		[], "$name: each table has its file");

	# outcome of the fixture's transactions: two bits each in pg_xact, four bytes (eight since 19)
	# for each multixact in offsets, groups of four members in 20 bytes
	my $width = offset_width($node);
	for (
		[ 'xact', 'pg_xact/0000', FIRST_XID / 4, int(($number{next_xid} + 3) / 4) ],
		[
			'offsets', 'pg_multixact/offsets/0000',
			FIRST_MULTI * $width, $number{next_multi} * $width
		],
		[ 'members', members_file($node), FIRST_OFFSET / 4 * 20,
			int(($number{next_offset} + 3) / 4) * 20 ])
	{
		my ($from, $to, $first, $end) = @$_;
		my $bytes = read_file("$data/$to");
		my $page = read_gz("$dir/$from.gz");

		$page = pack('Q<*', unpack('V*', $page)) if $from eq 'offsets' && $width == 8;
		die "$from: beyond the first page" if $end > PAGE;
		substr($bytes, $first, $end - $first) = substr($page, $first, $end - $first);
		write_file("$data/$to", $bytes);
	}
	command_ok(
		[
			'pg_resetwal', '-x', $number{next_xid}, '-m', "$number{next_multi},1", '-O',
				$number{next_offset},
			'-l', '000000010000000200000000', '-D', $data
		],
		"$name: go on behind the fixture's transactions and WAL");
	command_ok([ 'pg_checksums', '--disable', '-D', $data ], "$name: without checksums")
		if $opts{no_checksums};
	command_ok([ 'pg_checksums', '--check', '-D', $data ],
		"$name: checksums of the pages are right")
	  if !$opts{no_checksums};
	$node->start;
	return ($node, \%files);
}

# ---- making ----------------------------------------------------------------------------------

# Columns that together need every encoding, and what is in them; i is the row, r(i, salt, n)
# something below n that looks random.
my @columns = (
	[ 'allnull', 'int', 'null' ],
	[ 'const', 'int', '-42' ],
	[ 'small', 'int2', q{r(i, 'small', 900)} ],
	[ 'patched', 'int', q{case when i % 97 = 0 then 2000000000 - i else r(i, 'patched', 12) end} ],
	[ 'lowest', 'int8', q{case when i % 89 = 0 then -4000000000000 else 7000000000 + r(i, 'lowest', 50) end} ],
	[ 'runs', 'int', 'i / 17 * 1000' ],
	[ 'sorted', 'int8', q{i::int8 * 1000000007 + r(i, 'sorted', 5)} ],
	[ 'scaled', 'timestamptz',
		q{timestamptz '2026-11-23 UTC' + r(i, 'scaled', 100000) * interval '1 minute'} ],
	[ 'few', 'int8', q{(array[1, 5000000000, -77777777777, 12, 999999999999])[r(i, 'few', 5) + 1] * 3} ],
	[ 'wide', 'int8', q{('x' || left(md5(i::text), 16))::bit(64)::int8} ],
	[ 'pattern', 'int', q{(array[17, 900, 33, 2000000, 5, 123456, 88, 4000])[i % 8 + 1] * (1 + i % 3)} ],
	[ 'oids', 'oid', q{3000000000 + r(i, 'oids', 1000000000)} ],
	[ 'letter', '"char"', q{chr(65 + r(i, 'letter', 26)::int)::"char"} ],
	[ 'yes', 'bool', q{r(i, 'yes', 2) = 0} ],
	[ 'day', 'date', q{date '2026-01-01' + i / 40} ],
	[ 'f4', 'float4', q{r(i, 'f4', 10000) / 8.0} ],
	[ 'f8', 'float8', q{r(i, 'f8', 100000) / 100.0} ],
	[ 'f8_odd', 'float8', q{case i % 50 when 0 then 'nan' when 1 then '-0' when 2 then 'infinity' when 3 then sqrt(i) else r(i, 'f8', 1000) / 10.0 end} ],
	[ 'f8_any', 'float8', 'sqrt(i)' ],
	[ 'cash', 'money', q{(r(i, 'cash', 100000) / 100.0)::numeric::money} ],
	[ 'price', 'numeric(9,2)', q{r(i, 'price', 1000000) / 100.0} ],
	[ 'scales', 'numeric', q{trunc(r(i, 'scales', 100000) / 1000.0, (i % 4))} ],
	[ 'odd', 'numeric', q{case when i % 20 = 0 then 'nan' when i % 20 = 1 then 1e30 + i else i / 4.0 end} ],
	[ 'digits', 'numeric', q{(left(translate(md5(i::text) || md5('d' || i), 'abcdef', ''), 30) || '.' || i)::numeric} ],
	[ 'rate', 'numeric', q{(array[0.07, 0.19, 0, 12.50, -3.1415926])[r(i, 'rate', 5) + 1]} ],
	[ 'always', 'numeric', '1.50' ],
	[ 'word', 'text', q{(array['red', 'green', '', 'a longer name of a colour', 'blue'])[r(i, 'word', 5) + 1]} ],
	[ 'same', 'text', q{'the same for all'} ],
	[ 'token', 'text', q{left(md5(i::text), 1 + r(i, 'token', 7)::int)} ],
	[ 'hash', 'text', q{md5('hash' || i)} ],
	[ 'path', 'text', q{'/var/lib/postgresql/18/main/base/' || r(i, 'path', 90000) || '/' || (array['global', 'temporary', 'relation'])[r(i, 'p2', 3) + 1]} ],
	[ 'stretch', 'text', q{repeat(chr(97 + i % 26), r(i, 'stretch', 700)::int)} ],
	[ 'id128', 'uuid', q{md5('uuid' || i)::uuid} ],
	[ 'duration', 'interval', q{(i % 13) * interval '1 month 3 days 00:00:00.5'} ],
	[ 'mac', 'macaddr', q{('08:00:2b:01:02:' || lpad(to_hex(r(i, 'mac', 256)), 2, '0'))::macaddr} ],
	[ 'label', 'name', q{left(md5((i % 30)::text), 1 + i % 31)} ],
	[ 'raw', 'bytea', q{decode(repeat(lpad(to_hex(i % 256), 2, '0'), 1 + i % 40), 'hex')} ],
	[ 'doc', 'jsonb', q{jsonb_build_object('i', i, 'k', md5((i % 9)::text), 'l', jsonb_build_array(i % 3, null, 1.5))} ],
	[ 'list', 'int[]', q{array[i, null, -i, i % 7]} ],
	[ 'padded', 'char(12)', q{'p' || i % 100} ],
	[ 'address', 'inet', q{(format('10.%s.%s.1', i % 256, i / 256))::inet} ],
	[ 'bits', 'varbit', q{substring(repeat(i::bit(13)::text, 5), 1, i % 64 + 1)::varbit} ],
	[ 'null5', 'int', q{case when r(i, 'n5', 100) >= 5 then i % 1000 end} ],
	[ 'null50', 'int', q{case when r(i, 'n50', 100) >= 50 then i % 1000 end} ],
	[ 'null95', 'text', q{case when r(i, 'n95', 100) >= 95 then 'some ' || i end} ],
	[ 'word_null', 'text', q{case when i % 3 > 0 then (array['yes', 'no', 'perhaps', 'not yet'])[r(i, 'wn', 4) + 1] end} ],
	[ 'price_null', 'numeric(9,2)', q{case when i % 7 > 0 then r(i, 'price', 1000) / 100.0 end} ],
	[ 'wide_null', 'int8',
		q{case when r(i, 'wn', 10) > 0 then ('x' || left(md5('w' || i), 16))::bit(64)::int8 end} ],
	[ 'large', 'text', q{case i when 11 then repeat(md5('l11'), 400) when 500 then repeat('l', 9000) when 501 then 'short' end} ]);

my $all_columns = join(",\n\t", 'id int', map { "$_->[0] $_->[1]" } @columns);

# The tables as they are loaded, statement by statement as they were made: a column that came later,
# or went, has its number by that.
sub schema_sql
{
	my $wide = join(', ', 'id int', map { "c$_ int" } 1 .. 130);

	return <<"SQL";
create table enc_none (
	$all_columns) using zedstore with (zedstore_compression = none);
create table enc_lz4 (
	$all_columns) using zedstore with (zedstore_compression = lz4);
create table enc_zstd (
	$all_columns) using zedstore with (zedstore_compression = zstd);
create table prose (id int, words text, phrase text) using zedstore with (zedstore_compression = none);
create table names (id int, url text) using zedstore with (zedstore_compression = none);
create table pieces (id int, piece text) using zedstore with (zedstore_compression = lz4, zedstore_compression_level = 9);
create table pieces_zstd (id int, piece text) using zedstore with (zedstore_compression = zstd);
create table wide ($wide) using zedstore;
create table segments (id int, b int) using zedstore with (zedstore_rel_extension_factor = 1);
create table spilled (id int, b int) using zedstore with (zedstore_rel_extension_factor = 1);
create table merged (id int, b int) using zedstore;
create table frozen (id int, b text) using zedstore;
create table single (id int primary key, b text, c int) using zedstore;
create table histories (id int primary key, b text) using zedstore;
create table many (id int, b text) using zedstore;
create table broken (id int, b text) using zedstore;
create table large (id int, b text, c int) using zedstore;
create table large_plain (id int, b text, c int) using zedstore with (zedstore_compression = none);
create table large_zstd (id int, b text, c int) using zedstore with (zedstore_compression = zstd);
create table parts (id int, b text) partition by range (id) using zedstore;
create table parts_1 partition of parts for values from (0) to (1000);
create table parts_2 partition of parts for values from (1000) to (2000);
create table altered (id int, gone int, b text, n int) using zedstore;
alter table altered add column later text default 'later', add column much_later numeric default 7.5;
alter table altered drop column gone;
alter table altered alter column n type oid;
create table empty (id int, b text) using zedstore;
create unlogged table unlogged (id int, b text) using zedstore;
SQL
}

# Statements that fill the tables; each line that begins with "--" says in which way it is run: in
# one transaction (default), each in its own ("-- singly").
sub fill
{
	my ($node) = @_;
	my $sql = sub { $node->safe_psql('postgres', join ";\n", "set search_path = public, fixture",
		@_) };
	my $singly = sub { my ($n, $statement) = @_; $sql->(
		"do \$do\$ begin for i in 1 .. $n loop $statement; commit; end loop; end \$do\$") };
	my $values = join(', ', 'i', map { $_->[2] } @columns);
	my $vocabulary = join ', ',
		map { "'$_'" } qw(the of a table column page row number segment vector value index
	  visible transaction commit every which between written reader buffer compressed dictionary symbols anywhere
	  because sometimes nothing however columnar storage);

	$sql->(
		'create schema fixture',
		q{create function fixture.r(i int, salt text, n int8) returns int8 immutable language sql return
			('x' || left(md5(salt || i), 15))::bit(60)::int8 % n},
		qq{create function fixture.word(i int, k int) returns text immutable language sql return
			(array[$vocabulary])[least(fixture.r(i * 100 + k, 'w', 31), fixture.r(i * 100 + k, 'v', 31))::int + 1]});

	# vectors, segments; a vector that is not full
	for my $table (qw(enc_none enc_lz4 enc_zstd))
	{
		my $rows = $table eq 'enc_lz4' ? 1200 : 1030;
		$sql->("set zedstore.min_segment_rows = 64; insert into $table select $values from generate_series(1, $rows) i");
	}
	$sql->('set zedstore.min_segment_rows = 64',
		q{insert into prose select i, (select string_agg(word(i, k), ' ') from generate_series(1, 12) k),
			(select string_agg(word(i * 7, k), ' ' || i % 5) from generate_series(1, 6) k) from generate_series(1, 2000) i},
		q{insert into names select i, case when r(i, 'often', 10) < 5 then 'http://example.org/often/' || r(i, 'which', 200) * 7919
			else 'u' || r(i, 'url', 100000000) end from generate_series(1, 24000) i});
	for my $table ('pieces', 'pieces_zstd')
	{
		$sql->('set zedstore.min_segment_rows = 64',
			qq{insert into $table select i, i || (select string_agg(md5('piece' || r(i, 'piece', 300) || k), '') from generate_series(1, 3) k)
				from generate_series(1, 3100) i});
	}

	# more trees than the metapage has entries for, and than one page of the directory
	$sql->('insert into wide select ' . join(', ', 'i', map { "i / 500 * $_" } 1 .. 130)
		. ' from generate_series(1, 5000) i');
	# more segments than an index page has items for; row numbers in between are lost
	my $copy = sub { $sql->('set zedstore.min_segment_rows = 64',
		"copy $_[0] from program 'seq -f %.0f,7 $_[1]001 $_[1]064' (delimiter ',')") };
	$copy->('segments', $_) for 1 .. 140;
	# free extents in pieces, more than an entry of the directory has: two columns take turns
	$sql->('set zedstore.min_segment_rows = 64',
		"copy spilled from program 'seq ${_}001 ${_}064 | sed s/.*/\\&,\\&/' (delimiter ',')")
	  for 1 .. 60;
	$sql->('set zedstore.enable_relocation = off', 'vacuum (truncate off) spilled');
	# leaves of the TID tree and pages above; most are merged again, and leave free pages
	for my $table ('merged', 'frozen')
	{
		$sql->("insert into $table select i, i % 10 from generate_series(1, 40000) i");
		$sql->("delete from $table where id % 2 = 0");
	}
	$sql->('delete from merged where id % 1000 <> 1 and id > 20000');
	$sql->('set zedstore.enable_relocation = off', 'vacuum (truncate off) merged');
	$sql->('delete from merged where id < 100 and id % 3 = 0');
	$sql->('vacuum (freeze, disable_page_skipping) frozen') for 1 .. 2;

	# rows one by one: a row tree of several levels, updates, deletions, rows of transactions that
	# rolled back
	$singly->(900, q{insert into single values (i, case when i % 10 = 0 then null else repeat(md5(i::text), 1 + i % 40) end, i)});
	$singly->(60, q{update single set c = -c where id = i * 3});
	$sql->('delete from single where id % 11 = 0');
	$sql->('begin', q{insert into single select 2000 + i, 'rolled back' from generate_series(1, 50) i}, 'rollback');
	$sql->('vacuum single');
	$singly->(30, q{insert into single values (3000 + i, 'after VACUUM', i); update single set b = 'new' where id = i * 3});
	$sql->('delete from single where id % 13 = 0', 'vacuum (index_cleanup off) single');
	# each row of a leaf with a history of its own
	$singly->(150, q{insert into many values (i, 'number ' || i)});

	# large values: in rows and in segments, shared by versions, alone
	for my $table ('large', 'large_plain', 'large_zstd')
	{
		$sql->("insert into $table select i, repeat(md5(i::text), 300 + i * 10), i from generate_series(1, 5) i");
		$sql->(qq{insert into $table values (6, repeat('one megabyte and more', 60000), 6)})
			if $table ne 'large_plain';
		$sql->("set zedstore.min_segment_rows = 64", "insert into $table select i, case when i % 50 = 0 then repeat(md5(i::text), 400) else 'short' end, i from generate_series(101, 300) i");
		$sql->("update $table set c = -c where id in (2, 3, 150)");
		$sql->("delete from $table where id = 200");
	}
	$sql->(qq{insert into large values (7, (select string_agg(md5(k::text), '') from generate_series(1, 100) k), 7)});

	$sql->(q{insert into parts select i, 'part' from generate_series(1, 20) i; update parts set id = id + 1000 where id <= 5});
	$sql->(q{insert into unlogged select i, 'gone after a crash' from generate_series(1, 1000) i});
	return;
}

# Rows with every history there is; returns the sessions that are in the middle of something.
sub make_histories
{
	my ($node) = @_;
	my @session = map { $node->background_psql('postgres', on_error_stop => 0) } 1 .. 5;
	my $sql = sub { $node->safe_psql('postgres', join ";\n", @_) };

	$sql->('create extension injection_points');
	$sql->(q{insert into histories select i, 'first' from generate_series(1, 200) i});
	$sql->(q{update histories set b = 'second' where id between 1 and 20});
	$sql->(q{update histories set id = id + 1000 where id between 21 and 25});
	$sql->(q{delete from histories where id between 31 and 40});
	$sql->('begin', q{delete from histories where id between 41 and 45},
		q{update histories set b = 'aborted' where id between 46 and 50}, 'rollback');
	$sql->('begin', q{insert into histories values (301, 'kept')}, 'savepoint s',
		q{insert into histories values (302, 'rolled back')},
		'rollback to s', q{insert into histories values (303, 'after the savepoint')},
			'savepoint s2',
		q{update histories set b = 'of a subtransaction' where id = 301}, 'release s2', 'commit');
	$sql->('begin', 'select count(*) from (select from histories where id between 51 and 53 for update) s',
		'select count(*) from (select from histories where id between 54 and 56 for key share) s',
		'select count(*) from (select from histories where id between 57 and 59 for share) s',
		'select count(*) from (select from histories where id between 60 and 62 for no key update) s', 'commit');
	# several lockers, with and without an update of the row
	$_->query_safe('begin; select count(*) from (select from histories where id between 71 and 80 for key share) s') for @session[ 0, 1 ];
	$session[1]->query_safe(q{update histories set b = 'beside a lock' where id between 76 and 80});
	$session[0]->query_safe('commit');
	$session[1]->query_safe('commit');
	# hint bits
	$sql->('select count(*) from histories');
	$sql->('begin', q{insert into histories values (401, 'never hinted')}, 'rollback');

	# unfinished: an insertion, an update, a deletion, a lock, a speculative insertion, a split
	$session[0]->query_safe(q{begin; insert into histories values (501, 'unfinished'); update histories set b = 'unfinished' where id = 101});
	$session[1]->query_safe('begin; delete from histories where id = 102');
	$session[2]->query_safe('begin; select 1 from histories where id = 103 for update');
	$session[3]->query_until(qr/started/, q{
		select injection_points_set_local();
		select injection_points_attach('zs-write-speculative', 'wait');
		\echo started
		insert into histories values (502, 'speculative') on conflict do nothing;
	});
	$sql->(q{do $$ begin
		for i in 1 .. 1000 loop
			perform pg_stat_clear_snapshot();
			exit when exists (select from pg_stat_activity where wait_event = 'zs-write-speculative');
			perform pg_sleep(0.02);
		end loop; end $$});
	for my $i (1 .. 30)
	{
		$sql->(qq{do \$\$ begin for k in 1 .. 8 loop insert into broken values ($i * 10 + k, repeat(md5((k * $i)::text), 10)); end loop; end \$\$});
	}
	$session[4]->query_until(qr/started/, q{
		select injection_points_set_local();
		select injection_points_attach('zs-btree-split', 'error');
		\echo started
		do $$ begin for k in 1 .. 50 loop insert into broken values (1000 + k, repeat(md5(k::text), 10)); end loop; end $$;
		\echo ended
	});
	$session[4]->query_until(qr/ended/, '');
	return @session;
}

# Writes a fixture of the format version of this build to a folder, which must be empty.
sub make_fixture
{
	my ($dir) = @_;
	my $node = new_node('maker', start => 0, extension => 0, conf => <<'CONF');
autovacuum = off
fsync = off
max_wal_size = 1GB
checkpoint_timeout = 1h
CONF
	command_ok([ 'pg_resetwal', '-x', FIRST_XID, '-m', FIRST_MULTI . ',1', '-O', FIRST_OFFSET, '-D',
		$node->data_dir ],
		'maker: numbers of its own');
	$node->start;
	$node->safe_psql('postgres', 'create extension zedstore_io schema public');
	die "cannot make a fixture without injection points" if !has_injection_points($node);
	write_file("$dir/schema.sql", "-- made by scripts/make-fixture\n" . schema_sql());

	# Rows go in between the statements about columns that come later; all else is filled when it is
	# complete.
	my ($before, $after) = schema_sql() =~ /\A(.*?)(alter table altered add.*)\z/s;
	$node->safe_psql('postgres', $before);
	$node->safe_psql('postgres', q{set zedstore.min_segment_rows = 64; insert into altered select i, i, 'b' || i, i % 9 from generate_series(1, 1500) i});
	$node->safe_psql('postgres',
		q{insert into altered select i, i, 'b' || i, i % 9 from generate_series(2001, 2010) i});
	$node->safe_psql('postgres', $after);
	$node->safe_psql('postgres', q{set zedstore.min_segment_rows = 64; insert into altered select i, 'b' || i, 4000000000 + i, 'given', i from generate_series(3001, 3200) i});
	$node->safe_psql('postgres', q{insert into altered select i, 'b' || i, 4100000000 + i, 'given', i from generate_series(4001, 4010) i});
	fill($node);
	my @sessions = make_histories($node);

	my @tables = fixture_tables($node);
	zs_check_all($node, 'postgres', 'maker: zs_check');
	write_file("$dir/expected", fixture_values($node, \@tables, 1));
	$node->safe_psql('postgres', 'checkpoint');
	my $paths = file_paths($node);
	my $contents = fixture_contents($node, table_files($node, $paths));
	write_file("$dir/contents", $contents);
	$node->stop('immediate');
	eval { $_->quit } for @sessions;

	my ($control) = run_command([ 'pg_controldata', $node->data_dir ]);
	my ($xid) = $control =~ /NextXID: *0:(\d+)/;
	my ($multi) = $control =~ /NextMultiXactId: *(\d+)/;
	my ($offset) = $control =~ /NextMultiOffset: *(\d+)/;
	my ($build) = slurp_file("$top/include/zs_base.h") =~ /^#define ZS_VERSION\s+"(.*)"/m;
	my $server = $node->pg_version;
	write_file("$dir/numbers", "# zedstore_io $build, PostgreSQL $server\nnext_xid $xid\nnext_multi $multi\nnext_offset $offset\n");
	write_gz("$dir/xact.gz", substr(read_file($node->data_dir . '/pg_xact/0000'), 0, PAGE));
	my $offsets = substr(read_file($node->data_dir . '/pg_multixact/offsets/0000'), 0, PAGE);
	$offsets = pack('V*', unpack('Q<*', $offsets)) if offset_width($node) == 8;
	write_gz("$dir/offsets.gz", $offsets);
	write_gz("$dir/members.gz",
		substr(read_file($node->data_dir . '/' . members_file($node)), 0, PAGE));
	my $files = table_files($node, $paths);
	for my $file (sort keys %$files)
	{
		# of an unlogged table only the init fork comes through a crash
		write_gz("$dir/$file.gz", $files->{$file}) if $file !~ /^unlogged(_vm)?$/;
	}
	return;
}

1;
