"""Two processes talk over loopback in one of several ways: conversation.py WAY TIMES WAIT. Prints the port, waits, talks."""
import os, socket, sys, time

WAY, TIMES, WAIT = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])


def read(end, octets):
    while octets:
        got = end.recv(octets)
        if not got:
            return False
        octets -= len(got)
    return True


def write(end, side):
    """A message of 300 octets, in two writes or one."""
    if WAY in (f"{side} in two writes", f"{side} in two writes, NODELAY"):
        end.sendall(b"h" * 100)
        end.sendall(b"b" * 200)
    elif WAY == f"{side} in thirty writes, NODELAY":
        for _ in range(30):
            end.sendall(b"p" * 10)
    elif WAY == f"{side} corks":
        # It forgets to uncork.
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        end.sendall(b"m" * 300)
    else:
        end.sendall(b"m" * 300)


def option(end, side):
    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, WAY.startswith(side) and WAY.endswith("NODELAY"))


listener = socket.create_server(("127.0.0.1", 0))
server = listener.getsockname()
print(server[1], flush=True)
if not os.fork():
    end = listener.accept()[0]
    option(end, "server")
    while read(end, 300):
        if WAY == "server thinks":
            time.sleep(0.06)
        write(end, "server")
    os._exit(0)
listener.close()
time.sleep(WAIT)
end = socket.create_connection(server)
option(end, "client")
for _ in range(TIMES):
    write(end, "client")
    read(end, 300)
# Long enough for a look at its counts.
time.sleep(WAIT)
end.close()
os.wait()
