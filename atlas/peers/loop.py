"""What every client of ours does: asks so often, and tells of each exchange when it began and how long it took.

A line is "BEGAN MILLISECONDS", BEGAN in seconds since 1970. After the last exchange a client prints "done" and keeps its
connection until its standard input ends, so that the runner can look at the open socket.
"""
import socket, sys, time


def ask(exchanges, exchange):
    """Calls `exchange` so often; for ever if it is 0."""
    number = 0
    while not exchanges or number < exchanges:
        number += 1
        began, clock = time.time(), time.perf_counter()
        exchange()
        print(f"{began:.6f} {(time.perf_counter() - clock) * 1000:.3f}", flush=True)
    done()


def done():
    print("done", flush=True)
    sys.stdin.read()


def write(end, kind, first, second):
    """Writes a message at once (kind `one`) or in its two parts (kind `two`)."""
    if kind == "two":
        end.sendall(first)
        end.sendall(second)
    else:
        end.sendall(first + second)


def connected(address, port):
    """A connection that never holds anything back, so that whatever stalls is the other end's."""
    end = socket.create_connection((address, port))
    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return end
