"""Publishes with paho-mqtt as its documentation shows (loop_start, QoS 0): HOST PORT CLIENTS EXCHANGES MESSAGES.

An exchange is that many readings of 20 octets, published one after the other, the last on the topic "end", until the
broker's answer to the last has come. Writes the times as ask.py does.
"""
import json, sys, threading, time

import paho.mqtt.client as mqtt


def exchange_all(host, port, exchanges, messages, micros, start):
    seen, subscribed = threading.Event(), threading.Event()
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
    client.on_connect = lambda *_: client.subscribe("seen")
    client.on_subscribe = lambda *_: subscribed.set()
    client.on_message = lambda *_: seen.set()
    client.connect(host, port)
    client.loop_start()
    subscribed.wait()
    start.wait()
    for number in range(exchanges + 1):
        seen.clear()
        began = time.perf_counter()
        for left in range(messages, 0, -1):
            client.publish("end" if left == 1 else "reading", b"x" * 20)
        seen.wait()
        if number:
            micros.append((time.perf_counter() - began) * 1e6)
    client.disconnect()
    client.loop_stop()


def main(host, port, clients, exchanges, messages):
    micros, start = [], threading.Barrier(clients + 1)
    words = (host, port, exchanges, messages, micros, start)
    threads = [threading.Thread(target=exchange_all, args=words) for _ in range(clients)]
    for thread in threads:
        thread.start()
    start.wait()
    began = time.perf_counter()
    for thread in threads:
        thread.join()
    print(json.dumps({"micros": micros, "seconds": time.perf_counter() - began}))


main(sys.argv[1], *map(int, sys.argv[2:]))
