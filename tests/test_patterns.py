"""No text makes a regular expression dear: the time of each grows with the length of the text alone.

Every compiled expression of both packages is found by a loop and run over repeated pieces of its own
literals, of its alphabet and of what it matches or almost matches.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

import pytest

from patterns import Expression, HostileText, builders_in, expressions_of, hostile_texts
from streamweir.codec.block_forms import BlockForms
from streamweir.codec.families.think_tags import TaggedText
from streamweir.codec.json_pattern import JsonPattern
from streamweir.codec.registry import process_dialects
from streamweir.codec.text_form import TextForm
from streamweir_gateway.observability.secrets import Secrets

LENGTHS = (16, 20, 24, 28, 32, 48, 64, 96, 128, 192, 256, 384, 512, 1024, 2048, 4096)
"""Small steps at first: what doubles with each character would not return from a large one."""
LONG = 256
"""What doubles with each character does not come so far; the rest grows with the third power at most."""
NOTICEABLE = 0.01
"""Seconds; at the longest text whatever is quadratic needs more."""
FOUR_TIMES_THE_TEXT = 9
"""So many times the time is more than in proportion, and less than what is quadratic takes."""

SECRETS = ["aaaaaaab", "ab-ab-ab", "a.b?c=d&e", "ab/ab/ab+"]


def forms_of_texts() -> Iterator[TextForm]:
    for name in process_dialects().readable:
        decoder = process_dialects().to_read(name).decoder
        if decoder and decoder.text_fields and decoder.text_fields.form:
            yield decoder.text_fields.form


def forms_of_blocks() -> Iterator[BlockForms]:
    for name in process_dialects().readable:
        decoder = process_dialects().to_read(name).decoder
        if decoder and decoder.block_forms:
            yield decoder.block_forms


def json_patterns() -> Iterator[JsonPattern]:
    for blocks in forms_of_blocks():
        yield blocks.pattern
    for texts in forms_of_texts():
        yield texts._pattern
        yield texts._block


BUILT: dict[str, Callable[[], Iterable[re.Pattern[Any] | None]]] = {
    "streamweir.codec.families.think_tags": lambda: [TaggedText("think", "thinking", "t")._pattern],
    "streamweir.codec.json_pattern": lambda: [
        spelled for pattern in json_patterns() for spelled in (pattern.dense, pattern.spaced)
    ],
    "streamweir_gateway.observability.secrets": lambda: [Secrets(["aaa", "a-a", "-a-"])._short],
}
"""What modules compile while they run."""
FOR_TABLES = {"streamweir.lazy_pattern"}
"""Modules that compile expressions which are found in the tables of other modules."""

PARTS = 8
"""So many tests measure the expressions: to find them takes a moment, which no collection of tests needs."""


@cache
def expressions() -> list[Expression]:
    return [
        *expressions_of("streamweir", "streamweir_gateway"),
        *(Expression(place, pattern) for place, built in BUILT.items() for pattern in built() if pattern),
    ]


def test_patterns_compiled_at_run_time_are_covered() -> None:
    assert builders_in("streamweir", "streamweir_gateway") == {*BUILT, *FOR_TABLES}
    assert {*BUILT} <= {expression.place for expression in expressions()}


def seconds(expression: Expression, text: Any, rounds: int = 1) -> float:
    times = []
    for _ in range(rounds):
        start = time.thread_time()
        for _ in expression.pattern.finditer(text) if expression.is_searched else ():
            pass
        expression.pattern.fullmatch(text)
        times.append(time.thread_time() - start)
    return min(times)


def is_dear(expression: Expression, hostile: HostileText) -> bool:
    """Is the time for this text out of proportion, whatever stands at its end?"""
    return any(_is_dear(expression, hostile, end) for end in ("", "\0"))


def _is_dear(expression: Expression, hostile: HostileText, end: str) -> bool:
    def text(length: int) -> Any:
        whole = hostile.of_length(length, end)
        return whole.encode("utf-8", "replace") if isinstance(expression.pattern.pattern, bytes) else whole

    for length in LENGTHS:
        took = seconds(expression, text(length))
        if length >= LONG and took * (LENGTHS[-1] / length) ** 3 < NOTICEABLE:
            return False
        if took > NOTICEABLE:
            return all(  # a neighbour on the machine may disturb one measurement, and not three
                seconds(expression, text(length))
                > FOUR_TIMES_THE_TEXT * seconds(expression, text(length // 4), 3)
                for _ in range(3)
            )
    return False


def test_regular_expressions_of_the_code_are_found() -> None:
    assert len(expressions()) > 120
    assert {"streamweir.redaction.secret_names.NAME", "streamweir_gateway.relay.proxy_way._TOKEN"} <= {
        expression.place for expression in expressions()
    }


@pytest.mark.parametrize(
    "pattern",
    ["(a|a)+b", r"(?:x+)+y", r"org-(?=[a-z_-]*\d)", r"\s+\Z", "(.*),(.*);", "x(a*)(a*)b"],
)
def test_expensive_expression_is_recognized(pattern: str) -> None:
    expression = Expression("", re.compile(pattern))
    assert any(is_dear(expression, text) for text in hostile_texts(expression.pattern))


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_expression_takes_time_in_proportion_to_the_text(part: int) -> None:
    dear = {
        f"{expression.place}: {expression.pattern.pattern!r}": text
        for expression in expressions()[part::PARTS]
        for text in hostile_texts(expression.pattern)
        if is_dear(expression, text)
    }
    assert not dear
