"""Whatever an upstream's message holds comes out somewhere.

Each recorded message gets a field that no rule knows, in every object of it in turn; then also while each
string beside that field is taken away, empty, or of another type. What a dialect calls bookkeeping on its
page may be left out, and what an upstream says of failures.
"""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from places import ROOT
from streams import Recorded, events_of, recorded_streams
from streamweir import Translator
from streamweir.codec.registry import process_dialects

PROBE = "probe-77"
DEEP = 3
TYPES = ("type", "event", "kind", "domain", "role")
REMOVED = object()
INSTEAD = {"empty": "", "removed": REMOVED, "null": None, "number": 7, "object": {"zz_inner": 1}}
PREFIX = re.compile(r"data:|[0-9a-z]:|aui-[a-z-]+:")
"""What stands in front of the JSON: the field's name, or the code of a data stream."""
FIXED: dict[str, Any] = {"framing": "ndjson", "request_id": "req_1", "session_id": "s", "clock": lambda: 0}


class Place(NamedTuple):
    """One object of one recorded message."""

    stream: Recorded
    line: int
    path: tuple[str | int, ...]
    keys: tuple[str, ...]
    words: frozenset[str]
    """The names on the way to it, and the types of what lies on it."""


def bookkeeping(dialect: str) -> set[str]:
    """The words that the dialect's page lists as left out."""
    page = (ROOT / "docs/dialects" / f"{dialect}.md").read_text()
    listed = re.findall(r"^Bookkeeping, left out: (.*?)(?:\n\n|\Z)", page, re.MULTILINE | re.DOTALL)
    return {word.lower() for text in listed for word in re.findall(r"`([^`]+)`", text)}


def lines_of(path: Path) -> list[str]:
    return path.read_text("utf-8", errors="replace").split("\n")[:400]


def json_in(line: str) -> tuple[str, Any]:
    found = PREFIX.match(line)
    prefix = found[0] if found else ""
    try:
        return prefix, json.loads(line.removeprefix(prefix))
    except ValueError:
        return prefix, None


def objects_in(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    if isinstance(value, dict):
        yield path, value
    if len(path) < DEEP and isinstance(value, dict | list):
        items: Iterable[Any] = value.items() if isinstance(value, dict) else enumerate(value[:2])
        for key, item in items:
            yield from objects_in(item, (*path, key))


def words_on(value: Any, path: tuple[str | int, ...]) -> frozenset[str]:
    words = {str(key).lower() for key in path if isinstance(key, str)}
    for key in (None, *path):
        value = value if key is None else value[key]
        if isinstance(value, dict):
            words |= {str(value[name]).lower() for name in TYPES if isinstance(value.get(name), str)}
            words |= {str(item["role"]).lower() for item in value.values() if _has_role(item)}
    return frozenset(words)


def _has_role(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("role"), str)


def places(dialect: str) -> list[Place]:
    """One place for each shape of an object that occurs in the recorded streams of `dialect`."""
    found: dict[object, Place] = {}
    for stream in recorded_streams():
        if stream.dialect != dialect or stream.path.suffix not in (".sse", ".ndjson", ".txt"):
            continue
        for number, line in enumerate(lines_of(stream.path)):
            message = json_in(line)[1]
            for path, value in objects_in(message if isinstance(message, dict) and message else None):
                words = words_on(message, path)
                shape = tuple("*" if isinstance(key, int) else key for key in path), *sorted(value), words
                found.setdefault(shape, Place(stream, number, path, tuple(value), words))
    return list(found.values())


def strings(dialect: str) -> list[tuple[Place, str]]:
    """The strings that are to come out, one for each way and name by which such messages have one."""
    found: dict[object, tuple[Place, str]] = {}
    left_out = bookkeeping(dialect)
    for place in places(dialect):
        if not place.words & left_out:
            target = target_of(json_in(lines_of(place.stream.path)[place.line])[1], place)
            for key in (key for key, value in target.items() if isinstance(value, str)):
                way = tuple("*" if isinstance(name, int) else name for name in place.path)
                found.setdefault((way, key, place.words), (place, key))
    return list(found.values())


def output_with_probe(place: Place, key: str | None = None, instead: object = REMOVED) -> bytes | None:
    """What the probed message gives, and what follows it; None where its stream was over before it.

    Args:
        place: the object that is probed.
        key: its field in whose place stands `instead`.
        instead: a JSON value, or REMOVED.
    """
    lines = lines_of(place.stream.path)
    prefix, message = json_in(lines[place.line])
    target = target_of(message, place)
    if key is not None:
        target[key] = instead
        if instead is REMOVED:
            del target[key]
    target["zz_unheard_of"] = PROBE
    options = {place.stream.dialect: place.stream.options}
    translator = Translator(speaks=place.stream.dialect, protocol_options=options, **FIXED)
    translator.feed("\n".join([*lines[: place.line], ""]).encode())
    if translator.ended:
        return None
    probed = [prefix + json.dumps(message, ensure_ascii=False), *lines[place.line + 1 :]]
    return translator.feed("\n".join(probed).encode()) + translator.close()


def target_of(message: Any, place: Place) -> dict[str, Any]:
    for key in place.path:
        message = message[key]
    assert isinstance(message, dict)
    return message


def is_dropped(output: bytes | None) -> bool:
    return (
        output is not None and bool(output) and PROBE.encode() not in output and not speaks_of_failure(output)
    )


def speaks_of_failure(output: bytes) -> bool:
    return any(
        event["type"] in ("error", "warning")
        or event["data"].get("status") in ("failed", "cancelled")
        or event["data"].get("state") == "failed"
        or "[withheld]" in str(event["data"])
        for event in events_of(output)
    )


@pytest.mark.parametrize("dialect", process_dialects().readable)
def test_unknown_field_is_preserved(dialect: str) -> None:
    left_out = bookkeeping(dialect)
    probed = [place for place in places(dialect) if not place.words & left_out]
    assert [place for place in probed if is_dropped(output_with_probe(place))] == []


@pytest.mark.parametrize("dialect", process_dialects().readable)
def test_unknown_field_next_to_an_empty_text_is_preserved(dialect: str) -> None:
    dropped = [
        (place, key, name)
        for place, key in strings(dialect)
        for name, value in INSTEAD.items()
        if is_dropped(output_with_probe(place, key, value))
    ]
    assert dropped == []


def test_empty_piece_of_text_keeps_the_fields_next_to_it() -> None:
    translator = Translator(speaks="data-formulator", **FIXED)
    output = translator.feed(b'{"type": "text_delta", "sources": ["a.csv"]}\n') + translator.close()
    assert [event["data"]["data"] for event in events_of(output) if event["type"] == "data"] == [
        {"name": "content", "value": {"sources": ["a.csv"]}}
    ]


@pytest.mark.parametrize("name", ["ToolCallStarted", "ToolCallCompleted"])
def test_event_of_a_call_without_an_id_is_kept(name: str) -> None:
    message = {"event": name, "agent_id": "a", "run_id": "r", "tool": None, "zz_unheard_of": PROBE}
    translator = Translator(speaks="agno", **FIXED)
    output = translator.feed(json.dumps(message).encode() + b"\n") + translator.close()
    kept = [event["data"]["data"] for event in events_of(output) if event["type"] == "data"]
    assert kept == [{"name": name, "value": {"zz_unheard_of": PROBE}}]


BESIDE_WHAT_IS_READ: dict[str, list[dict[str, Any]]] = {
    "legacy": [
        {"type": "token", "content": "a", "text": PROBE},
        {"type": "token", "content": "a", "data": [PROBE]},
        {"type": "tool_call", "tool_name": "f", "tool": PROBE, "tool_args": {}, "status": "calling"},
        {"type": "tool_call", "tool_name": "f", "tool_args": {}, "input": PROBE},
        {"type": "tool_result", "tool_name": "f", "result": "r", "output": PROBE},
        {"type": "tool_result", "tool_name": "f", "result": "r", "status": PROBE},
    ],
    "stream-envelope": [
        {"type": "content", "run_id": "r", "data": {"delta": "a", "text": PROBE}},
        {"type": "content", "run_id": {"id": PROBE}, "data": {"delta": "a"}},
        {"type": "tool_start", "run_id": "r", "data": {"tool_name": "f", "name": PROBE, "tool_input": {}}},
        {"type": "tool_end", "run_id": "r", "data": {"tool_name": "f", "tool_output": 1, "output": PROBE}},
        {"type": "node_end", "node_name": "n", "data": {"status": PROBE}},
        {"type": "interrupt", "data": {"state": {"agent_event": PROBE}}},
        {"type": "done", "data": {"usage": PROBE}},
    ],
    "easyflow": [
        {"domain": "llm", "type": "message", "payload": {"delta": "a", "role": PROBE}},
        {"domain": "tool", "type": "tool_call", "payload": {"name": "f", "tool_name": PROBE}},
        {"domain": "tool", "type": "tool_result", "payload": {"tool_call_id": "c", "status": PROBE}},
    ],
    "standard": [
        {"type": "content", "data": {"content": "a"}, "metadata": PROBE},
        {"type": "content", "data": {"content": "a"}, "metadata": {"message_id": [PROBE]}},
        {"type": "tool_call_end", "data": {"tool_id": "t", "status": PROBE}, "metadata": {}},
        {"type": "tool_call_progress", "data": {"tool_id": "t", "progress": PROBE}, "metadata": {}},
        {"type": "session_end", "data": {"status": "completed", "reason": PROBE}, "metadata": {}},
    ],
    "langgraph-events": [{"event": "on_chat_model_end", "run_id": "r", "data": {"zz_unheard_of": PROBE}}],
    "a2a": [{"result": {"statusUpdate": {"taskId": "t", "status": {"state": PROBE}}}}],
}
"""A second name for what is read under a first, a word that is none of those known, an id that is no id."""


@pytest.mark.parametrize("dialect", BESIDE_WHAT_IS_READ)
def test_unread_fields_are_preserved_next_to_read_ones(dialect: str) -> None:
    for message in BESIDE_WHAT_IS_READ[dialect]:
        translator = Translator(speaks=dialect, **FIXED)
        output = translator.feed(b"data: %b\n\n" % json.dumps(message).encode()) + translator.close()
        assert PROBE.encode() in output, message
