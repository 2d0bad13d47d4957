"""RPyC: a call of a service's method."""
import sys
import loop, rpyc

address, port, exchanges = sys.argv[1:]
echo = rpyc.connect(address, int(port)).root.echo
loop.ask(int(exchanges), lambda: echo("x" * 400))
