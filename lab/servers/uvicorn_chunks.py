"""uvicorn (ASGI), ten pieces of 40 bytes."""
import sys
import uvicorn


async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"400")]})
    for i in range(10):
        await send({"type": "http.response.body", "body": b"x" * 40, "more_body": i < 9})


uvicorn.run(app, host="0.0.0.0", port=int(sys.argv[1]), log_level="critical", access_log=False, lifespan="off")
