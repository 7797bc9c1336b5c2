"""Reads an object of a client's body field by field; an error names the field with a wrong type and never
shows its value.

A null counts as absent. Source: the request contract, section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final

from streamweir.requests.errors import RequestError

__all__ = ["MAX_ITEMS", "Fields"]

MAX_ITEMS: Final = 10_000
"""The most messages, or parts, of one request."""


class Fields:
    """One object of a body.

    Attributes:
        value: the object.
        place: its path, as `messages[2]`; empty for the body itself.

    Args:
        value: the object.
        place: its path.
    """

    __slots__ = ("_read", "place", "value")

    def __init__(self, value: Mapping[str, Any], place: str = "") -> None:
        self.value = value
        self.place = place
        self._read: set[str] = set()

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

    def present(self, readers: Mapping[str, Callable[[Fields, str], Any]]) -> dict[str, Any]:
        """Return the fields that are present, in the order of `readers`.

        Args:
            readers: for the name of each field, the function that reads it.
        """
        given = self.value  # most fields of a request are absent, so these cost no call
        if readers.keys().isdisjoint(given):
            return {}
        return {name: read(self, name) for name, read in readers.items() if name in given}

    def rest(self) -> dict[str, Any]:
        """Return the fields that have not been read, without nulls."""
        if self.value.keys() <= self._read:  # nearly always
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
            if not isinstance(item, dict):
                raise self.error(f"{name}[{index}]", "an object")
            yield Fields(item, self.path(f"{name}[{index}]"))


def one_of(words: Collection[str]) -> str:
    """Return the words in the form of a message: `a, b or c`."""
    *before, last = words
    return f"{', '.join(before)} or {last}" if before else last
