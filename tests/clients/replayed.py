"""The streams that clients read, and what each of them holds, whoever reads it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from streams import canonical_streams, events_of, recorded_streams, translate

__all__ = ["Call", "Expected", "Replayed", "expected_of", "expected_of_events", "replayed_streams"]

MEDIA_TYPES = {".ndjson": "application/x-ndjson", ".json": "application/json", ".txt": "text/plain"}
CUT_AT = (0.35, 0.8)
"""How much of a stream comes where it breaks off."""


class Replayed(NamedTuple):
    """A body that an upstream sends.

    Attributes:
        path: of the endpoint, and of the upstream.
        dialect: what it speaks.
        media_type: of the body.
        body: the bytes.
        options: of the dialect.
    """

    path: str
    dialect: str
    media_type: str
    body: bytes
    options: dict[str, Any]


class Call(NamedTuple):
    """A call of a tool.

    Attributes:
        tool_id: by which its parts are found.
        name: of the tool.
        arguments: whole.
        is_open: it has no result: the client, or a person, is asked.
        result: where it went well.
        error: why it failed, else None.
    """

    tool_id: str
    name: str
    arguments: dict[str, Any]
    is_open: bool = True
    result: Any = None
    error: str | None = None


class Expected(NamedTuple):
    """What a client has to get of a stream.

    Attributes:
        texts: of each message and channel, in the order of their first piece.
        thinking: all reasoning.
        calls: in the order of their start.
        asked: ids of what is asked, by kind.
        status: of the end.
        error: of a run that failed: its message.
        whole: the text of an answer in one piece, where what was replaced is gone.
    """

    texts: list[str]
    thinking: str
    calls: list[Call]
    asked: dict[str, str]
    status: str
    error: str | None
    whole: str


def replayed_streams() -> Iterator[Replayed]:
    """Every recorded stream of every dialect, every canonical one, and some of each that break off."""
    broken: set[str] = set()
    for recorded in recorded_streams():
        media_type = MEDIA_TYPES.get(recorded.path.suffix, "text/event-stream")
        whole = Replayed(str(recorded), recorded.dialect, media_type, recorded.body, recorded.options)
        yield whole
        if recorded.dialect not in broken and len(recorded.body) > 1000:
            broken.add(recorded.dialect)
            yield from _cut(whole)
    for name, body in canonical_streams().items():
        whole = Replayed(f"canonical/{name}", "standard", MEDIA_TYPES[".ndjson"], body, {})
        yield whole
        yield from _cut(whole)


def _cut(whole: Replayed) -> Iterator[Replayed]:
    for part in CUT_AT:
        body = whole.body[: int(len(whole.body) * part)]
        yield whole._replace(path=f"cut-{part:.0%}/{whole.path}".replace("%", ""), body=body)


def expected_of(stream: Replayed) -> Expected:
    """Return what a client that cannot replace text has to get."""
    options = {stream.dialect: stream.options}
    options["standard"] = {**options.get("standard", {}), "version": "1.0"}
    how: Any = {"speaks": stream.dialect, "stream_tool_arguments": True, "protocol_options": options}
    expected = expected_of_events(events_of(translate([stream.body], **how)))
    return expected._replace(whole=_whole(stream))


def expected_of_events(events: list[dict[str, Any]]) -> Expected:
    """Return what a client has to get of a stream of standard events."""
    texts: dict[object, str] = {}
    calls: dict[str, Call] = {}
    asked: dict[str, str] = {}
    thinking, error = "", None
    for event in events:
        data = event["data"]
        match event["type"]:
            case "content":
                key = event["metadata"].get("message_id"), data.get("channel")
                texts[key] = texts.get(key, "") + data["content"]
            case "thinking":
                thinking += data["content"]
            case "tool_call_start":
                calls[data["tool_id"]] = Call(data["tool_id"], data["tool_name"], data["arguments"])
            case "tool_call_end":
                why = data["error"]["message"] if data["status"] == "failed" else None
                calls[data["tool_id"]] = calls[data["tool_id"]]._replace(
                    is_open=False, result=data.get("result"), error=why
                )
            case "interaction" if data["state"] == "requested":
                asked[data["interaction_id"]] = data["kind"]
            case "error" if data["terminal"]:
                error = data["message"]
    end = events[-1]["data"]
    is_suspended = end.get("reason") == "interaction"  # which version 1.0 calls completed
    status = "suspended" if is_suspended else str(end["status"])
    return Expected([*texts.values()], thinking, [*calls.values()], asked, status, error, "")


def as_begun(calls: list[Call], seen: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the calls that a client saw in the order of ours.

    Where pieces of arguments are mixed, who takes pieces sees another call begin first.
    """

    left = dict(enumerate(calls))

    def place(found: dict[str, Any]) -> int:
        of_run = (number for number, call in enumerate(calls) if found["id"].startswith(f"{call.tool_id}-"))
        same = (number for number, call in enumerate(calls) if found["id"] == call.tool_id)
        number = next(same, next(of_run, None))
        if number is None and left:  # an id of the gateway, which depends on the request
            number = max(left, key=lambda number: (_likeness(left[number], found), -number))
        left.pop(-1 if number is None else number, None)
        return len(calls) if number is None else number

    return sorted(seen, key=place)


def _likeness(call: Call, found: dict[str, Any]) -> tuple[bool, bool, bool]:
    """Return in which respects a call that a client saw is this one."""
    given = [found.get("input"), found.get("arguments")]
    said = [found.get(name) for name in ("result", "output", "error")]
    wanted = [call.error] if call.error is not None else [call.result, _json(call.result)]
    is_given = call.arguments in given or _json(call.arguments) in given
    return call.name == found["name"], any(value in said for value in wanted), is_given


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _whole(stream: Replayed) -> str:
    options = {stream.dialect: stream.options}
    folded = translate([stream.body], speaks=stream.dialect, framing="json", protocol_options=options)
    message = json.loads(folded)["message"]
    return "\n\n".join(filter(None, [message["content"], *message.get("channels", {}).values()]))
