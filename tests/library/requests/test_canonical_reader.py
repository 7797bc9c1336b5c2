"""The canonical fields themselves, under their names and those of old clients; what is wrong is named."""

from typing import Any

import pytest

from streamweir import RequestError, read_request, write_request
from streamweir.codec.registry import process_dialects
from streamweir.requests.reading import body_of_query, read_canonical
from streamweir.requests.sides import RequestReader

HI = {"role": "user", "content": "hi"}
PICTURE = {"type": "image", "url": "https://a.example/b.png"}

READ: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"message": "hi"}, {"messages": [HI], "message": "hi"}),
    *(
        ({name: "hi"}, {"messages": [HI]})
        for name in (
            "query",
            "question",
            "input",
            "prompt",
            "text",
            "content",
            "user_question",
            "user_prompt",
        )
    ),
    ({"input": {"a": 1}, "text": "hi"}, {"message": "hi", "extra": {"input": {"a": 1}}}),
    *(
        ({"message": "hi", name: "t"}, {"thread_id": "t"})
        for name in ("thread_id", "conversation_id", "session_id", "chat_id", "threadId", "conversationId")
    ),
    ({"message": "hi", "variables": {"a": 1}}, {"inputs": {"a": 1}}),
    ({"message": "hi", "colour": "red", "none": None}, {"extra": {"colour": "red"}}),
    ({"messages": [HI], "message": "hi"}, {"messages": [HI]}),
    ({"messages": [HI], "message": "more"}, {"messages": [HI, {"role": "user", "content": "more"}]}),
    (
        {"messages": [HI, {"role": "assistant", "content": "yes?"}], "message": "hi"},
        {"messages": [HI, {"role": "assistant", "content": "yes?"}, HI]},
    ),
    (
        {"message": "hi", "files": ["https://a.example/b.png"]},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}, PICTURE]}]},
    ),
    (
        {"attachments": [{"base64": "YWI=", "media_type": "text/csv", "name": "a.csv"}]},
        {
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "file", "base64": "YWI=", "media_type": "text/csv", "name": "a.csv"}
                    ],
                }
            ]
        },
    ),
    (
        {"message": "hi", "files": ["data:image/png;base64,YWI="]},
        {
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "hi"},
                        {"type": "image", "base64": "YWI=", "media_type": "image/png"},
                    ],
                }
            ]
        },
    ),
    (
        {
            "messages": [
                {"role": "developer", "content": "be kind"},
                HI,
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}},
                        {"id": "d", "name": "g", "arguments": "no json"},
                    ],
                },
                {"role": "tool", "tool_call_id": "c", "content": "3"},
            ]
        },
        {
            "message": "hi",
            "messages": [
                {"role": "system", "content": "be kind"},
                HI,
                {
                    "role": "assistant",
                    "tool_calls": [
                        {"id": "c", "name": "f", "arguments": {"a": 1}, "arguments_text": '{"a": 1}'},
                        {"id": "d", "name": "g", "arguments": {"_raw": "no json"}},
                    ],
                },
                {"role": "tool", "content": "3", "tool_call_id": "c"},
            ],
        },
    ),
    (
        {"resume": [{"interaction_id": "i", "action": "approve", "resume": {"a": 1}}]},
        {"resume": [{"interaction_id": "i", "action": "approve", "resume": {"a": 1}}]},
    ),
    (
        {"message": "hi", "parameters": {"stop": "END", "top_p": 0.5, "unheard": 1}},
        {"parameters": {"top_p": 0.5, "stop": ["END"]}},
    ),
    (
        {"message": "hi", "tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": "auto"},
        {"tools": [{"name": "f"}], "tool_choice": "auto"},
    ),
]


@pytest.mark.parametrize("protocol", ["standard", "legacy"])
@pytest.mark.parametrize(("body", "expected"), READ)
def test_canonical_body_is_read(body: dict[str, Any], expected: dict[str, Any], protocol: str) -> None:
    found = read_request(body, protocol=protocol)
    assert {name: found.get(name) for name in expected} == expected


REFUSED: list[tuple[Any, str | None, str]] = [
    (b"{", None, "JSON"),
    (b"[]", None, "object"),
    (b"[" * 101 + b"]" * 101, None, "deep"),
    ({}, "message", "neither"),
    ({"message": ""}, "message", "neither"),
    ({"messages": [{"role": "system", "content": "be kind"}]}, "message", "neither"),
    ({"message": 5}, "message", "a text"),
    ({"messages": {}}, "messages", "a list"),
    ({"messages": [5]}, "messages[0]", "an object"),
    ({"messages": [HI, HI, {"role": "robot"}]}, "messages[2].role", "system, user, assistant or tool"),
    ({"messages": [{"role": "user", "content": 5}]}, "messages[0].content", "text or a list"),
    (
        {"messages": [{"role": "user", "content": [{"type": "hologram"}]}]},
        "messages[0].content[0].type",
        "image",
    ),
    ({"messages": [{"role": "user", "content": [{"type": "image"}]}]}, "messages[0].content[0]", "`url`"),
    ({"messages": [HI] * 10_001}, "messages", "10000"),
    (
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}] * 6000}] * 2},
        "messages",
        "10000",
    ),
    ({"message": "hi", "thread_id": 5}, "thread_id", "a text"),
    ({"message": "hi", "inputs": []}, "inputs", "an object"),
    ({"message": "hi", "parameters": {"seed": "a"}}, "parameters.seed", "a number"),
    ({"message": "hi", "files": [5]}, "files[0]", "URL"),
    ({"message": "hi", "tools": [{}]}, "tools[0].name", "a text"),
    ({"resume": [{"interaction_id": "i", "action": "dance"}]}, "resume[0].action", "submit, cancel"),
]


@pytest.mark.parametrize(("body", "field", "word"), REFUSED, ids=[str(row[1:]) for row in REFUSED])
def test_wrong_field_is_named(body: Any, field: str | None, word: str) -> None:
    with pytest.raises(RequestError) as raised:
        read_request(body, protocol="standard")
    assert (raised.value.status, raised.value.code, raised.value.field) == (400, "BAD_REQUEST", field)
    assert word in str(raised.value)
    assert (field or "") in str(raised.value)


def test_unknown_fields_are_sent_in_the_same_dialect_only() -> None:
    request = read_request({"message": "hi", "colour": "red"}, protocol="legacy")
    (same,) = write_request(request, dialect="legacy")
    (other,) = write_request(request, dialect="standard")
    assert same["body"] == {"colour": "red", "message": "hi", "stream": True}
    assert "colour" not in other["body"]
    assert "extra" not in other["body"]


def test_mapped_tree_is_laid_over_the_body() -> None:
    (written,) = write_request(
        {"message": "hi", "inputs": {"a": 1, "b": 2}},
        dialect="legacy",
        mapped={"inputs": {"b": 3, "c": [4]}, "stream": None},
    )
    assert written["body"] == {"message": "hi", "inputs": {"a": 1, "b": 3, "c": [4]}}


PROTOCOLS = [name for name, known in process_dialects().items() if known.request_reader is not None]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_canonical_answer_is_read_in_the_body_of_every_protocol(protocol: str) -> None:
    answers = [
        {"interaction_id": "one", "action": "submit", "value": {"days": 3}, "resume": {"run_id": "r"}},
        {"interaction_id": "two", "action": "approve"},
    ]
    body = {"model": "m", "stream": True, "max_tokens": 1, "thread_id": "t", "resume": answers}
    request = read_request(body, protocol=protocol)
    assert request["resume"] == answers
    assert "resume" not in {**request.get("inputs", {}), **request.get("extra", {})}


def test_field_of_a_foreign_reader_that_the_contract_lacks_is_left_out() -> None:
    request: Any = {"thread_id": "t", "colour": "red", "messages": [HI]}
    reader = RequestReader(read=lambda _: dict(request))  # type: ignore[arg-type, return-value]
    assert read_canonical(reader, {}) == {"messages": [HI], "message": "hi", "thread_id": "t"}


def test_message_before_a_system_text_is_no_second_message() -> None:
    """A chat client may end with a system text; a `standard` upstream gets `message` beside `messages`."""
    talk = [{"role": "user", "content": "Hi"}, {"role": "system", "content": "Answer in French."}]
    request = read_request({"messages": talk, "message": "Hi"}, protocol="standard")
    assert request["messages"] == talk


def test_files_of_a_query_are_read() -> None:
    body = body_of_query("message=Hi&files=https%3A%2F%2Fa.example%2Fa.png&files=https://a.example/b.pdf")
    request = read_request(body, protocol="standard")
    assert request["messages"][0]["content"] == [
        {"type": "text", "text": "Hi"},
        {"type": "image", "url": "https://a.example/a.png"},
        {"type": "file", "url": "https://a.example/b.pdf"},
    ]
