# Incremental backups: what pg_combinebackup makes of a full backup and those that follow has the
# rows of the moment, of every kind of write: loads, single rows, updates, large values, VACUUM that
# makes columns, moves blocks, and shortens files that grow again, rewrites, conversions.  Each
# backup passes pg_verifybackup, and one is taken while others write.
use strict;
use warnings FATAL => 'all';

use ZedstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('main', allows_streaming => 1, conf => <<'CONF');
summarize_wal = on
autovacuum = off
CONF
my @tables = qw(loaded single wide shrunk filled rewritten converted m);
my $summary = join ' union all ', map {
	qq{select '$_', count(*), coalesce(sum(hashtextextended(t::text, 0)), 0) from only $_ t}
} @tables;
$summary .= ' order by 1';

$node->safe_psql('postgres', q{
	create table loaded (a int primary key, b text, gone int) using zedstore;
	create table single (a int primary key, b text) using zedstore;
	create table wide (a int primary key, b text) using zedstore;
	create table shrunk (a int, b text) using zedstore with (zedstore_rel_extension_factor = 64);
	create table filled (a int, b text) using zedstore;
	create table rewritten (a int primary key, b text) using zedstore;
	create table converted (a int primary key, b text) using heap;
	create table dropped (a int) using zedstore;
	insert into loaded select i, md5(i::text), 0 from generate_series(1, 30000) i;
	insert into single select i, md5(i::text) from generate_series(1, 300) i;
	insert into wide select i, repeat(md5(i::text), 1000) from generate_series(1, 50) i;
	insert into shrunk select i, md5(i::text) || md5((-i)::text) from generate_series(1, 100000) i;
	insert into rewritten select i, md5(i::text) from generate_series(1, 20000) i;
	insert into converted select i, md5(i::text) from generate_series(1, 20000) i;
	insert into dropped select generate_series(1, 5000);
	create materialized view m using zedstore as
		select a % 100 as k, count(*) from loaded group by 1;
	create unlogged table u (a int) using zedstore;
	insert into u select generate_series(1, 5000);
});

# Takes a backup, a full one or on top of another, and verifies it.
sub take_backup
{
	my ($name, $before) = @_;
	my $folder = $node->backup_dir . "/$name";
	my @command =
	  ('pg_basebackup', '-D', $folder, '--no-sync', '-c', 'fast', '-d', $node->connstr('postgres'));

	push @command, '--incremental', $node->backup_dir . "/$before/backup_manifest"
	  if defined $before;
	$node->command_ok(\@command, "$name: pg_basebackup");
	command_ok([ 'pg_verifybackup', '-e', $folder ], "$name: pg_verifybackup");
	return $folder;
}

# What pg_combinebackup makes of the folders has these rows.
sub restored_has
{
	my ($title, $rows, @folders) = @_;
	my $copy = PostgreSQL::Test::Cluster->new("copy_$title");

	$copy->init_from_backup($node, $folders[-1] =~ s{.*/}{}r,
		combine_with_prior => [ map { s{.*/}{}r } @folders[ 0 .. $#folders - 1 ] ],
		has_streaming => 0);
	$copy->start;
	is($copy->safe_psql('postgres', $summary), $rows, "$title: rows");
	is($copy->safe_psql('postgres', 'select count(*) from u'), 0, "$title: unlogged table");
	zs_check_all($copy, 'postgres', "$title: zs_check");

	# and it goes on
	$copy->safe_psql('postgres', q{
		insert into shrunk select i, md5(i::text) from generate_series(1, 20000) i;
		update loaded set b = 'x' where a < 500;
		vacuum});
	zs_check_all($copy, 'postgres', "$title: zs_check after more writes");
	$copy->stop;
	command_ok([ 'pg_checksums', '--check', '-D', $copy->data_dir ], "$title: pg_checksums");
	return;
}

my $full = take_backup('full');

# ---- small changes, and a file that becomes shorter and grows again ------------------------

$node->safe_psql('postgres', q{
	update loaded set b = 'new' where a % 100 = 0;
	delete from loaded where a between 5000 and 6000;
	alter table loaded drop column gone;
	alter table loaded add column later int default 7;
	update wide set b = b || 'tail' where a < 10;
	delete from wide where a > 40;
	delete from shrunk where a > 100;
	insert into filled select i, md5(i::text) from generate_series(1, 20000) i;
});
$node->safe_psql('postgres', "insert into single values (1000 + $_, 'one')") for 1 .. 50;
my $size = $node->safe_psql('postgres', q{select pg_relation_size('shrunk')});
$node->safe_psql('postgres', 'vacuum');
cmp_ok($node->safe_psql('postgres', q{select pg_relation_size('shrunk')}),
	'<', $size / 2, 'the file became shorter');
$node->safe_psql('postgres',
	'insert into shrunk select i, md5(i::text) from generate_series(1, 60000) i');
my $rows = $node->safe_psql('postgres', $summary);
my $first = take_backup('first', 'full');
restored_has('quiet', $rows, $full, $first);

# ---- new files, beside a session that writes -----------------------------------------------

$node->safe_psql('postgres', q{
	update rewritten set b = 'new' where a % 3 = 0;
	vacuum full rewritten;
	refresh materialized view m;
	truncate filled;
	insert into filled select i, 'again' from generate_series(1, 9000) i;
	select zs_compact('single');
	drop table dropped;
	vacuum (freeze) loaded});
$node->safe_psql('postgres', q{call zs_convert('converted')});
$node->safe_psql('postgres', q{update converted set b = 'zedstore' where a % 50 = 0});
$rows = $node->safe_psql('postgres', $summary);
my $session = $node->background_psql('postgres');
$session->query_safe(q{begin;
	insert into loaded select i, 'open' from generate_series(100001, 120000) i;
	update single set b = 'open'; delete from wide; select count(*) from loaded});
my $second = take_backup('second', 'first');
$session->query_safe('commit');
$session->quit;
restored_has('busy', $rows, $full, $first, $second);

# an incremental one on top of another full one
$rows = $node->safe_psql('postgres', $summary);
my $other = take_backup('other');
$node->safe_psql('postgres', 'delete from loaded where a % 2 = 0; vacuum loaded');
$rows = $node->safe_psql('postgres', $summary);
restored_has('other', $rows, $other, take_backup('third', 'other'));

$node->stop;
done_testing();
