"""Each fast path gives the same result as its plain form."""

import sys
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamweir import Translator
from streamweir.codec.dialects import Dialects
from streamweir.dialects.standard.encode import StandardEncoder
from streamweir.errors import LimitExceeded
from streamweir.events import (
    EVENT_TYPES,
    WIRE_FIELDS,
    Content,
    Data,
    Error,
    Event,
    SessionEnd,
    SessionStart,
    Stamp,
    Status,
    Thinking,
    ToolCallEnd,
    wire_data,
)
from streamweir.framing import Frame, SSEParser, write_sse
from streamweir.jsontext import write_json
from streamweir.stages import ErrorSanitizer, Stage, TextDeduplication, Tools, passed_on, routes
from streamweir.testing import cuts
from streamweir.translation.open_writer import open_writer

TEXTS = st.text(max_size=12) | st.sampled_from(["", "\ud800", "\u2028", "a\nb", '"', "哈"])
NUMBERS = st.integers() | st.floats().filter(lambda number: "e" not in repr(number))
"""An exponent is spelled by whoever writes it: what holds a lone surrogate is written by another one."""
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
IDS = ("session_id", "thread_id", "message_id", "run_id", "parent_run_id", "node_id", "node_name")
METAS: st.SearchStrategy[Any] = st.none() | st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(IDS, TEXTS),
        "duration_ms": st.integers(0, 10**9),
        "extra": st.dictionaries(TEXTS, JSON, max_size=3),
    },
)
CONTENTS = st.builds(
    Content,
    content=TEXTS,
    format=st.sampled_from([None, "markdown", "html"]),
    is_complete=st.sampled_from([None, True]),
    op=st.sampled_from([None, "append", "replace"]),
    channel=st.none() | TEXTS,
    whole=st.sampled_from([None, "snapshot", "repeat"]),
    meta=METAS,
)
EVENTS: st.SearchStrategy[Event] = st.one_of(
    CONTENTS,
    st.builds(SessionStart, session_id=st.none() | TEXTS, request_id=st.none() | TEXTS, meta=METAS),
    st.builds(
        SessionEnd,
        status=st.sampled_from(["completed", "suspended"]),
        reason=st.sampled_from([None, "done"]),
        summary=st.none() | st.dictionaries(TEXTS, JSON, max_size=3),
        meta=METAS,
    ),
    st.builds(Thinking, content=TEXTS, stage=st.sampled_from([None, "planning"]), meta=METAS),
    st.builds(ToolCallEnd, tool_id=TEXTS, result=JSON, meta=METAS),
    st.builds(Data, data_type=st.just("custom"), data=st.dictionaries(TEXTS, JSON, max_size=3), meta=METAS),
    st.builds(Status, scope=st.just("node"), state=st.just("running"), detail=JSON, meta=METAS),
    st.builds(
        Error,
        error_type=st.just("system"),
        code=st.just("INTERNAL"),
        message=TEXTS,
        recoverable=st.booleans(),
        meta=METAS,
    ),
)
STAMPS = st.builds(
    Stamp,
    request_id=st.just("req_1") | TEXTS,
    sequence=st.integers(0, 2**40),
    timestamp=st.integers(0, 2**45),
)

LINES = st.sampled_from(
    [
        *(b"data: {}", b"data:1", b"data:  2", b"data", b"data:", b"data: \xff", b"data: a\xe2\x80\xa8b"),
        *(
            b"event: token",
            b"event:",
            b"id: 7",
            b"id: a\0b",
            b"retry: 5",
            b": ping",
            b":",
            b"mess",
            b'{"a":1}',
        ),
        *(b"", b"", b""),
    ]
)
ENDS = st.sampled_from([b"\n", b"\n", b"\r\n", b"\r"])
BODIES = st.lists(st.tuples(LINES, ENDS), max_size=30).map(lambda lines: b"".join(a + b for a, b in lines))


def parsed(pieces: Iterable[bytes], limit: int = 1 << 20) -> tuple[list[Any], bool]:
    """Return the frames of a body, and whether it exceeds its limit."""
    parser = SSEParser(limit)
    frames: list[Any] = []
    try:
        for piece in pieces:
            for frame in parser.feed(piece):
                frames.append((frame.data, frame.event, frame.id))  # noqa: PERF401 - those before a limit count
    except LimitExceeded:
        return frames, True
    last = [(frame.data, frame.event, frame.id, frame.unterminated) for frame in parser.finish()]
    return [*frames, *last, parser.recognised, parser.cut_off], False


@given(BODIES, st.integers(0, 9))
def test_whole_blocks_have_the_frames_of_single_bytes(body: bytes, seed: int) -> None:
    """Byte by byte no block is whole, so every line takes the plain path."""
    byte_by_byte = parsed(body[i : i + 1] for i in range(len(body)))
    assert parsed([body]) == byte_by_byte
    assert parsed(cuts(body, seed=seed)) == byte_by_byte


@given(BODIES, st.integers(1, 12))
def test_whole_blocks_have_the_limit_of_single_bytes(body: bytes, limit: int) -> None:
    assert parsed([body], limit) == parsed((body[i : i + 1] for i in range(len(body))), limit)


BLOCKS = st.lists(
    st.sampled_from([b"id: 1\ndata: {}", b"id: 2\ndata: ", b"id: \xff\ndata: id: 3"])
    | st.sampled_from(
        [b"id: 5\ndata:6", b"id: \ndata: 7", b"id: a\0\ndata: 8", b"id: 9", b"data: id: 1\ndata: 2", b": x"]
    ),
    min_size=1,
    max_size=6,
)


@given(BLOCKS, st.sampled_from([b"", b"id: 4", b"id: 4\ndata: 5\n", b"\n\n"]), st.integers(0, 9))
def test_numbered_blocks_have_the_frames_of_single_bytes(blocks: list[bytes], rest: bytes, seed: int) -> None:
    body = b"".join(block + b"\n\n" for block in blocks) + rest
    byte_by_byte = parsed(body[i : i + 1] for i in range(len(body)))
    assert parsed([body]) == byte_by_byte
    assert parsed([b": begins\n\n", body]) == parsed([b": begins\n\n" + body])
    assert parsed(cuts(body, seed=seed)) == byte_by_byte
    for limit in (5, 12, len(body)):
        assert parsed([body], limit) == parsed((body[i : i + 1] for i in range(len(body))), limit)


@given(EVENTS)
def test_wire_data_is_the_fields_of_the_event(event: Event) -> None:
    """`wire_data` lists the fields of content one by one; the table has those of every event."""
    nullable = type(event).nullable
    fields = {name: getattr(event, name) for name in WIRE_FIELDS[type(event)]}
    expected = {name: value for name, value in fields.items() if value is not None or name in nullable}
    assert list(wire_data(event).items()) == list(expected.items())


TIMED = {"tool_call_end", "status", "session_end"}


def written_plainly(event: Event, stamp: Stamp) -> bytes:
    """Return the envelope encoded as one object."""
    metadata: dict[str, Any] = {
        "request_id": stamp.request_id,
        "timestamp": stamp.timestamp,
        "sequence": stamp.sequence,
        **(event.meta or {}),
    }
    if "duration_ms" in metadata and event.type not in TIMED:
        metadata["extra"] = {**metadata.get("extra", {}), "duration_ms": metadata.pop("duration_ms")}
    return write_json({"type": event.type, "data": wire_data(event), "metadata": metadata})


@given(st.lists(st.tuples(EVENTS, STAMPS), max_size=5), TEXTS)
def test_envelope_written_in_parts_equals_the_whole_envelope(
    events: list[tuple[Event, Stamp]], request_id: str
) -> None:
    encoder = StandardEncoder()
    for event, given_stamp in events:
        stamp = Stamp(request_id, given_stamp.sequence, given_stamp.timestamp)
        (frame,) = encoder.encode(event, stamp)
        assert frame.data == written_plainly(event, stamp)
        assert frame.id == str(stamp.sequence)
        assert encoder.sse_block(event, stamp) == write_sse(frame)


@given(
    st.lists(st.binary(max_size=6), min_size=1, max_size=4).map(b"\n".join),
    st.none() | st.sampled_from(["token", "哈"]),
    st.none() | st.sampled_from(["7", "哈"]),
    st.sampled_from([b"data: ", b"data:"]),
)
def test_written_block_equals_its_lines(
    data: bytes, event: str | None, frame_id: str | None, prefix: bytes
) -> None:
    lines = [b"id: " + frame_id.encode()] if frame_id is not None else []
    lines += [b"event: " + event.encode()] if event is not None else []
    lines += [prefix + line for line in data.split(b"\n") if data or event is None]  # a name says it all
    assert write_sse(Frame(data, event, frame_id), prefix) == b"\n".join([*lines, b"", b""])


@given(st.lists(CONTENTS, max_size=12))
def test_stage_that_returns_none_equals_one_that_returns_the_event(events: list[Content]) -> None:
    """A stage may return None for an event only if it has not changed it."""
    stage, expected = TextDeduplication(), TextDeduplication()
    for event in events:
        before = write_json([wire_data(event), event.meta])
        returned = stage.process(event)
        assert list(passed_on(expected, event)) == ([event] if returned is None else list(returned))
        assert write_json([wire_data(event), event.meta]) == before


def test_event_passes_the_stages_that_handle_it_only() -> None:
    stages: tuple[type[Stage], ...] = (ErrorSanitizer, Tools, TextDeduplication)
    plain, with_meta = routes(stages, with_meta=False), routes(stages, with_meta=True)
    for kind in EVENT_TYPES.values():
        handling = [index for index, stage in enumerate(stages) if kind in stage.handles]
        beside = [index for index, stage in enumerate(stages) if kind in stage.handles_with_meta]
        for start in range(4):
            assert list(plain[kind][start]) == [index for index in handling if index >= start]
            assert list(with_meta[kind][start]) == [index for index in beside if index >= start]


@given(st.lists(TEXTS, max_size=40), st.integers(0, 9))
def test_read_with_many_events_equals_single_reads(texts: list[str], seed: int) -> None:
    def translated(pieces: Iterable[bytes]) -> bytes:
        translator = Translator(speaks="legacy", request_id="req_1", session_id="s", clock=lambda: 5)
        return b"".join([*map(translator.feed, pieces), translator.close()])

    blocks = [
        b"data: %b\n\n" % orjson.dumps({"type": "token", "content": text.replace("\ud800", "?")})
        for text in texts
    ]
    body = b"".join([*blocks, b'data: {"type":"done"}\n\n'])
    assert translated([body]) == translated(cuts(body, seed=seed))
    assert translated([body]) == translated([*blocks, b'data: {"type":"done"}\n\n'])


def calls_of(function: Callable[[], object]) -> list[str]:
    """Return the names of the Python functions that are called."""
    names: list[str] = []

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            names.append(frame.f_code.co_name)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(before)
    return names


@pytest.mark.parametrize("answers", ["standard", "legacy", "easyflow"])
def test_text_between_texts_takes_few_calls(answers: str) -> None:
    """The text is neither parsed nor encoded as a whole message, and passes one stage."""
    translator = Translator(speaks="legacy", answers=answers, request_id="req_1")
    *tokens, last = [b'data: {"type":"token","content":"word%d "}\n\n' % number for number in range(16)]
    for token in tokens:
        translator.feed(token)
    calls = calls_of(lambda: translator.feed(last))
    assert len(calls) <= 24, calls
    assert not {"parse_json", "write_json", "decode", "encode", "process"} & {*calls}


REPEATED = {
    "legacy, ndjson": ("legacy", b'{"type": "token", "content": "ab"}\n', b'{"type": "done"}\n'),
    "legacy, sse": ("legacy", b'data: {"type": "token", "content": "ab"}\n\n', b'data: {"type": "done"}\n\n'),
    "standard": ("standard", b'data: {"type": "content", "data": {"content": "ab"}}\n\n', b""),
    "openai-chat": (
        "openai-chat",
        b'data: {"id": "1", "choices": [{"index": 0, "delta": {"content": "ab"}}]}\n\n',
        b"data: [DONE]\n\n",
    ),
    "anthropic": (
        "anthropic",
        b'event: content_block_delta\ndata: {"type": "content_block_delta", "index": 0, '
        b'"delta": {"type": "text_delta", "text": "ab"}}\n\n',
        b"",
    ),
    "vercel-data": ("vercel-data", b'0:"ab"\n', b""),
    "vercel-ui": ("vercel-ui", b'data: {"type": "text-delta", "id": "0", "delta": "ab"}\n\n', b""),
    "ag-ui": (
        "ag-ui",
        b'data: {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "ab"}\n\n',
        b"",
    ),
}
"""A text of each dialect, as its servers send the same one again and again: a space, a line end."""


@pytest.mark.parametrize("name", REPEATED)
@settings(max_examples=30)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=12), st.integers(0, 3))
def test_same_text_again_and_again_comes_out_as_often_however_it_is_cut(
    name: str, sizes: list[int], inside: int
) -> None:
    speaks, text, end = REPEATED[name]
    body, places = b"", []
    for size in sizes:
        body += text * size
        places.append(len(body) - inside)
    whole = Translator(speaks=speaks, answers="standard", full_text="append")
    cut = Translator(speaks=speaks, answers="standard", full_text="append")
    at_once = whole.feed(body + end) + whole.close()
    pieces, last = b"", 0
    for place in [*places, len(body) + len(end)]:
        pieces += cut.feed((body + end)[last:place])
        last = place
    pieces += cut.close()
    assert at_once.count(b'"ab"') == pieces.count(b'"ab"') == sum(sizes)


WITH_TIME: dict[str, tuple[str, bytes]] = {
    "agno": (
        "agno",
        b'event: RunContent\ndata: {"created_at":<time>,"event":"RunContent","run_id":"r",'
        b'"content":<text>}\n\n',
    ),
    "dify": (
        "dify",
        b'data: {"event":"message","task_id":"t","message_id":"m","created_at":<time>,"answer":<text>}\n\n',
    ),
    "openai": (
        "openai-chat",
        b'data: {"id":"c","object":"chat.completion.chunk","created":<time>,"model":"m","choices":'
        b'[{"index":0,"delta":{"content":<text>},"finish_reason":null}]}\n\n',
    ),
    "ragflow": (
        "ragflow",
        b'data: {"event":"message","message_id":"m","created_at":<time>,"task_id":"t",'
        b'"data":{"content":<text>}}\n\n',
    ),
    "responses": (
        "openai-responses",
        b'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","item_id":"m",'
        b'"output_index":0,"content_index":0,"delta":<text>,"sequence_number":<time>}\n\n',
    ),
    "padded": (
        "openai-chat",
        b'data: {"id":"c","object":"chat.completion.chunk","model":"m","choices":'
        b'[{"index":0,"delta":{"content":<text>},"finish_reason":null}],"obfuscation":"<time>"}\n\n',
    ),
}
"""A text of dialects whose messages have a time or a counter, with `<time>` and `<text>` in their places."""

STEPS = st.lists(st.tuples(st.integers(0, 9), TEXTS.filter(bool)), min_size=1, max_size=60)


@pytest.mark.parametrize("name", WITH_TIME)
@settings(max_examples=25)
@given(STEPS, st.integers(0, 9), st.booleans())
def test_texts_with_a_time_have_the_events_of_single_reads(
    name: str, steps: list[tuple[int, str]], seed: int, is_raw: bool
) -> None:
    speaks, shape = WITH_TIME[name]
    now, events = 1790000000, []
    for step, text in steps:
        now += max(0, step - 7)  # most texts have the time of the one before
        events.append(shape.replace(b"<time>", b"%d" % now).replace(b"<text>", write_json(text)))
    body = b"".join(events)
    answers = speaks if is_raw and name not in ("agno", "dify") else "standard"  # those two are only read

    def written(pieces: Iterable[bytes]) -> bytes:
        stream = Translator(
            speaks=speaks, answers=answers, request_id="r", session_id="s", clock=lambda: 1_790_000_000_000
        )
        return b"".join([*map(stream.feed, pieces), stream.close()])

    expected = written(body[at : at + 1] for at in range(len(body)))
    assert written([body]) == written(events) == written(cuts(body, seed=seed)) == expected


@pytest.mark.parametrize("text", ["x", bytes(range(128)).decode(), "\u00e9\ud800", "%b"])
def test_long_text_is_written_like_a_short_one(text: str) -> None:
    stamp = Stamp("req_1", 7, 1_790_000_000_000)
    for event in (
        Content(text * 150_000),
        Content(text * 150_000, channel="%d", meta={"message_id": "m%b"}),
        Content(text * 150_000, op="replace"),
    ):
        frame = next(iter(StandardEncoder().encode(event, stamp)))
        writer = open_writer("standard", "sse", request_id="req_1", dialects=Dialects.built_in())
        writer.write(event, stamp)
        assert writer.take() == write_sse(frame), event.content[:3]


@pytest.mark.parametrize("blank", [b"\n", b"\r", b" \n", b"\n\n"])
@pytest.mark.parametrize("count", [1, 2, 40])
def test_line_end_beside_a_text_ends_its_line(blank: bytes, count: int) -> None:
    texts = [b'data: {"type":"token","content":"word%d"}\n\n' % number for number in range(4)]
    broken = b'data: {"type":"token","content":"lost"%b}\n\n' % blank
    body = b"".join(texts) + broken * count
    whole, cut = (Translator(speaks="legacy", request_id="r", session_id="s", clock=lambda: 1) for _ in "ab")
    at_once = b"".join([*map(whole.feed, texts), whole.feed(broken * count), whole.close()])
    assert at_once == b"".join([*(cut.feed(body[at : at + 1]) for at in range(len(body))), cut.close()])
    assert b"lost" not in at_once


@pytest.mark.parametrize("ends", [(b" \n", b"\n"), (b"\r\n", b"\n"), (b"\n", b"\r")])
def test_lines_with_other_ends_than_the_first_texts_are_read_at_once(ends: tuple[bytes, bytes]) -> None:
    line = b'{"type":"token","content":"word%d"}'
    texts = [line % number + ends[number > 2] for number in range(40)]
    stream = Translator(speaks="legacy")
    written = b"".join(map(stream.feed, [*texts[:3], b"".join(texts[3:])]))
    assert all(b'"word%d"' % number in written for number in range(40))
