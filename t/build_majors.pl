# Majors of PostgreSQL that are not supported are refused, with a message that says which are: by
# the Makefile, by the scripts that provide a server, and by the compiler.
#
# Where a server of PostgreSQL 19 comes from (scripts/setup-postgres), and what .ci/run says where
# there is none.  Debian's archive is a stand-in: an apt-get that has what a case says, of which
# configure and make are empty shells.
use strict;
use warnings FATAL => 'all';

use Cwd qw(getcwd);
use File::Path qw(make_path rmtree);
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

my $checkout = getcwd();
my $pg_config = $ENV{TEST_PG_CONFIG};
my $stage = PostgreSQL::Test::Utils::tempdir();
delete @ENV{qw(MAKEFLAGS MAKELEVEL MFLAGS VPATH USE_VPATH PG PG_CONFIG)};

sub write_file
{
	my ($file, $mode, $text) = @_;

	open(my $fh, '>', $file) or die "$file: $!";
	print $fh $text;
	close $fh;
	chmod $mode, $file;
	return;
}

# Exit status and output of a command.
sub outcome_of
{
	my @command = @_;
	my $output = '';
	my $ok = IPC::Run::run(\@command, '<', \'', '>&', \$output);
	return ($ok, $output);
}

# A pg_config like that of the tests, of another version.
sub fake_pg_config
{
	my ($version) = @_;
	my $file = "$stage/pg_config-" . $version =~ s/\W/_/gr;

	write_file($file, 0755, <<"SH");
#!/bin/sh
if [ "\$1" = --version ]; then echo "PostgreSQL $version"; else exec '$pg_config' "\$@"; fi
SH
	return $file;
}

my ($ok, $output);
for my $version ('16.9', '20devel', '20.1', '21beta1')
{
	my $fake = fake_pg_config($version);
	my ($major) = $version =~ /^(\d+)/;

	($ok, $output) = outcome_of('make', '-n', '-C', $checkout, 'all', "PG_CONFIG=$fake");
	ok(!$ok, "$version: make refuses");
	like($output,
		qr/zedstore_io needs PostgreSQL 17, 18 or 19, but \S+ belongs to PostgreSQL $major\./,
		"$version: ... and says why");

	local $ENV{PG_CONFIG} = $fake;
	($ok, $output) = outcome_of("$checkout/scripts/setup-postgres", '--print', 'assert');
	ok(!$ok, "$version: no server for tests");
	like($output, qr/cannot be used: it belongs to PostgreSQL \Q$version\E, supported are/,
		"$version: ... and it says why");
}

($ok, $output) = outcome_of('make', '-n', '-C', $checkout, 'all', "PG_CONFIG=$stage/none");
ok(!$ok, 'without pg_config make refuses');
like($output, qr/needs PostgreSQL 17, 18 or 19, but \S+ is not there/, '... and says why');

for my $major (16, 20)
{
	($ok, $output) =
	  outcome_of("$checkout/scripts/setup-postgres", '--print', 'assert', '--pg', $major);
	ok(!$ok, "$major is not provided");
	like($output, qr/PostgreSQL $major is not supported.*Supported versions: 19 18 17/s,
		'... and it says why');
}

# the compiler, by another version number than that of the server's headers
chomp(my $headers = qx('$pg_config' --includedir-server));
make_path("$stage/include");
for my $number (160009, 170000, 199999, 200000)
{
	write_file("$stage/include/postgres.h", 0644, <<"C");
#include_next "postgres.h"
#undef PG_VERSION_NUM
#define PG_VERSION_NUM $number
C
	# only the preprocessor: other majors' declarations are not those of the headers
	($ok, $output) = outcome_of(
		'gcc', '-E', '-o', '/dev/null', "-I$stage/include", "-I$checkout/include",
		"-I$headers", '-include', 'zs_compat.h', '-xc', '/dev/null');
	my $refused = $output =~ /zedstore_io supports PostgreSQL 17, 18 and 19/;
	is($refused ? 'refused' : 'taken',
		$number >= 170000 && $number < 200000 ? 'taken' : 'refused',
		"the compiler and version $number")
	  or diag($output);
}

# ---- where a server of 19 comes from

my $bin = "$stage/bin";
my $archive = "$stage/archive";
make_path($bin, $archive);
write_file("$bin/dpkg-query", 0755, "#!/bin/sh\necho install ok installed\n");
# sources.list names the suite; a suite has what lies in the folder of its name
write_file("$bin/apt-get", 0755, <<"SH");
#!/bin/sh
for arg; do
	case \$arg in
		Dir::Etc::SourceList=*) list=\${arg#*=} ;;
		update) exit 0 ;;
		source | download) action=\$arg ;;
	esac
done
suite=\$(sed -nE 's/^deb-src .* ([a-z]+) main\$/\\1/p' "\$list")
echo "\$action \$suite" >>'$stage/asked'
[ "\$action" = source ] && [ -d "$archive/\$suite" ] && cp "$archive/\$suite"/* .
SH
# tests of .ci/run are none
write_file("$bin/make", 0755, <<"SH");
#!/bin/sh
if [ "\$1" = test ]; then
	echo "make \$*"
	echo "3 passed, 0 failed"
else
	PATH=\${PATH#$bin:}
	exec make "\$@"
fi
SH

# Puts a source package into a suite, as if it were the only one.
sub publish
{
	my ($suite, $version) = @_;
	my $top = "$stage/postgresql-$version";

	rmtree([ $archive, $top ]);
	make_path("$archive/$suite", $top);
	write_file("$top/configure", 0755, <<'SH');
#!/bin/sh
for arg; do case $arg in --prefix=*) prefix=${arg#*=} ;; esac; done
printf 'world-bin:\ninstall-world-bin:\n\tmkdir -p %s/bin && touch %s/bin/pg_config\n' \
	"$prefix" "$prefix" >Makefile
touch config.status
SH
	my $name = "$archive/$suite/postgresql-19_$version";
	system_or_bail('tar', '-C', $stage, '-czf', "$name.orig.tar.gz", "postgresql-$version");
	write_file("$name-1.dsc", 0644, '');
	return;
}

# What scripts/setup-postgres says with these arguments, with a cache of its own.
my $ncaches = 0;

sub set_up
{
	my @arguments = @_;

	local $ENV{PATH} = "$bin:$ENV{PATH}";
	local $ENV{ZEDSTORE_CACHE} = "$stage/cache" . ++$ncaches;
	return outcome_of("$checkout/scripts/setup-postgres", '--print', 'assert', @arguments);
}

sub built_is
{
	my ($title) = @_;

	ok($ok, "$title: it is built");
	like($output, qr{^\Q$stage/cache$ncaches/pg19-assert/install/bin/pg_config\E$}m,
		"$title: that is the server");
	return;
}

my $no_source = qr{
	error:\ There\ is\ no\ source\ of\ PostgreSQL\ 19\ to\ be\ had\ [^\n]+\ yet\.
	\n\ +Give\ PG_CONFIG=\S+\ of\ a\ PostgreSQL\ 19\ with\ headers,\ or\ use\ --pg\ 18\.
}x;
my $no_release = qr/warning: .*is no release/;

for my $case ([ '19.1', 0 ], [ '19beta2', 1 ], [ '19rc1', 1 ], [ '19devel', 1 ])
{
	my ($version, $warns) = @$case;

	local $ENV{PG_CONFIG} = fake_pg_config($version);
	($ok, $output) = set_up('--pg', 19);
	ok($ok, "PG_CONFIG of $version is used");
	like($output, qr/^\Q$ENV{PG_CONFIG}\E$/m, "PG_CONFIG of $version: that is the server");
	is(scalar($output =~ $no_release), $warns ? 1 : '',
		"PG_CONFIG of $version: " . ($warns ? 'a warning' : 'no warning'));

	# the same, found on the path
	delete local $ENV{PG_CONFIG};
	make_path("$stage/installed-$version");
	my $found = "$stage/installed-$version/pg_config";
	symlink fake_pg_config($version), $found or die $!;
	local $ENV{PATH} = "$stage/installed-$version:$ENV{PATH}";
	($ok, $output) = set_up('--pg', 19);
	like($output, qr/^\Q$found\E$/m, "installed $version is used if 19 is asked for");
	is(scalar($output =~ $no_release), $warns ? 1 : '',
		"installed $version: " . ($warns ? 'a warning' : 'no warning'));
	($ok, $output) = set_up();
	is(scalar($output =~ qr/^\Q$found\E$/m), $warns ? '' : 1,
		"installed $version is " . ($warns ? 'not ' : '') . 'used if nobody asks for 19');
}
{
	local $ENV{PG_CONFIG} = fake_pg_config('18.6');
	($ok, $output) = set_up('--pg', 19);
	ok(!$ok, 'PG_CONFIG of another major is not used');
	like($output, qr/belongs to PostgreSQL 18, but PG=19 was asked for/, '... and it says why');
}

SKIP:
{
	local $ENV{ZEDSTORE_BUILD_PG} = 1;

	rmtree($archive);
	($ok, $output) = set_up('--pg', 19);
	ok(!$ok, 'without a source there is no server');
	like($output, $no_source, '... and it says what to do');

	for my $require ('', '17 19', '17')
	{
		local $ENV{PATH} = "$bin:$ENV{PATH}";
		local $ENV{ZEDSTORE_CACHE} = "$stage/ci";
		local $ENV{ZS_CI_REQUIRE} = $require;
		my $counts = $require =~ /19/;

		($ok, $output) = outcome_of("$checkout/.ci/run");
		like($output, $no_source, ".ci/run, ZS_CI_REQUIRE=$require: says what was missing");
		like($output, $counts ? qr/^PostgreSQL 19: NOT TESTED, no source\n6 passed, 1 failed\n\z/m :
				qr/^PostgreSQL 19: NOT TESTED, no source\n6 passed, 0 failed\n\z/m,
			".ci/run, ZS_CI_REQUIRE=$require: last lines");
		is($ok ? 1 : 0, $counts ? 0 : 1, ".ci/run, ZS_CI_REQUIRE=$require: exit status");
	}

	skip 'no mirror of Debian is configured here', 1 if !-e "$stage/asked";
	publish('sid', '19.1');
	($ok, $output) = set_up('--pg', 19);
	built_is('19.1 in sid');
	unlike($output, $no_release, '19.1 in sid: no warning');
	publish('experimental', '19~rc1');
	($ok, $output) = set_up('--pg', 19);
	built_is('a candidate in experimental');
	like($output, qr/warning: this is no release of PostgreSQL 19: \S*19~rc1-1\.dsc$/m,
		'a candidate: a warning');
	# a source that was fetched once is not asked for again
	unlink "$stage/asked";
	$ncaches--;
	($ok, $output) = set_up('--pg', 19);
	built_is('the candidate again');
	ok(!-e "$stage/asked", 'nothing was fetched');

	local $ENV{PATH} = "$bin:$ENV{PATH}";
	local $ENV{ZEDSTORE_CACHE} = "$stage/cache1";
	publish('sid', '19.1');
	($ok, $output) = outcome_of("$checkout/.ci/run");
	like($output, qr/^make test PG=19 /m, '.ci/run tests 19 where there is a source');
	unlike($output, qr/NOT TESTED/, '... and does not say that it did not');
	like($output, qr/^9 passed, 0 failed\n\z/m, '... and counts it');
}

done_testing();
