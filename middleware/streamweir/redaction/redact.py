"""Removes secrets and internals from a text for users.

The function is applied to errors, warnings, details and failed steps, never to answers. The text comes from a
peer and may be hostile: only its first `SCAN_LIMIT` characters are read.

Source: the standard protocol 1.1, section 3 rule 10 and section 5 ("redaction").
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from streamweir.lazy_pattern import LazyPattern
from streamweir.redaction.canonicalize import canonical, visible
from streamweir.redaction.rule import REDACTED
from streamweir.redaction.rules import without_credentials, without_double_spaces, without_secrets
from streamweir.redaction.secret_names import is_secret_name

__all__ = [
    "DETAIL_LIMIT",
    "REDACTED",
    "SCAN_LIMIT",
    "hide_credentials",
    "redact",
    "redact_id",
    "redact_value",
]

DETAIL_LIMIT: Final = 2000
"""The most characters of a detail, which is only sent with `debug`."""
SCAN_LIMIT: Final = 8192
"""The most characters of a text that are read."""
_SCANNED_AT_LEAST: Final = 2048
_SCANNED_PER_SHOWN: Final = 4  # longer than its replacement

_ELLIPSIS: Final = "…"
_ROUNDS: Final = 6  # one rule may uncover matches for another; ordinary text is stable after two rounds
_MAX_DEPTH: Final = 12  # deeper details are of no use
_MAX_COST: Final = 2 * SCAN_LIMIT  # of one value: characters read ...
_NODE_COST: Final = 32  # ... and what each node counts at least

_URL_ENCODED: Final = LazyPattern(r"(?<![\x21-\x7e])(?>[\x21-\x7e]*?%[0-9A-Fa-f]{2})[\x21-\x7e]*+")
_MOST_DECODED: Final = 32
"""The most URL-encoded words that are decoded."""

_ENCODED_TWICE: Final = 3


def redact(text: str, *, limit: int = 500) -> str:
    """Return `text` without secrets, addresses, paths and traces, at most `limit` characters long.

    Each removed part becomes `[redacted]`. Ordinary sentences are returned unchanged, except for control and
    invisible characters and repeated spaces. `redact(redact(text)) == redact(text)`. Never raises.

    Returns:
        Only `"[redacted]"` if nothing readable is left; an empty string if there was no visible text.
    """
    for _ in range(_ROUNDS):
        clean = _clip(_redact_once(_head(text, limit), without_secrets), limit)
        if clean == text:
            return clean
        text = clean
    return _clip(REDACTED, limit)  # a text made to keep the rules busy


_LONGEST_ID: Final = 1024
_without_secrets_of_an_id = partial(without_secrets, is_id=True)


def redact_id(text: str) -> str:
    """Return the id or name of a step redacted, but keep parts that look random, as ids do."""
    clean = _redact_once(_head(text, _LONGEST_ID), _without_secrets_of_an_id)
    return redact(text, limit=_LONGEST_ID) if clean != text else _clip(clean, _LONGEST_ID)


def hide_credentials(text: str, *, limit: int = SCAN_LIMIT) -> str:
    """Return `text` for a log: without credentials and control characters, at most `limit` characters long.

    Addresses, paths and traces are kept. Never raises.
    """
    return _clip(_rewritten(visible(_head(text, SCAN_LIMIT)), without_credentials), limit)


def redact_value(value: object, *, limit: int = 500) -> object:
    """Return a copy of a JSON-like `value` with every string redacted to at most `limit` characters.

    The values of keys such as `password` or `api_key` are replaced completely, and so are values that are not
    JSON (bytes, objects) or are nested too deep. The end of a value with hundreds of nodes or kilobytes of
    text is left out.
    """
    return _Walk(limit).copy(value, _MAX_DEPTH)


class _Walk:
    """One walk through a value, with the remaining budget."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._budget = _MAX_COST

    def copy(self, value: object, depth: int) -> object:
        self._budget -= _NODE_COST
        if isinstance(value, str):
            return self._copy_text(value)
        if value is None or isinstance(value, bool | int | float):
            return value
        if depth > 0 and isinstance(value, dict):
            return self._copy_object(value, depth)
        if depth > 0 and isinstance(value, list | tuple):
            return self._copy_list(value, depth)
        return REDACTED

    def _copy_text(self, text: str) -> str:
        self._budget -= min(len(text), SCAN_LIMIT)
        return redact(text, limit=self._limit)

    def _copy_object(self, value: Mapping[object, object], depth: int) -> dict[str, object]:
        copy: dict[str, object] = {}
        for key, item in value.items():
            if self._budget <= 0:
                break
            name = key if isinstance(key, str) else REDACTED
            clean = self._copy_text(name)
            is_secret = is_secret_name(name) or is_secret_name(clean)
            copy[clean] = REDACTED if is_secret else self.copy(item, depth - 1)
        return copy

    def _copy_list(self, value: Sequence[object], depth: int) -> list[object]:
        copy: list[object] = []
        for item in value:
            if self._budget <= 0:
                break
            copy.append(self.copy(item, depth - 1))
        return copy


def _redact_once(text: str, rules: Callable[[str], str]) -> str:
    text = without_double_spaces(_rewritten(visible(text), rules))
    return REDACTED if REDACTED in text and _is_all_redacted(text) else text


def _rewritten(text: str, rules: Callable[[str], str]) -> str:
    """Return the plain form of `text` after `rules`; if they change nothing, `text` unchanged."""
    plain = canonical(text)
    clean = rules(plain[:SCAN_LIMIT])
    if (
        "%" in clean
    ):  # a secret that is found in its place, such as a password in a URL, leaves the rest readable
        clean = rules(_without_encoded_secrets(clean, rules))
    if clean == plain:
        return text
    return clean.replace("<", "&lt;").replace(">", "&gt;") if _has_escaped_markup(text) else clean


def _has_escaped_markup(text: str) -> bool:
    """Return whether a text is escaped for HTML, so that its plain form must not become markup again."""
    return "&lt;" in text or "&#60;" in text or "&#x3c;" in text.lower()


def _without_encoded_secrets(text: str, rules: Callable[[str], str]) -> str:
    """Remove URL-encoded words that hold a secret in their decoded form."""
    left = _MOST_DECODED

    def judged(word: re.Match[str]) -> str:
        nonlocal left
        left -= 1
        return REDACTED if left < 0 or _is_encoded_secret(word[0], rules) else word[0]

    return _URL_ENCODED.sub(judged, text)


def _is_encoded_secret(word: str, rules: Callable[[str], str]) -> bool:
    from urllib.parse import unquote  # noqa: PLC0415 - it loads a fiftieth of streamweir's import

    for _ in range(_ENCODED_TWICE):
        decoded = canonical(visible(unquote(word)))
        if rules(decoded) != decoded:
            return True
        if decoded == word:
            return False
        word = decoded
    return "%" in word


def _head(text: str, limit: int) -> str:
    """Return the searched part of `text`; it ends with a whole word, as half a secret is not recognised."""
    scanned = min(SCAN_LIMIT, max(_SCANNED_AT_LEAST, _SCANNED_PER_SHOWN * limit))
    if len(text) <= scanned:
        return text.replace("\r", "\n")
    whole = text[:scanned].rstrip(string.ascii_letters + string.digits + string.punctuation)
    return (whole or REDACTED).replace("\r", "\n")


def _is_all_redacted(text: str) -> bool:
    return not any(character.isalnum() for character in text.replace(REDACTED, ""))


def _clip(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return text[: max(limit - 1, 0)].rstrip() + _ELLIPSIS if limit > 0 else ""
