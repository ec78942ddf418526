# What decides in src/io, without a server: the controller that keeps I/O workers out of clients'
# way, on samples that workers took on servers, where it must do what it did there, by its rules,
# and on random ones; limits, and turns of scans.

use strict;
use warnings FATAL => 'all';

use File::Basename;
use PostgreSQL::Test::Utils;
use Test::More;

my $root = dirname(__FILE__) . '/..';
my $build = PostgreSQL::Test::Utils::tempdir_short();
my $compiler = $ENV{CC} // 'cc';
my $pg_config = $ENV{TEST_PG_CONFIG} // 'pg_config';
my $include = `$pg_config --includedir-server` =~ s/\n//r;
my @samples = glob "$root/fuzz/guard/*.txt";

cmp_ok(scalar @samples, '>', 0, 'there are samples');
if (system_log($compiler, '--version') != 0)
{
	diag 'SKIPPED: the guard alone needs a compiler';
	done_testing();
	exit;
}
my $program = "$build/guard_replay";
command_ok([ 'make', '-s', '-C', "$root/fuzz", $program, "BUILD=$build", "CC=$compiler",
		"SERVER_HEADERS=$include", 'SANITIZE=' ], 'it builds');
foreach my $seed (1 .. 3)
{
	command_like([ $program, '300000', $seed, @samples ], qr/^ok: .*seed $seed$/m, "seed $seed");
}

done_testing();
