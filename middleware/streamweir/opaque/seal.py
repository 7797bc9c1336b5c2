"""Seals: an opaque value written as one text, for clients whose protocol can only carry a text.

A seal is `sw1.` and base64url without padding of

    32 bytes   SHA-256 over kind, dialect, upstream and value, each with its length before it
     1 byte    the kind of the thing that the value belongs to
     1 byte    the length of the dialect's name
     n bytes   the dialect's name, UTF-8
     rest      the value, JSON

A seal contains no secret: anybody can make a seal, and the upstream that made the value checks the value's
signature. The name of the upstream is in the checksum only, so a client does not learn it.

Source: the conversation contract, section 3.
"""

from __future__ import annotations

import binascii
import json
import re
from typing import Any, Final, Literal, NamedTuple, TypeGuard, get_args

import orjson

from streamweir.digests import sha256_of
from streamweir.errors import MalformedEvent
from streamweir.jsontext import parse_json
from streamweir.lazy_pattern import LazyPattern

__all__ = ["MAX_SEAL_CHARACTERS", "Seal", "SealedKind", "is_seal", "make_seal", "read_seal"]

SealedKind = Literal["thinking", "text", "call"]
"""The part of a turn that a value belongs to."""

MAX_SEAL_CHARACTERS: Final = 12 * 1024 * 1024
"""The longest text that is read as a seal. The largest event that is read, 8 MiB, gives a shorter seal."""

_PREFIX: Final = "sw1."
_KINDS: Final[tuple[SealedKind, ...]] = get_args(SealedKind)
_CHECKSUM: Final = 32
_HEAD: Final = _CHECKSUM + 2
_MAX_NAME: Final = 255
_BODY: Final = LazyPattern(r"[A-Za-z0-9_-]++", re.ASCII)
_URL_TO_STANDARD: Final = str.maketrans("-_", "+/")
_STANDARD_TO_URL: Final = bytes.maketrans(b"+/", b"-_")


class Seal(NamedTuple):
    """A seal that was read. Only `is_for`, which compares the checksum, tells whether the seal is genuine.

    Attributes:
        dialect: the dialect of the upstream that made the value.
        of: the part of a turn that the value belongs to.
        value: the value.
        checksum: SHA-256, 32 bytes.
        data: the JSON of the value, over which the checksum is made.
    """

    dialect: str
    of: SealedKind
    value: Any
    checksum: bytes
    data: bytes

    def is_for(self, dialect: str, upstream: str) -> bool:
        """Return whether the seal is unchanged and was made for this upstream.

        Args:
            dialect: the dialect of the upstream.
            upstream: the name of the upstream in the configuration, or its URL.
        """
        return self.dialect == dialect and self.checksum == _checksum(self.of, dialect, upstream, self.data)


def make_seal(value: Any, *, dialect: str, upstream: str, of: SealedKind) -> str:
    """Return the seal of a value: at most 1.4 times the size of its JSON, and 200 characters.

    Args:
        value: any JSON value.
        dialect: the dialect of the upstream that made the value; its name has at most 100 bytes.
        upstream: the name of the upstream in the configuration, or its URL.
        of: the part of a turn that the value belongs to.

    Raises:
        ValueError: the name of the dialect is longer than 255 bytes.
    """
    name = dialect.encode("utf-8", "replace")
    if len(name) > _MAX_NAME:
        raise ValueError("the name of a dialect must be at most 255 bytes")
    data = _json_of(value)
    head = bytes((_KINDS.index(of), len(name)))
    return _PREFIX + _encoded(b"".join((_checksum(of, dialect, upstream, data), head, name, data)))


def is_seal(text: object) -> TypeGuard[str]:
    """Return whether a value is a text that begins like a seal. No upstream makes such a text."""
    return isinstance(text, str) and text.startswith(_PREFIX)


def read_seal(text: object) -> Seal | None:
    """Return the seal in a text; None if the text does not have the form of a seal, or is too long.

    The time is proportional to the length of the text, and bounded by `MAX_SEAL_CHARACTERS`.
    """
    if not is_seal(text) or len(text) > MAX_SEAL_CHARACTERS:
        return None
    held = _decoded(text[len(_PREFIX) :])
    if held is None or len(held) < _HEAD:
        return None
    kind, length = held[_CHECKSUM], held[_CHECKSUM + 1]
    data = held[_HEAD + length :]
    if kind >= len(_KINDS) or not data:
        return None
    try:
        dialect = held[_HEAD : _HEAD + length].decode()
        return Seal(dialect, _KINDS[kind], parse_json(data)[0], held[:_CHECKSUM], data)
    except (MalformedEvent, UnicodeDecodeError):
        return None


def _checksum(of: str, dialect: str, upstream: str, data: bytes) -> bytes:
    """Return the SHA-256 of the fields, each preceded by its length, so different fields differ as input."""
    fields = (of.encode(), dialect.encode("utf-8", "replace"), upstream.encode("utf-8", "replace"), data)
    return sha256_of(piece for field in fields for piece in (len(field).to_bytes(8), field))


def _json_of(value: Any) -> bytes:
    """Return the JSON of a value, also for integers beyond 64 bits and lone surrogates, unlike orjson."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, separators=(",", ":"), default=str).encode()


def _encoded(data: bytes) -> str:
    return binascii.b2a_base64(data, newline=False).rstrip(b"=").translate(_STANDARD_TO_URL).decode()


def _decoded(text: str) -> bytes | None:
    """Return the bytes of base64url text; None for a text that `_encoded` would not write."""
    if not _BODY.fullmatch(text):
        return None
    try:
        data = binascii.a2b_base64(
            text.translate(_URL_TO_STANDARD) + "=" * (-len(text) % 4), strict_mode=True
        )
    except binascii.Error:
        return None
    last = len(data) - len(data) % 3
    return data if _encoded(data[last:]) == text[last // 3 * 4 :] else None
