"""Remarks on valid values that are probably mistakes. `check` prints them, and `serve` logs them.

Source: the configuration contract (rules).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamweir.codec.dialects import Dialects
from streamweir.yaml_files.report import KeyPath, Report
from streamweir_gateway.config.models import GatewayConfig

__all__ = ["remark_on_answers", "remark_on_variables"]

_VARIABLE: Final = re.compile(
    r"(?P<shell>\$(?P<name>[A-Z_][A-Z0-9_]+)(?![A-Za-z0-9_]))|(?P<braces>\{\{\s*\$?(?P<inner>[A-Za-z_][A-Za-z0-9_.]*)\s*\}\})"
)
"""Matches the variables to remark on. A `$` before other characters may be part of a password."""

_PLACES: Final = frozenset({"headers", "url", "upstream", "auth"})
"""The keys whose values are credentials or addresses."""


def remark_on_variables(tree: Mapping[str, Any], report: Report) -> None:
    """Remark on `$NAME` and `{{ NAME }}`, which the gateway does not fill in.

    Args:
        tree: the tree of the file, with references not filled in.
        report: takes the remarks.
    """
    for path, text in _texts(tree, ()):
        if _PLACES.isdisjoint(path) or path[0] == "dialects" or "request" in path:
            continue
        for match in _VARIABLE.finditer(text):
            written = match["shell"] or match["braces"]
            name = (match["name"] or match["inner"]).rpartition(".")[2]
            report.remark_at_value(path, f"{written} goes out as it is; a variable is ${{{name}}}")


def remark_on_answers(config: GatewayConfig, dialects: Dialects, report: Report) -> None:
    """Remark on models at the path of a chat protocol whose clients would be answered in another protocol."""
    for endpoint in config.endpoints:
        protocol = dialects.called_at(endpoint.template)
        if endpoint.models and protocol is not None and "answers" not in endpoint.model_fields_set:
            report.remark_at_key(
                ("endpoints", endpoint.template, "models"),
                f"clients of this path read {protocol.name}, but get {endpoint.answers[0]}; "
                f"probably meant: answers: [{protocol.name}]",
            )


def _texts(value: Any, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _texts(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _texts(inner, (*path, index))
