"""Rule for the order of timeouts after merging: connect <= first_event <= total, and idle <= total."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from streamweir.codec.mapped.problems import path_text
from streamweir.options.durations import format_duration
from streamweir.options.timeouts import CLOCK_ORDER
from streamweir.yaml_files.report import KeyPath, Report
from streamweir_gateway.config.models import EndpointConfig

__all__ = ["check_timeout_order"]

_STRENGTH: Final = ("defaults", "upstreams", "endpoints")
"""The places where a timeout may be written; later places take precedence."""


class _Timeout(NamedTuple):
    value: float | None
    origin: KeyPath
    """The path at which the timeout was written; empty for a built-in default."""

    @property
    def bound(self) -> float:
        return math.inf if self.value is None else self.value

    @property
    def strength(self) -> int:
        return _STRENGTH.index(str(self.origin[0])) if self.origin else -1

    @property
    def place(self) -> str:
        return f"in {path_text(self.origin[:-2])}" if self.origin else "by default"


def check_timeout_order(endpoint: EndpointConfig, report: Report) -> None:
    """Report timeouts of the endpoint's upstreams that are longer than a timeout that includes them."""
    for index, upstream in enumerate(endpoint.upstreams):
        at: KeyPath = ("endpoints", endpoint.template, "upstreams", index, "timeouts")
        timeouts = {
            name: _Timeout(value, report.origins.get((*at, name), ())) for name, value in upstream.timeouts
        }
        for shorter, longer in CLOCK_ORDER:
            if timeouts[shorter].bound > timeouts[longer].bound:
                _report(report, f"{shorter} is longer than {longer}", timeouts[shorter], timeouts[longer])


def _report(report: Report, message: str, left: _Timeout, right: _Timeout) -> None:
    """Report the problem at the value that is closest to the endpoint, because that value broke the order."""
    closest, other = (left, right) if left.strength >= right.strength else (right, left)
    texts = [format_duration(left.value), format_duration(right.value)]
    if other.strength != closest.strength:
        texts[other is right] += f" {other.place}"
    # Either value would give away itself beside a message at the other one.
    hidden = report.is_filled(left.origin) or report.is_filled(right.origin)
    report.at_value(closest.origin, message + ("" if hidden else f" ({' > '.join(texts)})"))
