"""A script without functions, which waits for each answer."""
import socket

# cannot tell: python-socket-with-nagle
end = socket.create_connection(("localhost", 4242))
for request in (b"one", b"two"):
    end.sendall(request)
    print(end.recv(4096))
end.close()
