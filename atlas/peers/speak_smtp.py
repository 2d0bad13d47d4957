"""The client of a mail server, and the server of a mail client. Neither holds anything back.

    speak_smtp.py ask ADDRESS PORT EXCHANGES one|two plain|pipelined
    speak_smtp.py answer PORT one|two

An exchange is a mail: with `pipelined` its envelope is sent at once, as RFC 2920 has it. KIND says in how many writes the
mail, or an answer, goes.
"""
import socket, sys, threading
import loop

MAIL = b"Subject: atlas\r\n\r\n" + (b"x" * 70 + b"\r\n") * 5


def ask(address, port, exchanges, kind, way):
    end = loop.connected(address, int(port))
    octets = end.makefile("rb")

    def answered(code):
        for line in iter(octets.readline, b""):
            if line[3:4] != b"-":
                if not line.startswith(code):
                    raise SystemExit(f"smtp: the server answered {line!r}")
                return

    answered(b"220")
    end.sendall(b"EHLO atlas\r\n")
    answered(b"250")
    envelope = [(b"MAIL FROM:<a@example.org>\r\n", b"250"), (b"RCPT TO:<b@example.org>\r\n", b"250"), (b"DATA\r\n", b"354")]

    def exchange():
        if way == "pipelined":
            end.sendall(b"".join(line for line, _ in envelope))
        for line, code in envelope:
            if way == "plain":
                end.sendall(line)
            answered(code)
        loop.write(end, kind, MAIL, b".\r\n")
        answered(b"250")

    loop.ask(int(exchanges), exchange)


def answer(port, kind):
    with socket.create_server(("0.0.0.0", int(port))) as listener:
        while True:
            end, _ = listener.accept()
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=serve, args=[end, kind], daemon=True).start()


def serve(end, kind):
    with end, end.makefile("rb") as octets:
        end.sendall(b"220 atlas\r\n")
        for line in octets:
            word = line[:4].upper()
            if word == b"DATA":
                end.sendall(b"354 go on\r\n")
                while octets.readline() != b".\r\n":
                    pass
            loop.write(end, kind, b"250 ", b"OK\r\n")


{"ask": ask, "answer": answer}[sys.argv[1]](*sys.argv[2:])
