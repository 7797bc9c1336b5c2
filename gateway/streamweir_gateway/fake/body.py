"""Makes the steps of a body: the events of a run, with faults between and in the events."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from itertools import chain, repeat
from typing import Final, TypeAlias

from streamweir_gateway.fake.corruption import DAMAGES, badjson, can_be_damaged, halved, wrong_types
from streamweir_gateway.fake.faults import CUT_CODINGS, END, Fault, faults_named
from streamweir_gateway.fake.run import Framing, Run, WireEvent
from streamweir_gateway.fake.secrets import TEXT
from streamweir_gateway.fake.steps import FOR_EVER, Break, Pause, Raw, Send, Steps

__all__ = ["body_steps"]

_BLOCK: Final = 64 << 10
_BOMB_LINES: Final = 64
"""The number of blocks that are coded at once. A few kilobytes on the wire unpack to megabytes."""

_COMMENT_PAUSE: Final = 0.1
_DELIVERY: Final = 0.02
"""The seconds before a reset. A reset overtakes the bytes before it, so they get time to arrive."""


class _Place:
    """The place of a fault: the run, and the next event of the run."""

    def __init__(self, run: Run, event: WireEvent, seed: int) -> None:
        self.run = run
        self.event = event.data
        self.framing: Framing = run.framing
        self.seed = seed


_Before: TypeAlias = Callable[[_Place, Fault], Steps]


def body_steps(run: Run, faults: tuple[Fault, ...], *, pace: float, seed: int) -> Steps:
    """Yield the body of `run` with `faults` in it.

    Args:
        run: a new run.
        faults: all faults; faults that do not concern the body are ignored.
        pace: the seconds before each event.
        seed: the seed of random choices.
    """
    steps = _with_faults(run, faults, pace=pace, seed=seed)
    cuts = faults_named(faults, "cut-byte")
    return _cut_behind(steps, cuts[0].position or 0) if cuts else steps


def _with_faults(run: Run, faults: tuple[Fault, ...], *, pace: float, seed: int) -> Steps:
    waiting = sorted(
        (fault for fault in faults if fault.kind.has_position and fault.kind.counts == "events"),
        key=lambda fault: float("inf") if fault.position == END else fault.position or 0,
    )
    drip: float | None = None
    last = WireEvent(b"")
    for number, event in enumerate(_ended(run, faults)):
        last = event
        for fault in _due(waiting, number, event):
            yield from _before(_Place(run, event, seed), fault)
            if _ends(fault):
                return
            drip = fault.argument if fault.name == "drip" else drip
            event = event._replace(data=_damaged(event.data, fault))  # noqa: PLW2901 (one fault on the other)
        if pace:
            yield Pause(pace)
        yield from _dripping(event.data, drip) if drip is not None else (Send(event.data),)
    for fault in waiting:
        yield from _before(_Place(run, last, seed), fault)
        if _ends(fault):
            return
    if faults_named(faults, "silence-after-end"):
        yield Pause(FOR_EVER)


def _due(waiting: list[Fault], number: int, event: WireEvent) -> Iterator[Fault]:
    """Remove and return the faults that are due. Those that damage an event wait for a suitable one."""
    for fault in tuple(waiting):
        is_due = fault.position != END and (fault.position or 0) <= number
        needs_event = fault.name in DAMAGES or fault.name in ("wrong-types", "badjson")
        if is_due and (not needs_event or can_be_damaged(event.data)):
            waiting.remove(fault)
            yield fault


def _ended(run: Run, faults: tuple[Fault, ...]) -> Iterator[WireEvent]:
    """Yield the events of the run, with the end that the faults require."""
    names = {fault.name for fault in faults}
    end: list[WireEvent] = []
    for event in run.events():
        if event.is_end:
            end.append(event)
        if not (event.is_end and "no-end" in names):
            yield event
    if "second-end" in names:
        yield from end
    for fault in faults_named(faults, "after-end"):
        yield from chain.from_iterable(run.text() for _ in range(fault.amount))


def _before(place: _Place, fault: Fault) -> Steps:
    happens = _BEFORE.get(fault.name)
    return happens(place, fault) if happens else iter(())


def _ends(fault: Fault) -> bool:
    return fault.kind.place == "ending" or fault.name in (*CUT_CODINGS, "error")


def _damaged(event: bytes, fault: Fault) -> bytes:
    damage = DAMAGES.get(fault.name)
    return damage(event, fault.amount) if damage else event


def _dripping(data: bytes, seconds: float) -> Steps:
    for index in range(len(data)):
        yield Pause(seconds)
        yield Send(data[index : index + 1])


def _cut_behind(steps: Steps, size: int) -> Steps:
    """Cut the body after `size` bytes."""
    for step in steps:
        if isinstance(step, Send):
            if len(step.data) >= size:
                yield Send(step.data[:size])
                yield Break("cut")
                return
            size -= len(step.data)
        yield step
    yield Break("cut")


def _sent(events: Iterator[WireEvent]) -> Steps:
    return (Send(event.data) for event in events)


def _breaking(how: Break, *, within: bool = False) -> _Before:
    def steps(place: _Place, _: Fault) -> Steps:
        if within:
            yield Send(halved(place.event))
        yield how

    return steps


def _reset(_: _Place, __: Fault) -> Steps:
    yield Pause(_DELIVERY)
    yield Break("reset")


def _bad_chunk(_: _Place, __: Fault) -> Steps:
    yield Raw(b"zz no size\r\n")
    yield Break("close")


def _endless_line(place: _Place, _: Fault) -> Steps:
    yield Send(halved(place.event))
    yield from repeat(Send(b"x" * _BLOCK))


def _stall(_: _Place, fault: Fault) -> Steps:
    yield Pause(FOR_EVER if fault.argument is None else fault.argument)


def _comments(place: _Place, fault: Fault) -> Steps:
    comment = b": still here\n\n" if place.framing == "sse" else b"\n"
    for _ in range(fault.amount):
        yield Pause(_COMMENT_PAUSE)
        yield Send(comment)


def _burst(place: _Place, fault: Fault) -> Steps:
    return _in_blocks(event for _ in range(fault.amount) for event in place.run.text())


def _open_tools(place: _Place, fault: Fault) -> Steps:
    return _in_blocks(event for number in range(fault.amount) for event in place.run.open_tool(number))


def _in_blocks(events: Iterator[WireEvent]) -> Steps:
    """Send `events` in large blocks; the size of a block bounds the memory."""
    block, size = [], 0
    for event in events:
        block.append(event.data)
        size += len(event.data)
        if size >= _BLOCK:
            yield Send(b"".join(block))
            block, size = [], 0
    yield Send(b"".join(block))


def _bomb(place: _Place, fault: Fault) -> Steps:
    line = b": " + b" " * (_BLOCK - 4) if place.framing == "sse" else b" " * (_BLOCK - 2)
    lines, rest = divmod(fault.amount, _BLOCK)
    for start in range(0, lines, _BOMB_LINES):
        yield Send((line + b"\n\n") * min(_BOMB_LINES, lines - start))
    yield Send(b"\n" * rest)


def _error(place: _Place, fault: Fault) -> Steps:
    return _sent(place.run.error(ends=fault.name == "error"))


def _failures(place: _Place, _: Fault) -> Steps:
    return _sent(place.run.failures())


def _badjson(place: _Place, _: Fault) -> Steps:
    yield Send(badjson(place.event))
    broken = f'{{"error": {TEXT!r}, "and no end'.encode()
    yield Send(b"data: " + broken + b"\n\n" if place.framing == "sse" else broken + b"\n")


def _garbage(place: _Place, fault: Fault) -> Steps:
    noise = random.Random(place.seed).randbytes(fault.amount)
    yield Send(b"data: " + noise + b"\n\n" if place.framing == "sse" else noise + b"\n")


def _wrong_types(place: _Place, _: Fault) -> Steps:
    return map(Send, wrong_types(place.event))


_BEFORE: Final[Mapping[str, _Before]] = {
    "cut": _breaking(Break("cut")),
    "cut-within": _breaking(Break("cut"), within=True),
    "stop": _breaking(Break("stop")),
    "stop-within": _breaking(Break("stop"), within=True),
    "reset": _reset,
    **dict.fromkeys(CUT_CODINGS, _breaking(Break("stop"), within=True)),
    "bad-chunk": _bad_chunk,
    "endless-line": _endless_line,
    "stall": _stall,
    "comments": _comments,
    "burst": _burst,
    "open-tools": _open_tools,
    **dict.fromkeys(("gzip-bomb", "deflate-bomb", "br-bomb"), _bomb),
    "error": _error,
    "error-then-more": _error,
    "failures": _failures,
    "badjson": _badjson,
    "garbage": _garbage,
    "wrong-types": _wrong_types,
}
"""For each fault, by name: the steps before the event."""
