"""Shows the progress through a long input, on a terminal that shows no other output."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import Final

from streamweir.options.sizes import format_size

__all__ = ["shown"]

_FIRST_SECONDS: Final = 1.0
"""The seconds without output after which the progress is shown."""
_SECONDS: Final = 0.2


def shown(arriving: Iterable[bytes], total: int | None) -> Iterator[bytes]:
    """Yield the arriving bytes, and write their number on standard error if the input takes long.

    The number is shown only if standard error is a terminal and standard output is not, or gets no output;
    otherwise the line would appear in the middle of the stream.

    Args:
        arriving: the input.
        total: the size of the input in bytes, if known.
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
