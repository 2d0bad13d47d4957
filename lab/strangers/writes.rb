# Asks in two writes: 40 octets and 400. Prints the milliseconds of each exchange.
require "socket"

stopwatch = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC, :float_millisecond) }
socket = TCPSocket.new("127.0.0.1", Integer(ARGV[0]))
socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, ARGV.length > 1)
20.times do
  began = stopwatch.call
  socket.write("h" * 40)
  socket.write("b" * 400)
  exit 1 unless socket.read(2)
  puts stopwatch.call - began
end
