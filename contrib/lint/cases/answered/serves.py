"""A server that answers each question by one send, and asks nothing itself."""
import socket
import socketserver
import threading


class Server:
    def open(self, listener):
        # cannot tell: python-socket-with-nagle
        self.end, _ = listener.accept()
        threading.Thread(target=self.serve).start()

    def serve(self):
        while True:
            question = self.end.recv(4096)
            if not question:
                return
            self.end.sendall(question)


# cannot tell: python-stream-handler-with-nagle
class Echo(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            self.wfile.write(line + read_rest(self.rfile))
            self.rfile.readline()
