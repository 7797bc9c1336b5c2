"""Converts fields in snake_case to the camelCase names of a protocol.

Python servers write snake_case if they dump their models without aliases.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

__all__ = ["by_snake_case", "with_own_names"]


def by_snake_case(names: Iterable[str]) -> dict[str, str]:
    """Return the names of a protocol's fields, keyed by their form in snake_case."""
    return {re.sub("([A-Z])", r"_\1", name).lower(): name for name in names}


def with_own_names(
    fields: Mapping[str, Any], known: Mapping[str, str], inner: Callable[[str, Any], Any]
) -> dict[str, Any]:
    """Return an object whose fields have the protocol's own names.

    If a field is given under both names, the value under the protocol's own name is kept.

    Args:
        fields: the object.
        known: the protocol's names, as `by_snake_case` returns them.
        inner: converts the value of a field, given the protocol's name of the field and the value.
    """
    named: dict[str, Any] = {}
    for name, value in fields.items():
        own = known.get(name, name)
        if own == name or own not in fields:
            named[own] = inner(own, value)
    return named
