"""Rules for upstreams: names that endpoints use, paths to append to a URL, demos, certificates."""

from __future__ import annotations

from collections.abc import Collection

from streamweir.codec.dialects import Dialects
from streamweir.yaml_files.report import KeyPath, Report
from streamweir.yaml_files.unresolved import Unresolved
from streamweir_gateway.config.diagnostics import quoted, suggestion
from streamweir_gateway.config.models import EndpointConfig, Tls, UpstreamConfig
from streamweir_gateway.config.rules.names import check_name, check_repetition
from streamweir_gateway.config.values.path_templates import REST, is_open, placeholders
from streamweir_gateway.config.values.urls import demo_dialect, is_url

__all__ = ["check_path", "check_references", "check_upstream"]


def check_upstream(upstream: UpstreamConfig, path: KeyPath, dialects: Dialects, report: Report) -> None:
    """Report problems of an upstream that has a name in `upstreams`."""
    _check_demo(upstream.url, (*path, "url"), dialects, report)
    check_repetition(upstream.retries.on, (*path, "retries", "on"), report)
    _check_tls(upstream.tls, (*path, "tls"), report)


def check_references(
    endpoint: EndpointConfig, names: Collection[str], dialects: Dialects, report: Report
) -> None:
    """Report wrong names by which an endpoint refers to its upstreams."""
    path: KeyPath = ("endpoints", endpoint.template, "upstream")
    if not endpoint.chooses:  # several models may have one upstream
        check_repetition(endpoint.upstream, path, report)
    for index, reference in enumerate(endpoint.upstream):
        _check_demo(reference, (*path, index), dialects, report)
        if not is_url(reference) and demo_dialect(reference) is None:
            check_name(reference, (*path, index), names, "upstream", report)


def check_path(endpoint: EndpointConfig, report: Report) -> None:
    """Report an upstream path that cannot be filled in or appended."""
    where: KeyPath = ("endpoints", endpoint.template, "path")
    if endpoint.appends_rest and any("?" in upstream.url for upstream in endpoint.upstreams):
        report.at_key(("endpoints", endpoint.template), "has /*, but the upstream's URL has a query")
    if endpoint.path is None or isinstance(endpoint.path, Unresolved):
        return
    own = placeholders(endpoint.template)
    if is_open(endpoint.template):
        own = (*own, REST)
    for name in placeholders(endpoint.path):
        if name not in own:
            detail = f": {quoted(name)}{suggestion(name, own)}"
            report.at_value(where, "has a name that the endpoint's own path lacks", detail)
    if any("?" in upstream.url for upstream in endpoint.upstreams):
        report.at_value(where, "cannot be appended: the upstream's URL has a query")


def _check_demo(url: str, path: KeyPath, dialects: Dialects, report: Report) -> None:
    dialect = demo_dialect(url)
    if dialect is not None and not isinstance(url, Unresolved):
        check_name(dialect, path, dialects.writable, "demo", report)


def _check_tls(tls: Tls, path: KeyPath, report: Report) -> None:
    if tls.key is not None and tls.cert is None:
        report.at_value((*path, "key"), "is the key of a certificate: name that one as `cert`")
    if tls.ca is not None and not tls.verify:
        report.at_value((*path, "ca"), "contradicts `verify: false`, which trusts any certificate")
