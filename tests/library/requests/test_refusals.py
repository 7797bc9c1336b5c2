"""Requests that are refused: by the documented error, naming the field as the client's protocol does."""

from typing import Any

import pytest

import streamweir
from streamweir.codec.registry import process_dialects
from streamweir.requests.errors import RequestError

PROTOCOLS = [name for name in streamweir.list_dialects() if process_dialects().find(name).reads_requests]

QUESTIONS = {
    "openai-chat": "messages",
    "anthropic": "messages",
    "openai-responses": "input",
    "ag-ui": "messages",
    "vercel-ui": "messages",
    "ragflow": "question",
    "easyflow": "message",
    "stream-envelope": "message",
    "data-formulator": "user_question",
    "standard": "message",
    "legacy": "message",
}
"""By protocol, the field where a message would stand."""

NO_OBJECTS: list[Any] = [
    [],
    [1],
    [{}],
    (),
    1,
    1.5,
    True,
    None,
    object(),
    b"[]",
    "[]",
    b"",
    "",
    "1",
    b"\xff",
    {1, 2},
]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_read_request_given_no_object_raises_request_error(protocol: str) -> None:
    for body in NO_OBJECTS:
        with pytest.raises(RequestError) as caught:
            streamweir.read_request(body, protocol=protocol)
        assert (caught.value.status, caught.value.code) == (400, "BAD_REQUEST"), body


@pytest.mark.parametrize("dialect", ["dify", "openai-chat"])
def test_write_request_given_no_object_raises_request_error(dialect: str) -> None:
    for body in NO_OBJECTS:
        with pytest.raises(RequestError):
            streamweir.write_request(body, dialect=dialect)


def test_load_dialect_given_no_mapping_raises_configuration_error() -> None:
    for source in (*NO_OBJECTS[:11], "", "no such file.yaml"):
        with pytest.raises(streamweir.ConfigurationError):
            streamweir.load_dialect(source)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_empty_body_is_refused_with_the_path_of_the_message(protocol: str) -> None:
    with pytest.raises(RequestError) as caught:
        streamweir.read_request({}, protocol=protocol)
    assert caught.value.field == QUESTIONS[protocol]
    assert str(caught.value).startswith(QUESTIONS[protocol])


@pytest.mark.parametrize("protocol", ["openai-responses", "openai-chat", "anthropic", "ag-ui"])
def test_too_many_parts_name_the_list(protocol: str) -> None:
    part = {"type": "input_text" if protocol == "openai-responses" else "text", "text": "x"}
    messages = [{"role": "user", "content": [part] * 6000}] * 2
    field = "input" if protocol == "openai-responses" else "messages"
    with pytest.raises(RequestError) as caught:
        streamweir.read_request({field: messages}, protocol=protocol)
    assert caught.value.field == field


def test_error_names_the_field_as_the_client_knows_it() -> None:
    error = RequestError("cannot be empty", field="thread_id")
    assert error.for_client({"thread_id": "threadId"}).field == "threadId"
    assert str(error.for_client({"thread_id": "threadId"})) == "threadId cannot be empty."
    assert error.for_client({}) is error


FILES: list[tuple[str, dict[str, Any], str]] = [
    ("openai-chat", {"type": "image_url", "image_url": {"url": ""}}, "messages[0].content[0]"),
    (
        "openai-chat",
        {"type": "input_audio", "input_audio": {"data": ""}},
        "messages[0].content[0].input_audio",
    ),
    ("openai-responses", {"type": "input_image"}, "messages[0].content[0]"),
    ("openai-responses", {"type": "input_file", "file_url": ""}, "messages[0].content[0]"),
    ("anthropic", {"type": "image", "source": {"type": "url", "url": ""}}, "messages[0].content[0].source"),
    ("ag-ui", {"type": "image", "source": {"type": "url", "value": ""}}, "messages[0].content[0]"),
    ("vercel-ui", {"type": "file", "url": "", "mediaType": "image/png"}, "messages[0].parts[0]"),
]


@pytest.mark.parametrize(("protocol", "part", "path"), FILES)
def test_file_without_a_place_is_refused_with_its_path(
    protocol: str, part: dict[str, Any], path: str
) -> None:
    holds = "parts" if protocol == "vercel-ui" else "content"
    name = "input" if protocol == "openai-responses" else "messages"
    body = {
        name: [{"id": "1", "role": "user", holds: [part]}],
        "threadId": "t",
        "runId": "r",
        "max_tokens": 9,
    }
    with pytest.raises(RequestError) as caught:
        streamweir.read_request(body, protocol=protocol)
    assert str(caught.value).startswith(path.replace("messages", name))


def test_type_of_an_input_item_that_is_no_text_is_refused() -> None:
    with pytest.raises(RequestError, match=r"input\[0\]\.type must be a text"):
        streamweir.read_request({"input": [{"type": {}}]}, protocol="openai-responses")
