"""No text makes a regular expression dear: the time of each grows with the length of the text alone.

Every compiled expression of both packages is found by a loop and run over repeated pieces of its own
literals, of its alphabet and of what it matches or almost matches.
"""

from __future__ import annotations

import re
import time
from typing import Any

import pytest

from patterns import HostileText, compiled_patterns, hostile_texts, modules_of

LENGTHS = (16, 20, 24, 28, 32, 48, 64, 96, 128, 192, 256, 384, 512, 1024, 2048, 4096, 8192)
"""Small steps at first: what doubles with each character would not return from a large one."""
NOTICEABLE = 0.02
"""Seconds; at the longest text whatever is quadratic needs more."""
FOUR_TIMES_THE_TEXT = 9
"""So many times the time is more than in proportion, and less than what is quadratic takes."""

PATTERNS = {
    (pattern.pattern, pattern.flags): (name, pattern)
    for module in modules_of("streamweir", "streamweir_gateway")
    for name, pattern in compiled_patterns(module)
}


def seconds(pattern: re.Pattern[Any], text: Any, rounds: int = 1) -> float:
    times = []
    for _ in range(rounds):
        start = time.thread_time()
        for _ in pattern.finditer(text):
            pass
        pattern.fullmatch(text)
        times.append(time.thread_time() - start)
    return min(times)


def is_dear(pattern: re.Pattern[Any], hostile: HostileText) -> bool:
    """Is the time for this text out of proportion, whatever stands at its end?"""
    return any(_is_dear(pattern, hostile, end) for end in ("", "\0"))


def _is_dear(pattern: re.Pattern[Any], hostile: HostileText, end: str) -> bool:
    def text(length: int) -> Any:
        whole = hostile.of_length(length, end)
        return whole.encode("utf-8", "replace") if isinstance(pattern.pattern, bytes) else whole

    for length in LENGTHS:
        if seconds(pattern, text(length)) > NOTICEABLE:
            return all(  # a neighbour on the machine may disturb one measurement, and not three
                seconds(pattern, text(length)) > FOUR_TIMES_THE_TEXT * seconds(pattern, text(length // 4), 3)
                for _ in range(3)
            )
    return False


def test_the_expressions_are_found() -> None:
    assert len(PATTERNS) > 120
    assert {"streamweir.redaction.secret_names.NAME", "streamweir_gateway.access.cors._TOKEN"} <= {
        name for name, _ in PATTERNS.values()
    }


@pytest.mark.parametrize(
    "expression", ["(a|a)+b", r"(?:x+)+y", r"org-(?=[a-z_-]*\d)", r"\s+\Z", "(.*),(.*);", "x(a*)(a*)b"]
)
def test_a_dear_expression_is_recognised(expression: str) -> None:
    pattern = re.compile(expression)
    assert any(is_dear(pattern, text) for text in hostile_texts(pattern))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "pattern"), PATTERNS.values(), ids=[name for name, _ in PATTERNS.values()])
def test_an_expression_takes_time_in_proportion_to_the_text(name: str, pattern: re.Pattern[Any]) -> None:
    dear = next((text for text in hostile_texts(pattern) if is_dear(pattern, text)), None)
    assert dear is None, pattern.pattern
