"""The word `ask` makes a demo ask for a form; the answer lets the run go on, through the gateway too."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx
import pytest

from loopback import Gateway, gateway, settled
from streams import events_of
from streamweir import Translator
from streamweir.codec.registry import process_dialects
from streamweir_gateway.demo import serve_demos

pytestmark = pytest.mark.anyio

DIALECTS = process_dialects().writable
WITHOUT_QUESTIONS = ("legacy",)
ASKING = [name for name in DIALECTS if name not in WITHOUT_QUESTIONS]
VALUE = {"city": "Köln", "days": 3, "refunds": True}
SAID = 'You answered `{"city":"Köln","days":3,"refunds":true}`.'

SAID_OF_MAPPED: Mapping[str, str] = {
    "data-formulator": "You answered ",  # its answers are lines of text
    "ragflow": 'You answered `{"city":"Köln","days":3,"currency":"EUR","refunds":true}`.',  # defaults too
}


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def demos() -> AsyncIterator[Mapping[str, str]]:
    async with serve_demos(map(process_dialects().find, DIALECTS), pace=0) as urls:
        yield urls


@pytest.fixture(scope="module")
async def served(demos: Mapping[str, str]) -> AsyncIterator[Gateway]:
    """A gateway with each demo at `/passthrough/NAME` and at `/mapped/NAME`."""
    endpoints = {
        f"/{request}/{name}": {
            "upstream": url,
            "speaks": name,
            "request": request,
            "answers": ["standard", *(other for other in DIALECTS if other != "standard")],
        }
        for name, url in demos.items()
        for request in ("passthrough", "mapped")
    }
    async with gateway(settled(endpoints=endpoints)) as running:
        yield running


async def asked(running: Gateway, path: str, body: Any, protocol: str = "standard") -> list[dict[str, Any]]:
    """The events of an answer, whatever protocol it is written in."""
    host, port = running.address
    headers = {"X-Streamweir-Protocol": protocol}
    if protocol == "standard":
        headers["Accept"] = "application/x-ndjson"
    async with httpx.AsyncClient(base_url=f"http://{host}:{port}") as client:
        response = await client.post(path, json=body, headers=headers)
    assert response.status_code == 200, response.text
    if protocol == "standard":
        return events_of(response.content)
    translator = Translator(speaks=protocol, framing="ndjson")
    return events_of(translator.feed(response.content) + translator.close())


def of_type(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event["data"] for event in events if event["type"] == kind]


def text_of(events: list[dict[str, Any]]) -> str:
    return "".join(data["content"] for data in of_type(events, "content"))


def ending(events: list[dict[str, Any]]) -> tuple[str, str]:
    return events[-1]["data"]["status"], events[-1]["data"]["reason"]


def answer_to(interaction: Mapping[str, Any], **given: Any) -> dict[str, Any]:
    """The body that a client of the standard protocol sends."""
    return {
        "resume": [
            {"interaction_id": interaction["interaction_id"], "resume": interaction.get("resume"), **given}
        ]
    }


@pytest.mark.parametrize("request_form", ["passthrough", "mapped"])
@pytest.mark.parametrize("dialect", ASKING)
async def test_demo_suspends_and_continues_with_the_answer(
    dialect: str, request_form: str, served: Gateway
) -> None:
    path = f"/{request_form}/{dialect}"
    events = await asked(served, path, {"message": "Please ask me", "thread_id": "t-1"})
    (interaction,) = of_type(events, "interaction")
    assert interaction["state"] == "requested"
    assert ending(events) == ("suspended", "interaction")
    assert not of_type(events, "error") + of_type(events, "warning")

    body = {**answer_to(interaction, action="submit", value=VALUE), "thread_id": "t-1"}
    events = await asked(served, path, body)
    assert ending(events) == ("completed", "done")
    assert not of_type(events, "error") + of_type(events, "warning")
    assert "128" in text_of(events)
    assert text_of(events).startswith("You answered")
    expected = SAID_OF_MAPPED.get(dialect, SAID) if request_form == "mapped" else SAID
    assert expected in text_of(events)
    assert "Köln" in text_of(events)


@pytest.mark.parametrize("dialect", [name for name in ASKING if name != "data-formulator"])
async def test_demo_question_is_a_form_with_titles_and_types(dialect: str, served: Gateway) -> None:
    (interaction,) = of_type(
        await asked(served, f"/passthrough/{dialect}", {"message": "ask"}), "interaction"
    )
    assert interaction["kind"] == "form"
    fields = interaction["schema"]["properties"]
    assert {name: (field["title"], field["type"]) for name, field in fields.items()} == {
        "city": ("City", "string"),
        "days": ("Days", "integer"),
        "currency": ("Currency", "string"),
        "refunds": ("Count refunds", "boolean"),
    }
    assert interaction["schema"]["required"] == ["city"]


@pytest.mark.parametrize("action", ["cancel", "reject"])
async def test_demo_continues_without_an_answer_if_it_is_declined(action: str, served: Gateway) -> None:
    (interaction,) = of_type(await asked(served, "/passthrough/standard", {"message": "ask"}), "interaction")
    events = await asked(served, "/passthrough/standard", answer_to(interaction, action=action))
    assert text_of(events).startswith("You did not answer")
    assert ending(events) == ("completed", "done")


@pytest.mark.parametrize("request_form", ["passthrough", "mapped"])
@pytest.mark.parametrize("dialect", WITHOUT_QUESTIONS)
async def test_demo_that_cannot_ask_gives_the_reason_in_its_answer(
    dialect: str, request_form: str, served: Gateway
) -> None:
    events = await asked(served, f"/{request_form}/{dialect}", {"message": "ask"})
    assert "I cannot ask you here" in text_of(events)
    assert dialect in text_of(events)
    assert not of_type(events, "interaction")
    assert ending(events) == ("completed", "done")


OWN_ANSWERS: Mapping[str, dict[str, Any]] = {
    "easyflow": {"conversation_id": "demo-thread", "form_id": "demo-form-1", "values": VALUE},
    "ag-ui": {
        "threadId": "demo-thread",
        "runId": "run-2",
        "state": {},
        "messages": [{"id": "m-1", "role": "user", "content": "ask"}],
        "tools": [],
        "context": [],
        "forwardedProps": {},
        "resume": [{"interruptId": "demo-form-1", "status": "resolved", "payload": VALUE}],
    },
    "stream-envelope": {"thread_id": "demo-thread", "command": {"resume": VALUE}},
    "ragflow": {
        "question": "",
        "session_id": "demo-session",
        "inputs": {name: {"value": value} for name, value in VALUE.items()},
    },
}
"""By protocol: the body with which its own clients answer."""


@pytest.mark.parametrize("upstream", ["standard", "vercel-ui"])
@pytest.mark.parametrize("protocol", OWN_ANSWERS)
async def test_demo_reads_the_answer_of_a_client_of_any_protocol(
    protocol: str, upstream: str, served: Gateway
) -> None:
    path = f"/passthrough/{upstream}"
    assert ending(await asked(served, path, {"message": "ask"}, protocol))[0] == "suspended"
    events = await asked(served, path, OWN_ANSWERS[protocol], protocol)
    assert SAID in text_of(events)
    assert ending(events)[0] == "completed"


@pytest.mark.parametrize("protocol", ["ag-ui", "easyflow", "ragflow", "stream-envelope"])
async def test_demo_continues_for_a_client_of_its_own_dialect(protocol: str, served: Gateway) -> None:
    path = f"/passthrough/{protocol}"
    assert ending(await asked(served, path, {"message": "ask"}, protocol))[0] == "suspended"
    events = await asked(served, path, OWN_ANSWERS[protocol], protocol)
    assert SAID in text_of(events)


@pytest.mark.parametrize(
    "body",
    [
        {"message": "a task for the mask"},
        {"message": "Hello", "resume": []},
        {"message": "Hello", "resume": "ask"},
        {
            "messages": [
                {"role": "tool", "tool_call_id": "c", "content": "ask"},
                {"role": "user", "content": "Hi"},
            ]
        },
    ],
)
async def test_demo_without_the_word_and_without_an_answer_answers_as_usual(
    body: Any, served: Gateway
) -> None:
    events = await asked(served, "/passthrough/standard", body)
    assert "You answered" not in text_of(events)
    assert not of_type(events, "interaction")
    assert ending(events) == ("completed", "done")
