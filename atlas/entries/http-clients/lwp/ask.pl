# LWP::UserAgent with a connection that is kept.
use strict; use warnings; use LWP::UserAgent; use Time::HiRes qw(time);
my ($address, $port, $exchanges, $method) = @ARGV;
$| = 1;
my $agent = LWP::UserAgent->new(keep_alive => 1);
for (my $number = 0; !$exchanges || $number < $exchanges; $number++) {
    my $began = time;
    my $answer = $method eq 'POST' ? $agent->post("http://$address:$port/", Content => 'x' x 400) : $agent->get("http://$address:$port/");
    die $answer->status_line unless $answer->is_success;
    printf "%.6f %.3f\n", $began, (time - $began) * 1000;
}
print "done\n";
1 while <STDIN>;
