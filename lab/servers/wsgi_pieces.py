"""A WSGI application of ten pieces of 40 bytes, under gunicorn's threads or gevent's server."""
import sys


def app(_environ, start_response):
    start_response("200 OK", [("Content-Length", "400")])
    return (b"x" * 40 for _ in range(10))


if __name__ == "__main__":
    from gevent.pywsgi import WSGIServer

    WSGIServer(("0.0.0.0", int(sys.argv[1])), app, log=None).serve_forever()
