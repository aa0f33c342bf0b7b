"""A service that says which `sid` and `api_key` Python reads: by its standard library, Werkzeug or Django."""

import json
import sys
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qsl, urlsplit


def by_standard_library(field):
    try:
        return {name: morsel.value for name, morsel in SimpleCookie(field).items()}
    except CookieError:
        return {}


def by_werkzeug(field):
    from werkzeug.http import parse_cookie

    return parse_cookie(field)


def by_django(field):
    from django.http import parse_cookie

    return parse_cookie(field)


def query_by_standard_library(query):
    return dict(parse_qsl(query))


def query_by_werkzeug(query):
    from werkzeug.test import EnvironBuilder
    from werkzeug.wrappers import Request

    return Request(EnvironBuilder(query_string=query).get_environ()).args


def query_by_django(query):
    from django.conf import settings
    from django.http import QueryDict

    if not settings.configured:
        settings.configure()
    return QueryDict(query)


READERS = {
    "standard": (by_standard_library, query_by_standard_library),
    "werkzeug": (by_werkzeug, query_by_werkzeug),
    "django": (by_django, query_by_django),
}
read_cookies, read_query = READERS[sys.argv[1]]


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        field = "; ".join(self.headers.get_all("Cookie", []))
        query = read_query(urlsplit(self.path).query)
        body = json.dumps({"sid": read_cookies(field).get("sid"), "api_key": query.get("api_key")}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
