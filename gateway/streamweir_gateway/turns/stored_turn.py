"""The stored form of a turn: a checksum, then JSON.

The checksum also covers the name. A value that is cut, changed or stored under another name is rejected.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from streamweir_gateway.turns.argument_digest import argument_digest

__all__ = ["StoredCall", "StoredTurn", "read_turn", "text_digests", "write_turn"]

_CHECKSUM_BYTES: Final = 16
_JOINTS: Final = ("", "\n", "\n\n")
"""The ways in which clients join the texts of one message."""


class StoredCall(msgspec.Struct, array_like=True, frozen=True):
    """A call of a turn.

    Attributes:
        client_id: the client's id of the call.
        upstream_id: the upstream's own id; None if the upstream gave none.
        name: the name of the tool.
        arguments: the digest of the call's arguments (`argument_digest`).
        is_executed: whether the upstream has run the call itself, so that a client may leave it out.
        with_texts: the digest for clients that have integers beyond 64 bits as texts (`digest_with_texts`);
            None without such integers.
    """

    client_id: str
    upstream_id: str | None
    name: str
    arguments: str
    is_executed: bool = False
    with_texts: str | None = None

    def has_arguments(self, arguments: Any) -> bool:
        """Return whether a client's arguments equal those of this call."""
        return argument_digest(arguments) in (self.arguments, self.with_texts)


class StoredTurn(msgspec.Struct, array_like=True, frozen=True):
    """A turn, and the facts by which an assistant's message is recognised as this turn.

    Attributes:
        made_by: the digest of the upstream (`upstream_digest`).
        calls: the calls in the order of the turn.
        texts: the digests of the text, one for each way to join its blocks.
        message: the turn as JSON in the upstream's format.
    """

    made_by: str
    calls: list[StoredCall]
    texts: list[str]
    message: msgspec.Raw


_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(StoredTurn).decode


def write_turn(name: str, turn: StoredTurn) -> bytes:
    """Return the value that is stored under `name`."""
    body = _encode(turn)
    return _checksum(name, body) + body


def read_turn(name: str, value: bytes | None) -> StoredTurn | None:
    """Return the turn in a value of the store; None if it is missing or not the turn of this name."""
    if value is None or value[:_CHECKSUM_BYTES] != _checksum(name, value[_CHECKSUM_BYTES:]):
        return None
    try:
        return _decode(value[_CHECKSUM_BYTES:])
    except (msgspec.MsgspecError, ValueError):
        return None


def text_digests(texts: Sequence[str]) -> list[str]:
    """Return the digests of a text, one for each way to join its blocks."""
    if len(texts) < 2:
        return [_text_digest(texts[0]) if texts else _EMPTY_DIGEST]
    return [_text_digest(text) for text in dict.fromkeys(joint.join(texts) for joint in _JOINTS)]


def _text_digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_CHECKSUM_BYTES).hexdigest()


_EMPTY_DIGEST: Final = _text_digest("")


def _checksum(name: str, body: bytes) -> bytes:
    return hashlib.blake2b(name.encode() + body, digest_size=_CHECKSUM_BYTES).digest()
