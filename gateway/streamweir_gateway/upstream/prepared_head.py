"""The head of a request to an upstream of which only the last headers differ from request to request."""

from __future__ import annotations

from typing import NamedTuple, Self

from .http1 import request_head
from .request import Origin, UpstreamRequest

__all__ = ["HeadTemplate", "PreparedHead"]


class PreparedHead(NamedTuple):
    """The written head of one request, whose body may still change.

    Attributes:
        method: the method of the request.
        origin: the origin of the request.
        target: the target of the request.
        headers: the list of its headers, by which the request is known again.
        head: the request line and the headers, without `Content-Length` and the empty line.
    """

    method: str
    origin: Origin
    target: str
    headers: list[tuple[str, str]]
    head: bytes

    def of(self, request: UpstreamRequest) -> bytes | None:
        """Return the whole head of a request; None if it differs in more than its body from the own one."""
        method, origin, target, headers, head = self
        is_own = request.headers is headers and request.target is target and request.origin is origin
        if not is_own or request.method != method or request.stream is not None or request.relayed:
            return None
        return b"%bContent-Length: %d\r\n\r\n" % (head, len(request.body))


class HeadTemplate(NamedTuple):
    """The common part of requests with a body.

    Attributes:
        common: a request with the common headers.
        lines: its request line and headers as they are written, without `Content-Length` and the empty line.
    """

    common: UpstreamRequest
    lines: bytes

    @classmethod
    def made_of(cls, common: UpstreamRequest) -> Self | None:
        """Return the template; None if a request cannot be written, which its sender notices.

        Args:
            common: a request with the common headers, whose method has a body.
        """
        headers = [header for header in common.wire_headers() if header[0] != b"Content-Length"]
        try:
            head = request_head(common.method, common.target.encode("ascii"), headers)
        except ValueError:
            return None
        return cls(common, head[: -len(b"\r\n")])

    def request(self, others: list[tuple[str, str]]) -> UpstreamRequest:
        """Return a request with further headers, whose names and values can be written as they are."""
        common = self.common
        headers = [*common.headers, *others]
        lines = "".join([f"{name}: {value}\r\n" for name, value in others])
        head = self.lines + lines.encode("latin-1")
        prepared = PreparedHead(common.method, common.origin, common.target, headers, head)
        return common._replace(headers=headers, prepared=prepared)
