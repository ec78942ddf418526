# Pages overwritten with zeroes or random bytes: an error that names table and
# block, no crash, no hang; other tables and rows stay readable.
use strict;
use warnings FATAL => 'all';

use ZedstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('main', conf => <<'CONF');
zedstore.min_segment_rows = 1024
autovacuum = off
statement_timeout = 60s
restart_after_crash = off
ignore_checksum_failure = on
CONF

$node->safe_psql(
	'postgres', q{
	create table good (a int) using zedstore;
	insert into good select generate_series(1, 5000);
	create table t (a int, b text, c numeric) using zedstore;
	create index t_a on t (a);
	insert into t select i, md5(i::text), i / 7.0 from generate_series(1, 150000) i;
	insert into t values (-1, 'tree', 0), (-2, (select string_agg(md5(i::text), '') from generate_series(1, 3000) i), 0);
	delete from t where a % 300 < 100;
	checkpoint;
});
my $path = $node->data_dir . '/'
  . $node->safe_psql('postgres', "select pg_relation_filepath('t')");

# One page of each tree and level, from both ends, the metapage, and some more.
my %blocks = map { $_ => 1 } 0, split /\n/,
  $node->safe_psql(
	'postgres', q{
	select min(blkno) from pg_zs_btree_pages('t') group by attno, level
	union select max(blkno) from pg_zs_btree_pages('t') group by attno, level});
$node->stop;
my $original = slurp_file($path);
srand(42);

my ($crashes, $silent, $unnamed) = (0, 0, 0);
for my $block (sort { $a <=> $b } keys %blocks)
{
	for my $damage ("zeroes", "random", "header", "tail", "fields")
	{
		my $page = substr($original, $block * 8192, 8192);
		my $random = join '', map { chr int rand 256 } 1 .. 8192;

		next if length $page < 8192;
		if ($damage eq 'zeroes') { $page = "\0" x 8192; }
		elsif ($damage eq 'random') { $page = substr($page, 0, 24) . substr($random, 24); }
		elsif ($damage eq 'tail') { substr($page, 8100) = substr($random, 8100); }
		# pd_lower, pd_upper, pd_special as the server's own check lets them pass
		elsif ($damage eq 'fields') { substr($page, 12, 6) = pack 'SSS', 24, 8192, 8192; }
		else { substr($page, 24, 200) = substr($random, 0, 200); }

		my $copy = $original;
		substr($copy, $block * 8192, 8192) = $page;
		open my $file, '>:raw', $path or die "open $path: $!";
		print $file $copy;
		close $file;

		$node->start;
		for my $sql (
			'select count(*), count(b), sum(c), sum(length(b)) from t',
			'set enable_seqscan = off; select * from t where a in (1, 70000, 149999, -1, -2)',
			'select * from t where ctid = \'(10,10)\'',
			'select count(*) from zs_check(\'t\')',
			'select count(*) from pg_zs_btree_pages(\'t\')',
			'insert into t values (5, \'new\', 1)',
			'delete from t where a between 60000 and 60010',
			'vacuum t')
		{
			my ($ret, $out, $err) = $node->psql('postgres', $sql);
			$crashes++, note "block $block $damage: $sql: $err"
			  if $err =~ /server closed|terminated|timeout/;
			$unnamed++, note "block $block $damage: $sql: $err"
			  if $err =~ /ERROR/ && $err !~ /"t(_a)?"|block \d+|relation base/;
		}
		my ($ret, $out) =
		  $node->psql('postgres', 'select count(*) from good');
		$crashes++ if ($out // '') ne '5000';
		$node->stop('immediate', fail_ok => 1);
	}
}
is($crashes, 0, 'no crash, no hang, other tables readable');
is($unnamed, 0, 'errors name the table or the block');
ok(!$node->log_contains('TRAP:|PANIC'), 'no assertion failed');

open my $file, '>:raw', $path or die "open $path: $!";
print $file $original;
close $file;

done_testing();
