"""Which conversation of an upstream goes with a client's, and what was asked in it."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from loopback import Answer, Gateway, ask, gateway, one_endpoint, settled
from places import RECORDED
from scripted_upstream import Call, Upstream, answer, upstream
from streams import sse_messages
from streamweir_gateway.requests.conversation import Conversation
from streamweir_gateway.requests.conversations import Conversations
from streamweir_gateway.requests.open_questions import OpenQuestion, OpenQuestions, QuestionPlace

pytestmark = pytest.mark.anyio

AGENT = "/api/v1/agents/7/completions"
FORM = (RECORDED / "ragflow" / "user-inputs.sse").read_bytes()


def said(session: str) -> bytes:
    events = [
        {"event": "message", "message_id": "m", "session_id": session, "data": {"content": "Hello"}},
        {"event": "message_end", "message_id": "m", "session_id": session, "data": {}},
        {"event": "workflow_finished", "message_id": "m", "session_id": session, "data": {"outputs": {}}},
    ]
    lines = [f"data:{json.dumps(event)}\n\n" for event in events]
    return answer("".join([*lines, "data:[DONE]\n\n"]).encode(), "Content-Type: text/event-stream")


@asynccontextmanager
async def agents(*names: str, **options: Any) -> AsyncIterator[tuple[Gateway, list[Upstream]]]:
    """A gateway before agents that make a session for each request without one, named after them."""

    def script_of(name: str) -> Any:
        count = iter(range(1, 100))

        async def script(call: Call) -> None:
            session = json.loads(call.body).get("session_id") or f"{name}-{next(count)}"
            await call.send(said(session))

        return script

    async with upstream(script_of(names[0])) as first, upstream(script_of(names[-1])) as second:
        servers = [first, second][: len(names)]
        config = settled(
            upstreams={
                name: {"url": server.url, "speaks": "ragflow"}
                for name, server in zip(names, servers, strict=True)
            },
            endpoints={
                "/chat": {
                    "upstream": [*names],
                    "path": AGENT,
                    "request": "mapped",
                    "answers": ["standard", "ag-ui"],
                    **options,
                }
            },
        )
        async with gateway(config) as running:
            yield running, servers


async def post(running: Gateway, body: object, protocol: str = "ag-ui") -> Answer:
    headers = [("Content-Type", "application/json"), ("X-Streamweir-Protocol", protocol)]
    got = await ask(running, headers=headers, body=json.dumps(body).encode())
    assert got.status == 200, got.body
    return got


def run(thread: str, *turns: str, **fields: Any) -> dict[str, Any]:
    """What an AG-UI client sends, whose turns are the user's and the assistant's in turn."""
    messages = [
        {"id": str(number), "role": "assistant" if number % 2 else "user", "content": text}
        for number, text in enumerate(turns)
    ]
    rest: dict[str, Any] = {"state": {}, "tools": [], "context": [], "forwardedProps": {}}
    return {"threadId": thread, "runId": "r", "messages": messages, **rest, **fields}


def sessions(server: Upstream) -> list[Any]:
    return [json.loads(call.body).get("session_id") for call in server.calls]


def questions(server: Upstream) -> list[Any]:
    return [json.loads(call.body)["question"] for call in server.calls]


async def test_thread_of_a_client_continues_the_upstreams_conversation() -> None:
    async with agents("a") as (running, (server,)):
        await post(running, run("mine", "hi"))
        await post(running, run("mine", "hi", "Hello", "more"))
        await post(running, run("another", "hi", "Hello", "more"))
    assert sessions(server) == [None, "a-1", None]
    inline = "<conversation>\nuser: hi\nassistant: Hello\n</conversation>\n\nmore"
    assert questions(server) == ["hi", "more", inline]


async def test_ag_ui_events_have_the_clients_thread_and_run() -> None:
    async with agents("a") as (running, _):
        got = await post(running, run("mine", "hi", runId="run-7"))
        unnamed = await post(running, run("x" * 1000, "hi"))
    started = next(event for event in got.events if event["type"] == "RUN_STARTED")
    finished = next(event for event in got.events if event["type"] == "RUN_FINISHED")
    assert {(event["threadId"], event["runId"]) for event in (started, finished)} == {("mine", "run-7")}
    assert started["metadata"]["session_id"] == "a-1"
    assert "x" * 1000 not in str(unnamed.events)


async def test_threads_off_begins_a_conversation_for_each_request() -> None:
    async with agents("a", threads="off") as (running, (server,)):
        await post(running, run("mine", "hi"))
        await post(running, run("mine", "hi", "Hello", "more"))
    assert sessions(server) == [None, None]


async def test_upstreams_id_from_the_client_is_sent_unchanged() -> None:
    async with agents("a", threads="off") as (running, (server,)):
        got = await post(running, {"message": "hi"}, "standard")
        given = next(e["metadata"]["session_id"] for e in got.events if "session_id" in e["metadata"])
        await post(running, {"message": "more", "thread_id": given}, "standard")
    assert sessions(server) == [None, "a-1"]


@pytest.mark.parametrize("protocol", ["ag-ui", "standard"])
async def test_known_thread_goes_to_the_upstream_that_began_it(protocol: str) -> None:
    down = answer(b"", status="503 Unavailable")
    async with agents("a", "b") as (running, (first, second)):
        first._script, works = down, first._script
        await post(running, run("mine", "hi") if protocol == "ag-ui" else {"message": "hi"}, protocol)
        first._script = works
        more = (
            run("mine", "hi", "Hello", "more")
            if protocol == "ag-ui"
            else {"message": "more", "thread_id": "b-1"}
        )
        await post(running, more, protocol)
        await post(running, run("new", "hi") if protocol == "ag-ui" else {"message": "hi"}, protocol)
    assert sessions(second) == [None, "b-1"]
    assert sessions(first) == [None, None]


async def test_resume_of_a_question_completes_the_answer() -> None:
    form = answer(FORM, "Content-Type: text/event-stream")
    async with agents("a") as (running, (server,)):
        server._script, works = form, server._script
        got = await post(running, run("mine", "hi"))
        server._script = works
        interrupts = next(e for e in got.events if e["type"] == "RUN_FINISHED")["outcome"]["interrupts"]
        resume = [{"interruptId": interrupts[0]["id"], "status": "resolved", "payload": {"city": "Ulm"}}]
        await post(running, run("mine", "hi", resume=resume))
        refused = await ask(
            running,
            headers=[("X-Streamweir-Protocol", "ag-ui")],
            body=json.dumps(run("another", "hi", resume=resume)).encode(),
        )
    sent = json.loads(server.calls[-1].body)
    assert sent["question"] == ""
    assert sent["inputs"]["city"]["value"] == "Ulm"
    assert sent["session_id"]
    assert (refused.status, len(server.calls)) == (400, 2)


async def test_next_message_of_a_conversation_answers_its_question() -> None:
    """In a conversation that it names; without one the question and the answer go on as text."""
    asks = (RECORDED / "stream-envelope" / "interrupt-asks.sse").read_bytes()
    async with upstream(answer(asks, "Content-Type: text/event-stream")) as server:
        chat = {
            "upstream": server.url,
            "path": "/chat/stream",
            "speaks": "stream-envelope",
            "request": "mapped",
        }
        paths = {"/v1/responses": "openai-responses", "/v1/chat/completions": "openai-chat"}
        config = settled(endpoints={path: {**chat, "answers": [name]} for path, name in paths.items()})
        async with gateway(config) as running:
            for text in ("May I?", "Yes, go on"):
                body = {"model": "m", "input": text, "conversation": "mine"}
                await ask(running, target="/v1/responses", body=json.dumps(body).encode())
            turns = [("user", "May I?"), ("assistant", "Approve?"), ("user", "Yes, go on")]
            chatted = {"model": "m", "messages": [{"role": role, "content": text} for role, text in turns]}
            await ask(running, target="/v1/chat/completions", body=json.dumps(chatted).encode())
    first, answered, inline = server.calls
    assert json.loads(first.body)["message"] == "May I?"
    assert answered.target == "/chat/resume"
    assert json.loads(answered.body)["command"] == {"resume": "Yes, go on"}
    assert inline.target == "/chat/stream"
    assert json.loads(inline.body)["message"].endswith("assistant: Approve?\n</conversation>\n\nYes, go on")


CHATS: dict[str, Any] = {
    "openai-chat": {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Go on"}]},
    "openai-responses": {"model": "m", "stream": True, "input": "Go on"},
    "anthropic": {
        "model": "m",
        "stream": True,
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "Go on"}],
    },
}
"""What a client sends that has neither conversations nor answers."""


@asynccontextmanager
async def chat_before(dialect: str, recorded: str, **options: Any) -> AsyncIterator[tuple[Gateway, Upstream]]:
    """A gateway for chat clients before a server that always asks what was recorded."""
    asks = (RECORDED / dialect / recorded).read_bytes()
    async with upstream(answer(asks, "Content-Type: text/event-stream")) as server:
        chat = {
            "upstream": server.url,
            "speaks": dialect,
            "request": "mapped",
            "answers": [*CHATS],
            **options,
        }
        async with gateway(settled(endpoints={"/chat": chat})) as running:
            yield running, server


async def test_question_with_an_empty_resume_can_be_answered() -> None:
    async with chat_before("langgraph-server", "breakpoint.sse", path="/runs/stream", answers=["ag-ui"]) as (
        running,
        server,
    ):
        got = await post(running, run("mine", "hi"))
        interrupts = next(e for e in got.events if e["type"] == "RUN_FINISHED")["outcome"]["interrupts"]
        resume = [{"interruptId": interrupts[0]["id"], "status": "resolved", "payload": True}]
        await post(running, run("mine", "hi", resume=resume))
    assert json.loads(server.calls[-1].body)["command"] == {"resume": True}


async def test_message_to_an_upstream_without_answers_is_a_message() -> None:
    async with chat_before("dify", "human-input.sse", path="/v1/chat-messages") as (running, server):
        for said_text in ("Book a trip", "Ulm"):
            body = {"model": "m", "input": said_text, "conversation": "mine"}
            await post(running, body, "openai-responses")
    assert json.loads(server.calls[-1].body)["query"].endswith("Ulm")


def suspension_in(body: bytes) -> dict[str, Any]:
    """Return the values that a stream has at its end for a program that answers."""
    (found,) = [held for frame in sse_messages(body) for held in held_in(frame)]
    return found


def held_in(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, dict):
        return []
    return [value["streamweir"]] if "streamweir" in value else [x for v in value.values() for x in held_in(v)]


@pytest.mark.parametrize("protocol", CHATS)
async def test_resume_sent_back_by_a_program_answers_without_threads(protocol: str) -> None:
    """It needs no memory of the gateway's: any of its processes can go on."""
    async with chat_before("easyflow", "form-interaction.sse", threads="off") as (running, server):
        got = await post(running, CHATS[protocol], protocol)
        (asked,) = suspension_in(got.body)["interactions"]
        kept = {name: asked[name] for name in ("interaction_id", "resume")}
        resume = [{**kept, "value": {"city": "Ulm"}}]
        await post(running, {**CHATS[protocol], "resume": resume}, protocol)
    assert json.loads(server.calls[-1].body) == {
        "conversation_id": "conv-42",
        "form_id": "trip_form",
        "values": {"city": "Ulm"},
    }


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("tomorrow", {"date": "tomorrow"}),
        ("tomorrow\n过道", {"date": "tomorrow", "seat": "过道"}),
        ("- 座位：靠窗\n- date: tomorrow", {"date": "tomorrow", "seat": "靠窗"}),
        ('{"date": "tomorrow"}', {"date": "tomorrow"}),
    ],
)
async def test_text_answer_fills_the_form(text: str, values: dict[str, str]) -> None:
    async with chat_before("easyflow", "form-interaction.sse") as (running, server):
        for said_text in ("Book a trip", text):
            body = {"model": "m", "input": said_text, "conversation": "mine"}
            await post(running, body, "openai-responses")
    sent = json.loads(server.calls[-1].body)
    assert sent["form_id"] == "trip_form"
    assert sent["values"] == values


def test_conversations_find_is_bounded_by_number_key_and_time() -> None:
    known = Conversations(60.0, 2)
    for number in range(3):
        known.note("web", f"t{number}", Conversation("a", f"s{number}"))
    assert known.find("web", "t0") is None
    assert known.find("web", "t2") == Conversation("a", "s2")
    assert known.find("batch", "t2") is None
    assert Conversations(-1.0, 2).find("web", "t") is None


def kept_question(interaction_id: str, *, size: int = 1) -> OpenQuestion:
    return OpenQuestion("a", interaction_id, "form", json.dumps([{"held": "x" * size}, None]).encode())


def test_questions_memory_is_bounded() -> None:
    known = OpenQuestions(60.0, 10_000)
    place = QuestionPlace("web", "t")
    for number in range(100):
        known.add(place, str(number), kept_question(str(number), size=1 << 20))
    assert known.find(place, "0") is None
    assert known.find(place, "99") is not None
    assert len(known) < 70


def test_long_names_are_shortened() -> None:
    known = Conversations(60.0, 10)
    long = QuestionPlace("web", "t" * 1_000_000)
    known.note("web", long.thread, Conversation("a", "s"))
    known.questions.add(long, "i" * 1_000_000, kept_question("i"))
    assert known.find("web", long.thread) == Conversation("a", "s")
    assert known.questions.find(long, "i" * 1_000_000) is not None
    kept = known.questions._by_id
    assert all(len(str(name)) < 1000 for name in (*known._known, *kept))
    known.note("web", "t", Conversation("a", "s" * 1_000_000))
    assert known.find("web", "t") is None


def workflow_event(sequence: int, kind: str, **value: str) -> bytes:
    """One event of LlamaIndex's workflow server."""
    message = {"value": value, "qualified_name": f"workflows.events.{kind}", "type": kind, "types": None}
    return f"id: {sequence}\ndata: {json.dumps(message)}\n\n".encode()


async def test_resume_of_a_workflow_names_the_run_that_was_started() -> None:
    """Its events do not name it: neither where it was started, nor where it goes on and asks again."""
    events = {
        "-1": workflow_event(2, "InputRequiredEvent", prefix="City?"),
        "2": workflow_event(4, "InputRequiredEvent", prefix="Day?"),
        "4": workflow_event(5, "StopEvent", result="Booked."),
    }

    async def workflows(call: Call) -> None:
        if call.method == "GET":
            data = events[call.target.rpartition("=")[2]]
            await call.send(answer(data, "Content-Type: text/event-stream", "Connection: close"))
        else:
            await call.send(answer(b'{"handler_id": "h/1"}', "Connection: close"))

    async with upstream(workflows) as server:
        config = one_endpoint(
            server.url + "/workflows/trip/run-nowait", speaks="llama-workflows", request="mapped"
        )
        async with gateway(config) as running:
            got = await post(running, {"message": "Book"}, protocol="standard")
            held = []
            while asked := [event["data"] for event in got.events if event["type"] == "interaction"]:
                held.append(asked[0]["resume"])
                body = {"interaction_id": "input", "action": "submit", "value": "x", "resume": held[-1]}
                got = await post(running, {"resume": [body]}, protocol="standard")
    assert held == [
        {"handler_id": "h/1", "after_sequence": "2"},
        {"handler_id": "h/1", "after_sequence": "4"},
    ]
    assert (got.text, got.end["status"]) == ("Booked.", "completed")
    assert [call.target for call in server.calls if call.method == "GET"] == [
        f"/events/h%2F1?sse=true&after_sequence={sequence}" for sequence in events
    ]
