"""Reads an agent's thoughts, sent again as they grow: the thinking, the tools, and their results."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamweir.codec.coerce import and_extra, arguments, custom, leftover, text_of, tool_error
from streamweir.codec.text_pieces import TextPieces
from streamweir.events import Event, Meta, Thinking, ToolCallEnd, ToolCallStart
from streamweir.ids import short_id

__all__ = ["Thoughts", "is_repeated"]

_THOUGHT: Final = (
    *("event", "task_id", "message_id", "conversation_id", "workflow_run_id", "created_at", "id", "position"),
    *("thought", "tool", "tool_labels", "tool_input", "observation", "message_files"),
)
_FAILED: Final = re.compile(
    r"\s*(?:tool (?:invoke|response|parameters validation) error|unknown error)\b", re.I
)
"""Matches the texts in which the server (`tool_engine.py`) records that a tool has raised an exception."""

_ROOM: Final = 32 << 10
"""The most bytes of an answer that are remembered. After a longer answer, any text counts as a repetition."""


class Thoughts:
    """Reads one thought at a time, and keeps the answer, which thoughts repeat."""

    def __init__(self) -> None:
        self._answer = TextPieces()
        self._id: str | None = None
        self._thought = ""
        self._calls: list[tuple[str, str]] = []
        """The ids and names of the thought's calls that have no result yet."""
        self._has_called = False

    @property
    def is_silent(self) -> bool:
        """Whether no text has arrived."""
        return not self._answer.size

    @property
    def answer(self) -> str | None:
        """The answer until now; None if it is longer than the limit."""
        return self._answer.text if self._answer.size <= _ROOM else None

    def note(self, text: str) -> None:
        """Note a piece of the answer."""
        if self._answer.size <= _ROOM:
            self._answer.append(text)

    def read(self, fields: Mapping[str, Any], meta: Meta | None) -> Iterator[Event]:
        """Yield the part of a thought that is new after its earlier pieces and the answer."""
        thought_id = short_id(text_of(fields.get("id")))
        if thought_id != self._id:
            self._id, self._thought, self._calls, self._has_called = thought_id, "", [], False
        rest = leftover(fields, _THOUGHT)
        text = self._new_in(text_of(fields.get("thought")))
        if text:
            own: Meta = {**(meta or {}), "message_id": thought_id} if thought_id else (meta or {})
            yield Thinking(text, "reasoning", meta=and_extra(own or None, rest))
        yield from self._call(fields, meta)
        if observation := fields.get("observation"):
            if not self._has_called:
                rest = {**(rest or {}), "observation": observation}
            yield from self._observe(observation, meta)
        if rest and (not text or "observation" in rest):
            yield custom("agent_thought", rest, meta)

    def _new_in(self, text: str) -> str:
        """Return the new part of a thought: text neither in its earlier pieces nor in the answer."""
        new = text[len(self._thought) :] if text.startswith(self._thought) else text
        if text:
            self._thought = text
        return "" if not new.strip() or is_repeated(self, new) else new

    def _call(self, fields: Mapping[str, Any], meta: Meta | None) -> Iterator[Event]:
        """Yield the calls of a thought. Names of tools are split by semicolons; inputs are found by name."""
        names = [name for name in text_of(fields.get("tool")).split(";") if name][:100]
        if self._has_called or not names:
            return
        self._has_called = True
        given = arguments(fields.get("tool_input"))
        for number, name in enumerate(names, 1):
            tool_id = f"{self._id or 'call'}" if len(names) == 1 else f"{self._id or 'call'}-{number}"
            self._calls.append((tool_id, name))
            own = given.get(name)
            given_here = own if isinstance(own, dict) else given
            yield ToolCallStart(tool_id, name, arguments=given_here, meta=meta)

    def _observe(self, observation: Any, meta: Meta | None) -> Iterator[Event]:
        """Yield the results of calls; if there are several, they are found by the names of the tools."""
        results = arguments(observation)
        calls, self._calls = self._calls, []
        for tool_id, name in calls:
            result = results.get(name, observation)
            if isinstance(result, str) and _FAILED.match(result):
                yield ToolCallEnd(tool_id, "failed", error=tool_error(result), meta=meta)
            else:
                yield ToolCallEnd(tool_id, result=result, meta=meta)


def is_repeated(thoughts: Thoughts, text: str) -> bool:
    """Return whether the answer contains this text; True if the answer is too long to be remembered."""
    answer = thoughts.answer
    return answer is None or text.strip() in answer
