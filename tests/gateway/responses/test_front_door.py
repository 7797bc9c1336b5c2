"""Clients of the Responses API name earlier responses, whatever the upstream speaks."""

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any, ClassVar

import pytest

from loopback import Client, client, gateway
from patience import PROMPTLY
from places import ROOT
from redis_servers import redis_binaries, redis_server
from responses_api import PATH, about, create, front, last_response, messages, says_count
from scripted_upstream import SSE, Call, chunk, upstream
from streamweir.codec.dialects import Dialects
from streamweir.translation import clock
from streamweir_gateway.config import parse_config

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("stream", [False, True])
async def test_response_continues_the_one_that_it_names(stream: bool) -> None:
    async with front() as (running, server):
        first = last_response(await create(running, input="one", instructions="Be brief.", stream=stream))
        second = last_response(
            await create(running, input="two", previous_response_id=first["id"], stream=stream)
        )
        third = last_response(
            await create(
                running,
                input=[{"role": "user", "content": "three"}],
                previous_response_id=second["id"],
                instructions="Now at length.",
                stream=stream,
            )
        )
    assert messages(server) == [
        ("system", "Now at length."),
        ("user", "one"),
        ("assistant", "2 messages"),
        ("user", "two"),
        ("assistant", "3 messages"),
        ("user", "three"),
    ]
    assert third["previous_response_id"] == second["id"]
    assert third["store"] is True
    for response in (first, second, third):
        prefix, digits = response["id"].split("_")
        assert (prefix, len(digits), set(digits) <= set("0123456789abcdef")) == ("resp", 32, True)


@pytest.mark.parametrize("stream", [False, True])
async def test_kept_response_is_the_object_that_its_client_got(stream: bool) -> None:
    async with front() as (running, _):
        response = last_response(await create(running, input="one", metadata={"a": "b"}, stream=stream))
        got = await about(running, "GET", response["id"])
    assert got.json == response
    assert got.header("cache-control") == "no-store"


async def test_any_number_of_continuations_begin_at_one_response() -> None:
    async with front() as (running, server):
        first = last_response(await create(running, input="one"))
        for text in ("a", "b", "c"):
            await create(running, input=text, previous_response_id=first["id"])
            assert messages(server) == [("user", "one"), ("assistant", "1 messages"), ("user", text)]


async def test_result_of_a_call_follows_the_call_with_its_arguments() -> None:
    async with front() as (running, server):
        first = last_response(await create(running, input="call"))
        (item,) = [item for item in first["output"] if item["type"] == "function_call"]
        output = {"type": "function_call_output", "call_id": item["call_id"], "output": "3"}
        await create(running, input=[output], previous_response_id=first["id"])
    sent = json.loads(server.calls[-1].body)["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "tool"]
    assert sent[1]["tool_calls"][0]["function"]["name"] == "add"
    assert sent[1]["tool_calls"][0]["id"] == sent[2]["tool_call_id"]


NOT_FOUND = {
    "type": "invalid_request_error",
    "param": "previous_response_id",
    "code": "previous_response_not_found",
}
AUTH = {"keys": {"ann": {"key": "secret-of-ann-0123456789"}, "bob": {"key": "secret-of-bob-0123456789"}}}


async def test_unknown_foreign_deleted_and_unstored_responses_are_refused_alike() -> None:
    ann, bob = "secret-of-ann-0123456789", "secret-of-bob-0123456789"
    async with front(auth=AUTH) as (running, server):
        anns = last_response(await create(running, ann, input="one"))["id"]
        deleted = last_response(await create(running, bob, input="one"))["id"]
        unstored = last_response(await create(running, bob, input="one", store=False))["id"]
        assert (await about(running, "DELETE", deleted, bob)).json == {
            "id": deleted,
            "object": "response",
            "deleted": True,
        }
        asked = len(server.calls)
        refused = [
            await create(running, bob, input="two", previous_response_id=name)
            for name in (anns, deleted, unstored, f"resp_{'0' * 32}", "x" * 9999, "?")
        ]
        read = [
            await about(running, method, name + rest, bob)
            for name in (anns, deleted, unstored, f"resp_{'0' * 32}", "x")
            for method, rest in (("GET", ""), ("DELETE", ""), ("POST", "/cancel"))
        ]
        assert len(server.calls) == asked
        assert (await about(running, "GET", anns, ann)).status == 200
    assert {got.status for got in refused} == {400}
    assert len({got.body for got in refused}) == 1
    error = refused[0].json["error"]
    assert {name: error[name] for name in NOT_FOUND} == NOT_FOUND
    assert {got.status for got in read} == {404}
    assert len({got.body for got in read}) == 1
    assert read[0].json["error"]["type"] == "invalid_request_error"
    assert {got.header("cache-control") for got in [*refused, *read]} == {"no-store"}


async def test_example_of_the_page_is_served() -> None:
    """The configuration of docs/responses.md, with the upstream of this test."""
    page = (ROOT / "docs" / "responses.md").read_text()
    written = page.partition("```yaml\n")[2].partition("```")[0]
    async with upstream(says_count) as server:
        text = written.replace("http://127.0.0.1:11434/v1/chat/completions", server.url)
        dialects = Dialects.built_in()
        config = parse_config(text, name="page.yaml", folder=Path(), dialects=dialects, environ={})
        async with gateway(config) as running:
            first = last_response(await create(running, input="My name is Ann."))
            second = last_response(
                await create(running, input="What is my name?", previous_response_id=first["id"])
            )
            assert (await about(running, "GET", second["id"])).json == second
            assert (await about(running, "DELETE", second["id"])).json["deleted"] is True
    assert messages(server) == [
        ("user", "My name is Ann."),
        ("assistant", "1 messages"),
        ("user", "What is my name?"),
    ]


async def test_store_out_of_reach_refuses_requests_that_name_a_response_only() -> None:
    with redis_server(redis_binaries()[0]) as redis:
        async with front(store={"url": redis.url, "timeout": "200ms"}) as (running, server):
            first = last_response(await create(running, input="one"))
            os.kill(redis.process.pid, signal.SIGSTOP)
            try:
                asked = len(server.calls)
                refused = [
                    await create(running, input="two", previous_response_id=first["id"]),
                    await about(running, "GET", first["id"]),
                    await about(running, "DELETE", first["id"]),
                ]
                assert len(server.calls) == asked
                answered = [last_response(await create(running, input="x", stream=s)) for s in (True, False)]
            finally:
                os.kill(redis.process.pid, signal.SIGCONT)
    assert {got.status for got in refused} == {503}
    assert [response["store"] for response in answered] == [False, False]


async def test_long_chain_and_a_deleted_link_answer_without_a_failure() -> None:
    async with front() as (running, server):
        ids: list[str] = []
        for number in range(70):
            previous = {"previous_response_id": ids[-1]} if ids else {}
            ids.append(last_response(await create(running, input=f"turn {number}", **previous))["id"])
        assert len(messages(server)) == 139
        assert (await about(running, "DELETE", ids[10])).status == 200
        await create(running, input="last", previous_response_id=ids[-1])
        texts = [text for _, text in messages(server)]
    assert "turn 9" in texts
    assert "turn 10" not in texts
    assert len(texts) == 139


async def test_turns_off_keeps_no_response() -> None:
    async with front(turns="off") as (running, server):
        response = last_response(await create(running, input="one"))
        assert response["store"] is False
        got = await create(running, input="two", previous_response_id=response["id"])
        assert (got.status, got.json["error"]["code"]) == (400, "previous_response_not_found")
        assert (await about(running, "GET", response["id"])).status == 404
        assert len(server.calls) == 1


async def test_previous_response_beside_a_conversation_is_refused() -> None:
    async with front() as (running, server):
        first = last_response(await create(running, input="one"))
        got = await create(running, input="two", previous_response_id=first["id"], conversation="c")
        assert (got.status, len(server.calls)) == (400, 1)


async def test_paths_that_are_not_built_are_404() -> None:
    async with front() as (running, _):
        response = last_response(await create(running, input="one"))
        for method, path in (("GET", f"{response['id']}/input_items"), ("POST", "compact"), ("GET", "x/y/z")):
            assert (await about(running, method, path)).status == 404


class Held:
    """An upstream of the Responses API that ends its response when it is let, and its body later.

    Args:
        mark: bytes behind the end, in a read of their own.
        store: the `store` of its response object; None: it has none.
    """

    RESPONSE: ClassVar[dict[str, Any]] = {
        "id": "resp_own",
        "object": "response",
        "status": "in_progress",
        "output": [],
    }

    def __init__(self, *, mark: bytes = b"", store: bool | None = None) -> None:
        self.may_complete = asyncio.Event()
        self.may_end = asyncio.Event()
        self.mark = mark
        self.stored = {} if store is None else {"store": store}

    async def __call__(self, call: Call) -> None:
        text = {"type": "output_text", "text": "Hello", "annotations": []}
        message = {"type": "message", "id": "msg_1", "role": "assistant", "content": [text]}
        whole = {**self.RESPONSE, "status": "completed", "output": [message], **self.stored}
        await call.send(SSE, _frame("response.created", response=self.RESPONSE))
        await call.send(_frame("response.output_text.delta", item_id="msg_1", delta="Hello"))
        await self.may_complete.wait()
        await call.send(_frame("response.completed", response=whole))
        await self.may_end.wait()
        if self.mark:
            await asyncio.sleep(0.01)  # another read
            await call.send(chunk(self.mark))
        await call.send(b"0\r\n\r\n")


def _frame(kind: str, **fields: Any) -> bytes:
    return chunk(f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode())


def ask_for_stream(connected: Client) -> None:
    body = json.dumps({"model": "m", "input": "one", "stream": True}).encode()
    connected.send(target=PATH, headers=[("Content-Type", "application/json")], body=body)


async def test_copied_end_does_not_wait_for_the_end_of_the_body(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        clock, "SETTLE_SECONDS", 2 * PROMPTLY
    )  # a silent stream that looks complete ends then
    held = Held()
    async with front(held, speaks="openai-responses") as (running, _), client(running) as connected:
        ask_for_stream(connected)
        await connected.until(b'"delta": "Hello"')
        held.may_complete.set()
        async with asyncio.timeout(PROMPTLY):
            await connected.until(b"response.completed")
        held.may_end.set()


async def test_copied_response_ends_once_it_is_stored() -> None:
    held = Held()
    with redis_server(redis_binaries()[0]) as redis:
        options: dict[str, Any] = {
            "request": {"mapped": {"store": False}},
            "store": {"url": redis.url, "timeout": "20s"},
        }
        async with (
            front(held, speaks="openai-responses", **options) as (running, server),
            client(running) as connected,
        ):
            ask_for_stream(connected)
            await connected.until(b'"delta": "Hello"')
            os.kill(redis.process.pid, signal.SIGSTOP)
            try:
                held.may_complete.set()
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.3):
                        await connected.until(b"response.completed")
            finally:
                os.kill(redis.process.pid, signal.SIGCONT)
            await connected.until(b"response.completed")
            kept = await about(running, "GET", "resp_own")
            held.may_end.set()
    assert json.loads(server.calls[0].body)["store"] is False
    assert (kept.status, kept.json) == (200, connected.answer.events[-1]["response"])


@pytest.mark.parametrize("resume", ["off", "on"])
async def test_mark_in_a_later_read_than_the_end_is_copied(resume: str) -> None:
    held = Held(mark=b"data: [DONE]\n\n")
    held.may_complete.set()
    held.may_end.set()
    options: dict[str, Any] = {"request": {"mapped": {"store": False}}, "resume": resume}
    async with (
        front(held, speaks="openai-responses", **options) as (running, _),
        client(running) as connected,
    ):
        ask_for_stream(connected)
        got = await connected.whole()
    assert got.body.endswith(b"data: [DONE]\n\n")
    assert got.body.count(b"[DONE]") == 1


@pytest.mark.parametrize("resume", ["off", "on"])
async def test_copied_response_that_is_not_kept_has_store_false(resume: str) -> None:
    held = Held(store=True)
    held.may_complete.set()
    held.may_end.set()
    options: dict[str, Any] = {
        "request": {"mapped": {"store": False}},
        "resume": resume,
        "turns": {"max_bytes": "1B"},
    }
    async with (
        front(held, speaks="openai-responses", **options) as (running, _),
        client(running) as connected,
    ):
        ask_for_stream(connected)
        response = (await connected.whole()).events[-1]["response"]
        assert (await about(running, "GET", response["id"])).status == 404
    assert response["store"] is False
