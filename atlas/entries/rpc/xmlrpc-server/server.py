"""The documentation's server. Its handler speaks HTTP/1.0, so each call has a connection of its own."""
import sys
from xmlrpc.server import SimpleXMLRPCServer

server = SimpleXMLRPCServer(("0.0.0.0", int(sys.argv[1])), logRequests=False)
server.register_function(pow)
server.serve_forever()
