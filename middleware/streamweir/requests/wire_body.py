"""The bytes of a written request's body.

Source: the request contract, section 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from streamweir.jsontext import write_json_body
from streamweir.requests.multipart import multipart_form
from streamweir.requests.written import NOTHING, Taken, Written

__all__ = ["JSON_TYPE", "WireBody", "filled", "wire_body"]

JSON_TYPE: Final = "application/json"


class WireBody(msgspec.Struct, frozen=True):
    """The bytes of a body with their media type; both are None for a request without a body."""

    data: bytes
    media_type: str | None


def wire_body(written: Written, taken: Mapping[str, str] = NOTHING) -> WireBody:
    """Return the body of a request: a multipart form, JSON, or no bytes.

    Args:
        written: the request.
        taken: the values from the answers to earlier requests, by name.

    Raises:
        RequestError: a file of a form is not valid base64.
    """
    if written.form is not None:
        media_type, data = multipart_form(filled(written.form, taken))
        return WireBody(data, media_type)
    if written.body is not None:
        body = filled(written.body, taken) if taken else written.body
        return WireBody(write_json_body(body), JSON_TYPE)
    return WireBody(b"", None)


def filled(value: Any, taken: Mapping[str, str]) -> Any:
    """Return `value` with the value of `taken` in place of each `Taken`, or an empty text if it is missing.

    If `taken` is empty, `value` is returned unchanged: a first request has no `Taken`.
    """
    if isinstance(value, Taken):
        return taken.get(value.name, "")
    if not taken:
        return value
    if isinstance(value, Mapping):
        return {key: filled(item, taken) for key, item in value.items()}
    return [filled(item, taken) for item in value] if isinstance(value, list) else value
