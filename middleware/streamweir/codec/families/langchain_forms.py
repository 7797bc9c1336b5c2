"""Reads the forms that LangChain's messages have, and the texts in them.

Source: langchain-core 1.7 and 0.3 (`messages/*.py`, `load/dump.py`). The forms are fields at the top,
`{"type", "data"}`, `{"lc", "id", "kwargs"}`, and the text that Python makes of a message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamweir.codec.coerce import leftover, object_in, text_of
from streamweir.codec.families.python_repr import CLASS, value_of_repr
from streamweir.events import Content, Meta, Thinking

__all__ = ["ROLES", "is_message", "plain_message", "texts_of"]

ROLES: Final = {
    "ai": "ai",
    "assistant": "ai",
    "AIMessage": "ai",
    "AIMessageChunk": "ai",
    "tool": "tool",
    "ToolMessage": "tool",
    "ToolMessageChunk": "tool",
    "function": "tool",
    **dict.fromkeys(("human", "user", "HumanMessage", "HumanMessageChunk"), "human"),
    **dict.fromkeys(("system", "developer", "SystemMessage", "SystemMessageChunk"), "system"),
    **dict.fromkeys(("remove", "RemoveMessage"), "remove"),
    **dict.fromkeys(("ChatMessage", "ChatMessageChunk", "chat"), "ai"),
}
"""The role of a message, by every name that the type of a message has."""
_BESIDE: Final = ("reasoning_content", "reasoning")


def plain_message(given: Any) -> dict[str, Any] | None:
    """Return a message of any form with its fields at the top; None for any other value."""
    value: Any = given
    match given:
        case {"lc": int(), "kwargs": dict(fields), "id": [*_, str(name)]} if name in ROLES:
            value = {**fields, "type": name}
        case {"type": str(kind), "data": dict(fields)} if kind in ROLES:
            value = {**(leftover(given, ("data",)) or {}), **fields, "type": kind}
        case {"__class__": str(name)} if name in ROLES:
            value = {**given, "type": name}
        case str() if given.startswith("content="):
            value = _of_text(given)
    if not isinstance(value, dict) or "content" not in value:
        return None
    named = value.get("type", value.get("role"))
    return value if isinstance(named, str) and named in ROLES else None


def _of_text(text: str) -> Any:
    """Return the fields in a `str(message)`. It does not name the class, but the id of an answer contains the
    id of a run.
    """
    fields = value_of_repr(text)
    if not isinstance(fields, dict) or CLASS in fields:
        return None
    is_answer = text_of(fields.get("id")).startswith(("run-", "lc_run-"))
    kind = (
        *(("tool",) if "tool_call_id" in fields else ()),
        *(("AIMessageChunk",) if "tool_call_chunks" in fields else ()),
        *(("ai",) if is_answer else ()),
        "human",
    )
    return {**fields, "type": kind[0]}


def is_message(value: Any) -> bool:
    """Return whether a value is a LangChain message, in any of its forms."""
    return plain_message(value) is not None


def texts_of(message: Mapping[str, Any], meta: Meta | None) -> Iterator[Content | Thinking]:
    """Yield a message's reasoning, then its text."""
    content = message.get("content")
    thoughts, texts = [], []
    for block in content if isinstance(content, list) else (content,):
        match block:
            case str():
                texts.append(block)
            case {"type": "text", "text": str(text)} | {"type": "refusal", "refusal": str(text)}:
                texts.append(text)
            case {"type": "thinking" | "reasoning" | "reasoning_content"}:
                thoughts.append(_thought(block))
    if text := "".join(thoughts) or _reasoning_beside(message):
        yield Thinking(text, "reasoning", meta=meta)
    if text := "".join(texts):
        yield Content(text, meta=meta)


def _reasoning_beside(message: Mapping[str, Any]) -> str:
    """Return the thoughts that the integration of a model keeps in another field than the text."""
    beside = object_in(message, "additional_kwargs")
    return next((text for name in _BESIDE if (text := _thought(beside.get(name)))), "")


def _thought(value: Any) -> str:
    """Return the text of a thought, in any of the shapes in which models send thoughts."""
    match value:
        case str():
            return value
        case {"thinking": str(text)} | {"reasoning": str(text)} | {"text": str(text)}:
            return text
        case {"reasoning_content": inner} | {"summary": inner}:
            return _thought(inner)
        case list():
            return "".join(map(_thought, value))
    return ""
