"""The interface by which the mapping of requests sees the upstream that a request is written for."""

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
        """A name or URL that is unique among the upstreams of the endpoint. It is never shown."""

    @property
    def dialect(self) -> Dialect:
        """The dialect that the upstream speaks."""

    def path(self, incoming: Incoming) -> str:
        """Return the upstream's path, without a query, for a request of this client.

        Raises:
            NoSuchPath: the client's path would lead out of the configured path.
        """

    def dialect_options(self, path: str) -> Mapping[str, Any]:
        """Return the options of the dialect that apply to requests to `path`."""
