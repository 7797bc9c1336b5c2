"""Writes capture files line by line, so that a file that breaks off is valid up to its last line.

Source: the contract of capture files, sections 1 and 3.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable
from typing import Any, Final

from streamweir.capture.masking import SecretMask
from streamweir.jsontext import write_json
from streamweir.redaction import REDACTED
from streamweir.redaction.secret_names import is_secret_header

__all__ = ["CaptureWriter", "body_fields", "recorded_headers"]

_DECIMALS: Final = 1


class CaptureWriter:
    """Writes the lines of one capture.

    Args:
        write: called with each line, including its line end.
        mask: hides secrets in every line.
    """

    def __init__(self, write: Callable[[bytes], object], mask: SecretMask) -> None:
        self._write = write
        self._mask = mask
        self._t = 0.0

    def begin(self, **meta: Any) -> None:
        """Write the first line, without fields that are None."""
        self._line({"kind": "capture", "version": 1, **meta})

    def line(self, kind: str, t: float, **fields: Any) -> None:
        """Write a line, without fields that are None. Its time is never before the previous line's."""
        self._t = max(self._t, t)
        self._line({"kind": kind, "t": round(self._t, _DECIMALS), **fields})

    def event(self, t: float, event: dict[str, Any], **fields: Any) -> None:
        """Write an event with its secrets masked."""
        text = write_json({"event": event}).decode("latin-1")
        masked, count = self._mask.apply(text)
        self._t = max(self._t, t)
        head = _without_none({"kind": "event", "t": round(self._t, _DECIMALS), **fields})
        if count:
            head["redacted"] = count
        self._write(write_json(head)[:-1] + b"," + masked.encode("latin-1")[1:] + b"\n")

    def _line(self, fields: dict[str, Any]) -> None:
        self._write(write_json(_without_none(fields)) + b"\n")


def _without_none(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def body_fields(data: bytes) -> dict[str, str]:
    """Return the fields for a body in a line: text if the body is valid UTF-8, else base64."""
    try:
        return {"data": data.decode()}
    except UnicodeDecodeError:
        return {"base64": b64encode(data).decode()}


def recorded_headers(headers: Iterable[tuple[str, str]], mask: SecretMask) -> list[list[str]]:
    """Return the headers in the form of a capture: in order, with credentials replaced."""
    return [
        [name.lower(), REDACTED if is_secret_header(name) else mask.apply(value)[0]]
        for name, value in headers
    ]
