"""Any body is read, or refused without its values; what was read can be written; in bounded time."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import case
from streamweir import RequestError, read_request
from streamweir.codec.dialects import Dialects
from streamweir.requests.canonical import FIELDS
from streamweir.requests.fields import MAX_ITEMS
from streamweir.translation.requests import planned_request

DIALECTS = Dialects.built_in()
READERS = [name for name, dialect in DIALECTS.items() if dialect.reads_requests]
WRITERS = [name for name, dialect in DIALECTS.items() if dialect.writes_requests]
SECRET = "s3cret-value"
NAMES = (
    *FIELDS,
    *(
        "role",
        "content",
        "text",
        "type",
        "id",
        "url",
        "file",
        "files",
        "parts",
        "source",
        "data",
        "tool_calls",
    ),
    *(
        "function",
        "name",
        "arguments",
        "input",
        "question",
        "query",
        "system",
        "threadId",
        "runId",
        "command",
    ),
    *("forwardedProps", "interruptId", "status", "payload", "action", "trajectory", "inputs", "image_url"),
    *(
        "tool_call_id",
        "state",
        "session_id",
        "form_id",
        "values",
        "metadata",
        "mediaType",
        "output",
        "instructions",
    ),
)
WORDS = (
    *(
        "user",
        "assistant",
        "system",
        "tool",
        "text",
        "image",
        "file",
        "resolved",
        "cancelled",
        "submit",
        "function",
    ),
    *(
        "message",
        "function_call",
        "function_call_output",
        "tool_use",
        "tool_result",
        "input_text",
        "dynamic-tool",
    ),
    *(SECRET, "", "data:image/png;base64,YWI=", "data:,x", "data:", "/", "..", "\x00", "\ud800", '{"a": 1}'),
)
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 2**70), st.floats(), st.sampled_from(WORDS), st.text(max_size=5)
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(NAMES), inner, max_size=5)
    ),
    max_leaves=20,
)
ROLES = st.sampled_from(["user", "assistant", "system", "tool"])
MESSAGES = st.lists(
    st.one_of(
        st.fixed_dictionaries(
            {"role": ROLES, "content": st.one_of(st.sampled_from(["hi", SECRET]), VALUES)},
            optional={
                "id": st.just("m"),
                "tool_call_id": st.just("c"),
                "tool_calls": VALUES,
                "parts": VALUES,
            },
        ),
        VALUES,
    ),
    max_size=4,
)
BODIES = st.builds(
    lambda fields, messages: {**fields, "messages": messages} if messages else fields,
    st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=8),
    MESSAGES,
)


def outcome(work: Callable[[], dict[str, Any]]) -> dict[str, Any] | RequestError:
    try:
        return work()
    except RequestError as error:
        return error


@given(body=BODIES)
def test_any_body_is_read_or_refused_without_its_values(body: dict[str, Any]) -> None:
    for protocol in READERS:
        with case(protocol):
            check_reading(body, protocol)


def check_reading(body: dict[str, Any], protocol: str) -> None:
    found = outcome(lambda: read_request(body, protocol=protocol))
    if isinstance(found, RequestError):
        assert (found.status, found.code) == (400, "BAD_REQUEST")
        assert SECRET not in str(found)
        return
    assert found.keys() <= {*FIELDS}
    assert None not in found.values()
    again = {"message": "hi", **json.loads(json.dumps(found))}
    assert read_request(again, protocol="standard")["messages"][: len(found["messages"])] == found["messages"]


@given(body=BODIES)
def test_any_read_request_can_be_written(body: dict[str, Any]) -> None:
    for dialect in WRITERS:
        with case(dialect):
            check_writing(body, dialect)


def check_writing(body: dict[str, Any], dialect: str) -> None:
    found = outcome(lambda: planned_request(body, protocol="standard", dialect=dialect, path="/chat"))
    if isinstance(found, RequestError):
        assert SECRET not in str(found)
        return
    assert found["requests"]
    for request in found["requests"]:
        assert ".." not in request["path"].split("/")


def test_ten_thousand_messages_are_accepted() -> None:
    turns = [{"role": ("user", "assistant")[number % 2], "content": "hi"} for number in range(MAX_ITEMS - 1)]
    assert read_request({"messages": [*turns]}, protocol="standard")["message"] == "hi"


@pytest.mark.parametrize("dialect", WRITERS)
def test_cost_grows_linearly_with_the_messages(dialect: str) -> None:
    """Ten times as many messages take less than a hundred times as long."""

    def seconds(count: int) -> float:
        turns = [
            {"role": ("user", "assistant")[number % 2], "content": "hi " * 20} for number in range(count)
        ]
        messages = [*turns, {"role": "user", "content": "hi"}]
        body = {"messages": messages, "inputs": {"appName": "app"}}  # google-adk needs one
        begin = time.process_time()
        planned_request(body, protocol="standard", dialect=dialect, path="/chat")
        return time.process_time() - begin

    few = min(seconds(400) for _ in range(3))
    assert any(seconds(4000) < 30 * few + 0.05 for _ in range(3))


@pytest.mark.parametrize(
    "body", [b"[" * 5_000_000, b'{"a":' * 1_000_000, b'{"message": "' + b"\\u" * 1_000_000]
)
def test_deep_nesting_is_refused_quickly(body: bytes) -> None:
    begin = time.process_time()
    with pytest.raises(RequestError):
        read_request(body, protocol="standard")
    assert time.process_time() - begin < 2
