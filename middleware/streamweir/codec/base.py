"""The base classes of dialects: `Decoder` (frames to events) and `Encoder` (events to frames)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal

from streamweir.codec.block_forms import BlockForms
from streamweir.codec.encoder import NO_EXTRA, Encoder, extra_in
from streamweir.codec.head_messages import best_score
from streamweir.codec.hints import Hints
from streamweir.codec.message_template import Piece, TextFields
from streamweir.codec.option_values import NO_OPTIONS, Options, chosen_value
from streamweir.codec.own_methods import defines_methods
from streamweir.events import Event, SessionEnd
from streamweir.framing import Frame
from streamweir.options.limits import EVENT_BYTES

__all__ = [
    "MAX_EVENTS_OF_A_FRAME",
    "NO_EXTRA",
    "NO_OPTIONS",
    "Decoder",
    "Encoder",
    "FramingName",
    "Options",
    "extra_in",
]

FramingName = Literal["sse", "ndjson", "lines", "text", "auto"]

MAX_EVENTS_OF_A_FRAME: Final = 10_000
"""The most events of one message: to read more would cost far more time than it takes to send the message."""


class Decoder:
    """Turns the frames of one stream into events. One instance per stream; state lives in it.

    Class attributes:
        framing: the usual framing of the dialect. The bytes decide between SSE and NDJSON. `lines` is plain
            text with one frame per line; `text` is a body that is nothing but the text of the answer.
        in_a_row: whether servers may write JSON objects without line ends between them.
        media_types: the media types of its streams, in addition to those of SSE and NDJSON.
        errors_for_users: whether the texts of its errors and warnings are written for users and may be sent
            to them, with secrets removed. `for_users` of a single event overrides this.
        option_values: the options for reading, with their allowed values; the first is the default.
        hints: signs of the dialect's messages. `auto` does not ask the decoder about messages without these
            signs. None: the decoder is asked about every message. A dialect with a folder declares its hints
            in `DIALECT`.
        text_fields: the places of the text in its messages. A message that differs from the last one only in
            its text is then not decoded; see `TextFields` for what a dialect promises by this. A subclass
            that defines a method does not inherit it.

        block_forms: the forms of blocks that `read_block` reads, such as the beginning and the end of an
            answer. A subclass that defines a method does not inherit it.
        behind_error: the types of the messages that clients of the dialect expect after an error. These
            messages are copied for a client that gets the frames of the upstream.
        given_in: by lower-case name of a response header, a pattern whose named groups are added to `given`.

    Attributes:
        complete: *soft* evidence of a proper end has been read (`[DONE]`, a finish reason). More events may
            follow, but the stream counts as completed whenever it ends. *Final* evidence is `SessionEnd`.
        pauses: whether the stream is `complete` because a person was asked, so that the run may go on in the
            same connection. None: the run pauses if a question is open and the dialect's own end is not read.
        options: the chosen options.
        given: facts about the answer that its body does not hold, such as the id of a run that was started
            before its events were requested. The names are those of `Written.given`. Values that `given_in`
            matches are added.
        request_id: the request id of the stream; set before the first frame. The decoder makes ids for calls
            without an id from it (`streamweir.ids.made_call_id`).
        room: the number of bytes, roughly, that the decoder may keep between two frames. It has to shorten or
            forget older state (`streamweir.ids`), or raise `LimitExceeded`.
        judges_texts: whether `accepts_text` has to be asked about every text. True by default in classes that
            define `accepts_text`.
    """

    framing: ClassVar[FramingName] = "sse"
    in_a_row: ClassVar[bool] = False
    media_types: ClassVar[frozenset[str]] = frozenset()
    errors_for_users: ClassVar[bool] = False
    option_values: ClassVar[Mapping[str, tuple[str, ...]]] = NO_OPTIONS
    hints: ClassVar[Hints | None] = None
    text_fields: ClassVar[TextFields | None] = None
    block_forms: ClassVar[BlockForms | None] = None
    behind_error: ClassVar[frozenset[str]] = frozenset()
    given_in: ClassVar[Mapping[str, re.Pattern[str]]] = MappingProxyType({})

    complete: bool = False
    pauses: bool | None = None
    options: Options = NO_OPTIONS
    given: Mapping[str, str] = NO_EXTRA
    request_id: str = ""
    room: int = EVENT_BYTES
    judges_texts: bool = False

    def __init_subclass__(cls) -> None:
        """Remove `text_fields` and `block_forms` from a subclass that defines a method, which may read
        messages differently.
        """
        super().__init_subclass__()
        if "accepts_text" in vars(cls):
            if "judges_texts" not in vars(cls):
                cls.judges_texts = True
            if "accepts_texts" not in vars(cls):
                cls.accepts_texts = Decoder.accepts_texts  # type: ignore[method-assign]
        if defines_methods(cls):
            if "text_fields" not in vars(cls):
                cls.text_fields = None
            if "block_forms" not in vars(cls):
                cls.block_forms = None

    @classmethod
    def score(cls, fields: Mapping[str, Any], event: str | None) -> float:
        """Return the probability that a body is of this dialect, judged by one of its first messages.

        Args:
            fields: the message, a JSON object.
            event: the SSE event name of the message.

        Returns:
            From 0 (not this dialect) to 1 (no other dialect is possible). The body is read in the dialect
            with the highest score, if that is at least 0.5.
        """
        del fields, event
        return 0.0

    @classmethod
    def detect(cls, head: bytes) -> float:
        """Return the probability, from 0 to 1, that a body that begins with `head` is of this dialect.

        By default this is the best `score` of the messages in `head`. A dialect may look at the whole head
        instead, if its messages are no JSON objects or can only be judged together. It is called less often.
        """
        return best_score(head, cls.score)

    @classmethod
    def looks_at_heads(cls) -> bool:
        """Return whether the class overrides `detect`."""
        return getattr(cls.detect, "__func__", None) is not getattr(Decoder.detect, "__func__", None)

    @classmethod
    def options_for(cls, path: str) -> Options:
        """Return the options that follow from the URL path of the upstream."""
        del path
        return NO_OPTIONS

    def decode(self, frame: Frame) -> Iterable[Event]:
        """Return the events of a frame; an empty iterable for a ping.

        An unknown message becomes `data{custom}` and must not raise.

        Raises:
            MalformedEvent: this frame cannot be read; the stream goes on.
            NotTheDialect: the body is not of this dialect; the stream ends.
        """
        raise NotImplementedError

    def begin_with_text(self) -> bool:
        """Note that the body begins with a usual text (`TextFields.usual`), so that this text is not decoded.

        Returns:
            True only if the decoder is now in the state in which `decode` would leave it. False if the text
            has to be decoded; the decoder has not changed then.
        """
        return False

    def read_block(self, found: re.Match[bytes]) -> Sequence[Event] | None:
        """Return the events of a block of `block_forms`, as `decode` would for its message.

        Args:
            found: the match of `BlockForms.pattern`.

        Returns:
            None if the message has to be decoded; the decoder has not changed then.
        """
        del found
        return None

    @property
    def plain_piece(self) -> Piece | None:
        """An event like that of each text of `text_fields.form` that may be read now, aside from the text;
        None if a text has to be decoded.
        """
        return None

    def accepts_text(self, text: str) -> bool:
        """Note the text of a message that differs from the last one only in this text.

        Called only if `text_fields` is declared.

        Returns:
            False if the message has to be decoded; this method may get the text once more before that. True
            only if `decode` would return nothing but this text.
        """
        del text
        return True

    def accepts_texts(self, texts: Sequence[str]) -> int:
        """Note the texts of consecutive messages; see `accepts_text`, which is asked about each by default.

        Returns:
            The number of texts before the first one that has to be decoded.
        """
        for count, text in enumerate(texts):
            if not self.accepts_text(text):
                return count
        return len(texts)

    def accepts_thoughts(self, ids: Sequence[str], texts: Sequence[str]) -> int:
        """Note consecutive messages that differ from the last one only in text and id; see `TextFields.ids`.

        Args:
            ids: the id of each message.
            texts: the text of each message.

        Returns:
            The number of messages before the first one that has to be decoded.
        """
        del ids
        return len(texts)

    @property
    def shown_form(self) -> Options:
        """The options with which an encoder writes frames that look like those of this stream."""
        return NO_OPTIONS

    @property
    def reported_tokens(self) -> Mapping[str, Any]:
        """The counts of tokens that the stream has reported until now, by their names in a summary.

        Read when a stream is over. If the stream's own end has a summary, the counts in that summary win.
        Other fields, and values that are no counts, are ignored. A dialect that reports counts only in its
        end returns an empty mapping.
        """
        return NO_EXTRA

    def close(self) -> Iterable[Event]:
        """Return the last events at the input's end, including a `SessionEnd` if the dialect may end here."""
        return (SessionEnd(),) if self.complete else ()

    def option(self, name: str) -> str:
        """Return the chosen value of an option that `option_values` declares."""
        allowed = self.option_values[name]
        return chosen_value(self.options, name, allowed) if self.options else allowed[0]
