"""gevent's WSGI server as its documentation starts it."""
import sys

from gevent.pywsgi import WSGIServer

from app import app

WSGIServer(("0.0.0.0", int(sys.argv[1])), app).serve_forever()
