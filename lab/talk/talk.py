"""One end of a conversation, for lab/whatif-truth.

    talk.py serve PORT SPEC
    talk.py ask ADDRESS PORT SPEC LOG
    talk.py get ADDRESS PORT SPEC LOG

SPEC is JSON: "ask" and "answer" are lists of the octets of each write, "think_ms" and "work_ms" how long the client and
the server think on average (drawn, exponential), "gap_ms" the time between two writes, "connections" how many there are.
A client writes a line for each turn into LOG: when it ended, how long it took by its own clock (seconds), and the data
segments that its socket has sent and received so far. "get" asks a web server of anybody's.
"""
import json, random, re, socket, struct, sys, threading, time

GET = b"GET / HTTP/1.1\r\nHost: lab\r\n\r\n"


def main():
    if sys.argv[1] == "serve":
        return serve(int(sys.argv[2]), json.loads(sys.argv[3]))
    spec = json.loads(sys.argv[4])
    turn = web_turn if sys.argv[1] == "get" else own_turn
    with open(sys.argv[5], "w") as log:
        threads = [threading.Thread(target=ask, args=[turn, sys.argv[2], int(sys.argv[3]), spec, number, log])
                   for number in range(spec.get("connections", 1))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def serve(port, spec):
    with socket.create_server(("0.0.0.0", port)) as listener:
        while True:
            end, _ = listener.accept()
            threading.Thread(target=answer, args=[end, spec], daemon=True).start()


def answer(end, spec):
    dice = random.Random(1)
    while read(end, sum(spec["ask"])):
        pause(dice, spec.get("work_ms", 0))
        write(end, spec["answer"], spec.get("gap_ms", 0))


def ask(turn, address, port, spec, number, log):
    end = socket.create_connection((address, port))
    dice = random.Random(number)
    while True:
        pause(dice, spec.get("think_ms", 0))
        began = time.monotonic()
        if not turn(end, spec):
            return
        over = time.monotonic()
        info = end.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 160)
        received, sent = struct.unpack_from("=II", info, 152)
        log.write(f"{number} {over:.6f} {over - began:.6f} {sent + received}\n")
        log.flush()


def own_turn(end, spec):
    write(end, spec["ask"], spec.get("gap_ms", 0))
    return read(end, sum(spec["answer"]))


def web_turn(end, _):
    end.sendall(GET)
    octets = b""
    while not is_whole(octets):
        more = end.recv(65536)
        if not more:
            return False
        octets += more
    return True


def is_whole(octets):
    head, empty, body = octets.partition(b"\r\n\r\n")
    if not empty:
        return False
    length = re.search(rb"(?i)content-length: *(\d+)", head)
    return len(body) >= int(length[1]) if length else body.endswith(b"0\r\n\r\n")


def pause(dice, mean_ms):
    if mean_ms:
        time.sleep(dice.expovariate(1000 / mean_ms))


def write(end, lengths, gap_ms):
    for index, length in enumerate(lengths):
        if index and gap_ms:
            time.sleep(gap_ms / 1000)
        end.sendall(b"x" * length)


def read(end, length):
    while length:
        octets = end.recv(min(length, 65536))
        if not octets:
            return False
        length -= len(octets)
    return True


main()
