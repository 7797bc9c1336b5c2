"""Writes a stream for one client: its protocol, in a framing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Final, Literal, Self

import msgspec

from streamweir.codec.base import Encoder
from streamweir.codec.client_names import ClientNames
from streamweir.codec.dialect import Dialect
from streamweir.codec.frame_template import POSITION, SAMPLE_SIZE, FrameTemplate, Number, later_numbers
from streamweir.codec.opaque_values import without_opaque
from streamweir.codec.stamped_template import LONG_TEXT, StampedTemplate
from streamweir.events import (
    Content,
    Error,
    Event,
    SessionEnd,
    SessionStart,
    Stamp,
    Status,
    Thinking,
    ToolCallDelta,
    ToolCallStart,
    Warning,
)
from streamweir.framing import (
    LONE_COMMENT,
    MEDIA_TYPES,
    Frame,
    FramingChoice,
    sse_writer,
    write_ndjson,
)
from streamweir.framing.event_ids import EventIds
from streamweir.translation.adapted_kinds import adapted_kinds
from streamweir.translation.append_only_text import AppendOnlyText
from streamweir.translation.failure_body import failure_body
from streamweir.translation.reader import StreamReader
from streamweir.translation.report import not_understood_error, unsupported_warning, with_own_count

__all__ = ["StreamWriter"]


_WHAT_ENCODERS_GIVE: Final = "an encoder gives a list of frames, each with bytes or text: [Frame('...')]"


class StreamWriter:
    """Writes a stream in one protocol and framing.

    Events that the protocol cannot express are left out, counted, and reported in a warning before the end.
    The client's sequence numbers still have no gap.

    state       entered by                                         a terminal error
    ─────────   ────────────────────────────────────────────────   ─────────────────────────────────────────
    unsent      construction, for a protocol that                  becomes the whole body (failure)
                `reports_by_status`: `_may_fail_whole`
    streaming   construction, for any other protocol; a text,      is an event of the stream
                a call or another output; `begin_body`
    failure     see above: `is_failure`; final                     is not written, nor is any other event

    `_template` is set by the first of several texts alike; any other event or kind of text clears it.

    Args:
        dialect: the protocol.
        encoder: the encoder of this stream.
        framing: `sse` or `ndjson`.
        source: the reader of the stream. If it reads the same protocol, the upstream's further fields are
            written.

    Attributes:
        framing: the framing of the output.
        media_type: the content type of the output.
        headers: further headers of the response.
        unsupported: the number of events that the protocol has no place for, by a word for each kind.
        added: how many more events the client got than the stream has; negative if fewer.
        is_failure: the output is only the body of a failure, for a protocol that `reports_by_status`. Known
            at the end of the stream.
    """

    event_ids: EventIds | None = None
    """Adds an id to each SSE event without one; None: only the ids of the encoder are written."""
    run: str | None = None
    """The handle that the ids of events begin with; None: ids are sequence numbers."""
    added = 0
    is_failure = False
    _not_understood: Warning | None = None
    _has_reported = False
    _texts: AppendOnlyText | None = None
    """The texts that a client without `op: replace` has; None before the first text."""
    _piece: Content | Thinking | None = None
    _alike = 0
    _template: FrameTemplate | None = None
    """The frame template of texts like `_piece`; None after any other event."""
    _stamped: StampedTemplate | None = None
    """The template of texts like `_piece`, if the encoder has given one."""

    def __init__(
        self,
        dialect: Dialect,
        encoder: Encoder,
        framing: Literal["sse", "ndjson", "lines"],
        source: StreamReader | None = None,
    ) -> None:
        self.framing: FramingChoice = framing
        self.media_type = encoder.media_type or MEDIA_TYPES[framing]
        self.headers = encoder.response_headers
        self.unsupported = encoder.lost
        self._may_fail_whole = encoder.reports_by_status
        """No bytes have been written, so a failure may still be the whole response."""
        self._dialect = dialect
        self._encoder = encoder
        self._source = source
        self._only_appends = not encoder.can_replace
        self._carries_opaque = encoder.carries_opaque
        self._prepares = adapted_kinds(self._only_appends, encoder.warns, self._carries_opaque)
        self._notes_texts = encoder.notes_texts
        self._bytes_of: Callable[[Frame], bytes]
        self._set_framing(framing)
        self._out: list[bytes] = []
        self.added, self.event_ids = 0, None  # on the class they take longer to read

    @property
    def is_not_understood(self) -> bool:
        """Whether the body is the error of an answer that was not understood, and the stream did not fail."""
        return self.is_failure

    @property
    def reports_by_status(self) -> bool:
        """Whether clients of the protocol go by the HTTP status of a failure; see `Encoder`."""
        return self._encoder.reports_by_status

    @property
    def streams_arguments(self) -> bool:
        """Whether the protocol gives its clients arguments in pieces; see `Encoder`."""
        return self._encoder.streams_arguments

    def take(self) -> bytes:
        """Return the bytes that were written since the last call."""
        out = self._out
        if len(out) == 1:
            data = out.pop()
        else:
            self._out = []
            data = b"".join(out)
        return data if self.event_ids is None else self.with_ids(data)

    def take_last(self) -> bytes:
        """Return the bytes that were written since the last call, and all that was held back."""
        data = self.take()
        return data if self.event_ids is None else data + self.event_ids.finish()

    def with_ids(self, data: bytes) -> bytes:
        """Return bytes of the body with the ids of `event_ids`, if the body is SSE."""
        is_stream = self.event_ids is not None and self.framing == "sse" and not self.is_failure
        return self.event_ids.add(data) if self.event_ids is not None and is_stream else data

    def take_names(self, names: ClientNames) -> None:
        """Take the names that the client used in its request. To be called before the first event."""
        self._encoder.names = names

    def twin(self) -> Self:
        """Return a writer of the same protocol and framing that is given no event, and so has no bytes."""
        twin = copy(self)
        twin._out = []
        return twin

    def write(self, event: Event, stamp: Stamp) -> None:
        """Write `event`, as far as the protocol can express it."""
        self._template = None
        if type(event) in self._prepares:
            prepared = self._prepared(event, stamp)
            if prepared is None:
                self.added -= 1
                return
            event = prepared
        if self.added:
            stamp = self._own(stamp)
        if self._may_fail_whole and self._is_held(event, stamp):
            return
        try:
            if type(event) is Content and len(event.content) >= LONG_TEXT and self._write_long(event, stamp):
                return
            if self._writes_blocks and (block := self._encoder.sse_block(event, stamp)) is not None:
                self._out.append(block)
            else:
                self._out += self._encoded(event, stamp)
        except Exception:
            self.added -= 1  # the number goes to the error that this ends with
            raise

    def _write_long(self, event: Content | Thinking, stamp: Stamp) -> bool:
        """Write a long text by its template; return False if it has none, or is not plain ASCII."""
        text = event.content
        if not (self._writes_blocks and text.isascii() and event.with_text(text) == event):
            return False
        template = self._encoder.text_template(event, stamp)
        if template is None:
            return False
        self._out.append(template.write((text,), stamp))
        return True

    def write_run(self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp) -> None:
        """Write texts; the first one is encoded, and the others are filled into its frame."""
        if event is not self._piece:
            self._begin_run(event, texts, stamp)
            return
        own = self._own(stamp) if self.added else stamp
        if self._stamped is not None:
            self._out.append(self._stamped.write(texts, own))
            return
        template = self._template
        numbers = None if template is None else self._encoder.template_numbers(event, texts, own)
        if template is None or numbers is None:
            self._begin_run(event, texts, stamp)
            return
        if self._notes_texts:
            self._encoder.texts_written(event, texts)
        written = template.write(texts, numbers)
        if self._only_appends and type(event) is Content:
            (self._texts or self._begin_texts()).note(event, texts)
        self._out.append(written)

    def _begin_run(self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp) -> None:
        """Write texts that have no template yet, or whose position in a stored run is in their id."""
        self._may_fail_whole = False
        own = self._own(stamp) if self.added else stamp
        self._stamped = stamped = self._encoder.text_template(event, own) if self._writes_blocks else None
        if stamped is not None:
            self._piece = event
            self._out.append(stamped.write(texts, own))
            return
        is_first = event is not self._piece
        if is_first and len(texts) > 1 and type(self._encoder).text_template is Encoder.text_template:
            self.write_run(event, texts[:1], stamp)  # with the frames that may precede a first text
            self.write_run(event, texts[1:], Stamp(stamp.request_id, stamp.sequence + 1, stamp.timestamp))
            return
        if self._only_appends and type(event) is Content:
            (self._texts or self._begin_texts()).note(event, texts)
        numbers = self._encoder.template_numbers(event, texts, own)
        if numbers is not None and self.run is not None:
            numbers = {**numbers, POSITION: (stamp.sequence, 1)}
        if is_first or numbers is None:
            self._piece, self._alike, self._template = event, 0, None
        if self._template is not None and numbers is not None:
            if self._notes_texts:
                self._encoder.texts_written(event, texts)
            self._out.append(self._template.write(texts, numbers))
            return
        try:
            self._out += self._written_by_first(event, texts, own, numbers)
        except Exception:
            self.added -= len(texts)
            raise

    def begin_body(self) -> None:
        """Note that the status of the response has been sent: a failure becomes a part of the stream."""
        self._may_fail_whole = False

    def finish(self) -> None:
        """Write the frames that follow the last event."""
        if self.is_failure:
            return
        if last := self._encoder.close():
            self._out += map(self._bytes_of, last)

    def heartbeat(self) -> bytes:
        """Return the protocol's heartbeat, else a lone comment line (SSE) or an empty line."""
        if not self._encoder.heartbeats:
            return b""
        self.begin_body()
        if (frame := self._encoder.heartbeat()) is not None:
            return self._bytes_of(frame)
        return LONE_COMMENT if self.framing == "sse" else b"\n"

    def default_heartbeat(self) -> bytes:
        """Return a heartbeat that no configuration asks for.

        Empty for an old dialect: its pages never saw a heartbeat, and no form is safe for all of them.
        """
        return b"" if self._encoder.is_old else self.heartbeat()

    def _is_held(self, event: Event, stamp: Stamp) -> bool:
        """Write a failure before any other event as the whole body; return True if the body is a failure."""
        if isinstance(event, Error) and event.terminal:
            self._out = [failure_body(self._encoder, event, stamp.request_id)]
            self.is_failure = True
            self.media_type = MEDIA_TYPES["json"]
        elif not isinstance(event, SessionStart | SessionEnd | Status | Warning):
            self._may_fail_whole = False
        return self.is_failure

    def _encoded(self, event: Event, stamp: Stamp) -> list[bytes]:
        """Return the frames of an event."""
        try:
            return [*map(self._bytes_of, self._encoder.encode(event, stamp))]
        except (AttributeError, TypeError) as error:  # its message does not mention frames
            error.add_note(_WHAT_ENCODERS_GIVE)
            raise

    def _begin_texts(self) -> AppendOnlyText:
        self._texts = AppendOnlyText(self._encoder.lost)
        return self._texts

    def _set_framing(self, framing: str) -> None:
        self._bytes_of = sse_writer(self._encoder.sse_prefix) if framing == "sse" else write_ndjson
        self._writes_blocks = framing == "sse" and type(self._encoder).sse_block is not Encoder.sse_block
        """The encoder writes whole SSE blocks, to which nothing is added."""

    def _own(self, stamp: Stamp) -> Stamp:
        """Return the stamp of an event, numbered among the events that this client gets."""
        return Stamp(stamp.request_id, stamp.sequence + self.added, stamp.timestamp)

    def _prepared(self, event: Event, stamp: Stamp) -> Event | None:
        """Return `event` adapted to this client; None if the client gets no part of it."""
        kind = type(event)
        if kind is SessionEnd or kind is Error:
            return self._prepared_end(event, stamp)  # type: ignore[arg-type]
        if isinstance(event, SessionStart):
            source = self._source
            self._encoder.writes_extra = source is not None and source.dialect is self._dialect
            self._encoder.upstream = event.upstream or ""
            return event
        match event:
            case Content():
                text = event if self._carries_opaque else without_opaque(event)
                if not self._only_appends or text is None:
                    return text
                return (self._texts or self._begin_texts()).append(text)
            case Thinking() | ToolCallStart() | ToolCallDelta():
                return without_opaque(event)
            case Warning():
                self._not_understood = event if event.is_not_understood else self._not_understood
        return event

    def _prepared_end(self, event: SessionEnd | Error, stamp: Stamp) -> Event | None:
        """Return an end or an error adapted to this client; events that were left out are reported before
        the end.
        """
        if type(event) is Error:
            if not event.terminal:
                return event
        elif self._not_understood is not None and event.status != "error":
            return self._failed_end(event, stamp)
        if self.unsupported and not self._has_reported:
            self._report_unsupported(stamp)
        return with_own_count(event, stamp, self.added) if self.added else event

    def _failed_end(self, end: SessionEnd, stamp: Stamp) -> Event | None:
        """Write the warning about an empty answer as an error; return the end event that follows it.

        Only for a protocol that has no warnings. The result is None if the failure is the whole response.
        """
        self._not_understood = None
        self.write(not_understood_error(), stamp)
        if self.is_failure:
            return None
        self.added += 1
        failed = msgspec.structs.replace(end, status="error", reason="malformed")
        return with_own_count(failed, stamp, self.added)

    def _report_unsupported(self, stamp: Stamp) -> None:
        """Write the warning about events that were left out, if the protocol has warnings."""
        self._has_reported = True
        warning = unsupported_warning(self.unsupported) if self._encoder.warns else None
        if warning is not None:
            self.write(warning, stamp)
            self.added += 1

    def _written_by_first(
        self,
        event: Content | Thinking,
        texts: Sequence[str],
        stamp: Stamp,
        numbers: Mapping[str, Number] | None,
    ) -> list[bytes]:
        """Encode the texts one by one, until a frame is the template of the others."""
        out: list[bytes] = []
        for place, text in enumerate(texts):
            if self._template is not None and numbers is not None:
                rest = texts[place:]
                self._encoder.texts_written(event, rest)
                out.append(self._template.write(rest, later_numbers(numbers, place)))
                break
            at = Stamp(stamp.request_id, stamp.sequence + place, stamp.timestamp)
            frames = self._encoded(event.with_text(text), at)
            out += frames
            if numbers is not None:
                self._alike += 1
                enough = SAMPLE_SIZE if numbers else 0  # a form without numbers is found at once
                if len(frames) == 1 and (len(texts) > enough or self._alike > enough):
                    self._template = FrameTemplate.of(frames[0], text, later_numbers(numbers, place))
        return out
