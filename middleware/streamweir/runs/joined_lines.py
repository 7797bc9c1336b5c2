"""The stored events of a read without an object for each of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

__all__ = ["JoinedLines"]


class JoinedLines(Sequence[bytes]):
    """Lines that stay joined until one of them is asked for.

    Args:
        block: the lines, joined by `\\n`; a line among several holds no other `\\n`.
        total: the number of lines, at least 1.

    Attributes:
        block: the argument.
        total: the argument.
    """

    __slots__ = ("block", "total")

    def __init__(self, block: bytes, total: int) -> None:
        self.block, self.total = block, total

    def __len__(self) -> int:
        return self.total

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._lines())

    @overload
    def __getitem__(self, index: int) -> bytes: ...

    @overload
    def __getitem__(self, index: slice) -> list[bytes]: ...

    def __getitem__(self, index: int | slice) -> bytes | list[bytes]:
        return self._lines()[index]

    def _lines(self) -> list[bytes]:
        return [self.block] if self.total == 1 else self.block.split(b"\n")
