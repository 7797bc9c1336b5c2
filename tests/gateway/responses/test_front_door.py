"""Clients of the Responses API name earlier responses, whatever the upstream speaks."""

import json

import pytest

from responses_api import about, create, front, last_response, messages

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
            for name in (
                anns,
                deleted,
                unstored,
                f"resp_{'0' * 32}",
                "",
                "x" * 9999,
                "\ud800".encode("utf-8", "replace").decode(),
            )
            if name
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
