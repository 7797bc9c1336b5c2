"""Rules for the console: a separate address, and a token if other machines can reach it."""

from __future__ import annotations

from typing import Final

from streamweir.yaml_files.report import Report
from streamweir_gateway.config.models import GatewayConfig
from streamweir_gateway.config.rules.names import check_repetition
from streamweir_gateway.config.values.addresses import is_loopback

__all__ = ["NEEDS_TOKEN", "check_console"]

NEEDS_TOKEN: Final = (
    "others can reach it: set console.token, or listen on a loopback address (127.0.0.1, [::1])"
)


def check_console(config: GatewayConfig, report: Report) -> None:
    """Report a console that shares its address, or that other machines can reach without a token."""
    console = config.console
    if console is None:
        return
    for name, other in (("listen", config.listen), ("server.admin", config.server.admin)):
        if console.listen == other and console.listen.port:
            report.at_value(("console", "listen"), f"must differ from {name}")
    if console.token is None and not is_loopback(console.listen):
        report.at_value(("console", "listen"), NEEDS_TOKEN)
    check_repetition(console.hosts, ("console", "hosts"), report)
