"""The names under which turns are stored: digests, so that the store shows no id and no text.

A turn belongs to an endpoint and to the name of a client's key. A request with another key asks for other
names, so it finds nothing, whatever ids it holds. Source: the conversation contract, section 4 (whose).
"""

from __future__ import annotations

import hashlib
from typing import Final, NamedTuple

__all__ = ["TurnOwner", "upstream_digest"]

_DIGEST_BYTES: Final = 16


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
        return _digest(*self._parts, "call", call_id)

    def name_of_text(self, text: str, asked: str) -> str:
        """Return the name of a turn without a call.

        Args:
            text: of the turn; white space does not matter, because clients join its blocks in their own ways.
            asked: the text of the user's last message before the turn.
        """
        return _digest(*self._parts, "text", "".join(text.split()), asked)

    @property
    def _parts(self) -> tuple[str, str, str, str]:
        return "turn", self.endpoint, "open" if self.key is None else "key", self.key or ""


def upstream_digest(upstream: str, dialect: str) -> str:
    """Return a digest of the identity of an upstream (its name or URL) and of its dialect."""
    return _digest("upstream", upstream, dialect)


def _digest(*parts: str) -> str:
    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()
