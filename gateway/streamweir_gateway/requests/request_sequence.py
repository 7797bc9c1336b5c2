"""The requests of one attempt: first requests, whose answers are read, and the last, which gives the stream.

Source: the request contract, section 4 (first requests).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote, urlencode

from streamweir.optional_json import json_or
from streamweir.requests.wire_body import JSON_TYPE, filled, wire_body
from streamweir.requests.written import NOTHING, Written
from streamweir_gateway.upstream.prepared_head import media_types_of
from streamweir_gateway.upstream.request import UpstreamRequest, WrittenHead

__all__ = ["MAX_ANSWER_BYTES", "RequestSequence", "whole_headers", "whole_request"]

MAX_ANSWER_BYTES: Final = 1 << 20
"""The most bytes of the answer to a first request that are read."""


class RequestSequence:
    """The requests of one attempt, one after the other.

    Attributes:
        target: the configured path and query of the upstream.

    Args:
        base: the request that the configuration gives, without a body.
        written: the requests in their order; the last one gives the stream.
    """

    __slots__ = ("_base", "_taken", "_written", "target")

    def __init__(self, base: UpstreamRequest, written: Sequence[Written]) -> None:
        self.target = base.target
        self._base = base
        self._written = [*written]
        self._taken: dict[str, str] = {}

    @property
    def has_first(self) -> bool:
        """Whether the next request is not the last one."""
        return len(self._written) > 1

    @property
    def next(self) -> UpstreamRequest:
        """The next request to send."""
        return whole_request(self._base, self._written[0], self._taken)

    @property
    def given(self) -> Mapping[str, str]:
        """The values that the decoder of the next answer needs, by name."""
        found: Mapping[str, str] = filled(self._written[0].given, self._taken)
        return found

    def goes_on_after(self, status: int, answer: bytes) -> bool:
        """Return whether the attempt goes on after an error status, because this first request allows it."""
        expected = self._written[0].goes_on.get(status)
        return expected is not None and expected.lower().encode() in answer.lower()

    def take(self, answer: bytes) -> bool:
        """Take values for later requests from the answer to a request; return False if they are missing."""
        takes = self._written.pop(0).takes
        value = json_or(answer) if takes else None
        found = {name: _at(value, path) for name, path in takes.items()}
        self._taken |= {name: text for name, text in found.items() if text}
        return all(found.values())


def whole_request(
    base: UpstreamRequest, written: Written, taken: Mapping[str, str] = NOTHING
) -> UpstreamRequest:
    """Return a request in the form in which it is sent.

    Args:
        base: the request that the configuration gives, with the configured and the forwarded headers.
        written: the request to send.
        taken: the values from answers to earlier requests, by name.
    """
    body = wire_body(written, taken)
    return UpstreamRequest(
        written.method,
        base.origin,
        base.target if written.path is None and not written.query else _target(base.target, written, taken),
        whole_headers(base.headers, written, body.media_type, base.prepared),
        body.data,
        prepared=base.prepared,
    )


def _target(target: str, written: Written, taken: Mapping[str, str]) -> str:
    path, _, query = target.partition("?")
    if written.path is not None:
        path = written.path or "/"
        for name, value in taken.items():
            path = path.replace(f"{{{name}}}", quote(value, safe=""))
    names = {piece.partition("=")[0] for piece in query.split("&")}
    added = urlencode({name: value for name, value in written.query.items() if name not in names})
    query = "&".join(filter(None, (query, added)))
    return f"{path}?{query}" if query else path


def whole_headers(
    headers: list[tuple[str, str]],
    written: Written,
    media_type: str | None = None,
    prepared: WrittenHead | None = None,
) -> list[tuple[str, str]]:
    """Return the headers of a request. Configured headers replace the writer's, except for the media type.

    If nothing changes, the result is the object `headers` itself, because its written form may be cached.

    Args:
        headers: the configured and the forwarded headers.
        written: the request to send.
        media_type: the media type of the body; by default that of JSON if the body is JSON.
        prepared: the written form of `headers`; None if there is none yet.
    """
    if media_type is None and written.body is not None:
        media_type = JSON_TYPE
    if media_type and not written.headers:
        if prepared is not None and prepared.headers is headers:
            types = prepared.media_types
        else:
            types = media_types_of(headers)
        if types == [media_type]:
            return headers
    known = {name.lower() for name, _ in headers}
    added = [(name, value) for name, value in written.headers.items() if name.lower() not in known]
    kept = [(name, value) for name, value in headers if name.lower() != "content-type"]
    return [*kept, *added, *([("Content-Type", media_type)] if media_type else [])]


def _at(value: Any, path: str) -> str | None:
    """Return the text at a path such as `data.id`; a number becomes a text. None if there is neither."""
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value else None
