# The documentation's server; a process for each connection.
use strict; use warnings; use HTTP::Daemon; use HTTP::Response;
$SIG{CHLD} = 'IGNORE';
my $daemon = HTTP::Daemon->new(LocalAddr => '0.0.0.0', LocalPort => $ARGV[0], ReuseAddr => 1) or die "$!";
while (my $connection = $daemon->accept) {
    next if fork;
    while ($connection->get_request) {
        $connection->send_response(HTTP::Response->new(200, 'OK', ['Content-Type' => 'text/plain'], 'x' x 400));
    }
    exit;
}
