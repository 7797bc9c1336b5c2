"""Values of the store that the gateway did not write are no failure of the gateway."""

import json
from typing import Any

import pytest

from redis_servers import redis_binaries, redis_server
from responses_api import PATH, about, create, front, last_response
from streamweir_gateway.requests.value_names import value_name

pytestmark = pytest.mark.anyio

ITEMS: list[Any] = [
    *([7], [None], [[]], [{}], [{"type": 7}], [{"type": "message", "content": 7}], [{"call_id": 7}]),
    *([{"type": "function_call", "call_id": "c"}], [{"type": "function_call_output", "call_id": "x"}]),
    [{"type": "reasoning", "summary": 7, "encrypted_content": {}}],
]
ANCESTORS: list[Any] = [
    7,
    [],
    {},
    {"pages": 7, "recent": [["x"], ["y", -1], 7]},
    {"recent": [["me", 1]] * 99},
]


async def test_values_of_another_form_are_no_5xx() -> None:
    with redis_server(redis_binaries()[0]) as redis:
        async with front(store=redis.url) as (running, _):
            first = last_response(await create(running, input="one"))
            name = f"streamweir:value:{{{value_name('response', PATH, None, first['id'])}}}"
            whole = {"upstream": None, "thread": None, "running": False}
            values = [
                *(b"", b"\xff", b"[]", b"7", b"[" * 9999),
                *(
                    json.dumps(
                        {**whole, "response": {**first, "output": items}, "input": items, "ancestors": a}
                    )
                    .replace('"me"', json.dumps(first["id"]))
                    .encode()
                    for items in ITEMS
                    for a in ANCESTORS
                ),
            ]
            for value in values:
                redis.command("SET", name, value)
                got = await create(running, input="two", previous_response_id=first["id"])
                read = await about(running, "GET", first["id"])
                assert got.status in (200, 400), (value, got.body)
                assert read.status in (200, 404), (value, read.body)
            redis.command("DEL", name)
            redis.command("RPUSH", name, "x")
            assert (await about(running, "GET", first["id"])).status == 404
