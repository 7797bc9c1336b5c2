"""Compare the types that the newest packages of three protocols model with the committed list.

    python tests/clients/newest_types.py             fails if a type or field is not in the list
    python tests/clients/newest_types.py --update    writes the list

The packages are `openai`, `anthropic` and `ag-ui-protocol`. If they are missing, the script runs itself in an
environment with the newest releases.
The list has one instance of each type, with every field of its model. The tests of the decoders read it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from enum import Enum
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

LIST = Path(__file__).parents[1] / "library" / "dialects" / "newest_types.json"
DEEPEST = 6
"""Models nested deeper have their required fields alone: some contain themselves."""

PACKAGES = {"openai": "openai", "anthropic": "anthropic", "ag-ui-protocol": "ag_ui"}
"""The module of each package."""

COMPARED_WITHIN = 120

_ROLE = "assistant"
"""The role of messages in an answer, where a model has a choice."""

PLAIN: Mapping[Any, Any] = {str: "x", int: 1, float: 1.0, bool: False}

SOURCES = {
    "openai-responses events": [("openai.types.responses", "ResponseStreamEvent")],
    "openai-responses items": [("openai.types.responses", "ResponseOutputItem")],
    "openai-chat objects": [
        ("openai.types.chat", "ChatCompletionChunk"),
        ("openai.types.chat", "ChatCompletion"),
    ],
    "anthropic events": [
        ("anthropic.types", "RawMessageStreamEvent"),
        ("anthropic.types.beta", "BetaRawMessageStreamEvent"),
    ],
    "anthropic blocks": [
        ("anthropic.types", "ContentBlock"),
        ("anthropic.types.beta", "BetaContentBlock"),
    ],
    "anthropic deltas": [
        ("anthropic.types", "RawContentBlockDelta"),
        ("anthropic.types.beta", "BetaRawContentBlockDelta"),
    ],
    "ag-ui events": [("ag_ui.core", "Event")],
}


def members(annotation: Any) -> Iterator[Any]:
    """Yield the alternatives of a union, other than None."""
    if get_origin(annotation) is Annotated:
        yield from members(get_args(annotation)[0])
    elif get_origin(annotation) in (Union, UnionType):
        for alternative in get_args(annotation):
            yield from members(alternative)
    elif annotation is not NoneType:
        yield annotation


def sample(annotation: Any, depth: int = 0) -> Any:
    """Return a JSON value that fits `annotation`."""
    kind = next(members(annotation), NoneType)
    origin = get_origin(kind)
    if origin is Literal:
        words = [*map(word_of, get_args(kind))]
        return _ROLE if _ROLE in words else words[0]
    if origin is list:
        return [sample(get_args(kind)[0], depth + 1)] if depth < DEEPEST else []
    if hasattr(kind, "model_fields"):
        return instance(kind, depth + 1)
    if isinstance(kind, TypeVar) or origin is dict or kind in (dict, object, Any):
        return {}
    return PLAIN.get(kind)


def word_of(value: Any) -> Any:
    """Return the value of a literal; that of an enumeration is inside its member."""
    return value.value if isinstance(value, Enum) else value


def instance(model: Any, depth: int = 0) -> dict[str, Any]:
    """Return an instance of a model, with every field."""
    return {
        field.alias or name: sample(field.annotation, depth)
        for name, field in model.model_fields.items()
        if depth < DEEPEST or field.is_required()
    }


def installed_types() -> dict[str, Any]:
    """Return the versions, and the instances by list and type, of the installed packages."""
    found: dict[str, Any] = {"versions": {name: version(name) for name in PACKAGES}}
    for title, unions in SOURCES.items():
        models = [model for module, name in unions for model in members(getattr(import_module(module), name))]
        found[title] = instances_by_type(models)
    return found


def instances_by_type(models: list[Any]) -> dict[str, dict[str, Any]]:
    """Return an instance for each type; a beta model adds its fields to those of the stable one."""
    found: dict[str, dict[str, Any]] = {}
    for model in models:
        names = model.model_fields
        values = next(members(names["type" if "type" in names else "object"].annotation))
        for value in map(word_of, get_args(values)):
            given = {**instance(model), ("type" if "type" in names else "object"): value}
            found[value] = {**given, **found.get(value, {})}
    return dict(sorted(found.items()))


def missing_types(installed: Mapping[str, Any], listed: Mapping[str, Any]) -> list[str]:
    """Return the types, and the fields of types, that the list lacks."""
    found = []
    for title in SOURCES:
        for name, fields in installed[title].items():
            known = listed[title].get(name)
            if known is None:
                found.append(f"{title}: {name}")
            else:
                found += [f"{title}: {name}.{field}" for field in fields if field not in known]
    return found


def main() -> int:
    """Run the command; return the exit code."""
    if not all(map(find_spec, PACKAGES.values())):
        return main_with_newest()
    installed = installed_types()
    if "--update" in sys.argv[1:]:
        LIST.write_text(json.dumps(installed, indent=1) + "\n")
        return 0
    missing = missing_types(installed, json.loads(LIST.read_text()))
    print(*missing, sep="\n", end="\n" * bool(missing))
    print(f"types of {installed['versions']}: {len(missing)} are not in {LIST.name}")
    return 1 if missing else 0


def main_with_newest() -> int:
    """Run this script where the newest releases are installed."""
    from environments import environment

    python = environment("clients/newest-types", *PACKAGES, upgraded=True)
    command = [str(python), __file__, *sys.argv[1:]]
    return subprocess.run(command, timeout=COMPARED_WITHIN, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
