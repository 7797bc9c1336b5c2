"""Files where upstreams take some of them only: in results of tools, of other kinds, of other roles."""

import base64
from typing import Any

import pytest

from streamweir import read_request
from streamweir.translation.requests import planned_request

PIXEL = "iVBORw0KGgo="
URL = f"data:image/png;base64,{PIXEL}"
IMAGE: dict[str, Any] = {"type": "image", "base64": PIXEL, "media_type": "image/png"}
RESULT = [{"type": "text", "text": "a screenshot"}, IMAGE]
CALL: dict[str, Any] = {"id": "c1", "name": "look", "arguments": {}}
ASKED: list[dict[str, Any]] = [
    {"role": "user", "content": "What is on it?"},
    {"role": "assistant", "tool_calls": [CALL, {**CALL, "id": "c2"}]},
]
RESULTS: list[dict[str, Any]] = [
    {"role": "tool", "tool_call_id": "c1", "content": RESULT},
    {"role": "tool", "tool_call_id": "c2", "content": "nothing more"},
]
ANTHROPIC_IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
BODIES: dict[str, dict[str, Any]] = {
    "standard": {"messages": [*ASKED, RESULTS[0]]},
    "anthropic": {
        "messages": [
            {"role": "user", "content": "What is on it?"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "look", "input": {}}]},
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "c1",
                        "content": [{"type": "text", "text": "a screenshot"}, ANTHROPIC_IMAGE],
                    }
                ],
            },
        ]
    },
    "openai-responses": {
        "input": [
            {"role": "user", "content": "What is on it?"},
            {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
            {
                "type": "function_call_output",
                "call_id": "c1",
                "output": [
                    {"type": "input_text", "text": "a screenshot"},
                    {"type": "input_image", "image_url": URL},
                ],
            },
        ]
    },
}


def written(messages: list[dict[str, Any]], dialect: str) -> tuple[Any, list[str]]:
    """What an upstream gets for these messages, and what the client is told to be lost."""
    found = planned_request({"messages": messages}, protocol="standard", dialect=dialect)
    return found["requests"][-1].get("body"), found["lost"]


@pytest.mark.parametrize("protocol", [*BODIES])
def test_result_with_a_file_is_read_as_parts(protocol: str) -> None:
    request = read_request(BODIES[protocol], protocol=protocol)
    assert request["messages"][-1] == {"role": "tool", "tool_call_id": "c1", "content": RESULT}


def test_result_of_texts_is_read_as_one_text() -> None:
    found = {"type": "search_result", "source": "https://a.example", "title": "A"}
    blocks = [{"type": "text", "text": "one"}, {**found, "content": [{"type": "text", "text": "two"}]}]
    result = {"type": "tool_result", "tool_use_id": "c1", "content": blocks}
    request = read_request({"messages": [{"role": "user", "content": [result]}]}, protocol="anthropic")
    assert request["messages"][-1]["content"] == "one\nA\nhttps://a.example\ntwo"


def test_anthropic_result_holds_its_image() -> None:
    body, lost = written([*ASKED, *RESULTS], "anthropic")
    first, second = body["messages"][-1]["content"]
    assert first["content"] == [{"type": "text", "text": "a screenshot"}, ANTHROPIC_IMAGE]
    assert (second["content"], lost) == ("nothing more", [])


def test_anthropic_result_of_a_failure_holds_only_text() -> None:
    body, lost = written([*ASKED, {**RESULTS[0], "is_error": True}], "anthropic")
    (result,) = body["messages"][-1]["content"]
    assert (result["content"], result["is_error"], lost) == ("a screenshot", True, ["files"])


def test_responses_output_holds_its_image() -> None:
    body, lost = written([*ASKED, *RESULTS], "openai-responses")
    first, second = body["input"][-2:]
    assert first["output"] == [
        {"type": "input_text", "text": "a screenshot"},
        {"type": "input_image", "detail": "auto", "image_url": URL},
    ]
    assert (second["output"], lost) == ("nothing more", [])


def test_chat_images_of_results_follow_all_results_in_a_message_of_the_user() -> None:
    body, lost = written([*ASKED, *RESULTS, {"role": "user", "content": "And now?"}], "openai-chat")
    assert body["messages"][2:] == [
        {"role": "tool", "tool_call_id": "c1", "content": "a screenshot"},
        {"role": "tool", "tool_call_id": "c2", "content": "nothing more"},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": URL}}]},
        {"role": "user", "content": "And now?"},
    ]
    assert lost == []


def test_chat_image_of_the_last_result_is_the_last_message() -> None:
    body, _ = written([*ASKED, RESULTS[1], RESULTS[0]], "openai-chat")
    assert body["messages"][-1] == {
        "role": "user",
        "content": [{"type": "image_url", "image_url": {"url": URL}}],
    }


def test_gemini_image_follows_the_result() -> None:
    body, lost = written([*ASKED, *RESULTS], "gemini")
    result, image, _ = body["contents"][-1]["parts"]
    assert result["functionResponse"]["response"] == {"result": "a screenshot"}
    assert image == {"inlineData": {"mimeType": "image/png", "data": PIXEL}}
    assert lost == []


@pytest.mark.parametrize("dialect", ["ag-ui", "vercel-ui", "vercel-data", "dify", "legacy"])
def test_file_of_a_result_without_a_place_is_lost(dialect: str) -> None:
    _, lost = written([*ASKED, RESULTS[0]], dialect)
    assert "files" in lost


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses", "anthropic", "ag-ui"])
def test_file_of_the_assistant_is_left_out_where_only_users_send_files(dialect: str) -> None:
    """The APIs refuse a request with such a file, so the conversation could not go on."""
    drawn = {"role": "assistant", "content": [{"type": "text", "text": "Here it is."}, IMAGE]}
    body, lost = written([ASKED[0], drawn, {"role": "user", "content": "Thanks."}], dialect)
    assert PIXEL not in str(body)
    assert "Here it is." in str(body)
    assert lost == ["files"]


def test_file_in_a_system_text_is_left_out_of_a_chat() -> None:
    system = {"role": "system", "content": [{"type": "text", "text": "Be brief."}, IMAGE]}
    body, lost = written([system, ASKED[0]], "openai-chat")
    assert body["messages"][0] == {"role": "system", "content": "Be brief."}
    assert lost == ["files"]


def document(media_type: str, data: bytes, kind: str = "file") -> list[dict[str, Any]]:
    file = {"type": kind, "base64": base64.b64encode(data).decode(), "media_type": media_type}
    return [{"role": "user", "content": [{"type": "text", "text": "Read."}, file]}]


@pytest.mark.parametrize("media_type", ["text/plain; charset=utf-8", "text/csv", "application/json"])
def test_anthropic_document_of_text_is_sent_as_text(media_type: str) -> None:
    """The API takes the bytes of a PDF only."""
    body, lost = written(document(media_type, "größe,1".encode()), "anthropic")
    source = {"type": "text", "media_type": "text/plain", "data": "größe,1"}
    assert body["messages"][0]["content"][1] == {"type": "document", "source": source}
    assert lost == []


@pytest.mark.parametrize(
    ("media_type", "data", "kind"),
    [("application/zip", b"PK", "file"), ("text/plain", b"\xff", "file"), ("image/bmp", b"BM", "image")],
)
def test_anthropic_file_that_the_api_refuses_is_lost(media_type: str, data: bytes, kind: str) -> None:
    body, lost = written(document(media_type, data, kind), "anthropic")
    assert (body["messages"][0]["content"], lost) == ("Read.", ["files"])
