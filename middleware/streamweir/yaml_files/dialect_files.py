"""A home-made dialect in a separate file: the keys that it would have under `dialects:`, without its name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from streamweir.yaml_files.reading import read_text
from streamweir.yaml_files.report import Report
from streamweir.yaml_files.tree import read_tree

__all__ = ["read_dialect"]


def read_dialect(path: str | os.PathLike[str], *, name: str | None = None) -> tuple[Any, Report]:
    """Return the mapping in the file at `path`, and the report with its positions.

    Args:
        path: the path of the file.
        name: the name of the file in messages; the path if not given.

    Returns:
        The mapping, or None if it cannot be read; the report then tells why.
    """
    report = Report(os.fspath(path) if name is None else name)
    text = read_text(Path(path), report)
    return (None if report.problems else read_tree(text, report)), report
