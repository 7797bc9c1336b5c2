"""Rewrites requests of clients in the form of the application's own dialect, for `request="mapped"`.

Source: the library contract, section 1 (requests); the request contract, sections 1, 3 and 4.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias
from urllib.parse import urlencode

from msgspec.structs import replace

from streamweir.codec.base import NO_OPTIONS, Options
from streamweir.codec.dialect import Dialect
from streamweir.codec.registry import process_dialects
from streamweir.errors import ConfigurationError, did_you_mean
from streamweir.http.asked_answer import AskedAnswer
from streamweir.http.client_body import client_body, is_json_type
from streamweir.http.headers import HeaderList, Headers, encoded_headers, header_value, header_values
from streamweir.http.sending import Scope
from streamweir.requests.canonical import Request
from streamweir.requests.errors import RequestError
from streamweir.requests.reading import read_canonical
from streamweir.requests.sides import RequestReader, RequestWriter
from streamweir.requests.unknown_answer import unknown_answer
from streamweir.requests.wire_body import WireBody, wire_body
from streamweir.requests.writing import Target, of_new_conversation, plan_request
from streamweir.requests.written import Written

__all__ = ["MappedRequest", "RequestMapping", "RequestOption", "request_mapping"]

RequestOption: TypeAlias = Literal["passthrough", "mapped"]

_OPTIONS: Final = ("passthrough", "mapped")
_WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH"})
_OF_THE_BODY: Final = frozenset(
    {b"content-length", b"content-type", b"transfer-encoding", b"content-encoding"}
)
_PROBES: Final[tuple[Request, ...]] = (
    {"messages": [{"role": "user", "content": "Hello"}], "message": "Hello"},
    {
        "messages": [{"role": "user", "content": "Hello"}],
        "message": "Hello",
        "thread_id": "00000000-0000-4000-8000-000000000000",
    },
)
"""Sample requests that every dialect can write: for a new conversation and for a known one."""


class MappedRequest(NamedTuple):
    """A request for the application.

    Attributes:
        scope: the ASGI scope of the request, with the new headers and query.
        body: the body in the form of the application's dialect.
        lost: the names of the parts of the request that the dialect cannot take.
        asked: the answer that the client asks for.
    """

    scope: Scope
    body: bytes
    lost: tuple[str, ...]
    asked: AskedAnswer


def request_mapping(
    option: RequestOption,
    *,
    speaks: str,
    answers: Sequence[str],
    paths: Sequence[str] | None,
    options: Mapping[str, Options],
    max_bytes: int,
    upstream: str = "",
) -> RequestMapping | None:
    """Return the mapping of a middleware's requests; None if requests pass unread.

    Args:
        option: `passthrough` or `mapped`.
        speaks: the dialect of the application.
        answers: the protocols of its clients.
        paths: the patterns of the middleware; None: every path.
        options: the options by dialect.
        max_bytes: a larger body is refused.
        upstream: the name of the application, to which opaque values are bound.

    Raises:
        ConfigurationError: the requests cannot be mapped.
    """
    if option not in _OPTIONS:
        hint = did_you_mean(str(option), _OPTIONS)
        raise ConfigurationError(f"request must be 'passthrough' or 'mapped', not {option!r}{hint}")
    if option == "passthrough":
        return None
    if paths is None:
        raise ConfigurationError(
            "request='mapped' needs paths: else every JSON POST of the application, such as a login,"
            " would be read as a chat request"
        )
    if speaks == "auto":
        raise ConfigurationError("request='mapped' needs the name of a dialect, not speaks='auto'")
    dialect = process_dialects().to_read(speaks)
    if dialect.request_writer is None:
        raise ConfigurationError(f"request='mapped': {speaks} has no requests that can be written")
    readers = {name: _reader_of(name) for name in answers if name != dialect.name}
    mapping = RequestMapping(dialect, dialect.request_writer, readers, options, max_bytes, upstream)
    for path in paths:
        mapping.check(path)
    return mapping


class RequestMapping:
    """Reads requests by the client's protocol, and writes them by the rules of the application's dialect.

    Args:
        dialect: the dialect of the application.
        writer: the writer of that dialect.
        readers: the readers by protocol, except the application's own protocol, whose requests pass unread.
        options: the options by dialect.
        max_bytes: a larger body is refused.
        upstream: the name of the application, to which opaque values are bound.

    Attributes:
        max_bytes: the argument.
    """

    def __init__(
        self,
        dialect: Dialect,
        writer: RequestWriter,
        readers: Mapping[str, RequestReader],
        options: Mapping[str, Options],
        max_bytes: int,
        upstream: str,
    ) -> None:
        self._upstream = upstream
        self.max_bytes = max_bytes
        self._dialect = dialect
        self._writer = writer
        self._readers = readers
        self._options = options.get(dialect.name, NO_OPTIONS)

    def check(self, pattern: str) -> None:
        """Check that requests to the paths of a pattern can be written.

        Raises:
            ConfigurationError: the requests would need another method, another path or a preceding request.
        """
        path = re.sub(r"\{\w+\}", "name", pattern.removesuffix("*"))
        tree = dict.fromkeys(self._writer.needs, "name")
        for request in _PROBES:
            target = replace(self._target(path), overlay=lambda _: tree)
            problem = _problem_of(plan_request(request, target).requests, path)
            if problem:
                raise ConfigurationError(
                    f"request='mapped': requests of {self._dialect.name} need {problem},"
                    " which a middleware cannot make"
                )

    def takes(self, scope: Scope, protocol: str) -> bool:
        """Return whether a request is mapped: its body is JSON by its type, in another protocol."""
        if protocol not in self._readers or scope["method"] not in _WITH_BODY:
            return False
        return is_json_type(scope["headers"]) and _may_have_body(scope["headers"])

    def mapped(self, scope: Scope, protocol: str, data: bytes) -> MappedRequest:
        """Return the application's request made from a client's request.

        Raises:
            RequestError: the body cannot be understood, or the application's dialect cannot take it.
        """
        reader = self._readers[protocol]
        body = client_body(scope["method"], data, b"", may_be_absent=False) or {}
        request = of_new_conversation(read_canonical(reader, body), reader, self._writer)
        _check_answers(request, body)
        try:
            plan = plan_request(request, self._target(scope["path"]))
        except RequestError as error:
            raise error.for_client(reader.field_names) from None
        if _problem_of(plan.requests, scope["path"]):
            raise RequestError("cannot be sent to this address", field=_field_of(request, reader))
        [written] = plan.requests
        sent = wire_body(written)
        asked = AskedAnswer.of(process_dialects().to_write(protocol), body, scope["headers"], written.body)
        return MappedRequest(_scope_of(scope, written, sent), sent.data, plan.lost, asked)

    def _target(self, path: str) -> Target:
        options = {**self._dialect.options_for(path), **self._options}
        return Target(self._writer, path, options, dialect=self._dialect.name, upstream=self._upstream)


def _reader_of(protocol: str) -> RequestReader:
    reader = process_dialects().to_write(protocol).request_reader
    if reader is None:
        raise ConfigurationError(f"request='mapped': {protocol} has no requests that can be read")
    return reader


def _problem_of(requests: Sequence[Written], path: str) -> str | None:
    """Return the reason why a middleware cannot make these requests; None if it can."""
    if len(requests) > 1:
        return "a first request"
    [written] = requests
    if written.method != "POST":
        return f"the method {written.method}"
    return None if written.path in (None, path) else "another path"


def _field_of(request: Request, reader: RequestReader) -> str:
    name = "resume" if request.get("resume") else "thread_id"
    return reader.field_names.get(name, name)


def _check_answers(request: Request, body: Mapping[str, Any]) -> None:
    """Refuse an answer without the data by which the application could recognise the question."""
    for answer in request.get("resume", ()):
        if not answer.get("resume"):
            raise unknown_answer(body, answer["interaction_id"])


def _may_have_body(headers: HeaderList) -> bool:
    """Return whether there may be a body: a request without a content type and a length has no body."""
    if header_values(headers, b"content-type") or header_values(headers, b"transfer-encoding"):
        return True
    return header_value(headers, b"content-length").strip() not in ("", "0")


def _scope_of(scope: Scope, written: Written, sent: WireBody) -> Scope:
    """Return the scope with the headers of the new body, and with the query that the dialect adds."""
    given: Headers = [pair for pair in scope["headers"] if pair[0].lower() not in _OF_THE_BODY]
    known = {name.lower() for name, _ in given}
    added = encoded_headers(written.headers)
    described = [(b"content-length", b"%d" % len(sent.data))]
    if sent.media_type is not None:
        described.append((b"content-type", sent.media_type.encode("latin-1")))
    headers = [*given, *(pair for pair in added if pair[0] not in known), *described]
    return {**scope, "headers": headers, "query_string": _query_of(scope, written)}


def _query_of(scope: Scope, written: Written) -> bytes:
    query: bytes = scope.get("query_string", b"")
    names = {piece.partition(b"=")[0] for piece in query.split(b"&")}
    added = {name: value for name, value in written.query.items() if name.encode() not in names}
    return b"&".join(filter(None, (query, urlencode(added).encode("ascii"))))
