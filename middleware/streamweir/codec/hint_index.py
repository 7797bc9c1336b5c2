"""Finds the dialects that a message may belong to, by the hints that the dialects declare."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from streamweir.codec.dialect import Dialect
from streamweir.codec.head_messages import HeadMessage

__all__ = ["HintIndex"]

_NAMING: Final = ("type", "event", "kind")
"""The fields that name a message, in addition to the SSE event name."""


class HintIndex:
    """Finds the dialects that a message may be in, at a cost that does not grow with their number."""

    def __init__(self, dialects: Iterable[Dialect]) -> None:
        self._unhinted: list[Dialect] = []
        self._by_name: defaultdict[str, list[Dialect]] = defaultdict(list)
        self._by_key: defaultdict[str, list[Dialect]] = defaultdict(list)
        self._by_first_byte: defaultdict[bytes, list[tuple[bytes, Dialect]]] = defaultdict(list)
        """The beginnings of messages, each with its dialect, by their first byte."""
        for dialect in dialects:
            self._add(dialect)

    def _add(self, dialect: Dialect) -> None:
        hints = dialect.hints
        if hints is None or b"" in hints.starts:
            self._unhinted.append(dialect)
            return
        for name in hints.names:
            self._by_name[name].append(dialect)
        for key in hints.keys:
            self._by_key[key].append(dialect)
        for start in hints.starts:
            self._by_first_byte[start[:1]].append((start, dialect))

    def candidates(self, message: HeadMessage) -> Iterable[Dialect]:
        """Return the dialects that have to be asked about `message`, each dialect once."""
        found = [*self._unhinted]
        fields = message.fields
        for name in (message.event, *map(fields.get, _NAMING)):
            if isinstance(name, str) and name in self._by_name:
                found += self._by_name[name]
        for key in fields.keys() & self._by_key.keys():
            found += self._by_key[key]
        for start, dialect in self._by_first_byte.get(message.data[:1], ()):
            if message.data.startswith(start):
                found.append(dialect)
        return dict.fromkeys(found)
