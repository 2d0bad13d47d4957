"""An end of ours where the other program is someone's: it starts that program, and carries octets between it and the entry.

    speak_relay.py ask ADDRESS PORT EXCHANGES one|two COMMAND...
    speak_relay.py answer PORT one|two COMMAND...

As a client it listens on loopback at PORT + 1, where COMMAND, a client that prints its exchanges, connects to; as a server it
waits until COMMAND listens there (the runner puts PORT + 1 for {behind}). What comes from COMMAND goes on at once; with `two` each piece in
two halves, a write for each. Neither direction holds anything back.
"""
import contextlib, os, signal, socket, subprocess, sys, threading, time
import loop

LOOPBACK = "127.0.0.1"
#: A database that begins with nothing makes its files first.
PATIENCE_S = 60
#: A server may listen before it answers.
READY_S = 1
#: The runner kills what has not ended in five seconds.
GONE_S = 4
#: All sockets whose octets are carried.
CARRIED = []


def ask(address, port, _exchanges, kind, *command):
    with socket.create_server((LOOPBACK, port + 1), backlog=64) as listener:
        threading.Thread(target=accept, args=[listener, (address, port), kind, True], daemon=True).start()
        time.sleep(READY_S)
        sys.exit(subprocess.run(command).returncode)


def answer(port, kind, *command):
    behind = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sys.stderr)
    signal.signal(signal.SIGTERM, lambda *_: end(behind))
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            socket.create_connection((LOOPBACK, port + 1)).close()
            break
        except OSError:
            if time.monotonic() > until:
                raise SystemExit(f"relay: nothing listens behind it, at port {port + 1}")
            time.sleep(0.1)
    time.sleep(READY_S)
    with socket.create_server(("0.0.0.0", port), backlog=64) as listener:
        accept(listener, (LOOPBACK, port + 1), kind, False)


def end(behind):
    """Ends with what stands behind, so that the next one finds its port free; a database waits until its clients have gone."""
    behind.terminate()
    for one in CARRIED:
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
    try:
        behind.wait(GONE_S)
    except subprocess.TimeoutExpired:
        behind.kill()
    os._exit(0)


def accept(listener, other, kind, from_accepted):
    """Joins each connection to one of its own; what comes from COMMAND's side is what goes in two writes."""
    while True:
        end, _ = listener.accept()
        try:
            far = socket.create_connection(other)
        except OSError:
            end.close()
            continue
        near, entry = (end, far) if from_accepted else (far, end)
        for one in [near, entry]:
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            CARRIED.append(one)
        threading.Thread(target=carry, args=[near, entry, kind], daemon=True).start()
        threading.Thread(target=carry, args=[entry, near, "one"], daemon=True).start()


def carry(source, sink, kind):
    try:
        while octets := source.recv(65536):
            if source.getpeername()[0] == LOOPBACK:
                # What stands behind shall not wait for an acknowledgment of ours.
                source.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
            half = (len(octets) + 1) // 2
            loop.write(sink, kind if len(octets) > 1 else "one", octets[:half], octets[half:])
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        for end in [source, sink]:
            end.close()


def main():
    verb, *words = sys.argv[1:]
    if verb == "ask":
        ask(words[0], int(words[1]), *words[2:])
    else:
        answer(int(words[0]), *words[1:])


main()
