"""The address of a server, and the URL at which programs on this machine reach it."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Address"]


class Address(NamedTuple):
    """The host and port at which a server listens."""

    host: str
    port: int

    @property
    def reachable_host(self) -> str:
        """The host at which a client on this machine reaches the server."""
        return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)

    @property
    def url(self) -> str:
        """The URL at which a client on this machine reaches the server."""
        host = self.reachable_host
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"
