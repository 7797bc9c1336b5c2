"""Cuts blocks of server-sent events that begin with the same bytes, all at once."""

from __future__ import annotations

from streamweir.framing.event_names import name_of

__all__ = ["data_of_alike"]


def data_of_alike(blocks: bytes) -> tuple[str | None, list[bytes]] | None:
    """Return the common event name (or None) and the data of blocks with one line of data each.

    The blocks are split at the bytes between two lines of data. The number of line ends proves that the
    blocks have no other lines. None if a block has other lines, or if the event names differ.

    Args:
        blocks: at least two whole blocks, without the blank line after the last one.
    """
    names, second = b"", blocks.find(b"\n\n") + 2
    if not blocks.startswith(b"data:"):
        names = blocks[: blocks.find(b"\n") + 1]
        if not (blocks.startswith(names, second) and names.startswith(b"event: ")):
            return None
        if not blocks.startswith(b"data:", len(names)):
            return None
    start = len(names) + 5
    start += blocks.startswith(b" ", start)
    if not blocks.startswith(blocks[:start], second):
        return None
    between = b"\n\n" + blocks[:start]
    lines = blocks[start:].split(between)
    line_ends = (3 if names else 2) * len(lines) - 2
    if blocks.count(b"\n") != line_ends or (between.endswith(b":") and between + b" " in blocks):
        return None
    return name_of(names[7:-1]) if names else None, lines
