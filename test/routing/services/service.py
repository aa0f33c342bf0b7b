"""A service on Werkzeug's router, which is Flask's: it says which of its handlers a path has. `slashes` or `no-slashes`: strict_slashes."""

import sys
from werkzeug.exceptions import HTTPException
from werkzeug.routing import Map, Rule
from werkzeug.serving import make_server
from werkzeug.wrappers import Request, Response

rules = [
    Rule("/v1/kiss", endpoint="dear"),
    Rule("/v1/user/<id>/pay", endpoint="dear"),
    Rule("/", endpoint="other"),
    Rule("/<path:rest>", endpoint="other"),
]
urls = Map(rules, strict_slashes=sys.argv[1] == "slashes")


@Request.application
def app(request):
    try:
        endpoint, _ = urls.bind_to_environ(request.environ).match()
        return Response(endpoint)
    except HTTPException as refused:
        return refused


server = make_server("127.0.0.1", 0, app)
print(server.port, flush=True)
server.serve_forever()
