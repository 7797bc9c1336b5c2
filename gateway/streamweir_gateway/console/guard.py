"""Controls access to the console: checks each request, and adds headers to each response.

A page of another site can send requests to a port of this machine. With DNS rebinding (it changes the address
of its own host name) it can read the responses too. So `Host` is checked on every path, and no response
allows another origin.

Source: the console contract, section 1; the Fetch standard, section 3.2; W3C Fetch Metadata.
"""

from __future__ import annotations

import hmac
import re
import time
from collections import deque
from collections.abc import Awaitable, Callable, Collection
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from streamweir.http.headers import HeaderList, header_values
from streamweir.http.refusals import Refusal, send_refusal
from streamweir.request_id import new_request_id
from streamweir_gateway.config import ip_of

__all__ = ["API", "ConsoleGuard", "security_headers"]

API: Final = "/api/"
"""The prefix of the paths that need the token."""

WRONG_TOKENS: Final = 10
WRONG_SECONDS: Final = 60.0
"""After `WRONG_TOKENS` wrong tokens within these seconds, further wrong tokens get a 429."""

_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self';"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS: Final[tuple[tuple[bytes, bytes], ...]] = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_NAMES: Final = frozenset(name for name, _ in _HEADERS)
_HOST: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]{1,253})(?::[0-9]{1,5})?")
_NOT_HERE: Final = (
    "Open the console by an IP address or localhost, or name this host in the gateway's file, console.hosts."
)


def security_headers() -> bytes:
    """Return the header lines of every response, for responses that no application makes."""
    return b"".join(b"%s: %s\r\n" % pair for pair in _HEADERS if pair[0] != b"x-content-type-options")


class ConsoleGuard:
    """Refuses requests, or passes them to the console.

    Args:
        app: the application of the console.
        token: the token that every request to a path below `/api/` has to send.
        hosts: names that `Host` may have, in addition to addresses and `localhost`.
        clock: returns seconds of a monotonic clock.

    Attributes:
        hosts: the argument; it may be replaced.
    """

    def __init__(
        self,
        app: ASGIApp,
        token: str,
        hosts: Collection[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.hosts = frozenset(host.lower() for host in hosts)
        self._app = app
        self._token = token.encode()
        self._clock = clock
        self._wrong: deque[float] = deque(maxlen=WRONG_TOKENS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one HTTP request."""
        is_api = scope["path"].startswith(API)

        def guarded(message: Message) -> Awaitable[None]:
            if message["type"] == "http.response.start":
                message = {**message, "headers": _with_security(message.get("headers", ()), is_api)}
            return send(message)

        try:
            self._check_page(scope["headers"], is_api=is_api)
            if is_api:
                self._check_token(scope["headers"])
        except Refusal as refusal:
            await send_refusal(guarded, refusal, request_id=new_request_id())
            return
        await self._app(scope, receive, guarded)

    def _check_page(self, headers: HeaderList, *, is_api: bool) -> None:
        """Check that the request does not come from a page of another site.

        Raises:
            Refusal: the request may come from such a page.
        """
        hosts = header_values(headers, b"host")
        if len(hosts) != 1 or not self._is_own(hosts[0]):
            raise Refusal("FORBIDDEN", _NOT_HERE)
        origins = header_values(headers, b"origin")
        own = hosts[0].lower()
        if any(origin.lower() not in (f"http://{own}", f"https://{own}") for origin in origins):
            raise Refusal("FORBIDDEN", "Pages of other origins have no access to the console.")
        sites = header_values(headers, b"sec-fetch-site")
        if is_api and any(site not in ("none", "same-origin") for site in sites):
            raise Refusal("FORBIDDEN", "Pages of other sites have no access to the console.")

    def _is_own(self, host: str) -> bool:
        match = _HOST.fullmatch(host)
        if match is None:
            return False
        name = match[1].lower()
        return ip_of(name.strip("[]")) is not None or name == "localhost" or name in self.hosts

    def _check_token(self, headers: HeaderList) -> None:
        """Check the token of the request.

        Raises:
            Refusal: the token is missing or wrong.
        """
        values = header_values(headers, b"authorization")
        scheme, _, token = values[0].partition(" ") if len(values) == 1 else ("", "", "")
        challenge = {"WWW-Authenticate": 'Bearer realm="console"'}
        if not values:
            raise Refusal("UNAUTHENTICATED", "The console's token is required.", headers=challenge)
        given = token.strip().encode("utf-8", "replace")
        if scheme.lower() == "bearer" and hmac.compare_digest(given, self._token):
            return
        if seconds := self._blocked_for():
            raise Refusal("RATE_LIMITED", headers={"Retry-After": str(seconds)})
        self._wrong.append(self._clock())
        raise Refusal("UNAUTHENTICATED", "This is not the console's token.", headers=challenge)

    def _blocked_for(self) -> int:
        """Return the seconds for which wrong tokens get a 429 at once; 0 if they are still counted."""
        now = self._clock()
        while self._wrong and now - self._wrong[0] >= WRONG_SECONDS:
            self._wrong.popleft()
        if len(self._wrong) < WRONG_TOKENS:
            return 0
        return max(1, round(WRONG_SECONDS - (now - self._wrong[0])))


def _with_security(headers: HeaderList, is_api: bool) -> list[tuple[bytes, bytes]]:
    """Return `headers` without CORS headers, and with the security headers replacing their own."""
    own = [pair for pair in headers if pair[0].lower() not in _NAMES and not _is_cors(pair[0])]
    if is_api:
        own = [pair for pair in own if pair[0].lower() != b"cache-control"]
        own.append((b"cache-control", b"no-store"))
    return [*own, *_HEADERS]


def _is_cors(name: bytes) -> bool:
    return name.lower().startswith(b"access-control-")
