"""The layers over each other: built-in default < `defaults` < the upstream's < the endpoint's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from streamweir_gateway.config.diagnostics import KeyPath
from streamweir_gateway.config.http import demo_dialect
from streamweir_gateway.config.models import GatewayFile, OnDisconnectSection, OptionsSection, WarningSection
from streamweir_gateway.config.resolved import (
    Auth,
    Breaker,
    Cors,
    EndpointConfig,
    GatewayConfig,
    InjectedWarning,
    Limits,
    Retries,
    ServerConfig,
    Timeouts,
    Tls,
    UpstreamConfig,
)
from streamweir_gateway.config.sections import Section
from streamweir_gateway.config.upstream_sections import UpstreamSection

__all__ = ["Layer", "Origin", "layers_of", "merged_timeouts", "settle", "url_of"]

_BUILT_IN: Final = OptionsSection()


class Layer(NamedTuple):
    """A section of the file and where it stands."""

    path: KeyPath
    section: Section


class Origin(NamedTuple):
    """A value after merging, and where it was written."""

    value: float | None
    layer: int
    """The higher, the closer to the endpoint; -1 is the built-in default."""
    path: KeyPath


Layers: TypeAlias = tuple[Layer, ...]


def layers_of(file: GatewayFile, template: str, reference: str) -> Layers:
    """Return the sections that speak about one upstream of an endpoint, the weakest first."""
    upstream = file.upstreams.get(reference)
    return (
        Layer(("defaults",), file.defaults),
        *([Layer(("upstreams", reference), upstream)] if upstream else []),
        Layer(("endpoints", template), file.endpoints[template]),
    )


def merged_timeouts(layers: Layers) -> dict[str, Origin]:
    """Return each timeout with the place that it comes from."""
    merged = {name: Origin(value, -1, ()) for name, value in _BUILT_IN.timeouts}
    for number, (path, section) in enumerate(layers):
        timeouts = getattr(section, "timeouts", _BUILT_IN.timeouts)
        for name in timeouts.model_fields_set:
            merged[name] = Origin(getattr(timeouts, name), number, (*path, "timeouts", name))
    return merged


def url_of(file: GatewayFile, reference: str) -> str:
    """Return the URL, or `demo:<dialect>`, that an endpoint's `upstream` stands for."""
    named = file.upstreams.get(reference)
    return named.url if named else reference


def settle(file: GatewayFile, folder: Path) -> GatewayConfig:
    """Return the configuration of a file that has passed every rule and stands in `folder`."""
    return GatewayConfig(
        listen=file.listen,
        endpoints=tuple(_settle_endpoint(file, template, folder) for template in file.endpoints),
        auth=Auth(keys=file.auth.keys) if file.auth else None,
        rate_limit=file.rate_limit,
        cors=Cors(origins=file.cors.origins) if file.cors else None,
        server=ServerConfig(**dict(file.server)),
        debug=file.debug,
    )


def _settle_endpoint(file: GatewayFile, template: str, folder: Path) -> EndpointConfig:
    endpoint = file.endpoints[template]
    # What an upstream says as well belongs to the upstreams; of the rest, no upstream says anything.
    layers = (Layer(("defaults",), file.defaults), Layer(("endpoints", template), endpoint))
    after_leaving = _strongest(layers, "on_disconnect")
    return EndpointConfig(
        template=template,
        upstreams=tuple(
            _settle_upstream(file, reference, layers_of(file, template, reference), folder)
            for reference in endpoint.upstream
        ),
        path=endpoint.path,
        on_disconnect=(
            after_leaving.continue_for if isinstance(after_leaving, OnDisconnectSection) else after_leaving
        ),
        protocol_options=_merged_options(layers),
        limits=Limits(**_merged_section(layers, "limits")),
        warnings=tuple(map(_settle_warning, _strongest(layers, "warnings"))),
        **{name: _strongest(layers, name) for name in _TAKEN_WHOLE},
    )


def _settle_upstream(file: GatewayFile, reference: str, layers: Layers, folder: Path) -> UpstreamConfig:
    url = url_of(file, reference)
    demo = demo_dialect(url)
    named = file.upstreams.get(reference)
    return UpstreamConfig(
        name=reference if named else None,
        url=url if demo is None else None,
        demo=demo,
        speaks=_strongest(layers, "speaks"),
        headers=_merged_headers(layers),
        timeouts=Timeouts(**{name: origin.value for name, origin in merged_timeouts(layers).items()}),
        **(_settle_connection(named, folder) if named else {}),
    )


def _settle_connection(upstream: UpstreamSection, folder: Path) -> dict[str, Any]:
    """Return what only a named upstream can say."""
    retries, breaker, tls = upstream.retries, upstream.breaker, upstream.tls
    return {
        "retries": Retries(attempts=retries.attempts, backoff=retries.backoff, on=frozenset(retries.on)),
        "breaker": Breaker(**dict(breaker)) if breaker else None,
        "max_streams": upstream.max_streams,
        "tls": Tls(
            verify=tls.verify,
            **{name: _beside(folder, getattr(tls, name)) for name in ("ca", "cert", "key")},
        ),
        "transport": upstream.transport,
    }


def _beside(folder: Path, path: str | None) -> str | None:
    """Return a path as the process finds it: a relative one starts at the file's folder."""
    return None if path is None else str(folder / path)


_TAKEN_WHOLE: Final = tuple(
    option.name
    for option in fields(EndpointConfig)
    if option.name
    not in {
        "template",
        "upstreams",
        "path",
        "on_disconnect",
        "protocol_options",
        "limits",
        "warnings",
    }
)
"""Options of which the strongest layer's value holds as it is."""


def _said(layers: Layers, name: str) -> Iterator[Any]:
    """Yield what the layers that say anything about `name` say, the weakest first."""
    for _, section in layers:
        if name in section.model_fields_set:
            yield getattr(section, name)


def _strongest(layers: Layers, name: str) -> Any:
    value = getattr(_BUILT_IN, name)
    for value in _said(layers, name):  # noqa: B007 - the last one is the answer
        pass
    return value


def _merged_section(layers: Layers, name: str) -> dict[str, Any]:
    merged = dict(getattr(_BUILT_IN, name))
    for section in _said(layers, name):
        merged |= {key: getattr(section, key) for key in section.model_fields_set}
    return merged


def _merged_headers(layers: Layers) -> tuple[tuple[str, str], ...]:
    merged: dict[str, tuple[str, str]] = {}
    for headers in _said(layers, "headers"):
        merged |= {name.lower(): (name, value) for name, value in headers.items()}
    return tuple(merged.values())


def _merged_options(layers: Layers) -> Mapping[str, Mapping[str, str]]:
    merged: dict[str, dict[str, str]] = {}
    for by_dialect in _said(layers, "protocol_options"):
        for dialect, options in by_dialect.items():
            merged.setdefault(dialect, {}).update(options)
    return MappingProxyType({dialect: MappingProxyType(options) for dialect, options in merged.items()})


def _settle_warning(warning: WarningSection) -> InjectedWarning:
    return InjectedWarning(message=warning.message, message_code=warning.message_code)
