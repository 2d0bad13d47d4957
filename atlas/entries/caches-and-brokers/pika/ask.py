"""pika's BlockingConnection: a message that the broker confirms, or that comes back."""
import sys
import loop, pika

address, port, exchanges, what = sys.argv[1:]
connection = pika.BlockingConnection(pika.ConnectionParameters(host=address, port=int(port)))
channel = connection.channel()
queue = channel.queue_declare("", exclusive=True).method.queue
came = []
if what == "confirm":
    channel.confirm_delivery()
else:
    channel.basic_consume(queue, lambda *message: came.append(message), auto_ack=True)


def exchange():
    channel.basic_publish("", queue, b"x" * 400)
    if what == "echo":
        while not came:
            connection.process_data_events(time_limit=None)
        came.clear()


loop.ask(int(exchanges), exchange)
