# What the checks of the source tree share: the files, the modules and their
# layers, and the list of problems.
package SourceTree;

use strict;
use warnings;
use File::Basename;
use File::Spec::Functions qw(catdir rel2abs);
use Exporter 'import';

our @EXPORT = qw(enter_tree sources headers module_of layer_of may_use text_of code_of
  calls_between_files problem problems);

# Modules from the bottom up.  Modules of one layer are strangers to each
# other, except where listed in %same_layer.
my @layers = (
	[qw(format walrec compat compression)], [qw(base codec kernel)],
	[qw(page io)],              ['btree'],
	[qw(tid row attr)],         ['write'],
	['scan'],                   [qw(vacuum expr)],
	[qw(agg cost)],
	['probe'],
	[qw(node ddl)],             [qw(am join)],
	[qw(wal inspect convert)]);
# The headers of layer 0 describe one format together.
my %same_layer = map { $_ => 1 } qw(format walrec compat compression);

# Public headers beside zs_<module>.h, and the module each belongs to.
my %owner_of_header = (slot => 'scan', projection => 'scan', clause => 'scan', zone => 'scan',
	batch => 'scan', order => 'scan', depth => 'scan');

my %layer_of;
for my $layer (0 .. $#layers)
{
	$layer_of{$_} = $layer for @{ $layers[$layer] };
}

my @problems;
my %texts;

# All names of files are relative to the root of the tree.
sub enter_tree
{
	chdir catdir(dirname(rel2abs(__FILE__)), '..') or die "cannot enter the source tree: $!";
	return;
}

sub sources
{
	return grep { -f } glob('src/*.c src/*/*.c');
}

sub headers
{
	return grep { -f } glob('include/*.h src/*/*.h');
}

# The module a file of ours belongs to, by folder or by header name.
sub module_of
{
	my ($file) = @_;
	return $1 if $file =~ m{^src/(\w+)/};
	if ($file =~ m{^include/zs_([a-z]+)\w*\.h$})
	{
		return $owner_of_header{$1} // $1;
	}
	return;
}

sub layer_of
{
	my ($module) = @_;
	return $layer_of{$module};
}

# May a file of one module use what belongs to another one?
sub may_use
{
	my ($from, $to) = @_;
	return 1 if $from eq $to || ($same_layer{$to} && $same_layer{$from});
	return $layer_of{$to} < $layer_of{$from};
}

sub text_of
{
	my ($file) = @_;
	$texts{$file} //= do
	{
		open my $fh, '<', $file or die "$file: $!";
		local $/;
		<$fh> // '';
	};
	return $texts{$file};
}

# A file without its comments and strings.
sub code_of
{
	my ($file) = @_;
	return text_of($file) =~ s{/\*.*?\*/|"(?:[^"\\\n]|\\.)*"}{}gsr;
}

# Which names of other files each file uses: file -> file that defines -> [names].  Names are those
# of functions and of tables of constants.
sub calls_between_files
{
	my (%code, %home, %own, %calls);

	for my $file (sources())
	{
		$code{$file} = code_of($file);
		$home{$1} = $own{$file}{$1} = $file while $code{$file} =~ /^(zs\w+)\(/mg;
		$home{$1} = $file while $code{$file} =~ /^const \w+ (zs\w+)(?:\[\w*\])? = /mg;
	}
	for my $file (sort keys %code)
	{
		my %seen;
		for my $name (grep { !$seen{$_}++ } $code{$file} =~ /\b(zs\w+)\b/g)
		{
			# files for different majors of PostgreSQL define the same
			my $other = $own{$file}{$name} // $home{$name} // next;
			push @{ $calls{$file}{$other} }, $name if $other ne $file;
		}
	}
	return \%calls;
}

sub problem
{
	my ($file, $line, $text) = @_;
	push @problems, "$file" . ($line ? ":$line" : '') . ": $text";
	return;
}

sub problems
{
	return @problems;
}

1;
