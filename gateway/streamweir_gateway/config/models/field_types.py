"""Types of fields that several models use."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final, TypeAlias, TypeVar

from pydantic import AfterValidator, BeforeValidator, ValidationInfo, WithJsonSchema

from streamweir.yaml_files.unresolved import Unresolved
from streamweir_gateway.config.diagnostics import InvalidValue
from streamweir_gateway.config.values.http import HEADER_NAME, HEADER_VALUE
from streamweir_gateway.config.values.rates import RATE_LIMIT, RateLimit
from streamweir_gateway.config.values.scalars import FLAG, TEXT, text_schema, whole_number
from streamweir_gateway.config.values.units import DURATION, DURATION_OR_OFF, SIZE
from streamweir_gateway.config.values.written_as import WrittenAs, items_of

__all__ = [
    "NAMED",
    "NOT_EMPTY",
    "ONE_OR_MORE",
    "READ_ONLY",
    "AtLeastOne",
    "Duration",
    "DurationOrOff",
    "FilePath",
    "Flag",
    "Headers",
    "Rate",
    "Size",
    "Text",
    "one_or_more",
]

Item = TypeVar("Item")


def one_or_more(rule: str) -> BeforeValidator:
    """Return a validator that accepts a single string as a list of one; `rule` is the message for other
    values.
    """

    def read(value: Any) -> Any:
        if isinstance(value, str):
            return [value]
        if value is None or isinstance(value, list):
            return value
        raise InvalidValue(rule)

    return BeforeValidator(read)


def _not_empty(items: tuple[Item, ...]) -> tuple[Item, ...]:
    if not items:
        raise InvalidValue("must name at least one")
    return items


def _named(value: Any) -> Any:
    if value == {}:
        raise InvalidValue("must name at least one")
    return {} if isinstance(value, Unresolved) else value


def _beside_the_file(path: str, info: ValidationInfo) -> str:
    """Return a path that the process can open: a relative path starts at the folder of the file."""
    return path if info.context is None or isinstance(path, Unresolved) else str(info.context / path)


NOT_EMPTY: Final = AfterValidator(_not_empty)
"""Annotates a list that must not be empty."""
NAMED: Final = BeforeValidator(_named)
"""Annotates a mapping by name that must not be empty."""
READ_ONLY: Final = AfterValidator(MappingProxyType)
"""Annotates a mapping that becomes read-only."""
ONE_OR_MORE: Final = WithJsonSchema(
    {"anyOf": [text_schema(), {"type": "array", "items": text_schema(), "minItems": 1}]}
)

Text: TypeAlias = Annotated[str, TEXT]
Flag: TypeAlias = Annotated[bool, FLAG]
AtLeastOne: TypeAlias = Annotated[int, whole_number(1)]
Duration: TypeAlias = Annotated[float, DURATION]
DurationOrOff: TypeAlias = Annotated[float | None, DURATION_OR_OFF]
Size: TypeAlias = Annotated[int, SIZE]
Rate: TypeAlias = Annotated[RateLimit | None, RATE_LIMIT]
FilePath: TypeAlias = Annotated[str | None, TEXT, AfterValidator(_beside_the_file)]
Headers: TypeAlias = Annotated[
    tuple[tuple[str, str], ...],
    WrittenAs(Mapping[Annotated[str, HEADER_NAME], Annotated[str, HEADER_VALUE]], items_of),
    WithJsonSchema({"type": "object", "additionalProperties": {"type": "string"}}),
]
