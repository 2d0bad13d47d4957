"""HTTPX with a client."""
import sys
import httpx, loop

address, port, exchanges, method = sys.argv[1:]
client = httpx.Client()


def exchange():
    client.request(method, f"http://{address}:{port}/", content=b"x" * 400 if method == "POST" else None).raise_for_status()


loop.ask(int(exchanges), exchange)
