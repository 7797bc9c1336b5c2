"""An endpoint: its configuration, and values that are computed from it once and used for all requests."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final, NamedTuple, cast

from msgspec.structs import replace
from starlette.types import Scope

from streamweir.codec.dialect import Dialect
from streamweir.codec.dialects import Dialects
from streamweir.failures.ending import FailureMode
from streamweir.http.asked_answer import asked_framing, asked_names
from streamweir.http.headers import HeaderList, Headers, header_value
from streamweir.http.negotiation import (
    UnknownProtocolError,
    choose_framing,
    choose_protocol,
    chooses_protocol,
    expected_protocol,
)
from streamweir.http.refusals import Refusal
from streamweir.http_grammar import WRITABLE_VALUE
from streamweir.metadata import unix_milliseconds
from streamweir.requests.openai_chat import asks_for_usage
from streamweir.translation.taps import TapMaker
from streamweir_gateway.config import EndpointConfig
from streamweir_gateway.incoming import Incoming
from streamweir_gateway.observability.trace_context import settled_trace_context
from streamweir_gateway.remembered_headers import memo_of
from streamweir_gateway.requests.offers import NO_OFFER
from streamweir_gateway.requests.request_mapping import RequestMapping
from streamweir_gateway.responses.front_door import FrontDoor
from streamweir_gateway.runs.destination import Destination
from streamweir_gateway.runs.request_body import request_object
from streamweir_gateway.upstream.header_selection import response_selection
from streamweir_gateway.upstream.hop_by_hop import end_to_end

__all__ = ["Endpoint"]

ACCEPT_CHARACTERS: Final = 1024
"""The most characters of an Accept header that are read."""

_OURS: Final = frozenset(
    {
        *(b"content-type", b"content-length", b"content-encoding", b"content-range", b"accept-ranges"),
        *(b"cache-control", b"etag", b"last-modified", b"x-accel-buffering", b"x-request-id"),
    }
)
"""Headers that describe the upstream's body, or that the gateway sets itself."""


class _Asked(NamedTuple):
    """The form in which a client asks for an answer.

    Attributes:
        protocol: the protocol of the answer.
        framing: the framing of the answer.
        is_open: whether neither the client nor the configuration has chosen the framing.
    """

    protocol: str
    framing: str
    is_open: bool


class Endpoint:
    """One path of the gateway.

    Attributes:
        failures: how a failure is reported to a client that gets the frames of the upstream.
        heartbeat: the seconds between heartbeats; None: no heartbeats.
        on_disconnect: the seconds for which a run goes on without its client; None: until it ends.
        relays_all: whether the responses of a whole service are passed on.
        request_bytes: the most bytes of the body of a request.
        forwards_headers: whether headers of the upstreams' responses are passed on.
        copied: the protocols whose frames are passed on unchanged if the upstream speaks them too.
        plain_offers: the offers for a request whose body is passed on unchanged.

    Args:
        config: the configuration of this endpoint.
        destinations: its upstreams, in the order in which they are asked.
        dialects: the dialects by name.
        debug: whether to add redacted details to errors.
        allows_cookies: whether pages of other origins may send cookies (`cors.credentials`).
        mapping: translates the bodies of requests; None: they are passed on unchanged.
        front_door: takes requests whose responses are stored; None: no client protocol of this endpoint has
            them.
        taps: functions that make the taps of each stream.
    """

    def __init__(  # noqa: PLR0913 (what all requests have in common)
        self,
        config: EndpointConfig,
        destinations: Sequence[Destination],
        *,
        dialects: Dialects,
        debug: bool,
        allows_cookies: bool = False,
        mapping: RequestMapping | None = None,
        front_door: FrontDoor | None = None,
        taps: Sequence[TapMaker] = (),
    ) -> None:
        assert destinations, "an endpoint has an upstream"
        self.config = config
        self.destinations = tuple(destinations)
        self.dialects = dialects
        self.debug = debug
        self.allows_cookies = allows_cookies
        self.mapping = mapping
        self.front_door = front_door
        self.taps = taps
        self.heartbeat: Final = config.heartbeat
        self.on_disconnect: Final = config.on_disconnect
        self.relays_all: Final = config.relays_all
        self.request_bytes: Final = config.limits.request_bytes
        self.copied = frozenset(name for name in config.answers if self._may_be_copied(name))
        self._default = {name: self._default_framing(name) for name in config.answers}
        self._returned = response_selection(config.forward_response_headers)
        self.forwards_headers = bool(config.forward_response_headers) or config.relays_all
        self.plain_offers: Final = dict.fromkeys(self.destinations, NO_OFFER)
        self._is_mapped = config.request.kind == "mapped"
        self._changes_bodies = mapping is not None or self._is_mapped
        self._is_read_for_names = frozenset(name for name in config.answers if self._may_change_names(name))
        self._asks_by_body = frozenset(name for name in config.answers if self._may_ask_by_body(name))
        self.failures: FailureMode = "told" if config.failures == "told" else "as_they_came"

    def _may_be_copied(self, protocol: str) -> bool:
        """Return whether the configuration lets frames of this protocol pass unchanged."""
        options = self.config.protocol_options.get(protocol, {})
        is_plain = self.config.verbatim and self.config.full_text == "dedupe"
        return is_plain and not self.dialects[protocol].asks_for_another_form(options)

    def _may_ask_by_body(self, protocol: str) -> bool:
        """Return whether bodies of the protocol's clients decide the framing or the names of an answer."""
        dialect = self.dialects.to_write(protocol)
        return dialect.asks_by_body or bool(dialect.request_names)

    def _may_change_names(self, protocol: str) -> bool:
        """Return whether a body may decide the names of its answer, or the framing by more than one field."""
        dialect = self.dialects.to_write(protocol)
        secret = self.mapping is not None and self.mapping.may_have_secret(protocol)
        return dialect.asks_by_body or bool(dialect.request_names) or dialect.asks_for_usage or secret

    def _default_framing(self, protocol: str) -> str:
        """Return the framing for requests whose `Accept` names no framing."""
        framings = [name for name in self.dialects[protocol].framings if name != "lines"]
        return self.config.framing if "framing" in self.config.model_fields_set else [*framings, "sse"][0]

    def incoming(
        self, scope: Scope, request_id: str, *, protocol: str | None = None, framing: str | None = None
    ) -> Incoming:
        """Return the client's request without its body, in the protocol and framing that the client asks for.

        Args:
            scope: the ASGI scope of the request.
            request_id: the id of the answer.
            protocol: used if the request names no protocol; None: the first that the endpoint offers.
            framing: used if the request names no framing; None: the usual one.

        Raises:
            Refusal: the request names a protocol that the endpoint does not offer.
        """
        headers, query = scope["headers"], scope["query_string"]
        memo = None if query or protocol is not None or framing is not None else memo_of(headers)
        asked: _Asked | None = None if memo is None else memo.get(self)
        if asked is None:
            asked = self._asked(scope, protocol, framing)
            if memo is not None:
                memo.put(self, asked)
        answers, answer_framing, is_open = asked
        return Incoming(
            request_id,
            scope["method"],
            scope.get("path_params", {}),
            headers,
            query,
            answers,
            answer_framing,
            settled_trace_context(scope),
            unix_milliseconds(),
            scope["state"].get("key"),
            follows=is_open,
        )

    def _asked(self, scope: Scope, protocol: str | None, framing: str | None) -> _Asked:
        """Return the protocol and the framing that a request asks for; see `incoming`."""
        headers, query = scope["headers"], scope["query_string"]
        try:
            answers = choose_protocol(headers, query, _first(self.config.answers, protocol))
        except UnknownProtocolError as error:
            raise Refusal("BAD_REQUEST", f"X-Streamweir-Protocol: {error}.") from error
        accept = header_value(headers, b"accept")[:ACCEPT_CHARACTERS]
        usual = framing if framing is not None and answers == protocol else self._default[answers]
        framing = _framing(accept, usual)
        if framing == "json" and self._is_own_client(answers, scope):
            framing, accept = usual, ""
        is_open = "framing" not in self.config.model_fields_set and _framing(accept, "sse") != _framing(
            accept, "ndjson"
        )
        return _Asked(answers, framing, is_open)

    def _is_own_client(self, protocol: str, scope: Scope) -> bool:
        """Return whether a client that has not asked for a protocol gets the dialect of the upstreams.

        Old clients send every kind of `Accept`, so `application/json` alone does not ask for a folded answer.
        """
        is_own = protocol in self.copied and protocol != "standard"
        if not is_own or chooses_protocol(scope["headers"], scope["query_string"], self.config.answers):
            return False
        return all(destination.speaks == protocol for destination in self.destinations)

    def as_asked(self, incoming: Incoming, body: bytes) -> Incoming:
        """Return the request with the framing and the names of turns that its body asks for.

        The body field `stream` decides the framing in protocols that have the field, and in all if requests
        are mapped.
        """
        if not self._changes_bodies and incoming.answers not in self._asks_by_body:
            return incoming
        is_mapped = self._is_mapped
        if incoming.answers not in self._is_read_for_names and not (is_mapped and _may_ask_for_whole(body)):
            return incoming
        dialect = self.dialects.to_write(incoming.answers)
        request = request_object(body) if dialect.asks_by_body or dialect.request_names else {}
        if dialect.request_names:
            names = asked_names(dialect, request, incoming.headers)
            incoming = replace(incoming, names=names._replace(is_listed=self.config.is_of_model))
        if dialect.asks_for_usage and self.mapping is not None and not asks_for_usage(request):
            incoming = replace(incoming, names=incoming.names._replace(hides_usage=True))
        if self.mapping is not None and (secret := self.mapping.answer_secret(incoming, self.destinations)):
            incoming = replace(incoming, names=incoming.names._replace(secret=secret))
        if not dialect.asks_by_body:
            if not is_mapped or not _may_ask_for_whole(body):
                return incoming
            request = request_object(body)
        accept = header_value(incoming.headers, b"accept")[:ACCEPT_CHARACTERS]
        chosen, usual = cast("Any", incoming.framing), cast("Any", self._default[incoming.answers])
        framing = asked_framing(dialect, request, accept, chosen, usual)
        return incoming if framing == incoming.framing else replace(incoming, framing=framing)

    def expected_protocol(self, scope: Scope) -> Dialect | None:
        """Return the protocol in which a refusal of the request is written; None: the error envelope."""
        return expected_protocol(
            scope["headers"], scope["query_string"], scope["path"], self.config.answers, self.dialects
        )

    def forwarded_of(self, headers: HeaderList) -> Headers:
        """Return those of the given upstream headers that are passed on and are valid to write."""
        passed = end_to_end([*headers], without=_OURS) if self.relays_all else self._returned.of(headers)
        return [header for header in passed if WRITABLE_VALUE.fullmatch(header[1])]

    def asks_by_body(self, incoming: Incoming) -> bool:
        """Return whether the request's body, not its `Accept` header, tells if the client wants a stream."""
        return self.dialects.to_write(incoming.answers).asks_by_body


def _may_ask_for_whole(body: bytes) -> bool:
    """Return whether a body may hold `"stream": false`, the only value of the field that matters."""
    return body.find(b"false") >= 0 and body.find(b'"stream"') >= 0  # half of what `in` takes


def _first(answers: tuple[str, ...], protocol: str | None) -> tuple[str, ...]:
    """Return `answers`, with `protocol` moved to the front if `answers` contains it."""
    if protocol not in answers:
        return answers
    return (protocol, *(answer for answer in answers if answer != protocol))


_USUAL_ACCEPTS: Final = frozenset(
    {"", "*/*", "application/json", "text/event-stream", "application/x-ndjson", "text/event-stream, */*"}
    | {"application/json, text/event-stream"}
)
"""The `Accept` headers of nearly all clients: results are cached for these only, to bound the cache."""


def _framing(accept: str, default: Any) -> str:
    return (_usual_framing if accept in _USUAL_ACCEPTS else choose_framing)(accept, default)


@cache
def _usual_framing(accept: str, default: Any) -> str:
    return choose_framing(accept, default)
