import socket


def open_datagrams(host, port):
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, 0, socket.SOCK_DGRAM)[0]
    # cannot tell: python-socket-with-nagle
    end = socket.socket(family, kind, protocol)
    end.connect(address)
    return end


def open_stream(host, port):
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM)[0]
    # ruleid: python-socket-with-nagle
    end = socket.socket(family, kind, protocol)
    end.connect(address)
    # ruleid: python-two-sends
    end.sendall(b"one")
    end.sendall(b"two")
    return end
