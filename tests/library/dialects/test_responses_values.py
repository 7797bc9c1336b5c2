"""Responses of a Responses upstream that are written anew: its values, ids and requests for approval."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from streams import sse_messages
from streamweir import read_request, write_request
from streamweir.codec.client_names import ClientNames
from streamweir.dialects.openai_responses.decode import ResponsesDecoder
from streamweir.events import Event
from streamweir.framing import Frame
from streamweir.opaque.seal import is_seal
from streamweir.translation.open_writer import open_writer
from streamweir.translation.pipeline import Pipeline

UPSTREAM = "https://api.example/v1"
NAMES = ClientNames(echo={"store": False})

REASONING = {"id": "rs_0a", "type": "reasoning", "summary": [], "encrypted_content": "gAAAA-1=="}
THOUGHT = {
    "id": "rs_0b",
    "type": "reasoning",
    "summary": [{"type": "summary_text", "text": "I look."}],
    "encrypted_content": "gAAAA-2==",
}
MESSAGE: Mapping[str, Any] = {
    "id": "msg_0a",
    "type": "message",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "One moment.", "annotations": [], "logprobs": []}],
}
CALL = {
    "id": "fc_0a",
    "type": "function_call",
    "call_id": "call_1",
    "name": "weather",
    "arguments": '{"city":"Ulm"}',
    "status": "completed",
}
APPROVAL = {
    "id": "mcpr_0a",
    "type": "mcp_approval_request",
    "server_label": "shop",
    "name": "buy",
    "arguments": '{"n": 1.0}',
}
ENCRYPTED = ("reasoning", "message", "function_call")


def events_of(items: list[Mapping[str, Any]]) -> list[Event]:
    """Return the events of a response with these items, each streamed as far as the API streams it."""
    frames: list[dict[str, Any]] = [
        {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress", "output": []}}
    ]
    for index, item in enumerate(items):
        where = {"output_index": index, "item_id": item["id"]}
        frames.append({"type": "response.output_item.added", "output_index": index, "item": item})
        if item["type"] == "message":
            text = item["content"][0]["text"]
            frames.append({"type": "response.output_text.delta", **where, "delta": text})
        if item["type"] == "reasoning" and item["summary"]:
            text = item["summary"][0]["text"]
            frames.append({"type": "response.reasoning_summary_text.delta", **where, "delta": text})
        if item["type"] == "function_call":
            frames.append(
                {"type": "response.function_call_arguments.delta", **where, "delta": item["arguments"]}
            )
        frames.append({"type": "response.output_item.done", "output_index": index, "item": item})
    end = {"id": "resp_1", "status": "completed", "output": items}
    frames.append({"type": "response.completed", "response": end})
    decoder = ResponsesDecoder()
    return [event for frame in frames for event in decoder.decode(Frame(json.dumps(frame).encode()))]


def written(items: list[Mapping[str, Any]], framing: str, names: ClientNames = NAMES) -> dict[str, Any]:
    """Return the response object that a client gets of a response whose frames are not copied."""
    writer = open_writer("openai-responses", framing, request_id="req_1", names=names)
    pipeline = Pipeline((writer,), request_id="req_1", stream_tool_arguments=True, upstream=UPSTREAM)
    pipeline.take(events_of(items))
    out = writer.take()
    if framing == "json":
        whole: dict[str, Any] = json.loads(out)
        return whole
    frames = sse_messages(out)
    done = [frame["item"] for frame in frames if frame["type"] == "response.output_item.done"]
    response: dict[str, Any] = frames[-1]["response"]
    assert done == response["output"]
    begun = [frame["item"]["id"] for frame in frames if frame["type"] == "response.output_item.added"]
    assert begun == [item["id"] for item in response["output"]]
    return response


@pytest.mark.parametrize("framing", ["sse", "json"])
@pytest.mark.parametrize(
    "items",
    [
        [REASONING, CALL],
        [THOUGHT, MESSAGE, CALL],
        [REASONING, MESSAGE, THOUGHT, CALL],
        [THOUGHT, {**CALL, "call_id": "call_2", "id": "fc_0b"}, CALL],
    ],
)
def test_values_of_the_same_dialect_reach_the_client_unchanged(
    items: list[Mapping[str, Any]], framing: str
) -> None:
    output = written(items, framing)["output"]
    calls = [item for item in items if item["type"] == "function_call"]
    others = [item for item in items if item not in calls]
    assert output == [*others, *calls]  # calls for the client are written at the end
    body = {"model": "m", "input": [{"role": "user", "content": "Hi"}, *output]}
    (sent,) = write_request(read_request(body, protocol="openai-responses"), dialect="openai-responses")
    returned = [item for item in sent["body"]["input"] if item.get("role") != "user"]
    assert [item["id"] for item in returned] == [item["id"] for item in output]
    assert [item.get("encrypted_content") for item in returned] == [
        item.get("encrypted_content") for item in output
    ]


@pytest.mark.parametrize("framing", ["sse", "json"])
def test_id_that_an_upstream_uses_twice_is_given_once(framing: str) -> None:
    again = {**MESSAGE, "content": [{"type": "output_text", "text": "More.", "annotations": []}]}
    output = written([REASONING, MESSAGE, {**REASONING, "id": "rs_0c"}, again], framing)["output"]
    ids = [item["id"] for item in output]
    assert len({*ids}) == len(ids)


@pytest.mark.parametrize("framing", ["sse", "json"])
def test_values_that_the_client_has_not_asked_for_are_left_out(framing: str) -> None:
    output = written([REASONING, MESSAGE], framing, ClientNames(echo={}))["output"]
    assert "encrypted_content" not in json.dumps(output)
    assert output[-1]["id"] != MESSAGE["id"]  # the upstream may not know it later


@pytest.mark.parametrize("framing", ["sse", "json"])
@pytest.mark.parametrize("names", [NAMES, ClientNames()])
def test_request_for_approval_is_an_item(framing: str, names: ClientNames) -> None:
    response = written([MESSAGE, APPROVAL], framing, names)
    assert response["output"][-1] == APPROVAL
    assert [item["type"] for item in response["output"]] == ["message", "mcp_approval_request"]
    assert "streamweir" not in response
    assert not any(is_seal(item.get("encrypted_content")) for item in response["output"])


@pytest.mark.parametrize("framing", ["sse", "json"])
@pytest.mark.parametrize("approve", [True, False])
def test_answer_to_an_approval_reaches_the_upstream_behind_its_request(framing: str, approve: bool) -> None:
    output = written([REASONING, APPROVAL], framing)["output"]
    answer = {"type": "mcp_approval_response", "approval_request_id": APPROVAL["id"], "approve": approve}
    body = {"model": "m", "input": [{"role": "user", "content": "Buy"}, *output, answer]}
    (sent,) = write_request(read_request(body, protocol="openai-responses"), dialect="openai-responses")
    assert sent["body"]["input"][1:] == [
        {name: REASONING[name] for name in ("type", "id", "summary", "encrypted_content")},
        APPROVAL,
        answer,
    ]


def test_question_without_a_request_of_mcp_is_a_text() -> None:
    events = [event for event in events_of([APPROVAL]) if event.type != "session_end"]
    asked = next(event for event in events if event.type == "interaction")
    asked.resume = None  # type: ignore[union-attr]
    writer = open_writer("openai-responses", "sse", request_id="req_1", names=NAMES)
    Pipeline((writer,), request_id="req_1", upstream=UPSTREAM).take(events)
    assert b"mcp_approval_request" not in writer.take()
