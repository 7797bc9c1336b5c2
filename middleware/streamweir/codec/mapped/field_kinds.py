"""The kinds of values in the fields of events, and how an upstream's value is converted to a kind.

Source: the dialect-file contract, section 3. A value that cannot be converted makes the frame malformed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeGuard

from streamweir.classification.finish_words import standard_finish
from streamweir.codec.coerce import arguments, text_of, tool_error
from streamweir.codec.standard_shapes import citations, questions
from streamweir.errors import MalformedEvent

__all__ = ["FieldKind", "word"]


class FieldKind(NamedTuple):
    """The kind of a field.

    Attributes:
        convert: converts a value that is not null; returns null if the field is to be left out.
        what: a description that follows the words "must be".
        schema: the JSON Schema of a literal.
    """

    convert: Callable[[Any], Any]
    what: str
    schema: Mapping[str, Any]


def _refuse(what: str) -> MalformedEvent:
    return MalformedEvent(f"a field must be {what}")


def _is_number(value: Any) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _id(value: Any) -> str | None:
    if isinstance(value, str):
        return value or None
    if _is_number(value):
        return text_of(value)
    raise _refuse("text or a number")


def _flag(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise _refuse("true or false")


def _only_true(value: Any) -> bool | None:
    return _flag(value) or None


def _object(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    raise _refuse("an object")


def _filled_object(value: Any) -> dict[str, Any] | None:
    return _object(value) or None


def _structure(value: Any) -> Any:
    if isinstance(value, dict | list):
        return value
    raise _refuse("an object")


def _count(value: Any) -> int:
    if _is_number(value) and 0 <= value < 1 << 53:
        return round(value)
    raise _refuse("a number of 0 or more")


def _progress(value: Any) -> float:
    """Return progress as a number up to 1; a value above 1 is per cent."""
    if not _is_number(value) or value < 0:
        raise _refuse("a number of 0 or more")
    return min(value / 100, 1.0) if value > 1 else value


def _status_code(value: Any) -> int | None:
    """Return a status code; 0 and 200, which some upstreams send with an error, are left out."""
    if not _is_number(value):
        raise _refuse("a number")
    return round(value) if 400 <= value < 600 else None


def _finish_reason(value: Any) -> str | None:
    """Return the standard's finish reason for an upstream's word; an unknown word becomes `stop`."""
    if not isinstance(value, str):
        raise _refuse("text")
    return standard_finish(value) if value else None


def _citations(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        return citations(value)[0]
    raise _refuse("a list of objects")


def _questions(value: Any) -> list[dict[str, Any]] | None:
    if isinstance(value, list) and all(isinstance(item, dict | str) for item in value):
        return questions(value)[0]
    raise _refuse("a list of texts or objects")


def _tool_error(value: Any) -> Any:
    if isinstance(value, dict):
        return tool_error(value.get("message"), code=value.get("code"))
    return tool_error(value)


def _anything(value: Any) -> Any:
    return value


def word(*allowed: str) -> FieldKind:
    """Return the kind of a field that holds one of the given words."""

    def convert(value: Any) -> str:
        if isinstance(value, str) and value in allowed:
            return value
        raise _refuse(f"one of {', '.join(allowed)}")

    return FieldKind(convert, f"one of {', '.join(allowed)}", {"enum": [*allowed]})


TEXT: Final = FieldKind(text_of, "text", {})
ID: Final = FieldKind(_id, "text or a number", {"type": ["string", "number"]})
FLAG: Final = FieldKind(_flag, "true or false", {"type": "boolean"})
TRUE: Final = FieldKind(_only_true, "true or false", {"type": "boolean"})
OBJECT: Final = FieldKind(_object, "a mapping", {"type": "object"})
EXTRA: Final = FieldKind(_filled_object, "a mapping", {"type": "object"})
STRUCTURE: Final = FieldKind(_structure, "a mapping, or a list", {"type": ["object", "array"]})
COUNT: Final = FieldKind(_count, "a number of 0 or more", {"type": "number", "minimum": 0})
PROGRESS: Final = FieldKind(_progress, "a number of 0 or more", {"type": "number", "minimum": 0})
STATUS_CODE: Final = FieldKind(_status_code, "a number", {"type": "number"})
FINISH_REASON: Final = FieldKind(_finish_reason, "text", {"type": "string"})
ARGUMENTS: Final = FieldKind(arguments, "a mapping, or JSON text", {"type": ["object", "string"]})
CITATIONS: Final = FieldKind(_citations, "a list of mappings", {"type": "array", "items": {"type": "object"}})
QUESTIONS: Final = FieldKind(_questions, "a list of texts or mappings", {"type": "array"})
TOOL_ERROR: Final = FieldKind(_tool_error, "text, or a mapping with code and message", {})
ANY: Final = FieldKind(_anything, "anything", {})
