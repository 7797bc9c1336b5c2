"""The strict models themselves: they accept their own turns, and refuse one with a part missing."""

import copy
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from scripted_upstream import upstream
from strict_upstreams import StrictAnthropic, StrictChat, StrictGemini, StrictModel, StrictResponses
from strict_upstreams.model import written

pytestmark = pytest.mark.anyio
Turn = Any
Edit = Callable[[Any], Any]


class History:
    """A history in the form of a model's own service."""

    def __init__(self, model: StrictModel) -> None:
        self.model = model
        self.items: list[Any] = []

    def ask(self) -> None:
        self.add({"role": "user", "content": "How warm is it?"}, {"role": "user", "parts": [{"text": "Hm?"}]})

    def add(self, item: Any, of_gemini: Any) -> None:
        self.items.append(of_gemini if isinstance(self.model, StrictGemini) else item)

    def add_turn(self, turn: Turn) -> None:
        self.items += turn if isinstance(self.model, StrictResponses) else [turn]
        match self.model:
            case StrictAnthropic():
                ids = [block["id"] for block in turn["content"] if block["type"] == "tool_use"]
                results = [{"type": "tool_result", "tool_use_id": call_id, "content": "x"} for call_id in ids]
                self.items += [{"role": "user", "content": results}] if results else []
            case StrictChat():
                ids = [call["id"] for call in turn.get("tool_calls", ())]
                self.items += [{"role": "tool", "tool_call_id": call_id, "content": "x"} for call_id in ids]
            case StrictGemini():
                names = [part["functionCall"]["name"] for part in turn["parts"] if "functionCall" in part]
                results = [
                    {"functionResponse": {"name": name, "response": {"result": "x"}}} for name in names
                ]
                self.items += [{"role": "user", "parts": results}] if results else []
            case StrictResponses():
                ids = [item["call_id"] for item in turn if item["type"] == "function_call"]
                self.items += [
                    {"type": "function_call_output", "call_id": call_id, "output": "x"} for call_id in ids
                ]

    @property
    def body(self) -> bytes:
        name = {StrictGemini: "contents", StrictResponses: "input"}.get(type(self.model), "messages")
        thinking = {"type": "enabled", "budget_tokens": 1024}
        return written({"max_tokens": 100, "thinking": thinking, name: self.items}).encode()


def without_nulls(items: Any) -> Any:
    return [{name: value for name, value in item.items() if value is not None} for item in items]


def last_turn(model: StrictModel) -> Any:
    """The last turn as the service wants to see it."""
    turn = copy.deepcopy(model.last)
    return without_nulls(turn) if isinstance(model, StrictResponses) else turn


async def played(model: StrictModel, edit: Edit) -> list[int]:
    """The statuses of three requests, each with the turns before it as `edit` leaves them."""
    statuses = []
    history = History(model)
    history.ask()
    async with upstream(model) as server, httpx.AsyncClient() as client:
        for _ in range(3):
            answer = await client.post(server.url, content=history.body)
            statuses.append(answer.status_code)
            if answer.status_code != 200:
                break
            history.add_turn(edit(last_turn(model)))
    return statuses


MODELS: dict[str, Callable[[], StrictModel]] = {
    "anthropic": StrictAnthropic,
    "gemini": StrictGemini,
    "deepseek": StrictChat,
    "openrouter": lambda: StrictChat("openrouter"),
    "google": lambda: StrictChat("google"),
    "responses": StrictResponses,
}


@pytest.mark.parametrize("name", MODELS)
async def test_strict_model_accepts_its_own_turns(name: str) -> None:
    model = MODELS[name]()
    assert await played(model, lambda turn: turn) == [200, 200, 200]
    assert not model.refusals
    assert len(model.accepted) == 3


def without(*names: str) -> Edit:
    """Take fields away, at any depth."""

    def edit(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: edit(item) for key, item in value.items() if key not in names}
        return [edit(item) for item in value] if isinstance(value, list) else value

    return edit


def without_blocks(turn: Any) -> Any:
    return {**turn, "content": [block for block in turn["content"] if "thinking" not in block["type"]]}


def changed(old: str, new: str) -> Edit:
    """Change a text, at any depth."""
    return lambda turn: json.loads(written(turn).replace(old, new))


REFUSED: list[tuple[str, Edit, str]] = [
    ("anthropic", changed('"toolu_', '"other_'), "differs"),
    ("deepseek", changed('"call_', '"other_'), "not the calls"),
    ("openrouter", changed('"call_', '"other_'), "not the calls"),
    ("google", changed('"call_', '"other_'), "not the calls"),
    ("responses", changed('"call_id":"call_', '"call_id":"other_'), "not a call"),
    ("anthropic", without_blocks, "Expected `thinking`"),
    ("anthropic", without("signature"), "Invalid `signature`"),
    ("anthropic", changed("Ulm lies", "Ulm lay"), "cannot be modified"),
    ("anthropic", changed(": 1.0", ": 1"), "differs"),
    ("gemini", without("thoughtSignature"), "missing a thought_signature"),
    ("gemini", changed('"thoughtSignature":"', '"thoughtSignature":"A'), "not valid"),
    ("gemini", changed("12345678901234567890", "12345678901234567000"), "not valid"),
    ("deepseek", without("reasoning_content"), "must be passed back"),
    ("deepseek", changed("Ulm lies", "Ulm lay"), "must be passed back"),
    ("openrouter", without("reasoning_details"), "reasoning_details"),
    ("google", without("extra_content"), "thought_signature"),
    ("responses", without("encrypted_content"), "not found"),
    ("responses", changed('"encrypted_content":"', '"encrypted_content":"A'), "could not be verified"),
    (
        "responses",
        lambda turn: [item for item in turn if item["type"] != "reasoning"],
        "required 'reasoning'",
    ),
    ("responses", lambda turn: turn[:1], "required following item"),
    ("responses", lambda turn: [{**turn[0], "status": None}, *turn[1:]], "null"),
]


@pytest.mark.parametrize(("name", "edit", "words"), REFUSED)
async def test_strict_model_refuses_a_turn_without_a_part_of_it(name: str, edit: Edit, words: str) -> None:
    model = MODELS[name]()
    statuses = await played(model, edit)
    assert statuses[-1] in (400, 404)
    assert words in model.refusals[0]


async def test_groq_model_refuses_the_field_that_it_sends() -> None:
    model = StrictChat("groq")
    assert await played(model, lambda turn: {**turn, "reasoning": "x"}) == [200, 400]
    assert "unsupported" in model.refusals[0]
    assert await played(StrictChat("groq"), lambda turn: turn) == [200, 200, 200]
