"""The clients of Python. Argument: the library. Each line of the input is `SHAPE URL`, and gets one line of JSON."""
import asyncio
import json
import sys

LARGE = b"x" * 3_000_000
EARLY = b"x" * 1_000_000


def answer(status, body=""):
    if isinstance(body, bytes):
        body = body.decode("latin1")
    return {"status": status, "body": body[:200]}


def with_session(session, stream):
    """Requests and httpx speak alike. `stream` makes a body without a length."""

    def run(shape, url):
        if shape == "keepalive":
            replies = [session.get(url + "/hello") for _ in range(5)]
            return answer(max(r.status_code for r in replies), replies[-1].text)
        reply = {
            "chunked": lambda: session.post(url + "/echo", **stream([b"he", b"llo"])),
            "large": lambda: session.post(url + "/echo", **{body_name: LARGE}),
            "early": lambda: session.post(url + "/early", **{body_name: EARLY}),
            "head": lambda: session.head(url + "/hello"),
            "range": lambda: session.get(url + "/range", headers={"Range": "bytes=10-19"}),
            "sse": lambda: session.get(url + "/events"),
        }[shape]()
        return answer(reply.status_code, reply.text)

    body_name = "content" if type(session).__module__.startswith("httpx") else "data"
    return run


def requests_client(shape, url):
    import requests

    with requests.Session() as session:
        return with_session(session, lambda pieces: {"data": iter(pieces)})(shape, url)


def httpx_client(shape, url):
    import httpx

    with httpx.Client(timeout=60) as session:
        return with_session(session, lambda pieces: {"content": iter(pieces)})(shape, url)


def aiohttp_client(shape, url):
    return asyncio.run(aiohttp_ask(shape, url))


async def aiohttp_ask(shape, url):
    import aiohttp

    async def pieces():
        for piece in [b"he", b"llo"]:
            yield piece

    async with aiohttp.ClientSession() as session:
        if shape == "ws":
            async with session.ws_connect(url + "/ws") as socket:
                await socket.send_str("hi")
                return answer(101, await socket.receive_str())
        method, path, options = {
            "chunked": ("POST", "/echo", {"data": pieces()}),
            "large": ("POST", "/echo", {"data": LARGE}),
            "early": ("POST", "/early", {"data": EARLY}),
            "head": ("HEAD", "/hello", {}),
            "range": ("GET", "/range", {"headers": {"Range": "bytes=10-19"}}),
            "sse": ("GET", "/events", {}),
            "keepalive": ("GET", "/hello", {}),
        }[shape]
        for _ in range(5 if shape == "keepalive" else 1):
            async with session.request(method, url + path, **options) as reply:
                last = answer(reply.status, await reply.text())
        return last


def websockets_client(_shape, url):
    from websockets.sync.client import connect

    with connect(url.replace("http", "ws") + "/ws") as socket:
        socket.send("hi")
        return answer(101, socket.recv())


def websocket_client(_shape, url):
    import websocket

    socket = websocket.create_connection(url.replace("http", "ws") + "/ws")
    socket.send("hi")
    reply = socket.recv()
    socket.close()
    return answer(101, reply)


CLIENTS = {
    "requests": requests_client,
    "httpx": httpx_client,
    "aiohttp": aiohttp_client,
    "websockets": websockets_client,
    "websocket-client": websocket_client,
}

ask = CLIENTS[sys.argv[1]]
for line in sys.stdin:
    try:
        said = ask(*line.split())
    except Exception as error:
        said = {"error": f"{type(error).__name__}: {error}"[:300]}
    print(json.dumps(said), flush=True)
