"""RPyC: a service in a ThreadedServer."""
import sys
import rpyc
from rpyc.utils.server import ThreadedServer


class Echo(rpyc.Service):
    def exposed_echo(self, words):
        return words


ThreadedServer(Echo, hostname=sys.argv[1], port=int(sys.argv[2])).start()
