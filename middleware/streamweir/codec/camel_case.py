"""Fields in snake_case of protocols in camelCase.

Python servers write them if they dump their models without aliases.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

__all__ = ["by_snake_case", "with_own_names"]


def by_snake_case(names: Iterable[str]) -> dict[str, str]:
    """Return the names of a protocol's fields, by their form in snake_case."""
    return {re.sub("([A-Z])", r"_\1", name).lower(): name for name in names}


def with_own_names(
    fields: Mapping[str, Any], known: Mapping[str, str], inner: Callable[[str, Any], Any]
) -> dict[str, Any]:
    """Return an object whose fields have the protocol's own names.

    A field that has both names keeps the value of the protocol's own.

    Args:
        fields: the object.
        known: see `by_snake_case`.
        inner: returns the value of a field, by the field's own name and its value before.
    """
    named: dict[str, Any] = {}
    for name, value in fields.items():
        own = known.get(name, name)
        if own == name or own not in fields:
            named[own] = inner(own, value)
    return named
