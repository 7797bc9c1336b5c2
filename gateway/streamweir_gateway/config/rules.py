"""The rules that look at more than one value: dialects, names, paths and the order of timeouts."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Final

from streamweir.options.durations import format_duration
from streamweir_gateway.config.auth_values import ANY_ORIGIN
from streamweir_gateway.config.diagnostics import KeyPath, Report, path_text, quoted, suggestion
from streamweir_gateway.config.http import NEEDS_AUTH, demo_dialect, is_loopback, is_url
from streamweir_gateway.config.interpolation import Unresolved
from streamweir_gateway.config.merging import Layer, Origin, layers_of, merged_timeouts, url_of
from streamweir_gateway.config.models import GatewayFile, OptionsSection
from streamweir_gateway.config.templates import placeholders, shape
from streamweir_gateway.config.upstream_sections import TlsSection, UpstreamSection

__all__ = ["DialectCatalogue", "check_rules"]

AUTO: Final = "auto"
"""The word for finding out the upstream's dialect from its first bytes."""

_ORDER: Final = (("connect", "first_event"), ("first_event", "total"), ("idle", "total"))
_OWN_PATHS: Final = ("health", "ready", "metrics")
"""Keys of `server` that hold paths of the gateway itself."""
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
    """Names that `answers` may hold, and those of demos."""
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
    _check_callers(rules)


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
    _check_repetition(rules, (*path, "retries", "on"), upstream.retries.on, str)
    _check_tls(rules, (*path, "tls"), upstream.tls)


def _check_tls(rules: _Rules, path: KeyPath, tls: TlsSection) -> None:
    if tls.key is not None and tls.cert is None:
        rules.report.at_value((*path, "key"), "is the key of a certificate: name that one as `cert`")
    if tls.ca is not None and not tls.verify:
        rules.report.at_value((*path, "ca"), "contradicts `verify: false`, which trusts any certificate")


def _check_endpoint(rules: _Rules, template: str) -> None:
    path: KeyPath = ("endpoints", template)
    references = rules.file.endpoints[template].upstream
    _check_repetition(rules, (*path, "upstream"), references, str)
    for index, reference in enumerate(references):
        _check_reference(rules, (*path, "upstream", index), reference)
        _check_order(rules, layers_of(rules.file, template, reference))
    _check_path(rules, template)


def _check_reference(rules: _Rules, path: KeyPath, reference: str) -> None:
    _check_demo(rules, path, reference)
    if not is_url(reference) and demo_dialect(reference) is None:
        _check_name(rules, path, reference, rules.file.upstreams, "upstream")


def _check_speaks(rules: _Rules, path: KeyPath, name: str) -> None:
    _check_name(rules, (*path, "speaks"), name, rules.dialects.decoders | {AUTO}, "dialect")


def _check_demo(rules: _Rules, path: KeyPath, url: str) -> None:
    dialect = demo_dialect(url)
    if dialect is not None and not isinstance(url, Unresolved):
        _check_name(rules, path, dialect, rules.dialects.encoders, "demo")


def _check_name(rules: _Rules, path: KeyPath, name: str, known: Collection[str], what: str) -> None:
    if not isinstance(name, Unresolved) and name not in known:
        rules.report.at_value(path, f"unknown {what}", f" {quoted(name)}{suggestion(name, known)}")


def _check_repetition(rules: _Rules, path: KeyPath, names: Sequence[Any], fold: Callable[[Any], str]) -> None:
    seen: set[str] = set()
    for index, name in enumerate(names):
        if fold(name) in seen and not isinstance(name, Unresolved):
            # A URL may hold credentials.
            shown = "" if is_url(str(name)) else f": {name}"
            rules.report.at_value((*path, index), "is listed twice", shown)
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
        elif known[option] and value not in known[option] and not isinstance(value, Unresolved):
            message = f"must be {' or '.join(known[option])}"
            rules.report.at_value((*path, option), message, f", not {quoted(value)}")


def _check_path(rules: _Rules, template: str) -> None:
    """Check that an endpoint's upstream path can be filled in and appended."""
    endpoint = rules.file.endpoints[template]
    where: KeyPath = ("endpoints", template, "path")
    if endpoint.path is None or isinstance(endpoint.path, Unresolved):
        return
    own = placeholders(template)
    for name in placeholders(endpoint.path):
        if name not in own:
            detail = f": {quoted(name)}{suggestion(name, own)}"
            rules.report.at_value(where, "has a name that the endpoint's own path lacks", detail)
    if any("?" in url_of(rules.file, reference) for reference in endpoint.upstream):
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
    closest, other = (left, right) if left.layer >= right.layer else (right, left)
    texts = [format_duration(left.value), format_duration(right.value)]
    if other.layer != closest.layer:
        texts[other is right] += f" {_place(other)}"
    # Either value would give away itself beside a message at the other one.
    hidden = report.is_filled(left.path) or report.is_filled(right.path)
    detail = "" if hidden else f" ({' > '.join(texts)})"
    report.at_value(closest.path, f"{shorter} is longer than {longer}{detail}")


def _place(origin: Origin) -> str:
    return f"in {path_text(origin.path[:-2])}" if origin.path else "by default"


def _endless(origin: Origin) -> float:
    return math.inf if origin.value is None else origin.value


def _check_collisions(rules: _Rules) -> None:
    """Check that every request has one endpoint, and that the gateway's own paths stay reachable."""
    server = rules.file.server
    for first, second in combinations(_OWN_PATHS, 2):
        if getattr(server, first) is not None and getattr(server, first) == getattr(server, second):
            own, other = (second, first) if second in server.model_fields_set else (first, second)
            rules.report.at_value(("server", own), f"must differ from {other}")
    for template in rules.file.endpoints:
        for name in _OWN_PATHS:
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


def _check_callers(rules: _Rules) -> None:
    """Check who may call: nobody gets in by an oversight, and each key tells who is calling."""
    file = rules.file
    if file.auth is None and not is_loopback(file.listen):
        rules.report.at_value(("listen",), NEEDS_AUTH)
    if file.auth is not None:
        _check_keys(rules, file.auth.keys)
    if file.cors is not None:
        _check_repetition(rules, ("cors", "origins"), file.cors.origins, str)
        if ANY_ORIGIN in file.cors.origins and len(file.cors.origins) > 1:
            index = file.cors.origins.index(ANY_ORIGIN)
            rules.report.at_value(("cors", "origins", index), "stands for every origin: it must be alone")
    _check_repetition(rules, ("server", "trusted_proxies"), file.server.trusted_proxies, str)


def _check_keys(rules: _Rules, keys: Mapping[str, str]) -> None:
    names: dict[str, str] = {}
    for name, key in keys.items():
        first = names.setdefault(key, name)
        if key and first != name:
            rules.report.at_value(("auth", "keys", name), f"is the same key as that of {first}")
