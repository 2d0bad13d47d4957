import socket


def run(address):
    # cannot tell: python-socket-with-nagle
    end = socket.create_connection(address)
    # cannot tell: python-two-sends
    end.sendall(b"head")
    end.sendall(b"body")
    return end
