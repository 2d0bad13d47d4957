"""Asks in two writes: 40 octets and 400. Prints the milliseconds of each exchange."""
import socket, sys, time

end = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, len(sys.argv) > 2)
for _ in range(20):
    began = time.monotonic()
    end.sendall(b"h" * 40)
    end.sendall(b"b" * 400)
    assert len(end.recv(2, socket.MSG_WAITALL)) == 2
    print((time.monotonic() - began) * 1e3)
