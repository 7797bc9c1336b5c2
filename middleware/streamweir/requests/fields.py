"""Reads an object of a client's body field by field; an error names the field with a wrong type and never
shows its value.

A null counts as absent. Source: the request contract, section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

from streamweir.requests.errors import RequestError

__all__ = ["MAX_ITEMS", "FieldReaders", "Fields"]

MAX_ITEMS: Final = 10_000
"""The most messages, or parts, of one request."""


_MOST_SHAPES: Final = 200
"""The number of sets of present fields whose readers are cached."""


class Fields(msgspec.Struct, eq=False):
    """One object of a body.

    Attributes:
        value: the object.
        place: its path, as `messages[2]`; empty for the body itself.
    """

    value: Mapping[str, Any]
    place: str = ""
    _read: set[str] = set()

    def __contains__(self, name: str) -> bool:
        """Return whether the field has a value other than null."""
        return self.value.get(name) is not None

    def path(self, name: str) -> str:
        """Return the path of a field, as `messages[2].role`."""
        return f"{self.place}.{name}" if self.place else name

    def error(self, name: str, expected: str) -> RequestError:
        """Return the error for a field, which says that the field must be `expected`."""
        return RequestError(f"must be {expected}", field=self.path(name) if name else self.place)

    def get(self, name: str) -> Any:
        """Return the value of a field, of any type; None if it is absent."""
        self._read.add(name)
        return self.value.get(name)

    def present(self, readers: FieldReaders) -> dict[str, Any]:
        """Return the fields that are present, in the order of `readers`."""
        names = readers.names.intersection(self.value)  # most fields of a request are absent
        if not names:
            return {}
        return {name: read(self, name) for name, read in readers.of(names)}

    def rest(self) -> dict[str, Any]:
        """Return the fields that have not been read, without nulls."""
        if self._read.issuperset(self.value):  # nearly always
            return {}
        return {
            key: value for key, value in self.value.items() if key not in self._read and value is not None
        }

    def leave(self, *names: str) -> None:
        """Note that fields are left unread on purpose, so that `rest` does not return them."""
        self._read.update(names)

    def text(self, name: str) -> str | None:
        """Return the value of a field that holds a text; None if absent."""
        self._read.add(name)  # not by `get`: most fields of a request are absent
        value = self.value.get(name)
        if value is None or isinstance(value, str):
            return value
        raise self.error(name, "a text")

    def required_text(self, name: str) -> str:
        """Return the value of a field that must be present and hold a text."""
        value = self.text(name)
        if value is None:
            raise self.error(name, "a text")
        return value

    def word(self, name: str, words: Collection[str]) -> str | None:
        """Return the value of a field that holds one of `words`; None if absent."""
        self._read.add(name)
        value = self.value.get(name)
        if value is None or (isinstance(value, str) and value in words):
            return value
        raise self.error(name, one_of(words))

    def boolean(self, name: str) -> bool | None:
        """Return the value of a field that holds true or false; None if absent."""
        self._read.add(name)
        value = self.value.get(name)
        if value is None or isinstance(value, bool):
            return value
        raise self.error(name, "true or false")

    def number(self, name: str) -> int | float | None:
        """Return the value of a field that holds a number; None if absent."""
        self._read.add(name)
        value = self.value.get(name)
        if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
            return value
        raise self.error(name, "a number")

    def mapping(self, name: str) -> dict[str, Any] | None:
        """Return the value of a field that holds an object, unchanged; None if absent."""
        self._read.add(name)
        value = self.value.get(name)
        if value is None or isinstance(value, dict):
            return value
        raise self.error(name, "an object")

    def within(self, name: str) -> Fields:
        """Return `Fields` for a field that holds an object; an empty one if the field is absent."""
        return Fields(self.mapping(name) or {}, self.path(name))

    def sequence(self, name: str) -> list[Any]:
        """Return the value of a field that holds a list; an empty list if the field is absent.

        Raises:
            RequestError: the value is not a list, or is longer than `MAX_ITEMS`.
        """
        self._read.add(name)
        value = self.value.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.error(name, "a list")
        if len(value) > MAX_ITEMS:
            raise self.error(name, f"a list of at most {MAX_ITEMS} items")
        return value

    def texts(self, name: str) -> list[str]:
        """Return the value of a field that holds a list of texts; a single text counts as a list of one."""
        if isinstance(value := self.get(name), str):
            return [value]
        for index, item in enumerate(value := self.sequence(name)):
            if not isinstance(item, str):
                raise self.error(f"{name}[{index}]", "a text")
        return value

    def objects(self, name: str) -> Iterator[Fields]:
        """Yield `Fields` for each object in a field that holds a list."""
        for index, item in enumerate(self.sequence(name)):
            yield self.item(name, index, item)

    def item(self, name: str, index: int, value: object) -> Fields:
        """Return `Fields` for an item of a field that holds a list; the item must be an object."""
        if not isinstance(value, dict):
            raise self.error(f"{name}[{index}]", "an object")
        return Fields(value, self.path(f"{name}[{index}]"))


class FieldReaders:
    """Reads fields of an object in a fixed order.

    Attributes:
        names: the names of the fields.
        of: returns those of some names in their order, each with the function that reads it.

    Args:
        readers: for the name of each field, the function that reads it.
    """

    def __init__(self, readers: Mapping[str, Callable[[Fields, str], Any]]) -> None:
        self.names = frozenset(readers)
        self._readers = readers
        self.of = lru_cache(maxsize=_MOST_SHAPES)(self._of)

    def _of(self, names: frozenset[str]) -> list[tuple[str, Callable[[Fields, str], Any]]]:
        return [(name, read) for name, read in self._readers.items() if name in names]


def one_of(words: Collection[str]) -> str:
    """Return the words in the form of a message: `a, b or c`."""
    *before, last = words
    return f"{', '.join(before)} or {last}" if before else last
