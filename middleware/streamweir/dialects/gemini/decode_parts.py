"""Reads the parts of a candidate: text, thoughts, calls, files, code that was run, sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from streamweir.codec.coerce import and_extra, arguments, custom, leftover, text_of
from streamweir.codec.families.gemini_content import CodeRuns, file_of
from streamweir.codec.room import Room
from streamweir.dialects.gemini.decode_partial_calls import PartialCall, continues
from streamweir.events import Content, Event, Interaction, Meta, Opaque, Thinking, ToolCallEnd, ToolCallStart
from streamweir.ids import made_call_id

__all__ = ["Parts"]

_SIGNATURE: Final = "thoughtSignature"
_BESIDE: Final = ("thought", _SIGNATURE)
_NAME: Final = "gemini"
"""The key of the dialect's opaque values."""
_SERVER_TOOL: Final = ("id", "toolType", "args", "response")


class Parts:
    """Reads the parts of one generation.

    Attributes:
        meta: the metadata of the message.
        request_id: the request id of the stream.
        calls_room: the room for incomplete calls.
        has_called: whether a function has been called that the client has to run.
    """

    def __init__(self) -> None:
        self.meta: Meta | None = None
        self.request_id = ""
        self.has_called = False
        self.calls_room = Room("the calls of a model")
        self._calls = 0
        self._begun: dict[str | None, PartialCall] = {}
        """The calls whose last piece has not arrived, by channel."""
        self._code = CodeRuns()

    def read(self, content: Mapping[str, Any], channel: str | None) -> Iterator[Event]:
        """Yield the events of a candidate's parts."""
        self._code.request_id = self.request_id
        if rest := leftover(content, ("parts", "role")):
            yield custom("content", rest, self.meta)
        parts = content.get("parts")
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict):
                yield from self._part(part, channel)
            else:
                yield custom("part", part, self.meta)

    def _part(self, part: Mapping[str, Any], channel: str | None) -> Iterator[Event]:
        known = "text"
        opaque = _opaque_in(part)
        match part:
            case {"text": str(text)}:
                yield from self._text(text, part, channel, opaque)
            case {"functionCall": dict(call)}:
                known = "functionCall"
                yield from self._function_call(call, opaque, channel)
            case {"functionResponse": dict(response)}:
                known = "functionResponse"
                yield _end_of(response, self.meta)
            case {"executableCode": dict(code)}:
                known = "executableCode"
                yield msgspec.structs.replace(self._code.start(code, self.meta), opaque=opaque)
            case {"codeExecutionResult": dict(result)}:
                known = "codeExecutionResult"
                yield self._code.end(result, self.meta)
            case {"toolCall": dict(call)}:
                known = "toolCall"
                yield _server_call(call, opaque, self.meta)
            case {"toolResponse": dict(response)}:
                known = "toolResponse"
                yield _server_result(response, self.meta)
            case {"inlineData": dict(file)} | {"fileData": dict(file)}:
                known = "inlineData" if "inlineData" in part else "fileData"
                yield file_of(file, self.meta)
            case _ if opaque is not None and part.keys() <= {*_BESIDE}:
                yield from self._text("", part, channel, opaque)
        if rest := leftover(part, (known, *_BESIDE)):
            yield custom("part", rest, self.meta)

    def _text(
        self, text: str, part: Mapping[str, Any], channel: str | None, opaque: Opaque | None
    ) -> Iterator[Event]:
        if not text and opaque is None:
            return
        if part.get("thought") is True:
            yield Thinking(text, "reasoning", opaque=opaque, meta=self.meta)
        else:
            yield Content(text, channel=channel, opaque=opaque, meta=self.meta)

    def end_calls(self, *, is_cut: bool) -> Iterator[Event]:
        """Yield the calls whose last piece was left out; as data if the answer was cut short."""
        for channel, begun in [*self._begun.items()]:
            if is_cut:
                del self._begun[channel]
                yield custom("functionCall", begun.whole(), self.meta)
            else:
                yield from self._end_call(channel)

    def _function_call(
        self, call: Mapping[str, Any], opaque: Opaque | None, channel: str | None
    ) -> Iterator[Event]:
        """Yield the events of a whole call, or of a piece of one."""
        begun = self._begun.get(channel)
        if begun is not None and call.get("name"):
            yield from self._end_call(channel)
            begun = None
        if begun is None:
            if not continues(call) and "partialArgs" not in call:
                yield from self._call(call, opaque)
                return
            begun = self._begun[channel] = PartialCall(call, opaque, self.calls_room)
        for piece in begun.add(call.get("partialArgs")):
            yield custom("partialArg", piece, self.meta)
        if not continues(call):
            yield from self._end_call(channel)

    def _end_call(self, channel: str | None) -> Iterator[Event]:
        begun = self._begun.pop(channel)
        yield from self._call(begun.whole(), begun.opaque)

    def _call(self, call: Mapping[str, Any], opaque: Opaque | None) -> Iterator[Event]:
        """Yield the start of a complete call, which the client is to run."""
        self._calls += 1
        self.has_called = True
        tool_id = text_of(call.get("id")) or made_call_id(self.request_id, self._calls)
        name = text_of(call.get("name")) or "unknown"
        given = arguments(call.get("args"))
        yield ToolCallStart(tool_id, name, arguments=given, for_client=True, opaque=opaque, meta=self.meta)
        yield Interaction(tool_id, "tool", title=name, meta=self.meta)
        if rest := leftover(call, ("id", "name", "args", "willContinue")):
            yield custom("functionCall", rest, self.meta)


def _opaque_in(part: Mapping[str, Any]) -> Opaque | None:
    """Return the signature of a part as an opaque value; None if the part has no signature."""
    signature = part.get(_SIGNATURE)
    return {_NAME: {_SIGNATURE: signature}} if isinstance(signature, str) and signature else None


def _server_call(call: Mapping[str, Any], opaque: Opaque | None, meta: Meta | None) -> ToolCallStart:
    """Return the start of a call of a tool that Google runs, such as its web search."""
    name = text_of(call.get("toolType")) or "unknown"
    beside = and_extra(meta, leftover(call, _SERVER_TOOL))
    given = arguments(call.get("args"))
    return ToolCallStart(text_of(call.get("id")), name, arguments=given, opaque=opaque, meta=beside)


def _server_result(response: Mapping[str, Any], meta: Meta | None) -> ToolCallEnd:
    """Return the result of such a call."""
    name = text_of(response.get("toolType")) or None
    beside = and_extra(meta, leftover(response, _SERVER_TOOL))
    result = response.get("response")
    return ToolCallEnd(text_of(response.get("id")), result=result, tool_name=name, meta=beside)


def _end_of(response: Mapping[str, Any], meta: Meta | None) -> Event:
    name = text_of(response.get("name")) or None
    rest = leftover(response, ("id", "name", "response")) or {}
    result = {**rest, "response": response.get("response")} if rest else response.get("response")
    return ToolCallEnd(text_of(response.get("id")), result=result, tool_name=name, meta=meta)
