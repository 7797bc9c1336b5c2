"""The progress through a long input, on a terminal that shows nothing else."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import Final

from streamweir.options.sizes import format_size

__all__ = ["shown"]

_FIRST_SECONDS: Final = 1.0
"""Seconds without output that do not need an explanation."""
_SECONDS: Final = 0.2


def shown(arriving: Iterable[bytes], total: int | None) -> Iterator[bytes]:
    """Yield the arriving bytes, and write their number on standard error if it takes long.

    Only where standard error is a terminal and standard output is not, or is not written to: the line would
    be in the middle of the stream.

    Args:
        arriving: the input.
        total: its bytes, if that is known.
    """
    read, due, is_shown = 0, time.monotonic() + _FIRST_SECONDS, False
    try:
        for piece in arriving:
            read += len(piece)
            if time.monotonic() >= due:
                due, is_shown = time.monotonic() + _SECONDS, True
                sys.stderr.write(f"\r\x1b[Kstreamweir: {_share(read, total)} read")
                sys.stderr.flush()
            yield piece
    finally:
        if is_shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _share(read: int, total: int | None) -> str:
    whole = format_size(read >> 20 << 20) if read >= 1 << 20 else format_size(read)
    return whole if not total else f"{whole} ({100 * read // total} %)"
