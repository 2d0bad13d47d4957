"""eventlet's WSGI server as its documentation starts it."""
import sys

import eventlet
from eventlet import wsgi

from app import app

wsgi.server(eventlet.listen(("0.0.0.0", int(sys.argv[1]))), app)
