"""Makes events without opaque values, and the sealed values for clients of another dialect.

Source: the conversation contract, sections 2 and 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec

from streamweir.events import Content, Event, Opaque, Thinking, ToolCallDelta, ToolCallStart
from streamweir.opaque.seal import SealedKind, make_seal

__all__ = ["OPAQUE_EVENTS", "OPAQUE_OPTION", "seal_of", "sealed_holder", "without_opaque"]

OPAQUE_OPTION: Final[Mapping[str, tuple[str, ...]]] = {"opaque": ("on", "off")}
"""The option of protocols that have a place for opaque values."""

OPAQUE_EVENTS: Final[frozenset[type[Event]]] = frozenset({Content, Thinking, ToolCallDelta, ToolCallStart})
"""The events that may have opaque values."""

E = TypeVar("E", bound=Content | Thinking | ToolCallDelta | ToolCallStart)


def without_opaque(event: E) -> E | None:
    """Return `event` without its opaque value; None if the event holds nothing else."""
    if event.opaque is None:
        return event
    plain = msgspec.structs.replace(event, opaque=None)
    return plain if isinstance(plain, ToolCallStart | ToolCallDelta) or _has_meaning(plain) else None


def seal_of(opaque: Opaque, of: SealedKind, upstream: str) -> str:
    """Return the seal of an opaque value, for a client of another dialect.

    Args:
        opaque: values by dialect; the first one is sealed.
        of: the part of a turn that the value belongs to.
        upstream: the name or URL of the upstream.
    """
    dialect, value = next(iter(opaque.items()))
    return make_seal(value, dialect=dialect, upstream=upstream, of=of)


def sealed_holder(opaque: Opaque, of: SealedKind, upstream: str) -> dict[str, Any]:
    """Return the object, under the key of this library, that holds a seal where any metadata is allowed."""
    return {"streamweir": {"opaque": seal_of(opaque, of, upstream)}}


def _has_meaning(event: Content | Thinking) -> bool:
    if event.content:
        return True
    return isinstance(event, Content) and (event.is_complete is True or event.op is not None)
