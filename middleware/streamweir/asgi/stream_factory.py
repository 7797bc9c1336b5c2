"""Makes the streams of one middleware, from options that are checked when the middleware is made."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias, get_args

from streamweir.asgi.hint_log import HintLog
from streamweir.codec.registry import process_dialects
from streamweir.context import WarningCollector
from streamweir.emit.application_stream import ApplicationStream
from streamweir.errors import ConfigurationError, did_you_mean
from streamweir.failures.ending import FailureMode
from streamweir.http.accept import STREAM_FRAMINGS, StreamFraming
from streamweir.http.headers import HeaderList, is_file, media_type_of
from streamweir.options.durations import Duration
from streamweir.options.heartbeats import parse_heartbeat
from streamweir.options.limits import Limits
from streamweir.options.timeouts import Timeouts
from streamweir.translation.stream_options import StreamOptions

__all__ = ["AUTO", "StreamFactory", "TimeoutOptions"]

AUTO: Final = "auto"

TimeoutOptions: TypeAlias = Mapping[str, Duration | None] | str | None

_MEDIA_TYPE: Final = re.compile(r"[\w!#$&^.+-]{1,127}/[\w!#$&^.+-]{1,127}", re.ASCII)
_FRAMINGS: Final[dict[str, StreamFraming]] = {
    **STREAM_FRAMINGS,
    "application/ndjson": "ndjson",
    "application/jsonlines": "ndjson",
    "application/json-seq": "ndjson",
    "application/json": "ndjson",
}
_TIMEOUTS: Final = ("first_event", "idle", "total", "waiting")


class StreamFactory:
    """Makes the streams of one middleware.

    Args:
        answers: the protocols that a client may have; the first is the default.
        media_types: the media types of the responses that are streams.
        framing: used if `Accept` names none; None: the framing of the application.
        heartbeat: the longest silence; None or `off`: no heartbeats.
        timeouts: `first_event`, `idle`, `total`, `waiting`; a clock that is not listed never runs out.
        speaks: the dialect of the application's streams.
        failures: `as_they_came` or `told`.
        options: the options of every stream.

    Raises:
        UnknownDialectError: there is no decoder for `speaks`, or no encoder for one of `answers`.
        ConfigurationError: another option has an invalid value.
    """

    def __init__(  # noqa: PLR0913 (the options of a middleware)
        self,
        *,
        answers: str | Sequence[str],
        media_types: str | Sequence[str],
        framing: StreamFraming | None,
        heartbeat: Duration | None,
        timeouts: TimeoutOptions,
        speaks: str,
        failures: FailureMode,
        options: StreamOptions,
    ) -> None:
        self.answers = _names(answers, "answers")
        self.media_types = frozenset(map(_media_type, _names(media_types, "media_types")))
        if framing is not None and framing not in get_args(StreamFraming):
            raise ConfigurationError(f"framing must be 'sse', 'ndjson' or None, not {framing!r}")
        self.heartbeat = parse_heartbeat(heartbeat)
        self.timeouts = _timeouts(timeouts)
        self.speaks = speaks
        self.failures = _failures(failures)
        self.hints = HintLog(self.speaks)
        self.debug = bool(options["debug"])
        self.event_bytes = Limits.of(options["limits"]).event_bytes
        self.request_bytes = Limits.of(options["limits"]).request_bytes
        self.protocol_options: Mapping[str, Mapping[str, Any]] = options["protocol_options"] or {}
        self._framing = framing
        self._stream_options: StreamOptions = {**options, "warnings": _warnings(options["warnings"])}
        for name in self.answers:
            process_dialects().find(name)  # raises if there is no such dialect
            self.stream(answers=name, framing="sse", request_id="req_0")
        self._copied = frozenset(filter(self._may_be_copied, self.answers))

    def _may_be_copied(self, protocol: str) -> bool:
        options = self._stream_options
        is_plain = options["verbatim"] and options["full_text"] == "dedupe" and protocol != "standard"
        written = self.protocol_options.get(protocol, {})
        return is_plain and not process_dialects().to_write(protocol).asks_for_another_form(written)

    @property
    def has_early_clock(self) -> bool:
        """Whether a clock can run out before there is a response."""
        return self.timeouts.first_event is not None or self.timeouts.total is not None

    def stream(
        self,
        *,
        answers: str,
        framing: str,
        request_id: str,
        speaks: str | None = None,
        collector: WarningCollector | None = None,
    ) -> ApplicationStream:
        """Return a new stream. `speaks` replaces `auto` once the dialect is known."""
        return ApplicationStream(
            speaks=speaks or self.speaks,
            answers=answers,
            framing=framing,
            request_id=request_id,
            collector=collector,
            **self._stream_options,
        )

    def copies(self, protocol: str, speaks: str | None = None) -> bool:
        """Return whether a client of `protocol` gets the frames of an application that speaks `speaks`.

        Frames are only copied in the framing of the application.

        Args:
            protocol: the protocol of the client.
            speaks: the dialect of the application; None: that of the options.
        """
        return protocol in self._copied and protocol == (speaks or self.speaks)

    def passes_failures(self, protocol: str) -> bool:
        """Return whether a failure before the response is raised to the server, for clients of `protocol`."""
        may_be_copied = protocol in self._copied and self.speaks in (protocol, AUTO)
        return may_be_copied and self.failures == "as_they_came"

    def reads(self, headers: HeaderList) -> bool:
        """Return whether the headers of a response are those of a stream."""
        return media_type_of(headers) in self.media_types and not is_file(headers)

    def framing_of(self, headers: HeaderList) -> StreamFraming:
        """Return the framing for a client whose `Accept` names none; `headers` are the application's."""
        return self._framing or _FRAMINGS.get(media_type_of(headers)) or self._usual()

    def _usual(self) -> StreamFraming:
        """Return the usual framing of the dialect."""
        usual = "sse" if self.speaks == AUTO else process_dialects().to_read(self.speaks).framing
        return "ndjson" if usual == "ndjson" else "sse"


def _names(value: str | Sequence[str], option: str) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else tuple(value)
    if not names or not all(isinstance(name, str) for name in names):
        raise ConfigurationError(f"{option} must be one name or several, not {value!r}")
    return names


def _media_type(name: str) -> str:
    essence = name.partition(";")[0].strip().lower()
    if not _MEDIA_TYPE.fullmatch(essence):
        raise ConfigurationError(f"media_types: {name!r} is no media type")
    return essence


def _failures(given: FailureMode) -> FailureMode:
    modes = get_args(FailureMode)
    if given not in modes:
        raise ConfigurationError(
            f"failures must be 'as_they_came' or 'told', not {given!r}{did_you_mean(str(given), modes)}"
        )
    return given


def _timeouts(given: TimeoutOptions) -> Timeouts:
    if given is None or given == "off":
        given = {}
    if not isinstance(given, Mapping):
        raise ConfigurationError(f"timeouts must be a mapping, not {given!r}")
    for name in given:
        if name not in _TIMEOUTS:
            raise ConfigurationError(
                f"unknown timeout {name!r}{did_you_mean(str(name), _TIMEOUTS)}"
                f" (known: {', '.join(_TIMEOUTS)})"
            )
    return Timeouts.of({"connect": None, **dict.fromkeys(_TIMEOUTS), **given})


def _warnings(warnings: Sequence[str | Mapping[str, Any]]) -> list[str | Mapping[str, Any]]:
    if isinstance(warnings, str | Mapping):
        raise ConfigurationError("warnings must be a list")
    for warning in warnings:
        message = warning.get("message") if isinstance(warning, Mapping) else warning
        if not isinstance(message, str) or not message:
            raise ConfigurationError(f"warnings: {warning!r} has no message")
    return list(warnings)
