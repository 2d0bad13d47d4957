"""A script without functions: its second send is held."""
import socket

# ruleid: python-socket-with-nagle
end = socket.create_connection(("localhost", 4242))
end.sendall(b"head")
end.send(b"body")
print(end.recv(4096))
