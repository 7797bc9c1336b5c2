"""The configuration in force, as the console shows it: values, where they were written, and the last refusal.

Source: the console contract, section 1 (`config`, `info`).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import streamweir
from streamweir.yaml_files.reading import read_text
from streamweir.yaml_files.report import Report
from streamweir_gateway.config import ConfigErrors, ConsoleConfig, EndpointConfig, GatewayConfig
from streamweir_gateway.config.dialect_files import files_of
from streamweir_gateway.config.effective import EffectiveValue, effective_values
from streamweir_gateway.config.fingerprint import fingerprint
from streamweir_gateway.sample_requests import sample_for

__all__ = ["ConfigurationView"]


class ConfigurationView:
    """Shows the configuration in force.

    Args:
        config: the configuration in force.
        file: the file that the configuration was read from; None: there is no file.
        address: the URL of the gateway.

    Attributes:
        config: in force.
    """

    def __init__(self, config: GatewayConfig, file: Path | None, address: str) -> None:
        self.config = config
        self._address = address
        self._file = file
        self._started = round(time.time() * 1000)
        self._loaded = self._started
        self._error: dict[str, Any] | None = None
        self._values = self._read_values()

    def take_over(self, config: GatewayConfig) -> None:
        """Show another configuration, which is in force from now on."""
        self.config = config
        self._loaded = round(time.time() * 1000)
        self._error = None
        self._values = self._read_values()

    def note_refused(self, problems: Sequence[str]) -> None:
        """Note that a changed configuration file was refused, and why."""
        self._error = {"at": round(time.time() * 1000), "problems": [*problems]}

    @property
    def console(self) -> ConsoleConfig:
        """The settings of the console; the defaults if a reload removed them from the file."""
        return self.config.console or ConsoleConfig()

    def info(self) -> dict[str, Any]:
        """Return the facts that every view of the page needs."""
        console, config = self.console, self.config
        return {
            "version": streamweir.__version__,
            "gateway": self._address,
            "api": 1,
            "started": self._started,
            "workers": config.server.workers,
            "capture": console.capture,
            "keep": {
                "streams": console.keep.streams,
                "stream_bytes": console.keep.stream_bytes,
                "total_bytes": console.keep.total_bytes,
            },
            "auth": bool(config.auth is not None and config.auth.keys),
            "endpoints": [self._endpoint(endpoint) for endpoint in config.endpoints],
        }

    def shown(self, states: Iterable[Iterable[Mapping[str, Any]]]) -> dict[str, Any]:
        """Return the configuration in force, with the states of the upstreams.

        Args:
            states: the states of the upstreams, for each serving process.
        """
        found = {
            "file": None if self._file is None else str(self._file),
            "running_hash": self.config.fingerprint or None,
            "file_hash": self._file_hash(),
            "loaded": self._loaded,
            "reload_error": self._error,
            "values": self._values,
            "upstreams": _merged(states),
        }
        if self._error is None:
            del found["reload_error"]
        return found

    def _endpoint(self, endpoint: EndpointConfig) -> dict[str, Any]:
        return {
            "path": endpoint.template,
            "methods": [*endpoint.listed_methods],
            "answers": [*endpoint.answers],
            "framing": endpoint.framing,
            "upstreams": [*dict.fromkeys(upstream.label for upstream in endpoint.upstreams)],
            "demo": any(upstream.demo is not None for upstream in endpoint.upstreams),
            "needs_key": bool(self.config.auth is not None and self.config.auth.keys)
            and not endpoint.needs_no_key,
            "samples": {} if endpoint.takes_any_method else self._samples(endpoint),
        }

    def _samples(self, endpoint: EndpointConfig) -> dict[str, Any]:
        """Return the smallest request of each client protocol, and where the message is in that request."""
        known = self.config.known_dialects
        return {protocol: sample_for(endpoint, protocol, known)._asdict() for protocol in endpoint.answers}

    def _read_values(self) -> list[dict[str, Any]]:
        if self._file is None:
            return []
        with suppress(ConfigErrors, OSError):
            return [_shown_value(value, self._file) for value in effective_values(self._file)]
        return []

    def _file_hash(self) -> str | None:
        if self._file is None:
            return None
        report = Report(str(self._file))
        text = read_text(self._file, report)
        return None if report.problems else fingerprint(text, files_of(self._file)[1:])


def _shown_value(value: EffectiveValue, file: Path) -> dict[str, Any]:
    position = value.position
    origin = "default" if position is None else f"{file.name}:{position.line}"
    return {"path": value.path, "value": value.value, "origin": origin}


_WORST = ("closed", "half_open", "open")


def _merged(states: Iterable[Iterable[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Return, for each upstream, the worst breaker of all processes and the sum of the open streams."""
    found: dict[str, dict[str, Any]] = {}
    for state in (state for each in states for state in each):
        known = found.get(state["name"])
        if known is None:
            found[state["name"]] = dict(state)
            continue
        known["open"] += state["open"]
        known["failures"] = max(known["failures"], state["failures"])
        known["breaker"] = max(known["breaker"], state["breaker"], key=_WORST.index)
        known["last_error"] = known["last_error"] or state["last_error"]
    return [*found.values()]
