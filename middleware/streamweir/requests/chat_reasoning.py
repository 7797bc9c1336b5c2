"""Reasoning and opaque values in the assistant's messages of chat completions, read and written.

Source: the bodies of DeepSeek (`reasoning_content`), OpenRouter (`reasoning`, `reasoning_details`) and
Google's compatible API (`tool_calls[].extra_content`), 2026; the conversation contract, sections 1 to 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, Final

from streamweir.requests.canonical import Message, Opaque, Part, ToolCall
from streamweir.requests.content import content_of, parts_of
from streamweir.requests.fields import Fields
from streamweir.requests.merged_details import merged_details
from streamweir.requests.messages import made_message, read_message
from streamweir.requests.opaque_values import holds_seal, read_sealed, sealed
from streamweir.requests.outgoing import Outgoing
from streamweir.requests.turn_content import reasoning_part, with_opaque_text

__all__ = ["merged_turns", "read_chat_message", "written_extra_content", "written_reasoning"]

_DIALECT: Final = "openai-chat"
_SEALED: Final = "streamweir"
_SEALED_FORMAT: Final = "streamweir-1"
_CONTENT: Final = "reasoning_content"
"""The field that upstreams want to get back. Those that send `reasoning` read the details, or refuse it."""

_FIELDS: Final = (_CONTENT, "reasoning")
_MORE: Final = frozenset({*_FIELDS, "reasoning_details"})


# Reading


def read_chat_message(fields: Fields) -> Message:
    """Return one message, including the reasoning and the opaque values if it is the assistant's."""
    message = read_message(fields)
    if message["role"] != "assistant" or not _has_more(fields.value):
        return message
    calls = [*map(_with_extra_content, message.get("tool_calls", []), fields.objects("tool_calls"))]
    details = _Details(fields.get("reasoning_details"))
    is_foreign = details.has_seals or any(_SEALED in call.get("opaque", ()) for call in calls)
    reasoning = _foreign_reasoning(fields, details) if is_foreign else _own_reasoning(fields, details)
    if not (reasoning or calls or details.of_text):
        return message
    content = content_of([*reasoning, *with_opaque_text(message.get("content"), details.of_text)])
    return _remade(message, message.get("content") if content is None else content, calls)


def _has_more(value: Mapping[str, Any]) -> bool:
    """Return whether a message may have reasoning or opaque values; most messages have none."""
    if not _MORE.isdisjoint(value):
        return True
    calls = value.get("tool_calls")
    return isinstance(calls, list) and any("extra_content" in call for call in calls)


class _Details:
    """The entries of `reasoning_details`: the upstream's own, and seals.

    Attributes:
        native: the upstream's own entries, in their order.
        of_thinking: the seals of thinking in their order, each with the length of its piece of text.
        of_text: the seal of the message's text.
        has_seals: there are seals, or texts like seals: an upstream of another dialect made the message.
    """

    def __init__(self, entries: object) -> None:
        self.native: list[dict[str, Any]] = []
        self.of_thinking: list[tuple[Opaque, object]] = []
        self.of_text: Opaque | None = None
        self.has_seals = False
        for entry in entries if isinstance(entries, list) else ():
            if not isinstance(entry, dict):
                continue
            if _is_sealed(entry):
                self._add_seal(entry.get("data"))
            else:
                self.native.append(entry)

    def _add_seal(self, text: object) -> None:
        self.has_seals = True
        if (found := read_sealed(text)) is None:
            return
        seal, opaque = found
        if seal.of == "thinking":
            length = seal.value.get("length") if isinstance(seal.value, dict) else None
            self.of_thinking.append((opaque, length))
        elif seal.of == "text":
            self.of_text = opaque


def _is_sealed(entry: dict[str, Any]) -> bool:
    return entry.get("format") == _SEALED_FORMAT or holds_seal(entry)


def _own_reasoning(fields: Fields, details: _Details) -> list[Part]:
    """Return the reasoning from an upstream of this dialect, in the fields in which that upstream sent it."""
    name = next((name for name in _FIELDS if isinstance(fields.get(name), str)), None)
    if name is None and not details.native:
        return []
    own: dict[str, Any] = {"field": name or "reasoning"}
    if details.native:
        own["details"] = details.native
    return [{"type": "reasoning", "text": _reasoning_text(fields), "opaque": {_DIALECT: own}}]


def _foreign_reasoning(fields: Fields, details: _Details) -> list[Part]:
    """Return reasoning from an upstream of another dialect: for each seal, in order, its piece of the text.

    A seal names the length of its piece in characters, because the client shows one text for all of them. If
    the lengths do not fit the text, all of it belongs to the first seal.
    """
    text = _reasoning_text(fields)
    lengths = [length if type(length) is int and length >= 0 else None for _, length in details.of_thinking]
    known = [length for length in lengths if length is not None]
    if len(known) < len(lengths) or sum(known) > len(text):
        known = [len(text), *[0] * (len(lengths) - 1)] if lengths else []
    ends = [*accumulate(known, initial=0)]
    pieces = [
        reasoning_part(text[begin:end], opaque)
        for (opaque, _), (begin, end) in zip(details.of_thinking, pairwise(ends), strict=True)
    ]
    return [part for part in (*pieces, reasoning_part(text[ends[-1] :])) if part is not None]


def _reasoning_text(fields: Fields) -> str:
    """Return the text of the reasoning; a value that is not a text is dropped."""
    return next((text for name in _FIELDS if isinstance(text := fields.get(name), str)), "")


def _with_extra_content(call: ToolCall, item: Fields) -> ToolCall:
    extra = item.get("extra_content")
    if not isinstance(extra, dict):
        return call
    holder = extra.get(_SEALED)
    opaque: Opaque = (sealed(holder.get("opaque")) or {}) if isinstance(holder, dict) else {}
    if own := _native_extra(extra):
        opaque[_DIALECT] = {"extra_content": own}
    return {**call, "opaque": opaque} if opaque else call


# Writing


def written_reasoning(message: Message, outgoing: Outgoing) -> dict[str, Any]:
    """Return the fields with the reasoning of the upstream, which the upstream wants to get back."""
    texts: list[str] = []
    details: list[dict[str, Any]] = []
    for part in _reasoning_parts(message):
        own = outgoing.opaque_of(part) or {}
        if own.get("field") == _CONTENT:
            texts.append(part.get("text", ""))
        if isinstance(own.get("details"), list):
            details += [item for item in own["details"] if isinstance(item, dict) and not _is_sealed(item)]
    found: dict[str, Any] = {_CONTENT: "".join(texts)} if texts else {}
    return {**found, "reasoning_details": merged_details(details)} if details else found


def written_extra_content(call: ToolCall, outgoing: Outgoing) -> dict[str, Any]:
    """Return the field with a call's opaque value from this upstream; empty if there is none."""
    own = outgoing.opaque_of(call) or {}
    extra = own.get("extra_content")
    kept = _native_extra(extra) if isinstance(extra, dict) else {}
    return {"extra_content": kept} if kept else {}


def _native_extra(extra: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in extra.items() if name != _SEALED and not holds_seal(value)}


def merged_turns(messages: Sequence[Message]) -> Sequence[Message]:
    """Return the messages; consecutive messages of the assistant are merged.

    A message joins the previous one if it has reasoning or opaque calls, or if a message that it would be
    merged with has reasoning or calls. Some clients send reasoning, text and each call as separate messages.
    The upstream wants reasoning in the message with the calls, and results directly after that message.
    """
    groups: list[list[Message]] = []
    is_joinable = False  # the last group has reasoning or calls
    for message in messages:
        has_reasoning = any(True for _ in _reasoning_parts(message)) or _has_opaque_call(message)
        if groups and (is_joinable or has_reasoning) and _is_mergeable(groups[-1][-1], message):
            groups[-1].append(message)
        else:
            groups.append([message])
            is_joinable = False
        is_joinable = is_joinable or has_reasoning or bool(message.get("tool_calls"))
    return [group[0] if len(group) == 1 else _merged(group) for group in groups]


def _has_opaque_call(message: Message) -> bool:
    return any("opaque" in call for call in message.get("tool_calls", ()))


def _is_mergeable(*messages: Message) -> bool:
    return all(message["role"] == "assistant" and "turn" not in message for message in messages)


def _merged(group: Sequence[Message]) -> Message:
    parts = [part for one in group for part in parts_of(one.get("content"))]
    calls = [call for one in group for call in one.get("tool_calls", [])]
    return _remade(group[0], content_of(parts) or "", calls)


def _remade(message: Message, content: str | list[Part] | None, calls: Sequence[ToolCall]) -> Message:
    """Return a copy of an assistant's message with other content and other calls."""
    replaced = ("role", "content", "tool_calls")
    others = {name: value for name, value in message.items() if name not in replaced}
    return made_message("assistant", content, **others, tool_calls=calls)


def _reasoning_parts(message: Message) -> Iterator[Part]:
    return (part for part in parts_of(message.get("content")) if part["type"] == "reasoning")
