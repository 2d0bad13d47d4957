"""redis-py: set, or a pipeline of ten gets."""
import sys
import loop, redis

address, port, exchanges, what = sys.argv[1:]
client = redis.Redis(host=address, port=int(port))


def exchange():
    if what == "set":
        client.set("k", "x" * 400)
    else:
        pipeline = client.pipeline(transaction=False)
        for _ in range(10):
            pipeline.get("k")
        pipeline.execute()


loop.ask(int(exchanges), exchange)
