"""paho-mqtt with its own thread: publish and wait until it is published."""
import sys
import loop
import paho.mqtt.client as mqtt

address, port, exchanges, qos = sys.argv[1:]
client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
client.connect(address, int(port))
client.loop_start()
loop.ask(int(exchanges), lambda: client.publish("t", b"x" * 400, qos=int(qos)).wait_for_publish())
