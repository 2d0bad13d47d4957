"""What an API server of Kubernetes says of pods, without a cluster: lists them, creates them, and forwards a port.

    api.py PORT

A forwarded port answers 400 octets to 400. Each message is one write, and nothing is held back.
"""
import base64, hashlib, json, socket, sys, threading

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "blog", "namespace": "default", "uid": "0", "resourceVersion": "1"},
       "spec": {"containers": [{"name": "blog", "image": "clux/blog:0.1.0"}]}}
PODS = {"apiVersion": "v1", "kind": "PodList", "metadata": {"resourceVersion": "1"}, "items": [POD]}
#: What RFC 6455 joins to a key of WebSocket's.
MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
DATA, ERROR = b"\0", b"\1"
QUESTION = 400


def main():
    with socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=64) as listener:
        while True:
            end, _ = listener.accept()
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=answer, args=[end], daemon=True).start()


def answer(end):
    with end, end.makefile("rb") as octets:
        while line := octets.readline():
            method, head = line.split()[0], head_of(octets)
            octets.read(int(head.get(b"content-length", b"0")))
            if b"sec-websocket-key" in head:
                return forward(end, octets, head)
            status, said = (b"201 Created", POD) if method == b"POST" else (b"200 OK", PODS)
            body = json.dumps(said).encode()
            end.sendall(b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body))


def head_of(octets):
    head = {}
    for line in iter(octets.readline, b"\r\n"):
        name, _, value = line.partition(b":")
        head[name.strip().lower()] = value.strip()
    return head


def forward(end, octets, head):
    """Speaks Kubernetes' channels over WebSocket: both channels of the port begin with its number."""
    accepted = base64.b64encode(hashlib.sha1(head[b"sec-websocket-key"] + MAGIC).digest())
    end.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n"
                b"Sec-WebSocket-Protocol: v4.channel.k8s.io\r\n\r\n" % accepted)
    port = (80).to_bytes(2, "little")
    end.sendall(frame(DATA + port) + frame(ERROR + port))
    asked = 0
    while message := message_of(octets):
        asked += len(message) - 1
        while asked >= QUESTION:
            asked -= QUESTION
            end.sendall(frame(DATA + b"x" * QUESTION))


def frame(payload):
    """A binary frame as a server sends it; payloads are shorter than 64 kB."""
    size = bytes([len(payload)]) if len(payload) < 126 else b"\x7e" + len(payload).to_bytes(2, "big")
    return b"\x82" + size + payload


def message_of(octets):
    """The payload of the next frame of a client, which is masked; None at the end."""
    start = octets.read(2)
    if len(start) < 2:
        return None
    size = start[1] & 0x7F
    if size == 126:
        size = int.from_bytes(octets.read(2), "big")
    mask = octets.read(4)
    return bytes(octet ^ mask[place % 4] for place, octet in enumerate(octets.read(size)))


main()
