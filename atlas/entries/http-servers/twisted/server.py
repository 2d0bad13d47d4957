"""A Resource of Twisted's; /streamed writes four pieces in one turn of the loop, /later two, the second of them 2 ms later."""
import sys
from twisted.internet import reactor
from twisted.web import resource, server


class Page(resource.Resource):
    isLeaf = True

    def render_GET(self, request):
        if request.path == b"/whole":
            return b"x" * 400
        if request.path == b"/later":
            request.setHeader(b"content-length", b"400")
            request.write(b"x" * 200)
            reactor.callLater(0.002, end, request)
            return server.NOT_DONE_YET
        for _ in range(4):
            request.write(b"x" * 100)
        request.finish()
        return server.NOT_DONE_YET


def end(request):
    request.write(b"x" * 200)
    request.finish()


reactor.listenTCP(int(sys.argv[1]), server.Site(Page()))
reactor.run()
