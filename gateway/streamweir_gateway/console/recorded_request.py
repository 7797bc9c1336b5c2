"""The facts about one request that its row and the first line of its capture are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from streamweir.capture.masking import SecretMask
from streamweir.codec.base import Options
from streamweir.translation.normalizer import StreamNormalizer
from streamweir_gateway.console.capture_source import Masking, StreamFacts
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.runs.destination import Destination
from streamweir_gateway.runs.stream_recorder import DeliveryFacts, ReaderFacts

__all__ = ["CaptureSettings", "RecordedRequest", "TranslationFacts", "facts_of"]


class CaptureSettings(NamedTuple):
    """The settings of captures.

    Attributes:
        max_bytes: the most bytes of one log.
        most_held: the bytes in notes, or in the body of a request, beyond which they are not held.
        config: the hash of the configuration in force.
        mask: finds the secrets of the configuration.
        on_raw: called with a log that has many bytes to mask.
    """

    max_bytes: int
    most_held: int
    config: str
    mask: SecretMask
    on_raw: Callable[[Masking], None]


class TranslationFacts(msgspec.Struct, frozen=True, gc=False):
    """The facts about the translation of a stream that its row shows."""

    session_id: str | None = None
    thread_id: str | None = None
    warnings: int | None = None
    repairs: int | None = None
    malformed: int | None = None
    speaks: str | None = None


class RecordedRequest:
    """The facts about one request. Those that are not known yet are the defaults of the class.

    Attributes:
        has_content: whether the bytes of the stream are kept.
        row_id: the id of its row.
        record: the record of the request.
        settings: the settings of its capture.
        attempt: the number of the present attempt; 0 before the first.
        stream: the stream of the present attempt; None before the first, and after the end.
        delivery: the delivery to the client; None before it begins, and after the end.
        answers: the protocol that the client asks for; None before its request is read.
        framing: the framing that the client asks for; None before its request is read.
        status: the HTTP status that was sent, if the record of a request that has ended has none.
        first_event: the sequence number of the first event of the response; not 0 if a client resumes.
        destination: the upstream of the last attempt; None before the first.
        options: the options of each dialect in the last attempt, by its name.
        run_reader: the reader of the stored run that the request reads; None for others, and after the end.
        translation: the facts about the translation; None before the end, and without an attempt.
        is_over: whether the stream has ended.
        was_returned: whether the row was returned while it was open.
    """

    row_id: str
    record: RequestRecord
    settings: CaptureSettings
    has_content = False
    attempt = first_event = 0
    is_over = was_returned = False
    stream: StreamNormalizer | None = None
    delivery: DeliveryFacts | None = None
    answers: str | None = None
    framing: str | None = None
    status: int | None = None
    destination: Destination | None = None
    options: Mapping[str, Options] = MappingProxyType({})
    run_reader: ReaderFacts | None = None
    translation: TranslationFacts | None = None

    def known_translation(self) -> TranslationFacts | None:
        """Return the facts about the translation, as far as they are known now; None if none is."""
        if self.stream is not None:
            return facts_of(self.stream)
        if self.run_reader is not None:
            return TranslationFacts(self.run_reader.session_id, self.run_reader.thread_id)
        return self.translation

    def own_mask(self) -> SecretMask:
        """Return a mask that also finds the secrets in the heads of its requests and responses."""
        return self.settings.mask

    def facts(self) -> StreamFacts:
        """Return the facts about the stream, as far as they are known now."""
        record, destination = self.record, self.destination
        translation = self.known_translation()
        return StreamFacts(
            record.request_id,
            self.has_content,
            record.endpoint or record.run_endpoint,
            record.upstream,
            record.speaks if destination is None else destination.config.speaks,
            record.answers or self.answers,
            record.framing or self.framing,
            self.settings.config or None,
            record.trace_id,
            None if translation is None else translation.session_id,
            record.began,
            self.first_event,
            record.first_event_ms,
        )


def facts_of(stream: StreamNormalizer) -> TranslationFacts:
    """Return the facts about the translation of a stream as they are now."""
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
