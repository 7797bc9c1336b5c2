"""Counts the tokens that a run has used, with all runs within it.

The end of a run also counts calls of models that no event reports, but not the calls of a team's members. The
events report the calls of members, but not all calls of the run itself.
"""

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
        """The usage as fields of a summary; None if no usage is known."""
        known = [name for name in _TOKENS.values() if name in self._run or name in self._calls]
        return {name: max(self._run.get(name, 0), self._calls.get(name, 0)) for name in known} or None

    def add_call(self, fields: Mapping[str, Any]) -> None:
        """Count a call of the model."""
        _add(self._calls, fields)

    def set(self, metrics: Any) -> None:
        """Note the counts of a run, which may be lists with one number for each call."""
        self._run = {}
        _add(self._run, metrics)

    def set_of_steps(self, metrics: Any) -> None:
        """Note the sum of the counts of a workflow's steps."""
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
