"""Requests of pages: what `HttpAgent` and `useChat` send, and what servers of these protocols are sent."""

from typing import Any

import pytest

from streamweir import RequestError, read_request, write_request

PIXEL = "iVBORw0KGgo="
IMAGE = {"type": "image", "base64": PIXEL, "media_type": "image/png"}
CALL = {"id": "call_1", "name": "sales", "arguments": {"month": "March"}}
TALK: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "What is this?"}, IMAGE]},
    {"role": "assistant", "content": "I look it up.", "tool_calls": [CALL]},
    {"role": "tool", "content": "31 rows", "tool_call_id": "call_1"},
    {"role": "assistant", "content": "It is a map."},
    {"role": "user", "content": "And tomorrow?"},
]


def without_ids(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in message.items() if name != "id"} for message in messages]


def written(request: dict[str, Any], dialect: str) -> dict[str, Any]:
    (one,) = write_request(request, dialect=dialect)
    body: dict[str, Any] = one["body"]
    return body


def test_ui_message_without_parts_is_read_from_its_content() -> None:
    """Of AI SDK 4."""
    turns = [("user", "hi"), ("assistant", "Hello"), ("user", "more")]
    body = {"id": "c", "messages": [{"role": role, "content": text} for role, text in turns]}
    request = read_request(body, protocol="vercel-ui")
    assert [(message["role"], message["content"]) for message in request["messages"]] == turns
    assert (request["message"], request["thread_id"]) == ("more", "c")


@pytest.mark.parametrize("dialect", ["ag-ui", "vercel-ui"])
def test_written_conversation_is_read_back(dialect: str) -> None:
    body = written({"messages": TALK, "thread_id": "t-1"}, dialect)
    back = read_request(body, protocol=dialect)
    assert without_ids(back["messages"]) == TALK
    assert (back["thread_id"], back["message"]) == ("t-1", "And tomorrow?")


def agent_input(**more: Any) -> dict[str, Any]:
    return {
        "threadId": "t-1",
        "runId": "r-1",
        "protocolVersion": "1.0",
        "state": {},
        "tools": [],
        "context": [],
        "forwardedProps": {},
        "messages": [{"id": "u", "role": "user", "content": "hi"}],
        **more,
    }


def test_run_agent_input_has_all_fields() -> None:
    body = agent_input(
        state={"rows": 31},
        tools=[{"name": "show_map", "description": "Show it", "parameters": {"type": "object"}}],
        context=[{"description": "Where", "value": "Rome"}],
        forwardedProps={"theme": "dark"},
        parentRunId="r-0",
    )
    request = read_request(body, protocol="ag-ui")
    assert request == {
        "messages": [{"role": "user", "content": "hi", "id": "u"}],
        "message": "hi",
        "thread_id": "t-1",
        "run_id": "r-1",
        "state": {"rows": 31},
        "tools": [{"name": "show_map", "description": "Show it", "parameters": {"type": "object"}}],
        "context": [{"description": "Where", "value": "Rome"}],
        "metadata": {"theme": "dark"},
        "extra": {"parentRunId": "r-0"},
    }
    again = written({**request}, "ag-ui")
    assert {name: again[name] for name in body if name not in ("protocolVersion", "parentRunId")} == {
        name: body[name] for name in body if name not in ("protocolVersion", "parentRunId")
    }
    assert "protocolVersion" not in again


@pytest.mark.parametrize(
    ("part", "read"),
    [
        ({"type": "image", "source": {"type": "data", "value": PIXEL, "mimeType": "image/png"}}, IMAGE),
        ({"type": "binary", "mimeType": "image/png", "data": PIXEL}, IMAGE),
        (
            {"type": "document", "source": {"type": "url", "value": "https://a.example/b.pdf"}},
            {"type": "file", "url": "https://a.example/b.pdf"},
        ),
        ({"type": "audio", "source": {"type": "file", "value": "f-1"}}, {"type": "audio", "file_id": "f-1"}),
    ],
)
def test_ag_ui_parts_are_read(part: dict[str, Any], read: dict[str, Any]) -> None:
    request = read_request(
        agent_input(messages=[{"id": "u", "role": "user", "content": [part]}]), protocol="ag-ui"
    )
    assert request["messages"][0]["content"] == [read]


INTERRUPT = {"interruptId": "int-1"}


@pytest.mark.parametrize(
    ("entry", "answer"),
    [
        ({"status": "resolved", "payload": {"approved": True}}, {"action": "approve"}),
        ({"status": "resolved", "payload": {"approved": False}}, {"action": "reject"}),
        (
            {"status": "resolved", "payload": {"city": "Rome"}},
            {"action": "submit", "value": {"city": "Rome"}},
        ),
        ({"status": "cancelled"}, {"action": "cancel"}),
    ],
)
def test_ag_ui_resume_becomes_an_answer(entry: dict[str, Any], answer: dict[str, Any]) -> None:
    request = read_request(agent_input(resume=[{**INTERRUPT, **entry}]), protocol="ag-ui")
    assert request["resume"] == [{"interaction_id": "int-1", **answer}]
    assert written({**request}, "ag-ui")["resume"] == [{**INTERRUPT, **entry}]
    kept = {**request, "resume": [{**request["resume"][0], "resume": INTERRUPT}]}
    assert written(kept, "ag-ui")["resume"] == [{**INTERRUPT, **entry}]


def chat(*parts: dict[str, Any], role: str = "user", **more: Any) -> dict[str, Any]:
    message = {"id": "m-1", "role": role, "parts": [*parts]}
    return {"id": "chat-1", "trigger": "submit-message", "messages": [message], **more}


def test_data_and_source_parts_are_left_out() -> None:
    shown: list[dict[str, Any]] = [
        *({"type": "step-start"}, {"type": "data-status", "data": {}}),
        *(
            {"type": "source-url", "sourceId": "s", "url": "https://a.example"},
            {"type": "text", "text": "Hi"},
        ),
        {"type": "dynamic-tool", "toolName": "half", "toolCallId": "c", "state": "input-streaming"},
    ]
    body = {**chat(*shown, role="assistant"), "model": "m-1"}
    body["messages"].append({"id": "m-2", "role": "user", "parts": [{"type": "text", "text": "Go on"}]})
    request = read_request(body, protocol="vercel-ui")
    assert without_ids(request["messages"]) == [
        {"role": "assistant", "content": "Hi"},
        {"role": "user", "content": "Go on"},
    ]
    assert request["extra"] == {"model": "m-1"}


@pytest.mark.parametrize(
    ("state", "result"),
    [
        ({"state": "output-available", "output": {"rows": 31}}, {"content": '{"rows":31}'}),
        ({"state": "output-error", "errorText": "no table"}, {"content": "no table", "is_error": True}),
        ({"state": "output-denied"}, {"content": "The call was not approved.", "is_error": True}),
    ],
)
@pytest.mark.parametrize("kind", [{"type": "tool-sales"}, {"type": "dynamic-tool", "toolName": "sales"}])
def test_tool_part_becomes_call_and_result(
    kind: dict[str, str], state: dict[str, Any], result: dict[str, Any]
) -> None:
    part = {**kind, "toolCallId": "call_1", "input": {"month": "March"}, **state}
    request = read_request(chat(part, role="assistant"), protocol="vercel-ui")
    assert without_ids(request["messages"]) == [
        {"role": "assistant", "tool_calls": [CALL]},
        {"role": "tool", **result, "tool_call_id": "call_1"},
    ]


@pytest.mark.parametrize(("approved", "action"), [(True, "approve"), (False, "reject")])
def test_approval_is_written_to_its_tool_part(approved: bool, action: str) -> None:
    decision = {"id": "approval_1", "approved": approved, "reason": "because"}
    part = {
        "type": "tool-sales",
        "toolCallId": "call_1",
        "input": {"month": "March"},
        "state": "approval-responded",
        "approval": decision,
    }
    request = read_request(chat(part, role="assistant"), protocol="vercel-ui")
    assert request["resume"] == [
        {
            "interaction_id": "call_1",
            "action": action,
            "value": "because",
            "resume": {"approvalId": "approval_1"},
        }
    ]
    assert written({**request}, "vercel-ui")["messages"][0]["parts"] == [part]


def test_approval_before_a_later_message_is_no_answer() -> None:
    """It stays in the chat: with a message after it, it is none of this request."""
    decided = {"id": "approval_1", "approved": True}
    part = {"type": "tool-sales", "toolCallId": "c", "state": "approval-responded", "approval": decided}
    body = chat(part, role="assistant")
    body["messages"].append({"id": "u", "role": "user", "parts": [{"type": "text", "text": "more"}]})
    request = read_request(body, protocol="vercel-ui")
    assert "resume" not in request
    assert request["message"] == "more"


def test_resume_in_the_body_answers_a_form() -> None:
    answer = {"interaction_id": "trip", "action": "submit", "value": {"city": "Rome"}}
    request = read_request(chat({"type": "text", "text": "Rome"}, resume=[answer]), protocol="vercel-ui")
    assert request["resume"] == [answer]


@pytest.mark.parametrize(
    ("protocol", "body", "field"),
    [
        ("ag-ui", agent_input(messages=[{"id": "u", "role": "robot", "content": "x"}]), "messages[0].role"),
        (
            "ag-ui",
            agent_input(messages=[{"id": "u", "role": "user", "content": [{"type": "gif"}]}]),
            "messages[0].content[0].type",
        ),
        ("ag-ui", agent_input(resume=[{"interruptId": "i", "status": "maybe"}]), "resume[0].status"),
        ("vercel-ui", chat({"type": "gif"}), "messages[0].parts[0].type"),
        ("vercel-ui", chat({"type": "text", "text": 7}), "messages[0].parts[0].text"),
        ("vercel-ui", chat(role="robot"), "messages[0].role"),
    ],
)
def test_wrong_field_is_named(protocol: str, body: dict[str, Any], field: str) -> None:
    with pytest.raises(RequestError) as refused:
        read_request(body, protocol=protocol)
    assert refused.value.field == field


def test_ag_ui_result_without_content_is_its_error() -> None:
    failed = {"id": "2", "role": "tool", "toolCallId": "c1", "content": "", "error": "no such city"}
    request = read_request({"messages": [failed]}, protocol="ag-ui")
    assert (request["messages"][0]["content"], request["messages"][0]["is_error"]) == ("no such city", True)


def test_input_that_no_tool_could_take_is_read_from_a_failed_tool_part() -> None:
    """The AI SDK puts what the model wrote into `rawInput`, and sends it to its own providers too."""
    part = {
        "type": "tool-weather",
        "toolCallId": "c1",
        "state": "output-error",
        "rawInput": '{"city": ',
        "errorText": "no JSON",
    }
    message = {"id": "m1", "role": "assistant", "parts": [part]}
    asked = {"id": "m2", "role": "user", "parts": [{"type": "text", "text": "Again."}]}
    request = read_request({"id": "t", "messages": [message, asked]}, protocol="vercel-ui")
    (call,) = request["messages"][0]["tool_calls"]
    assert call["arguments"] == {"_raw": '{"city": '}
