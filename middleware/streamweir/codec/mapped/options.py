"""Compiles the options of a dialect, and adds the options of its base.

Source: the dialect-file contract, section 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from streamweir.codec.mapped.section import Section
from streamweir.codec.option_values import option_text

__all__ = ["DialectOptions", "compile_options"]


class DialectOptions(NamedTuple):
    """The options of a dialect.

    Attributes:
        values: for each option, the values that expressions see, by the names under which they are chosen.
    """

    values: Mapping[str, Mapping[str, Any]] = {}

    def texts(self, base: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        """Return the allowed values of each option; for options of the base alone, the values of the base."""
        return {**base, **{name: tuple(values) for name, values in self.values.items()}}

    def seen(self, base: Mapping[str, tuple[str, ...]]) -> dict[str, Mapping[str, Any]]:
        """Return the values that expressions see for each option; values of the base's are texts."""
        inherited = {name: {value: value for value in values} for name, values in base.items()}
        return {**inherited, **self.values}


def compile_options(section: Section) -> DialectOptions:
    """Return the options under `options` that have no problem."""
    if section.values.get("options") is None:
        return DialectOptions()
    inner = Section.of(section.values["options"], section.at("options"), section.report)
    if inner is None:
        return DialectOptions()
    found = {name: _values(inner, name) for name in inner.values}
    return DialectOptions({name: values for name, values in found.items() if values})


def _values(section: Section, name: str) -> dict[str, Any]:
    values = section.values[name]
    if not isinstance(values, list) or not values:
        section.wrong(name, "must be a list of values, the default first", values)
        return {}
    if not all(isinstance(value, str | int | float) for value in values):
        section.wrong(name, "must hold texts, numbers, true or false")
        return {}
    return {option_text(value): value for value in values}
