"""What one frame becomes is at most a small multiple of it, in memory and on the wire.

Dialects, their messages, functions of expressions and constructs of rules are found by loops.
"""

from __future__ import annotations

import gc
import json
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from hostile_streams import Crossed, cases_of, crossed, sample
from streamweir import Translator, load_dialect
from streamweir.codec.dialect import Dialect
from streamweir.codec.registry import process_dialects
from streamweir.errors import ConfigurationError
from streamweir.expressions.functions import FUNCTIONS

pytestmark = [pytest.mark.long, pytest.mark.timeout(1200)]

DIALECTS = process_dialects().readable
WRITTEN = process_dialects().writable
EVENT = 32 << 10
GROWTH = 4
AROUND = 16 << 10
"""Bytes that leave with the first frame and are none of it: the start of the stream, warnings."""
WRITTEN_GROWTH = 5 * GROWTH
"""A protocol may say the same in up to five frames (`openai-responses`: added, delta, done, part, item)."""


TAKEN = 128
"""An item of two bytes is an object of that many, read and written; copies would be thousands of times it."""


class Peak:
    bytes = 0


@contextmanager
def peak() -> Iterator[Peak]:
    """Measure the most memory that is taken within the block, beyond what was taken before it."""
    gc.collect()
    tracemalloc.start()
    found = Peak()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        yield found
        found.bytes = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def written(frame: bytes, speaks: str, answers: str = "standard", **options: Any) -> bytes:
    limits = {"event_bytes": EVENT}
    return Translator(speaks=speaks, answers=answers, request_id="req_1", limits=limits, **options).feed(
        frame
    )


def frame_of(case: Crossed) -> bytes:
    frame = case.of_size(EVENT * 8 // 10)
    return frame if len(frame) < EVENT else case.of_size(EVENT // 2)


@pytest.mark.parametrize("speaks", DIALECTS)
def test_decoder_given_many_items_beside_a_long_text_writes_a_small_multiple(
    speaks: str, hostile: int
) -> None:
    too_much = {}
    for case in sample(crossed(speaks), 20 * hostile):
        if (size := len(written(frame_of(case), speaks))) > GROWTH * EVENT + AROUND:
            too_much[str(case)] = size / EVENT
    assert not too_much


@pytest.mark.parametrize("speaks", DIALECTS)
def test_decoder_given_many_items_beside_a_long_text_takes_a_small_multiple_of_memory(
    speaks: str, hostile: int
) -> None:
    too_much = {}
    for case in sample(crossed(speaks), 4 * hostile):
        frame = frame_of(case)
        written(frame, speaks)
        with peak() as found:
            written(frame, speaks)
        if found.bytes > TAKEN * EVENT:
            too_much[str(case)] = found.bytes / EVENT
    assert not too_much


@pytest.mark.parametrize("speaks", DIALECTS)
def test_decoder_with_raw_output_shows_the_frame_a_bounded_number_of_times(speaks: str, hostile: int) -> None:
    too_much = {}
    for case in sample(cases_of(speaks), 4 * hostile):
        frame = case.of_size(EVENT // 2)
        if (size := len(written(frame, speaks, raw=True))) > 2 * GROWTH * EVENT + AROUND:
            too_much[str(case)] = size / EVENT
    assert not too_much


@pytest.mark.parametrize("answers", WRITTEN)
def test_encoder_given_many_items_beside_a_long_text_writes_a_small_multiple(
    answers: str, hostile: int
) -> None:
    too_much = {}
    for speaks in ("standard", answers if answers in DIALECTS else "standard"):
        for case in sample(crossed(speaks), 20 * hostile):
            out = written(frame_of(case), speaks, answers, verbatim=False)
            if len(out) > WRITTEN_GROWTH * EVENT + AROUND:
                too_much[str(case)] = len(out) / EVENT
    assert not too_much


# Expressions and rules

ITEMS = 1000
TEXT = "x" * (EVENT // 2)
MESSAGE = {
    "items": [{"n": n} for n in range(ITEMS)],
    "text": TEXT,
    "words": ["w"] * 100,
    "n": 7,
    "o": {"a": 1},
}
DOUBLED = " | ".join(["{a: @, b: @}"] * 12)
ARGUMENTS = {
    "string": ["_message.text", "'a'", "to_string(_message)", f"to_string(items | {DOUBLED})"],
    "array": ["_message.items", "_message.words", "map(&_message.text, _message.items)"],
    "object": ["_message", "o", f"@ | {DOUBLED}"],
    "number": ["n"],
    "expression": ["&_message.text", "&_message", "&to_string(_message)", "&_message.items"],
}


def calls() -> Iterator[str]:
    """Calls of every function, with arguments of each type that may be large."""
    for name, function in FUNCTIONS.items():
        kinds = [next(kind for kind in ARGUMENTS if kind in types) for types in function.types]
        for choice in range(max(len(ARGUMENTS[kind]) for kind in kinds)):
            given = [ARGUMENTS[kind][choice % len(ARGUMENTS[kind])] for kind in kinds]
            yield f"{name}({', '.join(given)})"


def expressions() -> Iterator[str]:
    """Expressions that repeat parts of the message: once, for each item, and doubled again and again."""
    yield from calls()
    for call in calls():
        yield f"map(&{call}, _message.items)"
        yield f"items[*].[to_string({call})]"
        yield f"items[?contains(to_string({call}), 'nothing')]"
    yield "items[*].{all: to_string(@), whole: _message}"
    yield f"@ | {DOUBLED}"
    yield f"length(to_string(@ | {DOUBLED}))"
    yield f"(@ | {DOUBLED}) == (@ | {DOUBLED})"
    yield "map(&_message.items, _message.items)[]"
    yield "map(&_message.items[1:], _message.items)"
    yield "sort(map(&_message.text, _message.items))"


FRAME = b"data: %b\n\n" % json.dumps(MESSAGE).encode()


def own(**keys: Any) -> Dialect:
    return Dialect.of_class("own", load_dialect({"framing": "sse", "terminal": ["[DONE]"], **keys}))


def unbounded(dialect: Dialect, frame: bytes = FRAME, *, answers: Dialect | str = "standard") -> str | None:
    """Read `frame`; return what there is too much of."""
    limits = {"event_bytes": EVENT}
    options: dict[str, Any] = {"speaks": dialect, "answers": answers, "request_id": "req_1", "limits": limits}
    with peak() as found:
        out = Translator(**options).feed(frame)
    if len(out) > WRITTEN_GROWTH * EVENT + AROUND:
        return f"{len(out) / EVENT:.0f} written"
    if found.bytes > TAKEN * EVENT:
        return f"{found.bytes / EVENT:.0f} taken"
    return None


EMISSIONS: dict[str, Any] = {
    "a text": lambda text: {"type": "content", "content": f"${{{{ {text} }}}}"},
    "a longer text": lambda text: {"type": "content", "content": f"a ${{{{ {text} }}}} b ${{{{ {text} }}}}"},
    "data": lambda text: {
        "type": "data",
        "data_type": "custom",
        "data": {"name": "x", "value": f"${{{{ {text} }}}}"},
    },
    "an id": lambda text: {"type": "content", "content": "x", "message_id": f"${{{{ to_string({text}) }}}}"},
}


@pytest.mark.parametrize("kind", EMISSIONS)
def test_rule_with_an_expression_that_repeats_the_message_makes_a_small_multiple(
    kind: str, hostile: int
) -> None:
    emission = EMISSIONS[kind]
    too_much, tried = {}, 0
    for text in sample([*expressions()], 20 * hostile):
        try:
            dialect = own(rules=[{"has": "items", "emit": emission(text)}])
        except ConfigurationError:  # it has more characters or parts than an expression may have
            continue
        tried += 1
        if problem := unbounded(dialect):
            too_much[text] = problem
    assert not too_much
    assert tried > 10 * hostile


LARGE = ["_message", "_message.text", "_message.items", "_text", "to_string(_message)"]


def rules() -> Iterator[tuple[str, dict[str, Any]]]:
    """Dialects each of whose constructs repeats a part of the message for each of its items."""
    for text in LARGE:
        for kind, emission in EMISSIONS.items():
            entry = emission(text)
            yield f"each, {kind} {text}", {"rules": [{"emit": {**entry, "each": "items"}}]}
            group = {"each": "words", "emit": [{"each": "_message.words", "emit": [entry, entry]}]}
            yield f"groups, {kind} {text}", {"rules": [{"emit": group}]}
            yield f"many, {kind} {text}", {"rules": [{"emit": [entry] * 200}]}
        source = f"${{{{ {text} }}}}"
        paused: dict[str, Any] = {
            "type": "interaction",
            "kind": "approval",
            "interaction_id": "${{ _index }}",
        }
        paused |= {"resume": {"id": source, "run_id": source, "all": source}, "each": "items"}
        yield f"resume {text}", {"rules": [{"emit": paused}]}
        state = {"type": "content", "content": "${{ _state.kept }}${{ _state.kept }}", "each": "items"}
        kept: dict[str, Any] = {"remember": {"kept": f"${{{{ to_string({text}) }}}}"}, "emit": state}
        yield f"remember {text}", {"rules": [kept]}
        token: dict[str, Any] = {"type": "token", "content": f"{source}{source}{source}"}
        yield f"as {text}", {"extends": "legacy", "rules": [{"has": "items", "as": token}]}
        message: dict[str, Any] = {"type": "tool_result", "results": source, "id": source, "tool": source}
        yield f"as an object {text}", {"extends": "legacy", "rules": [{"has": "items", "as": message}]}
    yield "unwrap", {"unwrap": f"@ | {DOUBLED}", "rules": [{"has": "nothing", "emit": []}]}
    yield "unwrap, extends", {"unwrap": f"@ | {DOUBLED}", "extends": "legacy"}
    yield "when", {"rules": [{"when": f"(@ | {DOUBLED}) == (@ | {DOUBLED})", "emit": []}]}


def test_rule_with_a_construct_that_repeats_the_message_makes_a_small_multiple() -> None:
    too_much = {}
    for about, keys in rules():
        if problem := unbounded(own(**keys)):
            too_much[about] = problem
    assert not too_much


def sent() -> Iterator[tuple[str, Any]]:
    """What a rule that writes may send, which repeats a part of the event for each of its items."""
    for text in ("_message", "data", "to_string(_message)", "_answer", f"@ | {DOUBLED}"):
        source = f"${{{{ {text} }}}}"
        yield f"data {text}", {"each": "data.value.items", "data": {"all": source}}
        yield f"text {text}", {"each": "data.value.items", "text": f"{source} {source}"}
        yield f"event {text}", {"each": "data.value.items", "event": source, "id": source}
        yield f"a frame {text}", {"data": [source] * 10}
        many: list[dict[str, Any]] = [{"data": source}] * 50
        yield f"many {text}", many


def test_rule_that_writes_the_event_for_each_of_its_items_makes_a_small_multiple() -> None:
    reads = own(
        rules=[{"has": "items", "emit": [
            {"type": "content", "content": "${{ text }}"},
            {"type": "data", "data_type": "custom", "data": {"name": "x", "value": "${{ @ }}"}},
        ]}]
    )  # fmt: skip
    too_much = {}
    for about, send in sent():
        frames: dict[str, Any] = {"rules": [{"on": "data", "send": send}, {"on": "*", "send": []}]}
        writes = own(rules=[{"emit": []}], write={"framing": "sse", **frames})
        if problem := unbounded(reads, answers=writes):
            too_much[about] = problem
    assert not too_much


def test_events_within_four_times_the_largest_event_all_leave() -> None:
    entry = {"type": "data", "data_type": "custom", "data": {"name": "x", "value": "${{ text }}"}}
    once = b"data: %b\n\n" % json.dumps({"text": "x" * (EVENT * 9 // 10), "three": [1, 2, 3]}).encode()
    many = b"data: %b\n\n" % json.dumps({"text": "x" * (EVENT * 9 // 10), "three": [*range(9)]}).encode()
    dialect = own(rules=[{"emit": {**entry, "each": "three"}}])
    limits = {"event_bytes": EVENT}
    out = Translator(speaks=dialect, answers="standard", request_id="req_1", limits=limits).feed(once)
    assert (out.count(b'"custom"'), b"UPSTREAM_MALFORMED_EVENT" in out) == (3, False)
    out = Translator(speaks=dialect, answers="standard", request_id="req_1", limits=limits).feed(many)
    assert (out.count(b'"custom"'), b"UPSTREAM_MALFORMED_EVENT" in out) == (4, True)
