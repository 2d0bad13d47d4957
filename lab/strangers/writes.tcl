# Asks in two writes: 40 octets and 400. Prints the milliseconds of each exchange.
set end [socket 127.0.0.1 [lindex $argv 0]]
fconfigure $end -buffering none -translation binary
for {set i 0} {$i < 20} {incr i} {
    set began [clock microseconds]
    puts -nonewline $end [string repeat h 40]
    puts -nonewline $end [string repeat b 400]
    if {[string length [read $end 2]] != 2} { exit 1 }
    puts [expr {([clock microseconds] - $began) / 1000.0}]
}
