"""requests with a session."""
import sys
import loop, requests

address, port, exchanges, method = sys.argv[1:]
session = requests.Session()


def exchange():
    session.request(method, f"http://{address}:{port}/", data=b"x" * 400 if method == "POST" else None).raise_for_status()


loop.ask(int(exchanges), exchange)
