"""The facts about one request that its row and the first line of its capture are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from streamweir.capture.masking import SecretMask
from streamweir.codec.base import Options
from streamweir.translation.normalizer import StreamNormalizer
from streamweir_gateway.console.capture_source import Masking, StreamFacts
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.runs.destination import Destination
from streamweir_gateway.runs.stream_recorder import DeliveryFacts
from streamweir_gateway.upstream.response import UpstreamResponse

__all__ = ["CaptureSettings", "RecordedRequest", "TranslationFacts"]


class CaptureSettings(NamedTuple):
    """The settings of captures.

    Attributes:
        max_bytes: the most bytes of one log.
        most_relay_bytes: the most bytes of one block of relayed reads. It fits into each half of a log.
        config: the hash of the configuration in force.
        mask: finds the secrets of the configuration.
        on_raw: called with a log that has many bytes to mask.
    """

    max_bytes: int
    most_relay_bytes: int
    config: str
    mask: SecretMask
    on_raw: Callable[[Masking], None]


class TranslationFacts(NamedTuple):
    """The facts about the translation of a stream that its row shows."""

    session_id: str | None = None
    thread_id: str | None = None
    warnings: int | None = None
    repairs: int | None = None
    malformed: int | None = None
    speaks: str | None = None


class RecordedRequest:
    """Base of the recorders of one request; see `StreamRecorder`.

    Args:
        row_id: the id of the request's row.
        record: the record of the request.
        settings: the settings of its capture.

    Attributes:
        row_id: the id of its row.
        record: the record of the request.
        attempt: the number of the present attempt; 0 before the first.
        stream: the stream of the present attempt; None before the first, and after the end.
        delivery: the delivery to the client; None before it begins, and after the end.
        answers: the protocol that the client asks for; None before its request is read.
        framing: the framing that the client asks for; None before its request is read.
        status: the HTTP status that was sent; None before the end.
        first_event: the sequence number of the first event of the response; not 0 if a client resumes.
        destination: the upstream of the last attempt; None before the first.
        options: the options of each dialect in the last attempt, by its name.
        is_over: whether the stream has ended.
        was_returned: whether the row was returned while it was open.
    """

    __slots__ = (
        "_response",
        "_settings",
        "_translation",
        "answers",
        "attempt",
        "delivery",
        "destination",
        "first_event",
        "framing",
        "is_over",
        "options",
        "record",
        "row_id",
        "status",
        "stream",
        "was_returned",
    )

    has_content = False
    """Whether the bytes of the stream are kept."""

    def __init__(self, row_id: str, record: RequestRecord, settings: CaptureSettings) -> None:
        self.row_id = row_id
        self.record = record
        self._settings = settings
        self.attempt = self.first_event = 0
        self.is_over = self.was_returned = False
        self.stream: StreamNormalizer | None = None
        self.delivery: DeliveryFacts | None = None
        self.answers: str | None = None
        self.framing: str | None = None
        self.destination: Destination | None = None
        self.options: Mapping[str, Options] = {}
        self.status: int | None = None
        self._response: UpstreamResponse | None = None
        self._translation: TranslationFacts | None = None

    @property
    def translation(self) -> TranslationFacts | None:
        """The facts about the translation as they are now; None before the first attempt."""
        return self._translation if self.stream is None else _facts_of(self.stream)

    def facts(self) -> StreamFacts:
        """Return the facts about the stream, as far as they are known now."""
        record, destination = self.record, self.destination
        translation = self.translation
        return StreamFacts(
            record.request_id,
            self.has_content,
            record.endpoint,
            record.upstream,
            record.speaks if destination is None else destination.config.speaks,
            record.answers or self.answers,
            record.framing or self.framing,
            self._settings.config or None,
            record.trace_id,
            None if translation is None else translation.session_id,
            record.began,
            self.first_event,
            record.first_event_ms,
        )

    def _begin_attempt(
        self,
        attempt: int,
        destination: Destination,
        stream: StreamNormalizer,
        options: Mapping[str, Options],
    ) -> None:
        """Note that an upstream is asked."""
        self.attempt, self.destination, self.stream, self.options = attempt, destination, stream, options
        self._response = None

    def _leave_response(self) -> None:
        """Drop the response: the delivery refers to it, and `on_relayed` to the delivery."""
        if self._response is not None:
            self._response.on_read = self._response.on_relayed = None
            self._response = None

    def _close(self) -> None:
        """Keep what the row shows of stream and delivery, and drop the references to them."""
        self.is_over = True
        if self.stream is not None:
            self._translation = _facts_of(self.stream)
        if self.delivery is not None and self.delivery.is_started:
            self.status = self.delivery.status
        self.stream = self.delivery = self._response = None


def _facts_of(stream: StreamNormalizer) -> TranslationFacts:
    reader, pipeline = stream.reader, stream.pipeline
    lifecycle, dialect = pipeline.lifecycle, reader.dialect
    return TranslationFacts(
        lifecycle.session_id,
        lifecycle.thread_id,
        lifecycle.warnings,
        pipeline.tools.repairs,
        reader.malformed,
        None if dialect is None else dialect.name,
    )
