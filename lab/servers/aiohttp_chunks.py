"""aiohttp, ten chunks of 40 bytes, each a write."""
import sys
from aiohttp import web


async def answer(request):
    response = web.StreamResponse()
    response.enable_chunked_encoding()
    await response.prepare(request)
    for _ in range(10):
        await response.write(b"x" * 40)
    await response.write_eof()
    return response


app = web.Application()
app.router.add_get("/", answer)
web.run_app(app, port=int(sys.argv[1]), access_log=None, print=None)
