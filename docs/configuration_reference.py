"""Writes the reference of the configuration from its schema: every key, its type, its default."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from streamweir.options.durations import DURATION_PATTERN
from streamweir.options.sizes import SIZE_PATTERN
from streamweir_gateway.config.schema import config_schema

__all__ = ["config_reference"]

_REFERENCE: Final = "#/$defs/"
_HEAD: Final = """\
# Configuration reference

Every key of the file, as the models have it. [Configuration](configuration.md) explains them; a
[dialect](home-made-dialects.md) has a page of its own. `live`: a reload takes a change over, streams under
way finish on the old value; `restart`: only a restart does. Where a key has no default it has no effect until
it is set; **bold** keys must be there.
"""
_TAIL: Final = "<!-- `make docs` writes this page from the models. -->\n"
_ELSEWHERE: Final = frozenset({"Dialect", "Defaults"})
"""Sections that have their own page, or whose keys another section has."""

_WORDS: Final = {
    f"^{DURATION_PATTERN}$": "duration",
    f"^{SIZE_PATTERN}$": "size",
    r"\$\{": "",
    "^[0-9]{1,18}$": "",
}
"""The names of patterns. `${...}` is allowed in every value and is not mentioned."""

_TYPES: Final = {"integer": "number", "number": "number", "boolean": "true, false", "string": "text"}


def config_reference(restart: Collection[str]) -> str:
    """Return the page of the reference. `restart` names the keys whose change needs a restart."""
    schema = config_schema()
    definitions = schema["$defs"]
    places: dict[str, list[str]] = {}
    _find_places(schema, "", definitions, places)
    parts = [_HEAD, "## Top level\n", _table(schema, ("",), restart, definitions)]
    for name, paths in places.items():
        parts += [f"## {' and '.join(f'`{path}`' for path in paths)}\n"]
        if description := definitions[name].get("description"):
            parts.append(f"{' '.join(description.split())}\n")
        parts.append(_table(definitions[name], tuple(paths), restart, definitions))
    return "\n".join([*parts, _TAIL])


def _find_places(
    section: Mapping[str, Any], path: str, definitions: Mapping[str, Any], places: dict[str, list[str]]
) -> None:
    """Note the place of each section, in the order of the file."""
    for key, value in section.get("properties", {}).items():
        for name, suffix in _sections_in(value):
            here = f"{path}.{key}{suffix}".removeprefix(".")
            if name in _ELSEWHERE and name != "Defaults":
                continue
            target = "EndpointConfig" if name == "Defaults" else name
            known = places.setdefault(target, [])
            if not any(here.endswith(other.rpartition(".")[2]) for other in known):
                known.append(here)
                _find_places(definitions[target], here, definitions, places)


def _sections_in(value: Any, suffix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the sections that a value may be, each with the keys between its key and theirs."""
    if not isinstance(value, Mapping):
        return
    if "$ref" in value:
        yield value["$ref"].removeprefix(_REFERENCE), suffix
    for option in value.get("anyOf", ()):
        yield from _sections_in(option, suffix)
    yield from _sections_in(value.get("items"), f"{suffix}[]")
    for inner in (*value.get("patternProperties", {}).values(), value.get("additionalProperties")):
        yield from _sections_in(inner, f"{suffix}.NAME")


def _table(
    section: Mapping[str, Any],
    paths: tuple[str, ...],
    restart: Collection[str],
    definitions: Mapping[str, Any],
) -> str:
    required = section.get("required", ())
    rows = ["| key | type | default | change | |", "|---|---|---|---|---|"]
    for key, value in section.get("properties", {}).items():
        name = f"**`{key}`**" if key in required else f"`{key}`"
        full = [f"{path}.{key}".removeprefix(".") for path in paths]
        change = "restart" if set(full) & set(restart) else "live"
        text = value.get("description") or _described(value, definitions)
        cells = (name, _type_of(value), _default_of(value), change, " ".join(text.split()))
        rows.append(f"| {' | '.join(map(_escaped, cells))} |")
    return "\n".join(rows) + "\n"


def _described(value: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """Return the description of a section."""
    name = str(value.get("$ref", "")).removeprefix(_REFERENCE)
    return str(definitions.get(name, {}).get("description", ""))


def _default_of(value: Mapping[str, Any]) -> str:
    if value.get("default") in (None, [], {}):
        return ""
    return f"`{json.dumps(value['default'], ensure_ascii=False).strip(chr(34))}`"


def _type_of(value: Any) -> str:
    """Return the allowed values in words, without repetitions."""
    return " or ".join(dict.fromkeys(word for word in _words_of(value) if word)) or "any"


def _words_of(value: Any) -> Iterator[str]:
    if not isinstance(value, Mapping):
        return
    if "$ref" in value:
        yield "section"
    elif "anyOf" in value:
        inner = [word for option in value["anyOf"] for word in _words_of(option)]
        yield from (word for word in inner if not (word == "number" and {"duration", "size"} & {*inner}))
    elif "enum" in value:
        yield _choices(value["enum"])
    elif value.get("pattern") in _WORDS:
        yield _WORDS[value["pattern"]]
    elif value.get("type") == "array":
        yield f"list of {_type_of(value.get('items', {}))}"
    elif value.get("type") == "object":
        yield "mapping"
    else:
        kinds = value.get("type")
        words = [_TYPES.get(str(kind), "") for kind in (kinds if isinstance(kinds, list) else [kinds])]
        yield " or ".join(filter(None, words))


def _choices(values: list[Any]) -> str:
    if True in values and False in values:
        return "true or false"
    return ", ".join(f"`{value}`" for value in values)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")
