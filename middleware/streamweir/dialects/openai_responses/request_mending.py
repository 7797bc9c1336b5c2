"""Repairs a refused request: reasoning items and the ids of items are left out, because neither is valid
without the other.

An item whose `id` names its call keeps the `id`.

Source: the Responses API (reasoning items, `store`); the conversation contract, section 4 (lost).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["mend"]

_DROPPED: Final = ("reasoning", "item_reference")
_NAMED_BY_ID: Final = ("local_shell_call_output", "mcp_approval_request")
"""The types of items whose `id` is the id of their call."""


def mend(body: Mapping[str, Any], refusal: str) -> Mapping[str, Any] | None:
    """Return the body without reasoning items and without the `id` of items; None if it has neither.

    Args:
        body: the body of the refused request.
        refusal: the error text of the upstream, which is ignored.
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
