"""Repairs a refused request: thinking is left out, which the API accepts, so that the model thinks again.

Source: the Messages API (extended thinking); the conversation contract, section 4 (lost).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["mend"]

_THINKING: Final = frozenset({"thinking", "redacted_thinking"})


def mend(body: Mapping[str, Any], refusal: str) -> Mapping[str, Any] | None:
    """Return the body without blocks of thinking and without `thinking`; None if it has neither.

    Args:
        body: the body of the refused request.
        refusal: the error text of the upstream, which is ignored.
    """
    del refusal
    messages = body.get("messages", [])
    mended = [shown for message in messages if (shown := _without_thinking(message))["content"]]
    if mended == messages and "thinking" not in body:
        return None
    return {name: value for name, value in {**body, "messages": mended}.items() if name != "thinking"}


def _without_thinking(message: Mapping[str, Any]) -> dict[str, Any]:
    content = message["content"]
    if isinstance(content, list) and any(block["type"] in _THINKING for block in content):
        content = [block for block in content if block["type"] not in _THINKING]
    return {**message, "content": content}
