# Twins for tests beside other extensions: the same statements run on a heap
# and on a zedstore table, and must do the same.
#
#   my $twins = ZedstoreTwins->new($node, 'postgres', normalize => sub { ... });
#   $twins->both('insert into t_@ values (1)');
#   $twins->same('select * from t_@');
#
# _@ stands for _h and _z.  both() compares what psql prints and the error, if
# there is one, so it serves for statements and for queries with an order.
#
#   normalize    takes from a text what differs for other reasons (numbers in names)

package ZedstoreTwins;

use strict;
use warnings FATAL => 'all';

use Test::More;

sub new
{
	my ($class, $node, $dbname, %opts) = @_;

	return bless {
		node => $node,
		dbname => $dbname,
		normalize => $opts{normalize} // sub { $_[0] } }, $class;
}

# What a statement prints on one of the twins, and its error.
sub run_on
{
	my ($self, $twin, $sql) = @_;
	(my $statement = $sql) =~ s/_@/_$twin/g;
	my ($status, $stdout, $stderr) =
	  $self->{node}->psql($self->{dbname}, $statement, on_error_stop => 1);

	$stdout =~ s/_$twin(?=_|\b)/_@/g;
	$stderr = join("\n", $stderr =~ /^(?:psql:\S+ )?((?:ERROR|FATAL|WARNING|HINT|DETAIL):.*)$/mg);
	$stderr =~ s/_$twin(?=_|\b)/_@/g;
	return $self->{normalize}->("$stdout\n$stderr");
}

# A test that a statement does the same on both twins.  With error => qr// it must
# fail on both, else on none.  Returns the output.
sub both
{
	my ($self, $sql, $title, %opts) = @_;
	my $heap = $self->run_on('h', $sql);
	my $zedstore = $self->run_on('z', $sql);

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$title //= $sql =~ s/\s+/ /gr;
	if ($opts{error})
	{
		like($heap, $opts{error}, "$title: heap says why not");
	}
	elsif ($heap =~ /^(?:ERROR|FATAL)/m)
	{
		return fail("$title: heap fails: $heap");
	}
	is($zedstore, $heap, $title);
	return $heap;
}

# A test that a query returns the same rows of both, in whatever order.
sub same
{
	my ($self, $query, $title) = @_;
	my $heap = join("\n", sort split(/\n/, $self->run_on('h', $query)));
	my $zedstore = join("\n", sort split(/\n/, $self->run_on('z', $query)));

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$title //= $query =~ s/\s+/ /gr;
	return fail("$title: heap fails: $heap") if $heap =~ /^ERROR/m;
	return is($zedstore, $heap, $title);
}

# A test that a statement works on heap and fails on zedstore, with this error.
sub refused
{
	my ($self, $sql, $error, $title) = @_;
	my $zedstore = $self->run_on('z', $sql);

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$title //= $sql =~ s/\s+/ /gr;
	unlike($self->run_on('h', $sql), qr/^ERROR/m, "$title: works on heap");
	return like($zedstore, $error, "$title: refused on zedstore");
}

1;
