"""Defines single values of the file for pydantic: a function that reads a value, and its JSON Schema.

pydantic's own types would quote values in messages, and convert more than the contract allows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from streamweir.options.durations import OFF
from streamweir.yaml_files.unresolved import Unresolved
from streamweir_gateway.config.diagnostics import InvalidValue, UnclearValue, not_this

__all__ = [
    "COUNT",
    "FLAG",
    "FLAG_ON",
    "NAME",
    "NAME_PATTERN",
    "OFF_SCHEMA",
    "REFERENCE_SCHEMA",
    "TEXT",
    "WORKERS",
    "Scalar",
    "any_of",
    "choice",
    "is_off",
    "or_off",
    "read_text",
    "text_schema",
    "whole_number",
]

NAME_PATTERN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")

_KEEP: Final = object()
REFERENCE_SCHEMA: Final = {"type": "string", "pattern": r"\$\{"}
MAX_COUNT: Final = 1_000_000_000
"""The largest accepted count. It is larger than any sensible value, and safe for all uses."""

_YES: Final = ("true", "yes", "on")
_NO: Final = ("false", "no", "off")
OFF_SCHEMA: Final[Mapping[str, Any]] = {"enum": [OFF, False, "false", "no"]}
AUTO: Final = "auto"


@dataclass(frozen=True)
class Scalar:
    """Annotates a field that is a single value: `Annotated[int, Scalar(parse, {...}, stand_in=0)]`."""

    parse: Callable[[Any], object]
    """Converts a value of the file to the field's value, or raises `InvalidValue`."""
    schema: Mapping[str, Any]
    stand_in: Any = _KEEP
    """Replaces an unresolved value, if its text would not be valid here."""
    is_key: bool = False
    """Whether the value is a key of a mapping. References in keys are not filled in."""

    def read(self, value: Any) -> object:
        """Return the parsed value; an unresolved value is not parsed."""
        if value is None:
            raise InvalidValue("has no value")
        if isinstance(value, Unresolved):
            return value if self.stand_in is _KEEP else self.stand_in
        return self.parse(value)

    def __get_pydantic_core_schema__(self, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(
        self, _core: CoreSchema, _handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        if self.is_key:
            return dict(self.schema)
        return {"anyOf": [dict(self.schema), REFERENCE_SCHEMA]}


def text_schema(pattern: str = "") -> dict[str, Any]:
    """Return the JSON Schema of a non-empty string, which matches `pattern` if that is given."""
    return {"type": "string", "pattern": pattern} if pattern else {"type": "string", "minLength": 1}


def read_text(value: Any) -> str:
    """Return `value` if it is a non-empty string.

    Raises:
        InvalidValue: `value` is not a non-empty string.
    """
    if not isinstance(value, str):
        raise InvalidValue(
            "must be a string" if isinstance(value, list | dict) else "must be a string; put it in quotes"
        )
    if not value:
        raise InvalidValue("is empty")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise InvalidValue("is not valid Unicode: it holds half a character")
    return value


def _read_name(value: Any) -> str:
    if not isinstance(value, str) or not NAME_PATTERN.fullmatch(value):
        raise InvalidValue("must be a name of letters, digits and _ . -")
    return value


def any_of(*names: str) -> str:
    """Return the names in words: `a, b or c`."""
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def choice(*names: str) -> Scalar:
    """Return the scalar of one word out of the given names."""

    def read(value: Any) -> str:
        if value in names:
            return cast(str, value)
        raise InvalidValue(f"must be {any_of(*names)}", not_this(value))

    return Scalar(read, {"enum": list(names)})


def is_off(value: Any) -> bool:
    """Return whether a value means `off`, in any word that versions of YAML have used for it."""
    return value is False or (isinstance(value, str) and value.lower() in _NO)


def _read_flag(value: Any) -> bool:
    """Return true or false. A text is accepted too, because `${...}` fills in texts only."""
    if is_off(value):
        return False
    if value is True or (isinstance(value, str) and value.lower() in _YES):
        return True
    raise InvalidValue("must be true or false")


def whole_number(minimum: int, maximum: int = MAX_COUNT) -> Scalar:
    """Return the scalar of a whole number. A text is accepted too, because `${...}` fills in texts only."""

    def read(value: Any) -> int:
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
            raise InvalidValue(f"must be a whole number, {minimum} or more")
        if value > maximum:
            raise InvalidValue(f"must be at most {maximum}")
        return value

    number = {"type": "integer", "minimum": minimum, "maximum": maximum}
    return Scalar(read, {"anyOf": [number, {"type": "string", "pattern": "^[0-9]{1,18}$"}]}, stand_in=minimum)


def or_off(scalar: Scalar) -> Scalar:
    """Return `scalar` extended by the word `off`, which means None."""

    def read(value: Any) -> object:
        if is_off(value):
            return None
        try:
            return scalar.parse(value)
        except UnclearValue:
            raise
        except InvalidValue as refusal:
            raise InvalidValue(f"{refusal.message}, or off", refusal.detail) from None

    return Scalar(read, {"anyOf": [dict(scalar.schema), OFF_SCHEMA]}, scalar.stand_in)


def _read_workers(value: Any) -> object:
    if value == AUTO:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        return _COUNTED_WORKERS.parse(value)
    except InvalidValue as refusal:
        raise InvalidValue(f"{refusal.message}, or {AUTO}") from None


NAME: Final = Scalar(_read_name, text_schema(f"^{NAME_PATTERN.pattern}$"), is_key=True)
TEXT: Final = Scalar(read_text, text_schema())
FLAG: Final = Scalar(_read_flag, {"enum": [True, False, *_YES, *_NO]}, stand_in=False)
FLAG_ON: Final = replace(FLAG, stand_in=True)
COUNT: Final = whole_number(0)
_COUNTED_WORKERS: Final = whole_number(1, 1024)
WORKERS: Final = Scalar(
    _read_workers, {"anyOf": [*_COUNTED_WORKERS.schema["anyOf"], {"enum": [AUTO]}]}, stand_in=1
)
"""The number of serving processes."""
