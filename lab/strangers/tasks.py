"""Asks in two writes of an asyncio stream, with a turn of the loop between them."""
import asyncio, socket, sys, time


async def main():
    reader, writer = await asyncio.open_connection("127.0.0.1", int(sys.argv[1]))
    # asyncio's default is the other way.
    writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, len(sys.argv) > 2)
    for _ in range(20):
        began = time.monotonic()
        writer.write(b"h" * 40)
        await asyncio.sleep(0)
        writer.write(b"b" * 400)
        await reader.readexactly(2)
        print((time.monotonic() - began) * 1e3)
    writer.close()


asyncio.run(main())
