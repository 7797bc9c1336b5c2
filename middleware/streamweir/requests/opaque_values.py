"""Opaque values in requests: reads them without trust, and finds those that an upstream has made.

Source: the conversation contract, sections 2 and 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from streamweir.opaque.seal import Seal, is_seal, read_seal
from streamweir.requests.canonical import Message, Opaque, Part, ToolCall
from streamweir.requests.content import parts_of

__all__ = [
    "ALL_DIALECTS",
    "FIELD",
    "OpaqueValues",
    "holds_seal",
    "native_text",
    "read_opaque",
    "read_sealed",
    "sealed",
]

ALL_DIALECTS: Final = "*"
"""Given in place of the name of a dialect if an upstream takes the values of all dialects, by their names."""

FIELD: Final = "field"
"""A key in an opaque value, added by this library: the name of the field that held the text."""

_SEALED: Final = "streamweir"
_SEAL: Final = "seal"


def read_sealed(text: object) -> tuple[Seal, Opaque] | None:
    """Return a seal and the opaque value that contains its text; None if the text is no seal."""
    seal = read_seal(text)
    return None if seal is None else (seal, {_SEALED: {_SEAL: text}})


def sealed(text: object) -> Opaque | None:
    """Return the opaque value that contains the text of a seal; None if the text is no seal."""
    found = read_sealed(text)
    return None if found is None else found[1]


def read_opaque(value: object) -> Opaque | None:
    """Return the opaque values of a client's part or call, or None; invalid values are left out."""
    if is_seal(value):
        return sealed(value)
    if not isinstance(value, dict):
        return None
    found = {name: own for name, own in value.items() if name != _SEALED and _is_native(own)}
    own = value.get(_SEALED)
    return {**found, **(sealed(own.get(_SEAL)) or {})} if isinstance(own, dict) else found or None


def _is_native(own: object) -> bool:
    return isinstance(own, dict) and bool(own) and not holds_seal(own)


def holds_seal(value: object) -> bool:
    """Return whether any text in a value begins like a seal, in which case no upstream has made the value."""
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, dict):
            left += item.values()
        elif isinstance(item, list):
            left += item
        elif is_seal(item):
            return True
    return False


def native_text(values: Mapping[str, Any], name: str) -> str | None:
    """Return a text field of an opaque value; None if it is absent, empty, of another type, or a seal."""
    text = values.get(name)
    return text if isinstance(text, str) and text and not is_seal(text) else None


class OpaqueValues(msgspec.Struct, eq=False):
    """Finds the opaque values of one upstream. A seal is opened once per request.

    Attributes:
        dialect: the dialect of the upstream.
        upstream: the name of the upstream in the configuration, or its URL.
        native: the dialect whose values the writer of requests writes, usually the upstream's; `ALL_DIALECTS`
            for all dialects, empty for none.
    """

    dialect: str = ""
    upstream: str = ""
    native: str = ""
    _opened: dict[str, Opaque] = {}

    @property
    def are_written(self) -> bool:
        """Whether the upstream has a place for opaque values."""
        return bool(self.native)

    def of(self, item: Part | ToolCall) -> Mapping[str, Any] | None:
        """Return the value that belongs to a part or a call, if this upstream made it; else None.

        If the upstream takes values of all dialects, the keys of the mapping are the names of the dialects.
        """
        held = item.get("opaque")
        if not held or not self.native:
            return None
        values = {**held, **self._open(held.get(_SEALED))}
        values.pop(_SEALED, None)
        if self.native == ALL_DIALECTS:
            return values or None
        return next((values[name] for name in (self.native, self.dialect) if name in values), None)

    def made(self, message: Message) -> bool:
        """Return whether this upstream made a message: a kept turn, or one with its opaque value."""
        if "turn" in message:
            return True
        items = (*parts_of(message.get("content")), *message.get("tool_calls", ()))
        return any(self.of(item) is not None for item in items)

    def _open(self, holder: Mapping[str, Any] | None) -> Opaque:
        text = holder.get(_SEAL) if holder else None
        if not isinstance(text, str):
            return {}
        if text not in self._opened:
            self._opened[text] = self._value_in(text)
        return self._opened[text]

    def _value_in(self, text: str) -> Opaque:
        seal = read_seal(text)
        if seal is None or not isinstance(seal.value, dict) or not seal.is_for(seal.dialect, self.upstream):
            return {}
        return (
            {seal.dialect: seal.value}
            if self.native in (ALL_DIALECTS, seal.dialect) or self.dialect == seal.dialect
            else {}
        )
