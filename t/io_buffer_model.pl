# The end of a write of a dirty buffer on PostgreSQL 19, with threads on one buffer's header:
# fuzz/buffer_model.c.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use Cwd qw(abs_path);
use File::Basename;

my $root = dirname(dirname(abs_path(__FILE__)));
my $build = PostgreSQL::Test::Utils::tempdir();
my $compiler = $ENV{CC} // 'cc';
my $pg_config = $ENV{TEST_PG_CONFIG} // 'pg_config';
my $include = `$pg_config --includedir-server` =~ s/\n//r;

if (`$pg_config --version` !~ /PostgreSQL (\d+)/ || $1 < 19)
{
	plan skip_all => 'the model is of PostgreSQL 19';
}
if (system_log($compiler, '--version') != 0)
{
	diag 'SKIPPED: the model needs a compiler';
	done_testing();
	exit;
}
my $program = "$build/buffer_model";
command_ok([ 'make', '-s', '-C', "$root/fuzz", $program, "BUILD=$build", "CC=$compiler",
		"SERVER_HEADERS=$include" ], 'it builds');
foreach my $seed (1 .. 3)
{
	command_like([ $program, '3', $seed ], qr/^ok: .*seed $seed$/m, "seed $seed");
}

done_testing();
