"""Thoughts that are messages of their own have the events of single bytes, however the body is cut."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from streamweir import Translator
from streamweir.codec.dialects import Dialects
from streamweir.dialects.a2a.decode import A2aDecoder
from streamweir.events import Content, Event, SessionEnd, Stamp, Thinking, ToolCallEnd, ToolCallStart
from streamweir.framing import Frame
from streamweir.ids import room_for_all
from streamweir.stages import TextDeduplication
from streamweir.testing import cuts

RECORDED = sorted((Path(__file__).parents[2] / "dialects" / "a2a").glob("*.sse"))
LONG_ID = "i" * 1100
IDS = st.sampled_from(["m-1", "m-2", "m-3", "", "哈", 'a"b', "\ud800", LONG_ID, 5, None, "m-1"])
TEXTS = st.sampled_from(
    [
        "Read",
        "Reading",
        "Reading a file",
        "",
        "\n",
        "哈",
        '"',
        "100 %b",
        "\ud800",
        "\u2028",
        ',"parts":[',
        "Re",
    ]
)
TIMES: st.SearchStrategy[Any] = st.sampled_from([None, "2026-11-22T19:30:25+00:00", 5, "x", "\r", {}])
STATES = st.sampled_from(["working"] * 8 + ["input-required", "completed", "failed"])
KINDS = st.sampled_from(
    ["status"] * 12 + ["artifact", "task", "data", "final", "other task", "extra", "broken"]
)
PARTS = st.tuples(KINDS, IDS, TEXTS, TIMES, STATES)


def message_of(kind: str, message_id: Any, text: str, time: Any, state: str) -> dict[str, Any]:
    """Return a message of A2A; a `status` is a thought in most cases."""
    ids = {"taskId": "t-2" if kind == "other task" else "t-1", "contextId": "c-1"}
    parts: list[Any] = [{"kind": "text", "text": text}]
    if kind == "data":
        parts = [{"kind": "data", "data": {"a": text}}]
    if kind == "artifact":
        artifact = {"artifactId": "a", "parts": parts}
        return {"jsonrpc": "2.0", "id": 1, "result": {"kind": "artifact-update", **ids, "artifact": artifact}}
    message = {"kind": "message", "role": "agent", "messageId": message_id, "parts": parts}
    status = {"state": state, "message": message, **({} if time is None else {"timestamp": time})}
    if kind == "task":
        return {"jsonrpc": "2.0", "id": 1, "result": {"kind": "task", "id": "t-1", **ids, "status": status}}
    more = {"note": text} if kind == "extra" else {}
    update = {"kind": "status-update", **ids, "final": kind == "final", "status": status, **more}
    return {"jsonrpc": "2.0", "id": 1, "result": update}


def block_of(kind: str, *values: Any, begin: bytes = b"", line_end: bytes = b"\n") -> bytes:
    """Return an SSE block with a message of `message_of`."""
    data = json.dumps(message_of(kind, *values), ensure_ascii=False).encode("utf-8", "surrogatepass")
    return begin + b"data: " + (data[:-3] if kind == "broken" else data) + line_end * 2


def written(pieces: Iterable[bytes], answers: str = "standard", **options: Any) -> bytes:
    translator = Translator(
        speaks="a2a", answers=answers, request_id="req_1", session_id="s", clock=lambda: 5, **options
    )
    return b"".join([*map(translator.feed, pieces), translator.close()])


def assert_cut_at_will(blocks: list[bytes], seed: int, answers: str = "standard", **options: Any) -> None:
    body = b"".join(blocks)
    expected = written((body[at : at + 1] for at in range(len(body))), answers, **options)
    assert written([body], answers, **options) == expected
    assert written(blocks, answers, **options) == expected
    assert written(cuts(body, seed=seed), answers, **options) == expected
    halves = [b"".join(blocks[:5]), *blocks[5:8], b"".join(blocks[8:])]
    assert written(halves, answers, **options) == expected


@given(
    st.lists(PARTS, max_size=24),
    st.sampled_from([b"", b"event: message\n", b"id: 7\n", b": note\n"]),
    st.sampled_from([b"\n", b"\r\n"]),
    st.sampled_from(["standard", "standard", "legacy", "openai-chat"]),
    st.integers(0, 9),
)
def test_any_messages_have_the_events_of_single_bytes(
    parts: list[tuple[Any, ...]], begin: bytes, line_end: bytes, answers: str, seed: int
) -> None:
    begin = begin.replace(b"\n", line_end)
    blocks = [block_of(*part, begin=begin, line_end=line_end) for part in parts]
    assert_cut_at_will(blocks, seed, answers)


@given(
    st.lists(st.tuples(st.integers(0, 19), PARTS), max_size=3),
    st.sampled_from([None, "2026", 7]),
    st.sampled_from(
        [{}, {"limits": {"event_bytes": 2000}}, {"protocol_options": {"a2a": {"progress": "content"}}}]
    ),
    st.integers(0, 9),
)
@example([], None, {}, 0)
def test_few_other_messages_among_thoughts_have_the_events_of_single_bytes(
    others: list[tuple[int, tuple[Any, ...]]], time: Any, options: dict[str, Any], seed: int
) -> None:
    parts: list[tuple[Any, ...]] = [
        ("status", f"m-{number}", f"word{number} ", time, "working") for number in range(20)
    ]
    for place, part in others:
        parts[place] = part
    parts.append(("task", "m-9", "".join(f"word{number} " for number in range(20)), None, "completed"))
    assert_cut_at_will([block_of(*part) for part in parts], seed, **options)


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_recorded_streams_have_the_events_of_single_bytes(path: Path) -> None:
    body = path.read_bytes()
    blocks = body.splitlines(keepends=True)
    assert_cut_at_will(blocks, 1)
    assert_cut_at_will(blocks, 2, "standard", framing="ndjson")


def test_thoughts_are_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = [
        block_of(
            "status",
            f"m-{number}",
            f"word{number} ",
            None,
            "working",
            begin=b"event: message\r\n",
            line_end=b"\r\n",
        )
        for number in range(40)
    ]
    decoded: list[Frame] = []
    decode = A2aDecoder.decode

    def noted(self: A2aDecoder, frame: Frame) -> Iterable[Event]:
        decoded.append(frame)
        return decode(self, frame)

    monkeypatch.setattr(A2aDecoder, "decode", noted)
    expected = written(blocks)
    assert len(decoded) == 2
    decoded.clear()
    body = b"".join(blocks)
    assert written([body]) == expected
    assert len(decoded) == 1
    decoded.clear()
    written([block_of("task", "m", "Begin", None, "submitted") + body])
    assert len(decoded) == 2
    decoded.clear()
    assert written([body[:1500], body[1500:5000], body[5000:]]) == expected
    assert len(decoded) < 8


def thought_of(message_id: str, text: str) -> Thinking:
    return Thinking(text, meta={"thread_id": "t", "message_id": message_id})


EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.builds(thought_of, st.sampled_from(["1", "2", "3"]), st.sampled_from(["a", "ab", "b"])),
    st.builds(
        Thinking,
        st.sampled_from(["a", "ab", "aab"]),
        whole=st.sampled_from(["snapshot", "copy"]),
        meta=st.sampled_from([{"message_id": "1"}, {"message_id": "2"}]),
    ),
    st.builds(
        Content,
        st.sampled_from(["a", "ab", "b"]),
        is_complete=st.sampled_from([None, True]),
        whole=st.sampled_from([None, "snapshot", "repeat", "copy"]),
        meta=st.sampled_from([None, {"message_id": "1"}, {"message_id": "4"}]),
    ),
    st.just(ToolCallStart("c", "search")),
    st.just(ToolCallEnd("c", result=1)),
)
RUNS = st.lists(
    st.tuples(st.sampled_from("0123456789"), st.sampled_from(["a", "b", "哈"])), min_size=1, max_size=9
)


@settings(max_examples=200)
@given(st.lists(EVENTS | RUNS, max_size=12), st.sampled_from([1 << 20, 9000, 3000]))
def test_deferred_thoughts_are_remembered_like_others(
    steps: list[Event | list[tuple[str, str]]], room: int
) -> None:
    usual, deferring = TextDeduplication(room=room), TextDeduplication(room=room)
    event = thought_of("0", "x")
    for step in (*steps, SessionEnd()):
        if not isinstance(step, list):
            assert passed(deferring, step) == passed(usual, step)
            continue
        singles = [event for name, text in step for event in passed(usual, thought_of(name, text))]
        if deferring.may_defer:
            assert singles == [thought_of(name, text) for name, text in step]
            ids, texts = map(list, zip(*step, strict=True))
            deferring.defer(event, ids, texts, room_for_all([*ids, *texts]))
        else:
            assert [
                found for name, text in step for found in passed(deferring, thought_of(name, text))
            ] == singles


def passed(stage: TextDeduplication, event: Event) -> list[Event]:
    found = stage.process(event)
    return [event] if found is None else [*found]


@given(
    st.lists(
        st.tuples(st.text(min_size=1, max_size=9), st.text(min_size=1, max_size=9)), min_size=1, max_size=9
    ),
    st.sampled_from(
        [{}, {"node_name": "%b 100 %"}, {"duration_ms": 5}, {"private": {"a": 1}}, {"run_id": "\0id"}]
    ),
    st.sampled_from([None, "planning"]),
)
def test_thoughts_are_written_as_by_the_encoder(
    thoughts: list[tuple[str, str]], meta: dict[str, Any], stage: Any
) -> None:
    encoder = Dialects.built_in().to_write("standard").make_encoder({})
    metas: list[Any] = [{"message_id": name, **meta} for name, _ in thoughts]
    events = [Thinking(text, stage, meta=of) for of, (_, text) in zip(metas, thoughts, strict=True)]
    stamps = [Stamp("req %d", number, 17) for number in range(7, 7 + len(events))]
    template = encoder.thought_template(events[0], stamps[0])
    if template is None:
        assert "duration_ms" in meta or "private" in meta or "run_id" in meta
        return
    ids, texts = zip(*thoughts, strict=True)
    blocks = [encoder.sse_block(event, stamp) for event, stamp in zip(events, stamps, strict=True)]
    assert template.write(texts, ids, stamps[0]) == b"".join(block for block in blocks if block)
