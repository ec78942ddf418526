# Builds outside of the source folder, as Debian's pg_buildext makes them: the same objects, bitcode
# and SQL scripts as in the source, all below the folder of the build; and no build without sources.
# A stand-in for the compiler makes most objects, since their names are what matters.
use strict;
use warnings FATAL => 'all';

use Cwd qw(getcwd);
use File::Find;
use File::Path qw(make_path);
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

my $checkout = getcwd();
my $pg_config = $ENV{TEST_PG_CONFIG};
my $stage = PostgreSQL::Test::Utils::tempdir();
delete @ENV{qw(MAKEFLAGS MAKELEVEL MFLAGS VPATH USE_VPATH)};

# A copy, in which nothing has been built.
my $source = "$stage/source";
make_path($source);
my $copied =
  'Makefile zedstore_io.control README.md CHANGELOG.md LICENSE docs include src sql specs';
system(qq(tar -C '$checkout' -cf - $copied | tar -C '$source' -xf -)) == 0
  or die 'cannot copy the source';

my $stub = "$stage/stub";
open(my $script, '>', $stub) or die "$stub: $!";
print $script <<'SH';
#!/bin/sh
# the argument behind -o, and the file that gcc -MMD writes beside it
while [ $# -gt 0 ]; do
	case $1 in
	-o) : >"$2"; case $2 in *.o) : >"${2%.o}.d" ;; esac; shift ;;
	esac
	shift
done
SH
close $script;
chmod 0755, $stub;
make_path("$stage/llvm");
symlink $stub, "$stage/llvm/llvm-lto" or die "symlink: $!";

# Files below a folder.
sub files_below
{
	my ($folder) = @_;
	my @files;

	find(
		{
			no_chdir => 1,
			wanted => sub { push @files, substr($_, length($folder) + 1) if -f }
		},
		$folder);
	return sort @files;
}

# make in a new folder, or in that of an earlier call; returns exit status and output.
sub make_in
{
	my ($folder, @arguments) = @_;

	make_path("$stage/$folder");
	my $output = '';
	my $ok = IPC::Run::run(
		[ 'make', '-C', "$stage/$folder", "PG_CONFIG=$pg_config", @arguments ],
		'<', \'', '>&', \$output);
	return ($ok, $output);
}

my @stubbed = ("CC=$stub", "CLANG=$stub", "LLVM_BINPATH=$stage/llvm", 'with_llvm=yes');
my @objects = map { s/\.c$/.o/r } grep { /\.c$/ } map { "src/$_" } files_below("$source/src");
my @scripts = map { "extension/$_" } grep { /--/ } map { s{.*/}{}r } glob("$source/sql/*--*.sql");
my @before = files_below($source);
my ($ok, $output);
cmp_ok(scalar @objects, '>', 100, 'there are objects to build');

# each way to name the source's folder
my %ways = (
	relative => [ '-f', '../source/Makefile', 'VPATH=../source' ],
	absolute => [ '-f', "$source/Makefile", "VPATH=$source" ],
	slash => [ '-f', '../source/Makefile', 'VPATH=../source/' ],
	unnamed => [ '-f', '../source/Makefile' ],);
foreach my $way (sort keys %ways)
{
	($ok, $output) = make_in($way, @{ $ways{$way} }, '-n');
	my ($link) = $output =~ /^(.* -shared .*zedstore_io\.so .*)$/m;
	is_deeply([ sort grep { /\.o$/ } split ' ', $link // $output ],
		\@objects, "$way: all objects are linked");
}

# what is built and installed
($ok, $output) = make_in('relative', @{ $ways{relative} },
	@stubbed, '-j4', 'install', "DESTDIR=$stage/installed");
ok($ok, 'make install') or diag($output);
my @bitcode = map { s/o$/bc/r } @objects;
my %built = map { $_ => 1 } files_below("$stage/relative");
is_deeply([ grep { !$built{$_} } @objects, @bitcode, 'zedstore_io.so' ],
	[], 'objects, bitcode and library are in the folder of the build');
my $installed = join("\n", '', files_below("$stage/installed"), '');
is_deeply(
	[
		grep { $installed !~ m{/\Q$_\E\n} } @scripts,
		'extension/zedstore_io.control',
		'zedstore_io.so',
		'zedstore_io.index.bc',
		map { "zedstore_io/$_" } @bitcode
	],
	[],
	'all of it is installed');
is_deeply([ files_below($source) ], \@before, 'nothing is left in the source');

# with the compiler: headers are found, and a change of one is seen
my @compile = ('-f', '../source/Makefile', 'VPATH=../source', 'src/btree/btree_walk.o');
($ok, $output) = make_in('compiled', @compile);
ok($ok && -s "$stage/compiled/src/btree/btree_walk.o", 'an object is compiled') or diag($output);
($ok, $output) = make_in('compiled', @compile);
like($output, qr/up to date/, '... once');
my $later = time + 10;
utime $later, $later, "$source/src/btree/btree_internal.h";
($ok, $output) = make_in('compiled', @compile, '-n');
like($output, qr/ -c /, '... and again after a header changed');

# the tests of the source
($ok, $output) = make_in('relative', @{ $ways{relative} }, 'installcheck', '-n');
like($output, qr{--inputdir=../source .* vacuum_basic }, 'installcheck names the tests');
like($output, qr{--inputdir=../source .* conc_update_delete }, '... and specs');
is(qx(grep -nE '^\\\\ir? +sql/' '$source'/sql/*.sql),
	'', 'no test includes a file by its path from the source');

# clean takes away what was built
($ok, $output) = make_in('relative', @{ $ways{relative} }, @stubbed, 'clean');
ok($ok, 'make clean') or diag($output);
is_deeply([ files_below("$stage/relative") ], [], 'nothing is left of the build');

# no sources, or those of another build
($ok, $output) = make_in('none', '-f', '../source/Makefile', 'VPATH=..');
ok(!$ok, 'a build without sources is refused');
like($output, qr/there are no sources of zedstore_io in "\.\."/, '... and says so');
is_deeply([ files_below("$stage/none") ], [], '... and makes nothing');
make_in('source', "CC=$stub", 'src/btree/btree_walk.o');
ok(-f "$source/src/btree/btree_walk.o", 'an object in the source');
($ok, $output) = make_in('second', @{ $ways{relative} }, @stubbed);
ok(!$ok, 'a build beside one in the source is refused');
like($output, qr/run "make clean" there/, '... and says what to do');
($ok, $output) = make_in('source', 'clean');
is_deeply([ files_below($source) ], \@before, 'make clean in the source');

# the folder of the source by another name is no other folder
($ok, $output) = make_in('source', "VPATH=$source", "CC=$stub", 'src/btree/btree_walk.o');
($ok, $output) = make_in('source', "VPATH=$source", "CC=$stub", 'src/btree/btree_walk.o');
like($output, qr/up to date/, 'VPATH may name the folder of the build');

done_testing();
