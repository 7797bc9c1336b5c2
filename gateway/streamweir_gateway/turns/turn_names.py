"""The names under which turns are stored: digests, so that the store shows no id and no text.

A turn belongs to an endpoint and to the name of a client's key. A request with another key asks for other
names, so it finds nothing, whatever ids it holds. Source: the conversation contract, section 4 (whose).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

__all__ = ["TurnOwner", "upstream_digest"]

_DIGEST_BYTES: Final = 16
_MOST_OWNERS: Final = 1000
"""The owners whose hash is kept, so that it is made once and not for each name."""


class TurnOwner(NamedTuple):
    """The endpoint and the client that turns belong to.

    Attributes:
        endpoint: the template of the endpoint's path.
        key: the name of the client's key; None where no key is asked for.
    """

    endpoint: str
    key: str | None

    def name_of_call(self, call_id: str) -> str:
        """Return the name of the turn with a call.

        Args:
            call_id: the id under which the client has the call.
        """
        return _digest(_begun(*self, "call"), call_id)

    def name_of_text(self, text: str, asked: str) -> str:
        """Return the name of a turn without a call.

        Args:
            text: the text of the turn; white space does not matter, because clients join its blocks in their
                own ways.
            asked: the text of the user's last message before the turn.
        """
        return _digest(_begun(*self, "text"), "".join(text.split()), asked)


@lru_cache(maxsize=_MOST_OWNERS)
def upstream_digest(upstream: str, dialect: str) -> str:
    """Return a digest of the identity of an upstream (its name or URL) and of its dialect."""
    return _digest(_hash("upstream"), upstream, dialect)


@lru_cache(maxsize=_MOST_OWNERS)
def _begun(endpoint: str, key: str | None, kind: str) -> hashlib.blake2b:
    """Return the hash of an owner and of a kind of name, which all such names of its turns continue."""
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
