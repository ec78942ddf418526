# Small file systems on loop devices for tests, which scripts/volume-server
# makes where scripts/run-tests is run by root; they are gone when the test ends.

package ZedstoreVolume;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use IO::Socket::UNIX;
use PostgreSQL::Test::Utils;

our @EXPORT = qw(volumes_possible new_volume slow_down blocks_landed);

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

# A new file system: a hash with dir, device and number.
sub new_volume
{
	my ($type, $megabytes) = @_;
	my ($dir, $device, $number) = split ' ', request('volume', $type, $megabytes);

	return { dir => $dir, device => $device, number => $number };
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
