"""Responses that are made without a connection to their clients."""

import asyncio
import json
from typing import Any

import pytest

from loopback import Gateway, client, gateway, settled
from patience import PATIENCE, PROMPTLY
from redis_servers import redis_binaries, redis_server
from responses_api import PATH, about, chunks, create, endpoint, front, last_response, messages, says_count
from scripted_upstream import LAST_CHUNK, SSE, Call, chunk, upstream

pytestmark = pytest.mark.anyio


class Gate:
    """An upstream script that begins an answer, and ends it once it is opened."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()
        self.left = asyncio.Event()
        self.asked = asyncio.Event()
        self.bodies: list[Any] = []

    async def __call__(self, call: Call) -> None:
        self.bodies.append(json.loads(call.body))
        self.asked.set()
        begin, *rest = chunks({"role": "assistant", "content": "Hel"}, {"content": "lo"}).split(b"\n\n")
        await call.send(SSE, chunk(begin + b"\n\n"))
        opened, left = asyncio.create_task(self.opened.wait()), asyncio.create_task(call.until_closed())
        await asyncio.wait([opened, left], return_when=asyncio.FIRST_COMPLETED)
        if left.done():
            self.left.set()
        else:
            left.cancel()
            await call.send(*(chunk(piece + b"\n\n") for piece in rest if piece), LAST_CHUNK)
        opened.cancel()


async def settles(running: Gateway, response_id: str, *statuses: str) -> dict[str, Any]:
    """Return a response once its status is none of these."""
    async with asyncio.timeout(PATIENCE):
        while True:
            found: dict[str, Any] = (await about(running, "GET", response_id)).json
            if found["status"] not in statuses:
                return found
            await asyncio.sleep(0.02)


async def test_background_response_is_answered_at_once_and_read_whole_at_its_end() -> None:
    gate = Gate()
    async with front(gate, resume="on") as (running, _):
        begun = await create(running, input="one", background=True)
        assert begun.status == 200
        response = begun.json
        assert response["status"] in ("queued", "in_progress")
        assert (response["background"], response["output"]) == (True, [])
        waiting = (await about(running, "GET", response["id"])).json
        assert waiting["status"] in ("queued", "in_progress")
        refused = await create(running, input="two", previous_response_id=response["id"])
        assert refused.status == 400
        gate.opened.set()
        whole = await settles(running, response["id"], "queued", "in_progress")
        assert whole["status"] == "completed"
        assert whole["output"][-1]["content"][0]["text"] == "Hello"
        assert {**whole, **dict.fromkeys(("status", "output", "completed_at", "usage"))} == {
            **response,
            **dict.fromkeys(("status", "output", "completed_at", "usage")),
        }
        cancelled = await about(running, "POST", f"{response['id']}/cancel")
        assert cancelled.json == whole, "one that is over does not change"
        await create(running, input="two", previous_response_id=response["id"])
        assert [message["content"] for message in gate.bodies[-1]["messages"]] == ["one", "Hello", "two"]


async def test_background_response_keeps_the_time_of_its_beginning() -> None:
    async def late(call: Call) -> None:
        await asyncio.sleep(1.1)
        await says_count(call)

    async with front(late, resume="on") as (running, _):
        begun = (await create(running, input="one", background=True)).json
        whole = await settles(running, begun["id"], "queued", "in_progress")
    assert whole["status"] == "completed"
    assert whole["created_at"] == begun["created_at"]


async def test_cancel_ends_a_background_response() -> None:
    gate = Gate()
    async with front(gate, resume="on") as (running, _):
        response = (await create(running, input="one", background=True)).json
        await gate.asked.wait()
        got = await about(running, "POST", f"{response['id']}/cancel")
        assert (got.status, got.json["status"]) == (200, "cancelled")
        async with asyncio.timeout(PROMPTLY):
            await gate.left.wait()
        assert (await about(running, "GET", response["id"])).json["status"] == "cancelled"


async def test_delete_ends_and_forgets_a_background_response() -> None:
    gate = Gate()
    async with front(gate, resume="on") as (running, _):
        response = (await create(running, input="one", background=True)).json
        await gate.asked.wait()
        assert (await about(running, "DELETE", response["id"])).json["deleted"] is True
        async with asyncio.timeout(PROMPTLY):
            await gate.left.wait()
        assert (await about(running, "GET", response["id"])).status == 404


async def test_streamed_background_response_survives_its_client_and_is_read_on() -> None:
    gate = Gate()
    async with front(gate, resume="on", on_disconnect="cancel") as (running, _):
        async with client(running) as connected:
            body = json.dumps({"model": "m", "input": "one", "background": True, "stream": True}).encode()
            connected.send("POST", PATH, headers=[("Content-Type", "application/json")], body=body)
            await connected.until(b'"delta":"Hel"')
            begun = connected.answer.body
        await asyncio.sleep(2.5)  # longer than an unread run is kept with `cancel`
        gate.opened.set()
        response_id = json.loads(begun.split(b"data: ")[1].split(b"\n")[0])["response"]["id"]
        assert (await settles(running, response_id, "queued", "in_progress"))["status"] == "completed"
        whole = await about(running, "GET", f"{response_id}?stream=true")
        numbers = [event["sequence_number"] for event in whole.events]
        assert numbers == [*range(len(numbers))]
        for after in (0, 3, numbers[-2]):
            rest = await about(running, "GET", f"{response_id}?stream=true&starting_after={after}")
            assert rest.events == whole.events[after + 1 :]
            assert whole.body.endswith(rest.body)
        assert (await about(running, "GET", f"{response_id}?stream=true&starting_after=x")).status == 400


async def test_background_is_refused_where_the_response_would_not_be_kept() -> None:
    cases: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"resume": "on"}, {"store": False}),
        ({}, {}),
        ({}, {"stream": True}),
    ]
    for options, fields in cases:
        async with front(**options) as (running, server):
            got = await create(running, input="one", background=True, **fields)
            assert got.status == 400
            error = got.json["error"]
            assert (error["param"], error["code"]) == ("background", "unsupported_parameter")
            assert error["type"] == "invalid_request_error"
            assert not server.calls


async def test_stream_of_a_response_needs_resume() -> None:
    async with front() as (running, _):
        response = last_response(await create(running, input="one"))
        assert (await about(running, "GET", f"{response['id']}?stream=true")).status == 400


async def test_response_that_fails_in_the_background_is_read_as_failed() -> None:
    async def refuses(call: Call) -> None:
        await call.send(b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n")

    async with front(refuses, resume="on") as (running, server):
        response = (await create(running, input="one", background=True)).json
        failed = await settles(running, response["id"], "queued", "in_progress")
        assert failed["status"] == "failed"
        assert failed["error"]["code"] == "server_error"
        assert (await create(running, input="two", previous_response_id=response["id"])).status == 502
        assert messages(server) == [("user", "one"), ("user", "two")]


async def test_replica_reads_cancels_and_continues_the_responses_of_another() -> None:
    with redis_server(redis_binaries()[0]) as server:
        gate = Gate()
        async with upstream(gate) as model:
            config = settled(endpoints={PATH: endpoint(model.url, resume="on")}, store=server.url)
            async with gateway(config) as one, gateway(config) as other:
                first = (await create(one, input="one", background=True)).json
                second = (await create(one, input="one", background=True)).json
                assert (await about(other, "POST", f"{second['id']}/cancel")).json["status"] == "cancelled"
                gate.opened.set()
                whole = await settles(other, first["id"], "queued", "in_progress")
                assert whole == (await about(one, "GET", first["id"])).json
                assert whole["status"] == "completed"
                await create(other, input="two", previous_response_id=first["id"])
                assert [m["content"] for m in gate.bodies[-1]["messages"]] == ["one", "Hello", "two"]
