"""Reads the steps of a stream and its end: the usage, and whether another step follows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from streamweir.classification.finish_words import standard_finish
from streamweir.codec.coerce import leftover, text_of
from streamweir.codec.finish import finish_error
from streamweir.events import Error
from streamweir.jsontext import write_json

__all__ = ["Ending"]

_REASONS: Final = {"other": "stop", "unknown": "stop"}
"""The SDK's finish reasons if a provider has given no reason, or an unknown one."""

_TOKENS: Final = {
    "prompt_tokens": ("promptTokens", "inputTokens"),
    "completion_tokens": ("completionTokens", "outputTokens"),
}
_COUNTED: Final = frozenset({*(name for names in _TOKENS.values() for name in names), "totalTokens"})
_LARGEST: Final = 1 << 53
_MOST_REST: Final = 4096
"""The most bytes of JSON of a step's other fields that are kept for the end."""


class Ending:
    """Keeps the values of the lines `f`, `e` and `d`."""

    FIELDS: ClassVar = ("finishReason", "usage", "isContinued")

    def __init__(self) -> None:
        self._is_in_step = False
        self._is_continued = False
        self._reason = ""
        self._spent: dict[str, int] = {}
        self._rest: dict[str, Any] = {}

    @property
    def may_end_here(self) -> bool:
        """Whether no step is open, and no further step has been announced."""
        return not self._is_in_step and not self._is_continued

    @property
    def leaves_calls(self) -> bool:
        """Whether the last step ended with calls that the server does not run."""
        return self._reason == "tool-calls"

    @property
    def is_over(self) -> bool:
        """Whether the last step has ended, without calls whose results the model gets in another step."""
        return bool(self._reason) and self.may_end_here and not self.leaves_calls

    @property
    def has_failed(self) -> bool:
        """Whether the model did not finish."""
        return self._reason == "error"

    @property
    def error(self) -> Error | None:
        """The failure of a run that broke off by a finish word other than `error`; None for a proper end."""
        return finish_error(self._reason)

    def begin_step(self) -> None:
        """Note the start of a step."""
        self._is_in_step, self._is_continued, self._reason = True, False, ""

    def end_step(self, step: Mapping[str, Any]) -> dict[str, Any] | None:
        """End a step and add its usage. Return its other fields if they are too large to be kept."""
        self._is_in_step = False
        self._is_continued = step.get("isContinued") is True
        self._reason = text_of(step.get("finishReason"))
        usage = step.get("usage")
        for name, count in _counts(usage).items():
            self._spent[name] = self._spent.get(name, 0) + count
        rest = _uncounted(usage)
        together = {**self._rest, **rest}
        if rest and len(write_json(together)) > _MOST_REST:
            return rest
        self._rest = together
        return None

    def end(self, message: Mapping[str, Any]) -> None:
        """Note the end of the stream; its counts include all steps."""
        self._reason = text_of(message.get("finishReason")) or self._reason
        usage = message.get("usage")
        self._spent |= _counts(usage)
        self._rest |= _uncounted(usage)

    @property
    def summary(self) -> dict[str, Any] | None:
        """The usage of all steps, and the finish reason of the last end."""
        summary: dict[str, Any] = {**self._rest, **self._spent}
        if len(self._spent) == len(_TOKENS):
            summary["total_tokens"] = sum(self._spent.values())
        if self._reason:
            summary["finish_reason"] = standard_finish(self._reason, _REASONS)
        return summary or None


def _counts(usage: Any) -> dict[str, int]:
    found: dict[str, int] = {}
    if isinstance(usage, dict):
        for own, names in _TOKENS.items():
            for name in names:
                if type(count := usage.get(name)) is int and 0 <= count < _LARGEST:
                    found[own] = count
    return found


def _uncounted(usage: Any) -> dict[str, Any]:
    return (leftover(usage, _COUNTED) or {}) if isinstance(usage, dict) else {}
