"""What must not reach a user, taken out of a text that may.

Errors, warnings, details and failed steps pass through here; answers never do. The rules are one table in
`redaction_rules`. The text comes from a peer and may be hostile: only its first `SCAN_LIMIT` characters are
read.

Source: the standard protocol 1.1, section 3 rule 10 and section 5 ("redaction").
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import unquote

from streamweir.redaction.canonicalize import CONTROLS, unmasked
from streamweir.redaction.rules import CREDENTIAL_RULES, REDACTED, RULES, SECRET_KEY

__all__ = ["REDACTED", "SCAN_LIMIT", "hide_credentials", "is_secret_name", "redact", "redact_value"]

SCAN_LIMIT: Final = 8192
"""How much of a text is looked at: sixteen times what is shown by default."""

_ELLIPSIS: Final = "…"
_ROUNDS: Final = 6  # one rule may uncover work for another; honest text is stable after two
_MAX_DEPTH: Final = 12  # deeper details help nobody
_MAX_COST: Final = 2 * SCAN_LIMIT  # of one value: characters looked at ...
_NODE_COST: Final = 32  # ... and what a node costs however short it is

_URL_ENCODED: Final = re.compile(r"(?<![\x21-\x7e])[\x21-\x7e]*?%[0-9A-Fa-f]{2}[\x21-\x7e]*")
_MOST_DECODED: Final = 32
"""So many URL-encoded words are looked into; nobody needs more of them."""

_ANSI: Final = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")


def redact(text: str, *, limit: int = 500) -> str:
    """Return `text` without secrets, addresses, paths and traces, at most `limit` characters long.

    What is taken out becomes `[redacted]`; ordinary sentences pass unchanged, aside from control characters
    and repeated spaces. `redact(redact(text)) == redact(text)`. Never raises.

    Returns:
        `"[redacted]"` alone where nothing worth reading is left; an empty string for a text without any.
    """
    for _ in range(_ROUNDS):
        clean = _clip(_redact_once(text), limit)
        if clean == text:
            return clean
        text = clean
    return _clip(REDACTED, limit)  # a text built to keep the rules busy


def hide_credentials(text: str, *, limit: int = SCAN_LIMIT) -> str:
    """Return `text` for a log: without credentials and control characters, at most `limit` characters long.

    Addresses, paths and traces stay. Never raises.
    """
    text = _ANSI.sub("", _head(text)).translate(CONTROLS)
    for rule in CREDENTIAL_RULES:
        text = rule.pattern.sub(rule.replacement, text)
    return _clip(text, limit)


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


def is_secret_name(name: str) -> bool:
    """Is what stands under this key of an object a secret, whatever it looks like?"""
    return SECRET_KEY.search(name[-SCAN_LIMIT:]) is not None


def _redact_once(text: str) -> str:
    text = unmasked(_ANSI.sub("", _head(text)).translate(CONTROLS))
    if "%" in text:
        text = _without_encoded_secrets(text)
    text = _apply_rules(text).strip()
    return REDACTED if REDACTED in text and _says_nothing(text) else text


def _apply_rules(text: str) -> str:
    for rule in RULES:
        text = rule.pattern.sub(rule.replacement, text)
    return text


def _without_encoded_secrets(text: str) -> str:
    """Take out the URL-encoded words that hold what would not be shown as it is."""
    left = _MOST_DECODED

    def judged(word: re.Match[str]) -> str:
        nonlocal left
        left -= 1
        decoded = unquote(word[0])
        return word[0] if left >= 0 and _apply_rules(decoded) == decoded else REDACTED

    return _URL_ENCODED.sub(judged, text)


def _head(text: str) -> str:
    """Return what is looked at of `text`: whole words only, since half a secret has no form to know it by."""
    if len(text) <= SCAN_LIMIT:
        return text.replace("\r", "\n")
    whole = text[:SCAN_LIMIT].rstrip(string.ascii_letters + string.digits + string.punctuation)
    return (whole or REDACTED).replace("\r", "\n")


def _says_nothing(text: str) -> bool:
    return not any(character.isalnum() for character in text.replace(REDACTED, ""))


def _clip(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return text[: max(limit - 1, 0)].rstrip() + _ELLIPSIS if limit > 0 else ""
