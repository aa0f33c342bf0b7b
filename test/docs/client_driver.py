"""Makes one call with docs/examples/client.py for a test: takes a JSON object, prints {"status", "code", "slept", "failed"}.

With "skip" it only notes how long it should sleep; else it does sleep."""

import json
import sys
import time

sys.path.insert(0, "docs/examples")
sys.dont_write_bytecode = True
from client import Client, said_by  # noqa: E402

given = json.loads(sys.argv[1])
slept = []


def sleep(seconds):
    slept.append(seconds)
    if not given["skip"]:
        time.sleep(seconds)


tokens = iter(given["tokens"])
client = Client(given["url"], (lambda: next(tokens)) if given["tokens"] else given["token"], given["patience"], given["maxTries"], sleep=sleep, random=lambda: given["chance"])
try:
    for _ in range(given["times"]):
        answer = client.call(given["path"], given["method"], given["body"], given["repeatable"])
    print(json.dumps({"status": answer.status, "code": said_by(answer).get("error", ""), "slept": slept, "failed": False}))
except OSError:
    print(json.dumps({"status": None, "code": "", "slept": slept, "failed": True}))
