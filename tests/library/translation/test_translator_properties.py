"""Any bytes, in any dialect and cut anywhere: no exception is raised, and the output is a valid stream."""

import json
import os
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cases import case
from streams import recorded_streams
from streamweir import Translator
from streamweir.codec.registry import process_dialects
from streamweir.errors import CODES
from streamweir.events import EVENT_TYPES
from streamweir.testing import check_stream, cuts

DIALECTS = ["auto", *process_dialects().readable]
HALF_OF_THEM = st.sampled_from([DIALECTS[::2], DIALECTS[1::2]])
FRAMINGS = ["sse", "ndjson", "json"]
THOROUGH = int(os.environ.get("STREAMWEIR_THOROUGH", "1"))
"""How many times more examples than in the normal run."""
EXAMPLES = settings().max_examples * THOROUGH

QUICK = settings(deadline=None, suppress_health_check=list(HealthCheck))

# fmt: off
WORDS = [
    *EVENT_TYPES,
    "token", "final_answer", "tool_call", "tool_result", "dataframe_data", "done", "message", "message_end",
    "workflow_started", "workflow_finished", "node_finished", "user_inputs", "form_request", "completion",
    "text_delta", "clarify", "interact", "result", "status", "interrupt", "error", "failed", "success",
    "completed", "suspended", "cancelled", "started", "length", "content_filter", "m1", "t1", "search", "",
    "[DONE]", "dataframe", "image", "state_delta", "custom", "llm", "system",
]
KEYS = [
    "type", "event", "data", "metadata", "content", "delta", "answer", "choices", "code", "message", "error",
    "tool_id", "tool_name", "tool_args", "arguments", "arguments_delta", "result", "output", "status", "id",
    "name", "rows", "columns", "message_id", "session_id", "run_id", "thread_id", "duration_ms", "extra",
    "data_type", "citations", "scope", "state", "kind", "reason", "interaction_id", "terminal", "recoverable",
    "summary", "finish_reason", "payload", "domain", "protocol", "final", "start_to_think", "reference",
    "text", "op", "is_complete", "channel", "progress", "questions", "options", "schema", "inputs", "outputs",
    "action", "node_id", "component_id", "stopped", "done", "retry_after_ms", "error_type",
]
# fmt: on

LEAVES = (
    st.sampled_from(WORDS)
    | st.none()
    | st.booleans()
    | st.integers(-2, 101)
    | st.sampled_from(
        [2**64, -(2**70), 1e308, float("nan"), float("-inf"), 0.5, "\ud800", "哈", "哈哈", "x" * 50]
    )
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=8,
)


def typed(words: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Return objects with a known type and arbitrary fields."""
    return st.builds(
        lambda kind, rest, at: {**rest, at: kind},
        words,
        st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=6),
        st.sampled_from(["type", "event"]),
    )


STANDARD = st.builds(
    lambda kind, data, metadata: {"type": kind, "data": data, "metadata": metadata},
    st.sampled_from(sorted(EVENT_TYPES)),
    st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=7),
    st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4),
)
MESSAGES = st.lists(STANDARD | typed(st.sampled_from(WORDS)) | VALUES, max_size=8)


def sse(messages: list[Any], names: bool) -> bytes:
    blocks = []
    for message in messages:
        name = message.get("type") if names and isinstance(message, dict) else None
        head = f"event: {name}\n" if isinstance(name, str) and name.isascii() else ""
        blocks.append(f"{head}data: {json.dumps(message)}\n\n")
    return "".join(blocks).encode()


def ndjson(messages: list[Any]) -> bytes:
    return "".join(f"{json.dumps(message)}\n" for message in messages).encode()


BODIES = (
    st.binary(max_size=120)
    | st.builds(sse, MESSAGES, st.booleans())
    | st.builds(ndjson, MESSAGES)
    | st.builds(
        lambda messages: json.dumps(messages[:1][0] if messages else None, indent=1).encode(), MESSAGES
    )
)
SAMPLES = [stream.body for stream in recorded_streams()]


@st.composite
def damaged_samples(draw: st.DrawFn, longest: int = 4000) -> bytes:
    """Return recorded streams with a part of another one inserted, or with bytes removed or changed."""
    body = draw(st.sampled_from(SAMPLES))[:longest]
    start = draw(st.integers(0, len(body)))
    end = draw(st.integers(start, min(len(body), start + 200)))
    other = draw(st.sampled_from(SAMPLES))
    place = draw(st.integers(0, len(other)))
    middle = draw(st.sampled_from([b"", b"\xff", b"\n", b"\r\n\r\n", b"null", other[place : place + 300]]))
    return body[:start] + middle + body[end:]


def translator(**options: Any) -> Translator:
    return Translator(
        **{"request_id": "req_1", "session_id": "s", "clock": lambda: 1_790_000_000_000, **options}
    )


def checked(output: bytes, engine: Translator) -> bytes:
    """Return `output`; check that it is a valid stream that did not end with an internal error."""
    assert check_stream(output, framing=engine.framing) == []
    assert engine.ended
    assert engine.reason != "internal"
    assert engine.feed(b"data: 1\n\n") == engine.close() == engine.fail("INTERNAL") == engine.cancel() == b""
    assert engine.heartbeat() == b""
    return output


@pytest.mark.slow
@settings(parent=QUICK, max_examples=EXAMPLES)
@given(
    body=BODIES | damaged_samples(),
    seed=st.integers(0, 9),
    framing=st.sampled_from(FRAMINGS),
    flags=st.integers(0, 15),
    dialects=HALF_OF_THEM,
)
def test_any_bytes_give_a_valid_stream(
    body: bytes, seed: int, framing: str, flags: int, dialects: list[str]
) -> None:
    for dialect in dialects:
        with case(dialect):
            check_any_bytes(dialect, body, seed, framing, flags)


def check_any_bytes(dialect: str, body: bytes, seed: int, framing: str, flags: int) -> None:
    options = {
        "speaks": dialect,
        "framing": framing,
        "raw": bool(flags & 1),
        "debug": bool(flags & 2),
        "stream_tool_arguments": bool(flags & 4),
        "full_text": ("dedupe", "append", "replace", "dedupe")[seed % 4],
        "protocol_options": {"standard": {"version": "1.0" if flags & 8 else "1.1"}},
    }
    whole = translator(**options)
    expected = checked(whole.feed(body) + whole.close(), whole)
    pieces = translator(**options)
    output = b"".join(map(pieces.feed, cuts(body, seed=seed))) + pieces.close()
    assert checked(output, pieces) == expected


ENDINGS: list[Callable[[Translator], bytes]] = [
    lambda engine: engine.close(),
    lambda engine: engine.cancel(),
    lambda engine: engine.cancel("client_gone"),
    lambda engine: engine.fail(ConnectionResetError("10.0.0.1 password=abc")),
    *(lambda engine, code=code: engine.fail(code) for code in CODES if code != "INTERNAL"),
]


@settings(parent=QUICK, max_examples=EXAMPLES)
@given(
    body=damaged_samples(),
    place=st.floats(0, 1),
    ending=st.sampled_from(ENDINGS),
    framing=st.sampled_from(FRAMINGS),
)
def test_stream_that_ends_anywhere_is_valid(
    body: bytes, place: float, ending: Callable[[Translator], bytes], framing: str
) -> None:
    for dialect in DIALECTS:
        with case(dialect):
            engine = translator(speaks=dialect, framing=framing, warnings=["at the start"])
            output = engine.feed(body[: int(len(body) * place)])
            output += engine.heartbeat()
            engine.warn("in between", "SOME_CODE", {"a": 1})
            output += ending(engine)
            checked(output, engine)


@settings(parent=QUICK, max_examples=EXAMPLES * 3 // 5)
@given(
    body=damaged_samples(1200),
    seed=st.integers(0, 9),
    limit=st.integers(20, 900),
    malformed=st.integers(0, 3),
    dialects=HALF_OF_THEM,
)
def test_limits_do_not_depend_on_the_cuts(
    body: bytes, seed: int, limit: int, malformed: int, dialects: list[str]
) -> None:
    limits = {"event_bytes": limit, "stream_bytes": 2 * limit, "malformed_events": malformed}
    for dialect in dialects:
        with case(dialect):
            check_limits(dialect, body, seed, limits)


def check_limits(dialect: str, body: bytes, seed: int, limits: dict[str, int]) -> None:
    outputs = set()
    for pieces in ([body], cuts(body, seed=seed), [body[i : i + 1] for i in range(len(body))]):
        engine = translator(speaks=dialect, limits=limits)
        outputs.add(checked(b"".join(map(engine.feed, pieces)) + engine.close(), engine))
    assert len(outputs) == 1
