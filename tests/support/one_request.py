"""One HTTP request to a server on this machine, over a connection of its own."""

from __future__ import annotations

import http.client
import time

__all__ = ["asked", "wait_for"]


def asked(
    port: int, method: str, path: str, body: bytes | None = None, **headers: str
) -> tuple[dict[str, str], bytes, int]:
    """Send a request; return the headers, the body and the status of the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=90)
    try:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body=body, headers=sent)
        response = connection.getresponse()
        found = {name.lower(): value for name, value in response.getheaders()}
        return found, response.read(), response.status
    finally:
        connection.close()


def wait_for(port: int) -> None:
    """Wait until a server listens.

    Raises:
        AssertionError: it does not within half a minute.
    """
    deadline = time.monotonic() + 90
    while True:
        try:
            asked(port, "GET", "/healthz")
        except OSError:
            assert time.monotonic() < deadline, "it does not listen"
            time.sleep(0.1)
        else:
            return
