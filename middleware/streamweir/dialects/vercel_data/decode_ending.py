"""The steps of a stream and its end: what was spent, and whether more is to come."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from streamweir.codec.coerce import leftover, text_of
from streamweir.jsontext import json_to_keep, parse_json

__all__ = ["Ending"]

_REASONS: Final = {"content-filter": "content_filter", "tool-calls": "tool_calls"}
_TOKENS: Final = {
    "prompt_tokens": ("promptTokens", "inputTokens"),
    "completion_tokens": ("completionTokens", "outputTokens"),
}
_COUNTED: Final = frozenset({*(name for names in _TOKENS.values() for name in names), "totalTokens"})
_LARGEST: Final = 1 << 53
_SMALL: Final = 4096
"""What steps say beside their counts is put together up to so many bytes; of more, the last one's counts."""


class Ending:
    """What the lines `f`, `e` and `d` have said."""

    FIELDS: ClassVar = ("finishReason", "usage", "isContinued")

    def __init__(self) -> None:
        self._is_in_step = False
        self._is_continued = False
        self._reason = ""
        self._spent: dict[str, int] = {}
        self._rest = b"{}"
        """As JSON: as objects it would take up to thirty times as much."""

    @property
    def may_end_here(self) -> bool:
        """No step is open, and none is said to follow."""
        return not self._is_in_step and not self._is_continued

    @property
    def leaves_calls(self) -> bool:
        """The last step is over with calls that are not the server's to run."""
        return self._reason == "tool-calls"

    @property
    def is_over(self) -> bool:
        """The last step is over, and not for calls whose results the model is then shown."""
        return bool(self._reason) and self.may_end_here and not self.leaves_calls

    @property
    def has_failed(self) -> bool:
        """The model did not come to an end."""
        return self._reason == "error"

    def begin_step(self) -> None:
        """A step begins."""
        self._is_in_step, self._is_continued, self._reason = True, False, ""

    def end_step(self, step: Mapping[str, Any]) -> None:
        """A step is over; what it took adds up."""
        self._is_in_step = False
        self._is_continued = step.get("isContinued") is True
        self._reason = text_of(step.get("finishReason"))
        for name, count in self._counts(step.get("usage")).items():
            self._spent[name] = self._spent.get(name, 0) + count

    def end(self, message: Mapping[str, Any]) -> None:
        """All is over; what this counts is of all steps."""
        self._reason = text_of(message.get("finishReason")) or self._reason
        self._spent |= self._counts(message.get("usage"))

    @property
    def summary(self) -> dict[str, Any] | None:
        """What all steps took, and why the last one ended."""
        summary: dict[str, Any] = {**parse_json(self._rest)[0], **self._spent}
        if len(self._spent) == len(_TOKENS):
            summary["total_tokens"] = sum(self._spent.values())
        if self._reason:
            summary["finish_reason"] = _REASONS.get(self._reason, self._reason)
        return summary or None

    def _counts(self, usage: Any) -> dict[str, int]:
        if not isinstance(usage, dict):
            return {}
        if rest := leftover(usage, _COUNTED):
            before = parse_json(self._rest)[0] if 2 < len(self._rest) < _SMALL else {}
            self._rest = json_to_keep({**before, **rest})
        found: dict[str, int] = {}
        for own, names in _TOKENS.items():
            for name in names:
                if type(count := usage.get(name)) is int and 0 <= count < _LARGEST:
                    found[own] = count
        return found
