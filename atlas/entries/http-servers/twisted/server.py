"""A Resource of Twisted's; /streamed writes four pieces."""
import sys
from twisted.internet import reactor
from twisted.web import resource, server


class Page(resource.Resource):
    isLeaf = True

    def render_GET(self, request):
        if request.path == b"/whole":
            return b"x" * 400
        for _ in range(4):
            request.write(b"x" * 100)
        request.finish()
        return server.NOT_DONE_YET


reactor.listenTCP(int(sys.argv[1]), server.Site(Page()))
reactor.run()
