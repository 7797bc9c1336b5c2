"""Rules for upstreams over a WebSocket: combinations that cannot work are refused.

Source: the WebSocket contract, section 2 (refused).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from streamweir.requests.templates import compile_tree, is_long_form
from streamweir.yaml_files.report import KeyPath, Report
from streamweir.yaml_files.unresolved import Unresolved
from streamweir_gateway.config.models import EndpointConfig, GatewayConfig, UpstreamConfig
from streamweir_gateway.config.rules.names import check_repetition

__all__ = ["check_websockets", "remark_on_websockets"]

_NEEDS_HTTP: Final = frozenset({"agno", "google-adk", "llama-workflows"})
"""Dialects whose requests are forms, or need a first request, and so need HTTP."""

_LONGEST_KEEP: Final = 3600.0


def check_websockets(config: GatewayConfig, report: Report) -> None:
    """Report `websocket` sections that contradict the upstream, the request or the threads."""
    for name, upstream in config.upstreams.items():
        _check(upstream, ("upstreams", name), report)
        if _is_written_at(upstream, ("upstreams", name), report) and not _may_be_websocket(upstream):
            report.at_key(("upstreams", name, "websocket"), "needs a ws:// or wss:// `url`")
    for endpoint in config.endpoints:
        _check_endpoint(endpoint, ("endpoints", endpoint.template), report)


def remark_on_websockets(config: GatewayConfig, report: Report) -> None:
    """Remark on connections that one worker keeps although the next request may reach another worker."""
    if config.server.workers <= 1:
        return
    for endpoint in config.endpoints:
        if any(each.is_websocket and each.websocket.keep is not None for each in endpoint.upstreams):
            report.remark_at_key(
                ("endpoints", endpoint.template),
                "`websocket.keep` keeps a connection in one worker, and the next request may come to another",
            )


def _check_endpoint(endpoint: EndpointConfig, path: KeyPath, report: Report) -> None:
    sockets = [upstream for upstream in endpoint.upstreams if upstream.is_websocket]
    _check(endpoint, path, report)
    if _is_written_at(endpoint, path, report) and not any(map(_may_be_websocket, endpoint.upstreams)):
        report.at_key((*path, "websocket"), "needs an upstream with a ws:// or wss:// URL")
    if not sockets:
        return
    if endpoint.relays_all:
        where = (*path, "upstream")
        report.at_value(where, "must be http:// beside `relay: all`: handshakes go to that URL too")
    if endpoint.threads is None and any(upstream.websocket.keep is not None for upstream in sockets):
        report.at_key((*path, "threads"), "cannot be off beside `websocket.keep`, which keeps by thread")
    tree = endpoint.request.tree
    if endpoint.request.kind == "template" and is_long_form(tree) and "form" in tree:
        report.at_key((*path, "request", "form"), "cannot be sent over a WebSocket")
    if endpoint.request.kind == "mapped":
        for upstream in sockets:
            if upstream.speaks in _NEEDS_HTTP:
                report.at_value((*path, "request"), f"{upstream.speaks} cannot be asked over a WebSocket")


def _is_written_at(owner: EndpointConfig | UpstreamConfig, path: KeyPath, report: Report) -> bool:
    """Return whether the file has `websocket` at this place itself, and does not take it from `defaults`."""
    where = (*path, "websocket")
    return any(report.origin_of((*where, key))[:1] == path[:1] for key in owner.websocket.model_fields_set)


def _may_be_websocket(upstream: UpstreamConfig) -> bool:
    return isinstance(upstream.url, Unresolved) or upstream.is_websocket


def _check(owner: UpstreamConfig | EndpointConfig, path: KeyPath, report: Report) -> None:
    """Report faults within a `websocket` section."""
    config, where = owner.websocket, (*path, "websocket")
    check_repetition(config.subprotocols, (*where, "subprotocols"), report)
    if config.keep is not None and config.keep > _LONGEST_KEEP:
        report.at_value((*where, "keep"), "must be at most 1h")
    for index, tree in enumerate(config.hello):
        compile_tree(tree, _at((*where, "hello", index), report))
    if config.cancel is not None:
        compile_tree(config.cancel, _at((*where, "cancel"), report))


def _at(path: KeyPath, report: Report) -> Callable[[tuple[Any, ...], str], None]:
    return lambda place, message: report.at_value((*path, *place), message)
