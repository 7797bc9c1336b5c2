"""YAML in tests, read as the gateway reads it."""

from typing import Any

from streamweir.yaml_files.report import Report
from streamweir.yaml_files.tree import read_tree


def read(text: str) -> dict[str, Any]:
    report = Report("test.yaml")
    tree = read_tree(text, report)
    report.stop_if_any()
    assert tree is not None
    return tree
