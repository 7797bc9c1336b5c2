"""The token of the console. No message quotes it."""

from __future__ import annotations

import re
from typing import Any, Final

from streamweir_gateway.config.diagnostics import InvalidValue
from streamweir_gateway.config.values.scalars import Scalar, read_text, text_schema

__all__ = ["CONSOLE_TOKEN", "MIN_TOKEN_CHARACTERS"]

MIN_TOKEN_CHARACTERS: Final = 20
"""The fewest characters of a token, because pages on this machine may try any number of tokens."""


def _token(value: Any) -> str:
    token = read_text(value)
    if not re.fullmatch(r"[!-~]+", token):
        raise InvalidValue("must be printable ASCII without spaces: it travels in a header")
    if len(token) < MIN_TOKEN_CHARACTERS:
        raise InvalidValue(
            f"must have at least {MIN_TOKEN_CHARACTERS} characters: shorter tokens can be guessed"
        )
    return token


CONSOLE_TOKEN: Final = Scalar(_token, text_schema("^[!-~]+$"), stand_in="x" * MIN_TOKEN_CHARACTERS)
