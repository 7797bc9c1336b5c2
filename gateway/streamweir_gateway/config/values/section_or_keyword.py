"""A mapping in the file that a word can replace: `breaker: off`, `auth: open`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from streamweir.options.durations import OFF
from streamweir.yaml_files.unresolved import Unresolved
from streamweir_gateway.config.diagnostics import InvalidValue, not_this
from streamweir_gateway.config.values.scalars import OFF_SCHEMA, REFERENCE_SCHEMA, any_of, is_off

__all__ = ["SectionOrKeyword"]


@dataclass(frozen=True)
class SectionOrKeyword:
    """Annotates a section that a word can replace: `Annotated[A | None, SectionOrKeyword(A, {"off": None})]`.

    The field is None if the key is absent or if a word means None, but the file must not say null.
    """

    section: type[BaseModel]
    words: Mapping[str, object] = field(default_factory=dict)
    """The meaning of each allowed word."""
    example: str = "a mapping"
    """The words by which a message describes the mapping."""

    quotes: bool = True
    """Whether a message may quote a wrong word. A wrong word in place of keys may be a key."""

    def read(self, value: Any, read_section: core_schema.ValidatorFunctionWrapHandler) -> object:
        """Return the value of the word, or else the section. An unresolved value counts as the first word."""
        if self.words and not isinstance(value, dict | self.section | None):
            if isinstance(value, Unresolved):
                return next(iter(self.words.values()))
            if OFF in self.words and is_off(value):
                value = OFF
            if not isinstance(value, str) or value not in self.words:
                shown = not_this(value) if self.quotes else ""
                raise InvalidValue(f"must be {any_of(*self.words, self.example)}", shown)
            return self.words[value]
        return read_section(value)

    def __get_pydantic_core_schema__(self, _source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_wrap_validator_function(self.read, handler.generate_schema(self.section))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        section = handler(core)
        if not self.words:
            return section
        words = OFF_SCHEMA["enum"] if OFF in self.words else []
        words = [*self.words, *(word for word in words if word not in self.words)]
        return {"anyOf": [section, {"enum": words}, dict(REFERENCE_SCHEMA)]}
