"""ServerProxy, which keeps its connection."""
import sys, xmlrpc.client
import loop

address, port, exchanges = sys.argv[1:]
proxy = xmlrpc.client.ServerProxy(f"http://{address}:{port}/xmlrpc")
loop.ask(int(exchanges), lambda: proxy.pow(2, 3))
