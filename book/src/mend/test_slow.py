"""A test suite to practise on: its tests pass, and the connection that they use stalls."""

import socket
import threading
import unittest


def serve(listener):
    connection, _ = listener.accept()
    with connection:
        while connection.recv(1000):
            connection.sendall(b"header" + b"." * 94)
            connection.sendall(b"body" + b"." * 196)


class Answers(unittest.TestCase):
    def test_answers_are_whole(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            threading.Thread(target=serve, args=[listener], daemon=True).start()
            with socket.create_connection(listener.getsockname()) as client:
                for _ in range(4):
                    client.sendall(b"question")
                    answer = b""
                    while len(answer) < 300:
                        answer += client.recv(1000)
                    self.assertTrue(answer.startswith(b"header"))


if __name__ == "__main__":
    unittest.main()
