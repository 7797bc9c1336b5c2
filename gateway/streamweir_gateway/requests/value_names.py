"""Makes the names of values in the store. The inputs cannot be read from a name.

Source: the conversation contract, section 4 (names in the store).
"""

from __future__ import annotations

import hashlib

__all__ = ["value_name"]


def value_name(kind: str, endpoint: str, key: str | None, name: str) -> str:
    """Return the name of a value: 32 hex digits.

    Args:
        kind: the kind of the value, such as `response`.
        endpoint: the template of the endpoint's path.
        key: the name of the client's key; None if the gateway has no keys.
        name: the client's name for the value.
    """
    text = "\0".join((kind, endpoint, "" if key is None else f"key {key}", name))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
