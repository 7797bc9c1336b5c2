"""Writes a learned dialect as YAML: JSON values without needless quotes, and comments between the keys."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

__all__ = ["yaml_of"]

_PLAIN: Final = re.compile(r"[A-Za-z_](?:[\w./-]*\w)?", re.ASCII)
_WORDS: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
"""Words that some YAML readers take for booleans, nulls or numbers."""

_NOT_PRINTABLE: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")
_WIDTH: Final = 108


def yaml_of(name: str, dialect: Mapping[str, Any], comments: Mapping[str | int, list[str]]) -> str:
    """Return the text of a file with one entry under `dialects:`.

    Args:
        name: the name of the dialect.
        dialect: the keys of the dialect.
        comments: the comments, by the index of a rule or the name of another key; each is written above it.
    """
    lines = ["dialects:", f"  {_scalar(name)}:"]
    for key, value in dialect.items():
        lines += _comments(comments.get(key, ()), 4)
        if isinstance(value, list) and value and any(isinstance(item, Mapping) for item in value):
            lines.append(f"    {key}:")
            for place, item in enumerate(value):
                above = comments.get(place, ()) if key == "rules" else ()
                lines += [*_comments(above, 6), *_item(item)]
        else:
            lines.append(f"    {key}: {_flow(value)}")
    return "\n".join(lines) + "\n"


def _comments(texts: Any, indent: int) -> Iterator[str]:
    for text in texts:
        yield f"{' ' * indent}# {' '.join(_escaped(text).split())}"


def _item(item: Any) -> Iterator[str]:
    """Yield a list item: on one line if it fits, else one line per key."""
    line = f"      - {_flow(item)}"
    if len(line) <= _WIDTH or not isinstance(item, Mapping):
        yield line
        return
    for place, (key, value) in enumerate(item.items()):
        start = "      - " if place == 0 else "        "
        line = f"{start}{_scalar(key)}: {_flow(value)}"
        if len(line) <= _WIDTH or not isinstance(value, list) or not value:
            yield line
        else:
            yield f"{start}{_scalar(key)}:"
            yield from (f"          - {_flow(inner)}" for inner in value)


def _flow(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_scalar(key)}: {_flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return _scalar(value)


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        is_plain = _PLAIN.fullmatch(value) and value.lower() not in _WORDS
        return value if is_plain else _escaped(json.dumps(value, ensure_ascii=False))
    return json.dumps(value)


def _escaped(text: str) -> str:
    return _NOT_PRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
