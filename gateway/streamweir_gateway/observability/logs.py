"""Logs: one line of JSON per request, when it ends; nothing per event.

What the standard library's loggers say (`streamweir`, `uvicorn.error`) is written the same way.
"""

from __future__ import annotations

import logging
import sys
from dataclasses import asdict, dataclass
from typing import Any, Final, Protocol, TextIO

import orjson
import structlog
from structlog.types import Processor

__all__ = ["RequestLog", "RequestRecord", "configure_logging", "request_log"]

_SHARED: Final[tuple[Processor, ...]] = (
    structlog.processors.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
)


class RequestLog(Protocol):
    """Where finished requests are told."""

    def info(self, event: str, /, **fields: Any) -> Any:
        """Tell of a request that went well."""

    def warning(self, event: str, /, **fields: Any) -> Any:
        """Tell of one that did not."""


@dataclass(slots=True)
class RequestRecord:
    """What is known of one request when it ends. Absent is None, and is left out of the line."""

    request_id: str
    method: str
    endpoint: str
    upstream: str | None = None
    speaks: str | None = None
    answers: str | None = None
    framing: str | None = None
    status: int | None = None
    """The HTTP status that was sent."""
    upstream_status: int | None = None
    reason: str | None = None
    """The protocol's word for how the stream ended."""
    code: str | None = None
    """Of the error or the refusal."""
    events: int | None = None
    bytes_in: int | None = None
    bytes_out: int | None = None
    first_event_ms: float | None = None
    duration_ms: float | None = None

    def write(self, log: RequestLog) -> None:
        """Write the line."""
        fields = {name: value for name, value in asdict(self).items() if value is not None}
        (log.info if self.code is None else log.warning)("request", **fields)


def request_log(stream: TextIO | None = None) -> RequestLog:
    """Return a log that writes JSON lines to `stream`, or to standard error."""
    log: RequestLog = structlog.wrap_logger(
        structlog.WriteLogger(stream or sys.stderr),
        processors=[*_SHARED, structlog.processors.JSONRenderer(serializer=_json)],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        cache_logger_on_first_use=True,
    )
    return log


def configure_logging() -> None:
    """Let the standard library's loggers write JSON lines to standard error, from WARNING on."""
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[*_SHARED, structlog.stdlib.ExtraAdder()],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(serializer=_json),
        ],
    )
    handler = logging.StreamHandler()
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)


def _json(value: Any, **_options: Any) -> str:
    return orjson.dumps(value, default=str).decode()
