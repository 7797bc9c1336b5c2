"""Learning takes time in proportion to a capture, whichever part of the capture is made longer.

Calls are counted in place of time, so that a busy machine makes no difference.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import FrameType
from typing import Any

import pytest

from streamweir.learning.learn import NothingLearned, learn

pytestmark = pytest.mark.long

FEW, MANY = 400, 1600
PROPORTION = 1.7
"""So many times more calls than in proportion is not linear; quadratic code makes four times more."""

Messages = Iterator[tuple[str | None, Any]]


def sse(messages: Messages) -> bytes:
    blocks = []
    for event, value in messages:
        name = f"event: {event}\n" if event else ""
        blocks.append(f"{name}data: {json.dumps(value)}\n\n")
    return "".join(blocks).encode()


def spoken(number: int, **fields: Any) -> tuple[None, dict[str, Any]]:
    return None, {"type": "tok", "txt": f"word {number} ", **fields}


def answer() -> Messages:
    for number in range(20):
        yield spoken(number)


END = (None, {"type": "fin"})


def names_of_events(count: int) -> Messages:
    for number in range(count):
        yield f"kind{number}", {"text": f"hello {number} world"}
    yield "fin", {"ok": True}


def types(count: int) -> Messages:
    yield from answer()
    for number in range(count):
        yield None, {"type": f"kind{number}", "v": number}
    yield END


def pairs_of_names(count: int) -> Messages:
    yield from answer()
    for number in range(count):
        yield None, {"type": f"k{number % 40}", "status": f"s{number // 40}", "v": number}
    yield END


def fields_of_one_message(count: int) -> Messages:
    yield from answer()
    yield spoken(0, **{f"field{number}": {"type": number} for number in range(count)})
    yield END


def fields_of_their_own(count: int) -> Messages:
    for number in range(count):
        yield spoken(number, **{f"field{number}": {"type": str(number)}})
    yield END


def lists_of_their_own(count: int) -> Messages:
    for number in range(count):
        yield spoken(number, **{f"list{number}": [{"type": "part", "text": "x"}, {"type": "end"}]})
    yield END


def texts(count: int) -> Messages:
    for number in range(count):
        yield spoken(number, id=f"m{number}")
    yield END


def tools(count: int) -> Messages:
    yield from answer()
    for number in range(count // 2):
        yield None, {"type": "tool_start", "id": f"c{number}", "name": f"get{number}", "args": {"a": number}}
        yield None, {"type": "tool_end", "id": f"c{number}", "name": f"get{number}", "result": "r"}
    yield END


def tools_without_ids(count: int) -> Messages:
    yield from answer()
    for number in range(count // 2):
        yield None, {"type": "tool_start", "name": f"get{number}", "args": {"a": number}}
        yield None, {"type": "tool_end", "name": f"get{number}", "result": "r"}
    yield END


def pieces_of_arguments(count: int) -> Messages:
    yield from answer()
    yield None, {"type": "tool_call", "id": "c1", "name": "get", "args": '{"a": "'}
    for _ in range(count):
        yield None, {"type": "tool_args", "id": "c1", "args": "xy"}
    yield None, {"type": "tool_args", "id": "c1", "args": '"}'}
    yield END


def signs_of_life(count: int) -> Messages:
    yield from answer()
    for number in range(count):
        yield f"ping-{number}", {"type": f"ping-{number}"}
    yield END


def nested_items(count: int) -> Messages:
    yield from answer()
    yield None, {"type": "tree", "v": {"list": [{"a": number} for number in range(count)]}}
    yield END


SHAPES: list[Callable[[int], Messages]] = [
    *(names_of_events, types, pairs_of_names, fields_of_one_message, fields_of_their_own, lists_of_their_own),
    *(texts, tools, tools_without_ids, pieces_of_arguments, signs_of_life, nested_items),
]


def calls_for(bodies: list[bytes]) -> int:
    """Return how many calls of Python and C it takes to learn from `bodies`."""
    count = 0

    def note(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        with suppress(NothingLearned):
            learn(bodies)
    finally:
        sys.setprofile(before)
    return count


def assert_linear(few: list[bytes], many: list[bytes]) -> None:
    sizes = sum(map(len, many)) / sum(map(len, few))
    calls_for(few)  # loads what is loaded once
    assert calls_for(many) <= PROPORTION * sizes * calls_for(few)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_learn_from_a_longer_capture_takes_calls_in_proportion(shape: Callable[[int], Messages]) -> None:
    assert_linear([sse(shape(FEW))], [sse(shape(MANY))])


def test_learn_from_more_lines_of_different_kinds_takes_calls_in_proportion() -> None:
    few, many = ("".join(f'K{n}: {{"a": {n}}}\n' for n in range(count)).encode() for count in (FEW, MANY))
    assert_linear([few], [many])


def test_learn_from_more_captures_takes_calls_in_proportion() -> None:
    body = sse(texts(2))
    assert_linear([body] * FEW, [body] * MANY)


def test_learn_from_more_kinds_of_frames_than_a_dialect_may_have_rules_leaves_the_rarest_out() -> None:
    words = (spoken(number) for number in range(2000))
    learned = learn([sse(iter([*words, *names_of_events(900)]))])
    assert len(learned.dialect["rules"]) <= 100
    assert any("more kinds of frames" in one.question for one in learned.report.unsure)
