"""The base class of encoders: events to frames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal

from streamweir.codec.client_names import NO_NAMES, ClientNames
from streamweir.codec.failed_request import FailedRequest
from streamweir.codec.frame_template import Number
from streamweir.codec.option_values import NO_OPTIONS, Options, chosen_value
from streamweir.codec.own_methods import defines_methods
from streamweir.codec.stamped_template import StampedTemplate, StampedThoughts
from streamweir.events import Content, Event, Stamp, Thinking
from streamweir.framing import Frame
from streamweir.options.limits import EVENT_BYTES

__all__ = ["NO_EXTRA", "Encoder", "extra_in"]

NO_EXTRA: Final[Mapping[str, Any]] = MappingProxyType({})

_SHORT_WAYS: Final = frozenset(
    {"template_numbers", "text_template", "sse_block", "note_event", "notes_texts"}
)
"""The methods and attributes by which an encoder writes events without a call of `encode` for each event."""


class Encoder:
    """Turns the events of one valid stream into frames. One instance per stream; state lives in it.

    The events keep section 3 of the protocol: one `SessionStart`, paired tool calls, one `SessionEnd`.

    Class attributes:
        framings: the framings that its clients can read; the first is the default.
        replaces: whether its clients understand `op: replace`.
        warns: whether its clients can get a warning. If False, a stream without an answer that has messages
            that no rule reads ends with `UPSTREAM_INVALID_RESPONSE`, because the client sees an empty answer.
        sse_prefix: `data: `, or `data:` where the original server sends no space.
        media_type: the media type of its responses; None: that of the framing.
        heartbeats: whether its clients skip a comment or an empty line.
        is_old: whether its web pages are too old to know heartbeats, so that no form of heartbeat is safe for
            all of them.
        response_headers: additional headers of its responses.
        option_values: the options for writing the dialect; see `Decoder`.
        reports_by_status: whether its clients expect a failure before the first event as an HTTP status, with
            `failure_body` as the body.
        asks_by_body: whether its clients ask for a stream by the field `stream` of their request; their
            `Accept` header is then equal with and without a stream.
        request_names: by attribute of `ClientNames`, the field of a request that holds it.
        request_headers: by attribute of `ClientNames`, the header of a request that holds it; the values of
            the header are added to the attribute.
        echoed_fields: the fields of a request that its answer repeats (`ClientNames.echo`).
        asks_for_usage: whether its clients ask for a chunk with the usage by `stream_options.include_usage`.
        streams_arguments: whether its clients get the arguments of a call in pieces.

    Attributes:
        lost: the number of events that the dialect has no place for, by a word for each kind.
        is_shown: whether the frames of the upstream are copied to the client, and the frames that `encode`
            returns are dropped. The client then knows the upstream's ids. Events that the gateway makes, such
            as an end that the upstream did not send, are written even then.
        writes_extra: whether the stream is read and written in one dialect, so that fields that the decoder
            kept in `extra` may be written. Set by the code that knows the dialect of the upstream.
        names: the names that the client used in its request.
        request_id: the request id of the stream, for frames before the first event.
        upstream: the name or URL of the upstream, for seals of opaque values; known from `session_start` on.
        began_at: Unix milliseconds of the first event of a stream that is written as a whole answer; None
            before that event, and for streams whose events are encoded.
        opened_at: Unix milliseconds of the request, for frames before the first event; 0 if unknown, and for
            stored streams, whose frames follow from their events alone.
        room: the number of bytes, roughly, that the encoder may keep between two events. It has to shorten or
            forget older state, or raise `LimitExceeded`. Set before the first event.
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
    echoed_fields: ClassVar[tuple[str, ...]] = ()
    streams_arguments: ClassVar[bool] = False
    asks_for_usage: ClassVar[bool] = False

    options: Options = NO_OPTIONS
    is_shown: bool = False
    writes_extra: bool = False
    names: ClientNames = NO_NAMES
    request_id: str = ""
    upstream: str = ""
    began_at: int | None = None
    opened_at: int = 0
    room: int = EVENT_BYTES

    def __init_subclass__(cls) -> None:
        """Remove `_SHORT_WAYS` from a subclass that defines a method: it may write events in another way."""
        super().__init_subclass__()
        if defines_methods(cls):
            for name in _SHORT_WAYS.difference(vars(cls)):
                setattr(cls, name, getattr(Encoder, name))

    def __init__(self) -> None:
        self.lost: Counter[str] = Counter.__new__(Counter)  # its `__init__` takes longer than all the rest

    def encode(self, event: Event, stamp: Stamp) -> Iterable[Frame]:
        """Return the frames of `event`; count it in `lost` if the dialect has no place for it."""
        raise NotImplementedError

    def note_event(self, event: Event, stamp: Stamp) -> None:
        """Note an event whose frame is copied. By default, `encode` is called and its frames are dropped."""
        for _ in self.encode(event, stamp):
            pass

    def has_rules_for(self, event: Event) -> bool:
        """Return whether rules of a home-made dialect write events of this type."""
        del event
        return False

    def template_numbers(
        self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp
    ) -> Mapping[str, Number] | None:
        """Return the numbers that change from frame to frame when a run of texts is written.

        Called before the first text of a run of texts is encoded, which may still become several frames, and
        for the texts after it.

        Args:
            event: an event that differs from the events of the run only in its text.
            texts: the texts of the run; not empty.
            stamp: the stamp of the first text.

        Returns:
            By key, the number in the first frame and its step to the next frame. None if every text has to be
            encoded.
        """
        del event, texts, stamp
        return None

    def text_template(self, event: Content | Thinking, stamp: Stamp) -> StampedTemplate | None:
        """Return the template of the SSE blocks of texts like `event`.

        Only for an encoder that does not define `texts_written`.

        Args:
            event: an event that differs from the texts only in its text.
            stamp: the stamp of the first text.

        Returns:
            None if the template has to be learned from blocks that were encoded.
        """
        del event, stamp
        return None

    def thought_template(self, event: Thinking, stamp: Stamp) -> StampedThoughts | None:
        """Return the template of thoughts like `event` that differ in their text and their `message_id`; None
        if such thoughts have to be written one by one.
        """
        del event, stamp
        return None

    def sse_block(self, event: Event, stamp: Stamp) -> bytes | None:
        """Return the SSE block of an event: the bytes of the frames that `encode` would return.

        None if `encode` has to be called; the state of the encoder has not changed then.
        """
        del event, stamp
        return None

    @property
    def notes_texts(self) -> bool:
        """Whether `texts_written` may do something in this stream. Read before the first event."""
        return type(self).texts_written is not Encoder.texts_written

    def texts_written(self, event: Content | Thinking, texts: Sequence[str]) -> None:
        """Note texts written or copied without `encode`; `event` differs from theirs only in the text."""

    def continue_behind(self, copied: bytes) -> None:
        """Continue the protocol's own numbering of frames after copied frames of the upstream.

        Called before `encode`, if frames have been copied since the last call.

        Args:
            copied: the last copied bytes, or the beginning and the end of them; they end with a whole frame.
        """

    def heartbeat(self) -> Frame | None:
        """Return a heartbeat frame of the protocol; None for the heartbeat of the framing.

        The heartbeat of the framing is a comment in SSE and an empty line otherwise. Called only if the
        stream is silent and the class has `heartbeats`.
        """
        return None

    def close(self) -> Iterable[Frame]:
        """Return the frames after the last event (`[DONE]`)."""
        return ()

    def whole_answer(self, folded: Mapping[str, Any], stamp: Stamp) -> Mapping[str, Any] | None:
        """Return the protocol's answer to a client that wants no stream; None for the folded result.

        Args:
            folded: the folded result of all events. Its `error` is not a terminal one. Its `order` lists the
                parts in the order of the stream; see `AnswerOrder`.
            stamp: the stamp of the last event.
        """
        del folded, stamp
        return None

    def pending_answer(self, status: str, stamp: Stamp) -> Mapping[str, Any] | None:
        """Return the protocol's answer about a run that has no output yet; None if it has no such answer.

        Args:
            status: the protocol's word for the state of the run, such as `queued` or `cancelled`.
            stamp: the stamp of the moment at which the run began.
        """
        del status, stamp
        return None

    def hides(self, frame: Frame) -> bool:
        """Return whether a frame is left out when the frames of an upstream of this dialect are copied.

        Called only with `names.hides_usage`, and not for frames that hold only a text.
        """
        del frame
        return False

    @classmethod
    def client_call_id(cls, tool_id: str, request_id: str) -> str:
        """Return the id under which the client gets a call and sends its result.

        Args:
            tool_id: the upstream's id of the call.
            request_id: the request id of the stream.
        """
        del request_id
        return tool_id

    @classmethod
    def failure_body(cls, failure: FailedRequest) -> Mapping[str, Any] | None:
        """Return the body of a response that is only a failure; None: the standard's envelope is used."""
        del failure
        return None

    def extra_of(self, event: Event) -> Mapping[str, Any]:
        """Return the upstream's additional fields of an event; empty if it is read in another dialect.

        Such fields may hold an application's prompt, so an encoder must get them only by this method.
        """
        if not self.writes_extra or not event.meta:
            return NO_EXTRA
        private = event.meta.get("private")
        return {**extra_in(event), **private} if private else extra_in(event)

    @property
    def can_replace(self) -> bool:
        """Whether the client understands `op: replace`, with the chosen options."""
        return self.replaces

    @property
    def carries_opaque(self) -> bool:
        """Whether the protocol has a place for opaque values, and its option `opaque` is on.

        If False, the events that `encode` gets have no opaque values, and events that hold only such a value
        are left out.
        """
        return "opaque" in self.option_values and self.option("opaque") == "on"

    def option(self, name: str) -> str:
        """Return the chosen value of an option that `option_values` declares."""
        allowed = self.option_values[name]
        return chosen_value(self.options, name, allowed) if self.options else allowed[0]


def extra_in(event: Event) -> Mapping[str, Any]:
    """Return the upstream's additional fields of an event, written only in the upstream's own dialect."""
    return (event.meta or {}).get("extra", NO_EXTRA)
