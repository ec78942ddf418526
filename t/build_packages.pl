# What packages are made of: META.json by PGXN's specification, the archives of "make dist", the
# documents that "make install" brings, and that the descriptions of packages agree with each other.
use strict;
use warnings FATAL => 'all';

use Cwd qw(getcwd);
use File::Find;
use File::Path qw(make_path);
use IO::Uncompress::Unzip qw($UnzipError);
use IPC::Run;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;

my $checkout = getcwd();
my $stage = PostgreSQL::Test::Utils::tempdir();
delete @ENV{qw(MAKEFLAGS MAKELEVEL MFLAGS VPATH USE_VPATH REPOSITORY)};

sub content
{
	my ($file) = @_;

	open(my $fh, '<', $file) or die "$file: $!";
	local $/;
	return scalar <$fh>;
}

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

# Run a command in a folder; returns exit status and output.
sub run_in
{
	my ($folder, @command) = @_;
	my $output = '';
	my $ok =
	  IPC::Run::run(\@command, '<', \'', '>&', \$output, init => sub { chdir $folder or die });
	return ($ok, $output);
}

# ---- META.json

my $version_pattern = qr/^(?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*)){2}(?:-[A-Za-z][\w-]*)?$/;

sub is_term
{
	my ($value) = @_;
	return defined $value && !ref $value && $value =~ m{^[^\s/\\[:cntrl:]]{2,}$};
}

sub is_text
{
	my ($value) = @_;
	return defined $value && !ref $value && $value =~ /\S/;
}

# Problems of the metadata by PGXN's specification, version 1: what is required, and the form of
# what is there.  $has tells whether the archive has a file.
sub problems_of
{
	my ($meta, $has) = @_;
	my @problems;
	# a pattern that does not match is an empty list
	my $check = sub { my $problem = pop; push @problems, $problem if !$_[0] };

	$check->(defined $meta->{$_}, "$_ is missing")
	  for qw(name abstract version maintainer license provides meta-spec);
	$check->(is_term($meta->{name}), 'name');
	$check->(is_text($meta->{abstract}), 'abstract');
	$check->(($meta->{version} // '') =~ $version_pattern, 'version');
	my @maintainers = ref $meta->{maintainer} ? @{ $meta->{maintainer} } : $meta->{maintainer};
	$check->(@maintainers && !grep({ !is_text($_) } @maintainers), 'maintainer');
	$check->(($meta->{license} // '') =~
		  /^(?:agpl_3|apache_[12]_[01]|artistic_[12]|bsd|freebsd|gfdl_1_[23]|gpl_[123]|
			lgpl_[23]_[01]|mit|mozilla_1_[01]|openssl|perl_5|postgresql|qpl_1_0|ssleay|sun|zlib|
			open_source|restricted|unrestricted|unknown)$/x,
		'license');
	$check->(
		!defined $meta->{release_status}
		  || $meta->{release_status} =~ /^(?:stable|testing|unstable)$/,
		'release_status');
	$check->(($meta->{'meta-spec'}{version} // '') =~ /^1\.0\.\d+$/, 'meta-spec');
	$check->(!grep({ !is_text($_) || length > 255 } @{ $meta->{tags} // [] }), 'tags');

	$check->(%{ $meta->{provides} // {} } > 0, 'provides nothing');
	while (my ($name, $extension) = each %{ $meta->{provides} // {} })
	{
		$check->(is_term($name), "provides $name");
		$check->(defined $extension->{file} && $has->($extension->{file}), "file of $name");
		$check->(($extension->{version} // '') =~ $version_pattern, "version of $name");
		$check->(!defined $extension->{docfile} || $has->($extension->{docfile}),
			"docfile of $name");
	}
	while (my ($phase, $relations) = each %{ $meta->{prereqs} // {} })
	{
		$check->($phase =~ /^(?:configure|build|test|runtime|develop)$/, "prereqs $phase");
		while (my ($relation, $needs) = each %$relations)
		{
			$check->($relation =~ /^(?:requires|recommends|suggests|conflicts)$/,
				"prereqs $relation");
			for my $name (keys %$needs)
			{
				# one version, or a range: ">= 1.2.0, < 2.0.0"
				my @versions =
				  map { s/^(?:[<>]=?|[=!]=)\s*//r } split /\s*,\s*/, $needs->{$name}, -1;
				$check->(@versions && !(grep { $_ ne '0' && !/$version_pattern/ } @versions),
					"version of $name");
			}
		}
	}
	if (my $resources = $meta->{resources})
	{
		my $url = qr{^https?://[^\s/]+/\S*$};
		$check->(($resources->{homepage} // 'https://a/') =~ $url, 'homepage');
		$check->(($resources->{bugtracker}{web} // '') =~ $url, 'bugtracker');
		$check->(($resources->{repository}{$_} // '') =~ $url, "repository $_") for qw(url web);
		$check->(($resources->{repository}{type} // '') =~ /^[a-z]+$/, 'type of the repository');
	}
	return @problems;
}

my $json = JSON::PP->new;
is_deeply([ problems_of($json->decode(content('META.json')), sub { -f $_[0] }) ],
	[], 'META.json of the tree');

# the check itself: each required field taken away, and some malformed
foreach my $field (qw(name abstract version maintainer license provides meta-spec))
{
	my $meta = $json->decode(content('META.json'));
	delete $meta->{$field};
	isnt(scalar problems_of($meta, sub { 1 }), 0, "... needs $field");
}
foreach my $change ([ version => '0.2' ], [ license => 'mine' ], [ name => 'two words' ],
	[ resources => { repository => { url => 'here' } } ])
{
	my $meta = { %{ $json->decode(content('META.json')) }, @$change };
	isnt(scalar problems_of($meta, sub { 1 }), 0, "... refuses another $change->[0]");
}

# ---- make dist

my $source = "$stage/source";
make_path($source);
system("tar -C '$checkout' -cf - --exclude=./.git . | tar -C '$source' -xf -") == 0
  or die 'cannot copy the source';

# Names of the files in an archive, of either format.
sub names_in
{
	my ($archive) = @_;
	my @names;

	if ($archive =~ /\.zip$/)
	{
		my $zip = IO::Uncompress::Unzip->new($archive) or die "$archive: $UnzipError";
		my $status;
		for ($status = 1; $status > 0; $status = $zip->nextStream)
		{
			push @names, $zip->getHeaderInfo->{Name};
		}
		die "$archive: $UnzipError" if $status < 0;
	}
	else
	{
		@names = split /\n/, qx(tar -tzf '$archive');
	}
	return sort grep { !m{/$} } @names;
}

SKIP:
{
	my ($version) = content('zedstore_io.control') =~ /^default_version = '(.*)'$/m;
	my $name = "zedstore_io-$version";
	my ($ok, $output) = run_in($source, 'make', 'dist');
	ok(!$ok, 'no archives without a repository');
	like($output, qr/git/, '... and make says so');
	skip 'there is no git', 1 if system('git --version >/dev/null 2>&1') != 0;

	local @ENV{qw(GIT_CONFIG_GLOBAL GIT_CONFIG_NOSYSTEM)} = ('/dev/null', 1);
	my @git = ('git', '-c', 'user.name=a', '-c', 'user.email=a@b', '-c', 'commit.gpgsign=false');
	foreach my $command ([qw(init -q)], [qw(add -A)], [qw(commit -q -m all)])
	{
		($ok, $output) = run_in($source, @git, @$command);
		ok($ok, "git $command->[0]") or diag($output);
	}
	my @committed = split /\n/, (run_in($source, qw(git ls-files)))[1];

	($ok, $output) = run_in($source, 'make', 'dist');
	ok($ok, 'make dist') or diag($output);
	like($output, qr/META\.json does not say where the project lives/,
		'... tells what the archives lack');
	foreach my $format (qw(zip tar.gz))
	{
		is_deeply(
			[ names_in("$source/$name.$format") ],
			[ sort map { "$name/$_" } @committed ],
			"the $format has the commit's files, in one folder");
	}

	# with the address of a repository
	($ok, $output) =
	  run_in($source, 'make', 'dist', 'REPOSITORY=https://git.example/zedstore_io.git');
	ok($ok, 'make dist with an address') or diag($output);
	unlike($output, qr/warning/, '... without a warning');
	system("tar -C '$stage' -xzf '$source/$name.tar.gz'") == 0 or die 'cannot unpack';
	my $meta = $json->decode(content("$stage/$name/META.json"));
	is_deeply([ problems_of($meta, sub { -f "$stage/$name/$_[0]" }) ],
		[], 'META.json of the archive');
	is_deeply(
		$meta->{resources},
		{
			homepage => 'https://git.example/zedstore_io',
			bugtracker => { web => 'https://git.example/zedstore_io/issues' },
			repository => {
				url => 'https://git.example/zedstore_io.git',
				web => 'https://git.example/zedstore_io',
				type => 'git'
			}
		},
		'... says where the project lives');
	delete $meta->{resources};
	is_deeply($meta, $json->decode(content('META.json')), '... and the rest as in the tree');

	# what somebody needs who has the archive alone
	is_deeply(
		[
			grep { !-e "$stage/$name/$_" }
			  qw(Makefile LICENSE README.md CHANGELOG.md zedstore_io.control debian/rules src
			  include sql/include expected specs docs packaging/zedstore_io.spec),
			"sql/zedstore_io--$version.sql"
		],
		[],
		'the archive has what it takes to build, test and package');
	($ok, $output) = run_in("$stage/$name", 'make', '-n', "PG_CONFIG=$ENV{TEST_PG_CONFIG}");
	my ($link) = $output =~ /^(.* -shared .*zedstore_io\.so .*)$/m;
	is(scalar(grep { /\.o$/ } split ' ', $link // $output),
		scalar(grep { /\.c$/ } files_below("$checkout/src")),
		'... and make builds all objects from it');
}

# ---- make install

# Without a compiler: make takes the library for up to date.
my $prebuilt = "$stage/prebuilt";
make_path($prebuilt);
my @objects = map { "src/$_" } map { s/\.c$/.o/r } grep { /\.c$/ } files_below("$source/src");
foreach my $file (@objects, (map { s/o$/bc/r } @objects), 'zedstore_io.so')
{
	make_path("$prebuilt/" . ($file =~ m{^(.*)/})[0]) if $file =~ m{/};
	open(my $fh, '>', "$prebuilt/$file") or die "$file: $!";
}
my @install = (
	'make', '-f', "$source/Makefile", "VPATH=$source", "PG_CONFIG=$ENV{TEST_PG_CONFIG}",
	'with_llvm=no', "DESTDIR=$stage/installed");
my ($ok, $output) = run_in($prebuilt, @install, 'install');
ok($ok, 'make install') or diag($output);
chomp(my $docs = qx('$ENV{TEST_PG_CONFIG}' --docdir));
my $installed = "$stage/installed$docs/zedstore_io";
is_deeply(
	[ files_below($installed) ],
	[ sort qw(README.md CHANGELOG.md LICENSE), glob('docs/*.{md,svg,yaml,json}') ],
	'documents are installed');

# Links to what is for developers alone lead out of what is installed.
my @dangling;
foreach my $document (grep { /\.md$/ } files_below($installed))
{
	my $folder = $document =~ m{^(.*/)} ? $1 : '';
	my $text = content("$installed/$document") =~ s/^```.*?^```//gmsr;
	while ($text =~ /\]\(([^)#\s]+)/g)
	{
		my $link = $1;
		next if $link =~ /^\w+:/;
		my $target = "$folder$link" =~ s{docs/\.\./}{}r;
		push @dangling, "$document: $link"
		  if !-e "$installed/$target" && $target !~ m{^(?:src|bench|scripts|CONTRIBUTING\.md)};
	}
}
is_deeply(\@dangling, [], '... and the links between them work');
($ok, $output) = run_in($prebuilt, @install, 'uninstall');
ok($ok, 'make uninstall') or diag($output);
is_deeply([ files_below("$stage/installed") ], [], '... leaves nothing');

# ---- descriptions of packages

my %headers_of = (
	icu => qr/\blibicu-dev(?:el)?\b/,
	lz4 => qr/\b(?:lib)?lz4-dev(?:el)?\b/,
	zstd => qr/\blibzstd-dev(?:el)?\b/,
	liburing => qr/\bliburing-dev(?:el)?\b/,);
foreach my $file (
	qw(README.md debian/control.in packaging/Dockerfile packaging/zedstore_io.spec
	scripts/setup-postgres))
{
	my $text = content($file);
	is_deeply([ grep { $text !~ $headers_of{$_} } sort keys %headers_of ],
		[], "$file names the libraries whose headers a build needs");
}
my ($majors) = content('scripts/lib.sh') =~ /^ZS_PG_MAJORS="(.*)"$/m;
is_deeply([ sort split /\s+/, content('debian/pgversions') ],
	[ sort split / /, $majors ], 'debian/pgversions has the supported versions');

# debian/control is what pg_buildext makes of control.in
my ($general, $template) = split /\n\n/, content('debian/control.in'), 2;
my $control = content('debian/control');
my $expected = join "\n", "$general\n",
  map { $template =~ s/PGVERSION/$_/gr } $control =~ /^Package: postgresql-(\d+)-/mg;
is($control =~ s/\s+\z//r, $expected =~ s/\s+\z//r, 'debian/control is up to date');
is(content('debian/source/format'), "3.0 (quilt)\n", 'the format of the source package');
ok(-x "debian/$_", "debian/$_ can be run") for qw(rules tests/installcheck);

done_testing();
