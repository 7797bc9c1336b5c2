"""Any calls in any order give a valid stream."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from streamweir import EventValidationError, LifecycleError, StreamingEngine, convert
from streamweir.codec.registry import process_dialects
from streamweir.testing import check_stream

Call = Callable[[StreamingEngine], Coroutine[Any, Any, str]]

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
TOOL = st.sampled_from(["a", "b", "c", ""])
TEXT = st.text(st.characters(), max_size=6)
META = st.none() | st.fixed_dictionaries({}, optional={"message_id": st.sampled_from("mn"), "extra": JSON})


def call(name: str, *arguments: st.SearchStrategy[Any], **keywords: st.SearchStrategy[Any]) -> Any:
    return st.tuples(st.tuples(*arguments), st.fixed_dictionaries({}, optional=keywords)).map(
        lambda given: lambda engine: getattr(engine, name)(*given[0], **given[1])
    )


CALLS: st.SearchStrategy[Call] = st.one_of(
    call("emit_session_start", meta=META),
    call("emit_thinking", TEXT, meta=META),
    call("emit_tool_call_start", TOOL, st.sampled_from("xy"), arguments=JSON, meta=META),
    call("emit_tool_call_delta", TOOL, TEXT),
    call("emit_tool_call_progress", TOOL, st.none() | st.floats()),
    call("emit_tool_call_end", TOOL, st.sampled_from(["success", "failed"]), JSON, duration_ms=st.integers()),
    call(
        "emit_content",
        TEXT,
        is_complete=st.booleans(),
        op=st.sampled_from(["append", "replace", None]),
        channel=st.sampled_from(["report", None]),
        meta=META,
    ),
    call("emit_data", st.sampled_from(["custom", "chart", "state", "state_delta", "dataframe"]), JSON),
    call("emit_data", st.just("custom"), st.fixed_dictionaries({"name": TEXT, "value": JSON})),
    call("emit_reference", st.lists(st.dictionaries(st.sampled_from(["id", "url", "score"]), JSON))),
    call("emit_status", st.just("node"), st.sampled_from(["started", "failed", "suspended"]), detail=JSON),
    call("emit_warning", TEXT, message_code=st.sampled_from(["A_CODE", "a code", None]), detail=JSON),
    call("emit_interaction", TOOL, st.sampled_from(["tool", "approval", "form"])),
    call("emit_interaction", TOOL, st.just("tool"), st.sampled_from(["cancelled", "resolved"])),
    call("emit_error", st.sampled_from(["timeout", "system"]), TEXT, JSON, terminal=st.booleans()),
    call("emit_exception", st.sampled_from([ValueError("x"), TimeoutError(), OSError()])),
    call(
        "emit_session_end",
        st.sampled_from(["completed", "error", "cancelled", "suspended"]),
        reason=st.sampled_from(["done", "internal", "limit", "cancelled", "upstream_error", "malformed"]),
    ),
    call("close", st.sampled_from(["completed", "error", "cancelled", "suspended"])),
)


async def run(engine: StreamingEngine, calls: list[Call]) -> bytes:
    texts = []
    for make in calls:
        before = engine.sequence
        try:
            texts.append(await make(engine))
        except (EventValidationError, LifecycleError):
            assert engine.sequence == before
    texts.append(await engine.close())
    return "".join(texts).encode()


@settings(max_examples=300, deadline=None)
@given(st.lists(CALLS, max_size=12))
def test_any_sequence_of_calls_leaves_a_valid_stream(calls: list[Call]) -> None:
    body = asyncio.run(run(StreamingEngine(), calls))
    assert check_stream(body) == []


@settings(max_examples=100, deadline=None)
@given(st.lists(CALLS, max_size=10), st.sampled_from(process_dialects().writable))
def test_any_sequence_of_calls_is_a_valid_stream_in_any_protocol(calls: list[Call], protocol: str) -> None:
    body = asyncio.run(run(StreamingEngine(protocol=protocol), calls))
    assert check_stream(convert(body, speaks=protocol)) == []
