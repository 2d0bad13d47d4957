"""aiohttp's ClientSession."""
import asyncio, sys
import aiohttp, loop

address, port, exchanges, method = sys.argv[1:]
runner = asyncio.Runner()


async def ask(session):
    async with session.request(method, f"http://{address}:{port}/", data=b"x" * 400 if method == "POST" else None) as answer:
        await answer.read()


async def made():
    return aiohttp.ClientSession()


session = runner.run(made())
loop.ask(int(exchanges), lambda: runner.run(ask(session)))
