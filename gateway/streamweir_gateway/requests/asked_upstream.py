"""The upstream that a request is written for, as the mapping of requests sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from streamweir.codec.dialect import Dialect
from streamweir_gateway.incoming import Incoming

__all__ = ["AskedUpstream"]


class AskedUpstream(Protocol):
    """One upstream of an endpoint; `runs/destination.py` has the class."""

    @property
    def identity(self) -> str:
        """The name or URL that no other upstream of the endpoint has; it is never shown."""

    @property
    def dialect(self) -> Dialect:
        """The dialect that the upstream speaks."""

    def path(self, incoming: Incoming) -> str:
        """Return the path that a request of this client goes to, without its query.

        Raises:
            NoSuchPath: the values of the path would lead to another place at the upstream.
        """

    def dialect_options(self, path: str) -> Mapping[str, Any]:
        """Return the options of the dialect for requests to `path`."""
