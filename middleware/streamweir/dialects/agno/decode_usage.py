"""Reads how many tokens a run has used: what its end says counts, else the sum of the model's calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["Usage"]

_TOKENS: Final = {
    "input_tokens": "prompt_tokens",
    "output_tokens": "completion_tokens",
    "total_tokens": "total_tokens",
}
_LARGEST: Final = 1 << 53


class Usage:
    """The tokens of one stream."""

    def __init__(self) -> None:
        self._calls: dict[str, int] = {}
        self._run: dict[str, int] = {}

    @property
    def summary(self) -> dict[str, Any] | None:
        """As the summary of the end of a session says it; None where nothing is known."""
        return self._run or self._calls or None

    def add_call(self, fields: Mapping[str, Any]) -> None:
        """Count a call of the model."""
        _add(self._calls, fields)

    def set(self, metrics: Any) -> None:
        """Take the numbers of a run, which may be lists with one for each call."""
        self._run = {}
        _add(self._run, metrics)

    def set_of_steps(self, metrics: Any) -> None:
        """Take the sum of the numbers of a workflow's steps."""
        self._run = {}
        steps = metrics.get("steps") if isinstance(metrics, dict) else None
        for step in steps.values() if isinstance(steps, dict) else ():
            _add(self._run, step.get("metrics") if isinstance(step, dict) else None)


def _add(sums: dict[str, int], metrics: Any) -> None:
    for name, known in _TOKENS.items() if isinstance(metrics, dict) else ():
        given = metrics.get(name)
        counts = [count for count in (given if isinstance(given, list) else [given]) if _is_count(count)]
        if counts:
            sums[known] = min(sums.get(known, 0) + sum(counts), _LARGEST)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < _LARGEST
