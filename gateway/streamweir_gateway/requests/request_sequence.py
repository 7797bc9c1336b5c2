"""The requests of one attempt: first requests, whose answers are read, and the one that gives the stream.

Source: the request contract, section 4 (first requests).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote, urlencode

from streamweir.errors import MalformedEvent
from streamweir.jsontext import parse_json, write_json
from streamweir.requests.written import Taken, Written
from streamweir_gateway.requests.multipart import multipart_form
from streamweir_gateway.upstream.request import UpstreamRequest

__all__ = ["MAX_ANSWER_BYTES", "RequestSequence", "whole_headers", "whole_request"]

MAX_ANSWER_BYTES: Final = 1 << 20
"""The most bytes that are read of the answer to a first request."""

_JSON: Final = "application/json"


class RequestSequence:
    """The requests of one attempt, in their order.

    Attributes:
        target: the path and query of the upstream's URL.

    Args:
        base: the request with the upstream's URL and headers, without a body.
        written: the requests, the last one for the stream.
    """

    __slots__ = ("_base", "_taken", "_written", "target")

    def __init__(self, base: UpstreamRequest, written: Sequence[Written]) -> None:
        self.target = base.target
        self._base = base
        self._written = [*written]
        self._taken: dict[str, str] = {}

    @property
    def has_first(self) -> bool:
        """Whether another request comes before the one for the stream."""
        return len(self._written) > 1

    @property
    def next(self) -> UpstreamRequest:
        """The next request to send."""
        return whole_request(self._base, self._written[0], self._taken)

    @property
    def given(self) -> Mapping[str, str]:
        """The values that the decoder needs for the answer to the next request."""
        found: Mapping[str, str] = _filled(self._written[0].given, self._taken)
        return found

    def goes_on_after(self, status: int, answer: bytes) -> bool:
        """Return whether the next request is made although the answer to a first request is an error."""
        expected = self._written[0].goes_on.get(status)
        return expected is not None and expected.lower().encode() in answer.lower()

    def take(self, answer: bytes) -> bool:
        """Take values for later requests from the answer to a first one; return False if one is missing."""
        takes = self._written.pop(0).takes
        if not takes:
            return True
        try:
            value = parse_json(answer)[0]
        except MalformedEvent:
            return False
        found = {name: _at(value, path) for name, path in takes.items()}
        self._taken |= {name: text for name, text in found.items() if text}
        return all(found.values())


def whole_request(
    base: UpstreamRequest, written: Written, taken: Mapping[str, str] | None = None
) -> UpstreamRequest:
    """Return a request for the wire.

    Args:
        base: the request with the upstream's URL, configured headers, and headers of the client that go on.
        written: the request as the writer returned it.
        taken: values from answers to earlier requests, by name.
    """
    known = taken or {}
    body, media_type = b"", None
    if written.form is not None:
        media_type, body = multipart_form(_filled(written.form, known))
    elif written.body is not None:
        media_type, body = _JSON, write_json(_filled(written.body, known))
    return UpstreamRequest(
        written.method,
        base.origin,
        _target(base.target, written, known),
        whole_headers(base.headers, written, media_type),
        body,
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
    headers: Sequence[tuple[str, str]], written: Written, media_type: str | None = None
) -> list[tuple[str, str]]:
    """Return the headers of a request. Configured headers replace the writer's, except for `Content-Type`.

    Args:
        headers: the configured headers, and those of the client that go on.
        written: the request as the writer returned it.
        media_type: of the body; None: that of JSON if there is a JSON body.
    """
    if media_type is None and written.body is not None:
        media_type = _JSON
    known = {name.lower() for name, _ in headers}
    added = [(name, value) for name, value in written.headers.items() if name.lower() not in known]
    kept = [(name, value) for name, value in headers if name.lower() != "content-type"]
    return [*kept, *added, *([("Content-Type", media_type)] if media_type else [])]


def _filled(value: Any, taken: Mapping[str, str]) -> Any:
    """Return a value with the taken values in place of its `Taken` placeholders."""
    if isinstance(value, Taken):
        return taken.get(value.name, "")
    if not taken:
        return value
    if isinstance(value, Mapping):
        return {key: _filled(item, taken) for key, item in value.items()}
    return [_filled(item, taken) for item in value] if isinstance(value, list) else value


def _at(value: Any, path: str) -> str | None:
    """Return the text or the integer at a path such as `data.id`, as text; None if there is neither."""
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value else None
