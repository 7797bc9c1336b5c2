"""The fields in which a chat client keeps opaque values: `reasoning_details`, and `extra_content` of calls.

Each entry of the details has a different index, because OpenAI's libraries merge entries with equal indexes.
Source: the conversation contract, section 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamweir.codec.opaque_values import seal_of, sealed_holder
from streamweir.events import Opaque
from streamweir.opaque.seal import SealedKind

__all__ = ["DETAILS", "SealedDetails", "extra_content_of"]

_NATIVE: Final = "openai-chat"
DETAILS: Final = "reasoning_details"
"""The field of a message, or of a delta, that holds the details of the reasoning."""

_DEMANDED: Final = "reasoning_content"
"""The field that upstreams expect back. Another upstream's value is sealed, and not sent in this field."""


class SealedDetails:
    """Makes the `reasoning_details` of one answer.

    A client joins the reasoning to one text, so the seal of a piece holds the length of the piece.
    """

    __slots__ = ("_length", "_written")

    def __init__(self) -> None:
        self._length = 0  # characters of the reasoning since the last opaque value
        self._written = 0

    def note(self, text: str) -> None:
        """Count a piece of the reasoning that is sent to the client."""
        self._length += len(text)

    def of_thinking(self, opaque: Opaque, field: str, upstream: str) -> dict[str, Any]:
        """Return the fields for the value of the reasoning since the last value.

        Args:
            opaque: the value.
            field: the client's field for reasoning; it is written if the upstream's own field was empty.
            upstream: the name or URL of the upstream.
        """
        length, self._length = self._length, 0
        own = opaque.get(_NATIVE)
        if own is not None and (isinstance(own.get("details"), list) or own.get("field") == _DEMANDED):
            return self._native(own, {} if length else {field: ""})
        dialect, value = next(iter(opaque.items()))
        return self._sealed({dialect: {**value, "length": length}}, "thinking", upstream)

    def _native(self, own: Mapping[str, Any], shown: dict[str, Any]) -> dict[str, Any]:
        details = own.get("details")
        return {**shown, DETAILS: self._numbered(details)} if isinstance(details, list) else shown

    def of_text(self, opaque: Opaque, upstream: str) -> dict[str, Any]:
        """Return the fields for the opaque value of a text; upstreams of this dialect have no such values."""
        if _NATIVE in opaque:
            return {}
        return self._sealed(opaque, "text", upstream)

    def _sealed(self, opaque: Opaque, of: SealedKind, upstream: str) -> dict[str, Any]:
        seal = seal_of(opaque, of, upstream)
        entry = {"type": "reasoning.encrypted", "data": seal, "format": "streamweir-1"}
        return {DETAILS: self._numbered([entry])}

    def _numbered(self, entries: list[Any]) -> list[Any]:
        """Return the entries with an index each; an entry that has an index keeps it."""
        numbered = []
        for entry in entries:
            has_index = not isinstance(entry, dict) or "index" in entry
            numbered.append(entry if has_index else {**entry, "index": self._written})
            self._written += 1
        return numbered


def extra_content_of(opaque: Opaque, upstream: str) -> dict[str, Any]:
    """Return the field with the opaque value of a call: the upstream's own, or a seal."""
    own = opaque.get(_NATIVE)
    if own is None:
        return {"extra_content": sealed_holder(opaque, "call", upstream)}
    extra = own.get("extra_content")
    return {"extra_content": extra} if isinstance(extra, dict) else {}
