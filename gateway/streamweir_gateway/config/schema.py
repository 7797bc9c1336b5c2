"""The JSON Schema of the file, for editors. `python -m streamweir_gateway.config.schema` writes it anew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from pydantic.json_schema import GenerateJsonSchema

from streamweir_gateway.config.models import GatewayConfig

__all__ = ["SCHEMA_FILE", "config_schema", "schema_text"]

SCHEMA_FILE: Final = Path(__file__).with_name("config.schema.json")


def config_schema() -> dict[str, Any]:
    """Return the schema (draft 2020-12) of what a file may hold before anything is filled in."""
    schema = GatewayConfig.model_json_schema()
    return {"$schema": GenerateJsonSchema.schema_dialect, **schema}


def schema_text() -> str:
    """Return the schema as it is committed beside the models."""
    return json.dumps(config_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    SCHEMA_FILE.write_text(schema_text(), encoding="utf-8")
