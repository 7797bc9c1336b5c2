"""Checks whether a body is a valid stream of the standard protocol, and words every breach.

Source: the standard protocol 1.1, sections 1 to 6.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from streamweir.errors import TOOL_CODES
from streamweir.testing.folded import folded_breaches
from streamweir.testing.shapes import DATA, METADATA, breaches_of, data_breaches
from streamweir.testing.wire import read_ndjson, read_sse

__all__ = ["assert_valid_stream", "check_stream"]

Headers = Mapping[str, str] | Iterable[tuple[str, str]]

_MEDIA_TYPES: Final = {
    "sse": "text/event-stream; charset=utf-8",
    "ndjson": "application/x-ndjson",
    "json": "application/json",
}
_ERROR_REASONS: Final = {
    "UPSTREAM_UNREACHABLE": {"upstream_unreachable"},
    "UPSTREAM_TIMEOUT": {
        "connect_timeout",
        "first_event_timeout",
        "idle_timeout",
        "total_timeout",
        "upstream_error",
    },
    "UPSTREAM_TRUNCATED": {"truncated"},
    "UPSTREAM_INVALID_RESPONSE": {"malformed"},
    "STREAM_LIMIT_EXCEEDED": {"limit", "malformed"},
    "GATEWAY_DRAINING": {"draining"},
    "RUN_LOST": {"lost"},
    "STORE_UNAVAILABLE": {"lost"},
    "INTERNAL": {"internal"},
}
"""For each error code, the reasons with which a stream may end; for all other codes `upstream_error`."""

_END_REASONS: Final = {
    "completed": {"done"},
    "suspended": {"interaction"},
    "cancelled": {"cancelled", "client_gone", "slow_client"},
}
_NOT_IN_ERRORS: Final = frozenset({*TOOL_CODES, "CANCELLED"})
_TIMED: Final = frozenset({"tool_call_end", "status", "session_end"})


def check_stream(body: bytes, *, framing: str = "sse", headers: Headers | None = None) -> list[str]:
    """Return each breach of the protocol in `body`, in words; an empty list for a valid stream.

    `framing` is `sse`, `ndjson` or `json` (the folded result). `headers`, if given, are checked too.

    Raises:
        ValueError: `framing` has another value.
    """
    if framing not in _MEDIA_TYPES:
        raise ValueError(f"unknown framing {framing!r} (one of: {', '.join(_MEDIA_TYPES)})")
    checker = _Checker()
    if framing == "json":
        request_id, breaches = folded_breaches(body)
        checker.request_id = request_id
        checker.breaches += breaches
    else:
        for framed in read_sse(body) if framing == "sse" else read_ndjson(body):
            checker.breaches += framed.breaches
            if framed.value is not None or not framed.breaches:
                checker.take(framed.value, framed.id)
        checker.finish()
    if headers is not None:
        checker.breaches += _header_breaches(headers, framing, checker.request_id)
    return checker.breaches


def assert_valid_stream(body: bytes, *, framing: str = "sse", headers: Headers | None = None) -> None:
    """Raise `AssertionError`, with every breach in words, unless `body` is a valid stream."""
    breaches = check_stream(body, framing=framing, headers=headers)
    if breaches:
        raise AssertionError("not a valid stream:\n" + "\n".join(f"- {breach}" for breach in breaches))


class _Checker:
    """Walks along one stream and notes breaches of the rules."""

    def __init__(self) -> None:
        self.breaches: list[str] = []
        self.request_id: str | None = None
        self._index = 0
        self._place = ""
        self._version: object = None
        self._before: dict[str, Any] | None = None
        self._failure: dict[str, Any] | None = None
        self._end: dict[str, Any] | None = None
        self._announced: set[str] = set()
        self._started: set[str] = set()
        self._open_calls: dict[str, None] = {}
        self._open_messages: dict[tuple[str | None, str | None], None] = {}
        self._complete_messages: set[object] = set()

    def take(self, event: Any, frame_id: int | None) -> None:
        """Check the next event of the stream."""
        kind = event.get("type") if isinstance(event, dict) else None
        self._place = f"event {self._index} ({kind if isinstance(kind, str) else 'no type'})"
        self._check_order(kind)
        if not isinstance(event, dict) or not isinstance(kind, str):
            self._note("must be an object with a type")
        else:
            self._check_envelope(event)
            self._check_metadata(kind, event.get("metadata"), frame_id)
            self._check_data(kind, event.get("data"), event.get("metadata"))
            self._before = event
        self._index += 1

    def finish(self) -> None:
        """Check the rules that concern the end of the stream."""
        self._place = "the stream"
        if not self._index:
            self._note("has no events")
        elif self._end is None:
            self._note("does not end with session_end")

    def _note(self, breach: str) -> None:
        self.breaches.append(f"{self._place}: {breach}")

    # The envelope

    def _check_order(self, kind: Any) -> None:
        if self._index == 0 and kind != "session_start":
            self._note("the first event must be session_start")
        if self._index > 0 and kind == "session_start":
            self._note("session_start must occur once, as the first event")
        if self._end is not None:
            self._note("nothing may follow session_end")
        elif self._failure is not None and kind != "session_end":
            self._note("only session_end may follow a terminal error")

    def _check_envelope(self, event: dict[str, Any]) -> None:
        for name in ("data", "metadata"):
            if name not in event:
                self._note(f"{name} is missing")
        for name in event:
            if name not in ("type", "data", "metadata"):
                self._note(f"{str(name)[:40]} is not in the envelope")

    def _check_metadata(self, kind: str, metadata: Any, frame_id: int | None) -> None:
        self._note_all(breaches_of(metadata, METADATA, "metadata"))
        if not isinstance(metadata, dict):
            return
        if metadata.get("sequence") != self._index:
            self._note(f"metadata.sequence must be {self._index}")
        if frame_id is not None and frame_id != metadata.get("sequence"):
            self._note("the id of the SSE frame must be metadata.sequence")
        request_id = metadata.get("request_id")
        if self.request_id is None and isinstance(request_id, str):
            self.request_id = request_id
        elif request_id != self.request_id:
            self._note("metadata.request_id must be the same in all events")
        if "duration_ms" in metadata and kind not in _TIMED:
            self._note("metadata.duration_ms belongs to tool_call_end, status and session_end")
        if "extra" in metadata and kind == "error":
            self._note("metadata.extra must not stand on errors")
        if "source" in metadata and kind in ("error", "warning"):
            self._note("metadata.source must not stand on errors and warnings")

    def _note_all(self, breaches: Iterable[str]) -> None:
        for breach in breaches:
            self._note(breach)

    # The rules of a stream

    def _check_data(self, kind: str, data: Any, metadata: Any) -> None:
        if kind not in DATA:
            self._note("the type is not in the protocol")
            return
        self._note_all(breaches_of(data, DATA[kind], "data"))
        if not isinstance(data, dict):
            return
        ids = metadata if isinstance(metadata, dict) else {}
        match kind:
            case "session_start":
                self._version = data.get("protocol")
                if data.get("request_id") != ids.get("request_id"):
                    self._note("data.request_id must be that of the metadata")
            case "tool_call_delta" | "tool_call_start" | "tool_call_progress" | "tool_call_end":
                self._check_call(kind, data, ids)
            case "content":
                self._check_message(data, ids)
            case "data":
                self._note_all(data_breaches(data.get("data_type"), data.get("data")))
            case "status" if data.get("state") == "failed" and "source" in ids:
                self._note("metadata.source must not stand on a failed step")
            case "interaction":
                self._check_interaction(data)
            case "error":
                self._check_error(data)
            case "session_end":
                self._check_end(data)

    def _check_call(self, kind: str, data: dict[str, Any], ids: dict[str, Any]) -> None:
        tool_id = data.get("tool_id")
        if not isinstance(tool_id, str):
            return
        match kind:
            case "tool_call_delta":
                if tool_id in self._started:
                    self._note(f"an argument's piece after the start of the call {tool_id!r}")
                self._announced.add(tool_id)
            case "tool_call_start":
                if tool_id in self._started:
                    self._note(f"the tool_id {tool_id!r} is used twice")
                self._started.add(tool_id)
                self._announced.discard(tool_id)
                self._open_calls[tool_id] = None
            case "tool_call_progress" | "tool_call_end":
                if tool_id not in self._started:
                    self._note(f"no tool_call_start for {tool_id!r} before")
                elif tool_id not in self._open_calls:
                    self._note(f"the call {tool_id!r} is over already")
        if kind == "tool_call_end":
            self._open_calls.pop(tool_id, None)
            self._check_call_end(data, ids)

    def _check_call_end(self, data: dict[str, Any], ids: dict[str, Any]) -> None:
        if "error" in data and data.get("status") != "failed":
            self._note("data.error only when failed")
        if data.get("status") == "failed" and "source" in ids:
            self._note("metadata.source must not stand on a failed call")

    def _check_message(self, data: dict[str, Any], ids: dict[str, Any]) -> None:
        if not data.get("content") and "opaque" in data and "is_complete" not in data:
            return
        key = (_hashable(ids.get("message_id")), _hashable(data.get("channel")))
        if key in self._complete_messages and data.get("op") != "replace":
            self._note(f"the message {key[0]!r} goes on after is_complete")
        if data.get("is_complete") is True:
            self._open_messages.pop(key, None)
            if "message_id" in ids:
                self._complete_messages.add(key)
        elif data.get("content"):
            self._open_messages[key] = None

    def _check_interaction(self, data: dict[str, Any]) -> None:
        asks_for_tool = data.get("kind") == "tool" and data.get("state") == "requested"
        if asks_for_tool and _hashable(data.get("interaction_id")) not in self._started:
            self._note("data.interaction_id of kind tool must be the tool_id of a call")

    def _check_error(self, data: dict[str, Any]) -> None:
        code = data.get("code")
        if isinstance(code, str) and code in _NOT_IN_ERRORS:
            self._note(f"the code {code} must not stand on an error event")
        if data.get("terminal") is True:
            self._failure = data

    # The end

    def _check_end(self, data: dict[str, Any]) -> None:
        self._end = data
        status = data.get("status")
        if self._version == "1.0" and (status, data.get("reason")) == ("completed", "interaction"):
            status = "suspended"  # version 1.0 has no word for it
        self._check_failed_end(status, data.get("reason"))
        if status != "suspended":
            for tool_id in self._open_calls:
                self._note(f"the call {tool_id!r} is still open")
        for tool_id in sorted(self._announced):
            self._note(f"no tool_call_start followed the pieces of the call {tool_id!r}")
        for message_id, channel in self._open_messages:
            name = f"{message_id!r}" if channel is None else f"{message_id!r} in channel {channel!r}"
            self._note(f"the message {name} has no piece with is_complete")
        self._check_summary(data.get("summary"))

    def _check_failed_end(self, status: Any, reason: Any) -> None:
        failed = self._before is not None and self._before.get("data") is self._failure is not None
        if status == "error" and not failed:
            self._note("status error needs a terminal error directly before it")
        if status != "error" and self._failure is not None:
            self._note("the status after a terminal error must be error")
        if status == "error" and self._failure is not None:
            code = str(self._failure.get("code"))
            allowed = _ERROR_REASONS.get(code, {"upstream_error"})
        else:
            allowed = _END_REASONS.get(status, set()) if isinstance(status, str) else set()
        if allowed and (not isinstance(reason, str) or reason not in allowed):
            self._note(f"data.reason must be one of {', '.join(sorted(allowed))}, not {str(reason)[:40]!r}")

    def _check_summary(self, summary: Any) -> None:
        if not isinstance(summary, dict):
            return
        for name, number in (("events", self._index + 1), ("tool_calls", len(self._started))):
            if name in summary and summary[name] != number:
                self._note(f"data.summary.{name} must be {number}")


def _hashable(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _header_breaches(headers: Headers, framing: str, request_id: str | None) -> Iterator[str]:
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    values: dict[str, list[str]] = {}
    for name, value in pairs:
        values.setdefault(name.lower(), []).append(value.strip())
    wanted = {
        "content-type": _MEDIA_TYPES[framing],
        "cache-control": "no-cache, no-transform",
        "x-accel-buffering": "no",
        "content-encoding": "identity",
    }
    if request_id is not None:
        wanted["x-request-id"] = request_id
    for name, value in wanted.items():
        if framing == "json" and name != "x-request-id":
            continue
        if values.get(name) != [value]:
            yield f"header {name}: must be {value!r}, not {', '.join(values.get(name, [])) or 'absent'!r}"
    if framing == "json" and not (values.get("content-type", [""])[0]).startswith("application/json"):
        yield "header content-type: must be 'application/json'"
    if framing != "json" and "content-length" in values:
        yield "header content-length: a stream has none"
