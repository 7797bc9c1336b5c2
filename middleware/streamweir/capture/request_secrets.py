"""The secrets of one request: the values of credential headers and parameters, and the handles of runs.

Source: the contract of capture files, section 3.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final
from urllib.parse import unquote, unquote_plus

from streamweir.redaction.secret_names import is_secret_header, is_secret_name
from streamweir.runs.handles import run_names_in

__all__ = ["secrets_in"]

_OF_RUNS: Final = frozenset({"x-streamweir-run", "last-event-id"})
_SUBPROTOCOLS: Final = "sec-websocket-protocol"
_OPAQUE: Final = re.compile(r"(?=[^\W\d]*\d)(?=\d*[^\W\d])[\w~+/=-]{24,}")
"""Matches a subprotocol that no specification would name so."""
_MOST_PIECES: Final = 8
_SHORTEST: Final = 6


def secrets_in(headers: Iterable[tuple[str, str]], target: str = "") -> set[str]:
    """Return the secrets in the head of a request or a response.

    Args:
        headers: the headers, with names in lower case and values as Latin-1.
        target: the target of the request, with its query.
    """
    found = {
        secret
        for name, value in headers
        if name in _OF_RUNS or name == _SUBPROTOCOLS or is_secret_header(name)
        for text in _texts_of(value)
        for secret in _secrets_of(name, text)
    }
    found.update(run_names_in(target))
    for pair in target.partition("?")[2].split("&"):
        name, _, value = pair.partition("=")
        if value and is_secret_name(unquote_plus(name)):
            found.update((value, unquote(value), unquote_plus(value)))
    return {secret for secret in found if len(secret) >= _SHORTEST}


def _texts_of(value: str) -> Iterator[str]:
    """Yield the value of a header as Latin-1, and as the text that its bytes are in UTF-8."""
    yield value
    if not value.isascii():
        with suppress(UnicodeError):
            yield value.encode("latin-1").decode("utf-8")


def _secrets_of(name: str, value: str) -> Iterator[str]:
    if name in _OF_RUNS:
        yield from run_names_in(value) or [value.partition(".")[0]]
    elif name == _SUBPROTOCOLS:
        yield from _of_subprotocols([item.strip() for item in value.split(",")])
    elif "cookie" in name:
        yield from _of_cookies(value.split(";")[: 1 if name == "set-cookie" else None])
    else:
        yield value
        scheme, _, token = value.partition(" ")
        if token:
            yield token.strip()
        if scheme.lower() == "basic":
            yield from _of_basic(token)


def _of_cookies(pairs: Iterable[str]) -> Iterator[str]:
    """Yield the values of cookies: as they are, without quotation marks, and decoded."""
    for pair in pairs:
        value = pair.partition("=")[2].strip()
        yield from (value, value.strip('"'), unquote(value.strip('"')))


def _of_subprotocols(offered: list[str]) -> Iterator[str]:
    """Yield the credentials among subprotocols: `access_token, KEY`, `bearer.KEY`, or a key alone.

    Pages send them there, because a browser lets them send no header of their own with a WebSocket.
    """
    for before, item in zip(["", *offered], offered, strict=False):
        if is_secret_name(before) or _OPAQUE.fullmatch(item):
            yield item
        pieces = item.split(".", _MOST_PIECES)
        for count in range(1, len(pieces)):
            if is_secret_name(".".join(pieces[:count])):
                yield ".".join(pieces[count:])


def _of_basic(token: str) -> Iterator[str]:
    try:
        yield base64.b64decode(token, validate=True).decode("utf-8", "replace").partition(":")[2]
    except binascii.Error:
        return
