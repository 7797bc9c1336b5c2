"""A single value in the file, as pydantic sees it: a function that reads it, and its JSON Schema.

pydantic's own types would quote values in their messages and convert more than the contract says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from .interpolation import Opaque
from .problems import Refusal
from .units import OFF, parse_duration, parse_size

__all__ = [
    "COUNT",
    "DURATION_OR_OFF",
    "FLAG",
    "SIZE",
    "TEXT",
    "Leaf",
    "choice",
    "only",
    "read_text",
    "text_schema",
]

NOT_SUPPORTED: Final = "not supported by this version"

_KEEP: Final = object()
_REFERENCE_SCHEMA: Final = {"type": "string", "pattern": r"\$\{"}


@dataclass(frozen=True)
class Leaf:
    """Annotates a field of a model: `Annotated[float, Leaf(parse_duration, {...}, stand_in=nan)]`."""

    parse: Callable[[Any], object]
    """Returns the value of what the file holds, or raises `Refusal`."""
    schema: Mapping[str, Any]
    stand_in: Any = _KEEP
    """What an opaque value becomes where its text cannot stand for it."""
    is_key: bool = False
    """Nothing is filled in in keys."""

    def read(self, value: Any) -> object:
        """Return the parsed value; an opaque one is not looked into."""
        if value is None:
            raise Refusal("has no value")
        if isinstance(value, Opaque):
            return value if self.stand_in is _KEEP else self.stand_in
        return self.parse(value)

    def __get_pydantic_core_schema__(self, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(
        self, _core: CoreSchema, _handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        if self.is_key:
            return dict(self.schema)
        return {"anyOf": [dict(self.schema), _REFERENCE_SCHEMA]}


def text_schema(pattern: str = "") -> dict[str, Any]:
    """Return the JSON Schema of a non-empty string, of a `pattern` if one is given."""
    return {"type": "string", "pattern": pattern} if pattern else {"type": "string", "minLength": 1}


def read_text(value: Any) -> str:
    """Return `value` if it is a non-empty string.

    Raises:
        Refusal: it is not.
    """
    if not isinstance(value, str):
        raise Refusal(
            "must be a string" if isinstance(value, list | dict) else "must be a string; put it in quotes"
        )
    if not value:
        raise Refusal("is empty")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise Refusal("is not valid Unicode: it holds half a character")
    return value


def choice(*names: str, later: Sequence[str] = ()) -> Leaf:
    """Return the leaf of one word out of `names`; those in `later` are known, but not built yet."""

    def read(value: Any) -> str:
        if value in names:
            return cast(str, value)
        if value in later:
            raise Refusal(NOT_SUPPORTED, f": {value!r}")
        raise Refusal(f"must be {' or '.join(names)}", f", not {value!r}" if isinstance(value, str) else "")

    return Leaf(read, {"enum": list(names)})


def only(name: str, *later: str) -> Leaf:
    """Return the leaf of a key of which one value is built; a tree in its place is not supported yet."""
    words = choice(name, later=later)

    def read(value: Any) -> object:
        if isinstance(value, dict):
            raise Refusal(NOT_SUPPORTED)
        return words.parse(value)

    return Leaf(read, words.schema)


def _read_flag(value: Any) -> bool:
    """Read true or false; as text too, for that is all that `${...}` can fill in."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value in {"true", "false"}:
        return value == "true"
    raise Refusal("must be true or false")


def _read_count(value: Any) -> int:
    """Read a whole number from 0; as text too, for that is all that `${...}` can fill in."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise Refusal("must be a whole number, 0 or more")
    return value


def _read_duration_or_off(value: Any) -> float | None:
    if value == OFF:
        return None
    try:
        return parse_duration(value)
    except Refusal as refusal:
        raise Refusal(f"{refusal.message}, or off", refusal.detail) from None


_NUMBER_OR = {"type": "number", "exclusiveMinimum": 0}
_DURATION_SCHEMA = {
    "anyOf": [_NUMBER_OR, {"type": "string", "pattern": r"^(off|[0-9]+(\.[0-9]+)?(ms|s|m|h)?)$"}]
}
_SIZE_SCHEMA = {
    "anyOf": [
        {"type": "integer", "minimum": 1},
        {"type": "string", "pattern": "^[0-9]{1,18}(B|KiB|MiB|GiB)?$"},
    ]
}
_COUNT_SCHEMA = {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": "^[0-9]{1,18}$"}]}

TEXT: Final = Leaf(read_text, text_schema())
FLAG: Final = Leaf(_read_flag, {"enum": [True, False, "true", "false"]}, stand_in=False)
COUNT: Final = Leaf(_read_count, _COUNT_SCHEMA, stand_in=0)
SIZE: Final = Leaf(parse_size, _SIZE_SCHEMA, stand_in=1)
# Not a number: no comparison with another duration says that it is too long.
DURATION_OR_OFF: Final = Leaf(_read_duration_or_off, _DURATION_SCHEMA, stand_in=float("nan"))
