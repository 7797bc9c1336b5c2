"""Ids and names of calls above 1,024 characters are shortened alike everywhere: every recorded stream
has the same calls, ends and warnings when the names or the ids of its calls are long.

Source: the standard protocol 1.1, section 3 rule 11.
"""

from pathlib import Path
from typing import Any

from cases import for_each
from places import RECORDED
from streams import events_of, translate

QUOTES = (b'"', b'\\"', b'\\\\\\"')
"""The quotes of a text in JSON, and of a text in JSON that is a text itself."""
LONG = b"y" * 1100
OTHER_WRITING = {
    ("data-formulator", "08-rejected-action"): "an action is known by its name",
    ("dify", "agent-two-tools"): "`tool` has two names in one text",
    ("langgraph-events", "events-v2-texts-of-python"): "the ids are in the text of a Python object",
    ("openai-responses", "items-of-servers"): "the name of a call is the type of its item",
}


def bodies() -> list[Path]:
    found = [path for path in sorted(RECORDED.glob("*/*")) if path.suffix in (".sse", ".ndjson", ".txt")]
    return [path for path in found if (path.parent.name, path.stem) not in OTHER_WRITING]


def read(body: bytes, dialect: str) -> list[dict[str, Any]]:
    return events_of(translate([body], speaks=dialect))


def outline(events: list[dict[str, Any]]) -> list[tuple[object, ...]]:
    """Return the events without texts, each call by the place of its start."""
    starts = [event["data"]["tool_id"] for event in events if event["type"] == "tool_call_start"]
    found: list[tuple[object, ...]] = []
    for event in events:
        data = event["data"]
        call = data.get("tool_id") or data.get("interaction_id")
        place = starts.index(call) if call in starts else None
        found.append((event["type"], data.get("status"), data.get("message_code"), place))
    return found


def with_long(body: bytes, values: set[str]) -> bytes:
    for value in values:
        for quote in QUOTES:
            body = body.replace(quote + value.encode() + quote, quote + value.encode() + LONG + quote)
    return body


@for_each("path", bodies(), group=lambda path: path.parent.name)
def test_recorded_stream_given_long_names_of_calls_has_the_same_calls(path: Path) -> None:
    body, dialect = path.read_bytes(), path.parent.name
    events = read(body, dialect)
    for field in ("tool_name", "tool_id"):
        values = {
            event["data"][field]
            for event in events
            if event["type"] == "tool_call_start" and event["data"][field]
        }
        long = with_long(body, values)
        if long != body:
            assert outline(read(long, dialect)) == outline(events), field
