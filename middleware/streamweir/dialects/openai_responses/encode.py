"""Writes the Responses API: items that begin, continue and end, and the whole response at the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

from streamweir.codec.chat_encoder import ChatEncoder
from streamweir.codec.failed_request import FailedRequest
from streamweir.codec.families.openai_errors import error_object
from streamweir.codec.frame_template import Number
from streamweir.codec.kept_values import KeptValues
from streamweir.codec.opaque_values import OPAQUE_OPTION
from streamweir.codec.text_pieces import TextPieces
from streamweir.codec.whole_turn import suspension_of
from streamweir.dialects.openai_responses.encode_approvals import Approvals, has_item
from streamweir.dialects.openai_responses.encode_calls import OpenCall, is_incomplete
from streamweir.dialects.openai_responses.encode_frames import NumberedFrames
from streamweir.dialects.openai_responses.encode_items import (
    begun_call,
    citation_of,
    items_of,
    mcp_call,
    message_item,
    reasoning_item,
    reasoning_with_value,
    sealed_item,
    steps_of_call,
)
from streamweir.dialects.openai_responses.encode_output import Output
from streamweir.dialects.openai_responses.encode_response import ECHOED_FIELDS, Response, response_error
from streamweir.dialects.openai_responses.shared_ids import ItemIds, made_id
from streamweir.dialects.openai_responses.shared_words import NAME
from streamweir.errors import CODES
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
from streamweir.jsontext import write_json_text
from streamweir.opaque.seal import SealedKind

__all__ = ["ResponsesEncoder"]


class ResponsesEncoder(ChatEncoder):
    """Writes a response. Only one message or reasoning is open at a time; calls may be open at the same time.

    Options:
        opaque: `off` leaves out opaque values, which the upstream expects back in the next request.
    """

    option_values: ClassVar = OPAQUE_OPTION
    echoed_fields: ClassVar = ECHOED_FIELDS

    def __init__(self) -> None:
        super().__init__()
        self._frames_made = NumberedFrames()
        self._item: str | None = None
        """The kind of the open item: a message or reasoning."""
        self._item_id = ""
        self._place = 0
        self._text = TextPieces()
        self._text_value: Opaque | None = None
        """The opaque value of the open message. It is written and cleared when the message is closed."""
        self._calls: dict[str, OpenCall] = {}
        """The calls whose arguments are arriving."""
        self._has_begun = False
        self._response_id: str | None = None
        """The upstream's id of the response."""
        self._created_at: int | None = None
        """Unix seconds of the first event."""
        self._known_id: Any = None
        """The upstream's id of the message that the present text belongs to."""

    @property
    def carries_opaque(self) -> bool:
        """Whether the option is on, and the request asks for encrypted reasoning or stores nothing."""
        asked = self.names.echo or {}
        include = asked.get("include")
        is_asked = isinstance(include, list) and "reasoning.encrypted_content" in include
        return super().carries_opaque and (is_asked or asked.get("store") is False)

    @cached_property
    def _output(self) -> Output:
        return Output(self.room, must_be_whole=not self.is_shown)

    @cached_property
    def _ids(self) -> ItemIds:
        return ItemIds(self.room // 8, may_be_native=self.carries_opaque)

    @cached_property
    def _approvals(self) -> Approvals:
        return Approvals(self.room // 8)

    @cached_property
    def _annotations(self) -> KeptValues:
        """The citations of the open message."""
        return KeptValues(self.room // 4)

    def template_numbers(
        self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp
    ) -> Mapping[str, Number] | None:
        """Return the number of the frame; None for text of another channel, which is counted as lost."""
        del texts, stamp
        if isinstance(event, Content) and event.channel is not None:
            return None
        return {"sequence_number": (self._frames_made.next, 1)}

    def texts_written(self, event: Content | Thinking, texts: Sequence[str]) -> None:
        """Keep the texts for the end of their item."""
        del event
        self._frames_made.next += len(texts)
        self._output.append(self._text, "".join(texts))

    def continue_behind(self, copied: bytes) -> None:
        """Continue after the last `sequence_number` of the upstream; see `Encoder`."""
        self._frames_made.continue_behind(copied)

    def write_whole(self, folded: Mapping[str, Any], stamp: Stamp) -> Mapping[str, Any]:
        """Return a whole response."""
        self.stamp = stamp
        summary = folded["summary"] or {}
        items, at = [*items_of(folded, self._id_base, self.upstream, self._ids)], stamp.timestamp // 1000
        response = self._response.ended(str(summary.get("finish_reason")), summary, items, at=at)
        return {**response, **suspension_of(folded, has_form=has_item)}

    def pending_answer(self, status: str, stamp: Stamp) -> Mapping[str, Any]:
        """Return the response object of a run that has no output yet."""
        self.stamp = stamp
        return self._response.pending(status)

    @classmethod
    def failure_body(cls, failure: FailedRequest) -> Mapping[str, Any]:
        """Return the body of an HTTP error."""
        return {"error": error_object(failure.code, failure.message, status=failure.status)}

    def write_text(self, text: str, *, begins: bool) -> Iterator[Frame]:
        """Yield the frames of a piece of text; each message is a separate item."""
        if begins or self._item != "message" or self._text_value is not None:
            yield from self._close()
            item_id = self._ids.of_item(self._known_id, self._id("msg"))
            yield from self._open_item("message", message_item(item_id, None))
            part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
            yield self._frame("content_part.added", content_index=0, part=part, **self._here())
        self._output.append(self._text, text)
        fields = {"content_index": 0, "delta": text, "logprobs": [], **self._here()}
        yield self._frames_made.frame("output_text.delta", fields)

    def write_thinking(self, text: str) -> Iterator[Frame]:
        """Yield the frames of a piece of reasoning, which is written as a summary."""
        if self._item != "reasoning":
            yield from self._close()
            item_id = self._ids.of_reasoning(self._known_id, self._id("rs"))
            yield from self._open_item("reasoning", reasoning_item(item_id, None))
            part = {"type": "summary_text", "text": ""}
            yield self._frame("reasoning_summary_part.added", summary_index=0, part=part, **self._here())
        self._output.append(self._text, text)
        yield self._frame("reasoning_summary_text.delta", summary_index=0, delta=text, **self._here())

    def write_thinking_opaque(self, opaque: Opaque) -> Iterator[Frame]:
        """Yield the frames that end the open reasoning with its value, or of an item without a summary."""
        if self._item == "reasoning":
            yield from self._close(opaque)
        else:
            yield from self._close()
            item_id = self._ids.of_reasoning(opaque.get(NAME, {}).get("id"), self._id("rs"))
            item = reasoning_with_value(item_id, None, opaque, self.upstream, self._ids)
            yield from self._whole_item(item)

    def write_text_opaque(self, opaque: Opaque) -> Iterator[Frame]:
        """Yield the frames of reasoning without a summary that holds the seal of the text."""
        if self._item == "message" and self._text_value is None:
            self._text_value = opaque  # citations of the message may still come
        else:
            yield from self._write_seal(opaque, "text")

    def write_argument_piece(self, piece: ToolCallDelta) -> Iterator[Frame]:
        """Yield the frames of a piece of arguments; the first piece begins the item of the call."""
        if piece.tool_id not in self._calls:
            if piece.tool_name is None:
                return
            yield from self._open_call(piece.tool_id, piece.tool_name, piece.opaque)
        call = self._calls[piece.tool_id]
        self._output.append(call.arguments, piece.arguments_delta)
        yield self._frame(
            "function_call_arguments.delta",
            item_id=call.item_id,
            output_index=call.place,
            delta=piece.arguments_delta,
        )

    def write_call(self, call: ToolCallStart) -> Iterator[Frame]:
        """Yield the frames of a whole call, or of the end of a call that was written in pieces."""
        if call.tool_id not in self._calls:
            given = write_json_text(call.arguments)
            piece = ToolCallDelta(call.tool_id, call.tool_name, given, opaque=call.opaque)
            yield from self.write_argument_piece(piece)
        begun = self._calls.pop(call.tool_id)
        item = {**begun.item, "name": call.tool_name}
        yield self._frame(
            "function_call_arguments.done",
            item_id=item["id"],
            output_index=begun.place,
            name=call.tool_name,
            arguments=item["arguments"],
        )
        self._output.count(-begun.arguments.size)
        yield self._done(begun.place, item)

    def write_result(self, call: ToolCallStart, end: ToolCallEnd) -> Iterator[Frame]:
        """Yield the frames of a call that has been run, or the end of a client's call that was cut off."""
        if self.is_shown:
            return  # the call is an item of the upstream's, and so would be its result
        yield from self._close()
        if call.tool_id in self._calls and is_incomplete(end):
            yield self._end_cut_off(call.tool_id)
            return
        place, item = len(self._output), mcp_call(self._id("mcp"), call, end)
        yield self._added(begun_call(item))
        for kind, fields in steps_of_call(item):
            yield self._frame(kind, **fields, item_id=item["id"], output_index=place)
        yield self._done(place, item)

    def write_references(self, event: Reference) -> Iterator[Frame]:
        """Yield the frames of citations of the open message; only a message can cite."""
        for given in event.citations:
            annotation = citation_of(given)
            if annotation is None or self._item != "message":
                self.lost["reference without an address" if annotation is None else "reference"] += 1
                continue
            index = len(self._annotations)
            if not self._annotations.append(annotation):
                self.lost["reference"] += 1
                continue
            where = {"annotation_index": index, "annotation": annotation, **self._here()}
            yield self._frame("output_text.annotation.added", content_index=0, **where)

    def write_question(self, event: Interaction) -> Iterable[Frame] | None:
        """Return the frames of a request for approval of an MCP call; None for any other question."""
        item = self._approvals.item_of(event)
        return None if item is None else [*self._close(), *self._whole_item(item)]

    def write_failure(self, error: Error) -> Iterator[Frame]:
        """Yield the frames that close open items, then the failed response."""
        return self._failed(response_error(error))

    def write_cancelled(self) -> Iterator[Frame]:
        """Yield the failed response of a stopped run; an incomplete one would look like an answer."""
        return self._failed({"code": "CANCELLED", "message": CODES["CANCELLED"].message})

    def write_end(self, reason: str, end: SessionEnd, beside: dict[str, Any]) -> Iterator[Frame]:
        """Yield the frames of the whole response."""
        yield from self._finish_items()
        items, at = self._output.items, self.stamp.timestamp // 1000
        response = self._response.ended(reason, end.summary, items, at=at)
        yield self._frame(response["status"], response={**response, **beside})

    def _failed(self, error: Mapping[str, str]) -> Iterator[Frame]:
        """Yield the end of a response that failed. Its output is empty if it is too large to be repeated,
        and if frames of the upstream are copied.
        """
        self._output.must_be_whole = False
        yield from self._finish_items()
        output = [] if self.is_shown else self._output.items
        yield self._frame("failed", response=self._response.failed(error, output))

    # Items

    def _frames(self, event: Event) -> Iterable[Frame]:
        if type(event) is Content or type(event) is Thinking:
            self._known_id = event.meta.get("message_id") if event.meta else None
        elif isinstance(event, ToolCallStart):
            self._approvals.note(event)
        return super()._frames(event)

    def _begin(self, event: SessionStart) -> None:
        super()._begin(event)
        self._created_at = self.stamp.timestamp // 1000
        if self.is_shown and event.meta:
            self._response_id = event.meta.get("run_id")

    def _created(self) -> Iterator[Frame]:
        if not self._has_begun and not self.is_shown:
            self._has_begun = True
            response = self._response.pending("in_progress")
            yield self._frame("created", response=response)
            yield self._frame("in_progress", response=response)

    def _open_item(self, kind: str, item: dict[str, Any]) -> Iterator[Frame]:
        yield from self._close()
        self._place, self._item_id = len(self._output), item["id"]
        yield from self._created()
        yield self._added(item)
        self._item = kind

    def _write_seal(self, opaque: Opaque, of: SealedKind) -> Iterator[Frame]:
        """Yield the frames of reasoning without a summary that holds a seal."""
        yield from self._close()
        yield from self._whole_item(sealed_item(self._id("rs"), None, opaque, of, self.upstream))

    def _whole_item(self, item: dict[str, Any]) -> Iterator[Frame]:
        """Yield the frames of an item that is complete when it begins."""
        if self.is_shown:
            return
        place = len(self._output)
        yield self._added(item)
        yield self._done(place, item)

    def _close(self, opaque: Opaque | None = None) -> Iterator[Frame]:
        """End the open message or reasoning; `opaque` is the value of the reasoning."""
        kind, self._item = self._item, None
        if kind is None:
            yield from self._created()
            return
        text, item_id = self._text.text, self._item_id
        annotations = self._annotations.take()
        self._output.count(-self._text.size)
        self._text = TextPieces()
        if kind == "message":
            item = message_item(item_id, text, annotations)
            yield self._frame("output_text.done", content_index=0, text=text, logprobs=[], **self._here())
            yield self._frame("content_part.done", content_index=0, part=item["content"][0], **self._here())
        else:
            item = reasoning_item(item_id, text)
            if opaque is not None:
                item = reasoning_with_value(item_id, text, opaque, self.upstream, self._ids)
            yield self._frame("reasoning_summary_text.done", summary_index=0, text=text, **self._here())
            part = item["summary"][0]
            yield self._frame("reasoning_summary_part.done", summary_index=0, part=part, **self._here())
        yield self._done(self._place, item)
        value, self._text_value = self._text_value, None
        if value is not None and value.get(NAME, {}).get("id") != item_id:
            yield from self._write_seal(value, "text")

    def _open_call(self, tool_id: str, name: str, opaque: Opaque | None) -> Iterator[Frame]:
        yield from self._close()
        known = (opaque or {}).get(NAME, {}).get("id")
        item_id = self._ids.of_item(known, self._id("fc"))
        if opaque is not None and item_id != known:
            yield from self._write_seal(opaque, "call")
            item_id = self._id("fc")
        self._calls[tool_id] = call = OpenCall(len(self._output), item_id, tool_id, name, TextPieces())
        yield self._added({**call.item, "status": "in_progress"})

    def _finish_items(self) -> Iterator[Frame]:
        """End the open items; calls with incomplete arguments are ended as incomplete."""
        if self.is_shown:
            return
        yield from self._close()
        for tool_id in [*self._calls]:
            yield self._end_cut_off(tool_id)

    def _end_cut_off(self, tool_id: str) -> Frame:
        call = self._calls.pop(tool_id)
        self._output.count(-call.arguments.size)
        return self._done(call.place, {**call.item, "status": "incomplete"})

    def _added(self, item: dict[str, Any]) -> Frame:
        place = self._output.add(item)
        return self._frame("output_item.added", output_index=place, item=item)

    def _done(self, place: int, item: dict[str, Any]) -> Frame:
        self._output.set(place, item)
        return self._frame("output_item.done", output_index=place, item=item)

    def _id(self, prefix: str) -> str:
        return made_id(prefix, self._id_base, len(self._output))

    @property
    def _id_base(self) -> str:
        """The part that the ids of the response and of its items have in common."""
        given = self.names.answer_id
        return given.removeprefix("resp_") if given else self.stamp.request_id

    def _here(self) -> dict[str, Any]:
        return {"item_id": self._item_id, "output_index": self._place}

    @property
    def _response(self) -> Response:
        if self._created_at is None:
            self._created_at = (self.began_at or self.stamp.timestamp) // 1000
        found = self._response_id or self.names.answer_id or f"resp_{self.stamp.request_id}"
        return Response(found, self.model_name, self._created_at, self.names.echo or {})

    def _frame(self, kind: str, **fields: Any) -> Frame:
        return self._frames_made.frame(kind, fields)
