"""Addresses as people write them."""

from __future__ import annotations

__all__ = ["address_text", "base_url"]


def address_text(address: tuple[str, int]) -> str:
    """Return HOST:PORT, an IPv6 host in brackets."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def base_url(address: tuple[str, int]) -> str:
    """Return the URL at which a client on this machine reaches a server that listens at `address`."""
    host, port = address
    reachable = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://{address_text((reachable, port))}"
