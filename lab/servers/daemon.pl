# HTTP::Daemon with eight workers: headers and body are two writes.
use HTTP::Daemon;
use HTTP::Response;

$SIG{PIPE} = 'IGNORE';
my $daemon = HTTP::Daemon->new(LocalAddr => '0.0.0.0', LocalPort => shift, ReuseAddr => 1, Listen => 64) or die;
for (1 .. 7) { last unless fork }
while (my $connection = $daemon->accept) {
    while (my $request = $connection->get_request) {
        $connection->send_response(HTTP::Response->new(200, 'OK', ['Content-Length' => 400], 'x' x 400));
    }
    $connection->close;
}
