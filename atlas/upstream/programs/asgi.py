"""An ASGI application: 400 octets for "/", and 20 messages of 50 octets for "/pieces"."""


async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    pieces = [b"x" * 50] * 20 if scope["path"] == "/pieces" else [b"x" * 400]
    length = str(sum(map(len, pieces))).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]})
    for number, piece in enumerate(pieces, 1):
        await send({"type": "http.response.body", "body": piece, "more_body": number < len(pieces)})
