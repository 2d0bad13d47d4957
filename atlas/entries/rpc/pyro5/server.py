"""Pyro5: an exposed class in a daemon."""
import sys
import Pyro5.api


@Pyro5.api.expose
class Echo:
    def echo(self, words):
        return words


daemon = Pyro5.api.Daemon(host=sys.argv[1], port=int(sys.argv[2]))
daemon.register(Echo(), "echo")
daemon.requestLoop()
