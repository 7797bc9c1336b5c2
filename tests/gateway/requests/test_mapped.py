"""A mapped request reaches the upstream as that expects it, over real HTTP."""

import json
from typing import Any

import anyio
import pytest

from loopback import Answer, Gateway, ask, client, gateway, one_endpoint, settled
from patience import PROMPTLY
from scripted_upstream import WHOLE, Call, Upstream, answer, upstream

pytestmark = pytest.mark.anyio

JSON = ("Content-Type", "application/json")
HI = {"message": "hi"}


async def post(running: Gateway, body: object, *headers: tuple[str, str], target: str = "/chat") -> Answer:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return await ask(running, target=target, headers=[JSON, *headers], body=data)


def bodies(server: Upstream) -> list[Any]:
    return [json.loads(call.body) for call in server.calls]


async def sent(
    body: object, *headers: tuple[str, str], target: str = "/chat", **options: Any
) -> tuple[Call, Answer]:
    """What the upstream got for a client's body, and what the client got."""
    config = options or {"request": "mapped"}
    async with upstream(WHOLE) as server, gateway(one_endpoint(server.url, **config)) as running:
        got = await post(running, body, *headers, target=target)
    return server.call, got


async def test_mapped_body_is_written_in_the_upstreams_dialect() -> None:
    call, got = await sent({"query": "hi", "sessionId": "s", "foo": 1})
    got.assert_valid()
    assert json.loads(call.body) == {"message": "hi", "thread_id": "s", "stream": True}
    assert call.header("content-type") == "application/json"
    assert call.header("content-length") == str(len(call.body))


async def test_mapped_tree_is_laid_over_the_body() -> None:
    call, got = await sent(
        {"message": "hi", "tenant": "t"},
        ("X-User", "me"),
        speaks="legacy",
        forward_headers=["X-User"],
        request={
            "mapped": {
                "bot": 7,
                "user": "${{ user || headers.x-user }}",
                "of": "${{ tenant }}",
                "stream": None,
            }
        },
    )
    got.assert_valid()
    assert json.loads(call.body) == {"message": "hi", "bot": 7, "user": "me", "of": "t"}


async def test_get_request_is_read_from_its_query() -> None:
    async with upstream(WHOLE) as server:
        config = one_endpoint(server.url, request="mapped", methods=["GET"])
        async with gateway(config) as running:
            got = await ask(running, "GET", "/chat?question=hi&protocol=standard", body=b"")
    got.assert_valid()
    assert server.call.method == "POST"
    assert bodies(server) == [{"message": "hi", "stream": True}]


REFUSED: list[tuple[object, list[tuple[str, str]], int, str, str]] = [
    (b"{", [JSON], 400, "BAD_REQUEST", "JSON"),
    (b"", [JSON], 400, "BAD_REQUEST", "JSON"),
    (b"[" * 300, [JSON], 400, "BAD_REQUEST", "deep"),
    ({}, [JSON], 400, "BAD_REQUEST", "message"),
    ({"messages": [{"role": "secret-word"}]}, [JSON], 400, "BAD_REQUEST", "messages[0].role"),
    ({"resume": [{"interaction_id": "i"}]}, [JSON], 400, "BAD_REQUEST", "resume"),
    (HI, [("Content-Type", "text/plain")], 415, "UNSUPPORTED_MEDIA_TYPE", "JSON"),
    (HI, [JSON, ("Content-Encoding", "gzip")], 415, "UNSUPPORTED_MEDIA_TYPE", "coding"),
    ({"message": "a" * 2000}, [JSON], 413, "REQUEST_TOO_LARGE", "larger"),
]


@pytest.mark.parametrize(("body", "headers", "status", "code", "word"), REFUSED)
async def test_unreadable_body_never_reaches_the_upstream(
    body: object, headers: list[tuple[str, str]], status: int, code: str, word: str
) -> None:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    async with upstream(WHOLE) as server:
        config = one_endpoint(server.url, request="mapped", limits={"request_bytes": 1000})
        async with gateway(config) as running:
            got = await ask(running, headers=headers, body=data)
    assert (got.status, got.json["error"]["code"]) == (status, code)
    assert word in got.json["error"]["message"]
    assert b"secret-word" not in got.body
    assert server.connections == 0


async def test_json_suffix_or_no_content_type_is_read_as_json() -> None:
    async with upstream(WHOLE) as server, gateway(one_endpoint(server.url, request="mapped")) as running:
        for headers in ([("Content-Type", "application/vnd.a+json; charset=utf-8")], []):
            got = await ask(running, headers=headers, body=b'{"message": "hi"}')
            got.assert_valid()


async def test_lost_fields_are_warned_about_after_the_start() -> None:
    async with upstream(WHOLE) as server, gateway(one_endpoint(server.url, request="mapped")) as running:
        got = await post(
            running,
            {
                "message": "hi",
                "thread_id": "t",
                "tools": [{"name": "f"}],
                "state": {"a": 1},
                "messages": [{"role": "system", "content": "be"}],
            },
        )
        line = await running.log.next_line()
    got.assert_valid()
    assert got.types[:2] == ["session_start", "warning"]
    assert got.events[1]["data"] == {
        "message": "The service cannot take all of the request: system, tools, state.",
        "message_code": "REQUEST_LOSSY",
    }
    assert line["request_lost"] == ["system", "tools", "state"]


async def test_stream_false_gets_the_folded_answer() -> None:
    call, got = await sent({"message": "hi", "stream": False})
    assert json.loads(call.body)["stream"] is True
    assert got.header("content-type") == "application/json"
    assert got.json["message"]["content"] == "Hello"


async def test_history_last_leaves_earlier_turns_out() -> None:
    said = {
        "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes?"}],
        "message": "more",
    }
    call, got = await sent(said, speaks="legacy", request="mapped", history="last")
    assert json.loads(call.body)["message"] == "more"
    assert got.events[1]["data"]["message"].endswith(": history.")
    call, got = await sent(said)
    assert json.loads(call.body)["message"].startswith("<conversation>\nuser: hi\n")
    assert got.types[1] != "warning"


RAGFLOW = (
    b'data: {"code": 0, "data": {"answer": "Hel", "session_id": "s1"}}\n\n'
    b'data: {"code": 0, "data": {"answer": "Hello", "reference": {}, "session_id": "s1"}}\n\n'
    b'data: {"code": 0, "data": true}\n\n'
)


def ragflow(url: str, **options: Any) -> dict[str, Any]:
    return {
        "upstream": f"{url}/api/v1/chats/7/completions",
        "speaks": "ragflow",
        "request": "mapped",
        **options,
    }


async def test_first_request_is_part_of_the_attempt() -> None:
    async def script(call: Call) -> None:
        if call.target.endswith("/sessions"):
            await call.send(answer(b'{"code": 0, "data": {"id": "s/1"}}'))
            return
        await call.send(answer(RAGFLOW, "Content-Type: text/event-stream"))

    async with upstream(script) as server:
        config = settled(endpoints={"/chat": ragflow(server.url, headers={"Authorization": "Bearer secret"})})
        async with gateway(config) as running:
            got = (await post(running, HI)).assert_valid()
    assert got.text == "Hello"
    assert [call.target for call in server.calls] == [
        "/api/v1/chats/7/sessions",
        "/api/v1/chats/7/completions",
    ]
    assert bodies(server) == [{"name": "hi"}, {"question": "hi", "stream": True, "session_id": "s/1"}]
    assert {call.header("authorization") for call in server.calls} == {"Bearer secret"}


FAILING = [
    (answer(b'{"message": "no"}', status="401 Unauthorized"), "AUTH_FAILED"),
    (answer(b'{"code": 102, "message": "chat not found"}'), None),
    (answer(b"<html>"), "UPSTREAM_INVALID_RESPONSE"),
    (answer(b"a" * 2_000_000), "UPSTREAM_INVALID_RESPONSE"),
    (answer(b"", status="302 Found"), "UPSTREAM_INVALID_RESPONSE"),
]


@pytest.mark.parametrize(("first", "code"), FAILING)
async def test_failed_first_request_ends_the_attempt(first: bytes, code: str | None) -> None:
    async with upstream(first) as server:
        config = settled(endpoints={"/chat": ragflow(server.url)})
        async with gateway(config) as running:
            got = (await post(running, HI)).assert_valid()
    assert len(server.calls) == 1
    assert got.error is not None
    assert code is None or got.error["code"] == code
    assert b"chat not found" not in got.body


async def test_first_event_timeout_includes_first_requests() -> None:
    async def silent(call: Call) -> None:
        await call.until_closed()

    async with upstream(silent) as server:
        config = settled(
            endpoints={"/chat": ragflow(server.url, timeouts={"connect": 0.2, "first_event": 0.2})}
        )
        async with gateway(config) as running:
            got = (await post(running, HI)).assert_valid()
        with anyio.fail_after(PROMPTLY):
            await server.call.closed.wait()
    assert got.error is not None
    assert (got.error["code"], got.end["reason"]) == ("UPSTREAM_TIMEOUT", "first_event_timeout")


async def test_disconnect_ends_a_first_request() -> None:
    async def silent(call: Call) -> None:
        await call.until_closed()

    async with upstream(silent) as server:
        config = settled(endpoints={"/chat": ragflow(server.url)})
        async with gateway(config) as running, client(running) as connected:
            connected.send(headers=[JSON], body=json.dumps(HI).encode())
            with anyio.fail_after(PROMPTLY):
                await server.called.wait()
                connected.leave()
                await server.call.closed.wait()
    assert len(server.calls) == 1


async def test_each_upstream_of_a_list_gets_its_own_dialect() -> None:
    async with upstream(answer(b"", status="503 Unavailable")) as first, upstream(WHOLE) as second:
        config = settled(
            upstreams={
                "first": {"url": first.url, "speaks": "easyflow"},
                "second": {"url": second.url, "speaks": "legacy"},
            },
            endpoints={"/chat": {"upstream": ["first", "second"], "request": "mapped"}},
        )
        async with gateway(config) as running:
            got = (await post(running, HI)).assert_valid()
    assert got.text == "Hello"
    assert bodies(first) == [{"message": "hi"}]
    assert bodies(second) == [{"message": "hi", "stream": True}]


async def test_upstream_without_answers_is_skipped() -> None:
    async with upstream(WHOLE) as first, upstream(WHOLE) as second:
        config = settled(
            upstreams={
                "first": {"url": first.url, "speaks": "legacy"},
                "second": {"url": second.url, "speaks": "standard"},
            },
            endpoints={"/chat": {"upstream": ["first", "second"], "request": "mapped"}},
        )
        async with gateway(config) as running:
            await post(running, {"resume": [{"interaction_id": "i", "action": "approve"}]})
    assert first.connections == 0
    assert bodies(second)[0]["resume"] == [{"interaction_id": "i", "action": "approve"}]


async def test_retries_send_the_same_request() -> None:
    async def script(call: Call) -> None:
        await call.send(answer(b"", status="503 Unavailable") if len(server.calls) == 1 else WHOLE)

    async with upstream(script) as server:
        config = settled(
            upstreams={
                "a": {"url": server.url, "speaks": "legacy", "retries": {"attempts": 2, "backoff": 0.01}}
            },
            endpoints={"/chat": {"upstream": "a", "request": "mapped"}},
        )
        async with gateway(config) as running:
            (await post(running, HI)).assert_valid()
    assert bodies(server) == [{"message": "hi", "stream": True}] * 2


TEMPLATES: list[tuple[Any, Any]] = [
    ({"question": "${{ messages[-1].content }}", "stream": True}, {"question": "hi", "stream": True}),
    ({"body": {"q": "${{ request.message }}", "n": "${{ nothing }}", "o": None}}, {"q": "hi", "o": None}),
    ({"body": {"all": "${{ body }}"}}, {"all": {"messages": [{"role": "user", "content": "hi"}]}}),
    ({"a": "${{ query.v }} ${{ path.id }}"}, {"a": "2 7"}),
    (["${{ upper(messages[0].content) }}"], ["HI"]),
]


@pytest.mark.parametrize(("tree", "expected"), TEMPLATES)
async def test_template_tree_builds_the_body(tree: Any, expected: Any) -> None:
    async with upstream(WHOLE) as server:
        config = settled(endpoints={"/c/{id}": {"upstream": server.url, "speaks": "legacy", "request": tree}})
        async with gateway(config) as running:
            body = {"messages": [{"role": "user", "content": "hi"}]}
            (await post(running, body, target="/c/7?v=2")).assert_valid()
    assert bodies(server) == [expected]


async def test_template_sees_no_reasoning_of_another_upstream() -> None:
    turn = {"role": "assistant", "content": "Hi", "reasoning_content": "SECRET", "tool_calls": []}
    body = {"messages": [{"role": "user", "content": "a"}, turn, {"role": "user", "content": "b"}]}
    tree = {"all": "${{ request.messages[].{role: role, text: content} }}"}
    call, _ = await sent(body, answers=["openai-chat"], request=tree)
    assert json.loads(call.body) == {
        "all": [
            {"role": "user", "text": "a"},
            {"role": "assistant", "text": "Hi"},
            {"role": "user", "text": "b"},
        ]
    }


async def test_template_long_form_sets_query_and_headers() -> None:
    tree = {
        "body": {"q": "${{ q }}"},
        "query": {"v": "2", "w": "${{ q }}", "none": "${{ nothing }}"},
        "headers": {"X-Tenant": "${{ path.id }}", "X-User": "${{ headers.x-user || 'guest' }}"},
    }
    async with upstream(WHOLE) as server:
        config = settled(
            endpoints={
                "/c/{id}": {
                    "upstream": f"{server.url}/p?k=1",
                    "speaks": "legacy",
                    "request": tree,
                    "forward_headers": ["X-User"],
                }
            }
        )
        async with gateway(config) as running:
            (await post(running, {"q": "a b&c"}, target="/c/7")).assert_valid()
            refused = await post(running, {"q": "hi"}, target="/c/%C3%A4")
    assert server.calls[0].target == "/p?k=1&v=2&w=a+b%26c"
    assert server.calls[0].header("x-tenant") == "7"
    assert server.calls[0].header("x-user") == "guest"
    assert (refused.status, len(server.calls)) == (400, 1)


async def test_template_form_is_sent_as_multipart() -> None:
    tree = {"form": {"message": "${{ q }}", "stream": "true", "n": 1}}
    call, got = await sent({"q": 'a"b'}, speaks="legacy", request=tree)
    got.assert_valid()
    media_type, _, boundary = (call.header("content-type") or "").partition("; boundary=")
    assert media_type == "multipart/form-data"
    parts = [part.strip(b"\r\n-") for part in call.body.split(b"--" + boundary.encode())]
    assert parts[1] == b'Content-Disposition: form-data; name="message"\r\n\r\na"b'
    assert len(parts) == 5


async def test_home_made_dialect_reads_and_writes_requests() -> None:
    acme = {
        "rules": [{"match": {"k": "t"}, "emit": {"type": "content", "content": "${{ t }}"}}],
        "terminal": ["eof"],
        "write": {"rules": [{"on": "content", "send": {"data": {"k": "t", "t": "${{ content }}"}}}]},
        "request": {
            "write": {"q": "${{ message }}", "s": "${{ thread_id }}"},
            "read": {"message": "${{ q }}"},
        },
    }
    body = answer(b'data: {"k": "t", "t": "Hello"}\n\n', "Content-Type: text/event-stream")
    async with upstream(body) as first, upstream(WHOLE) as second:
        config = settled(
            dialects={"acme": acme},
            endpoints={
                "/to": {"upstream": first.url, "speaks": "acme", "request": "mapped"},
                "/from": {
                    "upstream": second.url,
                    "speaks": "legacy",
                    "answers": ["acme"],
                    "request": "mapped",
                },
            },
        )
        async with gateway(config) as running:
            got = (await post(running, {"message": "hi", "thread_id": "t"}, target="/to")).assert_valid()
            back = await post(running, {"q": "hi"}, target="/from")
    assert (got.text, bodies(first)) == ("Hello", [{"q": "hi", "s": "t"}])
    assert bodies(second) == [{"message": "hi", "stream": True}]
    assert b'"t":"Hel"' in back.body
