"""Pyro5: a call through a proxy."""
import sys
import loop, Pyro5.api

address, port, exchanges = sys.argv[1:]
proxy = Pyro5.api.Proxy(f"PYRO:echo@{address}:{port}")
loop.ask(int(exchanges), lambda: proxy.echo("x" * 400))
