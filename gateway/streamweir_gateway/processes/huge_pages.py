"""Moves the heap of a serving process to huge pages."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

__all__ = ["MOVE_SECONDS", "begin_to_move", "move_heap"]

MOVE_SECONDS: Final = 0.5
"""The seconds from the moment in which a process is ready until its heap is moved."""

_SYSTEM: Final = Path("/sys/kernel/mm/transparent_hugepage")
_COLLAPSE: Final = 25
"""MADV_COLLAPSE of Linux 6.1."""


def begin_to_move() -> None:
    """Move the heap in a thread, because it takes some hundredths of a second."""
    threading.Thread(target=move_heap, name="huge pages", daemon=True).start()


def move_heap() -> int:
    """Move the heap of this process to huge pages; return the bytes that are on huge pages.

    A request touches thousands of pages of 4 KiB, more than a processor remembers the addresses of. Nearly
    all of them belong to modules and to the configuration, so that moving them once is enough.

    Returns 0 where the system does not have this or its administrator has turned huge pages off.

    Source: Linux, madvise(2) and proc_pid_maps(5); its guide to transparent huge pages.
    """
    try:
        is_off = "[never]" in (_SYSTEM / "enabled").read_text()
        size = int((_SYSTEM / "hpage_pmd_size").read_text())
        maps = Path("/proc/self/maps").read_text()
    except OSError:
        return 0
    if is_off:
        return 0
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    moved = 0
    for first, last in _heap(maps):
        begin, end = -(-first // size) * size, last // size * size
        if begin < end and madvise(begin, end - begin, _COLLAPSE) == 0:
            moved += end - begin
    return moved


def _heap(maps: str) -> Iterator[tuple[int, int]]:
    """Yield the address ranges of memory that only this process writes and that no file is behind."""
    for line in maps.splitlines():
        addresses, rights, _, _, inode, *name = line.split()
        if rights.startswith("rw-p") and inode == "0" and name in ([], ["[heap]"]):
            first, _, last = addresses.partition("-")
            yield int(first, 16), int(last, 16)
