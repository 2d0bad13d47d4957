"""nats.py: a message to a subject that one is subscribed to."""
import asyncio, sys
import loop, nats

address, port, exchanges, _ = sys.argv[1:]
events = asyncio.new_event_loop()


async def begin():
    client = await nats.connect(f"nats://{address}:{port}")
    return client, await client.subscribe("atlas")


async def echo():
    await client.publish("atlas", b"x" * 400)
    await subscription.next_msg(timeout=30)


client, subscription = events.run_until_complete(begin())
loop.ask(int(exchanges), lambda: events.run_until_complete(echo()))
