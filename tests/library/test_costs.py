"""What one peer sends within all limits costs time in proportion to its bytes, and no memory that grows.

Every dialect that can be read is found by a loop, and so are its messages: those of its recorded streams. A
few of each are measured here; `make costs` measures many, up to the largest event that is allowed.
"""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Iterable, Sequence
from itertools import cycle, repeat
from typing import Any

import pytest

from hostile_streams import Blown, cases_of, distinct, mixed, row, sample, shapes_of
from streamweir import Translator
from streamweir.codec.registry import process_dialects

pytestmark = [pytest.mark.long, pytest.mark.timeout(1200)]

DIALECTS = process_dialects().readable
WRITTEN = process_dialects().writable
SMALL, LARGE = 4 << 10, 32 << 10
PROPORTION = 3
"""So many times more than in proportion is nobody's noise; what is quadratic takes eight times more."""
STANDSTILL = 2.0
"""Seconds that one event of the largest size may take."""
LARGEST = 8 << 20
EVENT = 32 << 10
"""The largest event where memory is measured: four times as much may be kept."""
TABLES = 64 << 10
"""What a stream holds whatever its limits are: forms, tables, the beginnings of texts."""
MESSAGES = 800
ROUNDS = (1, 2, 4, 8)
"""How often something is measured before it is too dear: a neighbour may disturb one round, and not all."""
NOTICEABLE = 0.002
"""Seconds; less is not compared."""


def translator(speaks: str, **options: Any) -> Translator:
    fixed = {"request_id": "req_1", "session_id": "s", "clock": lambda: 1}
    return Translator(speaks=speaks, **{**fixed, **options})


def stream(speaks: str, pieces: Iterable[bytes], answers: str = "standard") -> None:
    engine = translator(speaks, answers=answers)
    for piece in pieces:
        engine.feed(piece)
    engine.close()


@pytest.fixture(autouse=True)
def _own_heap() -> None:
    """What other tests have left is not looked through by the collector at the cost of what is measured."""
    gc.collect()
    gc.freeze()


def seconds_for(speaks: str, pieces: Iterable[bytes], rounds: int = 1) -> float:
    """The processor time of the fastest round."""
    times = []
    for _ in range(rounds):
        start = time.thread_time()
        stream(speaks, pieces)
        times.append(time.thread_time() - start)
    return min(times)


def is_out_of_proportion(speaks: str, short: Sequence[bytes], long: Sequence[bytes]) -> bool:
    """Does `long` take more time than its bytes are more?"""
    allowed = PROPORTION * sum(map(len, long)) / sum(map(len, short))
    for rounds in ROUNDS:
        whole = seconds_for(speaks, long)
        if whole < NOTICEABLE or whole < allowed * seconds_for(speaks, short, rounds):
            return False
    return True


def is_longer_than(allowed: float, speaks: str, pieces: Sequence[bytes]) -> bool:
    return all(seconds_for(speaks, pieces, rounds) > allowed for rounds in ROUNDS)


def test_cost_out_of_proportion_is_recognized(monkeypatch: pytest.MonkeyPatch) -> None:
    def quadratic(engine: Translator, data: bytes) -> bytes:
        deadline = time.thread_time() + (len(data) / LARGE) ** 2 / 20
        while time.thread_time() < deadline:
            pass
        return b""

    monkeypatch.setattr(Translator, "feed", quadratic)
    assert is_out_of_proportion("legacy", [b"a" * SMALL], [b"a" * LARGE])


@pytest.mark.parametrize("speaks", DIALECTS)
def test_event_takes_time_in_proportion_to_its_bytes(speaks: str, hostile: int) -> None:
    cases = sample(cases_of(speaks), hostile)
    assert cases
    dear = [
        str(case)
        for case in cases
        if is_out_of_proportion(speaks, [case.of_size(SMALL)], [case.of_size(LARGE)])
    ]
    assert not dear


@pytest.mark.parametrize("speaks", DIALECTS)
def test_hostile_event_does_not_stop_a_worker(speaks: str, hostile: int, event_bytes: int) -> None:
    def cost(case: Blown) -> float:
        frame = case.of_size(LARGE)
        return seconds_for(speaks, [frame]) / len(frame)

    dearest = sorted(sample(cases_of(speaks), hostile), key=cost)[-max(2, hostile // 10) :]
    frames = [(case, case.of_size(event_bytes * 9 // 10)) for case in dearest]
    allowed = STANDSTILL * event_bytes / LARGEST
    assert not [str(case) for case, frame in frames if is_longer_than(allowed, speaks, [frame])]


@pytest.mark.parametrize("speaks", DIALECTS)
def test_long_row_of_messages_takes_time_in_proportion_to_their_number(speaks: str, hostile: int) -> None:
    rows = [mixed(lasting(speaks), MESSAGES)]
    for shape in sample(shapes_of(speaks), max(1, hostile // 20)):
        rows += row(shape, MESSAGES), row(shape, MESSAGES, alike=True)
    assert not [
        messages[0] for messages in rows if is_out_of_proportion(speaks, messages[: MESSAGES // 8], messages)
    ]


def lasting(speaks: str) -> list[Any]:
    """The messages after which a stream goes on."""

    def ends(frame: bytes) -> bool:
        engine = translator(speaks)
        engine.feed(frame)
        return engine.ended

    return [shape for shape in shapes_of(speaks) if not ends(shape.frame(shape.value))]


class Kept:
    """How much memory a stream keeps between two reads, beside what every stream does."""

    def __init__(self, speaks: str, **options: Any) -> None:
        self.engine = translator(speaks, **options)
        self.out = b""
        self._before = tracemalloc.get_traced_memory()[0]

    def after(self, frame: bytes) -> int:
        """Feed `frame`; return how many bytes are kept, unless the stream has ended."""
        out = self.engine.feed(frame)
        if self.engine.ended:
            self.out = out
            return 0
        del out
        return tracemalloc.get_traced_memory()[0] - self._before


@pytest.mark.parametrize("speaks", DIALECTS)
def test_memory_of_a_stream_does_not_grow_with_it(speaks: str, hostile: int) -> None:
    shapes = lasting(speaks)
    rows = [mixed(shapes, MESSAGES), *(row(shape, MESSAGES) for shape in sample(shapes, hostile // 20 or 1))]
    warm_up(speaks)
    stream(speaks, rows[0])  # the tables of patterns and names are filled once for all streams
    gc.collect()
    tracemalloc.start()
    try:
        for messages in rows:
            kept = Kept(speaks, limits={"event_bytes": EVENT})
            most = max(map(kept.after, messages))
            assert most <= 4 * EVENT, messages[0]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("speaks", DIALECTS)
def test_content_of_a_large_event_is_not_kept(speaks: str, hostile: int) -> None:
    cases = [(case, case.of_size(EVENT * 9 // 10)) for case in sample(cases_of(speaks), hostile)]
    warm_up(speaks)
    too_much = {}
    tracemalloc.start()
    try:
        for case, frame in cases:
            kept = Kept(speaks, limits={"event_bytes": EVENT})
            if (most := kept.after(frame)) > 4 * EVENT:
                too_much[str(case)] = most / EVENT
    finally:
        tracemalloc.stop()
    assert not too_much


@pytest.mark.parametrize("speaks", DIALECTS)
def test_content_of_several_large_events_is_not_kept(speaks: str, hostile: int) -> None:
    cases = sample(cases_of(speaks), max(1, hostile // 4))
    rows = [(case, [case.of_size(EVENT * 9 // 10, mark) for mark in range(6)]) for case in cases]
    warm_up(speaks)
    too_much = {}
    tracemalloc.start()
    try:
        for case, frames in rows:
            kept = Kept(speaks, limits={"event_bytes": EVENT})
            if (most := max(map(kept.after, frames))) > 4 * EVENT:
                too_much[str(case)] = most / EVENT
    finally:
        tracemalloc.stop()
    assert not too_much


@pytest.mark.parametrize("answers", WRITTEN)
def test_memory_of_written_events_does_not_grow(answers: str, hostile: int) -> None:
    """Events of every type, each with one part blown up, in rows; the upstream speaks the standard."""
    cases = sample(lasting_cases("standard"), 2 * hostile)
    rows = [[case.of_size(EVENT * 9 // 10, mark) for mark in range(6)] for case in cases]
    rows += [mixed(lasting("standard"), MESSAGES)]
    warm_up("standard", answers)
    too_much = {}
    tracemalloc.start()
    try:
        for place, messages in enumerate(rows):
            kept = Kept("standard", answers=answers, limits={"event_bytes": EVENT})
            if (most := max(map(kept.after, messages))) > 4 * EVENT:
                too_much[str(cases[place]) if place < len(cases) else "all"] = most / EVENT
    finally:
        tracemalloc.stop()
    assert not too_much


@pytest.mark.parametrize("answers", [name for name in WRITTEN if name in DIALECTS])
def test_memory_of_copied_frames_does_not_grow(answers: str, hostile: int) -> None:
    cases = sample(lasting_cases(answers), hostile)
    rows = [[case.of_size(EVENT * 9 // 10, mark) for mark in range(6)] for case in cases]
    warm_up(answers, answers)
    too_much = {}
    tracemalloc.start()
    try:
        for is_copied in (True, False):
            for case, messages in zip(cases, rows, strict=True):
                limits = {"event_bytes": EVENT}
                kept = Kept(answers, answers=answers, verbatim=is_copied, limits=limits)
                if (most := max(map(kept.after, messages))) > 4 * EVENT + TABLES:
                    too_much[f"{is_copied} {case}"] = most / EVENT
    finally:
        tracemalloc.stop()
    assert not too_much


def lasting_cases(speaks: str) -> list[Blown]:
    shapes = {*map(str, lasting(speaks))}
    return [case for case in cases_of(speaks) if str(case.shape) in shapes]


def warm_up(speaks: str, answers: str = "standard") -> None:
    """Let all be loaded that is loaded once for all streams; the parsers remember a few hundred keys."""
    stream(speaks, [cases_of(speaks)[0].of_size(EVENT)], answers)
    for shape in shapes_of(speaks):
        stream(speaks, [shape.frame(shape.value)], answers)
    gc.collect()


@pytest.mark.parametrize("speaks", DIALECTS)
def test_folded_answer_with_any_events_is_bounded(speaks: str, hostile: int) -> None:
    limit = 4 * EVENT
    limits = {"event_bytes": EVENT, "stream_bytes": 4 * limit}
    frames = cycle([case.of_size(EVENT // 2) for case in sample(cases_of(speaks), hostile)])
    warm_up(speaks)
    tracemalloc.start()
    try:
        for _ in range(2):
            kept = Kept(speaks, framing="json", limits=limits)
            while not kept.engine.ended:
                assert kept.after(next(frames)) <= 2 * (limit + EVENT) + 4 * EVENT
            assert len(kept.out) <= limit + EVENT
    finally:
        tracemalloc.stop()


def test_ended_stream_leaves_no_memory_behind(hostile: int) -> None:
    planted = f"planted-{time.monotonic_ns()}"
    for speaks in DIALECTS:
        for shape in sample(shapes_of(speaks), hostile):
            again = [shape.frame(distinct(shape.value, planted))] * 4  # of which the form is learned
            stream(speaks, again)
    del again
    gc.collect()
    owners = []
    for owner in gc.get_objects():  # no comprehension: its cell would hold the text
        if any(map(holds, gc.get_referents(owner), repeat(planted))):
            owners += [type(owner)]
    assert not owners


def holds(item: object, planted: str) -> bool:
    if isinstance(item, str):
        return planted in item
    return isinstance(item, bytes | bytearray) and planted.encode() in item
