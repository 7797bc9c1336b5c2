"""The console's part in a serving process: makes the rows of its requests, and sends them over the link."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from streamweir_gateway.config import ConsoleConfig, GatewayConfig
from streamweir_gateway.console.stream_rows import StreamRows
from streamweir_gateway.console.worker_link import WorkerLink
from streamweir_gateway.observability.secrets import secrets_of
from streamweir_gateway.processes.console_link import LinkPlace
from streamweir_gateway.runs.admission import Admission
from streamweir_gateway.runs.live_streams import LiveStreams

__all__ = ["ConsoleSide"]


class ConsoleSide:
    """Follows the requests of one process for the console.

    Args:
        place: the place at which the console is reached.
        config: the configuration in force.
        streams: the streams of the process; this object makes their recorders from now on.

    Attributes:
        rows: the rows of the requests.
    """

    def __init__(self, place: LinkPlace, config: GatewayConfig, streams: LiveStreams) -> None:
        self._place = place
        self._config = config
        self.rows = StreamRows(place.workers, _settings(config), secrets_of(config))
        self.rows.config = config.fingerprint
        self._link: WorkerLink | None = None
        streams.make_recorder = self.rows.recorder

    def start(self, admissions: Callable[[], Iterable[Admission]]) -> None:
        """Connect to the console. Must be called in the event loop.

        Args:
            admissions: returns the admissions of the upstreams in force.
        """
        self._link = WorkerLink(
            self._place.path,
            self._place.worker,
            self.rows,
            lambda: [_state_of(one, self.rows.last_errors) for one in admissions()],
        )
        self._link.start()

    def take_over(self, config: GatewayConfig) -> None:
        """Apply the settings of another configuration."""
        self._config = config
        self.rows.configure(_settings(config), secrets_of(config))
        self.rows.config = config.fingerprint

    async def aclose(self) -> None:
        """Send the last rows, and close the link."""
        if self._link is not None:
            await self._link.aclose()


def _settings(config: GatewayConfig) -> ConsoleConfig:
    """Return the settings of the console; the defaults if a reload removed them from the file."""
    return config.console or ConsoleConfig()


def _state_of(admission: Admission, last_errors: dict[str, str]) -> dict[str, Any]:
    return {
        "name": admission.label,
        "url": admission.shown_url,
        "breaker": admission.breaker.state,
        "open": admission.open_streams,
        "max_streams": admission.max_streams,
        "failures": admission.breaker.failures,
        "last_error": last_errors.get(admission.label),
    }
