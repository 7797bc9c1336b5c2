"""`check --print-effective`: prints every value in force, and the place where it was written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from streamweir_gateway.config.effective import EffectiveValue, effective_values

__all__ = ["effective_facts", "effective_lines"]


def effective_lines(file: str) -> Iterator[str]:
    """Yield a line for each value: `PATH: VALUE  # where it was written`."""
    for value in effective_values(Path(file)):
        yield f"{value.path}: {json.dumps(value.value, ensure_ascii=False)}  # {_origin(file, value)}"


def effective_facts(file: str) -> list[dict[str, Any]]:
    """Return the settings and their origins as values for JSON. A default has neither line nor column."""
    return [
        {
            "path": value.path,
            "value": value.value,
            "from": value.origin or "default",
            "line": value.position.line if value.position else None,
            "column": value.position.column if value.position else None,
        }
        for value in effective_values(Path(file))
    ]


def _origin(file: str, value: EffectiveValue) -> str:
    if value.position is None:
        return value.origin or "default"
    place = f"{file}:{value.position.line}:{value.position.column}"
    return place if value.origin == value.path else f"{place} {value.origin}"
