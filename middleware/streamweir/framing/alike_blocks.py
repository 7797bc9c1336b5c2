"""Cuts blocks of server-sent events that begin with the same bytes, all at once."""

from __future__ import annotations

from typing import Final

from streamweir.framing.event_names import name_of

__all__ = ["data_of_alike"]

_USUAL: Final = b"data: "


def data_of_alike(blocks: bytes) -> tuple[str | None, list[bytes]] | None:
    """Return the common event name (or None) and the data of blocks with one line of data each.

    The blocks are split at the bytes between two lines of data. None if a block has other lines, or if the
    event names differ.

    Args:
        blocks: at least two whole blocks, without the blank line after the last one.
    """
    first = _USUAL if blocks[:6] == _USUAL else _common_beginning(blocks)
    if not first:
        return None
    lines = blocks[len(first) :].split(b"\n\n" + first)
    if b"".join(lines).find(b"\n") >= 0:
        return None
    named = first.find(b"\n")
    return None if named < 0 else name_of(first[7:named]), lines


def _common_beginning(blocks: bytes) -> bytes:
    """Return the bytes before the data of a block; empty if they certainly differ, or hold other lines."""
    names = b""
    if blocks[:5] != b"data:":
        names = blocks[: blocks.find(b"\n") + 1]
        if names[:7] != b"event: " or blocks[len(names) : len(names) + 5] != b"data:":
            return b""
    start = len(names) + 5
    has_space = blocks[start : start + 1] == b" "
    start += has_space
    first, second = blocks[:start], blocks.find(b"\n\n") + 2
    is_common = blocks[second : second + start] == first
    is_certain = has_space or blocks.find(b"\n\n" + first + b" ") < 0
    return first if is_common and is_certain else b""
