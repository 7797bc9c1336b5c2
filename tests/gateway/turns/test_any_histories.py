"""Any history that a client may make of its answers: the model accepts it, or it is mended once.

A conversation is edited, doubled, reordered and cut; ids and opaque values are exchanged for those of another
conversation, forged, cut and blown up. The answer is never a 5xx; a model gets no seal, and no value that a
seal or a kept turn of another model has.
"""

import copy
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any, NamedTuple

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loop_clients import CLIENTS, LoopClient
from loopback import Answer, Gateway, ask, gateway, settled
from scripted_upstream import Call, answer, upstream
from strict_upstreams import STEPS, StrictAnthropic, StrictChat, StrictGemini, StrictModel, StrictResponses

pytestmark = pytest.mark.long

CASES = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
MODELS: Mapping[str, tuple[str, Callable[[str], StrictModel]]] = {
    "anthropic": ("anthropic", lambda name: StrictAnthropic(name=name, compares_input=False)),
    "gemini": ("gemini", lambda name: StrictGemini(name=name, compares_args=False)),
    "deepseek": ("openai-chat", lambda name: StrictChat(name=name, compares_arguments=False)),
    "responses": ("openai-responses", lambda name: StrictResponses(name=name, compares_arguments=False)),
}
TREES: Mapping[str, Any] = {
    "anthropic": {"mapped": {"thinking": {"type": "enabled", "budget_tokens": 1024}}},
    "openai-responses": {"mapped": {"store": False, "include": ["reasoning.encrypted_content"]}},
}
KEYS = {"ann": "a" * 20, "ben": "b" * 20}
MADE = re.compile(r"\+/[0-9A-Za-z+/]{40,}={0,2}")
"""The form of the signatures that strict models make."""


class Asked:
    """An upstream that notes each body, and answers as a model does."""

    def __init__(self, model: StrictModel) -> None:
        self.model = model
        self.bodies: list[bytes] = []
        self.made: set[str] = set()
        """The signatures that the model has made."""

    async def __call__(self, call: Call) -> None:
        self.bodies.append(call.body)
        try:
            await self.model(call)
        except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
            # a history that the model cannot even read is refused as the real services do
            data = json.dumps(
                {"error": {"message": f"Invalid request: {error!r}", "type": "invalid"}}
            ).encode()
            await call.send(answer(data, "Content-Type: application/json", status="400 Bad Request"))


class Running(NamedTuple):
    """A gateway with two models of a dialect, each with a conversation of its own."""

    portal: BlockingPortal
    gateway: Gateway
    models: Mapping[str, Asked]

    def ask(self, name: str, protocol: str, body: Any, key: str = "ann") -> Answer:
        headers = [
            ("Content-Type", "application/json"),
            ("Accept", "text/event-stream"),
            ("X-Streamweir-Protocol", protocol),
            ("Authorization", f"Bearer {KEYS[key]}"),
        ]
        data = json.dumps(body).encode("utf-8", "surrogatepass")
        target = f"/{name}"
        return self.portal.call(lambda: ask(self.gateway, target=target, headers=headers, body=data))


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    models = {
        f"{name}-{number}": Asked(make(f"{name}-{number}"))
        for name, (_, make) in MODELS.items()
        for number in "12"
    }
    with start_blocking_portal("asyncio") as portal, ExitStack() as stack:
        upstreams, endpoints = {}, {}
        for name, model in models.items():
            dialect = MODELS[name[:-2]][0]
            server = stack.enter_context(portal.wrap_async_context_manager(upstream(model)))
            upstreams[name] = {"url": server.url, "breaker": "off"}
            endpoints[f"/{name}"] = {
                "upstream": name,
                "speaks": dialect,
                "answers": [*CLIENTS],
                "request": TREES.get(dialect, "mapped"),
            }
        config = settled(upstreams=upstreams, endpoints=endpoints, auth={"keys": KEYS})
        with portal.wrap_async_context_manager(gateway(config)) as at:
            yield Running(portal, at, models)


def conversation(running: Running, name: str, protocol: str) -> LoopClient:
    """Return a client with a whole tool loop."""
    client = CLIENTS[protocol]()
    client.ask("How warm is it?")
    for _ in STEPS:
        got = running.ask(name, protocol, client.body)
        assert got.status == 200, got.body
        for call in client.take(got.body):
            client.answer(call, "21 degrees")
    client.ask("And tomorrow?")
    return client


Path = tuple[Any, ...]


def texts_in(value: Any, at: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yield each text of a JSON value, and its place."""
    if isinstance(value, str):
        yield at, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from texts_in(item, (*at, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from texts_in(item, (*at, index))


def put(value: Any, at: Path, item: Any) -> None:
    for key in at[:-1]:
        value = value[key]
    value[at[-1]] = item


def opaque_places(messages: list[Any]) -> list[tuple[Path, str]]:
    """The texts that may be opaque values: seals and signatures."""
    return [(at, text) for at, text in texts_in(messages) if text.startswith("sw1.") or MADE.search(text)]


def edited(data: st.DataObject, messages: list[Any], others: list[Any]) -> None:
    """Edit a history in place in one way."""
    if not messages:
        return
    number = data.draw(st.integers(0, len(messages) - 1))
    match data.draw(st.sampled_from(EDITS)):
        case "drop":
            del messages[number]
        case "double":
            messages.insert(number, copy.deepcopy(messages[number]))
        case "swap":
            other = data.draw(st.integers(0, len(messages) - 1))
            messages[number], messages[other] = messages[other], messages[number]
        case "cut":
            del messages[number + 1 :]
        case "foreign":
            messages.insert(number, copy.deepcopy(data.draw(st.sampled_from(others))))
        case "part":
            lists = [item for item in messages[number].values() if isinstance(item, list) and item]
            if lists:
                chosen = data.draw(st.sampled_from(lists))
                del chosen[data.draw(st.integers(0, len(chosen) - 1))]
        case "text":
            places = [place for place in texts_in(messages) if place[0][-1] not in ("role", "type")]
            if places:
                at, text = data.draw(st.sampled_from(places))
                put(messages, at, data.draw(st.sampled_from([text[::-1], text[: len(text) // 2], ""])))
        case "opaque":
            change_opaque(data, messages, others)


EDITS = ("drop", "double", "swap", "cut", "foreign", "part", "text", "opaque", "opaque")


def change_opaque(data: st.DataObject, messages: list[Any], others: list[Any]) -> None:
    """Forge one opaque value: cut, changed, of another conversation or place, very long."""
    places = opaque_places(messages)
    if not places:
        return
    at, text = data.draw(st.sampled_from(places))
    known = [value for _, value in opaque_places(others) + places]
    match data.draw(st.sampled_from(["cut", "flip", "other", "huge", "number"])):
        case "cut":
            put(messages, at, text[: data.draw(st.integers(0, len(text)))])
        case "flip":
            place = data.draw(st.integers(0, len(text) - 1))
            put(messages, at, text[:place] + ("A" if text[place] != "A" else "B") + text[place + 1 :])
        case "other":
            put(messages, at, data.draw(st.sampled_from(known)))
        case "huge":
            put(messages, at, text + "A" * 100_000)
        case "number":
            put(messages, at, data.draw(st.sampled_from([None, 7, [], {}, True])))


def with_messages(client: LoopClient, messages: list[Any]) -> dict[str, Any]:
    body = client.body
    name = "input" if "input" in body else "messages"
    return {**body, name: messages}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("protocol", CLIENTS)
def test_any_history_is_accepted_or_mended_once(running: Running, protocol: str, name: str) -> None:
    mine, other = f"{name}-1", f"{name}-2"
    client = conversation(running, mine, protocol)
    others = conversation(running, other, protocol).messages
    asked, foreign = running.models[mine], running.models[other]
    foreign_made = {found for body in foreign.bodies for found in MADE.findall(body.decode())}

    @CASES
    @given(data=st.data())
    def check(data: st.DataObject) -> None:
        messages = copy.deepcopy(client.messages)
        for _ in range(data.draw(st.integers(1, 4))):
            edited(data, messages, others)
        before = len(asked.bodies)
        key = data.draw(st.sampled_from(["ann", "ann", "ben"]))
        got = running.ask(mine, protocol, with_messages(client, messages), key)
        bodies = asked.bodies[before:]
        assert got.status < 500, (got.status, got.body, messages)
        assert len(bodies) <= 2, "a request is sent once, and mended once"
        for body in bodies:
            assert b"sw1." not in body, "a seal is opened or lost"
        # the standard protocol, and a client of the dialect, have the values themselves, without a seal
        if protocol not in ("standard", MODELS[name][0]):
            sent = {found for body in bodies for found in MADE.findall(body.decode())}
            assert not sent & foreign_made, "a value of another upstream"

    check()
