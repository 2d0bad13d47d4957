"""One end of a conversation, for lab/whatif-truth.

    talk.py serve PORT SPEC
    talk.py ask ADDRESS PORT SPEC LOG

SPEC is JSON: "ask" and "answer" are lists of the octets of each write, "think_ms" and "work_ms" how long the client and
the server think on average (drawn, exponential), "gap_ms" the time between two writes, "connections" how many there are.
A client writes a line for each turn into LOG: when it ended, how long it took by its own clock (seconds), and the data
segments that its socket has sent and received so far.
"""
import json, random, socket, struct, sys, threading, time


def main():
    if sys.argv[1] == "serve":
        return serve(int(sys.argv[2]), json.loads(sys.argv[3]))
    spec = json.loads(sys.argv[4])
    with open(sys.argv[5], "w") as log:
        threads = [threading.Thread(target=ask, args=[sys.argv[2], int(sys.argv[3]), spec, number, log])
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


def ask(address, port, spec, number, log):
    end = socket.create_connection((address, port))
    dice = random.Random(number)
    while True:
        pause(dice, spec.get("think_ms", 0))
        began = time.monotonic()
        write(end, spec["ask"], spec.get("gap_ms", 0))
        if not read(end, sum(spec["answer"])):
            return
        over = time.monotonic()
        info = end.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 160)
        received, sent = struct.unpack_from("=II", info, 152)
        log.write(f"{number} {over:.6f} {over - began:.6f} {sent + received}\n")
        log.flush()


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
