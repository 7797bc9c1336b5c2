"""Calls that ADK puts into the data parts of A2A."""

import json

import pytest

from streams import events_of, translate


@pytest.mark.parametrize("name", [None, "", 7])
def test_call_without_a_name_is_unknown(name: object) -> None:
    part = {"data": {"id": "c1", "name": name, "args": {}}, "metadata": {"adk_type": "function_call"}}
    message = {"messageId": "m", "role": "ROLE_AGENT", "parts": [part]}
    states = [
        {"state": "TASK_STATE_WORKING", "message": message},
        {"state": "TASK_STATE_COMPLETED"},
    ]
    frames = [
        {"jsonrpc": "2.0", "id": "1", "result": {"statusUpdate": {"taskId": "t", "status": state}}}
        for state in states
    ]
    body = "".join(f"data: {json.dumps(frame)}\n\n" for frame in frames)
    events = events_of(translate([body.encode()], speaks="a2a"))
    (start,) = (event for event in events if event["type"] == "tool_call_start")
    assert start["data"]["tool_name"] == ("7" if name == 7 else "unknown")
