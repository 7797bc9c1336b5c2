"""Reads a request to its end, and reads the settings that the request asks for."""

from __future__ import annotations

import asyncio
from typing import Final, NamedTuple
from urllib.parse import parse_qs, urlsplit

__all__ = ["WISHES", "BadRequest", "Request", "read_request"]

WISHES: Final = ("dialect", "events", "fault", "framing", "option", "pace", "seed")
"""The names of query parameters that change settings."""

_HEADER_BYTES: Final = 256 << 10
"""The size of a connection's buffer. Requests with longer headers are refused."""

_MOST_KEPT: Final = 16 << 20
"""The most bytes of a body that are kept. The remaining bytes are read and dropped."""

_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"


class BadRequest(Exception):
    """The bytes are not an HTTP request."""


class Request(NamedTuple):
    """A request whose body has been read to its end."""

    method: str
    target: str
    version: str
    headers: tuple[tuple[str, str], ...]
    """The headers, with names in lower case."""
    body: bytes = b""

    def values_of(self, name: str) -> list[str]:
        """Return every value of the header `name`."""
        return [value for key, value in self.headers if key == name]

    @property
    def keeps_connection(self) -> bool:
        """Whether another request may follow on the connection."""
        return self.version == "HTTP/1.1" and "close" not in ",".join(self.values_of("connection")).lower()

    @property
    def wishes(self) -> dict[str, list[str]]:
        """The settings in the query parameters and in the header `X-Fault`."""
        query = parse_qs(urlsplit(self.target).query, keep_blank_values=True)
        wishes: dict[str, list[str]] = {name: query[name] for name in WISHES if name in query}
        faults = [*wishes.get("fault", ()), *self.values_of("x-fault")]
        named = [name.strip() for text in faults for name in text.split(",") if name.strip()]
        return {**wishes, **({"fault": named} if named else {})}


async def read_request(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, early: bytes = b""
) -> Request | None:
    """Return the next request; None if the connection ends first.

    Args:
        reader: reads the connection.
        writer: writes to the connection.
        early: the first bytes of the request, if they have been read already.

    Raises:
        BadRequest: the bytes are not an HTTP request.
    """
    try:
        head = early + await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if (early + error.partial).strip():
            raise BadRequest("half a request") from error
        return None
    except asyncio.LimitOverrunError as error:
        raise BadRequest("the request's headers are too long") from error
    request = _parsed(head)
    if "100-continue" in request.values_of("expect"):
        writer.write(_CONTINUE)
    try:
        return request._replace(body=await _read_body(reader, request))
    except (asyncio.IncompleteReadError, ValueError) as error:
        raise BadRequest("half a request") from error


def _parsed(head: bytes) -> Request:
    first, *lines = head.decode("latin-1").rstrip().split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1"):
        raise BadRequest("no HTTP/1 request")
    pairs = (line.partition(":") for line in lines)
    headers = tuple((name.strip().lower(), value.strip()) for name, _, value in pairs)
    return Request(words[0], words[1], words[2], headers)


async def _read_body(reader: asyncio.StreamReader, request: Request) -> bytes:
    kept = bytearray()
    if "chunked" in request.values_of("transfer-encoding"):
        while size := int((await reader.readuntil(b"\n")).partition(b";")[0], 16):
            await _read(reader, size, kept)
            await reader.readuntil(b"\n")
        while (await reader.readuntil(b"\n")).strip():
            pass
    for length in request.values_of("content-length")[:1]:
        await _read(reader, int(length), kept)
    return bytes(kept)


async def _read(reader: asyncio.StreamReader, size: int, kept: bytearray) -> None:
    while size > 0:
        data = await reader.read(min(size, _HEADER_BYTES))
        if not data:
            raise asyncio.IncompleteReadError(b"", size)
        kept += data[: _MOST_KEPT - len(kept)]
        size -= len(data)
