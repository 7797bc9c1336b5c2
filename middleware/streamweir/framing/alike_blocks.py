"""Cuts blocks of server-sent events that begin with the same bytes, all at once."""

from __future__ import annotations

from streamweir.framing.event_names import name_of

__all__ = ["data_of_alike"]


def data_of_alike(blocks: bytes) -> tuple[str | None, list[bytes]] | None:
    """Return the common event name (or None) and the data of blocks with one line of data each.

    The blocks are split at the bytes between two lines of data. None if a block has other lines, or if the
    event names differ.

    Args:
        blocks: at least two whole blocks, without the blank line after the last one.
    """
    names, second = b"", blocks.find(b"\n\n") + 2
    if blocks[:5] != b"data:":
        names = blocks[: blocks.find(b"\n") + 1]
        if names[:7] != b"event: " or blocks[len(names) : len(names) + 5] != b"data:":
            return None
    start = len(names) + 5
    has_space = blocks[start : start + 1] == b" "
    start += has_space
    first = blocks[:start]
    if blocks[second : second + start] != first:
        return None
    between = b"\n\n" + first
    lines = blocks[start:].split(between)
    if b"".join(lines).find(b"\n") >= 0 or (not has_space and between + b" " in blocks):
        return None
    return name_of(names[7:-1]) if names else None, lines
