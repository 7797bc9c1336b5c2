"""Reads and writes the usage in chunks of chat completions: a summary's counts, chunks with only usage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

__all__ = ["TOKENS", "is_usage_alone", "tokens_in", "usage_of"]

TOKENS: Final = ("prompt_tokens", "completion_tokens", "total_tokens")


def is_usage_alone(message: Any, *, is_first: bool) -> bool:
    """Return whether `message` is a chunk with its usage only.

    Args:
        message: a message of a stream.
        is_first: whether it is the first message of the stream, whose role counts as content.
    """
    if not isinstance(message, dict) or not message.get("usage"):
        return False
    choices = message.get("choices") or []
    return isinstance(choices, list) and all(_is_empty(choice, is_first=is_first) for choice in choices)


def _is_empty(choice: Any, *, is_first: bool) -> bool:
    """Return whether a choice has no text, no call and no finish reason."""
    if not isinstance(choice, dict):
        return False
    delta = choice.get("delta") or {}
    others = {name for name, value in choice.items() if value and name not in ("index", "delta")}
    names = {name for name, value in delta.items() if value} if isinstance(delta, dict) else {"delta"}
    return not others and not names - (set() if is_first else {"role"})


def tokens_in(usage: Any) -> dict[str, Any]:
    """Return the counts of a `usage` object that a summary may have."""
    found = ((name, usage.get(name)) for name in TOKENS) if isinstance(usage, dict) else ()
    return {name: count for name, count in found if type(count) is int and 0 <= count < 1 << 53}


def usage_of(summary: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the `usage` object of a summary; None unless it has all counts, which clients need."""
    found: Iterable[tuple[str, Any]] = ((name, (summary or {}).get(name)) for name in TOKENS)
    usage = {name: value for name, value in found if value is not None}
    return usage if len(usage) == len(TOKENS) else None
