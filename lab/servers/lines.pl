# Sockets as Perl makes them: each header line is a write, and so is the body; a process for each connection.
use strict;
use warnings;
use IO::Socket::INET;

$SIG{PIPE} = $SIG{CHLD} = 'IGNORE';
my $listener = IO::Socket::INET->new(LocalPort => shift, Listen => 64, ReuseAddr => 1) or die;
while (my $end = $listener->accept) {
    next if fork;
    local $/ = "\r\n";
    while (my $line = <$end>) {
        next if $line ne "\r\n";
        syswrite $end, $_ for "HTTP/1.1 200 OK\r\n", "Server: lines\r\n", "Content-Type: text/plain\r\n",
            "Content-Length: 900\r\n", "\r\n", "x" x 900;
    }
    exit;
}
