"""Rules for the keys that a path with `relay: all` cannot have."""

from __future__ import annotations

from streamweir.yaml_files.report import Report
from streamweir_gateway.config.models import EndpointConfig

__all__ = ["check_relay"]


def check_relay(endpoint: EndpointConfig, report: Report) -> None:
    """Report options that need the whole body of a request, which is forwarded piece by piece."""
    if endpoint.relays_all and endpoint.request.kind != "passthrough":
        path = ("endpoints", endpoint.template, "request")
        report.at_value(path, "must be passthrough: `relay: all` sends bodies on as they come")
