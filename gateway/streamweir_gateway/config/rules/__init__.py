"""Checks rules about several values, or about values and facts outside the file.

The rules see the merged configuration. The report knows where each of its values was written.
"""

from __future__ import annotations

from streamweir.codec.dialects import Dialects
from streamweir.yaml_files.report import Report
from streamweir_gateway.config.models import GatewayConfig
from streamweir_gateway.config.rules.access import check_access
from streamweir_gateway.config.rules.circles import check_circles
from streamweir_gateway.config.rules.collisions import check_collisions
from streamweir_gateway.config.rules.console import check_console
from streamweir_gateway.config.rules.models import check_models
from streamweir_gateway.config.rules.options import check_endpoint_options, check_upstream_options
from streamweir_gateway.config.rules.relay import check_relay
from streamweir_gateway.config.rules.requests import check_request
from streamweir_gateway.config.rules.resume import check_resume
from streamweir_gateway.config.rules.timeout_order import check_timeout_order
from streamweir_gateway.config.rules.turns import check_history, check_turns
from streamweir_gateway.config.rules.upstreams import check_path, check_references, check_upstream
from streamweir_gateway.config.rules.websockets import check_websockets

__all__ = ["check_rules"]


def check_rules(config: GatewayConfig, dialects: Dialects, report: Report) -> None:
    """Report all problems of values that are valid each by itself."""
    if not config.endpoints and not report.problems:
        report.at_value(("endpoints",), "must name at least one endpoint")
    check_endpoint_options(config.defaults, ("defaults",), dialects, report)
    for name, upstream in config.upstreams.items():
        check_upstream_options(upstream, ("upstreams", name), dialects, report)
        check_upstream(upstream, ("upstreams", name), dialects, report)
    for endpoint in config.endpoints:
        check_endpoint_options(endpoint, ("endpoints", endpoint.template), dialects, report)
        check_references(endpoint, config.upstreams, dialects, report)
        check_timeout_order(endpoint, report)
        check_path(endpoint, report)
        check_relay(endpoint, report)
        if endpoint.models:
            check_models(endpoint, dialects, report)
        else:
            check_request(endpoint, dialects, report)
    check_websockets(config, report)
    check_collisions(config, report)
    check_circles(config, report)
    check_access(config, report)
    check_resume(config, report)
    check_turns(config, report)
    check_history(config, report)
    check_console(config, report)
