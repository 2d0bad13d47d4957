"""aiohttp's first server; /streamed answers by StreamResponse in four pieces."""
import sys
from aiohttp import web


async def whole(_):
    return web.Response(text="x" * 400)


async def streamed(request):
    response = web.StreamResponse()
    await response.prepare(request)
    for _ in range(4):
        await response.write(b"x" * 100)
    await response.write_eof()
    return response


application = web.Application()
application.add_routes([web.get("/whole", whole), web.get("/streamed", streamed)])
web.run_app(application, port=int(sys.argv[1]), print=None)
