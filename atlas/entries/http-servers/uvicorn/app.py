"""The documentation's application; /streamed answers in four pieces."""


async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    pieces = 4 if scope["path"] == "/streamed" else 1
    headers = [(b"content-type", b"text/plain")] + ([(b"content-length", b"400")] if pieces == 1 else [])
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for number in range(pieces):
        await send({"type": "http.response.body", "body": b"x" * (400 // pieces), "more_body": number + 1 < pieces})
