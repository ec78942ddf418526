# A crash after any WAL record: a workload is recovered to the end of each of its
# records, as if the server had died there, and written to from then on.
#
# The workload changes heap twins in the same transactions, so at any moment both
# must hold the same.  A recovery takes about a second, so only some records are
# tried: each kind of zedstore's records, and others at equal distances.  With
# ZS_LONG_TESTS=1 all of zedstore's are; with ZS_LONG_TESTS=2 those of other
# resource managers too.
# Takes 40 seconds of a processor: scripts/run-tests starts it early.

use strict;
use warnings FATAL => 'all';

use File::Basename;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);
use ZedstoreTest;

my $long = $ENV{ZS_LONG_TESTS} // 0;
my $samples = 24;
srand($ENV{ZS_CRASH_SEED} // 1);

# Small, since it is copied for each recovery.
my $node = new_node('primary', extra => ['--wal-segsize=1'], conf => <<'CONF');
autovacuum = off
wal_level = replica
shared_buffers = 4MB
max_wal_size = 10GB
wal_keep_size = 10GB
checkpoint_timeout = 1h
bgwriter_lru_maxpages = 0
hot_standby = off
zedstore.min_segment_rows = 64
zedstore.write_buffer_size = 1MB
CONF
$node->safe_psql('postgres', q{
	create extension pg_walinspect;
	create extension amcheck;
	update pg_database set datistemplate = false;
});
$node->safe_psql('postgres', "drop database $_") for qw(template0 template1);
$node->stop;
my $base = $PostgreSQL::Test::Utils::tmp_check . '/base';
system_or_bail('cp', '-a', '--reflink=auto', $node->data_dir, $base);
$node->start;

# ---- the workload --------------------------------------------------------------------------

# A statement on the tables of a pair; the first word chooses it.
sub both
{
	my (@sql) = @_;
	my $text = '';

	for my $sql (@sql)
	{
		for my $twin ($sql =~ /^vacuum/i ? 'z' : qw(z h))
		{
			(my $copy = $sql) =~ s/\b([TWF])\b/lc($1) . "_$twin"/ge;
			$text .= "$copy;\n";
		}
	}
	return $text;
}

# The same as one transaction: a recovery that is killed once it is promoted goes on behind the
# record it was to end with, so every commit must leave twins.
sub transaction
{
	return 'begin; ' . both(@_) . 'commit;';
}

my $wide = join ', ', map { "c$_ int" } 1 .. 62;
my $two_blocks = q{(select string_agg(md5((i * 100 + k)::text), '') from generate_series(1, 7) k)};
my $start = $node->safe_psql('postgres', 'select pg_current_wal_insert_lsn()');
my $open = $node->background_psql('postgres');

$node->safe_psql('postgres', transaction(
	'create table T (a int primary key, b text, c numeric)',
	'create index on T (c)',
	"create table W (a int, $wide)",
	'create table F (a int, b text)') =~ s/(create table \w+_z [^;]*)/$1 using zedstore/gr
	  =~ s/(create table f_z [^;]*)/$1 with (zedstore_rel_extension_factor = 3, zedstore_compression = 'none')/r);
$node->safe_psql('postgres', transaction($_)) for
	"insert into T values (1, 'one', 1)",
	"insert into T values (2, 'two', 2), (3, 'three', 3)",
	"insert into T select i, md5(i::text), i / 7.0 from generate_series(10, 3000) i",
	"insert into T values (4, (select string_agg(md5(i::text), '') from generate_series(1, 3000) "
		. "i), 4)",
	'update T set c = c + 1 where a = 4',
	"insert into W (a, c1, c62) select i, i, -i from generate_series(1, 1500) i",
	"insert into T values (5, 'five', 5) on conflict (a) do update set b = 'conflict'",
	"insert into T values (5, 'five', 5) on conflict (a) do update set b = 'conflict'";

# a transaction that never ends: its rows and marks are in the way of all that follows
$open->query_safe('begin');
$open->query_safe(both(
	"insert into T select i, 'open', 0 from generate_series(5001, 5300) i",
	"update T set b = 'open' where a between 100 and 105",
	'delete from T where a between 106 and 110',
	'select a from T where a = 120 for update',
	'select count(*) from T'));

$node->safe_psql('postgres',
	"begin; " . both(@$_) . ($_->[0] =~ /a = 7/ ? 'rollback' : 'commit')) for
	[ 'update T set b = b || a where a between 20 and 30', 'savepoint s',
		'delete from T where a between 40 and 45', 'rollback to s' ],
	[ "update T set b = 'lost' where a = 7", 'delete from T where a between 2900 and 2910' ],
	[ 'delete from T where a between 200 and 1000 and a % 25 = 0',
		'select a from T where a = 1 for key share' ];
$node->safe_psql('postgres', $_) for
	both('vacuum T'),
	# small rows one by one: splits of the row tree
	transaction('do $$ begin for i in 4001 .. 4100 loop insert into T values (i, '
		. 'repeat(md5(i::text), 14), i); end loop; end $$'),
	# a slot for each row: the TID leaf has no room
	"do \$\$ declare k int; begin for i in 0 .. 299 loop begin select a into k from t_z where a = 1500 + (i * 7) % 300 for share; exception when division_by_zero then null; end; end loop; end \$\$",
	transaction('delete from T where a between 4010 and 4080'),
	both('vacuum T'),
	# runs that leave rests: free page map pages
	(map { transaction(sprintf("insert into F select i, $two_blocks from generate_series(%d, %d) i",
		$_ * 200, $_ * 200 + 199)) } 1 .. 16),
	both('vacuum freeze F'), transaction('delete from F where a % 90 = 0'), both('vacuum F'),
		transaction('truncate F'),
	transaction("insert into F select i, 'again' from generate_series(1, 100) i"),
	# columns behind the rows that they were made of, of one session: what is there moves to the
	# front
	join('', map { transaction(sprintf('insert into T select i, repeat(md5(i::text), 58), i from '
		. 'generate_series(%d, %d) i', $_ * 60, $_ * 60 + 59)) } 500 .. 540),
	both('vacuum T'),
	transaction('alter table W add column d int default 7', 'update W set d = 8 where a < 20'),
	'vacuum full w_z';
$node->safe_psql('postgres',
	both('begin', "insert into T values (6001, 'prepared', 0)",
	"update T set b = 'prepared' where a = 2") =~ s/begin;\nbegin;/begin;/r
	  . "prepare transaction 'p'; commit prepared 'p'");
$node->safe_psql('postgres', both('select count(*) from T'));

my $end = $node->safe_psql('postgres', 'select pg_switch_wal()');
my @records = map { [ split /\|/ ] } split /\n/, $node->safe_psql('postgres', qq{
	select start_lsn, resource_manager, record_type from pg_get_wal_records_info('$start', '$end')
	where record_type <> 'SWITCH' order by start_lsn});
my $node_moves = $node->safe_psql('postgres', qq{
	select count(*) from pg_get_wal_records_info('$start', '$end') where description like 'move, %'});
$node->stop('immediate');
eval { $open->quit };
my $archive = $node->data_dir . '/pg_wal';

# ---- which records -----------------------------------------------------------------------

my @own = grep { $_->[1] eq 'zedstore' } @records;
my %kinds;
push @{ $kinds{ $_->[2] } }, $_ for @own;
note scalar(@own) . ' records of zedstore, ' . scalar(@records) . ' in all: '
  . join ', ', map { "$_ " . @{ $kinds{$_} } } sort keys %kinds;
# LOGICAL records are for decoding and change nothing
my $source = slurp_file(dirname(dirname(__FILE__)) . '/src/wal/wal_rmgr.c');
is(join(' ', sort keys %kinds),
	join(' ', sort grep { $_ ne 'LOGICAL' } $source =~ /\{XLOG_ZS_\w+, "(\w+)"/g),
	'the workload writes all kinds of records');

cmp_ok($node_moves, '>', 10, 'pages move');

my @chosen;
if ($long)
{
	@chosen = $long > 1 ? @records : @own;
}
else
{
	my %chosen;

	$chosen{ $_->[ int rand @$_ ][0] } = 1 for values %kinds;
	$chosen{ $own[ int(rand(1) * @own / $samples + $_ * @own / $samples) ][0] } = 1
		for 0 .. $samples - 1;
	@chosen = grep { $chosen{ $_->[0] } } @own;
}
@chosen = grep { case_wanted("$_->[1] $_->[2]") } @chosen;

# ---- recovery ------------------------------------------------------------------------------

my $copy = PostgreSQL::Test::Cluster->new('copy');

# A new copy that is going to be recovered to the end of the record at $lsn.
sub prepare_copy
{
	my ($lsn) = @_;

	system_or_bail('rm', '-rf', $copy->data_dir);
	mkdir $copy->basedir;
	system_or_bail('cp', '-a', '--reflink=auto', $base, $copy->data_dir);
	$copy->append_conf('postgresql.conf', <<"CONF");
port = @{[ $copy->port ]}
restore_command = 'cp "$archive/%f" "%p"'
recovery_target_lsn = '$lsn'
recovery_target_action = promote
recovery_target_timeline = 'current'
recovery_target_inclusive = on
CONF
	append_to_file($copy->data_dir . '/recovery.signal', '');
	return;
}

# The pairs of tables of which both are there, by their letter.
sub pairs
{
	return split /\n/, $copy->safe_psql('postgres', q{
		select left(c.relname, 1) from pg_class c join pg_am a on a.oid = c.relam where a.amname = 'zedstore' and c.relkind = 'r'
			and c.relname like '__z' and to_regclass(left(c.relname, 1) || '_h') is not null
		order by 1 desc});
}

sub problems
{
	my $sql = '';

	for my $t (pairs())
	{
		$sql .= qq{
			select '$t differs: ' || count(*) from ((table ${t}_z except all table ${t}_h) union all (table ${t}_h except all table ${t}_z)) d having count(*) > 0;
			set enable_seqscan = off; set enable_bitmapscan = off;
			select '$t differs by index: ' || count(*) from ((select a from ${t}_z where a >= 0 except all select a from ${t}_h where a >= 0)
				union all (select a from ${t}_h where a >= 0 except all select a from ${t}_z where a >= 0)) d having count(*) > 0;
			reset enable_seqscan; reset enable_bitmapscan;
			select '$t: ', k from zs_check('${t}_z') k where severity <> 'notice';
			do \$\$ declare i oid; begin for i in select indexrelid from pg_index where indrelid = '${t}_z'::regclass loop perform bt_index_check(i, true); end loop; end \$\$;
		};
	}
	my (undef, $out, $errors) = $copy->psql('postgres', $sql);
	return "$out$errors";
}

# Statements after the recovery; tables that are not there yet are left out.
sub go_on
{
	my $sql = '';

	for my $t (grep { /[TF]/ } map { uc } pairs())
	{
		$sql .= both(
			"update $t set b = b || 'after' where a % 3 = 0",
			"delete from $t where a % 5 = 0",
			"vacuum $t",
			"insert into $t (a, b) select i, md5(i::text) from generate_series(10001, 11100) i",
			"insert into $t (a, b) values (-1, 'after')",
			"delete from $t where a between 1500 and 1700");
	}
	my (undef, undef, $errors) = $copy->psql('postgres', $sql, on_error_stop => 1);
	return $errors;
}

my ($failures, $interrupted) = (0, 0);
for my $i (0 .. $#chosen)
{
	my ($lsn, $rmgr, $type) = @{ $chosen[$i] };
	my $wrong;

	prepare_copy($lsn);

	# now and then the recovery is killed, and starts again
	if ($i % 4 == 3)
	{
		system_log('pg_ctl', '-D', $copy->data_dir, '-W', '-l', $copy->logfile, 'start');
		for (1 .. 5000)
		{
			last if -s $copy->data_dir . '/postmaster.pid';
			usleep(1000);
		}
		usleep(int rand 150_000);
		$interrupted += kill_server($copy, optional => 1);
	}
	$copy->start;
	# without hot standby it counts as started before it is promoted
	usleep(30_000) while system('pg_isready', '-q', '-d', $copy->connstr('postgres'), '-t',
		60) != 0;
	$wrong = problems();
	$wrong .= go_on() if $wrong eq '';
	$wrong .= problems() if $wrong eq '';
	$copy->stop('immediate');
	if ($wrong ne '')
	{
		$failures++;
		diag("after record $lsn ($rmgr $type): $wrong");
	}
	note("$i of $#chosen") if $i % 50 == 0;
}
is($failures, 0, 'sound after each of ' . scalar(@chosen) . ' records');
note "$interrupted recoveries were interrupted";
ok(!$copy->log_contains('TRAP:|PANIC:'), 'no assertion failed');
done_testing();
