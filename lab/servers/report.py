"""A thread for each connection: the header, then 3 ms of work, then 5,000 octets in three writes."""
import socket, sys, threading, time


def answer(end):
    with end, end.makefile("rb") as octets:
        while octets.readline():
            while octets.readline().strip():
                pass
            end.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n")
            time.sleep(0.003)
            for length in [1900, 1900, 1200]:
                end.sendall(b"x" * length)


with socket.create_server(("0.0.0.0", int(sys.argv[1]))) as listener:
    while True:
        threading.Thread(target=answer, args=[listener.accept()[0]], daemon=True).start()
