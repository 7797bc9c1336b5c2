"""Reads the parts of a whole answer: reasoning, texts, calls that have been run, questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamweir.codec.coerce import arguments, custom, leftover, meta_of, objects_in, text_of
from streamweir.dialects.fastgpt.decode_questions import question
from streamweir.events import Content, Event, Thinking, ToolCallEnd, ToolCallStart

__all__ = ["parts_of", "read_parts"]

_TOOL: Final = ("id", "toolName", "toolAvatar", "functionName", "params", "response")


def parts_of(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the parts of a whole answer with `detail`; an empty list for any other answer."""
    match answer:
        case {"choices": [{"message": {"content": list() as parts}}, *_]}:
            return objects_in(parts)
    return []


def read_parts(parts: list[dict[str, Any]]) -> Iterator[Event]:
    """Yield the events of the parts."""
    for part in parts:
        match part:
            case {"text": {"content": str(text)}}:
                yield Content(text)
            case {"reasoning": {"content": str(text)}}:
                yield Thinking(text, "reasoning")
            case {"tools": list(tools)}:
                for tool in objects_in(tools):
                    yield from _call(tool)
            case {"interactive": dict(asked)}:
                yield from question(asked, None)
            case _:
                yield custom("part", part)


def _call(tool: Mapping[str, Any]) -> Iterator[Event]:
    tool_id = text_of(tool.get("id"))
    title, name = text_of(tool.get("toolName")), text_of(tool.get("functionName"))
    extra = {**(leftover(tool, _TOOL) or {}), **({"title": title} if title and name else {})}
    given = arguments(tool.get("params"))
    yield ToolCallStart(tool_id, name or title or "unknown", arguments=given, meta=meta_of(extra=extra))
    yield ToolCallEnd(tool_id, result=tool.get("response"), tool_name=name or title or None)
