"""Ids of a stream: their length is bounded, and so is the memory in which they are remembered.

Source: the standard protocol 1.1, section 3 rule 11.
"""

from __future__ import annotations

import re
import sys
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any, Final, Generic, TypeVar

from streamweir.digests import new_blake2b

__all__ = [
    "MAX_ID_CHARACTERS",
    "RecentIds",
    "SeenIds",
    "is_made_call_id",
    "made_call_id",
    "room_for",
    "room_for_all",
    "room_for_json",
    "short_id",
    "short_index",
    "short_value",
]

MAX_ID_CHARACTERS: Final = 1024
"""The most characters of an id, a name or a channel; longer ones are shortened."""

V = TypeVar("V")

_NONE: Final[OrderedDict[str, Any]] = OrderedDict()
"""The value of `RecentIds` before the first id: shared by all streams, never changed."""

_MADE: Final = re.compile("call_[0-9a-f]{24}")

_EMPTY: Final = sys.getsizeof("")
"""Bytes of a text in ASCII in addition to its characters."""

_WIDEST: Final = 4
"""The most bytes that a character takes."""

_ENTRY: Final = 160
"""Bytes that an id takes in addition to its characters: the objects around it and its place in a table."""


def short_id(text: str) -> str:
    """Return `text`, or a digest if it is too long; equal texts have equal digests, in every process."""
    if len(text) <= MAX_ID_CHARACTERS:
        return text
    digest = new_blake2b(text.encode("utf-8", "surrogatepass"), digest_size=32)
    return f"blake2b:{digest.hexdigest()}"


def short_value(value: object) -> object:
    """Return a value that is given as an id: a text as `short_id` returns it, any other value unchanged."""
    return short_id(value) if isinstance(value, str) else value


def short_index(index: object) -> str | int | float | None:
    """Return a key for `index`, different for different indexes: numbers unchanged, other values as an id."""
    if index is None or isinstance(index, int | float):
        return index
    return short_id(index if isinstance(index, str) else repr(index))


def made_call_id(request_id: str, count: int | str) -> str:
    """Return an id for a call without one: `call_` and 24 hex digits.

    The digits depend on both arguments, so that calls of two conversations have different ids.

    Args:
        request_id: the id of the stream.
        count: the number of the call among the calls without ids in the stream; a text if a stream has
            several such counts.
    """
    digest = new_blake2b(f"{request_id} {count}".encode("utf-8", "surrogatepass"), digest_size=12)
    return f"call_{digest.hexdigest()}"


def is_made_call_id(text: str) -> bool:
    """Return whether `text` has the form of `made_call_id`, so that the upstream does not know it."""
    return _MADE.fullmatch(text) is not None


def room_for(*texts: str | None) -> int:
    """Return how many bytes of memory these texts take."""
    return sum(map(sys.getsizeof, texts))


def room_for_all(texts: Sequence[str]) -> int:
    """Return `room_for(*texts)`, fast for many short texts."""
    joined = "".join(texts)
    return _EMPTY * len(texts) + len(joined) if joined.isascii() else room_for(*texts)


def room_for_json(written: bytes, texts: int) -> int:
    """Return roughly the most bytes of memory that texts take once they are read.

    Args:
        written: the JSON of the texts.
        texts: how many there are.
    """
    widest = 1 if written.isascii() and b"\\" not in written else _WIDEST
    return _EMPTY * texts + widest * len(written)


class RecentIds(Generic[V]):
    """Ids with a value each; the oldest ids are dropped when all ids together exceed the bound.

    Attributes:
        has_dropped: whether an id has been dropped, so that an unknown id need not be a new one.

    Args:
        room: roughly how many bytes all ids together may take.
    """

    __slots__ = ("_known", "_left", "has_dropped")

    def __init__(self, room: int) -> None:
        self._known: OrderedDict[str, V] = _NONE  # most streams have nothing to remember
        self._left = room
        self.has_dropped = False

    def __contains__(self, name: str) -> bool:
        return name in self._known

    def __bool__(self) -> bool:
        return bool(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def get(self, name: str) -> V | None:
        """Return the value of `name`; None if the id is unknown or was dropped."""
        return self._known.get(name)

    def add(self, name: str, value: V) -> None:
        """Remember `name` as the latest id."""
        known = self._known
        if name in known:
            if known[name] is value:
                known.move_to_end(name)
                return
            self.discard(name)
        elif known is _NONE:
            self._known = known = OrderedDict()
        known[name] = value
        self._left -= _ENTRY + sys.getsizeof(name) if value is None else _size_of(name, value)
        while self._left < 0 and len(known) > 1:
            self.has_dropped = True
            self.discard(next(iter(known)))

    def discard(self, name: str) -> None:
        """Forget the id `name`."""
        if name in self._known:
            self._left += _size_of(name, self._known.pop(name))

    def clear(self) -> None:
        """Forget all ids."""
        for name in [*self._known]:
            self.discard(name)


class SeenIds:
    """Ids that have been seen. About half of them, the oldest, are forgotten when there is no room for more.

    Args:
        room: roughly how many bytes all ids together may take.
    """

    __slots__ = ("_left", "_new", "_old", "_room")

    def __init__(self, room: int) -> None:
        self._room = self._left = room // 2
        self._new: set[str] = set()
        self._old: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self._new or name in self._old

    def add(self, name: str) -> None:
        """Remember `name`."""
        if name in self._new:
            return
        self._left -= _ENTRY + room_for(name)
        if self._left < 0:
            self._old, self._new = self._new, set()
            self._left = self._room - _ENTRY - room_for(name)
        self._new.add(name)

    def add_all(self, names: Sequence[str]) -> bool:
        """Remember `names`, as `add` would; return False, and do nothing, if one is known or occurs twice."""
        new, old = self._new, self._old
        if not new.isdisjoint(names) or (old and not old.isdisjoint(names)):
            return False
        before = len(new)
        new.update(names)
        is_new = len(new) == before + len(names)
        left = self._left - _ENTRY * len(names) - room_for_all(names)
        if is_new and left >= 0:
            self._left = left
            return True
        new.difference_update(names)
        for name in names if is_new else ():
            self.add(name)
        return is_new


def _size_of(name: str, value: object) -> int:
    size = _ENTRY + sys.getsizeof(name)
    return size + sys.getsizeof(value) if isinstance(value, str) else size
