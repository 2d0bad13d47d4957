"""The client of beanstalkd: puts a job, reserves it and deletes it, asked at once.

    speak_beanstalkd.py ask ADDRESS PORT EXCHANGES one|two
"""
import sys
import loop

_, address, port, exchanges, kind = sys.argv[1:]
end = loop.connected(address, int(port))
octets = end.makefile("rb")


def exchange():
    loop.write(end, kind, b"put 1 0 60 100\r\n", b"x" * 100 + b"\r\nreserve\r\n")
    octets.readline()
    job = octets.readline().split()[1]
    octets.read(102)
    end.sendall(b"delete " + job + b"\r\n")
    octets.readline()


loop.ask(int(exchanges), exchange)
