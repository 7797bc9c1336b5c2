"""Rules for requests that are mapped or built by a tree. They find faults before the first request.

Source: the request contract, sections 1 and 6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from streamweir.codec.dialects import Dialects
from streamweir.requests.templates import compile_request, compile_tree, leaves_of, names_read
from streamweir.yaml_files.report import KeyPath, Report
from streamweir.yaml_files.unresolved import Unresolved
from streamweir_gateway.config.diagnostics import quoted, suggestion
from streamweir_gateway.config.models import EndpointConfig
from streamweir_gateway.config.rules.options import AUTO
from streamweir_gateway.config.values.path_templates import placeholders

__all__ = ["check_request"]


def check_request(
    endpoint: EndpointConfig, dialects: Dialects, report: Report, *, at: KeyPath | None = None
) -> None:
    """Report a `request` that cannot be made for every upstream, or read from every client.

    Args:
        endpoint: the endpoint to check.
        dialects: the dialects by name.
        report: gets the problems.
        at: the path of `request`, if it is not written at the endpoint itself.
    """
    path: KeyPath = (*(at or ("endpoints", endpoint.template)), "request")
    mode = endpoint.request
    if mode.kind == "passthrough" or endpoint.relays_all:
        return
    if mode.kind == "template":
        compile_request(
            mode.tree,
            _report_at(path, report),
            lambda place, message: report.at_key((*path, *place), message),
        )
        _check_names(mode.tree, path, endpoint, report)
        return
    if mode.tree is not None:
        compile_tree(mode.tree, _report_at((*path, "mapped"), report))
        _check_names(mode.tree, (*path, "mapped"), endpoint, report)
    _check_dialects(endpoint, path, dialects, report)


def _check_dialects(endpoint: EndpointConfig, path: KeyPath, dialects: Dialects, report: Report) -> None:
    for upstream in endpoint.upstreams:
        name = upstream.speaks
        if isinstance(name, Unresolved) or (name != AUTO and name not in dialects):
            continue
        if name == AUTO:
            report.at_value(path, "needs to know the upstream's dialect: name it as `speaks`")
            continue
        writer = dialects[name].request_writer
        if writer is None:
            report.at_value(path, "requests cannot be written in the upstream's dialect", f" {quoted(name)}")
            continue
        for field in writer.needs:
            if field not in (endpoint.request.tree or {}):
                report.at_value(
                    path, f"{name} needs {field!r}, which no client sends: {{mapped: {{{field}: ...}}}}"
                )
    for name in endpoint.answers:
        if name in dialects and not dialects[name].reads_requests:
            report.at_value(path, "requests of a protocol in `answers` cannot be read", f": {quoted(name)}")


def _check_names(tree: Any, path: KeyPath, endpoint: EndpointConfig, report: Report) -> None:
    """Report names in expressions that the endpoint's path or the client's headers do not have."""
    known = {
        "path": (placeholders(endpoint.template), "the endpoint's own path has no such name"),
        "headers": (
            [name.lower() for name in endpoint.forward_headers],
            "is no header of `forward_headers`",
        ),
    }
    for place, leaf in leaves_of(tree):
        for root, *rest in sorted(names_read(compile_tree(leaf, _reported_already))):
            if root in known and rest and rest[0] not in known[root][0]:
                names, message = known[root]
                detail = f": {quoted(rest[0])}{suggestion(rest[0], names)}"
                report.at_value((*path, *place), message, detail)


def _report_at(path: KeyPath, report: Report) -> Callable[[tuple[Any, ...], str], None]:
    return lambda place, message: report.at_value((*path, *place), message)


def _reported_already(_place: tuple[Any, ...], _message: str) -> None:
    pass
