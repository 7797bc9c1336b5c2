"""Responses that continue ten thousand others, and chains that the store has damaged."""

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from loopback import Gateway
from redis_servers import redis_binaries, redis_server
from responses_api import PATH, about, create, front, last_response, messages
from scripted_upstream import Upstream
from streamweir.runs import RedisStore
from streamweir_gateway.responses.ancestors import Ancestors, Sized
from streamweir_gateway.responses.kept_response import KeptResponse
from streamweir_gateway.responses.kept_responses import MAX_ITEMS, KeptResponses

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

DEEP = 10_000
WITHIN = 3.0
"""Seconds of the processor for one answer; a walk of ten thousand round trips takes longer."""


def response_of(number: int, ancestors: Ancestors) -> KeptResponse:
    output = {"type": "output_text", "text": f"answer {number}", "annotations": []}
    item = {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": [output]}
    response = {"id": f"resp_{number:032x}", "object": "response", "status": "completed", "output": [item]}
    return KeptResponse(response, [{"role": "user", "content": f"question {number}"}], ancestors)


@asynccontextmanager
async def chain(length: int) -> AsyncIterator[tuple[Gateway, Upstream, KeptResponses, str]]:
    """Run a gateway whose store has a chain of responses; yield the id of the last one, too."""
    with redis_server(redis_binaries()[0]) as redis:
        store = RedisStore(redis.url)
        try:
            kept = KeptResponses(store, PATH, 600.0)
            continued, last = None, ""
            for number in range(length):
                made = response_of(number, await kept.ancestors_behind(continued))
                await kept.put(None, made)
                continued, last = await kept.find(None, made.id), made.id
            async with front(store={"url": redis.url}) as (running, server):
                yield running, server, kept, last
        finally:
            await store.aclose()


@pytest.mark.long
async def test_response_behind_ten_thousand_others_is_answered_in_one_piece() -> None:
    async with chain(DEEP) as (running, server, _, last):
        began = time.process_time()
        got = await create(running, input="last", previous_response_id=last)
        took = time.process_time() - began
        assert last_response(got)["previous_response_id"] == last
        sent = messages(server)
    assert took < WITHIN
    assert len(sent) <= MAX_ITEMS + 1
    assert sent[-1] == ("user", "last")
    assert sent[-2] == ("assistant", f"answer {DEEP - 1}")
    assert sent[0] == ("user", f"question {DEEP - (len(sent) - 1) // 2}")
    assert len(sent) > MAX_ITEMS // 2, "the bytes of a request are the other limit"


async def test_chain_of_deleted_responses_is_answered_by_those_that_are_left() -> None:
    async with chain(200) as (running, server, _, last):
        for number in range(150, 199):
            assert (await about(running, "DELETE", f"resp_{number:032x}")).status == 200
        assert (await create(running, input="last", previous_response_id=last)).status == 200
        texts = [text for _, text in messages(server)]
        assert "question 149" in texts
        assert "question 150" not in texts
        assert (await about(running, "DELETE", last)).status == 200
        got = await create(running, input="last", previous_response_id=last)
        assert got.status == 400
        assert got.json["error"]["code"] == "previous_response_not_found"


async def test_responses_that_continue_each_other_in_a_circle_are_each_sent_once() -> None:
    """A store is not trusted: its values may name each other."""
    async with chain(3) as (running, server, kept, last):
        names = [Sized(f"resp_{number:032x}", 100) for number in (0, 2, 1, 0, 2, 1)]
        for number in range(3):
            await kept.put(None, response_of(number, Ancestors(recent=(*names, *names))))
        got = await create(running, input="last", previous_response_id=last)
        assert got.status == 200
        texts = [text for _, text in messages(server)]
    assert sorted(texts) == sorted({*texts})
    assert texts[-1] == "last"


async def test_pages_that_name_themselves_are_read_once() -> None:
    async with chain(70) as (running, server, kept, last):
        found = await kept.find(None, last)
        assert found is not None
        (page,) = found.response.ancestors.pages
        ancestors = Ancestors((page,) * 78, found.response.ancestors.recent)
        await kept.put(None, KeptResponse(found.response.response, found.response.input, ancestors))
        began = time.process_time()
        got = await create(running, input="last", previous_response_id=last)
        assert got.status == 200, got.body
        assert time.process_time() - began < WITHIN
        texts: list[Any] = [text for _, text in messages(server)]
    assert len(texts) == len({json.dumps(text) for text in texts}) == 141
