"""No event of a failure keeps its text, whatever the event calls itself: new streams and copied frames alike.

A text that no user may read is planted into every field of every recorded message that ends a run, reports a
failure or begins a stream, in each dialect.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from hostile_streams import Shape, sample, shapes_of
from streamweir import Translator
from streamweir.codec.base import NO_OPTIONS
from streamweir.codec.registry import process_dialects
from streamweir.errors import StreamweirError
from streamweir.events import Error, SessionEnd, SessionStart, Status, Warning
from streamweir.framing import Frame
from streamweir.redaction import redact

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

DIALECTS = process_dialects().readable
PLANTED = "PLANTED-7f3a"
TRACE = f'Traceback (most recent call last):\n  File "/srv/app.py", line 7\nKeyError: "{PLANTED}"'
TEXTS = (TRACE, f"KeyError: '{PLANTED}'", f"psycopg.OperationalError: password={PLANTED}x9 refused")


def is_of_a_failure(dialect: str, shape: Shape, value: Any) -> bool:
    """Do the events of a message speak of the run and its failures alone?"""
    decoder = process_dialects()[dialect].make_decoder(NO_OPTIONS)
    data = shape.code + json.dumps(value).encode()
    try:
        events = [*decoder.decode(Frame(data, shape.event))]
    except StreamweirError:
        return False
    is_bad = any(
        isinstance(event, Error | Warning)
        or (isinstance(event, SessionEnd) and event.status in ("cancelled", "error"))
        or (isinstance(event, Status) and event.state == "failed")
        for event in events
    )
    is_for_users = any(isinstance(event, Error | Warning) and event.for_users for event in events)
    of_the_run = (Error, Warning, SessionStart, SessionEnd, Status)
    return is_bad and not is_for_users and all(isinstance(event, of_the_run) for event in events)


def planted(value: Any, text: str) -> Iterator[Any]:
    """Yield copies of a message, the text in the place of each of its texts, and as a key of each object."""
    places = [*objects(value, ())]
    for path, found in places:
        for key, item in found.items():
            if isinstance(item, str):
                yield with_item(value, path, key, text)
        yield with_item(value, path, text, "x")
        yield with_item(value, path, "beside", text)


def objects(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    if isinstance(value, dict):
        yield path, value
        for key, item in value.items():
            yield from objects(item, (*path, key))
    elif isinstance(value, list):
        for place, item in enumerate(value[:2]):
            yield from objects(item, (*path, place))


def with_item(value: Any, path: tuple[Any, ...], key: str, item: Any) -> Any:
    changed = copy.deepcopy(value)
    at = changed
    for step in path:
        at = at[step]
    at[key] = item
    return changed


def leaks(dialect: str, frame: bytes, **options: Any) -> bool:
    engine = Translator(speaks=dialect, request_id="req_1", **options)
    return PLANTED.encode() in engine.feed(frame) + engine.close()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_event_of_a_failure_with_an_exception_in_any_field_does_not_leave_with_it(
    dialect: str, hostile: int
) -> None:
    found = process_dialects()[dialect]
    assert found.decoder is not None
    if found.decoder.errors_for_users or dialect == "standard":
        pytest.skip("the texts of its failures are written for users")
    leaking = {}
    for shape in shapes_of(dialect):
        if not is_of_a_failure(dialect, shape, shape.value):
            continue
        for text in TEXTS:
            for value in sample([*planted(shape.value, text)], 10 * hostile):
                if not is_of_a_failure(dialect, shape, value):
                    continue
                frame = shape.frame(value)
                ways: list[dict[str, Any]] = [{"answers": "standard"}]
                if found.encoder is not None:
                    ways.append({"answers": dialect})
                for way in ways:
                    if leaks(dialect, frame, **way):
                        leaking[f"{way} {text[:12]} {value}"] = True
    assert not leaking


COOKIES = (
    *("sessionid", "SESSIONID", "JSESSIONID", "PHPSESSID", "ASP.NET_SessionId", "connect.sid", "ci_session"),
    *("laravel_session", "_session_id", "sess_id", "ASPSESSIONIDABCD"),
)


@pytest.mark.parametrize("cookie", COOKIES)
def test_redact_of_a_session_cookie_by_its_usual_name_hides_its_value(cookie: str) -> None:
    assert redact(f"refused: {cookie}=a8f3k2j1; Path=/") == f"refused: {cookie}=[redacted]; Path=/"


@pytest.mark.parametrize("name", ["session_id", "sessionId", "chat_session_id", "session_ids"])
def test_redact_of_the_protocols_own_session_id_keeps_it(name: str) -> None:
    assert redact(f"no run of {name}=s-1") == f"no run of {name}=s-1"


def events_of(frame: bytes, dialect: str = "standard") -> list[dict[str, Any]]:
    engine = Translator(speaks=dialect, answers="standard", framing="ndjson", request_id="req_1")
    return [json.loads(line) for line in (engine.feed(frame) + engine.close()).splitlines()]


def test_unknown_event_with_a_key_that_is_a_trace_leaves_without_it() -> None:
    frame = b"data: %b\n\n" % json.dumps({"type": "note", "about": {TRACE: 1}, "n": 2}).encode()
    assert PLANTED not in json.dumps(events_of(frame, "legacy"))


def test_start_with_an_exception_in_its_metadata_leaves_without_it() -> None:
    event = {"type": "session_start", "data": {"session_id": "s", "request_id": "r", "protocol": "1.1"}}
    frame = b"data: %b\n\n" % json.dumps({**event, "metadata": {"node_name": TEXTS[1]}}).encode()
    assert PLANTED not in json.dumps(events_of(frame))


def test_failed_call_whose_result_holds_a_trace_leaves_without_it() -> None:
    start = {"type": "tool_call", "tool_id": "t1", "tool_name": "get", "arguments": {}}
    end = {
        "type": "tool_result",
        "tool_id": "t1",
        "status": "failed",
        "results": {"ok": 1, "log": TRACE, TRACE: 2},
    }
    frames = b"".join(b"data: %b\n\n" % json.dumps(each).encode() for each in (start, end))
    for answers in ("standard", "legacy"):
        engine = Translator(speaks="legacy", answers=answers, request_id="req_1")
        assert PLANTED.encode() not in engine.feed(frames) + engine.close()


def test_cancelled_run_with_a_text_about_it_keeps_the_text() -> None:
    frame = b'data: {"type": "error", "message": "Request cancelled by user", "code": "CANCELLED"}\n\n'
    engine = Translator(speaks="stream-envelope", answers="stream-envelope", request_id="req_1")
    assert engine.feed(frame) + engine.close() == frame
