# Small file systems on loop devices for tests, which scripts/volume-server
# makes where scripts/run-tests is run by root; they are gone when the test ends.

package ZedstoreVolume;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use IO::Socket::UNIX;
use PostgreSQL::Test::Utils;

our @EXPORT = qw(volumes_possible new_volume new_fragile_volume break_volume repair_volume
  slow_down blocks_landed);

my $connection;

sub volumes_possible
{
	return defined $ENV{ZS_VOLUMES} && -S $ENV{ZS_VOLUMES};
}

# The answer to a request; dies on errors.
sub request
{
	my (@words) = @_;

	if (!$connection)
	{
		$connection = IO::Socket::UNIX->new(Peer => $ENV{ZS_VOLUMES}) or die "$ENV{ZS_VOLUMES}: $!";
		$connection->autoflush(1);
	}
	print {$connection} "@words\n";
	my $answer = <$connection> // 'error connection lost';
	chomp $answer;
	$answer =~ s/^ok ?// or die "@words: $answer\n";
	return $answer;
}

# The hash that an answer means.
sub described
{
	my ($dir, $device, $number) = split ' ', $_[0];
	return { dir => $dir, device => $device, number => $number };
}

# A new file system: a hash with dir, device and number.
sub new_volume
{
	my ($type, $megabytes) = @_;
	return described(request('volume', $type, $megabytes));
}

# One on a device that can break.
sub new_fragile_volume
{
	my ($type, $megabytes) = @_;
	return described(request('fragile', $type, $megabytes));
}

# Every write to the device fails from now on (EIO).
sub break_volume
{
	my ($volume) = @_;
	request('break', $volume->{number});
	return;
}

# The device is well again, as after a change of the cable; what failed is not there.  Nothing
# on it may be in use.
sub repair_volume
{
	my ($volume) = @_;
	%$volume = %{ described(request('repair', $volume->{number})) };
	return;
}

# Limits what this process and those that it starts from now on write to the volume, in
# requests per second, and what they read, in MiB per second; 0: no limit (any more).
sub slow_down
{
	my ($volume, $iops, $read_mbps) = @_;

	request('slow', $volume->{number}, $iops, $read_mbps // 0);
	return;
}

# Blocks of 8 kB that the device has written since it exists.
sub blocks_landed
{
	my ($volume) = @_;
	my @fields = split ' ', slurp_file("/sys/block/$volume->{device}/stat");

	return int($fields[6] / 16);
}

1;
