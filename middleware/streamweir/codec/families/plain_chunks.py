"""Reads chat chunks that hold only a piece of the answer or its end, as nearly all do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

__all__ = ["PlainChunk", "plain_chunk"]

_CHUNK: Final = frozenset(
    {
        *("id", "object", "created", "model", "choices", "usage"),
        *("system_fingerprint", "service_tier", "provider", "obfuscation"),
    }
)
_CHOICE: Final = frozenset({"index", "delta", "finish_reason", "logprobs"})
_DELTA: Final = frozenset({"role", "content"})
"""The fields of a plain chunk's delta."""


class PlainChunk(NamedTuple):
    """The contents of a plain chunk.

    Attributes:
        text: a piece of the answer; may be empty.
        reason: the finish reason; None if the answer continues.
    """

    text: str
    reason: str | None


def plain_chunk(message: Mapping[str, Any]) -> PlainChunk | None:
    """Return the contents of a chunk of the first choice; None if any other field has a value."""
    choices, get = message.get("choices"), message.get
    if not message.keys() <= _CHUNK or get("usage") is not None or get("object") == "error":
        return None
    choice = choices[0] if type(choices) is list and len(choices) == 1 else None
    if type(choice) is not dict or not choice.keys() <= _CHOICE:
        return None
    get = choice.get
    delta, reason = get("delta"), get("finish_reason")
    if type(delta) is not dict or not delta.keys() <= _DELTA or get("index") != 0:
        return None
    text = delta.get("content")
    is_plain = (text is None or type(text) is str) and (reason is None or type(reason) is str)
    return PlainChunk(text or "", reason) if is_plain and get("logprobs") is None else None
