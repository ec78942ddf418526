# The extension outside of the server's own folders, as images for CloudNativePG have it (PostgreSQL
# 18 and later): extension_control_path and dynamic_library_path lead to it.

use strict;
use warnings FATAL => 'all';

use File::Basename;
use File::Copy;
use File::Path qw(make_path);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

my $node = PostgreSQL::Test::Cluster->new('main');
plan skip_all => 'extension_control_path came with PostgreSQL 18' if $node->pg_version < 18;

# the layout of packaging/Dockerfile.cloudnative-pg
my $image = $node->basedir . '/image';
make_path("$image/lib", "$image/share/extension");
copy($node->config_data('--pkglibdir') . '/zedstore_io.so', "$image/lib/") or die "library: $!";
chmod 0755, "$image/lib/zedstore_io.so";
for my $file (glob($node->config_data('--sharedir') . '/extension/zedstore_io*'))
{
	copy($file, "$image/share/extension/") or die "$file: $!";
}

$node->init;
$node->append_conf('postgresql.conf', <<"CONF");
shared_preload_libraries = 'zedstore_io'
extension_control_path = '$image/share:\$system'
dynamic_library_path = '$image/lib:\$libdir'
zedstore.io_workers = 1
CONF
$node->start;

$node->safe_psql('postgres', 'create extension zedstore_io');
is($node->safe_psql('postgres', 'select library = extension from zedstore.zs_version()'),
	't', 'library and extension are of one version');

my $session = $node->background_psql('postgres');
my $pid = $session->query_safe('select pg_backend_pid()');
SKIP:
{
	skip 'no /proc here', 1 if !-r "/proc/$pid/maps";
	my @mapped = slurp_file("/proc/$pid/maps") =~ m{(/\S+/zedstore_io\.so)}g;
	my %paths = map { $_ => 1 } @mapped;
	is(join(' ', keys %paths), "$image/lib/zedstore_io.so", 'the library of the image is loaded');
}
$session->quit;

$node->safe_psql('postgres', q{
	create table t (a int primary key, b text) using zedstore;
	insert into t select i, 'b' || i from generate_series(1, 200000) i;
	vacuum analyze t});
is( $node->safe_psql('postgres', q{
		set debug_parallel_query = on; set parallel_setup_cost = 0;
		select count(*), sum(a) from t where b like 'b1%'}),
	$node->safe_psql('postgres', q{
		select count(*), sum(i) from generate_series(1, 200000) i where 'b' || i like 'b1%'}),
	'parallel workers');
is($node->safe_psql('postgres', q{select count(*) from zedstore.zs_check('t')}), '0', 'zs_check');
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', 'select count(*) from t'), '200000', 'recovery has the library');
is( $node->safe_psql('postgres', q{
		select count(*) from pg_stat_activity where backend_type = 'zedstore I/O worker'}),
	'1', 'an I/O worker');

$node->stop;
done_testing();
