"""The `reasoning_details` of one message, merged from the pieces of a stream.

An entry of a piece extends an earlier entry if both have the same type and index (without indices: if both
are texts in a row), their ids do not differ, and the earlier one is not complete: a signature or data
completes it. Texts are appended, other fields are set unless they are empty.

Source: OpenRouter's page on reasoning tokens (`reasoning_details`, streamed); @openrouter/ai-sdk-provider 2.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Final

from streamweir.ids import short_index
from streamweir.jsontext import parse_json, write_json

__all__ = ["MergedDetails", "merged_details"]

_TEXTS: Final = ("text", "summary")
_COMPLETES: Final = ("signature", "data")
_ENTRY: Final = 512
"""Bytes that an entry takes in addition to its texts."""


class _Json(bytes):
    """The JSON of an object or a list that is not empty; the value may take 30 times as much memory."""


class MergedDetails:
    """The merged entries of one message.

    Attributes:
        size: roughly how many bytes the entries take.
    """

    def __init__(self) -> None:
        self.size = 0
        self._entries: list[_Entry] = []

    def __bool__(self) -> bool:
        return bool(self._entries)

    def add(self, details: Any, *, is_cumulative: bool = False) -> None:
        """Add a piece: one entry or a list. With `is_cumulative`, it repeats all text before it."""
        for item in details if isinstance(details, list) else [details]:
            if isinstance(item, dict):
                self._add(item, is_cumulative)

    def entries(self) -> list[dict[str, Any]]:
        """Return the entries in order."""
        return [entry.whole() for entry in self._entries]

    def take(self) -> list[dict[str, Any]]:
        """Return the entries in order, and forget them."""
        entries = self.entries()
        self._entries, self.size = [], 0
        return entries

    def _add(self, item: Mapping[str, Any], is_cumulative: bool) -> None:
        entry = self._extended_by(item)
        if entry is None:
            entry = _Entry(item.get("type"), short_index(item.get("index")))
            self._entries.append(entry)
            self.size += _ENTRY
        self.size += entry.add(item, is_cumulative)

    def _extended_by(self, item: Mapping[str, Any]) -> _Entry | None:
        kind, index = item.get("type"), short_index(item.get("index"))
        if index is None:
            last = self._entries[-1] if self._entries else None
            is_next = last is not None and last.kind == kind and last.index is None and bool(last.texts)
            return last if last is not None and is_next and last.can_take(item) else None
        for entry in reversed(self._entries):
            if entry.kind == kind and entry.index == index:
                return entry if entry.can_take(item) else None
        return None


class _Entry:
    """One entry while its pieces arrive."""

    __slots__ = ("_fields", "index", "kind", "texts")

    def __init__(self, kind: Any, index: Any) -> None:
        self.kind = kind
        self.index = index
        self.texts: dict[str, list[str]] = {}
        self._fields: dict[str, Any] = {}

    def can_take(self, item: Mapping[str, Any]) -> bool:
        known, given = self._fields.get("id"), _kept(item.get("id"))
        if known is not None and given is not None and known != given:
            return False
        is_complete = any(self._fields.get(name) for name in _COMPLETES)
        return not (is_complete and any(item.get(name) for name in (*_TEXTS, *_COMPLETES)))

    def add(self, item: Mapping[str, Any], is_cumulative: bool) -> int:
        """Add the fields of a piece; return roughly by how many bytes the entry has grown."""
        size = 0
        for name, value in item.items():
            if name in _TEXTS and isinstance(value, str):
                self._fields.setdefault(name, "")
                if is_cumulative or name not in self.texts:
                    self.texts[name] = []
                self.texts[name].append(value)
                size += sys.getsizeof(value)
            elif value or name not in self._fields:
                kept = _kept(value)
                if self._fields.get(name) != kept:
                    size += len(kept if type(kept) is _Json else write_json(value))
                self._fields[name] = kept
        return size

    def whole(self) -> dict[str, Any]:
        return {
            name: "".join(self.texts[name]) if name in self.texts else _value_of(kept)
            for name, kept in self._fields.items()
        }


def _kept(value: Any) -> Any:
    """Return a value as it is kept until the entry is whole."""
    return _Json(write_json(value)) if value and isinstance(value, dict | list) else value


def _value_of(kept: Any) -> Any:
    return parse_json(kept)[0] if type(kept) is _Json else kept


def merged_details(details: Any) -> list[dict[str, Any]]:
    """Return a list of `reasoning_details` with its pieces merged; a merged list is returned unchanged."""
    merged = MergedDetails()
    merged.add(details)
    return merged.entries()
