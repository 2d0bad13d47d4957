"""http.client, a connection that is kept."""
import http.client, sys
import loop

address, port, exchanges, method = sys.argv[1:]
connection = http.client.HTTPConnection(address, int(port))


def exchange():
    connection.request(method, "/", body=b"x" * 400 if method == "POST" else None)
    connection.getresponse().read()


loop.ask(int(exchanges), exchange)
