"""Chunks of chat completions that hold a piece of the answer and nothing else, as nearly all do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["text_alone_in"]

_CHUNK: Final = frozenset(
    {
        *("id", "object", "created", "model", "choices", "usage"),
        *("system_fingerprint", "service_tier", "provider", "obfuscation"),
    }
)
_CHOICE: Final = frozenset({"index", "delta", "finish_reason", "logprobs"})
_DELTA: Final = frozenset({"role", "content"})
"""The fields of such a chunk."""


def text_alone_in(message: Mapping[str, Any]) -> str | None:
    """Return the text of a chunk that has no other field with a value; None for any other message."""
    if not message.keys() <= _CHUNK or message.get("usage") is not None or message.get("object") == "error":
        return None
    choices = message.get("choices")
    choice = choices[0] if type(choices) is list and len(choices) == 1 else None
    if type(choice) is not dict or not choice.keys() <= _CHOICE or choice.get("index") != 0:
        return None
    if choice.get("finish_reason") is not None or choice.get("logprobs") is not None:
        return None
    delta = choice.get("delta")
    text = delta.get("content") if type(delta) is dict and delta.keys() <= _DELTA else None
    return text if type(text) is str and text else None
