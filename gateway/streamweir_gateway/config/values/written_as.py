"""Values that have another form in the file than in the gateway."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

__all__ = ["LISTED", "Listed", "ShortFor", "WrittenAs", "items_of", "values_of"]


@dataclass(frozen=True)
class WrittenAs:
    """Annotates a field of another type in the file: `Annotated[tuple, WrittenAs(dict, values_of)]`."""

    kind: Any
    """The type of the value in the file."""
    convert: Callable[[Any], object]
    """Converts the validated value of the file to the field's value."""

    def __get_pydantic_core_schema__(self, _source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.convert, handler.generate_schema(self.kind))


@dataclass(frozen=True)
class Listed:
    """Annotates a list whose single item may be written without the list: `methods: POST`."""

    of_mappings: bool = False
    """Whether the items are mappings."""

    def read(self, value: Any) -> Any:
        """Return the value as a list."""
        is_item = isinstance(value, dict) if self.of_mappings else not isinstance(value, dict)
        return [value] if is_item and value is not None and not isinstance(value, list | tuple) else value

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self.read, handler(source))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        listed = handler(core)
        return {"anyOf": [listed, listed["items"]]}


LISTED: Final = Listed()


@dataclass(frozen=True)
class ShortFor:
    """Annotates a section with a short form, which merging replaces by the long form."""

    form: Any
    """The JSON Schema of the short form."""

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [dict(self.form), handler(core)]}


def values_of(mapping: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the values of a mapping whose values contain their keys."""
    return tuple(mapping.values())


def items_of(mapping: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Return the key-value pairs of a mapping that is only iterated."""
    return tuple(mapping.items())
