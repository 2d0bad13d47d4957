# Asks in two writes: 40 octets and 400. Prints the milliseconds of each exchange.
use strict;
use warnings;
use IO::Socket::INET;
use Socket qw(IPPROTO_TCP TCP_NODELAY);
use Time::HiRes qw(time);

my $end = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $ARGV[0]) or die "no connection";
setsockopt($end, IPPROTO_TCP, TCP_NODELAY, @ARGV > 1 ? 1 : 0) or die "no option";
for (1 .. 20) {
    my $began = time;
    syswrite($end, "h" x 40);
    syswrite($end, "b" x 400);
    defined(readline($end)) or die "no answer";
    print +(time - $began) * 1e3, "\n";
}
