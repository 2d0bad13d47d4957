"""pymemcache: set and its answer."""
import sys
import loop
from pymemcache.client.base import Client

address, port, exchanges, _ = sys.argv[1:]
client = Client((address, int(port)))
loop.ask(int(exchanges), lambda: client.set("k", b"x" * 400, noreply=False))
