# Majors of PostgreSQL that are not supported are refused, with a message that says which are: by
# the Makefile, by the scripts that provide a server, and by the compiler.
use strict;
use warnings FATAL => 'all';

use Cwd qw(getcwd);
use File::Path qw(make_path);
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

done_testing();
