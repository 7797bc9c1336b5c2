"""An answer goes to the conversation that asked, and to no other."""

import asyncio
import json
import random
import time
from typing import Any

import pytest

from asking_server import KEYS, UPSTREAM_ID, User, coze, post
from loopback import ask
from streamweir.codec.answer_ids import answer_id, is_answer_id, new_answer_secret
from streamweir_gateway.requests.open_questions import OpenQuestion, OpenQuestions, QuestionPlace

pytestmark = pytest.mark.anyio

CHAT_PROTOCOLS = ("openai-chat", "openai-responses", "anthropic")


@pytest.mark.parametrize("seed", range(6))
async def test_answers_of_many_users_reach_the_runs_that_asked(seed: int) -> None:
    chance = random.Random(seed)
    users = [
        User(f"user {number}", chance.choice([*KEYS]), protocol, streams=chance.random() < 0.7)
        for number, protocol in enumerate(chance.choices((*CHAT_PROTOCOLS, "ag-ui"), k=16))
    ]
    for user in users:
        user.streams = user.streams or user.protocol == "ag-ui"
    async with coze() as (running, server):
        for user in users if seed % 2 else ():
            await user.ask(running)
        if not seed % 2:
            await asyncio.gather(*(user.ask(running) for user in users))
        chance.shuffle(users)
        got = await asyncio.gather(*(user.answer(running) for user in users))
    assert [found.status for found in got] == [200] * len(users)
    assert server.answered == {
        f"answer of {user.name}": server.begun[f"question of {user.name}"] for user in users
    }
    own = [user.given for user in users if user.protocol != "ag-ui"]
    assert all(map(is_answer_id, own))
    assert len({*own}) == len(own)


@pytest.mark.parametrize("protocol", CHAT_PROTOCOLS)
@pytest.mark.parametrize("streams", [True, False], ids=["stream", "whole"])
async def test_answer_id_of_another_client_is_refused(protocol: str, streams: bool) -> None:
    async with coze() as (running, server):
        user = User("first", "web", protocol, streams=streams)
        await user.ask(running)
        other = User("other", "batch", protocol, streams=streams)
        changed = user.given[:-1] + ("0" if user.given[-1] != "0" else "1")
        refused = [
            await other.answer(running, user.given),
            await user.answer(running, changed),
            await user.answer(running, user.given + "0"),
            await other.answer(running, answer_id(new_answer_secret(), UPSTREAM_ID)),
        ]
        assert not server.answered
        assert (await user.answer(running)).status == 200
    for got in refused:
        assert got.status == 400
        assert b"not known here" in got.body
        assert b"resume" in got.body
    assert server.answered == {"answer of first": "chat-1"}


@pytest.mark.parametrize("protocol", CHAT_PROTOCOLS)
async def test_result_under_the_upstreams_id_is_an_ordinary_result(protocol: str) -> None:
    async with coze() as (running, server):
        user = User("first", "web", protocol)
        await user.ask(running)
        got = await user.answer(running, UPSTREAM_ID)
    assert got.status == 200
    assert not server.answered


async def test_results_for_two_runs_in_one_request_are_refused() -> None:
    async with coze() as (running, server):
        first, second = User("first", "web", "openai-chat"), User("second", "web", "openai-chat")
        await first.ask(running)
        await second.ask(running)
        body = first.body("go on", "one")
        body["messages"].append({"role": "tool", "tool_call_id": second.given, "content": "two"})
        got = await post(running, "web", "openai-chat", body)
    assert got.status == 400
    assert not server.answered


async def test_answer_from_another_thread_is_refused() -> None:
    async with coze() as (running, server):
        first, second = User("first", "web", "ag-ui"), User("second", "web", "ag-ui")
        await first.ask(running)
        await second.answer(running, first.given)  # the result of a call that its own thread does not know
        resume = [{"interruptId": first.given, "status": "resolved", "payload": "x"}]
        got = await post(running, "web", "ag-ui", {**second.body("question"), "resume": resume})
        assert not server.answered
        assert (await first.answer(running)).status == 200
    assert got.status == 400
    assert b"resume[0].interruptId" in got.body
    assert server.answered == {"answer of first": "chat-1"}


async def test_answer_from_another_conversation_of_responses_is_refused() -> None:
    async with coze() as (running, server):
        user = User("first", "web", "openai-responses")
        mine = {"conversation": "mine"}
        asked = await post(running, "web", user.protocol, {**user.body("question"), **mine})
        user.given = user.call_id(asked)
        answered = user.body("question", "answer")
        for others in ({"conversation": "another"}, {}):
            got = await post(running, "web", user.protocol, {**answered, **others})
            assert got.status == 400, others
        got = await post(running, "web", user.protocol, {**answered, **mine})
        assert got.status == 200
    assert server.answered == {"answer": "chat-1"}


async def test_refused_answer_names_the_field_of_the_protocol() -> None:
    places = {
        "openai-chat": "messages[2].tool_call_id",
        "openai-responses": "input[2].call_id",
        "anthropic": "messages[2].content[0].tool_use_id",
    }
    async with coze() as (running, _):
        for protocol, place in places.items():
            user = User("first", "web", protocol)
            got = await user.answer(running, answer_id(new_answer_secret(), "call"))
            assert got.status == 400, protocol
            assert place in got.body.decode(), protocol


async def test_threads_off_sends_the_upstreams_ids() -> None:
    """Nothing is kept: an id of ours would lead nowhere."""
    async with coze(threads="off") as (running, _):
        user = User("first", "web", "openai-chat")
        await user.ask(running)
    assert user.given == UPSTREAM_ID


async def test_resumed_run_has_the_same_answer_id() -> None:
    async with coze(resume="on") as (running, server):
        user = User("first", "web", "openai-chat")
        asked = await post(running, "web", "openai-chat", user.body("question"))
        user.given = user.call_id(asked)
        headers = [("X-Api-Key", KEYS["web"])]
        target = asked.header("content-location")
        assert target is not None
        again = await ask(running, method="GET", target=target, headers=headers, body=b"")
        assert user.call_id(again) == user.given
        assert (await user.answer(running)).status == 200
    assert server.answered == {"answer of first": "chat-1"}


# Where questions are kept

WEB = QuestionPlace("web", "thread")


def question(number: int = 0, **fields: Any) -> OpenQuestion:
    held = json.dumps([{"chat": number}, None]).encode()
    return OpenQuestion("a", "id", "form", held)._replace(**fields)


def test_find_with_two_open_questions_under_one_id_returns_none() -> None:
    questions = OpenQuestions(60.0, 100)
    questions.add(WEB, "id", question(1))
    questions.add(WEB, "id", question(2))
    assert questions.find(WEB, "id") is None
    assert questions.find(WEB, "id", digests=[b"x"]) is None


def test_find_with_digests_returns_the_question_behind_the_latest() -> None:
    questions = OpenQuestions(60.0, 100)
    questions.add(WEB, "id", question(1, asked_behind=b"hi"))
    questions.add(WEB, "id", question(2, asked_behind=b"hello"))
    for said, number in (([b"hi"], 1), ([b"hello"], 2), ([b"hi", b"hello"], 2), ([b"hello", b"hi"], 1)):
        found = questions.find(WEB, "id", digests=said)
        assert found is not None, said
        assert found.resume == {"chat": number}, said
    assert questions.find(WEB, "id", digests=[b"another"]) is None


def test_add_of_the_same_question_replaces_it() -> None:
    questions = OpenQuestions(60.0, 100)
    for behind in (b"hi", b"hello"):
        questions.add(WEB, "id", question(1, asked_behind=behind))
    assert len(questions) == 1
    questions.answer(WEB, "id")
    questions.add(WEB, "id", question(2))
    found = questions.find(WEB, "id")
    assert found is not None
    assert found.resume == {"chat": 2}


def test_take_only_with_several_open_questions_returns_none() -> None:
    questions = OpenQuestions(60.0, 100)
    questions.add(WEB, "one", question(1))
    questions.add(WEB, "two", question(2))
    assert questions.take_only(WEB) is None
    assert questions.take_only(WEB) is None
    assert questions.find(WEB, "one") is not None
    questions.add(WEB, "three", question(3))
    found = questions.take_only(WEB)
    assert found is not None
    assert found.resume == {"chat": 3}


def test_take_only_after_answer_returns_none() -> None:
    questions = OpenQuestions(60.0, 100)
    questions.add(WEB, "one", question(1))
    assert questions.answer(WEB, "one") is not None
    assert questions.answer(WEB, "one") is not None, "a client may have to send it again"
    assert questions.take_only(WEB) is None


def test_find_with_another_key_or_thread_returns_none() -> None:
    questions = OpenQuestions(60.0, 100)
    questions.add(WEB, "id", question(1))
    for place in (QuestionPlace("batch", "thread"), QuestionPlace("web", "other"), QuestionPlace("web", "")):
        assert questions.find(place, "id") is None
        assert questions.take_only(place) is None
    assert questions.find(WEB, "id") is not None


def test_find_after_keep_returns_none() -> None:
    questions = OpenQuestions(-1.0, 100)
    questions.add(WEB, "id", question(1))
    assert questions.find(WEB, "id") is None
    assert questions.take_only(WEB) is None
    assert not len(questions)


def test_find_with_ten_thousand_open_questions_costs_the_same() -> None:
    def cost(others: int, *, same_thread: bool) -> float:
        questions = OpenQuestions(60.0, 100_000)
        for number in range(others):
            place = WEB if same_thread else QuestionPlace("web", f"t{number}")
            questions.add(place, f"i{number}", question(number))
        questions.add(QuestionPlace("web", "mine"), "id", question(0))
        began = time.process_time()
        for _ in range(2000):
            questions.find(QuestionPlace("web", "mine"), "id")
            questions.find(WEB, "i1")
            questions.find(WEB, "unknown")
            questions.take_only(QuestionPlace("web", "no such thread"))
        return time.process_time() - began

    for same_thread in (True, False):
        few = min(cost(10, same_thread=same_thread) for _ in range(3))
        many = min(cost(10_000, same_thread=same_thread) for _ in range(3))
        assert many < few * 4 + 0.01
