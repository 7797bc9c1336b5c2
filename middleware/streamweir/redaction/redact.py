"""What must not reach a user, taken out of a text that may.

Errors, warnings, details and failed steps pass through here; answers never do. The text comes from a peer and
may be hostile: only its first `SCAN_LIMIT` characters are read.

Source: the standard protocol 1.1, section 3 rule 10 and section 5 ("redaction").
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Final
from urllib.parse import unquote

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
"""Characters of a detail that is shown under `debug`."""
SCAN_LIMIT: Final = 8192
"""The most that is looked at of a text."""
_SCANNED_AT_LEAST: Final = 2048
_SCANNED_PER_SHOWN: Final = 4  # what is taken out is longer than what stands in its place

_ELLIPSIS: Final = "…"
_ROUNDS: Final = 6  # one rule may uncover work for another; honest text is stable after two
_MAX_DEPTH: Final = 12  # deeper details help nobody
_MAX_COST: Final = 2 * SCAN_LIMIT  # of one value: characters looked at ...
_NODE_COST: Final = 32  # ... and what a node costs however short it is

_URL_ENCODED: Final = re.compile(r"(?<![\x21-\x7e])(?>[\x21-\x7e]*?%[0-9A-Fa-f]{2})[\x21-\x7e]*+")
_MOST_DECODED: Final = 32
"""So many URL-encoded words are looked into; nobody needs more of them."""

_ENCODED_TWICE: Final = 3


def redact(text: str, *, limit: int = 500) -> str:
    """Return `text` without secrets, addresses, paths and traces, at most `limit` characters long.

    What is taken out becomes `[redacted]`; ordinary sentences pass unchanged, aside from control characters,
    characters that nobody sees and repeated spaces. `redact(redact(text)) == redact(text)`. Never raises.

    Returns:
        `"[redacted]"` alone where nothing worth reading is left; an empty string for a text without any.
    """
    for _ in range(_ROUNDS):
        clean = _clip(_redact_once(_head(text, limit), without_secrets), limit)
        if clean == text:
            return clean
        text = clean
    return _clip(REDACTED, limit)  # a text built to keep the rules busy


def redact_id(text: str, *, limit: int = 1024) -> str:
    """Return the id or name of a step as `redact` would, aside from what is opaque as ids are."""
    clean = _redact_once(_head(text, limit), _without_secrets_of_an_id)
    return _clip(clean, limit) if clean == text else redact(text, limit=limit)


def hide_credentials(text: str, *, limit: int = SCAN_LIMIT) -> str:
    """Return `text` for a log: without credentials and control characters, at most `limit` characters long.

    Addresses, paths and traces stay. Never raises.
    """
    return _clip(_rewritten(visible(_head(text, SCAN_LIMIT)), without_credentials), limit)


def redact_value(value: object, *, limit: int = 500) -> object:
    """Return a copy of a JSON-like `value` with every string redacted to at most `limit` characters.

    The values of keys such as `password` or `api_key` are replaced whole, and so is what is no JSON (bytes,
    objects) or nested too deep. Of a value with hundreds of nodes or kilobytes of text the end is left out.
    """
    return _Walk(limit).copy(value, _MAX_DEPTH)


class _Walk:
    """One walk through a value, with what is left of its budget."""

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


def _without_secrets_of_an_id(text: str) -> str:
    return without_secrets(text, is_id=True)


def _rewritten(text: str, rules: Callable[[str], str]) -> str:
    """Return what `rules` leave of the plain text behind `text`; `text` as it is if that is all of it."""
    plain = canonical(text)
    clean = rules(plain[:SCAN_LIMIT])
    if (
        "%" in clean
    ):  # what the rules know in its place, such as a password in a URL, leaves the rest to be read
        clean = rules(_without_encoded_secrets(clean, rules))
    if clean == plain:
        return text
    return clean.replace("<", "&lt;").replace(">", "&gt;") if _has_escaped_markup(text) else clean


def _has_escaped_markup(text: str) -> bool:
    """Has somebody made the text harmless for HTML? What is left of it is not to be markup again."""
    return "&lt;" in text or "&#60;" in text or "&#x3c;" in text.lower()


def _without_encoded_secrets(text: str, rules: Callable[[str], str]) -> str:
    """Take out the URL-encoded words that hold what would not be shown as it is."""
    left = _MOST_DECODED

    def judged(word: re.Match[str]) -> str:
        nonlocal left
        left -= 1
        return REDACTED if left < 0 or _is_encoded_secret(word[0], rules) else word[0]

    return _URL_ENCODED.sub(judged, text)


def _is_encoded_secret(word: str, rules: Callable[[str], str]) -> bool:
    for _ in range(_ENCODED_TWICE):
        decoded = canonical(visible(unquote(word)))
        if rules(decoded) != decoded:
            return True
        if decoded == word:
            return False
        word = decoded
    return "%" in word


def _head(text: str, limit: int) -> str:
    """Return the part of `text` that is searched: whole words, since half a secret cannot be recognised."""
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
