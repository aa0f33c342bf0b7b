"""The service of the zoo, as WSGI (`wsgi`) and as ASGI with a WebSocket (`asgi`)."""
import asyncio
import time

LETTERS = b"abcdefghijklmnopqrstuvwxyz"
EVENTS = [b"data: 1\n\n", b"data: 2\n\n", b"data: 3\n\n"]
PLAIN = ("Content-Type", "text/plain")


def of_range(text):
    start, end = text.removeprefix("bytes=").split("-")
    part = LETTERS[int(start) : int(end) + 1]
    return part, f"bytes {start}-{end}/{len(LETTERS)}"


def wsgi(environ, start_response):
    path = environ["PATH_INFO"]
    if path == "/echo":
        # As Django reads a body: what has no length has no bytes.
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        return plain(start_response, "200 OK", b"len=%d" % len(body))
    if path == "/early":
        return plain(start_response, "401 Unauthorized", b"early")
    if path == "/range":
        part, where = of_range(environ["HTTP_RANGE"])
        return plain(start_response, "206 Partial Content", part, ("Content-Range", where))
    if path == "/events":
        start_response("200 OK", [("Content-Type", "text/event-stream")])
        return slowly()
    return plain(start_response, "200 OK", b"hello")


def plain(start_response, status, body, *more):
    start_response(status, [PLAIN, ("Content-Length", str(len(body))), *more])
    return [body]


def slowly():
    for event in EVENTS:
        yield event
        time.sleep(0.01)


async def asgi(scope, receive, send):
    if scope["type"] == "websocket":
        return await echo(receive, send)
    if scope["type"] != "http":
        return
    path = scope["path"]
    if path == "/echo":
        size, more = 0, True
        while more:
            message = await receive()
            size += len(message.get("body", b""))
            more = message.get("more_body", False)
        await reply(send, 200, b"len=%d" % size)
    elif path == "/early":
        await reply(send, 401, b"early")
    elif path == "/range":
        part, where = of_range(dict(scope["headers"])[b"range"].decode())
        await reply(send, 206, part, (b"content-range", where.encode()))
    elif path == "/events":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        for event in EVENTS:
            await send({"type": "http.response.body", "body": event, "more_body": True})
            await asyncio.sleep(0.01)
        await send({"type": "http.response.body", "body": b""})
    else:
        await reply(send, 200, b"" if scope["method"] == "HEAD" else b"hello")


async def reply(send, status, body, *more):
    headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(body)).encode()), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def echo(receive, send):
    await receive()
    await send({"type": "websocket.accept"})
    while (message := await receive())["type"] == "websocket.receive":
        await send({"type": "websocket.send", "text": "echo " + message["text"]})
