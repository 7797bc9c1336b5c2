"""The JSON of texts, each as `write_json` writes it, in a buffer of its exact size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from streamweir.jsontext import json_to_keep, one_line

__all__ = ["text_json", "text_lines"]

_string: Final = msgspec.json.Encoder().encode
_lines: Final = msgspec.json.Encoder().encode_lines


def text_json(text: str) -> bytes:
    """Return the JSON of one text; it may have lone surrogates."""
    try:
        written = _string(text)
    except UnicodeEncodeError:
        return json_to_keep(text)
    return written if written.isascii() else one_line(written)


def text_lines(texts: Sequence[str]) -> bytes:
    """Return the JSON of texts without lone surrogates, written in one call: a line for each."""
    lines = _lines(texts)
    return (lines if lines.isascii() else one_line(lines))[:-1]
