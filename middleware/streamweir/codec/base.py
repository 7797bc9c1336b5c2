"""The base classes of dialects: `Decoder` (frames to events) and `Encoder` (events to frames)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal

from streamweir.codec.encoder import NO_EXTRA, Encoder, extra_in
from streamweir.codec.head_messages import best_score
from streamweir.codec.hints import Hints
from streamweir.codec.message_template import TextFields
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
"""The most events of one message. A message that seems to have more costs far more time than to send it."""


class Decoder:
    """Turns the frames of one stream into events. One instance per stream; state lives in it.

    Class attributes:
        framing: the usual framing of the dialect. SSE and NDJSON are told apart by the bytes. `lines` is
            plain text with one frame per line; `text` is a body that is the answer itself.
        in_a_row: servers may write JSON objects without line ends between them.
        media_types: the media types of its streams, in addition to those of SSE and NDJSON.
        errors_for_users: the texts of its errors and warnings are written for users and may be sent to them
            (redacted). `for_users` of a single event overrides this.
        option_values: the options for reading the dialect, with their allowed values; the first value is the
            default.
        hints: the look of its messages. `auto` does not ask the decoder about other messages. None: it is
            always asked. A dialect with a folder declares its hints in `DIALECT`.
        text_fields: the places of the text in its messages. A message that differs from the last one only in
            its text is then not decoded; see `TextFields` for what a dialect promises by this. A subclass
            that defines a method does not inherit it.

        behind_error: the types of the messages that clients of the dialect expect behind an error. They are
            copied for a client that gets the frames of the upstream.
        given_in: by lower-case name of a response header, a pattern whose named groups are added to `given`.

    Attributes:
        complete: *soft* evidence of a proper end has been read (`[DONE]`, a finish reason). More may follow,
            but the stream counts as completed whenever it ends. *Final* evidence is a `SessionEnd` event.
        pauses: whether the stream is `complete` because a person was asked, so that the run may go on in the
            same connection. None: it is if a question is open and the dialect's own end has not been read.
        options: the chosen options.
        given: facts about the answer that its body does not hold, such as the id of a run that was started
            before its events were requested. The names are those of `Written.given`. The groups of `given_in`
            are added.
        request_id: of the stream; set before the first frame. Ids that the decoder makes for calls without
            one are made of it (`streamweir.ids.made_call_id`).
        room: the number of bytes, roughly, that the decoder may keep between two frames. It has to shorten or
            forget older state (`streamweir.ids`), or raise `LimitExceeded`.
        judges_texts: every text has to be given to `accepts_text`. True by default in classes that define
            `accepts_text`.
    """

    framing: ClassVar[FramingName] = "sse"
    in_a_row: ClassVar[bool] = False
    media_types: ClassVar[frozenset[str]] = frozenset()
    errors_for_users: ClassVar[bool] = False
    option_values: ClassVar[Mapping[str, tuple[str, ...]]] = NO_OPTIONS
    hints: ClassVar[Hints | None] = None
    text_fields: ClassVar[TextFields | None] = None
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
        """Take `text_fields` from subclasses that define a method: they may read texts in another way."""
        super().__init_subclass__()
        if "accepts_text" in vars(cls) and "judges_texts" not in vars(cls):
            cls.judges_texts = True
        if "text_fields" not in vars(cls) and defines_methods(cls):
            cls.text_fields = None

    @classmethod
    def score(cls, fields: Mapping[str, Any], event: str | None) -> float:
        """Return how surely a body is of this dialect, judged by one of its first messages.

        Args:
            fields: the message, a JSON object.
            event: its SSE event name.

        Returns:
            0 (no) to 1 (it can be no other). The dialect with the highest score of at least 0.5 is read.
        """
        del fields, event
        return 0.0

    @classmethod
    def detect(cls, head: bytes) -> float:
        """Return how surely a body that begins with `head` is of this dialect, from 0 to 1.

        By default this is the best `score` of its messages. A dialect whose messages are no JSON objects, or
        can only be judged together, may look at the whole head instead. This method is called less often.
        """
        return best_score(head, cls.score)

    @classmethod
    def looks_at_heads(cls) -> bool:
        """Return whether the class overrides `detect`."""
        return getattr(cls.detect, "__func__", None) is not getattr(Decoder.detect, "__func__", None)

    @classmethod
    def options_for(cls, path: str) -> Options:
        """Return the options that follow from the path of the upstream's URL."""
        del path
        return NO_OPTIONS

    def decode(self, frame: Frame) -> Iterable[Event]:
        """Return the events of a frame; none for a ping.

        An unknown message becomes `data{custom}` and must not raise.

        Raises:
            MalformedEvent: this frame cannot be read; the stream goes on.
            NotTheDialect: the body is not of this dialect; the stream ends.
        """
        raise NotImplementedError

    def begin_with_text(self) -> bool:
        """Note that the body begins with a usual text (`TextFields.usual`), which is then not decoded.

        Returns:
            False, and nothing has changed, if that text has to be decoded. True only if the decoder is now in
            the state in which `decode` would leave it.
        """
        return False

    def accepts_text(self, text: str) -> bool:
        """Note the text of a message that differs from the last one only in this text.

        Called only if `text_fields` is declared.

        Returns:
            False if the message has to be decoded; the same text may be given once more before that. True
            only if `decode` would return just this text.
        """
        del text
        return True

    @property
    def shown_form(self) -> Options:
        """The options with which an encoder writes frames that look like those of this stream."""
        return NO_OPTIONS

    @property
    def reported_tokens(self) -> Mapping[str, Any]:
        """The counts of tokens that the stream has reported so far, by their names in a summary.

        Asked when a stream is over; the summary of its own end, if it has one, wins. Other fields, and values
        that are no counts, are ignored. A dialect that counts only in its end has nothing to return.
        """
        return NO_EXTRA

    def close(self) -> Iterable[Event]:
        """Return the last events at the end of the input; with a `SessionEnd` if the dialect may end here."""
        return (SessionEnd(),) if self.complete else ()

    def option(self, name: str) -> str:
        """Return the chosen value of an option that `option_values` declares."""
        allowed = self.option_values[name]
        return chosen_value(self.options, name, allowed) if self.options else allowed[0]
