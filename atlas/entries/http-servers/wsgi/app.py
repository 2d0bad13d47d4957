"""The first WSGI application of PEP 3333; /streamed gives its body in four pieces."""


def app(environ, start_response):
    pieces = 4 if environ["PATH_INFO"] == "/streamed" else 1
    length = [("Content-Length", "400")] if pieces == 1 else []
    start_response("200 OK", [("Content-Type", "text/plain"), *length])
    return [b"x" * (400 // pieces) for _ in range(pieces)]
