"""`history: kept`: clients send a thread and one message, and the model sees the whole thread."""

import json
from typing import Any

import pytest

from loopback import Answer, Gateway, ask
from responses_api import PATH, front
from scripted_upstream import Call, answer
from streamweir.runs import MemoryStore
from streamweir_gateway.requests.kept_history import MAX_BYTES, MAX_MESSAGES, KeptHistory
from streamweir_gateway.requests.value_names import value_name

pytestmark = pytest.mark.anyio

FIELDS = {
    "standard": ("message", "thread_id"),
    "legacy": ("message", "thread_id"),
    "stream-envelope": ("message", "thread_id"),
    "easyflow": ("message", "conversation_id"),
    "ragflow": ("question", "session_id"),
    "openai-responses": ("input", "conversation"),
}


async def post(running: Gateway, **body: Any) -> Answer:
    headers = [("Content-Type", "application/json")]
    return await ask(running, target=PATH, headers=headers, body=json.dumps(body).encode())


def sent(call: Call) -> list[tuple[str, Any]]:
    return [(m["role"], m.get("content")) for m in json.loads(call.body)["messages"]]


@pytest.mark.parametrize("protocol", FIELDS)
async def test_turns_of_a_thread_precede_the_new_one(protocol: str) -> None:
    message, thread = FIELDS[protocol]
    async with front(answers=[protocol], history="kept") as (running, server):
        for text in ("one", "two"):
            assert (await post(running, **{message: text, thread: "mine"})).status == 200
        await post(running, **{message: "other", thread: "another"})
    assert sent(server.calls[1]) == [("user", "one"), ("assistant", "1 messages"), ("user", "two")]
    assert sent(server.calls[2]) == [("user", "other")]


async def test_thread_without_a_name_is_known_by_the_one_that_its_client_got() -> None:
    async with front(answers=["standard"], history="kept") as (running, server):
        got = await post(running, message="one")
        await post(running, message="two", thread_id=got.events[0]["data"]["session_id"])
    assert sent(server.calls[1])[0] == ("user", "one")


async def test_request_with_assistant_messages_begins_the_thread_anew() -> None:
    turns = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    async with front(answers=["standard"], history="kept") as (running, server):
        await post(running, message="one", thread_id="t")
        await post(running, messages=[*turns, {"role": "user", "content": "c"}], thread_id="t")
        await post(running, message="d", thread_id="t")
    assert sent(server.calls[1]) == [("user", "a"), ("assistant", "b"), ("user", "c")]
    assert sent(server.calls[2]) == [*sent(server.calls[1]), ("assistant", "3 messages"), ("user", "d")]


async def test_failed_answer_leaves_the_message_out() -> None:
    async with front(answers=["standard"], history="kept") as (running, server):
        works, server._script = server._script, answer(b"", status="500 Oops")
        await post(running, message="one", thread_id="t")
        server._script = works
        await post(running, message="two", thread_id="t")
    assert sent(server.calls[-1]) == [("user", "two")]


async def test_call_without_a_result_is_left_out() -> None:
    async with front(answers=["standard"], history="kept") as (running, server):
        await post(running, message="call", thread_id="t")
        await post(running, message="two", thread_id="t")
    assert sent(server.calls[-1]) == [("user", "call"), ("user", "two")]


async def test_resume_of_a_call_in_the_kept_thread_is_its_result() -> None:
    async with front(answers=["standard"], history="kept") as (running, server):
        got = await post(running, message="call", thread_id="t")
        asked = [event["data"] for event in got.events if event["type"] == "interaction"]
        answers = [
            {"interaction_id": one["interaction_id"], "action": "submit", "value": "21"} for one in asked
        ]
        assert (await post(running, thread_id="t", resume=answers)).status == 200
        unknown = [{"interaction_id": "call_of_another", "action": "submit", "value": "21"}]
        assert (await post(running, thread_id="t", resume=unknown)).status == 400
    messages = json.loads(server.calls[1].body)["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "tool"]
    assert messages[2]["content"] == "21"
    assert messages[2]["tool_call_id"] == messages[1]["tool_calls"][0]["id"]
    assert len(server.calls) == 2


async def test_history_beyond_its_limits_keeps_the_newest_messages() -> None:
    history = KeptHistory(MemoryStore(), "/chat", 60.0)
    await history.put("web", "t", [{"role": "user", "content": str(i)} for i in range(MAX_MESSAGES + 5)])
    found = await history.find("web", "t")
    assert found is not None
    assert (len(found), found[0]["content"]) == (MAX_MESSAGES, "5")
    await history.put("web", "t", [{"role": "user", "content": "x" * (MAX_BYTES // 3)} for _ in range(5)])
    assert len(await history.find("web", "t") or []) == 2
    assert await history.find("batch", "t") == []


async def test_value_of_another_form_is_no_history() -> None:
    store = MemoryStore()
    history = KeptHistory(store, "/chat", 60.0)
    for value in (
        b"",
        b"\xff",
        b"[]",
        b"7",
        b'{"messages": 7}',
        b'{"messages": [{"role": "x"}]}',
        b"[" * 9999,
    ):
        await store.put(value_name("history", "/chat", "web", "t"), value, ttl=60)
        assert await history.find("web", "t") == []
