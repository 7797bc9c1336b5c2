"""Calls and results of the old vocabulary whose messages are read at once, because their fields are few."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamweir.dialects.legacy import decode_messages
from streamweir.dialects.legacy.decode import LegacyDecoder
from streamweir.framing import Frame

NAMES = (
    *("tool_id", "tool_call_id", "id", "tool_name", "name", "tool", "tool_args", "arguments", "input"),
    *("result", "output", "content", "status", "timestamp", "request_id", "error", "code", "success"),
    *("session_id", "duration_ms", "description", "more", "x" * 600),
)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(0, 9),
    st.sampled_from(["", "a", "{}", "Running", "completed", "failed", "odd"]),
    st.lists(st.integers(0, 9), max_size=2),
    st.dictionaries(st.sampled_from(["a", "b"]), st.integers(0, 9), max_size=2),
)
MESSAGES = st.builds(
    lambda kind, fields: {"type": kind, **fields},
    st.sampled_from(["tool_call", "tool_result"]),
    st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=5),
)


def read(message: dict[str, Any]) -> list[Any]:
    return [*LegacyDecoder().decode(Frame(json.dumps(message).encode()))]


@given(MESSAGES)
def test_call_with_few_fields_equals_one_read_field_by_field(message: dict[str, Any]) -> None:
    at_once = read(message)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decode_messages, "_plain_call", lambda *_: None)
        one_by_one = read(message)

    assert at_once == one_by_one
