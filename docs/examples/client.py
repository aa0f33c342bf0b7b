"""A client of a service behind Tollgate that waits as the gateway says. Python 3.9 or newer, the standard library, nothing else.

    python3 client.py METHOD PATH [BODY]     with TOLLGATE_URL and TOLLGATE_TOKEN in the environment
"""

import http.client
import json
import os
import random as chance
import re
import sys
import time
import urllib.error
import urllib.request
from typing import Callable, List, Mapping, NamedTuple, Optional, Union

# Refusals of the gateway itself: the service has certainly not seen the request.
NEVER_FORWARDED = {"429 quota_exceeded", "429 too_many_in_flight", "503 overloaded", "503 store_unavailable"}
# The service may have had the request, and may have acted on it.
PERHAPS_FORWARDED = {502, 503, 504}


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """The credential is for this address only."""

    def redirect_request(self, *_):
        return None


OPENER = urllib.request.build_opener(NoRedirect)


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: str


class Left(NamedTuple):
    """policy: whose window, of which category, as in personal-read-1h. limit, remaining: in tokens. seconds: until the window ends and
    all its tokens come back; None before it has begun."""

    policy: str
    limit: int
    remaining: int
    seconds: Optional[int]


class Client:
    """token: the Bearer credential, or a function that gives it before each request.
    patience: the longest that a call may take with all its waiting, in seconds. max_tries: the most requests for one call.
    timeout: the longest that a connection may be silent, in seconds."""

    def __init__(
        self,
        url: str,
        token: Union[str, Callable[[], str]],
        patience: float = 60,
        max_tries: int = 5,
        timeout: float = 60,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.monotonic,
        random: Callable[[], float] = chance.random,
    ) -> None:
        self.url, self.token, self.patience, self.max_tries, self.timeout = url, token, patience, max_tries, timeout
        self.sleep, self.now, self.random = sleep, now, random

    def call(
        self,
        path: str,
        method: str = "GET",
        body: Optional[str] = None,
        repeatable: Optional[bool] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> Answer:
        """Gives the last answer, also a refusal; raises OSError or HTTPException where there was none.

        repeatable: whether the service may get it twice. By default only GET, HEAD and OPTIONS. A request with an Idempotency-Key
        needs it too.
        headers: more of them, such as an Idempotency-Key."""
        if repeatable is None:
            repeatable = method in ("GET", "HEAD", "OPTIONS")
        give_up_at = self.now() + self.patience
        tries = 1
        while True:
            error, answer = None, None
            try:
                answer = self._send(path, method, body, headers or {})
            except (OSError, http.client.HTTPException) as failure:
                error = failure
            wait = self._wait_after(answer, tries, repeatable)
            # Where waiting is in vain, the caller is told at once.
            if wait is None or tries == self.max_tries or self.now() + wait > give_up_at:
                if answer is None:
                    raise error
                return answer
            self.sleep(wait)
            tries += 1

    def _send(self, path: str, method: str, body: Optional[str], more: Mapping[str, str]) -> Answer:
        token = self.token() if callable(self.token) else self.token
        headers = {**more, "Authorization": f"Bearer {token}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        data = None if body is None else body.encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with OPENER.open(request, timeout=self.timeout) as answer:
                return Answer(answer.status, answer.headers, answer.read().decode(errors="replace"))
        except urllib.error.HTTPError as refusal:
            with refusal:
                return Answer(refusal.code, refusal.headers, refusal.read().decode(errors="replace"))

    def _wait_after(self, answer: Optional[Answer], tries: int, repeatable: bool) -> Optional[float]:
        """Seconds; None where the request must not be sent again, or has been answered."""
        if answer is None:
            return self._backoff(tries) if repeatable else None
        told = told_by(answer)
        if answer.headers.get("X-Tollgate-Quota-State") == "never":
            return None
        if f"{answer.status} {code_of(answer)}" in NEVER_FORWARDED:
            least = 1 if told is None else told
            # An outage may last: the waits grow.
            return least + self._backoff(tries) if answer.status == 503 else self._spread(least)
        if answer.status not in PERHAPS_FORWARDED or not repeatable:
            return None
        return self._backoff(tries) if told is None else self._spread(told)

    def _spread(self, seconds: float) -> float:
        """Never earlier than told, and not all at the same moment: a tenth later at most, or half a minute."""
        return seconds + self.random() * min(30, max(1, seconds / 10))

    def _backoff(self, tries: int) -> float:
        """Up to 1, 2, 4, ... 30 seconds."""
        return self.random() * min(30, 2 ** (tries - 1))


# A member of RateLimit that is of the gateway, and not of the service behind it.
OF_GATEWAY = re.compile(r'"((?:personal|organisation|global)-[^"]+)";r=(\d+)(?:;t=(\d+))?')


def remaining(answer: Answer) -> List[Left]:
    """What is left after a call. The window with the least left is first, and of windows with as much left the one that ends last. Divide
    remaining by what a request costs to know how many more fit. Empty where the answer does not say it, as one of a public route."""
    limits = dict(re.findall(r'"([^"]+)";q=(\d+)', answer.headers.get("RateLimit-Policy", "")))
    rest = OF_GATEWAY.findall(answer.headers.get("RateLimit", ""))
    windows = [
        Left(policy, int(limits.get(policy, left)), int(left), int(seconds) if seconds else None)
        for policy, left, seconds in rest
    ]
    return sorted(windows, key=lambda window: (window.remaining, -(window.seconds or 0)))


def told_by(answer: Answer) -> Optional[float]:
    """In seconds; None where it is missing or a date, which the gateway never sends. The body of a refusal comes first, because the
    operator may have set a bound to Retry-After that is shorter than the window."""
    seconds = said_by(answer).get("retryAfterSeconds") if is_refusal(answer) else None
    if isinstance(seconds, (int, float)):
        return seconds
    text = answer.headers.get("Retry-After", "")
    return int(text) if text.isascii() and text.isdigit() else None


def code_of(answer: Answer) -> str:
    """The `error` of an answer of the gateway; empty for one of the service, which may use the same codes. The gateway names its
    windows in RateLimit only when it has charged the request, or in its 429 of the quota."""
    if is_refusal(answer):
        return "quota_exceeded"
    code = "" if remaining(answer) else said_by(answer).get("error")
    return code if isinstance(code, str) and code != "quota_exceeded" else ""


def is_refusal(answer: Answer) -> bool:
    """Whether the quota refused. The gateway passes no X-Quota-Reset of a service on."""
    return answer.status == 429 and "X-Quota-Reset" in answer.headers


def said_by(answer: Answer) -> dict:
    try:
        body = json.loads(answer.body)
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


if __name__ == "__main__":
    url, token = os.environ.get("TOLLGATE_URL", "http://127.0.0.1:8080"), os.environ.get("TOLLGATE_TOKEN", "")
    method, path, body = (sys.argv[1:] + [None] * 3)[:3]
    answer = Client(url, token).call(path or "/me/quota", method or "GET", body)
    print(answer.status, answer.body)
