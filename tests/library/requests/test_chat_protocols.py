"""Requests of the chat protocols: what their clients send, and that each can be said in each other."""

from typing import Any

import pytest

from streamweir import RequestError, read_request, write_request

PROTOCOLS = ("anthropic", "openai-chat", "openai-responses")

PIXEL = "iVBORw0KGgo="
CALL = {"id": "call_1", "name": "weather", "arguments": {"city": "Ulm"}}
TALK = [
    {"role": "system", "content": "Be brief."},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "What is this?"},
            {"type": "image", "base64": PIXEL, "media_type": "image/png"},
        ],
    },
    {"role": "assistant", "content": "I look it up.", "tool_calls": [CALL]},
    {"role": "tool", "content": "21 degrees", "tool_call_id": "call_1"},
    {"role": "user", "content": "And tomorrow?"},
]
TOOLS = [{"name": "weather", "description": "of a city", "parameters": {"type": "object"}}]
REQUEST: dict[str, Any] = {
    "messages": TALK,
    "user": "u-1",
    "model": "m",
    "tools": TOOLS,
    "tool_choice": {"name": "weather"},
    "parameters": {"temperature": 0.5, "top_p": 0.9, "max_tokens": 100},
}

BODIES: dict[str, dict[str, Any]] = {
    "openai-chat": {
        "model": "m",
        "messages": [
            {"role": "developer", "content": "Be brief."},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "What is this?"},
                    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
                ],
            },
            {
                "role": "assistant",
                "content": "I look it up.",
                "tool_calls": [
                    {
                        "id": "call_1",
                        "type": "function",
                        "function": {"name": "weather", "arguments": '{"city": "Ulm"}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "call_1", "content": "21 degrees"},
            {"role": "user", "content": "And tomorrow?"},
        ],
        "tools": [{"type": "function", "function": TOOLS[0]}],
        "tool_choice": {"type": "function", "function": {"name": "weather"}},
        "temperature": 0.5,
        "top_p": 0.9,
        "max_completion_tokens": 100,
        "user": "u-1",
    },
    "openai-responses": {
        "model": "m",
        "instructions": "Be brief.",
        "input": [
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "What is this?"},
                    {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"},
                ],
            },
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "I look it up.", "annotations": []}],
            },
            {
                "type": "function_call",
                "call_id": "call_1",
                "name": "weather",
                "arguments": '{"city": "Ulm"}',
            },
            {"type": "function_call_output", "call_id": "call_1", "output": "21 degrees"},
            {"role": "user", "content": "And tomorrow?"},
        ],
        "tools": [{"type": "function", **TOOLS[0]}, {"type": "web_search"}],
        "tool_choice": {"type": "function", "name": "weather"},
        "temperature": 0.5,
        "top_p": 0.9,
        "max_output_tokens": 100,
        "user": "u-1",
    },
    "anthropic": {
        "model": "m",
        "max_tokens": 100,
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "What is this?"},
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/png", "data": PIXEL},
                    },
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Hm.", "signature": "x"},
                    {"type": "text", "text": "I look it up."},
                    {"type": "tool_use", "id": "call_1", "name": "weather", "input": {"city": "Ulm"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "call_1",
                        "content": [{"type": "text", "text": "21 degrees"}],
                    },
                    {"type": "text", "text": "And tomorrow?"},
                ],
            },
        ],
        "tools": [{"name": "weather", "description": "of a city", "input_schema": {"type": "object"}}],
        "tool_choice": {"type": "tool", "name": "weather"},
        "temperature": 0.5,
        "top_p": 0.9,
        "metadata": {"user_id": "u-1"},
    },
}


def canonical(body: dict[str, Any], protocol: str) -> dict[str, Any]:
    """What a body means to people: without reasoning, and with calls beside the text that they come with."""
    request = dict(read_request(body, protocol=protocol))
    request.pop("extra", None)
    request.pop("stream", None)
    assert request.pop("message") == "And tomorrow?"
    messages: list[dict[str, Any]] = []
    for message in map(without_turn_details, request["messages"]):
        before = messages[-1] if messages else {}
        if message["role"] == before.get("role") == "assistant" and "content" not in message:
            messages[-1] = {**before, **message, "content": before["content"]}
        else:
            messages.append(message)
    return {**request, "messages": messages}


def without_turn_details(message: dict[str, Any]) -> dict[str, Any]:
    """A message without reasoning and texts of arguments, which other tests look at."""
    found = {**message}
    if calls := message.get("tool_calls"):
        found["tool_calls"] = [{name: call[name] for name in ("id", "name", "arguments")} for call in calls]
    match message.get("content"):
        case [{"type": "reasoning"}, {"type": "text", "text": text}]:
            found["content"] = text
    return found


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_chat_body_is_read(protocol: str) -> None:
    assert canonical(BODIES[protocol], protocol) == REQUEST


@pytest.mark.parametrize("source", PROTOCOLS)
@pytest.mark.parametrize("target", PROTOCOLS)
def test_conversation_keeps_its_meaning_in_another_protocol(source: str, target: str) -> None:
    request = read_request(BODIES[source], protocol=source)
    (written,) = write_request(request, dialect=target)
    assert written["body"]["stream"] is True
    assert canonical(written["body"], target) == REQUEST


def test_protocol_fields_are_sent_in_the_same_protocol_only() -> None:
    body = {**BODIES["openai-chat"], "logprobs": True, "n": 2}
    request = {**read_request(body, protocol="openai-chat")}
    assert request["extra"] == {"logprobs": True, "n": 2}


def test_anthropic_request_has_version_and_max_tokens() -> None:
    (written,) = write_request({"messages": [{"role": "user", "content": "hi"}]}, dialect="anthropic")
    assert written["headers"]["anthropic-version"] == "2023-06-01"
    assert (written["body"]["max_tokens"], written["body"]["model"]) == (4096, "default")
    assert written["body"]["messages"] == [{"role": "user", "content": "hi"}]


def test_adjacent_calls_become_one_message() -> None:
    calls = [
        {"type": "function_call", "call_id": f"c{number}", "name": "f", "arguments": "{}"}
        for number in (1, 2)
    ]
    results = [{"type": "function_call_output", "call_id": f"c{number}", "output": "x"} for number in (1, 2)]
    asked = {"role": "user", "content": "hi"}
    request = read_request({"input": [asked, *calls, *results]}, protocol="openai-responses")
    assert [message["role"] for message in request["messages"]] == ["user", "assistant", "tool", "tool"]
    assert [call["id"] for call in request["messages"][1]["tool_calls"]] == ["c1", "c2"]


def test_response_format_is_the_same_in_both_openai_protocols() -> None:
    schema = {"name": "s", "schema": {"type": "object"}, "strict": True}
    body = {"input": "hi", "text": {"format": {"type": "json_schema", **schema}}}
    request = read_request(body, protocol="openai-responses")
    assert request["response_format"] == {"type": "json_schema", "json_schema": schema}
    (chat,) = write_request(request, dialect="openai-chat")
    assert chat["body"]["response_format"] == request["response_format"]
    (again,) = write_request(request, dialect="openai-responses")
    assert again["body"]["text"] == body["text"]


WRONG = [
    ("openai-chat", {"messages": [{"role": "boss", "content": "hi"}]}, "messages[0].role"),
    ("openai-chat", {"messages": "hi"}, "messages"),
    ("openai-responses", {"input": 7}, "input"),
    (
        "openai-responses",
        {"input": [{"role": "user", "content": [{"type": "smell"}]}]},
        "input[0].content[0].type",
    ),
    ("anthropic", {"messages": [{"role": "tool", "content": "hi"}]}, "messages[0].role"),
    (
        "anthropic",
        {"messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "base64"}}]}]},
        "messages[0].content[0].source",
    ),
    ("anthropic", {"messages": []}, "messages"),
]


@pytest.mark.parametrize(("protocol", "body", "field"), WRONG)
def test_wrong_field_is_named(protocol: str, body: dict[str, Any], field: str) -> None:
    with pytest.raises(RequestError) as raised:
        read_request(body, protocol=protocol)
    assert (raised.value.status, raised.value.field) == (400, field)


OTHER_TOOLS: dict[str, list[dict[str, Any]]] = {
    "openai-chat": [
        {"type": "custom", "custom": {"name": "sql", "format": {"type": "text"}}},
        {"type": "web_search", "web_search": {"enable": True}},
        {"type": "function", "function": {"name": "weather"}},
    ],
    "openai-responses": [
        {"type": "web_search_preview"},
        {"type": "custom", "name": "sql"},
        {"type": "function", "name": "weather"},
    ],
    "anthropic": [
        {"type": "web_search_20250305", "name": "web_search"},
        {"name": "weather", "input_schema": {"type": "object"}},
    ],
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_tool_of_another_type_than_function_is_left_out(protocol: str) -> None:
    said = (
        {"input": "Hi"}
        if protocol == "openai-responses"
        else {"messages": [{"role": "user", "content": "Hi"}]}
    )
    request = read_request({**said, "max_tokens": 9, "tools": OTHER_TOOLS[protocol]}, protocol=protocol)
    assert [tool["name"] for tool in request["tools"]] == ["weather"]


@pytest.mark.parametrize(
    "choice",
    [
        {"type": "custom", "custom": {"name": "sql"}},
        {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}},
    ],
)
def test_choice_of_a_tool_that_is_left_out_is_left_out_too(choice: dict[str, Any]) -> None:
    body = {"messages": [{"role": "user", "content": "Hi"}], "tool_choice": choice}
    assert "tool_choice" not in read_request(body, protocol="openai-chat")


def test_call_of_a_custom_tool_is_read_with_its_input() -> None:
    call = {"id": "c1", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
    body = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "tool_calls": [call]}]}
    request = read_request(body, protocol="openai-chat")
    assert request["messages"][1]["tool_calls"] == [
        {"id": "c1", "name": "sql", "arguments": {"input": "select 1"}}
    ]


@pytest.mark.parametrize(
    "last",
    [{"role": "assistant", "content": "It is"}, {"role": "system", "content": "Answer in French."}],
)
def test_question_before_another_message_is_written_once(last: dict[str, Any]) -> None:
    request = read_request({"messages": [{"role": "user", "content": "Hi"}, last]}, protocol="openai-chat")
    (written,) = write_request(request, dialect="openai-chat")
    assert written["body"]["messages"] == [{"role": "user", "content": "Hi"}, last]


def test_message_of_a_client_after_an_equal_question_is_a_new_one() -> None:
    talk = [{"role": "user", "content": "Yes"}, {"role": "assistant", "content": "Sure?"}]
    request = read_request({"messages": talk, "message": "Yes"}, protocol="standard")
    assert request["messages"] == [*talk, {"role": "user", "content": "Yes"}]
