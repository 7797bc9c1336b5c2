"""Values about callers: keys, and origins of pages. No message quotes a key."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any, Final

from pydantic import BeforeValidator

from streamweir_gateway.config.diagnostics import InvalidValue, not_this
from streamweir_gateway.config.values.scalars import Scalar, read_text, text_schema

__all__ = ["ANY_ORIGIN", "CALLER_KEY", "CALLER_NAMES", "HASHED", "MIN_KEY_CHARACTERS", "ORIGIN", "key_digest"]

ANY_ORIGIN: Final = "*"
HASHED: Final = "sha256:"
"""The prefix of a key that is given as a digest."""
_OPEN: Final = "open"
MIN_KEY_CHARACTERS: Final = 12
"""The fewest characters of a key in plain text."""

_ORIGIN: Final = re.compile(
    r"([a-z][a-z0-9+.-]{0,30})://([a-z0-9._-]{1,255}|\[[0-9a-f:.]{1,64}\])(?::([1-9][0-9]{0,4}))?"
)
_ORIGIN_RULE: Final = "must be scheme://host or scheme://host:port as browsers send it"
_HEXADECIMAL: Final = re.compile("[0-9A-Fa-f]{64}")
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


def _caller_key(value: Any) -> str:
    key = read_text(value)
    if not re.fullmatch(r"[!-~]+", key):
        raise InvalidValue("must be printable ASCII without spaces: it travels in a header")
    if key.startswith(HASHED) and not _HEXADECIMAL.fullmatch(key.removeprefix(HASHED)):
        raise InvalidValue(f"must have 64 hexadecimal digits after {HASHED}")
    if len(key) < MIN_KEY_CHARACTERS:
        raise InvalidValue(f"must have at least {MIN_KEY_CHARACTERS} characters: shorter keys can be guessed")
    return key


def key_digest(key: str) -> bytes:
    """Return the SHA-256 digest of a key, given in plain text or as a digest."""
    if key.startswith(HASHED):
        return bytes.fromhex(key.removeprefix(HASHED))
    return sha256(key.encode()).digest()


def _origin(value: Any) -> str:
    origin = read_text(value)
    if origin == ANY_ORIGIN:
        return origin
    faults = {
        "must name one host; only * alone stands for every origin": "*" in origin,
        f"{_ORIGIN_RULE}; any sandboxed page is null": origin == "null",
        f"{_ORIGIN_RULE}: without a slash at the end": bool(re.fullmatch("[^/]+://[^/]+/", origin)),
        f"{_ORIGIN_RULE}: without a path, query or fragment": bool(re.match("[^/]+://[^/]*[/?#]", origin)),
        f"{_ORIGIN_RULE}: in lower case": origin != origin.lower(),
        f"{_ORIGIN_RULE}: another alphabet's host in its xn-- form": not origin.isascii(),
        _ORIGIN_RULE: not _ORIGIN.fullmatch(origin),
    }
    for message, found in faults.items():
        if found:
            # Before an @ stands a password.
            raise InvalidValue(message, "" if "@" in origin else not_this(origin))
    _check_port(origin)
    return origin


def _check_port(origin: str) -> None:
    match = _ORIGIN.fullmatch(origin)
    assert match is not None, "the origin has been read"
    port = int(match[3] or 0)
    if port > 65535:
        raise InvalidValue(f"{_ORIGIN_RULE}: with a port up to 65535", not_this(origin))
    if port and port == _DEFAULT_PORTS.get(match[1]):
        raise InvalidValue(f"{_ORIGIN_RULE}: without the scheme's own port", not_this(origin))


def _caller_names(value: Any) -> Any:
    """Return the names of the keys that may call an endpoint; empty for `open`, which needs no key."""
    if value == _OPEN:
        return ()
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list):
        raise InvalidValue("must be open, the name of a key, or a list of names")
    if not value:
        raise InvalidValue("must name at least one key; open: no key is asked for")
    return value


CALLER_NAMES: Final = BeforeValidator(_caller_names)
CALLER_KEY: Final = Scalar(_caller_key, text_schema("^[!-~]+$"))
ORIGIN: Final = Scalar(_origin, text_schema(r"^(\*|[a-z][a-z0-9+.-]*://[^/?#A-Z]+)$"))
