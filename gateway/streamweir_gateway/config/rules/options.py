"""Rules for options of upstreams and endpoints: dialects, protocols, their options, lists, headers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from streamweir.codec.dialects import Dialects
from streamweir.yaml_files.report import KeyPath, Report
from streamweir.yaml_files.unresolved import Unresolved
from streamweir_gateway.config.diagnostics import quoted, suggestion
from streamweir_gateway.config.models.endpoint import EndpointOptions
from streamweir_gateway.config.models.upstream import UpstreamOptions
from streamweir_gateway.config.rules.names import check_name, check_repetition

__all__ = ["check_endpoint_options", "check_upstream_options"]

AUTO: Final = "auto"
"""The value of `speaks` by which the dialect is detected from the first bytes."""

_LISTS: Final[Mapping[str, Callable[[str], str]]] = {
    "methods": str,
    "answers": str,
    "forward_headers": str.lower,
    "forward_query": str,
    "forward_response_headers": str.lower,
}
"""Lists that must not repeat a name, each with the function that makes equal names equal."""


def check_upstream_options(
    options: UpstreamOptions, path: KeyPath, dialects: Dialects, report: Report
) -> None:
    """Report the problems of an upstream's options, which are at `path`."""
    if options.speaks in dialects and not dialects[options.speaks].reads:
        report.at_value((*path, "speaks"), "is only written: the dialect has no `rules`")
    else:
        check_name(options.speaks, (*path, "speaks"), (*dialects.readable, AUTO), "dialect", report)
    _check_header_names((name for name, _ in options.headers), (*path, "headers"), report)


def check_endpoint_options(
    options: EndpointOptions, path: KeyPath, dialects: Dialects, report: Report
) -> None:
    """Report the problems of an endpoint's options, which are at `path`."""
    check_upstream_options(options, path, dialects, report)
    for index, name in enumerate(options.answers):
        if name in dialects and not dialects[name].writes:
            report.at_value((*path, "answers", index), "is only read: the dialect has no `write`")
        else:
            check_name(name, (*path, "answers", index), dialects.writable, "output protocol", report)
    for key, fold in _LISTS.items():
        check_repetition(getattr(options, key), (*path, key), report, fold)
    for dialect, chosen in options.protocol_options.items():
        _check_dialect_options(chosen, (*path, "protocol_options", dialect), dialect, dialects, report)


def _check_header_names(names: Iterable[str], path: KeyPath, report: Report) -> None:
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            report.at_key((*path, name), "duplicate key: header names do not differ by capitals")
        seen.add(name.lower())


def _check_dialect_options(
    chosen: Mapping[str, str], path: KeyPath, dialect: str, dialects: Dialects, report: Report
) -> None:
    if dialect not in dialects:
        report.at_key(path, f"unknown dialect{suggestion(dialect, dialects)}")
        return
    known = dialects[dialect].options
    for option, value in chosen.items():
        if option not in known:
            report.at_key((*path, option), f"unknown option of {dialect}{suggestion(option, known)}")
        elif known[option] and value not in known[option] and not isinstance(value, Unresolved):
            message = f"must be {' or '.join(known[option])}"
            report.at_value((*path, option), message, f", not {quoted(value)}")
