# Asks in two writes: 40 octets and 400. Prints the milliseconds of each exchange.
@load "time"
BEGIN {
    end = "/inet/tcp/0/127.0.0.1/" ARGV[1]
    for (i = 0; i < 20; i++) {
        began = gettimeofday()
        printf "%040d", 0 |& end
        fflush(end)
        printf "%0400d", 0 |& end
        fflush(end)
        if ((end |& getline answer) <= 0) exit 1
        print (gettimeofday() - began) * 1000
    }
    close(end)
}
