"""Callers, and the pages that may read the answers."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Final

from pydantic import Field

from streamweir_gateway.config.models.field_types import (
    NAMED,
    NOT_EMPTY,
    ONE_OR_MORE,
    READ_ONLY,
    Flag,
    Rate,
    Text,
    one_or_more,
)
from streamweir_gateway.config.models.section import Section, absent
from streamweir_gateway.config.values.auth import CALLER_KEY, ORIGIN
from streamweir_gateway.config.values.http import PAGE_HEADER
from streamweir_gateway.config.values.scalars import NAME, whole_number
from streamweir_gateway.config.values.written_as import LISTED, ShortFor

__all__ = ["OPEN", "Auth", "Caller", "Cors"]


class Caller(Section):
    """One caller; short form: the bare key, or a list of keys."""

    key: Annotated[
        tuple[Annotated[str, CALLER_KEY], ...],
        one_or_more("must be a key, or a list of keys"),
        NOT_EMPTY,
        ONE_OR_MORE,
    ] = Field(repr=False)
    """In plain text, at least 12 characters, or `sha256:` and its digest in hexadecimal; several while one is
    exchanged for another."""
    endpoints: Annotated[tuple[Text, ...], LISTED, NOT_EMPTY] = Field((), validate_default=False)
    """The only ones that may be called, by their paths."""
    models: Annotated[tuple[Text, ...], NOT_EMPTY] = Field((), validate_default=False)
    """The only models that may be asked, by their names."""
    rate_limit: Rate = absent()
    """Requests to all endpoints together, such as `60/minute`, in place of the gateway's."""
    max_streams: Annotated[int | None, whole_number(1)] = absent()
    """At the same time."""


class Auth(Section):
    """The callers."""

    keys: Annotated[
        Mapping[Annotated[str, NAME], Annotated[Caller, ShortFor(ONE_OR_MORE.json_schema)]], NAMED, READ_ONLY
    ]
    """By name; sent as `Authorization: Bearer ...` or `X-Api-Key: ...`."""


OPEN: Final = Auth.model_construct(keys=MappingProxyType({}))
"""Any client that can reach the address."""


class Cors(Section):
    """Which pages of other origins may read the answers."""

    origins: Annotated[tuple[Annotated[str, ORIGIN], ...], LISTED, NOT_EMPTY]
    """As browsers send them, such as `https://app.example`; or `*` alone."""
    credentials: Flag = False
    """Whether pages may send cookies; not allowed with `*`."""
    headers: Annotated[tuple[Annotated[str, PAGE_HEADER], ...], LISTED, NOT_EMPTY] = Field(
        (), validate_default=False
    )
    """Headers that pages may send in addition to the usual ones. Absent: any header."""
