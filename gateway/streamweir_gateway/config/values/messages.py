"""Values of `websocket:`: subprotocols, and messages that are built by a tree."""

from __future__ import annotations

from typing import Any, Final

from streamweir.http_grammar import TOKEN
from streamweir_gateway.config.diagnostics import InvalidValue, not_this
from streamweir_gateway.config.values.scalars import Scalar, read_text, text_schema

__all__ = ["MESSAGE", "SUBPROTOCOL"]


def _read_subprotocol(value: Any) -> str:
    name = read_text(value)
    if not TOKEN.fullmatch(name):
        raise InvalidValue("must be a token: letters, digits and !#$%&'*+-.^_`|~", not_this(value))
    return name


def _read_message(value: Any) -> Any:
    return value


SUBPROTOCOL: Final = Scalar(_read_subprotocol, text_schema(f"^{TOKEN.pattern}$"))
"""A subprotocol. Source: RFC 6455, section 4.1."""
MESSAGE: Final = Scalar(_read_message, {"type": ["object", "array", "string", "number", "boolean"]})
"""A message. The rules check its expressions."""
