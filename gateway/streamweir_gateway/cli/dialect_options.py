"""Reads the option `--option DIALECT.KEY=VALUE` of the commands."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from streamweir_gateway.cli.command import UsageError

__all__ = ["dialect_options"]


def dialect_options(texts: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the options of dialects on a command line, by dialect.

    Raises:
        UsageError: a text has another form.
    """
    options: dict[str, dict[str, Any]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        dialect, dot, key = name.rpartition(".")
        if not (equals and dot and dialect and key):
            raise UsageError(f"--option {text}: must be DIALECT.KEY=VALUE, such as ragflow.form=agent")
        options.setdefault(dialect, {})[key] = value
    return options
