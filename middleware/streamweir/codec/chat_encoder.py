"""The common part of encoders for chat protocols: one turn of an assistant, after which the client may have
to run tools.

A call is written when it is known which side runs it. A call for the client is written at the end. A call
that the server has run is written if the protocol has a form for it. Pieces of arguments are sent at once if
a decoder knows that the client is to run the call. A question to a person is a part of the text. The end has
a field (`suspension`) that reports that the run waits for an answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, ClassVar, Final

import msgspec

from streamweir.codec.answer_ids import answer_id, waits_for_client, with_answer_ids
from streamweir.codec.base import Encoder
from streamweir.codec.finish import CUT_SHORT, finish_with_calls
from streamweir.codec.kept_calls import KeptCalls
from streamweir.codec.open_interactions import OpenInteractions
from streamweir.codec.questions import asks_person, question_text
from streamweir.codec.suspension import suspension
from streamweir.events import (
    Content,
    Error,
    Event,
    Interaction,
    Opaque,
    Reference,
    SessionEnd,
    SessionStart,
    Stamp,
    Thinking,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from streamweir.framing import Frame
from streamweir.ids import short_id

__all__ = ["ChatEncoder"]

_MODEL: Final = "streamweir"


class ChatEncoder(Encoder):
    """Turns events into the steps of a turn. A subclass for each protocol writes the steps.

    Attributes:
        message_id: the id of the answer; None: the id is made from the request id.
        stamp: the stamp of the event that is being written.
    """

    reports_by_status: ClassVar[bool] = True
    asks_by_body: ClassVar[bool] = True
    warns: ClassVar[bool] = False
    request_names: ClassVar = {"model": "model"}
    streams_arguments: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()
        self.message_id: str | None = None
        self._model: str | None = None
        self.stamp = Stamp("", 0, 0)
        self._message: tuple[str | None, str | None] | None = None
        self._has_text = False
        self._waits = False
        """Whether a question was written in the protocol's own form, telling clients that the run waits."""

    @cached_property
    def _open(self) -> KeptCalls:
        return KeptCalls(self.room // 2)

    @cached_property
    def _handed(self) -> KeptCalls:
        """The calls that the client is to run, unless their results arrive before the end."""
        return KeptCalls(self.room // 2)

    @cached_property
    def _asked(self) -> OpenInteractions:
        return OpenInteractions(self.room // 2)

    def encode(self, event: Event, stamp: Stamp) -> Iterable[Frame]:
        """Return the frames for `event`."""
        self.stamp = stamp
        return [*self._frames(event)]

    def whole_answer(self, folded: Mapping[str, Any], stamp: Stamp) -> Mapping[str, Any]:
        """Return the whole answer in the protocol's own form."""
        return self.write_whole(with_answer_ids(dict(folded), self.names.secret), stamp)

    @property
    def model_name(self) -> str:
        """The model in the answer: the upstream's name, else the name in the request, else a default name."""
        return self._model or short_id(self.names.model or _MODEL)

    # What a protocol says

    def write_text(self, text: str, *, begins: bool) -> Iterable[Frame]:
        """Return the frames of a piece of the answer; `begins`: whether a further message begins."""
        raise NotImplementedError

    def write_thinking(self, text: str) -> Iterable[Frame]:
        """Return the frames of a piece of the reasoning."""
        raise NotImplementedError

    def write_thinking_opaque(self, opaque: Opaque) -> Iterable[Frame]:
        """Return the frames of the opaque value that ends the reasoning; called only if `carries_opaque`."""
        del opaque
        return ()

    def write_text_opaque(self, opaque: Opaque) -> Iterable[Frame]:
        """Return the frames of the opaque value of the preceding text; called only if `carries_opaque`."""
        del opaque
        return ()

    def write_argument_piece(self, piece: ToolCallDelta) -> Iterable[Frame]:
        """Return the frames of a piece of the arguments of a call that the client is to run."""
        raise NotImplementedError

    def write_call(self, call: ToolCallStart) -> Iterable[Frame]:
        """Return the frames of a call for the client to run; if pieces were sent, of its remaining part."""
        raise NotImplementedError

    def write_result(self, call: ToolCallStart, end: ToolCallEnd) -> Iterable[Frame]:
        """Return the frames of a call that has been run, and of its result."""
        raise NotImplementedError

    def write_references(self, event: Reference) -> Iterable[Frame]:
        """Return the frames of the sources of the answer."""
        raise NotImplementedError

    def write_question(self, event: Interaction) -> Iterable[Frame] | None:
        """Return the frames of a question in the protocol's own form; None if it has no form, and the
        question becomes text.
        """
        del event
        return None

    def write_failure(self, error: Error) -> Iterable[Frame]:
        """Return the frames of the failure that ends the turn."""
        raise NotImplementedError

    def write_end(self, reason: str, end: SessionEnd, beside: dict[str, Any]) -> Iterable[Frame]:
        """Return the frames of the end of the turn.

        Args:
            reason: why the turn ended, as the standard's `finish_reason`.
            end: the last event of the stream.
            beside: fields to be added to the fields of the protocol.
        """
        raise NotImplementedError

    def write_cancelled(self) -> Iterable[Frame]:
        """Return the frames of the end of a turn that was stopped on request."""
        raise NotImplementedError

    def write_whole(self, folded: Mapping[str, Any], stamp: Stamp) -> Mapping[str, Any]:
        """Return the whole answer for a folded result, in which calls have the ids for the client."""
        raise NotImplementedError

    def write_other(self, event: Event) -> Iterable[Frame]:
        """Return the frames of an event that only this protocol can write; any other event counts as lost."""
        self.lose(event)
        return ()

    def lose(self, event: Event) -> None:
        """Count `event` as lost: the client's protocol has no place for it."""
        self.lost[event.type.replace("_", " ")] += 1

    # Steps of a turn

    def _frames(self, event: Event) -> Iterable[Frame]:
        match event:
            case Content():
                return self._content(event)
            case Thinking():
                return self._thinking(event)
            case ToolCallStart():
                self._open.add(event)
            case ToolCallDelta(for_client=True):
                return self.write_argument_piece(event)
            case ToolCallEnd():
                self._take_back(event.tool_id)
                call = self._open.pop(event.tool_id) or ToolCallStart(event.tool_id, "unknown")
                return self.write_result(call, event)
            case Interaction():
                return self._interaction(event)
            case Reference():
                return self.write_references(event)
            case Error(terminal=True):
                return self.write_failure(event)
            case SessionEnd():
                return self._end(event)
            case SessionStart():
                self._begin(event)
            case ToolCallDelta():
                pass
            case _:
                return self.write_other(event)
        return ()

    def _begin(self, event: SessionStart) -> None:
        """Note the ids and the model that begin a stream in the same protocol; a listed model is kept."""
        if self.writes_extra:
            self.message_id = self.message_id or (event.meta or {}).get("message_id")
            model = self.extra_of(event).get("model")
            if isinstance(model, str) and not self.names.is_listed:
                self._model = short_id(model)

    def _content(self, event: Content) -> Iterator[Frame]:
        if event.channel is not None:
            self.lost["channel of text"] += 1
        if event.content:
            message = (event.meta or {}).get("message_id"), event.channel
            begins = message != self._message
            self._message = message
            yield from self._write_text(event.content, begins=begins)
        if event.opaque is not None:
            yield from self.write_text_opaque(event.opaque)
        if event.is_complete:
            self._message = None

    def _thinking(self, event: Thinking) -> Iterable[Frame]:
        written = self.write_thinking(event.content) if event.content else ()
        if event.opaque is None:
            return written
        return [*written, *self.write_thinking_opaque(event.opaque)]

    def _write_text(self, text: str, *, begins: bool) -> Iterable[Frame]:
        """Write a piece of text. A further message begins with an empty line: clients join the texts."""
        gap = "\n\n" if begins and self._has_text else ""
        self._has_text = True
        return self.write_text(gap + text, begins=begins)

    def _interaction(self, event: Interaction) -> Iterator[Frame]:
        asked = event.interaction_id
        if event.state != "requested":
            self._asked.discard(asked)
            self._take_back(asked)
            self.lost[f"interaction {event.state}"] += 1
        elif (own := self.write_question(event)) is not None:
            self._waits = True
            yield from own
        elif asks_person(event):
            self._asked.add(event)
            self._message = None
            yield from self._write_text(question_text(event), begins=True)
        elif call := self._open.get(asked):
            self._handed.add(self._under_answer_id(call) if waits_for_client(event) else call)
        else:
            self.lose(event)

    def _under_answer_id(self, call: ToolCallStart) -> ToolCallStart:
        """Return the call with the id under which the client sends its result."""
        if self.names.secret is None:
            return call
        given = answer_id(self.names.secret, call.tool_id)
        return msgspec.structs.replace(call, tool_id=given)

    def _take_back(self, tool_id: str) -> None:
        """Note that the client need not run a call, known by its upstream's id or by its answer id."""
        if not self._handed:
            return
        self._handed.discard(tool_id)
        if self.names.secret is not None:
            self._handed.discard(answer_id(self.names.secret, tool_id))

    def _end(self, event: SessionEnd) -> Iterator[Frame]:
        if event.status == "error":
            return
        if event.status == "cancelled":
            yield from self.write_cancelled()
            return
        calls = self._handed if event.status == "suspended" else ()
        for call in calls:
            yield from self.write_call(call)
        waits = event.status == "suspended" and (self._asked or not (calls or self._waits))
        beside = suspension(self._asked) if waits else {}
        reason = self._finish_reason(event)
        if calls:
            reason = finish_with_calls(reason)
        yield from self.write_end(reason, event, beside)

    def _finish_reason(self, event: SessionEnd) -> str:
        """Return the finish reason. Calls that the server has run are no reason for the client: `stop`."""
        reason = str((event.summary or {}).get("finish_reason"))
        return reason if reason in CUT_SHORT else "stop"
