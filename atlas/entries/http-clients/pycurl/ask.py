"""libcurl: one easy handle for all requests."""
import io, sys
import loop, pycurl

address, port, exchanges, method, *tls = sys.argv[1:]
handle = pycurl.Curl()
handle.setopt(pycurl.URL, f"{'https' if tls else 'http'}://{address}:{port}/")
handle.setopt(pycurl.SSL_VERIFYPEER, 0)
handle.setopt(pycurl.SSL_VERIFYHOST, 0)
if method == "POST":
    handle.setopt(pycurl.POSTFIELDS, "x" * 400)


def exchange():
    answer = io.BytesIO()
    handle.setopt(pycurl.WRITEDATA, answer)
    handle.perform()


loop.ask(int(exchanges), exchange)
