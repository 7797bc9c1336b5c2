"""The JSON Schema is the committed one, is valid, and takes what the loader takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from places import HOME_MADE
from streamweir.codec.mapped.schema import dialect_definitions, dialect_schema
from streamweir.yaml_files.report import Report
from streamweir.yaml_files.tree import read_tree
from streamweir_gateway.config.schema import config_schema, schemas

CASES = Path(__file__).with_name("cases")
VALIDATOR = jsonschema.Draft202012Validator(config_schema())


def read(name: str) -> Any:
    """Return a case as an editor sees it: nothing filled in."""
    return read_tree((CASES / name).read_text(encoding="utf-8-sig"), Report(name))


def test_committed_schema_equals_that_of_the_models() -> None:
    message = "write it anew: python -m streamweir_gateway.config.schema"
    for path, text in schemas().items():
        assert path.read_text(encoding="utf-8") == text, message


@pytest.mark.parametrize("path", schemas(), ids=lambda path: path.name)
def test_configuration_schema_is_valid(path: Path) -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", sorted(HOME_MADE.glob("*/dialect.yaml")), ids=lambda path: path.parent.name)
def test_dialect_in_a_separate_file_fits_its_schema(path: Path) -> None:
    validator = jsonschema.Draft202012Validator(dialect_schema())
    tree = read_tree(path.read_text(encoding="utf-8"), Report(path.name))
    validator.validate(tree)
    VALIDATOR.validate({"dialects": {"acme": tree, "other": {"file": "other.yaml"}}, "endpoints": {}})
    assert tree is not None
    assert not validator.is_valid({**tree, "rulez": []})
    assert not validator.is_valid({"rules": [{"emit": {"type": "contnt", "content": "x"}}]})


@pytest.mark.parametrize("name", sorted(path.name for path in CASES.glob("*good-*.yaml")))
def test_good_case_fits_the_schema(name: str) -> None:
    VALIDATOR.validate(read(name))


@pytest.mark.parametrize(
    "name",
    [
        "bad-unknown-key.yaml",
        "bad-durations.yaml",
        "bad-sizes.yaml",
        "bad-words.yaml",
        "bad-no-endpoints.yaml",
        "bad-upstream-missing.yaml",
        "bad-auth-shape-01.yaml",
        "bad-auth-shape-05.yaml",
        "bad-breaker-and-max-streams.yaml",
        "bad-on-disconnect.yaml",
        "bad-rate-limits.yaml",
        "bad-retries.yaml",
        "bad-server-values.yaml",
        "bad-upstream-lists.yaml",
    ],
)
def test_bad_case_does_not_fit_the_schema(name: str) -> None:
    assert not VALIDATOR.is_valid(read(name))


def test_every_key_is_described() -> None:
    schema = config_schema()
    names = schema["$defs"].keys() - dialect_definitions().keys()
    sections = [schema, *(schema["$defs"][name] for name in names)]
    missing = [
        key
        for section in sections
        for key, value in section["properties"].items()
        if not value.get("description") and "$ref" not in value
    ]
    assert missing == []
