"""YAML in tests, read as the gateway reads it."""

from typing import Any

from streamweir_gateway.config.diagnostics import Report
from streamweir_gateway.config.tree import read_tree


def read(text: str) -> dict[str, Any]:
    report = Report("test.yaml")
    tree = read_tree(text, report)
    report.stop_if_any()
    assert tree is not None
    return tree
