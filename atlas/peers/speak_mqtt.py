"""The client of an MQTT broker: subscribes to a topic, publishes to it with QoS 1, and has its message back.

    speak_mqtt.py ask ADDRESS PORT EXCHANGES one|two QOS

QOS is that of the subscription: with 1 it acknowledges what comes, with 0 it only reads.
"""
import sys
import loop

_, address, port, exchanges, kind, qos = sys.argv[1:]
end = loop.connected(address, int(port))
octets = end.makefile("rb")


def packet(first, content):
    return bytes([first, len(content)]) + content


def read():
    first, length = octets.read(2)
    return first, octets.read(length)


end.sendall(packet(0x10, b"\x00\x04MQTT\x04\x02\x00\x3c" + b"\x00\x05atlas"))
read()
end.sendall(packet(0x82, b"\x00\x01\x00\x01t" + bytes([int(qos)])))
read()


def exchange():
    message = packet(0x32, b"\x00\x01t\x00\x02" + b"x" * 50)
    # The fixed header in a write of its own is what some clients do.
    loop.write(end, kind, message[:2], message[2:])
    came = []
    # Our acknowledgment goes when the message is here; the broker's may come before or after it.
    while len(came) < 2:
        first, content = read()
        came.append(first)
        if first & 0xF6 == 0x32:
            end.sendall(packet(0x40, content[3:5]))


loop.ask(int(exchanges), exchange)
