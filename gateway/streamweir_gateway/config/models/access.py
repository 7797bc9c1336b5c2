"""Callers, and the pages of other origins that may read responses."""

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
    """The key in plain text, at least 12 characters, or `sha256:` and its digest in hexadecimal. Several keys
    are allowed while one is exchanged for another.
    """
    endpoints: Annotated[tuple[Text, ...], LISTED, NOT_EMPTY] = Field((), validate_default=False)
    """The paths of the only endpoints that the key may call."""
    models: Annotated[tuple[Text, ...], NOT_EMPTY] = Field((), validate_default=False)
    """The names of the only models that the key may ask."""
    rate_limit: Rate = absent()
    """The rate of requests to all endpoints together, such as `60/minute`, in place of the gateway's."""
    max_streams: Annotated[int | None, whole_number(1)] = absent()
    """The most streams that the key may have open at the same time."""


class Auth(Section):
    """The callers that may use the gateway."""

    keys: Annotated[
        Mapping[Annotated[str, NAME], Annotated[Caller, ShortFor(ONE_OR_MORE.json_schema)]], NAMED, READ_ONLY
    ]
    """The callers by name. A key is sent as `Authorization: Bearer ...` or `X-Api-Key: ...`."""


OPEN: Final = Auth.model_construct(keys=MappingProxyType({}))
"""The value of `auth: open`: any client that can reach the address may call."""


class Cors(Section):
    """The pages of other origins that may read the answers."""

    origins: Annotated[tuple[Annotated[str, ORIGIN], ...], LISTED, NOT_EMPTY]
    """The allowed origins as browsers send them, such as `https://app.example`; or `*` as the only entry."""
    credentials: Flag = False
    """Whether pages may send cookies; not allowed with `*`."""
    headers: Annotated[tuple[Annotated[str, PAGE_HEADER], ...], LISTED, NOT_EMPTY] = Field(
        (), validate_default=False
    )
    """Headers that pages may send in addition to the usual ones. Absent: any header."""
