"""Binds one upstream to one endpoint: builds requests, opens readers for the answers, admits attempts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Final

from streamweir import Limits
from streamweir.codec.base import Options
from streamweir.codec.dialect import Dialect
from streamweir.codec.dialects import Dialects
from streamweir.events import Warning
from streamweir.own_warnings import own_warning
from streamweir.translation.normalizer import StreamNormalizer
from streamweir.translation.pipeline import Pipeline
from streamweir.translation.reader import StreamReader
from streamweir.translation.sink import EventSink
from streamweir_gateway.config import EndpointConfig, UpstreamConfig
from streamweir_gateway.incoming import Incoming
from streamweir_gateway.requests.offers import Offer
from streamweir_gateway.requests.refused_fields import RefusedFields
from streamweir_gateway.requests.socket_messages import SocketMessages
from streamweir_gateway.runs.admission import Admission
from streamweir_gateway.runs.response_classification import ErrorContext
from streamweir_gateway.runs.upstream_request_builder import UpstreamRequestBuilder
from streamweir_gateway.upstream.client import UpstreamClient
from streamweir_gateway.upstream.via import Via

__all__ = ["Destination"]

_REFUSED: Final = (401, 403)


class Destination:
    """One upstream of one endpoint.

    Attributes:
        config: the configuration of the upstream.
        label: the name of the upstream in logs and metrics.
        identity: the upstream's name, or its URL if it has no name; unique at the endpoint, and never shown.
        speaks: the name of its dialect, or `auto`.
        timeouts: the time limits of its streams.
        connect_timeout: the seconds to establish a connection; None: no limit.
        write_timeout: the seconds for which a client may fail to read; None: no limit.
        retries: when a request is sent again.
        client: sends the requests.
        admission: admits attempts.
        refused: the fields of reasoning that the upstream has lately refused.
        dialects: the dialects by name.
        messages: writes the messages of requests; None if the upstream speaks HTTP.
        request: returns the request without a body; see `UpstreamRequestBuilder.request`.

    Args:
        endpoint: the configuration of the endpoint.
        upstream: the configuration of the upstream.
        base_url: the base URL of the upstream.
        client: sends the requests.
        admission: shared with the other endpoints of this upstream.
        dialects: the dialects by name.
        via: the value of the gateway in the `Via` header.
        debug: whether to add redacted details to errors.
    """

    def __init__(  # noqa: PLR0913 (one keyword for each thing that endpoints share)
        self,
        endpoint: EndpointConfig,
        upstream: UpstreamConfig,
        base_url: str,
        *,
        client: UpstreamClient,
        admission: Admission,
        dialects: Dialects,
        via: Via,
        debug: bool,
    ) -> None:
        self.config = upstream
        self.label = upstream.label
        self.identity = upstream.name or upstream.url
        self.speaks: Final = upstream.speaks
        self.timeouts: Final = upstream.timeouts
        self.connect_timeout: Final = upstream.timeouts.connect
        self.write_timeout: Final = upstream.timeouts.write
        self.retries: Final = upstream.retries
        self.client = client
        self.admission = admission
        self.refused = RefusedFields()
        self.dialects = dialects
        self.messages = SocketMessages(endpoint, upstream, dialects) if upstream.is_websocket else None
        self._outgoing = UpstreamRequestBuilder(endpoint, upstream, base_url, dialects, via)
        self.request: Final = self._outgoing.request
        self._configured = endpoint.protocol_options
        settled = self._outgoing.constant_options
        self._constant = (
            None if settled is None else dialects.checked_options(_merged(settled, self._configured))
        )
        self._raw = endpoint.raw
        self._eof: Any = endpoint.eof
        self._limits = Limits(
            event_bytes=endpoint.limits.event_bytes,
            stream_bytes=endpoint.limits.stream_bytes,
            malformed_events=endpoint.limits.malformed_events,
        )
        self._full_text: Any = endpoint.full_text
        self._warnings = [
            Warning(message=warning.message, message_code=warning.message_code, for_users=True)
            for warning in endpoint.warnings
        ]
        self._debug = debug
        self._streams_arguments = {
            name: endpoint.stream_tool_arguments or dialects.to_write(name).streams_arguments
            for name in (*endpoint.answers, "standard")
        }
        """Whether `tool_call_delta` is let through, by the protocol of the client."""

    @cached_property
    def dialect(self) -> Dialect:
        """The dialect of the upstream.

        Raises:
            UnknownDialectError: the configured dialect is `auto`: it is detected anew in each answer.
        """
        return self.dialects.to_read(self.speaks)

    def path(self, incoming: Incoming) -> str:
        """Return the upstream's path, without a query, for a request of this client.

        Raises:
            NoSuchPath: the client's path would lead out of the configured path.
        """
        return self._outgoing.path(incoming.path_params)

    def dialect_options(self, path: str) -> Mapping[str, Any]:
        """Return the options of the upstream's dialect that apply to requests to `path`."""
        return self.protocol_options(path).get(self.dialect.name, {})

    def reader(self, options: Mapping[str, Options]) -> StreamReader:
        """Return a new reader, for one answer of this upstream.

        Args:
            options: the options of each dialect, by its name.
        """
        return StreamReader(self.speaks, self.dialects, options, self._limits, self._raw, self._eof)

    def scout(self, options: Mapping[str, Options], request_id: str) -> StreamNormalizer:
        """Return a reader and pipeline for one answer; the events are discarded.

        Args:
            options: the options of each dialect, by its name.
            request_id: the id of the request.
        """
        pipeline = Pipeline((), request_id=request_id, room=self._limits.event_bytes)
        return StreamNormalizer(self.reader(options), pipeline)

    def error_reader(self) -> StreamReader:
        """Return a reader for the body of an error status, which may be an error event of the dialect."""
        return StreamReader(self.speaks, dialects=self.dialects)

    def pipeline(self, sink: EventSink, incoming: Incoming, offer: Offer) -> Pipeline:
        """Return the pipeline that normalises the answer to `offer` for `sink`."""
        warnings = self._warnings
        if offer.lost or offer.is_mended:
            warnings = [*_warnings(offer), *warnings]
        pipeline = Pipeline(
            (sink, *offer.taps),
            request_id=incoming.request_id,
            full_text=self._full_text,
            stream_tool_arguments=self._streams_arguments[incoming.answers],
            warnings=warnings,
            debug=self._debug,
            room=self._limits.event_bytes,
            upstream=self.identity,
        )
        pipeline.position.began = incoming.began
        if offer.tap is not None:
            pipeline.listener = offer.tap.note
        return pipeline

    def protocol_options(self, target: str) -> Mapping[str, Options]:
        """Return the options of each dialect, by its name; some of the options depend on the upstream's path.

        Args:
            target: the upstream's path.
        """
        if self._constant is not None:
            return self._constant
        return self.dialects.checked_options(_merged(self._outgoing.options(target), self._configured))

    def recorded_options(self, options: Mapping[str, Options], answers: str) -> dict[str, Any]:
        """Return the options with which a `Translator` makes the same events of an answer as the gateway."""
        return {
            "debug": self._debug,
            "full_text": self._full_text,
            "limits": {
                "event_bytes": self._limits.event_bytes,
                "stream_bytes": self._limits.stream_bytes,
                "malformed_events": self._limits.malformed_events,
            },
            "protocol_options": {name: dict(given) for name, given in options.items() if given},
            "stream_tool_arguments": self._streams_arguments[answers],
            "raw": self._raw,
            "eof": self._eof,
        }

    @property
    def forwards_cookies(self) -> bool:
        """Whether the client's cookies are sent to this upstream."""
        return self._outgoing.forwards_cookies

    def error_context(self, status: int, incoming: Incoming, *, debug: bool) -> ErrorContext:
        """Return the facts that are needed to classify a response with the error status `status`."""
        outgoing = self._outgoing
        return ErrorContext(
            self.error_reader,
            client_credentials=status in _REFUSED and outgoing.passes_credentials(incoming.headers),
            own_credentials=outgoing.adds_credentials,
            debug=debug,
        )


def _warnings(offer: Offer) -> Iterator[Warning]:
    """Yield the warnings about the request to an upstream."""
    if offer.lost:
        yield own_warning("REQUEST_LOSSY", names=", ".join(offer.lost))
    if offer.is_mended:
        yield own_warning("REASONING_LOST")


def _merged(
    settled: Mapping[str, Mapping[str, Any]], configured: Mapping[str, Mapping[str, Any]]
) -> Mapping[str, Mapping[str, Any]]:
    """Return the options that follow from the upstream's path; configured options override them."""
    if not settled or not configured:
        return settled or configured
    return {name: {**settled.get(name, {}), **configured.get(name, {})} for name in {*settled, *configured}}
