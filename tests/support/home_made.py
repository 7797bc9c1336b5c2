"""Home-made dialects in tests: from a mapping to a dialect, and what it makes of messages."""

import json
from collections.abc import Mapping
from textwrap import dedent
from typing import Any

import yaml_mapping
from streams import events_of, translate
from streamweir import load_dialect
from streamweir.codec.dialect import Dialect


def dialect(text: str, name: str = "acme") -> Dialect:
    """The dialect that the keys in `text`, which is YAML, say."""
    return Dialect.of_class(name, load_dialect(yaml_mapping.read(dedent(text))))


def sse(*messages: Any) -> bytes:
    """Messages as data-only SSE; a text is sent as it is, a pair is an event name and a message."""
    return b"".join(_block(message) for message in messages)


def _block(message: Any) -> bytes:
    name, data = message if isinstance(message, tuple) else (None, message)
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    event = f"event: {name}\n" if name else ""
    lines = "".join(f"data: {line}\n" for line in text.split("\n")) if data is not None else ""
    return f"{event}{lines}\n".encode()


def spoken(speaks: Dialect, body: bytes, **options: Any) -> list[dict[str, Any]]:
    """The events of a body, flat: without what every event has, `session_start` and the summary."""
    found = []
    for event in events_of(translate([body], speaks=speaks, **options)):
        metadata = {
            name: value
            for name, value in event["metadata"].items()
            if name not in ("request_id", "timestamp", "sequence")
        }
        data = {name: value for name, value in event["data"].items() if name != "summary"}
        if event["type"] != "session_start":
            found.append({"type": event["type"], **metadata, **data})
    return found


def ending(speaks: Dialect, body: bytes, **options: Any) -> tuple[str, str]:
    """Status and reason of the end."""
    data = events_of(translate([body], speaks=speaks, **options))[-1]["data"]
    return data["status"], data["reason"]


def summary(speaks: Dialect, body: bytes) -> Mapping[str, Any]:
    return events_of(translate([body], speaks=speaks))[-1]["data"]["summary"]  # type: ignore[no-any-return]
