"""A slow service to practise on. It answers each request in two writes, as many servers do.

    python3 slow.py serve 8080             # the service; --nodelay sets TCP_NODELAY
    python3 slow.py ask 8080               # 20 requests over one connection, and their median time
    python3 slow.py load 8080              # four clients ask until they are stopped
"""

import socket
import statistics
import sys
import threading
import time


def serve(port, nodelay):
    listener = socket.create_server(("127.0.0.1", port))
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, nodelay)
        threading.Thread(target=answer, args=(connection,), daemon=True).start()


def answer(connection):
    try:
        while connection.recv(1000):
            connection.sendall(b"header" + b"." * 94)
            connection.sendall(b"body" + b"." * 196)
    except ConnectionError:
        pass  # the client has gone


def ask(connection):
    """Asks once, and returns how long the answer took, in milliseconds."""
    began = time.perf_counter()
    connection.sendall(b"question")
    missing = 300
    while missing:
        got = connection.recv(missing)
        if not got:
            sys.exit("the service has gone")
        missing -= len(got)
    return (time.perf_counter() - began) * 1000


def load(port):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        while True:
            ask(connection)
            time.sleep(0.002)


if __name__ == "__main__":
    what, port = sys.argv[1], int(sys.argv[2])
    if what == "serve":
        serve(port, "--nodelay" in sys.argv)
    elif what == "ask":
        with socket.create_connection(("127.0.0.1", port)) as connection:
            took = [ask(connection) for _ in range(20)]
        print(f"20 requests, median {statistics.median(took):.1f} ms")
    else:
        for _ in range(3):
            threading.Thread(target=load, args=(port,), daemon=True).start()
        load(port)
