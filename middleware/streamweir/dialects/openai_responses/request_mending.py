"""Mends a refused request: reasoning items and the ids of items are left out, because they go together.

An item that names its call by its `id` keeps it.

Source: the Responses API (reasoning items, `store`); the conversation contract, section 4 (lost).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["mend"]

_DROPPED: Final = ("reasoning", "item_reference")
_NAMED_BY_ID: Final = ("local_shell_call_output", "mcp_approval_request")
"""The items whose `id` is that of their call."""


def mend(body: Mapping[str, Any], refusal: str) -> Mapping[str, Any] | None:
    """Return the body without reasoning items and without the `id` of items; None if there is neither.

    Args:
        body: of the refused request.
        refusal: the words of the upstream, which do not matter here.
    """
    del refusal
    items = body.get("input", [])
    if not isinstance(items, list):
        return None
    mended = [_without_id(item) for item in items if item.get("type") not in _DROPPED]
    return None if mended == items else {**body, "input": mended}


def _without_id(item: Mapping[str, Any]) -> Mapping[str, Any]:
    if item.get("type") in _NAMED_BY_ID:
        return item
    return {name: value for name, value in item.items() if name != "id"}
