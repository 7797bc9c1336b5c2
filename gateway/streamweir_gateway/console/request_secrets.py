"""The secrets of one request: the values of its credential headers, and the handles of its run.

Source: the contract of capture files, section 3.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator
from typing import Final

from streamweir.redaction.secret_names import is_secret_header
from streamweir_gateway.console.stream_log import NumberedEntry

__all__ = ["secrets_in"]

_OF_RUNS: Final = frozenset({"x-streamweir-run", "last-event-id"})
_SHORTEST: Final = 6


def secrets_in(entries: Iterable[NumberedEntry]) -> set[str]:
    """Return the secrets in the heads of requests and responses."""
    found: set[str] = set()
    for _, entry in entries:
        if entry[0] in ("request", "response"):
            for name, value in entry[2]["headers"]:
                found.update(_secrets_of(name, value))
    return {secret for secret in found if len(secret) >= _SHORTEST}


def _secrets_of(name: str, value: str) -> Iterator[str]:
    if name in _OF_RUNS:
        yield value.partition(".")[0]
    elif "cookie" in name:
        yield from (pair.partition("=")[2].strip() for pair in value.split(";"))
    elif is_secret_header(name):
        yield value
        scheme, _, token = value.partition(" ")
        if token:
            yield token.strip()
        if scheme.lower() == "basic":
            yield from _of_basic(token)


def _of_basic(token: str) -> Iterator[str]:
    try:
        yield base64.b64decode(token, validate=True).decode("utf-8", "replace").partition(":")[2]
    except binascii.Error:
        return
