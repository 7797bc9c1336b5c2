"""Makes the names under which turns are stored.

They are digests, so that the store shows neither ids nor texts.

A turn belongs to an endpoint and to the name of a client's key. The names depend on both, so a request with
another key finds no turn, even if it has the same ids. Source: the conversation contract, section 4 (whose).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

import msgspec

__all__ = ["TurnOwner", "upstream_digest"]

_DIGEST_BYTES: Final = 16
_MOST_OWNERS: Final = 1000
"""The number of owners whose hash is cached, so that it is not computed anew for each name."""


class TurnOwner(msgspec.Struct, frozen=True):
    """The endpoint and the client that turns belong to.

    Attributes:
        endpoint: the template of the endpoint's path.
        key: the name of the client's key; None if the gateway has no keys.
    """

    endpoint: str
    key: str | None

    def name_of_call(self, call_id: str) -> str:
        """Return the name of a turn that contains a call.

        Args:
            call_id: the client's id of the call.
        """
        return _digest(_begun(self.endpoint, self.key, "call"), call_id)

    def name_of_text(self, text: str, asked: str, repeats: int = 0) -> str:
        """Return the name of a turn without a call.

        Args:
            text: the text of the turn; white space does not matter, because clients join its blocks in their
                own ways.
            asked: the text of the user's last message before the turn.
            repeats: the number of equal turns before it in the conversation (`TextNames`).
        """
        repeated = (str(repeats),) if repeats else ()
        return _digest(_begun(self.endpoint, self.key, "text"), "".join(text.split()), asked, *repeated)


@lru_cache(maxsize=_MOST_OWNERS)
def upstream_digest(upstream: str, dialect: str) -> str:
    """Return a digest of the identity of an upstream (its name or URL) and of its dialect."""
    return _digest(_hash("upstream"), upstream, dialect)


@lru_cache(maxsize=_MOST_OWNERS)
def _begun(endpoint: str, key: str | None, kind: str) -> hashlib.blake2b:
    """Return a hash that begins with an owner and a kind of name. All names of the kind continue it."""
    return _hash("turn", endpoint, "open" if key is None else "key", key or "", kind)


def _hash(*parts: str) -> hashlib.blake2b:
    return hashlib.blake2b(_written(parts), digest_size=_DIGEST_BYTES)


def _digest(begun: hashlib.blake2b, *parts: str) -> str:
    digest = begun.copy()
    digest.update(_written(parts))
    return digest.hexdigest()


def _written(parts: Iterable[str]) -> bytes:
    written = b""
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        written += len(data).to_bytes(8, "big") + data
    return written
