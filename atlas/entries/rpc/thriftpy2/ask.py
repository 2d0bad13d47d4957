"""thriftpy2: a call through make_client."""
import os, sys
import loop, thriftpy2
from thriftpy2.rpc import make_client

address, port, exchanges = sys.argv[1:]
echo = thriftpy2.load(os.path.join(os.path.dirname(os.path.abspath(__file__)), "echo.thrift"), module_name="echo_thrift")
client = make_client(echo.Echo, address, int(port), timeout=None)
loop.ask(int(exchanges), lambda: client.echo("x" * 400))
