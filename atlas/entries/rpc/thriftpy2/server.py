"""thriftpy2: a service by make_server."""
import os, sys
import thriftpy2
from thriftpy2.rpc import make_server


class Dispatcher:
    def echo(self, words):
        return words


echo = thriftpy2.load(os.path.join(os.path.dirname(os.path.abspath(__file__)), "echo.thrift"), module_name="echo_thrift")
make_server(echo.Echo, Dispatcher(), sys.argv[1], int(sys.argv[2]), client_timeout=None).serve()
