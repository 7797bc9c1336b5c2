"""The opening handshake of a WebSocket, on the client's side. It uses neither socket nor clock.

Source: RFC 6455, sections 4.1 and 4.2.2.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from streamweir_gateway.upstream.failures import InvalidResponse
from streamweir_gateway.upstream.http1 import HEADER_BYTES, ResponseParser, coding_list, request_head
from streamweir_gateway.upstream.request import Headers, UpstreamRequest

__all__ = ["Handshake", "handshake_for", "handshake_headers", "relayed_handshake"]

_GUID: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_HEAD_END: Final = re.compile(rb"\r?\n\r?\n")
_SWITCHING: Final = 101
_ANSWERS: Final = 200
_ERRORS: Final = 400
_OF_A_BODY: Final = frozenset({b"content-type", b"content-length", b"accept"})
_OF_A_HANDSHAKE: Final = re.compile(rb"(?i)sec-websocket-.*")


class Switched(NamedTuple):
    """The upstream has answered 101.

    Attributes:
        headers: the headers of the response.
        rest: the bytes that followed the response.
    """

    headers: Headers
    rest: bytes


class Handshake:
    """One handshake: call `feed` until `switched` or `refusal` is set.

    Attributes:
        head: the head of the request.
        switched: set when the upstream has sent a valid 101.
        refusal: set when the head of another response has arrived; it parses the rest of that response.

    Args:
        head: the head of the request.
        key: the `Sec-WebSocket-Key` of the request.
        subprotocols: the response may choose one of these, and no extension; None: the handshake is a
            client's own, whose upstream may choose anything and may refuse with any status.
    """

    def __init__(self, head: bytes, key: bytes, subprotocols: tuple[str, ...] | None) -> None:
        self.head = head
        self.switched: Switched | None = None
        self.refusal: ResponseParser | None = None
        self._accept = _accept_value(key)
        self._subprotocols = subprotocols
        self._lowest_refusal = _ANSWERS if subprotocols is None else _ERRORS
        self._data = b""

    def feed(self, data: bytes) -> bytes:
        """Take the bytes of one read; return those bytes that belong to the body of a refusal.

        Raises:
            InvalidResponse: the response is not one to a handshake.
        """
        if self.refusal is not None:
            return self.refusal.feed(data)
        self._data += data
        while match := _HEAD_END.search(self._data):
            head, self._data = self._data[: match.end()], self._data[match.end() :]
            parser = ResponseParser()
            parser.feed(head)
            if parser.status == _SWITCHING:
                self._check(parser.headers)
                self.switched = Switched(parser.headers, self._data)
                return b""
            if parser.failure is not None or (parser.status and parser.status < self._lowest_refusal):
                raise InvalidResponse("the answer to a handshake is neither a 101 nor a refusal")
            if parser.status:
                self.refusal = parser
                return parser.feed(self._data)
        if len(self._data) > HEADER_BYTES:
            raise InvalidResponse("headers without an end")
        return b""

    def _check(self, headers: Headers) -> None:
        """Raise `InvalidResponse` if a 101 does not answer this handshake."""
        is_valid = (
            coding_list(headers, b"upgrade") == ["websocket"]
            and "upgrade" in coding_list(headers, b"connection")
            and _values(headers, b"sec-websocket-accept") == [self._accept]
            and self._may_choose(headers)
        )
        if not is_valid:
            raise InvalidResponse("the 101 does not answer the handshake")

    def _may_choose(self, headers: Headers) -> bool:
        if self._subprotocols is None:
            return True
        chosen = [value.decode("latin-1") for value in _values(headers, b"sec-websocket-protocol")]
        is_offered = len(chosen) <= 1 and {*chosen} <= {*self._subprotocols}
        return is_offered and not any(_values(headers, b"sec-websocket-extensions"))


def handshake_for(request: UpstreamRequest, subprotocols: tuple[str, ...]) -> Handshake:
    """Return the handshake of a request.

    Args:
        request: the request to the upstream; its body is not part of the handshake.
        subprotocols: the subprotocols to offer.

    Raises:
        ValueError: the request cannot be written as HTTP.
    """
    key = base64.b64encode(os.urandom(16))
    head = request_head("GET", request.target.encode("ascii"), handshake_headers(request, key, subprotocols))
    return Handshake(head, key, subprotocols)


def relayed_handshake(request: UpstreamRequest) -> Handshake:
    """Return the handshake of a client's own request, unchanged.

    Args:
        request: the request to the upstream, with `handshake` set.

    Raises:
        ValueError: the request cannot be written as HTTP.
    """
    assert request.handshake is not None
    key, host = request.handshake
    headers = [
        (name, host if name == b"Host" and host is not None else value)
        for name, value in request.wire_headers()
    ]
    headers += [(b"Connection", b"Upgrade"), (b"Upgrade", b"websocket")]
    return Handshake(request_head("GET", request.target.encode("ascii"), headers), key, None)


def _accept_value(key: bytes) -> bytes:
    """Return the `Sec-WebSocket-Accept` that answers a key."""
    return base64.b64encode(hashlib.sha1(key + _GUID, usedforsecurity=False).digest())


def handshake_headers(request: UpstreamRequest, key: bytes, subprotocols: Sequence[str]) -> Headers:
    """Return the headers of the handshake of a request; see `handshake_for`."""
    headers = [
        (name, value)
        for name, value in replace(request, body=b"", method="GET").wire_headers()
        if name.lower() not in _OF_A_BODY and not _OF_A_HANDSHAKE.fullmatch(name)
    ]
    headers += [(b"Connection", b"Upgrade"), (b"Upgrade", b"websocket")]
    headers += [(b"Sec-WebSocket-Key", key), (b"Sec-WebSocket-Version", b"13")]
    if subprotocols:
        headers.append((b"Sec-WebSocket-Protocol", ", ".join(subprotocols).encode("ascii")))
    return headers


def _values(headers: Headers, name: bytes) -> list[bytes]:
    return [value.strip() for key, value in headers if key.lower() == name]
