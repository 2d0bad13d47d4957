"""Sanic: a handler that answers at once, and one that sends four pieces."""
import sys
from sanic import Sanic
from sanic.response import text

app = Sanic("atlas")


@app.get("/whole")
async def whole(request):
    return text("x" * 400)


@app.get("/streamed")
async def streamed(request):
    response = await request.respond(content_type="text/plain")
    for _ in range(4):
        await response.send("x" * 100)
    await response.eof()


if __name__ == "__main__":
    app.run(host=sys.argv[1], port=int(sys.argv[2]), single_process=True, access_log=False)
