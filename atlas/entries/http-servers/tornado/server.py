"""Tornado's first handler; /streamed flushes each of four pieces."""
import asyncio, sys
import tornado.web


class Whole(tornado.web.RequestHandler):
    def get(self):
        self.write("x" * 400)


class Streamed(tornado.web.RequestHandler):
    async def get(self):
        for _ in range(4):
            self.write("x" * 100)
            await self.flush()


async def main():
    tornado.web.Application([("/whole", Whole), ("/streamed", Streamed)]).listen(int(sys.argv[1]))
    await asyncio.Event().wait()


asyncio.run(main())
