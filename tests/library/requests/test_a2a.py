"""What A2A agents are sent: both versions, over JSON-RPC and in the HTTP+JSON form, and answers to them."""

from typing import Any

import pytest

from streamweir import RequestError, write_request

FILES = [
    {"type": "image", "url": "http://127.0.0.1/a.png", "media_type": "image/png", "name": "a.png"},
    {"type": "file", "base64": "YWI=", "media_type": "text/plain"},
]
ASKED = {
    "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}, *FILES]}],
    "inputs": {"city": "Paris"},
    "thread_id": "c1",
}
HELD = {"task_id": "t1", "context_id": "c1"}

FLAT = {
    "messageId": "made-1",
    "contextId": "c1",
    "role": "ROLE_USER",
    "parts": [
        {"text": "hi"},
        {"url": "http://127.0.0.1/a.png", "mediaType": "image/png", "filename": "a.png"},
        {"raw": "YWI=", "mediaType": "text/plain"},
        {"data": {"city": "Paris"}},
    ],
}
OF_A_KIND = {
    "kind": "message",
    "messageId": "made-1",
    "contextId": "c1",
    "role": "user",
    "parts": [
        {"kind": "text", "text": "hi"},
        {
            "kind": "file",
            "file": {"uri": "http://127.0.0.1/a.png", "mimeType": "image/png", "name": "a.png"},
        },
        {"kind": "file", "file": {"bytes": "YWI=", "mimeType": "text/plain"}},
        {"kind": "data", "data": {"city": "Paris"}},
    ],
}
NESTED = {
    "messageId": "made-1",
    "contextId": "c1",
    "role": "ROLE_USER",
    "content": [
        {"text": "hi"},
        {"file": {"fileWithUri": "http://127.0.0.1/a.png", "mimeType": "image/png", "name": "a.png"}},
        {"file": {"fileWithBytes": "YWI=", "mimeType": "text/plain"}},
        {"data": {"data": {"city": "Paris"}}},
    ],
}


def sent(request: dict[str, Any], path: str = "/", **options: str) -> dict[str, Any]:
    (found,) = write_request(request, dialect="a2a", path=path, options=options)
    return found


def rpc(method: str, message: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": "made-2", "method": method, "params": {"message": message}}


@pytest.mark.parametrize(
    ("path", "options", "body"),
    [
        ("/", {}, rpc("SendStreamingMessage", FLAT)),
        ("/", {"method": "send"}, rpc("SendMessage", FLAT)),
        ("/a2a", {"version": "0.3"}, rpc("message/stream", OF_A_KIND)),
        ("/a2a", {"version": "0.3", "method": "send"}, rpc("message/send", OF_A_KIND)),
        ("/message:stream", {}, {"message": FLAT}),
        ("/tenant/message:send", {}, {"message": FLAT}),
        (
            "/a2a/agents/sales/v1/message:stream",
            {"version": "0.3", "form": "jsonrpc"},
            rpc("message/stream", OF_A_KIND),
        ),
        ("/agent", {"form": "rest"}, {"message": FLAT}),
        (
            "/v1/message:stream",
            {"version": "0.3"},
            {"message": NESTED, "configuration": {"blocking": True}},
        ),
    ],
)
def test_message_has_the_form_of_version_and_path(
    path: str, options: dict[str, str], body: dict[str, Any]
) -> None:
    found = sent(ASKED, path, **options)
    assert (found["path"], found["body"]) == (path, body)


@pytest.mark.parametrize(("version", "header"), [("1.0", "1.0"), ("0.3", None)])
def test_version_1_requests_have_the_version_header(version: str, header: str | None) -> None:
    assert sent(ASKED, version=version).get("headers", {}).get("A2A-Version") == header


@pytest.mark.parametrize(
    ("action", "value", "part"),
    [
        ("submit", "Paris", {"text": "Paris"}),
        ("submit", {"city": "Paris"}, {"data": {"city": "Paris"}}),
        ("submit", 3, {"text": "3"}),
        ("approve", None, {"text": "yes"}),
        ("cancel", None, {"text": "cancel"}),
        ("reject", "no", {"text": "cancel"}),
    ],
)
def test_answer_is_the_next_message_of_its_task(action: str, value: Any, part: dict[str, Any]) -> None:
    answer = {"interaction_id": "m3", "action": action, "value": value, "resume": HELD}
    message = sent({"resume": [answer], "run_id": "r1"})["body"]["params"]["message"]
    assert message == {
        "messageId": "made-1",
        "taskId": "t1",
        "contextId": "c1",
        "role": "ROLE_USER",
        "parts": [part],
    }


def test_answer_without_a_task_is_refused() -> None:
    answer = {"interaction_id": "m3", "action": "submit", "value": "Paris", "resume": {"context_id": "c1"}}
    with pytest.raises(RequestError) as raised:
        sent({"resume": [answer]})
    assert (raised.value.status, raised.value.field) == (400, "resume")


@pytest.mark.parametrize(
    ("action", "value", "response"),
    [
        ("approve", None, {"confirmed": True}),
        ("reject", "too dear", {"confirmed": False, "result": "too dear"}),
        ("submit", {"status": "approved"}, {"confirmed": True, "status": "approved"}),
    ],
)
def test_answer_to_an_adk_call_is_its_result(action: str, value: Any, response: dict[str, Any]) -> None:
    held = {**HELD, "function_call": {"id": "adk-2", "name": "ask_boss"}}
    answer = {"interaction_id": "adk-2", "action": action, "value": value, "resume": held}
    (part,) = sent({"resume": [answer]})["body"]["params"]["message"]["parts"]
    assert part == {
        "data": {"id": "adk-2", "name": "ask_boss", "response": response},
        "metadata": {"adk_type": "function_response"},
    }


@pytest.mark.parametrize(
    ("action", "value", "more", "resume"),
    [
        ("submit", "Paris", {}, "Paris"),
        ("approve", None, {}, True),
        ("reject", None, {}, False),
        ("approve", None, {"decisions": 2}, {"decisions": [{"type": "approve"}] * 2}),
        ("reject", "no", {"decisions": 1}, {"decisions": [{"type": "reject", "message": "no"}]}),
        ("submit", {"decisions": []}, {"decisions": 1}, {"decisions": []}),
    ],
)
def test_answer_to_a_graph_interrupt_resumes_it(
    action: str, value: Any, more: dict[str, Any], resume: Any
) -> None:
    held = {**HELD, "interrupt_id": "i1", **more}
    answer = {"interaction_id": "i1", "action": action, "value": value, "resume": held}
    (part,) = sent({"resume": [answer]})["body"]["params"]["message"]["parts"]
    assert part == {"data": {"resume": resume}}
