"""The base class of encoders: events to frames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal

from streamweir.codec.client_names import NO_NAMES, ClientNames
from streamweir.codec.failed_request import FailedRequest
from streamweir.codec.frame_template import FrameTemplate, Number
from streamweir.codec.option_values import NO_OPTIONS, Options, chosen_value
from streamweir.codec.own_methods import defines_methods
from streamweir.events import Content, Event, Stamp, Thinking
from streamweir.framing import Frame
from streamweir.options.limits import EVENT_BYTES

__all__ = ["NO_EXTRA", "Encoder", "extra_in"]

NO_EXTRA: Final[Mapping[str, Any]] = MappingProxyType({})

_SHORT_WAYS: Final = frozenset({"template_numbers", "text_template", "sse_block", "note_event"})
"""The methods of an encoder by which `encode` is not called for each event."""


class Encoder:
    """Turns the events of one valid stream into frames. One instance per stream; state lives in it.

    The events keep section 3 of the protocol: one `SessionStart`, paired tool calls, one `SessionEnd`.

    Class attributes:
        framings: the framings that its clients can read; the first is the default.
        replaces: its clients understand `op: replace`.
        warns: its clients can be told a warning. If False, a stream that ends without an answer, some events
            of which no rule knew, ends with `UPSTREAM_INVALID_RESPONSE`: an empty answer is all it could say.
        sse_prefix: `data: `, or `data:` where the original server sends no space.
        media_type: the media type of its responses; None: that of the framing.
        heartbeats: its clients can skip a comment, or an empty line.
        is_old: its pages never saw a heartbeat, and no form is safe for all of them.
        response_headers: further headers of its responses.
        option_values: the options for writing the dialect; see `Decoder`.
        reports_by_status: its clients expect a failure before the first event as an HTTP status, with
            `failure_body` as the body.
        asks_by_body: its clients ask for a stream by the field `stream` of their request; their `Accept` is
            the same with and without a stream.
        request_names: by attribute of `ClientNames`, the field of a request that holds it.
        request_headers: likewise, the header of a request that has it; its values are added.
        echoed_fields: the fields of a request that its answer repeats (`ClientNames.echo`).
        asks_for_usage: its clients say in their request, by `stream_options.include_usage`, whether they
            want a chunk with the usage.
        streams_arguments: its clients get the arguments of a call piece by piece.

    Attributes:
        lost: the number of events that the dialect has no place for, by a word for each kind.
        is_shown: the frames of the upstream are copied to the client, and the frames that `encode` returns
            are dropped. The ids that the client knows are the upstream's. Events of the gateway itself, such
            as an end that the upstream did not send, are written all the same.
        writes_extra: the stream is read in the dialect that is written, so fields that the decoder kept in
            `extra` may be written. Set by the code that knows the dialect of the upstream.
        names: the names that the client used in its request.
        request_id: the request id of the stream, for frames before the first event.
        upstream: the name or URL of the upstream, for seals of its opaque values; known from `session_start`
            on.
        began_at: Unix milliseconds of the first event of a stream that is written as a whole answer; None
            before that event, and for streams whose events are encoded.
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
    room: int = EVENT_BYTES

    def __init_subclass__(cls) -> None:
        """Take the short ways from subclasses that define a method: they may write events otherwise."""
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
        """Note an event whose frame is copied; by default it is encoded, and its frames are dropped."""
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

        Called before the first text of a run is encoded, which may still become several frames, and for the
        texts that follow.

        Args:
            event: an event that differs from those of the run only in its text.
            texts: the texts of the run; not empty.
            stamp: of the first text.

        Returns:
            By key, the number in the first frame and its step to the next frame. None if every text has to be
            encoded.
        """
        del event, texts, stamp
        return None

    def text_template(self, event: Content | Thinking, stamp: Stamp) -> FrameTemplate | None:
        """Return the template of the SSE blocks of texts like `event`.

        Called where `template_numbers` returned numbers, which are those of the template.

        Args:
            event: an event that differs from the texts only in its text.
            stamp: of the first text.

        Returns:
            None if the template has to be learned from blocks that were encoded.
        """
        del event, stamp
        return None

    def sse_block(self, event: Event, stamp: Stamp) -> bytes | None:
        """Return the SSE block of an event: the bytes of the frames that `encode` would return.

        None, and nothing has changed, if `encode` has to be called.
        """
        del event, stamp
        return None

    def texts_written(self, event: Content | Thinking, texts: Sequence[str]) -> None:
        """Note texts that were written or copied without `encode`; `event` is like them but for the text."""

    def continue_behind(self, copied: bytes) -> None:
        """Take up the protocol's own numbering of frames behind frames of the upstream.

        Called before `encode`, if frames have been copied since the last call.

        Args:
            copied: the last copied bytes, or the beginning and the end of them; they end with a whole frame.
        """

    def heartbeat(self) -> Frame | None:
        """Return a heartbeat frame of the protocol; None for that of the framing.

        The framing's heartbeat is a comment in SSE and an empty line otherwise. Called only in silence, and
        only if the class has `heartbeats`.
        """
        return None

    def close(self) -> Iterable[Frame]:
        """Return the frames behind the last event (`[DONE]`)."""
        return ()

    def whole_answer(self, folded: Mapping[str, Any], stamp: Stamp) -> Mapping[str, Any] | None:
        """Return the protocol's answer to a client that wants no stream; None for the folded result.

        Args:
            folded: the folded result of all events. Its `error` is not a terminal one. Its `order` lists the
                parts in the order of the stream; see `AnswerOrder`.
            stamp: of the last event.
        """
        del folded, stamp
        return None

    def pending_answer(self, status: str, stamp: Stamp) -> Mapping[str, Any] | None:
        """Return the protocol's answer about a run without output so far; None if the protocol has none.

        Args:
            status: the protocol's own word for the state of the run, such as `queued` or `cancelled`.
            stamp: of the moment at which the run began.
        """
        del status, stamp
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
        """Return the upstream's further fields of an event; empty if the stream is read in another dialect.

        Such fields may hold an application's prompt, so an encoder must get them from here only.
        """
        if not self.writes_extra or not event.meta:
            return NO_EXTRA
        private = event.meta.get("private")
        return {**extra_in(event), **private} if private else extra_in(event)

    @property
    def can_replace(self) -> bool:
        """The client understands `op: replace`, with these options."""
        return self.replaces

    @property
    def carries_opaque(self) -> bool:
        """The protocol has a place for opaque values, and its option `opaque` is on.

        If False, no event that `encode` gets has one, and events that hold nothing else are left out.
        """
        return "opaque" in self.option_values and self.option("opaque") == "on"

    def option(self, name: str) -> str:
        """Return the chosen value of an option that `option_values` declares."""
        allowed = self.option_values[name]
        return chosen_value(self.options, name, allowed) if self.options else allowed[0]


def extra_in(event: Event) -> Mapping[str, Any]:
    """Return the upstream's further fields of an event, which may be written in its own dialect only."""
    return (event.meta or {}).get("extra", NO_EXTRA)
