"""The files of the home-made dialects that a configuration names.

Source: the dialect-file contract, section 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from streamweir.yaml_files.reading import read_text
from streamweir.yaml_files.report import Report
from streamweir.yaml_files.tree import read_tree

__all__ = ["FILE", "KEY", "dialect_files_in", "files_of"]

KEY: Final = "dialects"
"""The key of the home-made dialects in a configuration."""

FILE: Final = "file"
"""The key of a dialect in a file of its own."""


def files_of(path: Path) -> list[Path]:
    """Return the file at `path` and the files of its dialects, even if other parts of the file are faulty."""
    report = Report("")
    tree = read_tree(read_text(path, report), report) or {}
    return [path, *dialect_files_in(tree, path.parent)]


def dialect_files_in(tree: Mapping[str, Any], folder: Path) -> list[Path]:
    """Return the files of a configuration's dialects, in its order; the configuration is in `folder`."""
    named = tree.get(KEY)
    trees = named.values() if isinstance(named, Mapping) else ()
    files = [tree.get(FILE) for tree in trees if isinstance(tree, Mapping)]
    return [folder / file for file in files if isinstance(file, str)]
