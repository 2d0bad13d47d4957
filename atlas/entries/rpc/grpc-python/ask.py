"""gRPC: a unary call on one channel."""
import sys
import grpc, loop

address, port, exchanges = sys.argv[1:]
call = grpc.insecure_channel(f"{address}:{port}").unary_unary("/atlas.Echo/Echo")
loop.ask(int(exchanges), lambda: call(b"x" * 400, wait_for_ready=True))
