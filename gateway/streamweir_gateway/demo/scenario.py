"""Reads from a client's message whether the demo backend should answer, fail in one of three ways, or ask."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, Literal, cast

from streamweir.errors import MalformedEvent
from streamweir.jsontext import parse_json

__all__ = ["Scenario", "scenario_of"]

Scenario = Literal["answer", "fail", "cut", "stall", "ask"]

_WORDS: Final = re.compile(r"\b(fail|cut|stall|ask)\b", re.IGNORECASE)
_MESSAGE: Final = ("message", "question", "query", "user_question", "prompt", "input", "text", "content")


def scenario_of(body: bytes) -> Scenario:
    """Return the scenario that a request names. In a conversation, only the last message counts."""
    found = _WORDS.search(_message_in(body))
    return cast("Scenario", found[1].lower()) if found else "answer"


def _message_in(body: bytes) -> str:
    try:
        value, _ = parse_json(body)
    except MalformedEvent:
        return body.decode("utf-8", "replace")
    if isinstance(value, dict):
        named = next((value[name] for name in _MESSAGE if value.get(name)), None)
        conversation = value.get("messages")
        if named is not None:
            value = named
        elif isinstance(conversation, list) and conversation:
            value = conversation[-1]
    return " ".join(_texts(value))


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts in `value`, at any depth."""
    match value:
        case str():
            yield value
        case dict():
            for item in value.values():
                yield from _texts(item)
        case list():
            for item in value:
                yield from _texts(item)
