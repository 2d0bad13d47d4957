"""The client that asks memcached: so many commands at a time, in one write or in two.

    speak_memcached.py ask ADDRESS PORT EXCHANGES one|two COMMANDS
"""
import sys
import loop

_, address, port, exchanges, kind, many = sys.argv[1:]
end = loop.connected(address, int(port))
octets = end.makefile("rb")
GET = b"get k\r\n"
end.sendall(b"set k 0 0 100\r\n" + b"v" * 100 + b"\r\n")
octets.readline()


def exchange():
    commands = GET * int(many)
    # Two writes: a command in two parts, or the first commands and the last one.
    cut = 4 if int(many) == 1 else len(commands) - len(GET)
    loop.write(end, kind, commands[:cut], commands[cut:])
    for _ in range(int(many)):
        for _ in range(3):
            octets.readline()


loop.ask(int(exchanges), exchange)
