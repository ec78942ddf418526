# Dumps of a schema or of tables, and restores of parts, in several processes, with and without the
# access method: what pg_dump and pg_restore say and what comes of it are as with heap, in databases
# that have the extension; in others it is core's error that says what is missing.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZedstoreTest;

my $node = new_node('main', conf => q{search_path = '"$user", public'});
my @methods = qw(heap zedstore);

for my $method (@methods)
{
	$node->safe_psql('postgres', "create database from_$method");
	$node->safe_psql("from_$method", "create extension zedstore_io;
		alter database from_$method set default_table_access_method = $method");
	$node->safe_psql("from_$method", q{
		create schema app;
		create schema rest;
		create table app.t (a int primary key, b text, c numeric);
		insert into app.t select i, md5(i::text), i / 3.0 from generate_series(1, 9000) i;
		create table app.options (a int, b text) with (fillfactor = 70);
		insert into app.options select i, 'o' from generate_series(1, 100) i;
		create table rest.child (id int primary key, t int references app.t);
		insert into rest.child select i, i from generate_series(1, 1000) i;
		create materialized view app.m as select count(*) as n from app.t;
		create view app.v as select * from app.t where a < 10;
		create table app.p (a int, b text) partition by range (a);
		create table app.p1 partition of app.p for values from (0) to (100) using heap;
		create table app.p2 partition of app.p for values from (100) to (200) using zedstore;
		create table rest.p3 partition of app.p for values from (200) to (300);
		insert into app.p select i % 300, 'p' from generate_series(1, 3000) i;
		create table app."Odd ""Name" ("A b" int);
		insert into app."Odd ""Name" values (1);
		create table app.l (like app.t including all);
		create table app.s (like app.options including storage including comments);
		create unlogged table app.u (a int);
		insert into app.u values (1)});
}

# A message without what differs between the two.
sub normalized
{
	my ($text, $method) = @_;

	$text =~ s/\b(from|to)_$method\b/$1_X/g;
	return $text;
}

# Tables of a database with numbers for their rows; and what access method each has.
sub contents
{
	my ($database) = @_;
	my @tables = split /\n/, $node->safe_psql($database, q{
		select c.oid::regclass from pg_class c
		where relkind in ('r', 'm', 'p') and relispopulated
			and relnamespace::regnamespace::text in ('app', 'rest')
		order by c.oid::regclass::text});
	my $rows = join "\n", map {
		$node->safe_psql($database,
			"select '$_', count(*), sum(hashtext(x::text)) from $_ x")
	} @tables;

	return ($rows, $node->safe_psql($database, q{
		select string_agg(format('%s %s', c.oid::regclass, amname), ', '
			order by c.oid::regclass::text)
		from pg_class c join pg_am a on a.oid = relam
		where relkind in ('r', 'm') and relnamespace::regnamespace::text in ('app', 'rest')}));
}

# Dumps both databases and restores them to new ones, in which something is run before.  Returns the
# access methods of zedstore's, and what was said of it.
sub dump_and_restore
{
	my ($name, $dump, $restore, $before) = @_;
	my (%said, %rows, $access);

	for my $method (@methods)
	{
		my $file = $node->basedir . "/$name.$method";
		my $to = "to_$method";

		$node->safe_psql('postgres', "drop database if exists $to");
		$node->safe_psql('postgres', "create database $to template template0");
		$node->safe_psql($to, $before) if $before;
		my @commands = ([ 'pg_dump', @$dump, '-f', $file, '-d', $node->connstr("from_$method") ]);
		push @commands, $restore
		  ? [ 'pg_restore', @$restore, '-d', $node->connstr($to), $file ]
		  : [ 'psql', '-X', '-q', '-o', '/dev/null', '-d', $node->connstr($to), '-f', $file ];
		for my $command (@commands)
		{
			my ($out, $err) = run_command($command);

			$said{$method} .= normalized("$out$err", $method);
		}
		($rows{$method}, $access) = contents($to);
		zs_check_all($node, $to, "$name: zs_check")
		  if $method eq 'zedstore' && ($before // '') =~ /extension/;
	}
	is($rows{zedstore}, $rows{heap}, "$name: the same tables and rows")
	  if $said{zedstore} !~ /Table access method "zedstore" does not exist/;
	return ($access, $said{zedstore}, $said{heap});
}

# ---- into databases that have the extension ------------------------------------------------

my $extension = 'create extension zedstore_io schema public';
for my $case (
	[ 'schema', [qw(-n app)], undef, $extension ],
	[ 'schema in parallel', [qw(-Fd -n app -j 3)], [qw(-j 3)], $extension ],
	[ 'table', [qw(-Fc -t app.t)], [], "$extension; create schema app" ],
	[ 'partitions', [qw(-Fc --table-and-children=app.p)], [],
		"$extension; create schema app; create schema rest" ],
	[ 'all but a table', [qw(-Fc -T app.t)], [], $extension ],
	[ 'table as INSERTs', [qw(--inserts -t app.t)], undef, "$extension; create schema app" ],
	[ 'one of all', [qw(-Fc)], [qw(-n app -t t)], "$extension; create schema app" ],
	[ 'one schema of all', [qw(-Fc)], [qw(-n app)], "$extension; create schema app" ],
	[ 'in parallel', [qw(-Fd -j 3)], [qw(-j 3)] ],
	[ 'in parallel, with clean', [qw(-Fd -j 3)], [qw(-j 3 --clean --if-exists)] ],
	[ 'in one transaction', [qw(-Fc)], ['-1'] ])
{
	my ($name, $dump, $restore, $before) = @$case;
	my ($access, $said, $heap) = dump_and_restore($name, $dump, $restore, $before);

	is($said, $heap, "$name: what is said");
	like($access, qr/zedstore/, "$name: zedstore tables");
	# one table says how it was made
	unlike($access =~ s/app.p1 heap//r, qr/heap/, "$name: and no others") if $access =~ /app\.t /;
}

# ---- as heap tables ------------------------------------------------------------------------

for my $case (
	[ 'dump without access methods',
		[qw(--no-table-access-method --exclude-extension=zedstore_io)] ],
	[ 'restore without access methods', [qw(-Fc --exclude-extension=zedstore_io)],
		[qw(--no-table-access-method)] ],
	[ '... in parallel', [qw(-Fd --exclude-extension=zedstore_io)],
		[qw(--no-table-access-method -j 3)] ])
{
	my ($name, $dump, $restore) = @$case;
	my ($access, $said, $heap) = dump_and_restore($name, $dump, $restore);

	is($said, $heap, "$name: what is said");
	unlike($access, qr/zedstore/, "$name: heap tables");
}

# ---- into databases that lack it ----------------------------------------------------------

for my $case (
	[ 'schema, no extension', [qw(-n app)], undef ],
	[ 'table, no extension', [qw(-Fc -t app.t)], [], 'create schema app' ])
{
	my ($name, $dump, $restore, $before) = @$case;
	my (undef, $said) = dump_and_restore($name, $dump, $restore, $before);

	like($said, qr/ERROR:  invalid value for parameter "default_table_access_method": "zedstore"/,
		"$name: what is missing");
}

$node->stop;
done_testing();
