"""What each dialect reads of its clients and writes to its servers, row by row."""

import json
from typing import Any

import pytest

from cases import for_each
from streamweir import read_request, write_request
from streamweir.codec.dialects import Dialects
from streamweir.requests.canonical import LOSSES
from written_requests import answer, check_refused

DIALECTS = Dialects.built_in()
READERS = [name for name, dialect in DIALECTS.items() if dialect.reads_requests]
WRITERS = [name for name, dialect in DIALECTS.items() if dialect.writes_requests]

HI = {"role": "user", "content": "hi"}
REPLY = {"role": "assistant", "content": "yes?"}
PICTURE = {"type": "image", "url": "https://a.example/b.png"}
BYTES = {"type": "image", "base64": "YWI=", "media_type": "image/png"}


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": "hi"}, *parts]}


TRAJECTORY = {"trajectory": [{"role": "user", "content": "q"}], "completed_step_count": 2}
FORM = {"session_id": "s", "inputs": {"city": {"type": "line", "name": "City"}}}

READ: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (
        "stream-envelope",
        {
            "message": "hi",
            "thread_id": "t",
            "graph_id": "g",
            "metadata": {"files": ["https://a.example/b.png"], "mode": "fast"},
        },
        {
            "messages": [user(PICTURE)],
            "message": "hi",
            "thread_id": "t",
            "inputs": {"graph_id": "g"},
            "extra": {"metadata": {"mode": "fast"}},
        },
    ),
    (
        "stream-envelope",
        {"thread_id": "t", "command": {"resume": {"city": "Ulm"}}},
        {"messages": [], "thread_id": "t", "resume": [answer("submit", {"city": "Ulm"}, {"thread_id": "t"})]},
    ),
    (
        "stream-envelope",
        {"thread_id": "t", "command": {"goto": "ask"}},
        {"messages": [], "thread_id": "t", "resume": [answer("submit", {"goto": "ask"}, {"thread_id": "t"})]},
    ),
    (
        "easyflow",
        {"prompt": "hi", "conversation_id": "c", "inputs": {"a": 1}},
        {"messages": [HI], "message": "hi", "thread_id": "c", "inputs": {"a": 1}},
    ),
    (
        "easyflow",
        {"conversation_id": "c", "form_id": "f", "values": {"city": "Ulm"}},
        {
            "messages": [],
            "thread_id": "c",
            "resume": [answer("submit", {"city": "Ulm"}, {"conversation_id": "c", "form_id": "f"}, "f")],
        },
    ),
    (
        "easyflow",
        {"conversation_id": "c", "form_id": "f", "cancelled": True},
        {
            "messages": [],
            "thread_id": "c",
            "resume": [answer("cancel", None, {"conversation_id": "c", "form_id": "f"}, "f")],
        },
    ),
    (
        "data-formulator",
        {
            "user_question": "hi",
            "input_tables": [],
            "model": {"id": "m"},
            "attached_images": ["data:image/png;base64,YWI="],
        },
        {"messages": [user(BYTES)], "message": "hi", "inputs": {"input_tables": [], "model": {"id": "m"}}},
    ),
    (
        "data-formulator",
        {"messages": [HI, REPLY, HI]},
        {"messages": [HI, REPLY, HI], "message": "hi"},
    ),
    (
        "data-formulator",
        {"user_question": "1. Ulm", **TRAJECTORY},
        {"messages": [], "resume": [answer("submit", "1. Ulm", TRAJECTORY)]},
    ),
    (
        "data-formulator",
        {"input_tables": [{"name": "sales"}]},
        {"messages": [], "inputs": {"input_tables": [{"name": "sales"}]}},
    ),
    (
        "ragflow",
        {"question": "hi", "session_id": "s", "user_id": "u", "inputs": {"a": {"value": 1}, "b": 2}},
        {
            "messages": [HI],
            "message": "hi",
            "thread_id": "s",
            "user": "u",
            "inputs": {"a": 1, "b": 2},
        },
    ),
    (
        "ragflow",
        {"question": "", "session_id": "s", "inputs": {"city": {"type": "line", "value": "Ulm"}}},
        {
            "messages": [],
            "thread_id": "s",
            "resume": [
                answer(
                    "submit",
                    {"city": "Ulm"},
                    {"session_id": "s", "inputs": {"city": {"type": "line", "value": "Ulm"}}},
                )
            ],
        },
    ),
    (
        "ragflow",
        {"model": "m", "messages": [HI], "stream": True, "temperature": 0.5, "n": 1},
        {
            "messages": [HI],
            "message": "hi",
            "model": "m",
            "parameters": {"temperature": 0.5},
            "stream": True,
            "extra": {"n": 1},
        },
    ),
]


@pytest.mark.parametrize(("protocol", "body", "expected"), READ)
def test_reader_reads_a_clients_body(protocol: str, body: dict[str, Any], expected: dict[str, Any]) -> None:
    assert read_request(body, protocol=protocol) == expected


ONE = {"messages": [HI], "thread_id": "t", "user": "u", "inputs": {"a": 1}}
TWO = {"messages": [HI, REPLY, {"role": "user", "content": "more"}]}
INLINE = "<conversation>\nuser: hi\nassistant: yes?\n</conversation>\n\nmore"

Row = tuple[str, str, dict[str, Any], list[dict[str, Any]]]

WRITTEN: list[Row] = [
    (
        "legacy",
        "",
        ONE,
        [{"body": {"message": "hi", "thread_id": "t", "inputs": {"a": 1}, "user": "u", "stream": True}}],
    ),
    ("legacy", "", TWO, [{"body": {"message": INLINE, "stream": True}}]),
    (
        "legacy",
        "",
        {"messages": [user(BYTES, PICTURE)]},
        [
            {
                "body": {
                    "message": "hi",
                    "files": [{"base64": "YWI=", "media_type": "image/png"}, {"url": PICTURE["url"]}],
                    "stream": True,
                }
            }
        ],
    ),
    ("standard", "/chat", ONE, [{"path": "/chat", "body": {"message": "hi", "stream": True, **ONE}}]),
    (
        "standard",
        "",
        {"resume": [answer("approve", None, {"a": 1}, "i")]},
        [{"body": {"messages": [], "resume": [answer("approve", None, {"a": 1}, "i")], "stream": True}}],
    ),
    (
        "stream-envelope",
        "/api/v1/chat/stream",
        {**ONE, "messages": [user(PICTURE)], "inputs": {"graph_id": "g"}},
        [
            {
                "path": "/api/v1/chat/stream",
                "body": {
                    "message": "hi",
                    "thread_id": "t",
                    "graph_id": "g",
                    "metadata": {"files": [PICTURE["url"]]},
                },
            }
        ],
    ),
    (
        "stream-envelope",
        "/api/v1/chat/stream",
        {"messages": [user(BYTES, PICTURE)]},
        [{"body": {"message": "hi", "metadata": {"files": ["data:image/png;base64,YWI=", PICTURE["url"]]}}}],
    ),
    (
        "stream-envelope",
        "/api/v1/chat/stream",
        {"resume": [answer("approve", None, {"thread_id": "t", "command": {}})]},
        [{"path": "/api/v1/chat/resume", "body": {"thread_id": "t", "command": {"resume": True}}}],
    ),
    (
        "stream-envelope",
        "/api/v1/chat/stream",
        {"resume": [answer("cancel", None, {"thread_id": "t"})]},
        [{"path": "/api/v1/chat/resume", "body": {"thread_id": "t", "command": {"resume": False}}}],
    ),
    ("easyflow", "", ONE, [{"body": {"message": "hi", "conversation_id": "t", "inputs": {"a": 1}}}]),
    (
        "easyflow",
        "",
        {"resume": [answer("submit", {"city": "Ulm"}, {"conversation_id": "c", "form_id": "f"})]},
        [{"body": {"conversation_id": "c", "form_id": "f", "values": {"city": "Ulm"}}}],
    ),
    (
        "easyflow",
        "",
        {"resume": [answer("reject", None, None, "f")], "thread_id": "c"},
        [{"body": {"conversation_id": "c", "form_id": "f", "cancelled": True}}],
    ),
    (
        "data-formulator",
        "/api/agent/data-agent-streaming",
        {"messages": [user(PICTURE, BYTES)], "inputs": {"input_tables": []}},
        [
            {
                "body": {
                    "input_tables": [],
                    "user_question": "hi",
                    "attached_images": [PICTURE["url"], "data:image/png;base64,YWI="],
                }
            }
        ],
    ),
    (
        "data-formulator",
        "/api/agent/data-loading-chat",
        {**TWO, "inputs": {"a": 1}},
        [{"body": {"a": 1, "messages": [HI, REPLY, {"role": "user", "content": "more"}]}}],
    ),
    ("data-formulator", "/api/agent/generate-report-chat", ONE, [{"body": {"a": 1, "user_prompt": "hi"}}]),
    (
        "data-formulator",
        "/api/agent/get-recommendation-questions",
        ONE,
        [{"body": {"a": 1, "start_question": "hi"}}],
    ),
    (
        "data-formulator",
        "/api/agent/data-agent-streaming",
        {"resume": [answer("submit", ["Ulm", "May"], TRAJECTORY)], "inputs": {"a": 1}},
        [{"body": {"a": 1, **TRAJECTORY, "user_question": "1. Ulm; 2. May"}}],
    ),
    *(
        (
            "data-formulator",
            "/api/agent/data-agent-streaming",
            {"resume": [answer("submit", value, TRAJECTORY) for value in values]},
            [{"body": {**TRAJECTORY, "user_question": question}}],
        )
        for values, question in (
            ([{"question_1": "Revenue", "question_2": "May"}], "1. Revenue; 2. May"),
            (
                [{"question_1": "Revenue", "question_2": "May", "text": "Growth."}],
                "1. Revenue; 2. May\nGrowth.",
            ),
            ([{"question_2": "May", "question_1": ""}], "2. May"),
            ([["Revenue", "May"], "Focus on growth."], "1. Revenue; 2. May\nFocus on growth."),
            (["Revenue", "May"], "1. Revenue; 2. May"),
            ([{"question_1": "Revenue"}], "Revenue"),
            (["Revenue"], "Revenue"),
        )
    ),
    *(
        ("ragflow", path, {**TWO, "thread_id": "t", "user": "u"}, [{"body": body}])
        for paths, body in (
            (
                ("/api/v1/completion", "/v1/api/completion", "/api/v1/completion/"),
                {"conversation_id": "t", "messages": TWO["messages"], "stream": True},
            ),
            (
                ("/v1/canvas/completion", "/api/v1/canvas/completion"),
                {"query": TWO["messages"][-1]["content"], "stream": True, "session_id": "t", "user_id": "u"},
            ),
        )
        for path in paths
    ),
    (
        "ragflow",
        "/api/v1/agents/7/completions",
        ONE,
        [
            {
                "body": {
                    "question": "hi",
                    "stream": True,
                    "session_id": "t",
                    "inputs": {"a": {"value": 1}},
                    "user_id": "u",
                }
            }
        ],
    ),
    (
        "ragflow",
        "/api/v1/agents/chat/completions",
        {"messages": [HI]},
        [{"body": {"query": "hi", "stream": True}}],
    ),
    (
        "ragflow",
        "/api/v1/chats/7/completions",
        {"messages": [HI], "thread_id": "t"},
        [{"body": {"question": "hi", "stream": True, "session_id": "t"}}],
    ),
    (
        "ragflow",
        "/api/v1/chats/7/completions",
        {"messages": [{"role": "user", "content": "h" * 60}]},
        [
            {
                "path": "/api/v1/chats/7/sessions",
                "body": {"name": "h" * 50},
                "takes": {"thread_id": "data.id"},
            },
            {
                "path": "/api/v1/chats/7/completions",
                "body": {"question": "h" * 60, "stream": True, "session_id": "{thread_id}"},
            },
        ],
    ),
    (
        "ragflow",
        "/api/v1/agents/7/completions",
        {"resume": [answer("submit", {"city": "Ulm"}, FORM)]},
        [
            {
                "body": {
                    "question": "",
                    "stream": True,
                    "session_id": "s",
                    "inputs": {"city": {"type": "line", "name": "City", "value": "Ulm"}},
                }
            }
        ],
    ),
    (
        "ragflow",
        "/api/v1/agents_openai/7/chat/completions",
        {**TWO, "tools": [{"name": "f"}], "parameters": {"max_tokens": 5}},
        [
            {
                "body": {
                    "model": "default",
                    "messages": TWO["messages"],
                    "stream": True,
                    "stream_options": {"include_usage": True},
                    "tools": [{"type": "function", "function": {"name": "f"}}],
                    "max_tokens": 5,
                }
            }
        ],
    ),
]


@pytest.mark.parametrize(("dialect", "path", "request_", "expected"), WRITTEN)
def test_writer_sends_the_expected_request(
    dialect: str, path: str, request_: dict[str, Any], expected: list[dict[str, Any]]
) -> None:
    found = write_request(request_, dialect=dialect, path=path)
    assert [{name: row[name] for name in want} for row, want in zip(found, expected, strict=True)] == expected
    assert {row["method"] for row in found} == {"POST"}


CANNOT_ANSWER = [
    ("legacy", "", answer("submit", "a")),
    ("data-formulator", "", answer("cancel", None, TRAJECTORY)),
    ("data-formulator", "", answer("submit", "Ulm")),
    ("ragflow", "/api/v1/agents/7/completions", answer("reject", None, FORM)),
    ("ragflow", "/api/v1/agents/7/completions", answer("submit", {"city": "Ulm"})),
]


@pytest.mark.parametrize(("dialect", "path", "given"), CANNOT_ANSWER)
def test_answer_that_the_server_cannot_take_is_refused(
    dialect: str, path: str, given: dict[str, Any]
) -> None:
    check_refused(dialect, path, given)


@pytest.mark.parametrize("protocol", READERS)
@for_each("dialect", WRITERS)
def test_each_reader_works_with_each_writer(protocol: str, dialect: str) -> None:
    """The client's text is in what the server is sent, and that is JSON."""
    request = read_request(DIALECTS[protocol].sample_request, protocol=protocol)
    mapped = dict.fromkeys(DIALECTS[dialect].request_writer.needs, "configured")  # type: ignore[union-attr]
    requests = write_request(request, dialect=dialect, path="/chat", mapped=mapped)
    assert request["message"] in json.dumps(requests)


@pytest.mark.parametrize("dialect", WRITERS)
def test_writer_takes_only_known_losses(dialect: str) -> None:
    writer = DIALECTS[dialect].request_writer
    assert writer is not None
    assert writer.takes <= {*LOSSES}


@pytest.mark.parametrize("protocol", READERS)
def test_sample_call_of_each_dialect_is_readable(protocol: str) -> None:
    assert read_request(DIALECTS[protocol].sample_request, protocol=protocol)["message"]
