"""Knows the right places of keys, for messages about keys in wrong places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final, get_args, get_origin

from streamweir.yaml_files.report import KeyPath
from streamweir_gateway.config.diagnostics import suggestion
from streamweir_gateway.config.models.endpoint import Defaults, EndpointOptions, Limits
from streamweir_gateway.config.models.gateway import GatewayConfig
from streamweir_gateway.config.models.section import Section, written_keys
from streamweir_gateway.config.models.server import ServerConfig
from streamweir_gateway.config.models.upstream import Timeouts, UpstreamConfig
from streamweir_gateway.config.values.scalars import any_of
from streamweir_gateway.config.values.section_or_keyword import SectionOrKeyword
from streamweir_gateway.config.values.written_as import WrittenAs

__all__ = ["ELSEWHERE", "about_unknown_key", "keys_under", "written_kind"]

ELSEWHERE: Final[Mapping[type[Section], Mapping[str, str]]] = {
    Defaults: {
        "upstream": "stands at each endpoint, not in defaults",
        "path": "stands at each endpoint, not in defaults",
    },
}
"""Keys that are valid but often written in the wrong place."""

_HOMES: Final[Mapping[str, type[Section]]] = {
    "at the top": GatewayConfig,
    "in `defaults` or at an endpoint": EndpointOptions,
    "under `upstreams.NAME`": UpstreamConfig,
    "in `server`": ServerConfig,
    "in `timeouts`": Timeouts,
    "in `limits`": Limits,
}
"""The right place of a key in a wrong place. Only keys with exactly one place are listed."""


def about_unknown_key(path: KeyPath) -> str:
    """Return the message about an unknown key, given the path at which it was written."""
    section, key = _section_at(path[:-1]), str(path[-1])
    if section is GatewayConfig and key.startswith("/"):
        return "the path of an endpoint stands under `endpoints:`, indented"
    if key in ELSEWHERE.get(section, {}):
        return ELSEWHERE[section][key]
    if homes := [home for home, model in _HOMES.items() if key in written_keys(model)]:
        return f"unknown key; {key!r} stands {any_of(*homes)}"
    return f"unknown key{suggestion(key, written_keys(section))}"


def keys_under(path: KeyPath) -> list[str]:
    """Return the keys of the mapping at `path`; empty if its keys are names or it is not a mapping."""
    return list(written_keys(_section_at(path)))


def _section_at(path: KeyPath) -> type[Section]:
    """Return the model of the mapping at `path`."""
    kind: Any = GatewayConfig
    for step in path:
        if isinstance(kind, type) and issubclass(kind, Section):
            field = kind.model_fields[str(step)]
            kind = written_kind([field.annotation, *field.metadata])
        else:
            inner = get_args(kind)
            kind = written_kind([inner[-1] if get_origin(kind) is Mapping else inner[0]])
    return kind if isinstance(kind, type) and issubclass(kind, Section) else Section


def written_kind(annotations: Iterable[Any]) -> Any:
    """Return the type of the value in the file, for a field with these annotations."""
    kind, *metadata = annotations
    if get_origin(kind) is Annotated:
        kind, *inner = get_args(kind)
        metadata = [*inner, *metadata]
    for annotation in metadata:
        if isinstance(annotation, WrittenAs):
            return written_kind([annotation.kind])
        if isinstance(annotation, SectionOrKeyword):
            return annotation.section
    return kind
