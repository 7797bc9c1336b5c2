"""Changes the field `store` in the bytes of a response object that could not be stored."""

from __future__ import annotations

import re
from typing import Final

from streamweir.jsontext import write_json
from streamweir.optional_json import json_or

__all__ = ["not_stored"]

_OBJECT: Final = re.compile(rb"^(?:data: ?)?(\{.*\})\r?$", re.MULTILINE)
_STORED: Final = re.compile(rb'"store" ?: ?true')


def not_stored(data: bytes) -> bytes:
    """Return the end of a body, in any framing, with `store: false` in the last response object.

    Args:
        data: whole frames, or the whole body.
    """
    for match in reversed([*_OBJECT.finditer(data)]):
        if not _STORED.search(match[1]):
            continue
        if (changed := _changed(match[1])) is not None:
            return data[: match.start(1)] + changed + data[match.end(1) :]
    return data


def _changed(text: bytes) -> bytes | None:
    """Return the JSON of a response or a frame with `store: false`; None if it has no response."""
    found = json_or(text)
    match found:
        case {"response": {"store": True}}:
            return write_json({**found, "response": {**found["response"], "store": False}})
        case {"store": True}:
            return write_json({**found, "store": False})
    return None
