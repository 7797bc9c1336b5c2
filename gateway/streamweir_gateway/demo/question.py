"""The run of a demo backend that asks a person for something, and the run that follows the answer."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any, Final

from streamweir.events import Content, Interaction, SessionEnd, SessionStart, Thinking
from streamweir.jsontext import write_json_text
from streamweir_gateway.demo.given_answer import GivenAnswer
from streamweir_gateway.fake.script import RUN, TOKEN, Beat, pieces_of, run_until_the_middle, the_rest

__all__ = ["ask", "cannot_ask", "continue_with"]

_ID: Final = "demo-form-1"
_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "title": "City", "description": "Where the orders came from"},
        "days": {"type": "integer", "title": "Days", "minimum": 1, "maximum": 31, "default": 7},
        "currency": {"type": "string", "title": "Currency", "enum": ["EUR", "USD", "CNY"], "default": "EUR"},
        "refunds": {"type": "boolean", "title": "Count refunds", "default": False},
    },
    "required": ["city"],
}


def ask() -> Iterator[Beat]:
    """Yield a run that asks for a form to be filled in, and that ends suspended."""
    yield Beat(0.3, SessionStart(session_id="demo-session", request_id="demo-request", meta=RUN))
    for piece in pieces_of("The user asks about orders, and does not say which. 先问清楚 🤔"):
        yield Beat(TOKEN, Thinking(piece, "reasoning", meta=RUN))
    yield from _text("I can count the orders. I need to know a little more.")
    form = Interaction(
        _ID,
        "form",
        title="Which orders?",
        description="The report counts the orders of one city.",
        schema=_SCHEMA,
        resume={"interaction_id": _ID, "run_id": "demo-run-1"},
        meta=RUN,
    )
    yield Beat(TOKEN, form)
    yield Beat(0, SessionEnd("suspended", "interaction", {}, meta=RUN))


def continue_with(answer: GivenAnswer) -> Iterator[Beat]:
    """Yield the run after an answer: its text repeats the answer as JSON, then comes the usual text."""
    if answer.declines:
        preface = "You did not answer, so these are the orders of Hangzhou."
    else:
        preface = f"You answered `{write_json_text(answer.value)}`."
    opening, *others = run_until_the_middle()
    resolved = Interaction(_ID, "form", "cancelled" if answer.declines else "resolved", meta=RUN)
    return chain([opening, Beat(0, resolved)], _pieces(f"{preface}\n\n"), others, the_rest())


def cannot_ask(dialect: str) -> Iterator[Beat]:
    """Yield a whole run whose text gives the reason why the demo does not ask."""
    preface = f"I cannot ask you here: `{dialect}` has no form for a question, so the run does not wait."
    opening, *others = run_until_the_middle()
    return chain([opening], _pieces(f"{preface}\n\n"), others, the_rest())


def _text(text: str) -> Iterator[Beat]:
    yield from _pieces(text)
    yield Beat(0, Content("", is_complete=True, meta=RUN))


def _pieces(text: str) -> Iterator[Beat]:
    return (Beat(TOKEN, Content(piece, meta=RUN)) for piece in pieces_of(text))
