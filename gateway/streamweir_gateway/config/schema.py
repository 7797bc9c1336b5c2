"""Makes the JSON Schemas of a configuration file and of a dialect's file, for editors.

`python -m streamweir_gateway.config.schema` writes the schema files anew.
"""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from pydantic.json_schema import GenerateJsonSchema

from streamweir.codec.mapped.schema import dialect_definitions, dialect_schema
from streamweir_gateway.config.models import GatewayConfig
from streamweir_gateway.config.models.section import Section

__all__ = ["DIALECT_SCHEMA_FILE", "SCHEMA_FILE", "config_schema", "schema_text", "schemas"]

SCHEMA_FILE: Final = Path(__file__).with_name("config.schema.json")
DIALECT_SCHEMA_FILE: Final = Path(__file__).with_name("dialect.schema.json")


_ONE_OF_THESE: Final = {"EndpointConfig": ("upstream", "models"), "ModelConfig": ("upstream", "alias")}
"""For each definition, the keys of which at least one is required."""

_ONLY_OFF: Final = {"enum": ["off", False], "description": "Not built yet."}
_DIALECT: Final = {"$ref": "#/$defs/Dialect"}
_FILE: Final = {
    "type": "object",
    "properties": {"file": {"type": "string"}},
    "required": ["file"],
    "additionalProperties": False,
}
_PYTHON: Final = {
    "type": "object",
    "properties": {"python": {"type": "string", "pattern": "^[^:]+:[^:]+$"}},
    "required": ["python"],
    "additionalProperties": False,
}


def config_schema() -> dict[str, Any]:
    """Return the schema (draft 2020-12) of a configuration file, with references not filled in."""
    schema = GatewayConfig.model_json_schema()
    _describe(schema, GatewayConfig)
    for section in _sections_below(Section):
        _describe(schema["$defs"].get(section.__name__, {}), section)
    # what dialects hold is checked where they are compiled, and described by a schema of its own
    schema["properties"]["dialects"]["additionalProperties"] = {"anyOf": [_DIALECT, _FILE, _PYTHON]}
    definitions = {**schema.pop("$defs", {}), **dialect_definitions()}
    for part, key in (
        (schema, "otel"),
        (definitions["ServerConfig"], "doctor"),
        (definitions["EndpointConfig"], "shadow"),
    ):
        part["properties"][key] = _ONLY_OFF
    for name, keys in _ONE_OF_THESE.items():
        definitions[name].pop("required", None)
        definitions[name]["anyOf"] = [{"required": [key]} for key in keys]
    _refer(definitions["Defaults"]["properties"], definitions["EndpointConfig"]["properties"])
    return {"$schema": GenerateJsonSchema.schema_dialect, **schema, "$defs": definitions}


def _refer(properties: dict[str, Any], shared: Mapping[str, Any]) -> None:
    """Replace properties that are equal in the schema of endpoints by references to those."""
    for key, value in properties.items():
        if value == shared.get(key):
            properties[key] = {"$ref": f"#/$defs/EndpointConfig/properties/{key}"}


def _sections_below(section: type[Section]) -> Iterator[type[Section]]:
    for inner in section.__subclasses__():
        yield inner
        yield from _sections_below(inner)


def _describe(schema: dict[str, Any], section: type[Section]) -> None:
    """Add the docstrings of a section's fields to its schema.

    If pydantic added them, every start of a gateway would read the source of all sections.
    """
    for base in reversed(section.__mro__):
        for name, text in _field_docstrings(base) if issubclass(base, Section) else ():
            described = schema.get("properties", {}).get(name)
            if described is not None:
                schema["properties"][name] = dict(sorted({**described, "description": text}.items()))


def _field_docstrings(section: type[Section]) -> Iterator[tuple[str, str]]:
    """Yield the names of the fields that a class defines itself, each with its docstring."""
    tree = ast.parse(inspect.getsource(section))
    for field, behind in pairwise(next(node for node in tree.body if isinstance(node, ast.ClassDef)).body):
        match field, behind:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, inspect.cleandoc(text)


def schema_text(schema: Mapping[str, Any]) -> str:
    """Return the text of a schema as it is committed next to the models."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def schemas() -> dict[Path, str]:
    """Return the text of each schema file: of a configuration, and of a dialect's file."""
    return {SCHEMA_FILE: schema_text(config_schema()), DIALECT_SCHEMA_FILE: schema_text(dialect_schema())}


if __name__ == "__main__":
    for path, text in schemas().items():
        path.write_text(text, encoding="utf-8")
