"""Texts of a body known by what stands around each of them, so that a whole read is taken at once."""

from __future__ import annotations

from typing import NamedTuple

from streamweir.codec.message_template import MessageTemplate

__all__ = ["Surroundings"]


class Surroundings(NamedTuple):
    """What a block begins and ends with that holds a text of a form.

    Attributes:
        form: of the message.
        begin: what stands in front of it.
        end: what stands behind it.
    """

    form: MessageTemplate
    begin: bytes
    end: bytes

    @classmethod
    def of(cls, form: MessageTemplate, message: bytes, block: bytes) -> Surroundings | None:
        """Return what stands around `message` in its block; None where its end is not known by anything."""
        begin, found, end = block.partition(message)
        return cls(form, begin, end) if found and end else None
