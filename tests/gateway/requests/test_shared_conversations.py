"""Replicas with one Redis store know each other's conversations and questions."""

import asyncio
import json
import os
import random
import signal
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from asking_server import User, coze_replicas, post
from loopback import client, gateway, settled
from redis_servers import RedisServer, redis_binaries, redis_server
from scripted_upstream import SSE, Call, chunk, upstream
from streamweir.runs import MemoryStore, RedisStore
from streamweir_gateway.requests.conversation import Conversation
from streamweir_gateway.requests.conversations import Conversations, ConversationsOfWorker
from streamweir_gateway.requests.open_questions import OpenQuestion, QuestionPlace
from streamweir_gateway.requests.value_names import value_name

pytestmark = pytest.mark.anyio

PROTOCOLS = ("openai-chat", "openai-responses", "anthropic", "ag-ui")


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with redis_server(redis_binaries()[0]) as running:
        yield running


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_answers_reach_the_runs_that_asked_at_another_replica(server: RedisServer) -> None:
    chance = random.Random(1)
    async with coze_replicas(3, server.url) as (replicas, script):
        users = [User(f"user {i}", chance.choice(("web", "batch")), PROTOCOLS[i % 4]) for i in range(16)]
        asked = [chance.choice(replicas) for _ in users]
        await asyncio.gather(*(user.ask(at) for user, at in zip(users, asked, strict=True)))
        others = [chance.choice([at for at in replicas if at is not one]) for one in asked]
        got = await asyncio.gather(*(user.answer(at) for user, at in zip(users, others, strict=True)))
    assert [found.status for found in got] == [200] * len(users)
    assert script.answered == {
        f"answer of {user.name}": script.begun[f"question of {user.name}"] for user in users
    }


async def test_answer_id_of_another_key_is_refused_at_another_replica(server: RedisServer) -> None:
    async with coze_replicas(2, server.url) as ((one, other), script):
        user, foreign = User("first", "web", "openai-chat"), User("other", "batch", "openai-chat")
        await user.ask(one)
        refused = await foreign.answer(other, user.given)
        assert (refused.status, script.answered) == (400, {})
        assert (await user.answer(other)).status == 200


async def test_conversation_at_another_replica_is_the_same(server: RedisServer) -> None:
    async with coze_replicas(2, server.url) as ((one, other), script):
        user = User("first", "web", "ag-ui")
        await post(one, "web", "ag-ui", user.body("hi"))
        body = user.body("more")
        turns = [
            {"id": "1", "role": "user", "content": "hi"},
            {"id": "2", "role": "assistant", "content": "x"},
        ]
        await post(other, "web", "ag-ui", {**body, "messages": [*turns, *body["messages"]]})
    assert script.conversations == [None, "conversation-1"]


async def test_answers_without_the_store_reach_the_replica_that_asked(server: RedisServer) -> None:
    with redis_server(redis_binaries()[0]) as own:
        async with coze_replicas(1, own.url) as ((one,), script):
            user = User("first", "web", "openai-chat")
            os.kill(own.process.pid, signal.SIGSTOP)
            try:
                await user.ask(one)
                got = await user.answer(one)
            finally:
                os.kill(own.process.pid, signal.SIGCONT)
    assert got.status == 200
    assert script.answered == {"answer of first": "chat-1"}


def question(interaction_id: str) -> OpenQuestion:
    return OpenQuestion("a", interaction_id, "form", b"[{}, null]", "s", b"\x00\xff", "run")


async def test_copy_of_a_conversation_equals_that_of_the_other_replica() -> None:
    store, place = MemoryStore(), QuestionPlace("web", "t")
    one, other = (ConversationsOfWorker(store).of("/chat", 60.0, 100) for _ in range(2))
    assert one.sync is not None
    assert other.sync is not None
    one.note("web", "t", Conversation("a", "s"))
    for name in ("1", "2"):
        one.questions.add(place, name, question(name))
    await one.sync.settle()
    await other.sync.load("web", "t", [])
    assert other.find("web", "t") == Conversation("a", "s")
    assert other.questions.held(place) == one.questions.held(place)
    assert other.questions.find(place, "1") == question("1")
    assert other.questions.answer(place, "1") == question("1")
    assert other.questions.take_only(place) == question("2")
    await other.sync.settle()
    await one.sync.load("web", "t", [])
    assert one.questions.held(place) == other.questions.held(place)
    assert one.questions.take_only(place) is None
    await one.sync.load("batch", "t", [])
    assert one.find("batch", "t") is None


class BusyStore(MemoryStore):
    """A store of an endpoint whose conversations change while others are written."""

    known: Conversations
    count = 0

    async def put(self, name: str, value: bytes, *, ttl: float) -> None:
        await asyncio.sleep(0)
        await super().put(name, value, ttl=ttl)
        if self.count < 1_000:
            self.count += 1
            self.known.note("web", f"busy {self.count}", Conversation("a", "s"))


async def test_settle_waits_for_earlier_changes_only() -> None:
    store = BusyStore()
    store.known = known = ConversationsOfWorker(store).of("/chat", 60.0, 100)
    assert known.sync is not None
    known.note("web", "first", Conversation("a", "s"))
    await asyncio.sleep(0)
    known.note("web", "mine", Conversation("a", "s"))
    await known.sync.settle()
    written, store.count = store.count, 1_000
    assert await store.get(value_name("conversation", "/chat", "web", "mine"), ttl=60) is not None
    assert written < 10
    await known.sync.settle()


LONG = Conversation("a" * 10_000, "s" * 10_000)
"""The names in a value of the right form, however long."""

QUESTIONS: list[Any] = [
    *(None, 7, {}, [7], [[]]),
    *([["1", [], True]], [["1", ["a"] * 7, 1]], [["1", None, True]]),
]
HOSTILE: list[Any] = [
    *(b"", b"x", b"\xff", b"[]", b"{}", b"7", b"null", b"[" * 10_000),
    *(
        json.dumps({"conversation": known, "questions": questions}).encode()
        for known in (None, 7, [], ["a"], ["a", 7], ["a", "s", 1], {"a": 1}, [*LONG])
        for questions in QUESTIONS
    ),
]


@pytest.mark.parametrize("place", [QuestionPlace("web", "t"), QuestionPlace("web", "")])
async def test_values_of_another_form_are_ignored(place: QuestionPlace) -> None:
    store = MemoryStore()
    known: Conversations = ConversationsOfWorker(store).of("/chat", 60.0, 100)
    assert known.sync is not None
    kind, name = ("conversation", "t") if place.thread else ("question", "1")
    for value in HOSTILE:
        await store.put(value_name(kind, "/chat", "web", name), value, ttl=60)
        await known.sync.load("web", place.thread, ["1"])
        assert known.questions.held(place) == []
        assert known.find("web", place.thread) in (None, LONG)


async def test_names_in_the_store_hold_no_byte_of_a_client(server: RedisServer) -> None:
    server.command("FLUSHALL")
    store = RedisStore(server.url)
    known = ConversationsOfWorker(store).of("/chat", 60.0, 100)
    assert known.sync is not None
    known.note("web", "thread of a client", Conversation("a", "s"))
    await known.sync.settle()
    names = [line for line in server.command("KEYS", "*").decode().split("\r\n") if "streamweir" in line]
    assert names == [
        f"streamweir:value:{{{value_name('conversation', '/chat', 'web', 'thread of a client')}}}"
    ]
    await store.aclose()


ENDS: Mapping[str, tuple[list[dict[str, Any]], dict[str, Any], dict[str, Any]]] = {
    "ag-ui": (
        [
            {"type": "RUN_STARTED", "threadId": "server-1", "runId": "r"},
            {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "Hello."},
            {"type": "TEXT_MESSAGE_END", "messageId": "m"},
        ],
        {"type": "RUN_FINISHED", "threadId": "server-1", "runId": "r"},
        {
            "threadId": "t",
            "runId": "r",
            "messages": [{"id": "1", "role": "user", "content": "hi"}],
            "state": {},
            "tools": [],
            "context": [],
            "forwardedProps": {},
        },
    ),
    "standard": (
        [
            {
                "type": "session_start",
                "data": {"session_id": "s", "request_id": "r", "protocol": "1.1"},
                "metadata": {"request_id": "r", "timestamp": 1, "sequence": 0, "thread_id": "server-1"},
            },
            {
                "type": "content",
                "data": {"content": "Hello."},
                "metadata": {"request_id": "r", "timestamp": 1, "sequence": 1},
            },
        ],
        {
            "type": "session_end",
            "data": {"status": "completed", "reason": "done"},
            "metadata": {"request_id": "r", "timestamp": 1, "sequence": 2},
        },
        {"message": "hi", "thread_id": "t"},
    ),
}


@pytest.mark.parametrize("protocol", ENDS)
async def test_copied_end_leaves_when_the_conversation_is_stored(protocol: str) -> None:
    begin, end, body = ENDS[protocol]
    with redis_server(redis_binaries()[0]) as own:

        async def script(call: Call) -> None:
            os.kill(own.process.pid, signal.SIGSTOP)
            frames = [f"data: {json.dumps(frame)}\n\n".encode() for frame in (*begin, end)]
            await call.send(SSE, *map(chunk, frames))
            await call.closed.wait()

        async with upstream(script) as server:
            endpoint = {
                "upstream": server.url,
                "speaks": protocol,
                "answers": [protocol],
                "request": "mapped",
            }
            config = settled(endpoints={"/chat": endpoint}, store={"url": own.url, "timeout": "5s"})
            async with gateway(config) as running, client(running) as connected:
                headers = [("Content-Type", "application/json"), ("Accept", "text/event-stream")]
                connected.send(headers=headers, body=json.dumps(body).encode())
                try:
                    with pytest.raises(TimeoutError):
                        async with asyncio.timeout(0.5):
                            await connected.until(str(end["type"]).encode())
                finally:
                    os.kill(own.process.pid, signal.SIGCONT)
                await connected.until(str(end["type"]).encode())
