"""Recognises requests that this gateway has sent itself, by its mark in the `Via` header.

Source: the configuration contract (what is counted: requests that come back); RFC 9110, section 7.6.3.
"""

from __future__ import annotations

import multiprocessing
import secrets
from collections.abc import Iterable
from hashlib import sha256
from typing import Final

from streamweir.http.refusals import Refusal

__all__ = ["Via", "mark_of_start"]

_DIGITS: Final = 8


def mark_of_start() -> str:
    """Return 8 hexadecimal digits, equal in all processes of one start of the gateway, also after a reload.

    Python draws `authkey` at random when a program starts, and gives it to processes that it spawns.
    """
    return sha256(b"via" + bytes(multiprocessing.current_process().authkey)).hexdigest()[:_DIGITS]


class Via:
    """Marks requests to upstreams, and finds the mark in requests of clients.

    Args:
        mark: 8 hexadecimal digits; None: drawn at random.
    """

    def __init__(self, mark: str | None = None) -> None:
        self._name = f"streamweir-{mark or secrets.token_hex(_DIGITS // 2)}".encode()
        self._value: Final = b"1.1 " + self._name
        self._value_of_old: Final = b"1.0 " + self._name

    def value(self, http_version: str = "1.1") -> bytes:
        """Return the value to add to `Via`, for a request that arrived in this version of HTTP."""
        return self._value_of_old if http_version == "1.0" else self._value

    def check(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Check that a request was not sent by this gateway itself.

        Raises:
            Refusal: this gateway has sent the request (`LOOP_DETECTED`).
        """
        if any(self._name in value for name, value in headers if name.lower() == b"via"):
            raise Refusal("LOOP_DETECTED")
