"""The rules that look at more than one value: dialects, names, paths and the order of timeouts."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final

from .http import demo_dialect, is_url
from .interpolation import Opaque
from .merging import Layer, Origin, layers_of, merged_timeouts, url_of
from .models import GatewayFile, OptionsSection, UpstreamSection
from .problems import KeyPath, Report, suggestion
from .templates import placeholders, shape
from .units import format_duration

__all__ = ["DialectCatalogue", "check_rules"]

AUTO: Final = "auto"
"""The word for finding out the upstream's dialect from its first bytes."""

_ORDER: Final = (("connect", "first_event"), ("first_event", "total"), ("idle", "total"))
_LISTS: Final[Mapping[str, Callable[[str], str]]] = {
    "methods": str,
    "answers": str,
    "forward_headers": str.lower,
    "forward_query": str,
    "forward_response_headers": str.lower,
}
"""Lists that name nothing twice, and what makes two names the same."""


@dataclass(frozen=True)
class DialectCatalogue:
    """The dialects that there are, as far as a configuration has to know them."""

    decoders: frozenset[str]
    """Names that `speaks` may hold."""
    encoders: frozenset[str]
    """Names that `answers` may hold."""
    options: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    """By dialect and option, the values allowed; an empty tuple allows any."""


@dataclass(frozen=True)
class _Rules:
    file: GatewayFile
    dialects: DialectCatalogue
    report: Report

    def option_layers(self) -> Iterator[tuple[KeyPath, OptionsSection]]:
        yield ("defaults",), self.file.defaults
        for template, endpoint in self.file.endpoints.items():
            yield ("endpoints", template), endpoint


def check_rules(file: GatewayFile, dialects: DialectCatalogue, report: Report) -> None:
    """Report all that is wrong with values which are each well-formed."""
    rules = _Rules(file, dialects, report)
    if not file.endpoints and not report.problems:
        report.at_value(("endpoints",), "must name at least one endpoint")
    for path, section in rules.option_layers():
        _check_options(rules, path, section)
    for name, upstream in file.upstreams.items():
        _check_upstream(rules, ("upstreams", name), upstream)
    for template in file.endpoints:
        _check_endpoint(rules, template)
    _check_collisions(rules)


def _check_options(rules: _Rules, path: KeyPath, section: OptionsSection) -> None:
    _check_speaks(rules, path, section.speaks)
    for index, name in enumerate(section.answers):
        _check_name(rules, (*path, "answers", index), name, rules.dialects.encoders, "output protocol")
    for key, fold in _LISTS.items():
        _check_repetition(rules, (*path, key), getattr(section, key), fold)
    _check_header_names(rules, (*path, "headers"), section.headers)
    for dialect, options in section.protocol_options.items():
        _check_dialect_options(rules, (*path, "protocol_options", dialect), dialect, options)


def _check_upstream(rules: _Rules, path: KeyPath, upstream: UpstreamSection) -> None:
    _check_speaks(rules, path, upstream.speaks)
    _check_header_names(rules, (*path, "headers"), upstream.headers)
    _check_demo(rules, (*path, "url"), upstream.url)


def _check_endpoint(rules: _Rules, template: str) -> None:
    path: KeyPath = ("endpoints", template)
    upstream = rules.file.endpoints[template].upstream
    _check_demo(rules, (*path, "upstream"), upstream)
    if not isinstance(upstream, Opaque) and not is_url(upstream) and demo_dialect(upstream) is None:
        _check_name(rules, (*path, "upstream"), upstream, rules.file.upstreams, "upstream")
    _check_path(rules, template)
    _check_order(rules, layers_of(rules.file, template))


def _check_speaks(rules: _Rules, path: KeyPath, name: str) -> None:
    _check_name(rules, (*path, "speaks"), name, rules.dialects.decoders | {AUTO}, "dialect")


def _check_demo(rules: _Rules, path: KeyPath, url: str) -> None:
    dialect = demo_dialect(url)
    if dialect is not None and not isinstance(url, Opaque):
        _check_name(rules, path, dialect, rules.dialects.decoders, "dialect")


def _check_name(rules: _Rules, path: KeyPath, name: str, known: Collection[str], what: str) -> None:
    if not isinstance(name, Opaque) and name not in known:
        rules.report.at_value(path, f"unknown {what}", f" {name!r}{suggestion(name, known)}")


def _check_repetition(
    rules: _Rules, path: KeyPath, names: tuple[str, ...], fold: Callable[[str], str]
) -> None:
    seen: set[str] = set()
    for index, name in enumerate(names):
        if fold(name) in seen and not isinstance(name, Opaque):
            rules.report.at_value((*path, index), "is listed twice", f": {name!r}")
        seen.add(fold(name))


def _check_header_names(rules: _Rules, path: KeyPath, headers: Mapping[str, str]) -> None:
    seen: set[str] = set()
    for name in headers:
        if name.lower() in seen:
            rules.report.at_key((*path, name), "duplicate key: header names do not differ by capitals")
        seen.add(name.lower())


def _check_dialect_options(rules: _Rules, path: KeyPath, dialect: str, options: Mapping[str, str]) -> None:
    dialects = rules.dialects.decoders | rules.dialects.encoders
    if dialect not in dialects:
        rules.report.at_key(path, f"unknown dialect{suggestion(dialect, dialects)}")
        return
    known = rules.dialects.options.get(dialect, {})
    for option, value in options.items():
        if option not in known:
            rules.report.at_key((*path, option), f"unknown option of {dialect}{suggestion(option, known)}")
        elif known[option] and value not in known[option] and not isinstance(value, Opaque):
            message = f"must be {' or '.join(known[option])}"
            rules.report.at_value((*path, option), message, f", not {value!r}")


def _check_path(rules: _Rules, template: str) -> None:
    """Check that an endpoint's upstream path can be filled in and appended."""
    endpoint = rules.file.endpoints[template]
    where: KeyPath = ("endpoints", template, "path")
    if endpoint.path is None or isinstance(endpoint.path, Opaque):
        return
    own = placeholders(template)
    for name in placeholders(endpoint.path):
        if name not in own:
            detail = f": {name!r}{suggestion(name, own)}"
            rules.report.at_value(where, "has a name that the endpoint's own path lacks", detail)
    if "?" in url_of(rules.file, endpoint.upstream):
        rules.report.at_value(where, "cannot be appended: the upstream's URL has a query")


def _check_order(rules: _Rules, layers: tuple[Layer, ...]) -> None:
    """Check connect <= first_event <= total and idle <= total, after merging."""
    timeouts = merged_timeouts(layers)
    for shorter, longer in _ORDER:
        if _endless(timeouts[shorter]) > _endless(timeouts[longer]):
            _report_order(rules.report, shorter, longer, timeouts)


def _report_order(report: Report, shorter: str, longer: str, timeouts: Mapping[str, Origin]) -> None:
    """Report at the value that stands closest to the endpoint: it is the one that broke the order."""
    left, right = timeouts[shorter], timeouts[longer]
    detail = f" ({format_duration(left.value)} > {format_duration(right.value)})"
    # Either value would give away itself beside a message at the other one.
    hidden = report.is_filled(left.path) or report.is_filled(right.path)
    closest = left if left.layer >= right.layer else right
    report.at_value(closest.path, f"{shorter} is longer than {longer}" + ("" if hidden else detail))


def _endless(origin: Origin) -> float:
    return math.inf if origin.value is None else origin.value


def _check_collisions(rules: _Rules) -> None:
    """Check that every request has one endpoint, and that the gateway's own paths stay reachable."""
    server = rules.file.server
    if server.health is not None and server.health == server.ready:
        rules.report.at_value(("server", "ready"), "must differ from health")
    for template in rules.file.endpoints:
        for name in ("health", "ready"):
            if template == getattr(server, name):
                rules.report.at_key(("endpoints", template), f"is the path of server.{name}")
    for first, second in combinations(rules.file.endpoints, 2):
        if shape(first) == shape(second):
            _check_methods(rules, first, second)


def _check_methods(rules: _Rules, first: str, second: str) -> None:
    methods = [_methods(rules, template) for template in (first, second)]
    if not methods[0].isdisjoint(methods[1]):
        rules.report.at_key(("endpoints", second), f"matches the same paths and methods as {first}")


def _methods(rules: _Rules, template: str) -> set[str]:
    endpoint = rules.file.endpoints[template]
    said = "methods" in endpoint.model_fields_set
    return set(endpoint.methods if said else rules.file.defaults.methods)
