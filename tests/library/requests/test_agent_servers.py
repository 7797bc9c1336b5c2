"""What servers of agents and graphs are sent, row by row, and how their interactions are answered."""

from typing import Any

import pytest

from streamweir import write_request
from written_requests import answer, check_refused, check_written

HI = {"role": "user", "content": "hi"}
SYSTEM = {"role": "system", "content": "Be brief."}
BYTES = {"type": "image", "base64": "YWI=", "media_type": "image/png"}
CALL = {"role": "assistant", "tool_calls": [{"id": "c1", "name": "snow", "arguments": {"where": "north"}}]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "deep"}


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": "hi"}, *parts]}


LANGGRAPH = {
    "assistant_id": "agent",
    "stream_mode": ["messages-tuple", "updates", "custom"],
    "on_disconnect": "cancel",
}
THREAD = "6f6d7b1e-53a1-4c5d-9c6f-5a2b7a0b4c11"
IN_THREAD = {**LANGGRAPH, "if_not_exists": "create"}
THREAD_PATH = f"/api/threads/{THREAD}/runs/stream"
HELD = {"thread_id": THREAD, "interrupt_id": "i1"}
APPROVAL = {**HELD, "decisions": 1}

WRITTEN: list[tuple[str, str, dict[str, Any], list[dict[str, Any]]]] = [
    (
        "langgraph-server",
        "/api/runs/stream",
        {
            "messages": [SYSTEM, user(BYTES), CALL, {**RESULT, "is_error": True}],
            "inputs": {"topic": "snow"},
            "metadata": {"configurable": {"level": 3}},
        },
        [
            {
                "path": "/api/runs/stream",
                "body": {
                    **LANGGRAPH,
                    "config": {"configurable": {"level": 3}},
                    "input": {
                        "messages": [
                            SYSTEM,
                            {
                                "role": "user",
                                "content": [
                                    {"type": "text", "text": "hi"},
                                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,YWI="}},
                                ],
                            },
                            {
                                "role": "assistant",
                                "content": "",
                                "tool_calls": [
                                    {
                                        "id": "c1",
                                        "name": "snow",
                                        "args": {"where": "north"},
                                        "type": "tool_call",
                                    }
                                ],
                            },
                            {**RESULT, "status": "error"},
                        ],
                        "topic": "snow",
                    },
                },
            }
        ],
    ),
    (
        "langgraph-server",
        "/api/runs/stream",
        {"messages": [HI], "thread_id": THREAD},
        [{"path": THREAD_PATH, "body": {**IN_THREAD, "input": {"messages": [HI]}}}],
    ),
    *(
        (
            "langgraph-server",
            "/api/runs/stream",
            {"resume": given},
            [{"path": THREAD_PATH, "body": {**IN_THREAD, "command": {"resume": value}}}],
        )
        for given, value in [
            ([answer("submit", "yes", HELD)], "yes"),
            ([answer("approve", None, HELD)], True),
            ([answer("cancel", None, HELD)], False),
            ([answer("approve", None, APPROVAL)], {"decisions": [{"type": "approve"}]}),
            ([answer("reject", "no", APPROVAL)], {"decisions": [{"type": "reject", "message": "no"}]}),
            ([answer("submit", {"decisions": []}, APPROVAL)], {"decisions": []}),
            ([answer("approve", None, {**HELD, "responses": 1})], [{"type": "accept", "args": None}]),
            (
                [answer("submit", 1, HELD), answer("submit", 2, {**HELD, "interrupt_id": "i2"})],
                {"i1": 1, "i2": 2},
            ),
        ]
    ),
]


@pytest.mark.parametrize(("dialect", "path", "request_", "expected"), WRITTEN)
def test_writer_sends_the_expected_request(
    dialect: str, path: str, request_: dict[str, Any], expected: list[dict[str, Any]]
) -> None:
    check_written(dialect, path, request_, expected)


ADK_HELD = {"id": "adk-1", "name": "adk_request_confirmation"}


def adk(path: str, *parts: Any, **fields: Any) -> list[dict[str, Any]]:
    message = {"role": "user", "parts": [*parts]}
    body = {"appName": "shop", "userId": "user", "sessionId": "s1", "streaming": True, "newMessage": message}
    run = {"path": "/api/run_sse", "body": {**body, **fields}}
    return [{"path": path, "body": {}}, run] if path else [run]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            {"messages": [user(BYTES)], "state": {"topic": "snow"}},
            adk(
                "/api/apps/shop/users/user/sessions/s1",
                {"text": "hi"},
                {"inlineData": {"mimeType": "image/png", "data": "YWI="}},
                stateDelta={"topic": "snow"},
            ),
        ),
        (
            {"messages": [HI, CALL, RESULT]},
            adk(
                "/api/apps/shop/users/user/sessions/s1",
                {"functionResponse": {"id": "c1", "name": "snow", "response": {"result": "deep"}}},
            ),
        ),
        *(
            (
                {"resume": [given]},
                adk("", {"functionResponse": {**ADK_HELD, "response": response}}),
            )
            for given, response in [
                (answer("approve", None, ADK_HELD), {"confirmed": True}),
                (answer("reject", None, ADK_HELD), {"confirmed": False}),
                (answer("submit", {"x": 1}, ADK_HELD), {"confirmed": True, "x": 1}),
                (answer("submit", "y", ADK_HELD), {"confirmed": True, "result": "y"}),
            ]
        ),
    ],
)
def test_adk_writer_sends_session_and_message(given: dict[str, Any], expected: list[dict[str, Any]]) -> None:
    request = {**given, "thread_id": "s1"}
    found = write_request(request, dialect="google-adk", path="/api/run_sse", mapped={"appName": "shop"})
    assert [{name: row[name] for name in ("path", "body")} for row in found] == expected


CANNOT_ANSWER = [
    ("google-adk", "/run_sse", answer("approve", None, ADK_HELD)),
    ("langgraph-server", "/runs/stream", answer("submit", "a", {"interrupt_id": "i1"}, "i1")),
]


@pytest.mark.parametrize(("dialect", "path", "given"), CANNOT_ANSWER)
def test_answer_that_the_server_cannot_take_is_refused(
    dialect: str, path: str, given: dict[str, Any]
) -> None:
    check_refused(dialect, path, given)
