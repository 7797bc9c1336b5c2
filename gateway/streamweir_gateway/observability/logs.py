"""Writes logs: one line per request when the request ends, as JSON or for a terminal. Events have no lines.

Records of the standard library's loggers (`streamweir`, `uvicorn.error`, `asyncio`) are written in the same
form, without credentials.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import time
from collections.abc import Callable, Iterable, MutableMapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, TextIO

import orjson

from streamweir.redaction import hide_credentials
from streamweir_gateway.config import LogForm, LogLevel, ServerConfig
from streamweir_gateway.observability.lines import Lines, lines_to
from streamweir_gateway.observability.observer import RequestLog
from streamweir_gateway.observability.secrets import Secrets
from streamweir_gateway.observability.text_line import text_line

__all__ = ["LogSettings", "configure_logging", "request_log"]

TEXT_CHARACTERS: Final = 2000
"""The most characters of a message, and of each other value in a line."""

LINE_CHARACTERS: Final = 1000
"""The most characters of one line of a traceback."""

TRACE_CHARACTERS: Final = (2000, 5000)
"""The most characters of a long traceback: at its beginning and at its end."""

_FIELDS_OF_RECORDS: Final = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}
"""The attributes that every record has; all others were given by `extra`."""

# What JSON leaves as it is and some readers take for the end of a line, or obey.
_CONTROLS: Final = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff]")


class LogSettings(NamedTuple):
    """The settings that decide how lines are written."""

    form: LogForm = "json"
    level: LogLevel = "info"

    @classmethod
    def of(cls, server: ServerConfig) -> LogSettings:
        """Return the settings of a configuration."""
        return cls(server.log, server.log_level)

    @property
    def number(self) -> int:
        """The level as a number of `logging`."""
        return logging.getLevelNamesMapping()[self.level.upper()]

    def line(self, stream: TextIO | None) -> Callable[[MutableMapping[str, Any]], str]:
        """Return the function that formats an event as a line for `stream`, or for standard error."""
        is_text = self.form == "text" or (self.form == "auto" and _is_terminal(stream or sys.stderr))
        return text_line if is_text else _json


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # it is closed
        return False


_JSON_LINES: Final = LogSettings()


def request_log(stream: TextIO | None = None, settings: LogSettings = _JSON_LINES) -> RequestLog:
    """Return a log that writes lines to `stream`, or to standard error."""
    return _RequestLines(lines_to(stream), settings.line(stream), settings.number)


def configure_logging(
    secrets: Iterable[str] = (), stream: TextIO | None = None, settings: LogSettings = _JSON_LINES
) -> None:
    """Let the standard library's loggers write lines to standard error, from WARNING on.

    Args:
        secrets: texts that are removed from lines, in any form.
        stream: gets the lines in place of standard error.
        settings: the form of the lines, and the lowest level that is written.
    """
    root = logging.getLogger()
    for handler in [one for one in root.handlers if isinstance(one, _LineHandler)]:
        root.removeHandler(handler)
    root.addHandler(_LineHandler(lines_to(stream), settings.line(stream), _Censor(secrets)))
    root.setLevel(logging.WARNING if settings.level == "info" else settings.number)


class _RequestLines:
    """A `RequestLog` that writes lines."""

    def __init__(self, lines: Lines, line: Callable[[MutableMapping[str, Any]], str], level: int) -> None:
        self._write = lines.write
        self._now = _Timestamps().now
        self._line = line
        self._has_info = level <= logging.INFO
        self._has_warning = level <= logging.WARNING

    def info(self, event: str, /, **fields: Any) -> None:
        """Write the line of a request that went well."""
        if self._has_info:
            fields["event"], fields["level"], fields["timestamp"] = event, "info", self._now()
            self._write(self._line(fields))

    def warning(self, event: str, /, **fields: Any) -> None:
        """Write the line of a request that did not go well."""
        if self._has_warning:
            fields["event"], fields["level"], fields["timestamp"] = event, "warning", self._now()
            self._write(self._line(fields))


class _Timestamps:
    """Returns the present time (ISO 8601, UTC). The text is cached for a second, so callers take turns."""

    __slots__ = ("_second", "_words")

    def __init__(self) -> None:
        self._second = 0
        self._words = ""

    def now(self) -> str:
        second, micros = divmod(time.time_ns() // 1000, 1_000_000)
        if second != self._second:
            self._second = second
            self._words = f"{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%S}"
        return f"{self._words}.{micros:06d}Z"


class _LineHandler(logging.Handler):
    """Writes records of the standard library's loggers. A record that cannot be formatted is reported."""

    def __init__(
        self, lines: Lines, line: Callable[[MutableMapping[str, Any]], str], censor: _Censor
    ) -> None:
        super().__init__()
        self._lines = lines
        self._line = line
        self._censor = censor
        self._now = _Timestamps().now

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        try:
            line = self._line(self._censor.cleaned(self._fields(record)))
        except Exception:
            line = _json({"event": "a record could not be written", "logger": record.name, "level": "error"})
        self._lines.write(line)

    def _fields(self, record: logging.LogRecord) -> dict[str, Any]:
        """Return the fields of a line: those of every record, those of `extra`, and the traceback."""
        fields: dict[str, Any] = {"event": record.getMessage()}
        if record.stack_info:
            fields["stack_info"] = record.stack_info
        fields |= {"level": record.levelname.lower(), "timestamp": self._now(), "logger": record.name}
        fields |= {name: value for name, value in vars(record).items() if name not in _FIELDS_OF_RECORDS}
        if record.exc_info:
            fields["exception"] = _TRACEBACKS.formatException(record.exc_info)
        return fields


_TRACEBACKS: Final = logging.Formatter()


class _Censor:
    """Hides credentials in the fields of a line, and bounds every text that the gateway did not make."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._secrets = Secrets(secrets)

    def cleaned(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Return the fields in the form for the log."""
        for name, value in fields.items():
            if name == "exception":
                fields[name] = self._clean(_middle_cut(str(value)), limit=len(value))
            elif value is not None and not isinstance(value, bool | int | float):
                fields[name] = self._clean(str(value), limit=TEXT_CHARACTERS)
        return fields

    def _clean(self, text: str, *, limit: int) -> str:
        return hide_credentials(self._secrets.hide(text), limit=limit)


def _middle_cut(trace: str) -> str:
    """Return a traceback, without its middle if it is long. The end contains the error."""
    first, last = TRACE_CHARACTERS
    if len(trace) <= first + last:
        return trace
    lines = [hide_credentials(line, limit=LINE_CHARACTERS) for line in trace.split("\n")]
    return "\n".join([*_up_to(first, lines), "  ...", *reversed(_up_to(last, reversed(lines)))])


def _up_to(characters: int, lines: Iterable[str]) -> list[str]:
    """Return as many of `lines` as have about `characters` characters, but at least one line."""
    taken: list[str] = []
    for line in lines:
        if taken and characters < len(line):
            break
        taken.append(line)
        characters -= len(line)
    return taken


def _json(value: Any) -> str:
    try:
        text = orjson.dumps(value, default=_text_of).decode()
    except TypeError:  # half a character, an integer beyond 64 bit
        text = json.dumps(value, default=_text_of, skipkeys=True)
    if text.isascii() and "\x7f" not in text:
        return text
    return _CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _text_of(value: object) -> str:
    try:
        return hide_credentials(str(value), limit=TEXT_CHARACTERS)
    except Exception:
        return type(value).__name__
