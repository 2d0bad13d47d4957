"""gRPC: a unary call, by a generic handler that needs no generated code."""
import sys
from concurrent import futures
import grpc


class Echo(grpc.GenericRpcHandler):
    def service(self, details):
        return grpc.unary_unary_rpc_method_handler(lambda request, context: request)


server = grpc.server(futures.ThreadPoolExecutor(max_workers=4), handlers=[Echo()])
server.add_insecure_port(f"{sys.argv[1]}:{sys.argv[2]}")
server.start()
server.wait_for_termination()
