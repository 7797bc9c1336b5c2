"""Who may call, and which pages may read the answers."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Final

from pydantic import Field

from streamweir_gateway.config.models.field_types import NAMED, NOT_EMPTY, READ_ONLY
from streamweir_gateway.config.models.section import Section
from streamweir_gateway.config.values.auth import CALLER_KEY, ORIGIN
from streamweir_gateway.config.values.scalars import NAME

__all__ = ["OPEN", "Auth", "Cors"]


class Auth(Section):
    """Who may call."""

    keys: Annotated[Mapping[Annotated[str, NAME], Annotated[str, CALLER_KEY]], NAMED, READ_ONLY] = Field(
        repr=False
    )
    """By name; sent as `Authorization: Bearer ...` or `X-Api-Key: ...`."""


OPEN: Final = Auth.model_construct(keys=MappingProxyType({}))
"""Whoever can reach the address."""


class Cors(Section):
    """Which pages of other origins may read the answers."""

    origins: Annotated[tuple[Annotated[str, ORIGIN], ...], NOT_EMPTY]
    """As browsers send them, such as `https://app.example`; or `*` alone."""
