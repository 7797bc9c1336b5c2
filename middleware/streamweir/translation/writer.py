"""What a client gets of a valid stream: framed events of its protocol, or one folded result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, Protocol

from streamweir.codec.base import Encoder, Options
from streamweir.codec.frame_template import SAMPLE_SIZE, FrameTemplate, Number
from streamweir.codec.registry import make_encoder
from streamweir.errors import ConfigurationError
from streamweir.events import Content, Event, Stamp, Thinking
from streamweir.framing import Frame, sse_writer, write_ndjson, write_sse_comment
from streamweir.jsontext import write_json
from streamweir.translation.fold import Fold

__all__ = ["MEDIA_TYPES", "EventSink", "FramingChoice", "open_writer"]

FramingChoice = Literal["sse", "ndjson", "json"]

MEDIA_TYPES: Final[dict[str, str]] = {
    "sse": "text/event-stream; charset=utf-8",
    "ndjson": "application/x-ndjson",
    "json": "application/json",
}


class EventSink(Protocol):
    """The end of the chain: events in, bytes out."""

    framing: FramingChoice
    lost: Counter[str]
    can_replace: bool

    def read_as(self, dialect: str) -> None:
        """Take note of the dialect that the stream is read in."""
        ...

    def write(self, event: Event, stamp: Stamp) -> bytes:
        """Return the bytes that say `event`."""
        ...

    def write_texts(self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp) -> bytes:
        """Return the bytes that say pieces of text.

        Args:
            event: a piece from which they differ in their text only; the same object for more of the same.
            texts: what they say; neither is the list empty, nor one of them.
            stamp: of the first of them.
        """
        ...

    def finish(self) -> bytes:
        """Return the bytes that follow the last event."""
        ...

    def heartbeat(self) -> bytes:
        """Return bytes that say nothing, or nothing where the clients cannot skip anything."""
        ...


class StreamWriter:
    """A stream in one protocol and framing."""

    def __init__(self, name: str, encoder: Encoder, framing: Literal["sse", "ndjson"]) -> None:
        self.framing: FramingChoice = framing
        self._name = name
        self.lost = encoder.lost
        self.can_replace = encoder.can_replace
        self._encoder = encoder
        self._piece: Content | Thinking | None = None
        self._alike = 0
        self._form: FrameTemplate | None = None
        """How pieces like `_piece` are written, while nothing else is."""
        self._bytes_of: Callable[[Frame], bytes] = (
            sse_writer(encoder.sse_prefix) if framing == "sse" else write_ndjson
        )

    def read_as(self, dialect: str) -> None:
        """Let the upstream's own fields back into the stream if it is the same dialect that is written."""
        self._encoder.writes_extra = dialect == self._name

    def write(self, event: Event, stamp: Stamp) -> bytes:
        """Return the frames that say `event`."""
        self._form = None
        out = b""
        for frame in self._encoder.encode(event, stamp):
            out += self._bytes_of(frame)
        return out

    def write_texts(self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp) -> bytes:
        """Return the frames that say pieces of text, all after the first of them as that one."""
        numbers = self._encoder.template_numbers(event, texts, stamp)
        if event is not self._piece or numbers is None:
            self._piece, self._alike, self._form = event, 0, None
        if self._form is not None and numbers is not None:
            self._encoder.texts_written(event, texts)
            return self._form.write(texts, numbers)
        return self._write_by_first(event, texts, stamp, numbers)

    def _write_by_first(
        self,
        event: Content | Thinking,
        texts: Sequence[str],
        stamp: Stamp,
        numbers: Mapping[str, Number] | None,
    ) -> bytes:
        """Encode one text after the other, until one shows how the others are written."""
        out = []
        for place, text in enumerate(texts):
            if self._form is not None and numbers is not None:
                self._encoder.texts_written(event, texts[place:])
                out.append(self._form.write(texts[place:], numbers))
                break
            at = Stamp(stamp.request_id, stamp.sequence + place, stamp.timestamp)
            frames = [*map(self._bytes_of, self._encoder.encode(event.with_text(text), at))]
            out += frames
            if numbers is not None:
                self._alike += 1
                if len(frames) == 1 and (len(texts) > SAMPLE_SIZE or self._alike > SAMPLE_SIZE):
                    self._form = FrameTemplate.of(frames[0], text, numbers)
                numbers = {key: (number + step, step) for key, (number, step) in numbers.items()}
        return b"".join(out)

    def finish(self) -> bytes:
        """Return the frames that follow the last event."""
        return b"".join(map(self._bytes_of, self._encoder.close()))

    def heartbeat(self) -> bytes:
        """Return a comment (SSE) or an empty line (NDJSON)."""
        return write_sse_comment("ping") if self.framing == "sse" else b"\n"


class FoldedWriter:
    """One JSON object, written at the end."""

    def __init__(self, request_id: str) -> None:
        self.framing: FramingChoice = "json"
        self.lost: Counter[str] = Counter()
        self.can_replace = True
        self.fold = Fold(request_id)

    def read_as(self, dialect: str) -> None:
        """A folded result holds no fields of an upstream's own."""

    def write(self, event: Event, stamp: Stamp) -> bytes:
        """Keep `event`.

        Raises:
            LimitExceeded: the stream is too large to be one answer.
        """
        del stamp
        self.fold.add(event)
        return b""

    def write_texts(self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp) -> bytes:
        """Keep pieces of text.

        Raises:
            LimitExceeded: the stream is too large to be one answer.
        """
        return b"".join(self.write(event.with_text(text), stamp) for text in texts)

    def finish(self) -> bytes:
        """Return the folded result."""
        return write_json(self.fold.result()) + b"\n"

    def heartbeat(self) -> bytes:
        """Return nothing: the answer's status is not known before its end."""
        return b""


def open_writer(name: str, framing: str, *, request_id: str, options: Options) -> EventSink:
    """Return the output for one stream of the protocol `name`.

    A protocol whose clients cannot read `framing` is written in its own.

    Raises:
        UnknownDialectError: nobody can write `name`.
        ConfigurationError: `framing` is none of `sse`, `ndjson`, `json`.
    """
    if framing not in MEDIA_TYPES:
        raise ConfigurationError(f"unknown framing {framing!r} (one of: {', '.join(MEDIA_TYPES)})")
    encoder = make_encoder(name, options)
    if framing == "json":
        return FoldedWriter(request_id)
    chosen: Any = framing if framing in encoder.framings else encoder.framings[0]
    return StreamWriter(name, encoder, chosen)
