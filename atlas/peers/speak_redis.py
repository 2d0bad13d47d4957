"""The client that asks Redis: so many commands at a time, in one write or in two.

    speak_redis.py ask ADDRESS PORT EXCHANGES one|two COMMANDS
"""
import sys
import loop

_, address, port, exchanges, kind, many = sys.argv[1:]
end = loop.connected(address, int(port))
octets = end.makefile("rb")
SET, GET = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$100\r\n" + b"v" * 100 + b"\r\n", b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"
end.sendall(SET)
octets.readline()


def exchange():
    commands = GET * int(many)
    # Two writes: the length of the array and what is in it, or the first commands and the last one.
    cut = 4 if int(many) == 1 else len(commands) - len(GET)
    loop.write(end, kind, commands[:cut], commands[cut:])
    for _ in range(int(many)):
        octets.readline()
        octets.readline()


loop.ask(int(exchanges), exchange)
