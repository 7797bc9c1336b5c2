"""Reads the text of a file, or reports why it cannot be read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from streamweir.yaml_files.report import Position, Report

__all__ = ["read_text"]

STDIN: Final = "-"
MAX_BYTES: Final = 16 << 20
"""The most bytes of a file; larger ones, and devices that never end, are refused."""


def read_text(path: Path, report: Report) -> str:
    """Return the text of the file at `path`; if it cannot be read, report it and return an empty text.

    `-` is standard input.
    """
    try:
        content = _beginning(path)
    except (OSError, ValueError) as error:
        # A ValueError comes of a path that no file can have.
        reason = error.strerror if isinstance(error, OSError) else None
        report.at(None, f"cannot be read: {reason or 'not a path'}")
        return ""
    if len(content) > MAX_BYTES:
        report.at(None, f"is larger than {MAX_BYTES >> 20} MiB")
        return ""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        line_start = before.rfind(b"\n") + 1
        column = len(before[line_start:].decode("utf-8", "replace")) + 1
        report.at(Position(before.count(b"\n") + 1, column), "not UTF-8 text; save the file as UTF-8")
        return ""


def _beginning(path: Path) -> bytes:
    """Return all bytes of the file, or one byte more than a file may have."""
    if str(path) == STDIN:
        return os.fdopen(0, "rb", closefd=False).read(MAX_BYTES + 1)  # sys.stdin is None where it is closed
    with path.open("rb") as file:
        return file.read(MAX_BYTES + 1)
