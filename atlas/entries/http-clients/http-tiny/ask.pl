# HTTP::Tiny as its documentation shows it, on a connection that is kept.
use strict; use warnings; use HTTP::Tiny; use Time::HiRes qw(time);
my ($address, $port, $exchanges, $method) = @ARGV;
$| = 1;
my $http = HTTP::Tiny->new;
for (my $number = 0; !$exchanges || $number < $exchanges; $number++) {
    my $began = time;
    my $answer = $method eq "POST"
        ? $http->post("http://$address:$port/", { content => "x" x 400, headers => { "content-type" => "text/plain" } })
        : $http->get("http://$address:$port/");
    die "$answer->{status} $answer->{reason} $answer->{content}" unless $answer->{success};
    printf "%.6f %.3f\n", $began, (time - $began) * 1000;
}
print "done\n";
1 while <STDIN>;
