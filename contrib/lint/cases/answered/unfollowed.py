"""What sends is called by what is handed to others: nothing that is followed sends."""
import atexit
import socket

# ruleid: python-socket-with-nagle
end = socket.create_connection(("localhost", 4242))


def _ask():
    end.sendall(b"one")
    _ask_again()


def _ask_again():
    end.sendall(b"two")
    _ask()


atexit.register(lambda: None, _ask)
