"""Reads the parts of an event: text, thoughts, calls, results, files, questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, Final, Literal

from streamweir.codec.coerce import (
    arguments,
    custom,
    leftover,
    object_in,
    objects_in,
    text_in,
    text_of,
    tool_error,
)
from streamweir.codec.families.gemini_content import CodeRuns, file_of
from streamweir.events import Content, Event, Interaction, Meta, Thinking, ToolCallEnd, ToolCallStart, Whole
from streamweir.ids import short_id

__all__ = ["Form", "Parts"]

Form = Literal["piece", "repeat", "whole"]

CONFIRMATION: Final = "adk_request_confirmation"
_ASKING: Final = ("adk_request_credential", "adk_request_input")
_BESIDE: Final = ("thought", "thoughtSignature")
_MOST_OPEN: Final = 1000


class Parts:
    """Reads the parts of one run's events.

    Attributes:
        code: the code that the server runs.
        waits: whether the run waits for a person, or for the result of a long-running tool.
    """

    def __init__(self) -> None:
        self.waits = False
        self._open: dict[str, None] = {}
        self.code = CodeRuns()

    @property
    def is_open(self) -> bool:
        """Whether a call has no result."""
        return bool(self._open)

    def read(
        self, content: Mapping[str, Any], event: Mapping[str, Any], meta: Meta | None, form: Form
    ) -> Iterator[Event]:
        """Yield the events of an event's parts.

        Args:
            content: the content of the event.
            event: the whole event.
            meta: the metadata of the event.
            form: pieces of a message; a `repeat` of all earlier pieces; or a `whole` message, whose texts,
                calls and code are in order.
        """
        if rest := leftover(content, ("parts", "role")):
            yield custom("content", rest, meta)
        parts = objects_in(content.get("parts"))
        long_running, partial = event.get("longRunningToolIds"), form == "piece"
        groups = _in_order(parts) if form == "whole" else [parts]
        for group in groups:
            yield from _texts(group, meta, "snapshot" if form == "repeat" else None)
            for part in group:
                yield from self._part(part, long_running, _confirmed_later(event), meta, partial=partial)

    def _part(
        self, part: Mapping[str, Any], long_running: Any, pending: Any, meta: Meta | None, *, partial: bool
    ) -> Iterator[Event]:
        known = "text"
        match part:
            case {"functionCall": dict(call)}:
                known = "functionCall"
                if not partial:
                    yield from self._call(call, long_running, meta)
            case {"functionResponse": dict(response)}:
                known = "functionResponse"
                if text_of(response.get("id")) not in pending:
                    yield self._end_of(response, meta)
            case {"executableCode": dict(code)}:
                known = "executableCode"
                if not partial:
                    yield self.code.start(code, meta)
            case {"codeExecutionResult": dict(result)}:
                known = "codeExecutionResult"
                if not partial:
                    yield self.code.end(result, meta)
            case {"inlineData": dict(file)} | {"fileData": dict(file)}:
                known = "inlineData" if "inlineData" in part else "fileData"
                yield file_of(file, meta)
        if rest := leftover(part, (known, *_BESIDE)):
            yield custom("part", rest, meta)

    def _call(self, call: Mapping[str, Any], long_running: Any, meta: Meta | None) -> Iterator[Event]:
        tool_id, name = short_id(text_of(call.get("id"))), text_of(call.get("name")) or "unknown"
        given = arguments(call.get("args"))
        resume = {"id": tool_id, "name": name}
        if name == CONFIRMATION:
            self.waits = True
            yield _approval(tool_id, given, resume, meta)
        elif name in _ASKING:
            self.waits = True
            yield _question(tool_id, given, resume, meta)
        else:
            if tool_id and len(self._open) < _MOST_OPEN:
                self._open[tool_id] = None
            yield ToolCallStart(tool_id, name, arguments=given, meta=meta)
            if isinstance(long_running, list) and tool_id in long_running:
                self.waits = True
                yield Interaction(tool_id, "form", title=name, schema={}, resume=resume, meta=meta)
        if rest := leftover(call, ("id", "name", "args", "willContinue", "partialArgs")):
            yield custom("functionCall", rest, meta)

    def _end_of(self, response: Mapping[str, Any], meta: Meta | None) -> Event:
        tool_id = short_id(text_of(response.get("id")))
        self._open.pop(tool_id, None)
        name, result = text_of(response.get("name")) or None, response.get("response")
        rest = leftover(response, ("id", "name", "response"))
        match result:
            case {"error": str(error), **others} if not others:
                return ToolCallEnd(tool_id, "failed", error=tool_error(error), tool_name=name, meta=meta)
        if rest:
            result = {**rest, "response": result}
        return ToolCallEnd(tool_id, result=result, tool_name=name, meta=meta)


def _in_order(parts: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return the parts in groups of neighbours: thoughts, texts, or other parts."""
    return [[*group] for _, group in groupby(parts, _sort_of)]


def _sort_of(part: Mapping[str, Any]) -> tuple[bool, bool]:
    return isinstance(part.get("text"), str), part.get("thought") is True


def _confirmed_later(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the calls that wait for a confirmation and have not run; their results are placeholders."""
    return object_in(object_in(event, "actions"), "requestedToolConfirmations")


def _texts(parts: list[dict[str, Any]], meta: Meta | None, whole: Whole | None) -> Iterator[Event]:
    thoughts: list[str] = []
    texts: list[str] = []
    for part in parts:
        if isinstance(text := part.get("text"), str):
            (thoughts if part.get("thought") is True else texts).append(text)
    if text := "".join(thoughts):
        yield Thinking(text, "reasoning", whole=whole, meta=meta)
    if text := "".join(texts):
        yield Content(text, whole=whole, meta=meta)


def _approval(tool_id: str, given: dict[str, Any], resume: dict[str, Any], meta: Meta | None) -> Event:
    call, asked = object_in(given, "originalFunctionCall"), object_in(given, "toolConfirmation")
    return Interaction(
        tool_id,
        "approval",
        title=text_of(call.get("name")) or None,
        description=text_of(asked.get("hint")) or None,
        ui=given,
        resume=resume,
        meta=meta,
    )


def _question(tool_id: str, given: dict[str, Any], resume: dict[str, Any], meta: Meta | None) -> Event:
    schema = object_in(given, "responseSchema") or object_in(given, "response_schema")
    text = text_in(given, "message", "prompt", "hint") or None
    return Interaction(tool_id, "form", description=text, schema=schema, ui=given, resume=resume, meta=meta)
