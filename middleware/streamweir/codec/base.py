"""What a dialect is made of: a Decoder (frames -> events), an Encoder (events -> frames), or both."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal

from streamweir.codec.client_names import NO_NAMES, ClientNames
from streamweir.codec.failed_request import FailedRequest
from streamweir.codec.frame_template import Number
from streamweir.codec.head_messages import best_score
from streamweir.codec.hints import Hints
from streamweir.codec.message_template import TextFields
from streamweir.events import Content, Event, SessionEnd, Stamp, Thinking
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
    "option_text",
]

FramingName = Literal["sse", "ndjson", "lines", "text", "auto"]
Options = Mapping[str, Any]

NO_OPTIONS: Options = MappingProxyType({})
NO_EXTRA: Mapping[str, Any] = MappingProxyType({})

MAX_EVENTS_OF_A_FRAME: Final = 10_000
"""No message says more; one that seems to would cost a thousand times what it took to send."""


class Decoder:
    """Turns the frames of one stream into events. One instance per stream; state lives in it.

    Class attributes:
        framing: what the dialect is usually framed as. SSE and NDJSON are told apart on the wire; `lines` is
            plain text with a frame per line, `text` a body that is the answer itself.
        in_a_row: servers may write its JSON objects one behind the other, without line ends between them.
        media_types: of its streams, beside those of SSE and NDJSON.
        errors_for_users: the texts of its errors and warnings are written for users and may go out
            (redacted); a single event's `for_users` wins.
        option_values: the options that the dialect takes when it is read, and their allowed values; the
            first is the default.
        hints: what its messages look like, so that it is not asked about others; None: it is always asked. A
            dialect with a folder declares them in its `DIALECT`.
        text_fields: where its messages have their text, so that one that differs from the last in its text
            only need not be read anew; see `TextFields` for what this vouches for. Not inherited by classes
            that do anything of their own.

        given_in: headers of the answer that say what its body does not, by their lower-case names: patterns
            whose named groups are found in `given`.

    Attributes:
        complete: *soft* evidence of a proper end has been seen (`[DONE]`, a finish reason): more may follow,
            but the stream counts as completed whenever it ends. *Final* evidence is a `SessionEnd` event.
        pauses: what makes it `complete` is a question to a person, behind which the run may go on in the same
            connection (True), or is none (False). None: it does so if a question is open and the dialect's
            own end has not come.
        options: the chosen options.
        given: what the answer belongs to and does not say itself, by the names that the request's writer uses
            (`Written.given`): the id of a run that was started before its events were asked for. What
            `given_in` finds is added.
        room: how many bytes the decoder may keep between two frames, about. What it remembers is shortened or
            forgotten before (`streamweir.ids`), or ends the stream with `LimitExceeded`.
        judges_texts: it looks into texts, so that each has to be shown to it; where `accepts_text` is its
            own, unless it knows better.
    """

    framing: ClassVar[FramingName] = "sse"
    in_a_row: ClassVar[bool] = False
    media_types: ClassVar[frozenset[str]] = frozenset()
    errors_for_users: ClassVar[bool] = False
    option_values: ClassVar[Mapping[str, tuple[str, ...]]] = NO_OPTIONS
    hints: ClassVar[Hints | None] = None
    text_fields: ClassVar[TextFields | None] = None
    given_in: ClassVar[Mapping[str, re.Pattern[str]]] = MappingProxyType({})

    complete: bool = False
    pauses: bool | None = None
    options: Options = NO_OPTIONS
    given: Mapping[str, str] = NO_EXTRA
    room: int = EVENT_BYTES
    judges_texts: bool = False

    def __init_subclass__(cls) -> None:
        """What a class vouches for does not hold of one that reads in another way."""
        super().__init_subclass__()
        if "accepts_text" in vars(cls) and "judges_texts" not in vars(cls):
            cls.judges_texts = True
        if "text_fields" not in vars(cls) and _does_anything(cls):
            cls.text_fields = None

    @classmethod
    def score(cls, fields: Mapping[str, Any], event: str | None) -> float:
        """Return how sure one of the first messages of a body makes it that the body is this dialect.

        Args:
            fields: the message, a JSON object.
            event: its SSE event name.

        Returns:
            0 (no) to 1 (nothing else); from 0.5 on it counts as sure, unless another dialect is surer.
        """
        del fields, event
        return 0.0

    @classmethod
    def detect(cls, head: bytes) -> float:
        """Return how sure it is, from 0 to 1, that a body that begins with `head` is this dialect.

        The best `score` of its messages. A dialect whose messages are no JSON objects, or say little one by
        one, may look at the whole head instead; that is asked less often.
        """
        return best_score(head, cls.score)

    @classmethod
    def looks_at_heads(cls) -> bool:
        """Return whether the class has a `detect` of its own, in the place of `score`."""
        return getattr(cls.detect, "__func__", None) is not getattr(Decoder.detect, "__func__", None)

    @classmethod
    def options_for(cls, path: str) -> Options:
        """Return the options that the path of the upstream's URL settles, by naming one of its endpoints."""
        del path
        return NO_OPTIONS

    def decode(self, frame: Frame) -> Iterable[Event]:
        """Return the events that `frame` means: none for a ping.

        An unknown message is `data{custom}`, never an exception.

        Raises:
            MalformedEvent: this frame cannot be read; the stream goes on.
            NotTheDialect: the body is not this dialect at all; the stream ends.
        """
        raise NotImplementedError

    def accepts_text(self, text: str) -> bool:
        """Take note of the text of a message that is otherwise like the last one; False: decode it.

        Asked only where `text_fields` are declared. A decoder that looks into the text says True only to one
        that it would pass on as it is.
        """
        del text
        return True

    @property
    def shown_form(self) -> Options:
        """The options by which an encoder writes what this stream looks like, also such as nobody chooses."""
        return NO_OPTIONS

    def close(self) -> Iterable[Event]:
        """The input has ended: return what is left, with a `SessionEnd` if the dialect may end here."""
        return (SessionEnd(),) if self.complete else ()

    def option(self, name: str) -> str:
        """Return the chosen value of an option that `option_values` declares."""
        allowed = self.option_values[name]
        return _chosen(self.options, name, allowed) if self.options else allowed[0]


class Encoder:
    """Turns the events of one valid stream into frames. One instance per stream; state lives in it.

    What arrives keeps section 3 of the protocol: one `SessionStart`, paired tool calls, one `SessionEnd`.

    Class attributes:
        framings: the framings its clients can read; the first is the default.
        replaces: its clients understand `op: replace`.
        warns: its clients can be told a warning. If False, a stream that ends without an answer, some events
            of which no rule knew, ends with `UPSTREAM_INVALID_RESPONSE`: an empty answer is all it could say.
        sse_prefix: `data: `, or `data:` where the original server sends no space.
        media_type: in place of that of the framing.
        heartbeats: its clients can skip a comment, or an empty line.
        is_old: its pages never saw a heartbeat, and no form is safe for all of them.
        response_headers: what else its responses carry.
        option_values: as for `Decoder`, when the dialect is written.
        reports_by_status: its clients expect a failure before the first event as an HTTP status, with
            `failure_body` as the body.
        asks_by_body: its clients say in their request, by `stream`, whether they want a stream; `Accept` is
            the same for both.
        request_names: by the name of an attribute of `ClientNames`, the field of a request that has it.
        request_headers: likewise, the header of a request that has it; its values are added.
        asks_for_usage: its clients say in their request, by `stream_options.include_usage`, whether they
            want a chunk with the usage.
        streams_arguments: its clients are given a call's arguments in pieces, as they come.

    Attributes:
        lost: how many events, by a word for each kind, the target could not say.
        is_shown: what the upstream wrote goes out as it came, in the dialect that is written, and `encode` is
            only shown it: ids on the wire are the upstream's. What comes after an end that is missing there
            is written all the same.
        writes_extra: the stream is read in the dialect that is written, so that what its decoder kept as
            `extra` may come back. Whoever knows what is read sets it.
        names: what the client calls what it asks.
        request_id: of the stream, for what is written before the first event.
        room: how many bytes the encoder may keep between two events, about. What does not fit is shortened or
            forgotten, or ends the stream with `LimitExceeded`. Set before the first event.
    """

    framings: ClassVar[tuple[Literal["sse", "ndjson", "lines"], ...]] = ("sse",)
    replaces: ClassVar[bool] = False
    warns: ClassVar[bool] = True
    sse_prefix: ClassVar[bytes] = b"data: "
    media_type: ClassVar[str | None] = None
    heartbeats: ClassVar[bool] = True
    is_old: ClassVar[bool] = False
    response_headers: ClassVar[Mapping[str, str]] = MappingProxyType({})
    option_values: ClassVar[Mapping[str, tuple[str, ...]]] = NO_OPTIONS
    reports_by_status: ClassVar[bool] = False
    asks_by_body: ClassVar[bool] = False
    request_names: ClassVar[Mapping[str, str]] = MappingProxyType({})
    request_headers: ClassVar[Mapping[str, bytes]] = MappingProxyType({})
    streams_arguments: ClassVar[bool] = False
    asks_for_usage: ClassVar[bool] = False

    options: Options = NO_OPTIONS
    is_shown: bool = False
    writes_extra: bool = False
    names: ClientNames = NO_NAMES
    request_id: str = ""
    room: int = EVENT_BYTES

    def __init_subclass__(cls) -> None:
        """What a class says of its frames does not hold of one that writes in another way."""
        super().__init_subclass__()
        if "template_numbers" not in vars(cls) and _does_anything(cls):
            cls.template_numbers = Encoder.template_numbers  # type: ignore[method-assign]

    def __init__(self) -> None:
        self.lost: Counter[str] = Counter.__new__(Counter)  # its `__init__` takes longer than all the rest

    def encode(self, event: Event, stamp: Stamp) -> Iterable[Frame]:
        """Return the frames of `event`; count in `lost` what the dialect has no place for."""
        raise NotImplementedError

    def template_numbers(
        self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp
    ) -> Mapping[str, Number] | None:
        """Return what changes, aside from the text, in the frames of `texts`, pieces like `event`.

        Asked of a piece before it is encoded, which may still become more than one frame, and of those that
        follow it.

        Args:
            event: a piece like all of them.
            texts: what they say; not empty.
            stamp: of the first of them.

        Returns:
            By key, the numbers in the first frame and their steps to the next; None where `texts` have to be
            encoded one by one.
        """
        del event, texts, stamp
        return None

    def texts_written(self, event: Content | Thinking, texts: Sequence[str]) -> None:
        """Take note of pieces like `event` that were written without being encoded."""

    def heartbeat(self) -> Frame | None:
        """Return a frame of the protocol's own that says nothing; None for what the framing has for that.

        Asked in silence only, and only where the class `heartbeats`: of SSE that is a comment, of the other
        framings an empty line.
        """
        return None

    def close(self) -> Iterable[Frame]:
        """Return what follows the last event (`[DONE]`)."""
        return ()

    def whole_answer(self, folded: Mapping[str, Any], stamp: Stamp) -> Mapping[str, Any] | None:
        """Return the protocol's answer to a client that wants no stream; None for the folded result.

        Args:
            folded: the folded result of all events; its `error` is not what the stream ended with. Its
                `order` lists the parts as the stream had them; see `AnswerOrder`.
            stamp: of the last of them.
        """
        del folded, stamp
        return None

    def hides(self, frame: Frame) -> bool:
        """Return whether a frame of an upstream of this dialect is left out of those that are copied.

        Asked only of frames that are no mere text, and only with `names.hides_usage`.
        """
        del frame
        return False

    @classmethod
    def client_call_id(cls, tool_id: str, request_id: str) -> str:
        """Return the id under which the client gets a call, and sends its result.

        Args:
            tool_id: of the call, as the upstream calls it.
            request_id: of the stream.
        """
        del request_id
        return tool_id

    @classmethod
    def failure_body(cls, failure: FailedRequest) -> Mapping[str, Any] | None:
        """Return the body of a response that is a failure and nothing else; None for the envelope."""
        del failure
        return None

    def extra_of(self, event: Event) -> Mapping[str, Any]:
        """Return the dialect's own fields that came with `event`; none if it was read in another dialect.

        Such fields may hold an application's prompt: an encoder reads them here and nowhere else.
        """
        if not self.writes_extra or not event.meta:
            return NO_EXTRA
        private = event.meta.get("private")
        return {**extra_in(event), **private} if private else extra_in(event)

    @property
    def can_replace(self) -> bool:
        """This client, with these options, understands `op: replace`."""
        return self.replaces

    def option(self, name: str) -> str:
        """Return the chosen value of an option that `option_values` declares."""
        allowed = self.option_values[name]
        return _chosen(self.options, name, allowed) if self.options else allowed[0]


def extra_in(event: Event) -> Mapping[str, Any]:
    """The fields of the upstream's own that came with `event`; to be written in its own dialect only."""
    return (event.meta or {}).get("extra", NO_EXTRA)


def _does_anything(cls: type) -> bool:
    """Has the class functions of its own?"""
    return any(callable(value) or isinstance(value, classmethod | property) for value in vars(cls).values())


def _chosen(options: Options, name: str, allowed: tuple[str, ...]) -> str:
    """The value of an option; the default for one that only the dialect's other side takes."""
    value = options.get(name)
    return option_text(value) if value is not None and option_text(value) in allowed else allowed[0]


def option_text(value: Any) -> str:
    """Return what the value of an option is called: `true` is that, however it was written."""
    return str(value).lower() if isinstance(value, bool) else str(value)
