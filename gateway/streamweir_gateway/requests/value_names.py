"""The names of values in the store, from which no part of them can be read.

Source: the conversation contract, section 4 (names in the store).
"""

from __future__ import annotations

import hashlib

__all__ = ["value_name"]


def value_name(kind: str, endpoint: str, key: str | None, name: str) -> str:
    """Return the name of a value: 32 hex digits.

    Args:
        kind: the kind of the value, such as `response`.
        endpoint: the template of its path.
        key: the name of the client's key; None without keys.
        name: by which the client names it.
    """
    text = "\0".join((kind, endpoint, "" if key is None else f"key {key}", name))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
