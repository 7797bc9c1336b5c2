"""A page of the AI SDK knows the tools that it is to run, and only shows those that have run elsewhere."""

from typing import Any

import pytest

from streams import Recorded, events_of, recorded_streams, sse_messages, translate


def for_client(stream: Recorded) -> set[str]:
    """The ids of the calls in a stream that its dialect gives to the client as such."""
    asked = [
        event["data"]
        for event in events_of(stream.expected.read_bytes())
        if event["type"] == "interaction" and event["data"]["kind"] == "tool"
    ]
    return {data["interaction_id"] for data in asked}


KNOWING = ("anthropic", "coze", "gemini", "ollama", "openai-chat", "openai-responses")
STREAMS = [stream for stream in recorded_streams() if stream.dialect in KNOWING and for_client(stream)]


def chunks_of(stream: Recorded) -> list[dict[str, Any]]:
    options = {stream.dialect: stream.options}
    body = translate(
        [stream.body],
        speaks=stream.dialect,
        answers="vercel-ui",
        framing="sse",
        protocol_options=options,
        stream_tool_arguments=True,
    )
    return sse_messages(body)


@pytest.mark.parametrize("stream", STREAMS, ids=str)
def test_call_for_the_page_is_one_part_and_handed_over_once(stream: Recorded) -> None:
    chunks = [chunk for chunk in chunks_of(stream) if chunk.get("toolCallId") in for_client(stream)]
    assert not [chunk for chunk in chunks if "dynamic" in chunk or "providerExecuted" in chunk]
    whole = [chunk["toolCallId"] for chunk in chunks if chunk["type"] == "tool-input-available"]
    assert sorted(whole) == sorted(for_client(stream))


RUNNING_THEIR_OWN = [("openai-chat", "agent-runs-tools"), ("openai-responses", "agent-runs-functions")]


@pytest.mark.parametrize("target", ["anthropic", "openai-chat", "openai-responses", "vercel-ui"])
@pytest.mark.parametrize("named", RUNNING_THEIR_OWN, ids=str)
def test_call_that_an_agent_has_run_is_never_handed_over(named: tuple[str, str], target: str) -> None:
    """It looks like a client's until the answer goes on behind it, or has its output."""
    (stream,) = [found for found in recorded_streams() if (found.dialect, found.path.stem) == named]
    body = translate(
        [stream.body],
        speaks=stream.dialect,
        answers=target,
        framing="sse",
        verbatim=False,
        stream_tool_arguments=True,
    )
    for handed in (b'"tool_use"', b'"function_call"', b'"tool_calls"'):
        assert handed not in body
    whole = [chunk for chunk in body.split(b"\n") if b'"tool-input-available"' in chunk]
    assert all(b'"providerExecuted":true' in chunk for chunk in whole)


def test_call_whose_runner_shows_late_is_shown_first_and_handed_over_then() -> None:
    (stream,) = [
        found
        for found in recorded_streams()
        if found.dialect == "ag-ui" and found.path.stem == "client_tools"
    ]
    flags = [
        (chunk["dynamic"], chunk["providerExecuted"])
        for chunk in chunks_of(stream)
        if chunk["type"] == "tool-input-available"
    ]
    assert flags == [(True, True), (True, False)]
