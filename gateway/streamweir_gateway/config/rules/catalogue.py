"""The dialects that there are, as far as a configuration has to know them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["DialectCatalogue"]


@dataclass(frozen=True)
class DialectCatalogue:
    """The dialects that there are, as far as a configuration has to know them."""

    decoders: frozenset[str]
    """Names that `speaks` may hold."""
    encoders: frozenset[str]
    """Names that `answers` may hold, and those of demos."""
    options: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    """By dialect and option, the values allowed; an empty tuple allows any."""
