"""One message of the assistant: its parts and calls in the order in which the model made them.

Source: the conversation contract, sections 2 and 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from streamweir.requests.canonical import Message, Opaque, Part, ToolCall
from streamweir.requests.content import content_of, parts_of
from streamweir.requests.opaque_values import read_sealed

__all__ = ["TurnContent", "placed_items", "reasoning_part", "with_opaque_text"]


def reasoning_part(text: str, opaque: Opaque | None = None) -> Part | None:
    """Return the part for a piece of reasoning; None without both text and opaque value."""
    if opaque:
        return {"type": "reasoning", "text": text, "opaque": opaque}
    return {"type": "reasoning", "text": text} if text else None


def with_opaque_text(content: str | list[Part] | None, opaque: Opaque | None) -> list[Part]:
    """Return the parts of a content; the opaque value is added to the last text, or to an empty text."""
    parts = [*parts_of(content)]
    if opaque is None:
        return parts
    at = next((index for index in range(len(parts) - 1, -1, -1) if parts[index]["type"] == "text"), None)
    if at is None:
        return [*parts, {"type": "text", "text": "", "opaque": opaque}]
    parts[at] = cast("Part", {**parts[at], "opaque": opaque})
    return parts


def placed_items(message: Message) -> Iterator[tuple[Part, ToolCall | None]]:
    """Yield each part of a message, with the call whose place the part is; others come last."""
    calls = message.get("tool_calls", ())
    waiting: dict[str, list[ToolCall]] = {}
    for call in reversed(calls):
        waiting.setdefault(call["id"], []).append(call)
    placed: set[int] = set()
    for part in parts_of(message.get("content")):
        if part["type"] != "tool_call":
            yield part, None
        elif same := waiting.get(part.get("id", "")):
            call = same.pop()
            placed.add(id(call))
            yield part, call
    for call in calls:
        if id(call) not in placed:
            yield {"type": "tool_call", "id": call["id"]}, call


class TurnContent:
    """Collects the parts and calls of one message, and gives each seal to its neighbour.

    If the client's protocol has signatures only for thinking, the seal of a text or a call is in a separate
    part next to it. The seal of a text belongs to the text directly before it, else to the one after it; the
    seal of a call to the next call, else to the last one.

    Attributes:
        calls: the calls that have been added.
    """

    __slots__ = ("_call_seal", "_parts", "_text_seal", "calls")

    def __init__(self) -> None:
        self.calls: list[ToolCall] = []
        self._parts: list[Part] = []
        self._text_seal: Part | None = None  # the empty text that holds a seal until its text follows
        self._call_seal: Opaque | None = None

    def add_part(self, part: Part | None) -> None:
        """Add a part; None adds nothing."""
        if part is None:
            return
        holder, self._text_seal = self._text_seal, None
        if holder is not None and part["type"] == "text" and self._parts[-1] is holder:
            self._parts.pop()
            part = cast("Part", {"opaque": holder["opaque"], **part})
        self._parts.append(part)

    def add_call(self, call: ToolCall) -> None:
        """Add a call."""
        if self._call_seal is not None and "opaque" not in call:
            call = {**call, "opaque": self._call_seal}
        self._call_seal = None
        self.calls.append(call)
        self._parts.append({"type": "tool_call", "id": call["id"]})

    def add_seal(self, text: object) -> None:
        """Add a seal that is in a separate part; a seal that cannot be read is lost."""
        if (found := read_sealed(text)) is None:
            return
        seal, opaque = found
        match seal.of:
            case "thinking":
                self.add_part(reasoning_part("", opaque))
            case "text":
                self._add_text_seal(opaque)
            case "call":
                self._call_seal = opaque

    def content(self) -> str | list[Part] | None:
        """Return the content of the message: its parts, and the places of calls before some part."""
        self._give_seal_to_last_call()
        end = len(self._parts)
        while end and self._parts[end - 1]["type"] == "tool_call":
            end -= 1
        return content_of(self._parts[:end])

    def _add_text_seal(self, opaque: Opaque) -> None:
        if self._parts and (last := self._parts[-1])["type"] == "text" and "opaque" not in last:
            last["opaque"] = opaque
            return
        self._text_seal = {"type": "text", "text": "", "opaque": opaque}
        self._parts.append(self._text_seal)

    def _give_seal_to_last_call(self) -> None:
        if self._call_seal is not None and self.calls and "opaque" not in self.calls[-1]:
            self.calls[-1]["opaque"] = self._call_seal
        self._call_seal = None
