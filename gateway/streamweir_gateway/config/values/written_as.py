"""Values whose shape in the file differs from the shape in the gateway."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

__all__ = ["LISTED", "Listed", "ShortFor", "WrittenAs", "items_of", "values_of"]


@dataclass(frozen=True)
class WrittenAs:
    """Annotates a field: `Annotated[tuple[Thing, ...], WrittenAs(Mapping[str, Thing], values_of)]`."""

    kind: Any
    """The shape in the file."""
    convert: Callable[[Any], object]
    """Returns the field's value, given the file's value, validated."""

    def __get_pydantic_core_schema__(self, _source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.convert, handler.generate_schema(self.kind))


@dataclass(frozen=True)
class Listed:
    """Annotates a list whose single item can be written without the list: `methods: POST`."""

    of_mappings: bool = False
    """Its items are mappings."""

    def read(self, value: Any) -> Any:
        """Return a list."""
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
    """Annotates a section with a short form, which merging writes out."""

    form: Any
    """The JSON Schema of that form."""

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [dict(self.form), handler(core)]}


def values_of(mapping: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the values of a mapping whose keys the values hold themselves."""
    return tuple(mapping.values())


def items_of(mapping: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Return the pairs of a mapping that is only ever walked."""
    return tuple(mapping.items())
