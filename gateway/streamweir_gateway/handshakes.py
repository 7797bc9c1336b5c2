"""Checks requests that offer a WebSocket, before their service is asked.

Source: RFC 6455, section 4.2.1; the WebSocket contract, sections 1 and 3.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, Protocol

from starlette.types import Scope

from streamweir.http.headers import HeaderList, header_values
from streamweir.http.refusals import Refusal

__all__ = ["OFFERED", "TUNNEL", "HandedOver", "OfferedKey", "check_handshake", "is_handshake", "offered_key"]

OFFERED: Final = "streamweir.subprotocol"
"""The key of `scope["state"]` that is set if the client offered a subprotocol of the gateway."""

TUNNEL: Final = "streamweir.tunnel"
"""The key of `scope["state"]` under which a relayed handshake leaves its `HandedOver`."""

_SUBPROTOCOLS: Final = b"sec-websocket-protocol"
_OURS: Final = "streamweir"
_KEY: Final = "streamweir.key."
_KEY_BYTES: Final = 16
_NO_BODY: Final = (b"content-length", b"transfer-encoding")


class HandedOver(Protocol):
    """The connection of a request after the protocol was switched."""

    def on_closed(self, callback: Callable[[], None]) -> None:
        """Register `callback` to be called when the connection is closed."""


class OfferedKey(NamedTuple):
    """The part of a handshake's offered subprotocols that is for the gateway.

    Attributes:
        headers: the headers of the request, without the subprotocols of the gateway.
        has_offer: whether the client offered such subprotocols.
        key: the key in the offer; None without a key.
    """

    headers: HeaderList
    has_offer: bool
    key: bytes | None


def is_handshake(scope: Mapping[str, Any]) -> bool:
    """Return whether a request offers a WebSocket: an HTTP/1.1 GET with `Upgrade` and `Connection`."""
    if scope["method"] != "GET" or scope["http_version"] != "1.1":
        return False
    headers = scope["headers"]
    if [value.strip().lower() for value in header_values(headers, b"upgrade")] != ["websocket"]:
        return False
    options = ",".join(header_values(headers, b"connection")).lower().split(",")
    return any(option.strip() == "upgrade" for option in options)


def check_handshake(scope: Scope) -> bytes:
    """Return the `Sec-WebSocket-Key` of a handshake.

    Raises:
        Refusal: the handshake is not valid.
    """
    headers = scope["headers"]
    if header_values(headers, b"sec-websocket-version") != ["13"]:
        raise Refusal(
            "BAD_REQUEST",
            "Sec-WebSocket-Version must be 13.",
            headers={"Sec-WebSocket-Version": "13", "Connection": "close"},
            status=426,
        )
    keys = header_values(headers, b"sec-websocket-key")
    if len(keys) != 1 or not _is_key(keys[0]):
        raise _bad("Sec-WebSocket-Key must be 16 bytes in base64, once.")
    if len(header_values(headers, b"host")) != 1:
        raise _bad("A handshake must have one Host.")
    if any(value != "0" for name in _NO_BODY for value in header_values(headers, name)):
        raise _bad("A handshake has no body.")
    return keys[0].encode("ascii")


def offered_key(headers: HeaderList) -> OfferedKey:
    """Remove the gateway's subprotocols from the headers of a handshake; return both.

    Raises:
        Refusal: the handshake offers two keys.
    """
    if not any(name == _SUBPROTOCOLS for name, _ in headers):
        return OfferedKey(headers, False, None)
    left: list[tuple[bytes, bytes]] = []
    ours: list[str] = []
    for name, value in headers:
        if name != _SUBPROTOCOLS:
            left.append((name, value))
            continue
        offered = [item.strip() for item in value.decode("latin-1").split(",")]
        ours += [item for item in offered if item.startswith(_OURS)]
        theirs = [item for item in offered if not item.startswith(_OURS)]
        if len(theirs) == len(offered):
            left.append((name, value))
        elif any(theirs):
            left.append((name, ", ".join(filter(None, theirs)).encode("latin-1")))
    keys = [item.removeprefix(_KEY) for item in ours if item.startswith(_KEY)]
    if len(keys) > 1:
        raise _bad("A handshake may offer one key.")
    return OfferedKey(left, bool(ours), _decoded(keys[0]) if keys else None)


def _is_key(value: str) -> bool:
    try:
        return len(base64.b64decode(value, validate=True)) == _KEY_BYTES
    except (binascii.Error, ValueError):
        return False


def _decoded(text: str) -> bytes:
    """Return a key from base64url without padding. An invalid text gives bytes that match no key."""
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return b""


def _bad(message: str) -> Refusal:
    return Refusal("BAD_REQUEST", message, headers={"Connection": "close"})
