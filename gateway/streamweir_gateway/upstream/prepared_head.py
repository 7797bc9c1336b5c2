"""The prepared head of a request to an upstream: only the last headers differ between requests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final, Self

from msgspec import Struct

from .http1 import request_head
from .request import UpstreamRequest

__all__ = ["HeadTemplate", "PreparedHead", "media_types_of"]

_flat: Final = chain.from_iterable


class PreparedHead(Struct, frozen=True):
    """The head of one request in its written form; the body may still change.

    Attributes:
        common: a request with the same method, origin and target.
        headers: the list of its headers; a request with this list object has this head.
        head: the request line and the headers, without `Content-Length` and the empty line.
        media_types: the values of its `Content-Type` headers.
    """

    common: UpstreamRequest
    headers: list[tuple[str, str]]
    head: bytes
    media_types: Sequence[str]

    def of(self, request: UpstreamRequest) -> bytes | None:
        """Return the whole head of a request; None if more than the body differs from this request."""
        common = self.common
        if request.headers is not self.headers or request.stream is not None or request.relayed:
            return None
        if request.target is not common.target or request.origin is not common.origin:
            return None
        if request.method != common.method:
            return None
        return b"%bContent-Length: %d\r\n\r\n" % (self.head, len(request.body))


class HeadTemplate(Struct, frozen=True):
    """The common part of requests with a body.

    Attributes:
        common: a request with the common headers.
        lines: the request line and headers of `common` as they are written, without `Content-Length` and the
            empty line.
        media_types: the values of the `Content-Type` headers of `common`.
    """

    common: UpstreamRequest
    lines: bytes
    media_types: Sequence[str]

    @classmethod
    def made_of(cls, common: UpstreamRequest) -> Self | None:
        """Return the template; None if `common` cannot be written.

        The sender of the request will notice that.

        Args:
            common: a request with the common headers, whose method has a body.
        """
        headers = [header for header in common.wire_headers() if header[0] != b"Content-Length"]
        try:
            head = request_head(common.method, common.target.encode("ascii"), headers)
        except ValueError:
            return None
        return cls(common, head[: -len(b"\r\n")], media_types_of(common.headers))

    def request(self, others: list[tuple[str, str]]) -> UpstreamRequest:
        """Return a request with additional headers, whose names and values are valid as they are.

        None of them is a `Content-Type`.
        """
        common = self.common
        headers = [*common.headers, *others]
        lines = "%s: %s\r\n" * len(others) % (*_flat(others),)
        head = self.lines + lines.encode("latin-1")
        prepared = PreparedHead(common, headers, head, self.media_types)
        return UpstreamRequest(
            common.method, common.origin, common.target, headers, common.body, prepared=prepared
        )


def media_types_of(headers: Iterable[tuple[str, str]]) -> list[str]:
    """Return the values of the `Content-Type` headers of a request."""
    return [value for name, value in headers if name.lower() == "content-type"]
