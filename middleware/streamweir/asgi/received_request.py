"""A client's request, read in the protocol of the client, for an endpoint that an application writes itself.

Source: the library contract, section 1 (`receive_request`); the request contract, sections 2 and 3.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from streamweir.codec.dialect import Dialect
from streamweir.codec.registry import process_dialects
from streamweir.errors import ConfigurationError
from streamweir.framing import FramingChoice
from streamweir.http.accept import StreamFraming, choose_framing
from streamweir.http.asked_answer import asked_framing
from streamweir.http.client_body import BodyBuffer, check_length, check_type, client_body
from streamweir.http.headers import HeaderList, header_value
from streamweir.http.negotiation import UnknownProtocolError, choose_protocol
from streamweir.http.sending import Scope
from streamweir.options.limits import REQUEST_BYTES
from streamweir.requests.canonical import Request
from streamweir.requests.errors import RequestError
from streamweir.requests.messages import files_of, last_user_index
from streamweir.requests.reading import read_canonical

__all__ = ["ReceivedRequest", "receive_request"]


class StarletteRequest(Protocol):
    """The parts of a `starlette.requests.Request` that are used here."""

    @property
    def scope(self) -> Any:
        """The ASGI scope."""

    def stream(self) -> AsyncIterator[bytes]:
        """Yield the body in pieces."""


@dataclass(frozen=True)
class ReceivedRequest:
    """A client's request in any protocol.

    Attributes:
        protocol: the protocol among `answers` that the client asks for: pass it to `EventStreamResponse`.
        framing: `sse`, `ndjson`, or `json` for a client that wants one whole answer.
        message: the text of the user's last message; empty if there is none.
        thread_id: the id of the conversation that the client gave; None if it gave none.
        messages: the conversation, oldest first.
        inputs: named inputs.
        files: the files of the user's last message.
        resume: answers to interactions.
        raw: the whole canonical request, as `streamweir.read_request` returns it.
    """

    protocol: str
    framing: FramingChoice
    message: str
    thread_id: str | None
    messages: list[dict[str, Any]]
    inputs: dict[str, Any]
    files: list[dict[str, Any]]
    resume: list[dict[str, Any]]
    raw: dict[str, Any]


async def receive_request(
    request: StarletteRequest, *, answers: str | Sequence[str] = ("standard",)
) -> ReceivedRequest:
    """Return a client's request, read in the protocol in which the client wants the answer.

    Args:
        request: a `starlette.requests.Request` (FastAPI's requests are such).
        answers: the protocols that a client may choose from; the first is the default.

    Raises:
        RequestError: the request cannot be understood; `preflight_error(error)` is the response.
        ConfigurationError: requests in one of the `answers` cannot be read.
    """
    names = (answers,) if isinstance(answers, str) else tuple(answers)
    protocols = {name: _readable(name) for name in names}
    if not protocols:
        raise ConfigurationError("answers must be one name or several")
    scope = request.scope
    headers: HeaderList = scope["headers"]
    protocol = protocols[_chosen(scope, names)]
    check_type(headers)
    check_length(headers, REQUEST_BYTES)
    buffer = BodyBuffer(REQUEST_BYTES)
    async for piece in request.stream():
        buffer.add(piece)
    data = buffer.data
    body = client_body(scope["method"], data, scope.get("query_string", b""), may_be_absent=False) or {}
    assert protocol.request_reader is not None, "it was looked for"
    found = read_canonical(protocol.request_reader, body)
    return _received(found, protocol.name, _framing(protocol, header_value(headers, b"accept"), body))


def _readable(name: str) -> Dialect:
    protocol = process_dialects().to_write(name)
    if protocol.request_reader is None:
        raise ConfigurationError(f"{name} has no requests that can be read")
    return protocol


def _chosen(scope: Scope, names: Sequence[str]) -> str:
    try:
        return choose_protocol(scope["headers"], scope.get("query_string", b""), names)
    except UnknownProtocolError as error:
        raise RequestError(f"is not spoken here: {error}", field="X-Streamweir-Protocol") from None


def _framing(protocol: Dialect, accept: str, body: dict[str, Any]) -> FramingChoice:
    usual: StreamFraming = next((name for name in protocol.framings if name != "lines"), "sse")
    return asked_framing(protocol, body, accept, choose_framing(accept, usual), usual)


def _received(request: Request, protocol: str, framing: FramingChoice) -> ReceivedRequest:
    messages = request.get("messages", [])
    at = last_user_index(messages)
    return ReceivedRequest(
        protocol=protocol,
        framing=framing,
        message=request.get("message", ""),
        thread_id=request.get("thread_id"),
        messages=[dict(message) for message in messages],
        inputs=request.get("inputs", {}),
        files=[] if at is None else [dict(part) for part in files_of(messages[at])],
        resume=[dict(answer) for answer in request.get("resume", [])],
        raw=dict(request),
    )
