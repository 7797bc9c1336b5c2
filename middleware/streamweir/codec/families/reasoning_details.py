"""Reads reasoning from `reasoning_details`, where a chunk holds either the next piece or all text since the
beginning.

Source: OpenRouter's page on reasoning tokens (pieces); MiniMax's page on interleaved thinking (cumulative).
MiniMax sends a `format` that tells. For other servers the second text decides: if it begins with the whole
first text, the texts are cumulative.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from streamweir.codec.coerce import text_of
from streamweir.events import Meta, Thinking, Whole

__all__ = ["ReasoningDetails"]

_CUMULATIVE: Final = "MiniMax"
_TEXTS: Final = ("text", "summary")
_LONGEST_COMPARED: Final = 4096


class ReasoningDetails:
    """Reads the `reasoning_details` of one stream.

    Until the second text, `_is_cumulative` is None: it is not known whether the texts are cumulative. Then it
    is set, and does not change.
    """

    def __init__(self) -> None:
        self._first: str | None = None
        self._is_cumulative: bool | None = None

    def read(self, details: Any, whole: Whole | None, meta: Meta | None) -> Iterator[Thinking]:
        """Yield the texts of `details`, which are one object or a list of them."""
        if text := self.note(details):
            yield Thinking(text, "reasoning", "snapshot" if self._is_cumulative else whole, meta=meta)

    def note(self, details: Any) -> str:
        """Return the text of `details`; the first two texts tell whether they are cumulative."""
        items = _items_of(details)
        text = "".join(
            text_of(next((item[name] for name in _TEXTS if item.get(name)), None)) for item in items
        )
        if text and _names_cumulative(items):
            self._is_cumulative = True
        elif text and self._is_cumulative is None:
            self._compare(text)
        return text

    def are_cumulative(self, details: Any) -> bool:
        """Return whether each text in `details` repeats all text before it."""
        return bool(self._is_cumulative) or _names_cumulative(_items_of(details))

    def _compare(self, text: str) -> None:
        if self._first is None:
            self._first = text[:_LONGEST_COMPARED]
        else:
            self._is_cumulative = len(text) > len(self._first) and text.startswith(self._first)
            self._first = None


def _items_of(details: Any) -> list[dict[str, Any]]:
    return [item for item in (details if isinstance(details, list) else [details]) if isinstance(item, dict)]


def _names_cumulative(items: list[dict[str, Any]]) -> bool:
    return any(text_of(item.get("format")).startswith(_CUMULATIVE) for item in items)
