"""Finds the effective values of a file, and the place where each value was written.

Values are shown as they are in the file, with references not filled in, and without secrets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, get_args, get_origin

from pydantic.fields import FieldInfo

from streamweir.codec.mapped.problems import path_text
from streamweir.redaction import REDACTED, hide_credentials
from streamweir.redaction.secret_names import is_secret_header, is_secret_name
from streamweir.yaml_files.reading import read_text
from streamweir.yaml_files.report import KeyPath, Position, Report
from streamweir.yaml_files.tree import read_tree
from streamweir_gateway.config.key_places import written_kind
from streamweir_gateway.config.merging import merge
from streamweir_gateway.config.models.gateway import GatewayConfig
from streamweir_gateway.config.models.section import Derived, Section, written_keys

__all__ = ["EffectiveValue", "effective_values"]

_DEFAULT_OF_A_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_]\w*):-[^{}]*\}")
_NO_SECTIONS: Final = frozenset({"defaults", "dialects"})
"""Keys whose parts are not listed: `defaults` is part of every endpoint; the keys of a dialect are free."""


class EffectiveValue(NamedTuple):
    """One effective value.

    Attributes:
        path: the path of the value, such as `endpoints./chat.timeouts.idle`.
        value: the value as a file would have it, without secrets.
        origin: the path at which it was written; empty for a built-in default.
        position: the line and column of the origin; None for a built-in default.
    """

    path: str
    value: Any
    origin: str
    position: Position | None


def effective_values(path: Path) -> Iterator[EffectiveValue]:
    """Yield every value of the file at `path`, which must be valid, in the order of the models."""
    report = Report(str(path))
    tree = read_tree(read_text(path, report), report) or {}
    merged = merge(tree)
    report.origins = merged.origins
    yield from _Walk(report).section(GatewayConfig, merged.tree, ())
    for name in tree.get("dialects") or ():
        yield EffectiveValue(f"dialects.{name}", "home-made", *_place(report, ("dialects", name)))


class _Walk:
    def __init__(self, report: Report) -> None:
        self._report = report

    def section(
        self, section: type[Section], tree: Mapping[str, Any], path: KeyPath
    ) -> Iterator[EffectiveValue]:
        keys = written_keys(section)
        for name in [*keys, *(["upstreams"] if "upstreams" in section.model_fields and path else [])]:
            if path or name not in _NO_SECTIONS:
                yield from self._field(section.model_fields[name], tree.get(name), (*path, name))

    def _field(self, field: FieldInfo, value: Any, path: KeyPath) -> Iterator[EffectiveValue]:
        value = value.value if isinstance(value, Derived) else value
        kind = written_kind([field.annotation, *field.metadata])
        inner = _section_in(kind)
        if isinstance(kind, type) and issubclass(kind, Section):
            if isinstance(value, Mapping) or (value is None and _is_made_by_itself(field)):
                yield from self.section(kind, value or {}, path)
                return
        elif inner is not None and isinstance(value, Mapping | list):
            if isinstance(value, Mapping) and get_origin(kind) is tuple:
                value = [value]  # its one item, without the list around it
            items = value.items() if isinstance(value, Mapping) else enumerate(value)
            for key, item in items:
                yield from self.section(inner, item, (*path, key))
            return
        if path[-1] == "headers" and isinstance(value, Mapping):
            yield from (self._written(text, (*path, name)) for name, text in value.items())
        elif value is not None:
            yield self._written(value, path)
        elif not field.is_required() and (default := _default_of(field)) is not None:
            yield EffectiveValue(path_text(path), default, "", None)

    def _written(self, value: Any, path: KeyPath) -> EffectiveValue:
        origin = self._report.origin_of(path)
        return EffectiveValue(path_text(path), _without_secrets(value, path), *_place(self._report, origin))


def _place(report: Report, origin: KeyPath) -> tuple[str, Position | None]:
    mark = report.marks.get(origin)
    return path_text(origin), mark.value if mark is not None else None


def _section_in(kind: Any) -> type[Section] | None:
    """Return the section that each item of a list or mapping has; None if items are not sections."""
    inner = get_args(kind)
    if not inner or get_origin(kind) is None:
        return None
    item = written_kind([inner[-1] if get_origin(kind) is Mapping or len(inner) == 1 else inner[0]])
    if isinstance(item, type) and issubclass(item, Section):
        return item
    return None


def _is_made_by_itself(field: FieldInfo) -> bool:
    """Return whether a section exists with its defaults if the file does not contain it."""
    return not field.is_required() and isinstance(field.get_default(call_default_factory=True), Section)


def _default_of(field: FieldInfo) -> Any:
    """Return the default of a value in the form in which a file would have it; None without a default."""
    default = field.get_default(call_default_factory=True)
    if isinstance(default, tuple | list):
        return [*default]
    return None if isinstance(default, Mapping | Section) else default


def _is_access(path: KeyPath) -> bool:
    """Return whether this is the `auth` of the gateway or of an endpoint. As a text it is a word: `open`."""
    return path == ("auth",) or (path[:1] == ("endpoints",) and path[2:] == ("auth",))


def _without_secrets(value: Any, path: KeyPath) -> Any:
    if path[:2] == ("auth", "keys") and path[-1] == "key":
        return REDACTED
    if path[-2:-1] == ("headers",) and is_secret_header(str(path[-1])):
        return REDACTED
    if isinstance(value, str) and is_secret_name(str(path[-1])) and not _is_access(path):
        return REDACTED
    if isinstance(value, Mapping):
        return {key: _without_secrets(inner, (*path, key)) for key, inner in value.items()}
    if isinstance(value, list):
        return [_without_secrets(inner, path) for inner in value]
    return hide_credentials(_DEFAULT_OF_A_VARIABLE.sub(r"${\1}", value)) if isinstance(value, str) else value
