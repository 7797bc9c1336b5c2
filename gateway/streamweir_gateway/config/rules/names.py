"""Rules for names: they have to be known, and no list repeats a name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from streamweir.yaml_files.report import KeyPath, Report
from streamweir.yaml_files.unresolved import Unresolved
from streamweir_gateway.config.diagnostics import quoted, suggestion
from streamweir_gateway.config.values.urls import is_url

__all__ = ["check_name", "check_repetition"]


def check_name(name: str, path: KeyPath, known: Collection[str], what: str, report: Report) -> None:
    """Report a name that is not known; `what` describes the kind of name."""
    if not isinstance(name, Unresolved) and name not in known:
        report.at_value(path, f"unknown {what}", f" {quoted(name)}{suggestion(name, known)}")


def check_repetition(
    names: Sequence[Any], path: KeyPath, report: Report, fold: Callable[[Any], str] = str
) -> None:
    """Report values that a list repeats. Names for which `fold` returns equal values count as equal."""
    seen: set[str] = set()
    for index, name in enumerate(names):
        if fold(name) in seen and not isinstance(name, Unresolved):
            # A URL may hold credentials.
            shown = "" if is_url(str(name)) else f": {name}"
            report.at_value((*path, index), "is listed twice", shown)
        seen.add(fold(name))
