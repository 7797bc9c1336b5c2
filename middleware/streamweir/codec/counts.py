"""The counts that a server reports about a run, kept for the summary at the end of the run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from streamweir.jsontext import write_json

__all__ = ["keep_counts"]

_MOST: Final = 100
_LARGEST: Final = 1024
_SMALL: Final = 1 << 53
"""Numbers below this one have few digits, so that their JSON need not be measured."""


def keep_counts(
    summary: dict[str, Any], counted: Mapping[str, Any], known: Collection[str]
) -> dict[str, Any]:
    """Note counts in `summary`; return the counts that cannot be kept until the end, because they are too
    many or too large.

    Args:
        summary: holds the counts; later counts replace earlier ones.
        counted: the counts by name; counts with `known` names are always kept.
        known: the names that a summary has in every dialect.
    """
    rest: dict[str, Any] = {}
    for name, value in counted.items():
        has_place = name in known or name in summary or len(summary) < _MOST
        is_small = type(value) is int and -_SMALL < value < _SMALL and len(name) < _LARGEST // 2
        fits = has_place and (is_small or len(name) + len(write_json(value)) <= _LARGEST)
        (summary if fits else rest)[name] = value
    return rest
