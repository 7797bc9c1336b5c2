"""Reads the chosen values of a dialect's options."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

__all__ = ["NO_OPTIONS", "Options", "chosen_value", "option_text"]

Options = Mapping[str, Any]

NO_OPTIONS: Options = MappingProxyType({})


def chosen_value(options: Options, name: str, allowed: tuple[str, ...]) -> str:
    """Return the value of an option; the default if it is only allowed in the dialect's other direction."""
    value = options.get(name)
    return option_text(value) if value is not None and option_text(value) in allowed else allowed[0]


def option_text(value: Any) -> str:
    """Return the name of an option's value: `true` and `false` for booleans."""
    return str(value).lower() if isinstance(value, bool) else str(value)
