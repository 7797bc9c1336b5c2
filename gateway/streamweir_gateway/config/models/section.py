"""The common parts of all models: the base class, the forms of defaults, and values that merging adds."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidatorFunctionWrapHandler, WrapValidator
from pydantic_core import PydanticCustomError

__all__ = [
    "DERIVED",
    "Derived",
    "Section",
    "absent",
    "derived",
    "empty",
    "made_by",
    "written",
    "written_keys",
]

SectionType = TypeVar("SectionType", bound="Section")


class Section(BaseModel):
    """A mapping in the file. `model_fields_set` names the keys that were written in it or merged into it."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, hide_input_in_errors=True)


class Derived(NamedTuple):
    """A value that merging adds. No file can contain it."""

    value: object


def _unwrap(value: Any, read: ValidatorFunctionWrapHandler) -> Any:
    if not isinstance(value, Derived):
        # What pydantic says of a key that a model does not have.
        raise PydanticCustomError("extra_forbidden", "the file cannot hold this key")
    return read(value.value)


DERIVED: Final = WrapValidator(_unwrap)
"""Annotates a field whose value merging adds. In a file its key is unknown, like any unknown key."""


def written(default: str | list[Any]) -> Any:
    """Return a field's default in the form of a file: it is read like a value, and shown so in the schema."""
    return Field(default)


def absent(*, hidden: bool = False) -> Any:
    """Return the default None of a key that the file may leave out, but not set to null.

    Args:
        hidden: whether the `repr` leaves the value out.
    """
    return Field(None, validate_default=False, repr=not hidden)


def derived(default: object = None, *, hidden: bool = False) -> Any:
    """Return the default of a field that merging fills in. A `hidden` field is left out of the `repr`."""
    return Field(default, validate_default=False, repr=not hidden)


def empty(*, hidden: bool = False) -> Any:
    """Return the default of a mapping missing in the file. A `hidden` field is left out of the `repr`."""
    return Field(default_factory=dict, repr=not hidden)


def made_by(section: type[SectionType]) -> Any:
    """Return the default of a section that the file does not contain."""
    return Field(default_factory=section)


def written_keys(section: type[Section]) -> list[str]:
    """Return the keys that a file may have in `section`."""
    return [name for name, field in section.model_fields.items() if DERIVED not in field.metadata]
