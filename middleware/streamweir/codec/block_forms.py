"""The forms of a dialect's usual SSE blocks, by which a decoder reads them without parsing their JSON.

    event: message_start
    data: {"type":"message_start","message":{"id":"<id=word>","type":"message", ... ,"usage":<usage=object>}}

A short answer is mostly a beginning and an end, which take ten times as long as a text if each is cut into
lines, parsed and compared field by field. If a dialect declares their forms, one match shows that a block is
such a message, and has its values. Nothing is learned from a stream, and nothing is kept after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Final

import msgspec

from streamweir.codec.json_pattern import MAY_BE_SPACE, JsonPattern

__all__ = [
    "BLOCK_END",
    "STRICT_PLACES",
    "BlockForms",
    "block_expression",
    "message_expression",
    "object_in",
    "text_in",
]

BLOCK_END: Final = b"\n\n"
_WORD: Final = r'"[ !#-\[\]-~]{0,256}+"'
_FIELDS: Final = r"[ -\[\]-z|~]{0,160}+"
_OBJECT: Final = rf"\{{{_FIELDS}(?:\{{{_FIELDS}\}}{_FIELDS}){{0,2}}+\}}"

_PLAIN: Final = r"[ !#-\[\]-\xff]{0,1024}+"
_TEXT: Final = rf'{_PLAIN}(?:\\["\\/bfnrt]{_PLAIN}){{0,64}}+'

_NAMED: Final = re.compile(r"<([a-z_]+)=(word|word_or_null|text|object|mark)>")
_object: Final = msgspec.json.Decoder(dict[str, Any]).decode
_text: Final = msgspec.json.Decoder(str).decode
_NAME: Final = "[A-Za-z0-9_.-]{1,64}+"
_BEGIN: Final = rf"(?P<begin>(?:event: (?P<name>{_NAME})\n)?+data: ?+)"
_BEFORE: Final = rf"(?:event: {_NAME}\n)?+data: ?+"

STRICT_PLACES: Final[Mapping[str, str]] = {
    "<string>": _WORD,
    "<string_or_null>": f"(?:{_WORD}|null)",
    "<number>": "(?:0|[1-9][0-9]{0,14}+)",
    "<blanks>": " {0,64}+",
    "<next>": rf"\n\n{_BEFORE}",
}
"""The places of a message that is not parsed: short strings of printable ASCII without escapes, and whole
numbers.
"""


class BlockForms:
    """The forms of SSE blocks that `Decoder.read_block` reads.

    The dialect promises that `read_block` returns the events that `decode` would return for the message, and
    leaves the decoder in the same state, whatever the name of the block.

    Args:
        longest: the most bytes of a block that comes alone and is read by its form; a longer one is decoded.
        forms: for each kind, the parts of the JSON of its message, in the notation of `TextForm`. In addition
            `<name=word>` is a string whose value is the group `name` of the match, `<name=word_or_null>` such
            a string or null, `<name=object>` the JSON of an object, `<name=mark>` an empty group, and
            `<blanks>` any spaces. `<next>` is the end of a block and the beginning of another one: only one
            of the messages of a kind may have events. Words that are long, or hold more than printable ASCII
            without escapes, do not match. No name occurs twice.

    Attributes:
        longest: the argument.
        forms: the argument.
    """

    def __init__(self, longest: int = 4096, /, **forms: Iterable[str]) -> None:
        self.longest = longest
        self.forms = forms

    @cached_property
    def pattern(self) -> JsonPattern:
        """Matches one block, or several of one kind. `lastgroup` of the match is the kind."""
        kinds = "|".join(
            f"(?P<{kind}>{message_expression(parts, STRICT_PLACES)})" for kind, parts in self.forms.items()
        )
        return JsonPattern(f"{_BEFORE}(?:{kinds})\n\n")


def object_in(group: bytes) -> dict[str, Any] | None:
    """Return the value of a group `<name=object>`; None if the message has to be decoded."""
    try:
        return _object(group)
    except (msgspec.MsgspecError, ValueError):
        return None


def text_in(group: bytes) -> str | None:
    """Return the value of a group `<name=text>`; None if the message has to be decoded."""
    try:
        return _text(b'"%b"' % group)
    except (msgspec.MsgspecError, ValueError):
        return None


def message_expression(parts: Iterable[str], places: Mapping[str, str]) -> str:
    """Return the expression of a message, for a `JsonPattern`.

    Args:
        parts: the parts of the form; see `TextForm`.
        places: the expressions of the places in them.
    """
    return "".join(_expression(part, places) for part in parts)


def block_expression(parts: Iterable[str], places: Mapping[str, str]) -> str:
    """Return the expression of a block with a message, for a `JsonPattern`: the group `begin` has the bytes
    before the message, and `name` the name of the block.
    """
    return f"{_BEGIN}{message_expression(parts, places)}\n\n"


def _expression(part: str, places: Mapping[str, str]) -> str:
    """Return the expression of a part."""
    is_optional = part.endswith("?")
    expression = re.escape(part.removesuffix("?"))
    for sign in (",", ":"):
        expression = expression.replace(sign, sign + MAY_BE_SPACE)
    for place, pattern in places.items():
        expression = expression.replace(place, pattern)
    expression = _NAMED.sub(_named, expression)
    return f"(?:{expression}|)" if is_optional else expression  # `?` behind it takes longer


def _named(found: re.Match[str]) -> str:
    name, kind = found.groups()
    if kind == "mark":
        return f"(?P<{name}>)"
    if kind == "object":
        return f"(?P<{name}>{_OBJECT})"
    if kind == "text":
        return f'"(?P<{name}>{_TEXT})"'
    word = f'"(?P<{name}>{_WORD[1:-1]})"'
    return word if kind == "word" else f"(?:{word}|null)"
