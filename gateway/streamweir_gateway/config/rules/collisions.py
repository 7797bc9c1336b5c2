"""Rules for paths: every request belongs to one endpoint, and the gateway's own paths stay reachable."""

from __future__ import annotations

from itertools import combinations
from typing import Final

from streamweir.yaml_files.report import Report
from streamweir_gateway.config.models import GatewayConfig
from streamweir_gateway.config.values.path_templates import shape

__all__ = ["check_collisions"]

_OWN_PATHS: Final = ("health", "ready", "metrics", "runs")
"""The keys of `server` whose values are paths of the gateway itself."""


def check_collisions(config: GatewayConfig, report: Report) -> None:
    """Report paths that several endpoints, or an endpoint and the gateway itself, would serve."""
    _check_own_paths(config, report)
    taken: dict[tuple[str, str], str] = {}
    for endpoint in config.endpoints:
        template = endpoint.template
        for name in _OWN_PATHS:
            if template == getattr(config.server, name):
                report.at_key(("endpoints", template), f"is the path of server.{name}")
        places = [(shape(template), method) for method in endpoint.listed_methods]
        for first in dict.fromkeys(taken[place] for place in places if place in taken):
            report.at_key(("endpoints", template), f"matches the same paths and methods as {first}")
        for place in places:
            taken.setdefault(place, template)


def _check_own_paths(config: GatewayConfig, report: Report) -> None:
    server = config.server
    for first, second in combinations(_OWN_PATHS, 2):
        if getattr(server, first) is not None and getattr(server, first) == getattr(server, second):
            written, other = (second, first) if second in server.model_fields_set else (first, second)
            report.at_value(("server", written), f"must differ from {other}")
    if server.admin == config.listen and server.admin.port:
        report.at_value(("server", "admin"), "must differ from listen")
