"""What the models of the file are made of: their base, and the kinds of values that several hold."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final, TypeAlias, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from streamweir_gateway.config.diagnostics import InvalidValue
from streamweir_gateway.config.http import HEADER_NAME, HEADER_VALUE
from streamweir_gateway.config.interpolation import Unresolved
from streamweir_gateway.config.scalars import FLAG, TEXT, text_schema
from streamweir_gateway.config.units import DURATION, DURATION_OR_OFF, SIZE

__all__ = [
    "NAMED",
    "NOT_EMPTY",
    "ONE_OR_MORE",
    "Duration",
    "DurationOrOff",
    "Flag",
    "Headers",
    "Section",
    "Size",
    "Text",
    "TimeoutsSection",
    "absent",
    "made_by",
    "one_or_more",
    "written",
]

Item = TypeVar("Item")

Text: TypeAlias = Annotated[str, TEXT]
Flag: TypeAlias = Annotated[bool, FLAG]
Duration: TypeAlias = Annotated[float, DURATION]
DurationOrOff: TypeAlias = Annotated[float | None, DURATION_OR_OFF]
Size: TypeAlias = Annotated[int, SIZE]
Headers: TypeAlias = Annotated[
    Mapping[Annotated[str, HEADER_NAME], Annotated[str, HEADER_VALUE]],
    AfterValidator(MappingProxyType),
    WithJsonSchema({"type": "object", "additionalProperties": {"type": "string"}}),
]


class Section(BaseModel):
    """A mapping in the file; `model_fields_set` tells what it really says."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        validate_default=True,
        hide_input_in_errors=True,
        use_attribute_docstrings=True,
    )


def written(default: str | list[Any]) -> Any:
    """Return a field's default as the file would say it: it is read like one, and shown so in the schema."""
    return Field(default)


def absent() -> Any:
    """Return the default None of a key that the file may leave out, but not set to null."""
    return Field(None, validate_default=False)


def made_by(section: type[Section]) -> Any:
    """Return the default of a section that the file does not hold."""
    return Field(default_factory=section)


def one_or_more(rule: str) -> BeforeValidator:
    """Return what takes a single string for a list of one; `rule` is the message about anything else."""

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


NOT_EMPTY: Final = AfterValidator(_not_empty)
"""Annotates a list."""
NAMED: Final = BeforeValidator(_named)
"""Annotates a mapping by name that is not empty."""
ONE_OR_MORE: Final = WithJsonSchema(
    {"anyOf": [text_schema(), {"type": "array", "items": text_schema(), "minItems": 1}]}
)


class TimeoutsSection(Section):
    """How long each part of a stream may take; each may be `off`."""

    connect: DurationOrOff = written("5s")
    """Until the connection to the upstream stands."""
    first_event: DurationOrOff = written("60s")
    """From sending the request to the first decoded event."""
    idle: DurationOrOff = written("120s")
    """Between two bytes from the upstream, after the first event."""
    total: DurationOrOff = written("off")
    """Over all attempts."""
    write: DurationOrOff = written("30s")
    """How long a client may not read."""
