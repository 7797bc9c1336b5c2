"""Text after text, read and written by its form, is the same as each text by itself."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cases import for_each
from places import RECORDED
from streams import small_pieces
from streamweir import Translator
from streamweir.codec.base import Decoder, Encoder
from streamweir.codec.current_template import MessageTemplates
from streamweir.codec.decimals import decimals
from streamweir.codec.frame_template import FrameTemplate
from streamweir.codec.message_template import MessageTemplate, TextFields
from streamweir.codec.registry import process_dialects
from streamweir.codec.stamped_template import LONG_TEXT, StampedTemplate
from streamweir.dialects.legacy.decode import LegacyDecoder
from streamweir.dialects.legacy.encode import LegacyEncoder
from streamweir.dialects.standard.decode import StandardDecoder
from streamweir.events import Content, Event, Stamp, Thinking
from streamweir.framing import Frame
from streamweir.jsontext import write_json
from streamweir.testing import cuts
from streamweir.translation import writer
from streamweir.translation.items import TextRun, events_of, items_of
from streamweir.translation.open_writer import open_writer
from streamweir.translation.reader import StreamReader
from streamweir.translation.reading import body_reader

CASES = sorted(path for path in RECORDED.glob("*/*") if path.suffix in (".sse", ".ndjson"))

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=10) | st.sampled_from(
    [
        *(
            "a",
            "Hello",
            " ",
            "\n",
            '"',
            "\\",
            "%",
            "%d",
            "{}",
            "}",
            '"}',
            ",",
            ":",
            '":"',
            "\u2028",
            "哈",
            "😀",
        ),
        *(
            "<",
            "<think>",
            "</think>",
            "*",
            "**ERROR**: no",
            "\n**",
            "ERROR**",
            ": x",
            "Error calling model: x",
        ),
        *("0", "1", "[DONE]", "null", "\x00", "\x7f", "word5 ", "sequence", "id: 1"),
    ]
)
RUNS = st.lists(TEXTS, min_size=1, max_size=30)
OF_EACH = settings(max_examples=settings().max_examples // 2)
"""What is made up for one dialect; much is common to all."""


@pytest.fixture(autouse=True)
def learned_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second text of a run shows the form, for recorded streams are short."""
    monkeypatch.setattr(writer, "SAMPLE_SIZE", 1)
    monkeypatch.setattr(StandardDecoder.text_fields, "learned_after", 1)


def translated(pieces: Iterable[bytes], speaks: str, answers: str = "standard", **options: Any) -> bytes:
    """The whole stream, at a time that stands still."""
    translator = Translator(
        speaks=speaks,
        answers=answers,
        request_id="req_1",
        session_id="s",
        clock=lambda: 1_790_000_000_123,
        **options,
    )
    return b"".join([*map(translator.feed, pieces), translator.close()])


def plainly(pieces: Iterable[bytes], speaks: str, answers: str = "standard", **options: Any) -> bytes:
    """The same without forms."""
    with without_forms():
        return translated(pieces, speaks, answers, **options)


@contextmanager
def without_forms() -> Iterator[None]:
    """Every message is decoded."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MessageTemplates, "note", lambda *_: None)
        patch.setattr(body_reader, "begin_with_usual", lambda *_: None)
        for dialect in process_dialects().values():
            if dialect.decoder is not None:
                patch.setattr(dialect.decoder, "block_forms", None)
        yield


@for_each("path", CASES, group=lambda path: path.parent.name)
def test_recorded_streams_are_read_by_their_forms_as_without(path: Path) -> None:
    body, speaks = path.read_bytes(), path.parent.name
    options_file = path.with_suffix(".options")
    options = orjson.loads(options_file.read_bytes()) if options_file.exists() else {}
    given_options: Any = {"protocol_options": {speaks: options}} if options else {}
    expected = plainly([body], speaks, **given_options)
    assert translated([body], speaks, **given_options) == expected
    assert translated(small_pieces(body), speaks, **given_options) == expected
    assert translated(cuts(body, seed=len(body)), speaks, **given_options) == expected
    blocks = [
        block for block in re.split(rb"(?<=\n\n)" if path.suffix == ".sse" else rb"(?<=\n)", body) if block
    ]
    assert translated(blocks, speaks, **given_options) == expected


USUAL = [
    (name, fields.usual)
    for name, dialect in process_dialects().items()
    if dialect.decoder is not None
    and dialect.decoder.begin_with_text is not Decoder.begin_with_text
    and (fields := dialect.decoder.text_fields)
    and fields.usual
]
FACTS = (
    *("started", "first_output", "malformed", "unknown", "has_understood", "has_text", "cut_off", "complete"),
    *("shown_form", "is_document"),
)


@pytest.mark.parametrize(("name", "usual"), USUAL)
@pytest.mark.parametrize("write", [write_json, lambda message: json.dumps(message).encode()])
@pytest.mark.parametrize("texts", [1, 2, 40])
def test_reader_of_a_body_that_begins_with_usual_texts_knows_the_same_facts(
    name: str, usual: Mapping[str, str], write: Callable[[Any], bytes], texts: int
) -> None:
    key = next(key for key, value in usual.items() if value == "Hello")
    blocks = [b"data: %b\n\n" % write({**usual, key: f"word{number} "}) for number in range(texts)]

    def reader() -> StreamReader:
        reader = StreamReader(name)
        events = events_of(reader.feed(b"".join(blocks)))
        assert [event.content for event in events if isinstance(event, Content)] == [
            f"word{number} " for number in range(texts)
        ]
        return reader

    at_once = reader()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(body_reader, "begin_with_usual", lambda *_: None)
        decoded = reader()
    for fact in FACTS:
        assert getattr(at_once, fact) == getattr(decoded, fact), fact
    assert vars(at_once.frames.decoder) == vars(decoded.frames.decoder)
    assert at_once.frames.stats.messages == decoded.frames.stats.messages
    parser = at_once.body.parser
    assert (parser.framing, parser.recognised, parser.is_at_boundary) == ("sse", True, True)


TEXT_READS = [b'data: {"type":"token","content":"word%d "}\n\n' % number for number in range(8)]


@pytest.mark.parametrize("answers", ["standard", "legacy"])
@pytest.mark.parametrize(
    "before",
    [
        b"event: thinking\n",
        b"id: 4\n",
        b": a comment\n",
        b": half a com",
        b"data: [1,\n",
        b'data: {"type":"thinking","content":"x"}\n',
        b"data",
        b"\xef",
        b"\r",
        b"\n",
        b'{"type":"thinking","content":"x"}\n',
        b'data: {"type":"thinking","content":"x"}\n\n',
        b'data: {"type":"token","content":"x"}\r\n\r',
    ],
)
def test_read_that_looks_like_a_text_is_used_at_block_boundaries_only(before: bytes, answers: str) -> None:
    reads = [*TEXT_READS[:5], before, *TEXT_READS[5:]]
    expected = plainly([b"".join(reads)], "legacy", answers)
    assert translated(reads, "legacy", answers) == expected


def test_texts_whose_blocks_have_ids_are_each_read() -> None:
    reads = [b"id: %d\n%b" % (number, block) for number, block in enumerate(TEXT_READS)]
    assert translated(reads, "legacy") == plainly(reads, "legacy")


def test_text_that_is_larger_than_allowed_is_refused_as_such() -> None:
    large = b'data: {"type":"token","content":"%b"}\n\n' % (b"x" * 2000)
    reads = [*TEXT_READS, large, TEXT_READS[0]]
    limits = {"event_bytes": 1000}
    assert translated(reads, "legacy", limits=limits) == plainly(reads, "legacy", limits=limits)


def said(dialect: str, events: Iterable[Event], **options: Any) -> list[bytes]:
    """The frames of a stream of `dialect` that says `events`, as the dialect's own encoder writes them."""
    writer = open_writer(dialect, "sse", request_id="req_1", options={dialect: options})
    said = []
    for number, event in enumerate(events):
        writer.write(event, Stamp("req_1", number, 1_790_000_000_123))
        said.append(writer.take())
    return said


SHAPES: dict[str, list[Mapping[str, Any]]] = {
    "legacy": [
        {"type": "token", "content": "T"},
        {"content": "T", "type": "thinking", "timestamp": 5, "sequence": 1},
        {"type": "token", "content": "", "text": "T"},
        {
            "type": "content",
            "data": {"content": "T"},
            "metadata": {"timestamp": 5, "sequence": 8, "request_id": "r"},
        },
        {"type": "token", "content": "T", "extra": {"content": "x"}},
        {"type": "token", "token": "T", "node": {"timestamp": 1}, "timestamp": "2026-01-01T00:00:00Z"},
    ],
    "easyflow": [
        {"domain": "llm", "type": "message", "index": 1, "conversation_id": "c", "payload": {"delta": "T"}},
        {
            "domain": "LLM",
            "type": "THINKING",
            "payload": {"delta": "T", "role": "assistant"},
            "meta": {"a": 1},
        },
        {"protocol": "easyflow-chat", "domain": "llm", "payload": "T", "timestamp": "now"},
    ],
    "stream-envelope": [
        {"type": "content", "thread_id": "t", "run_id": "r", "timestamp": 5, "data": {"delta": "T"}},
        {"type": "content", "content": "T", "thread_id": "t"},
        {"type": "code_agent_thought", "run_id": "r", "node_name": "n", "data": {"content": "T", "step": 1}},
    ],
    "ragflow": [
        {"event": "message", "message_id": "m", "created_at": 7, "task_id": "t", "data": {"content": "T"}},
        {"code": 0, "data": {"answer": "T", "reference": {}, "final": False, "id": "i", "session_id": "s"}},
        {"code": 0, "data": {"answer": "T", "id": "i", "session_id": "s"}},
        {"id": "x", "created": 5, "choices": [{"delta": {"content": "T", "role": "assistant"}, "index": 0}]},
    ],
    "data-formulator": [
        {"type": "text_delta", "content": "T"},
        {"type": "text_delta", "channel": "report", "content": "T"},
        {"type": "thinking_text", "content": "T", "iteration": 2},
    ],
    "standard": [
        {
            "type": "content",
            "data": {"content": "T"},
            "metadata": {"request_id": "r", "timestamp": 5, "sequence": 3},
        },
        {
            "type": "thinking",
            "data": {"content": "T", "stage": "planning"},
            "metadata": {"sequence": 3, "extra": {"a": 1}},
        },
    ],
}
"""TextDeduplication of each dialect; a text takes the place of T, and a number that of each number."""


def filled(shape: Any, text: str, number: int, other: str = "") -> Any:
    match shape:
        case dict():
            return {key: filled(value, text, number, other) for key, value in shape.items()}
        case list():
            return [filled(value, text, number, other) for value in shape]
        case "T":
            return text
        case "U":
            return other
        case int() if shape > 2**64:
            return str(shape)
    return shape


def messages(dialect: str) -> st.SearchStrategy[bytes]:
    """Bodies: runs of one shape, now and then with another; some numbers change, some spellings too."""

    @st.composite
    def body(draw: st.DrawFn) -> bytes:
        out = []
        for _ in range(draw(st.integers(1, 3))):
            shape = dict(draw(st.sampled_from(SHAPES[dialect])))
            name = draw(st.sampled_from([b"", b"", b"event: message\n", b"id: %d\n"]))
            for place, text in enumerate(draw(RUNS)):
                message = filled(shape, text, place)
                for key in ("timestamp", "sequence", "index", "created_at", "created"):
                    if isinstance(message.get(key), int):
                        message[key] = place
                data = orjson.dumps(message)
                if draw(st.integers(0, 15)) == 0:
                    data = draw(
                        st.sampled_from(
                            [
                                data.replace(b'":', b'": '),
                                data.replace(b"}", b',"more":true}', 1),
                                data.replace(b"a", b"\\u0061"),
                                data.replace(b"H", b"\xff"),
                                data.replace(b"H", b"\\ud800"),
                                data[:-1],
                                data + data,
                                b"[DONE]",
                                b" " + data,
                            ]
                        )
                    )
                out.append(b"%bdata: %b\n\n" % (name % place if b"%d" in name else name, data))
        return b"".join(out)

    return body()


@pytest.mark.parametrize("dialect", sorted(SHAPES))
@OF_EACH
@given(st.data())
def test_made_up_streams_are_read_by_their_forms_as_without(dialect: str, data: st.DataObject) -> None:
    body = data.draw(messages(dialect))
    expected = plainly([body], dialect)
    assert translated([body], dialect) == expected
    assert translated(cuts(body, seed=len(body)), dialect) == expected
    assert translated((block + b"\n\n" for block in body.split(b"\n\n")[:-1]), dialect) == expected


NAMES = st.sampled_from(
    [
        *("content", "text", "token", "delta", "data", "plan", "answer", "message", "payload", "reasoning"),
        *("timestamp", "sequence", "index", "created", "created_at", "metadata", "extra", "event", "id"),
        *("role", "channel", "op", "final", "is_complete", "thread_id", "message_id", "run_id", "format"),
    ]
)
VALUES: st.SearchStrategy[Any] = st.sampled_from(
    [
        "T",
        "U",
        "T",
        "U",
        "",
        "x",
        "5",
        5,
        2**31,
        2**70,
        -1.5,
        None,
        True,
        False,
        {},
        ["T"],
        "[DONE]",
        "replace",
    ]
) | st.dictionaries(NAMES, st.sampled_from(["T", "U", 5, None, "x"]), max_size=2)
"""`T` is a text that changes, `U` one that is the same at first and another one later."""

BETWEEN = st.sampled_from(
    [
        *(
            b": ping\n\n",
            b":\n\n",
            b"retry: 5\n\n",
            b"\n",
            b"\r\n",
            b"id: 7\n\n",
            b"event: ping\n\n",
            b"data\n\n",
        ),
        *(
            b'data: {"type":"ping"}\n\n',
            b"data: {\n\n",
            b"data: [DONE]\n\n",
            b'{"type":"token","content":"bare"}\n\n',
        ),
        *(b'data: {"type":"token","content":"H",\ndata: "more":1}\n\n', b"mess\n\n", b"data: \xff\n\n"),
    ]
)


@st.composite
def loose_shapes(draw: st.DrawFn, dialect: str) -> Any:
    """A message of a dialect with fields that it does not expect, at the top or within."""
    shape = {**draw(st.sampled_from(SHAPES[dialect]))}
    for _ in range(draw(st.integers(0, 3))):
        inner = [key for key, value in shape.items() if isinstance(value, dict)]
        within = draw(st.sampled_from([None, *inner]))
        more = {draw(NAMES): draw(VALUES)}
        added = (
            {**more, **shape[within]} if draw(st.booleans()) and within else {**shape.get(within, {}), **more}
        )
        shape = {**shape, within: added} if within else added if draw(st.booleans()) else {**shape, **more}
    return shape


def spoilt(draw: st.DrawFn, data: bytes) -> bytes:
    """The JSON text of a message, in another spelling or none."""
    return draw(
        st.sampled_from(
            [
                data.replace(b'":', b'": '),
                data.replace(b"}", b',"content":"again"}', 1),
                data.replace(b"{", b'{"content":"before",', 1),
                data.replace(b"t", b"\\u0074"),
                data.replace(b'"content"', b'"\\u0063ontent"'),
                data.replace(b"H", b"\xff"),
                data.replace(b"a", b"\\ud800"),
                data.replace(b"l", b"\t"),
                data.replace(b":5", b":05"),
                data.replace(b":5", b":5e999"),
                data.replace(b":5", b":NaN"),
                data[:-1],
                data + data,
                data + b" ",
            ]
        )
    )


@st.composite
def hostile_bodies(draw: st.DrawFn, dialect: str) -> list[bytes]:
    """The pieces of a body, one for each event or what stands between two: cut anywhere by who feeds them."""
    out: list[bytes] = []
    framing, end = draw(
        st.sampled_from([("sse", b"\n"), ("sse", b"\r\n"), ("ndjson", b"\n"), ("ndjson", b"\r\n")])
    )
    for _ in range(draw(st.integers(1, 3))):
        shape = draw(loose_shapes(dialect))
        head = draw(st.sampled_from([b"", b"", b"event: message", b"id: %d", b"event: token"]))
        texts = draw(RUNS)
        changes = draw(st.integers(0, len(texts)))
        for place, text in enumerate(texts):
            other = text if place < changes else draw(TEXTS)
            data = orjson.dumps(filled(shape, text, place, other), default=str)
            if draw(st.integers(0, 11)) == 0:
                data = spoilt(draw, data)
            if framing == "ndjson":
                out.append(data + end)
            else:
                lines = [head % place if b"%d" in head else head] if head else []
                out.append(b"".join(line + end for line in (*lines, b"data: " + data, b"")))
            if draw(st.integers(0, 15)) == 0:
                out.append(draw(BETWEEN))
    return out


def outcome(pieces: Iterable[bytes], warn_at: int, **options: Any) -> Any:
    """All that is seen of a stream, the caller's own warning and a heartbeat in between."""
    translator = Translator(request_id="req_1", session_id="s", clock=lambda: 1_790_000_000_123, **options)
    out = []
    for place, piece in enumerate(pieces):
        if place == warn_at:
            translator.warn("meanwhile")
            out.append(translator.heartbeat())
        out.append(translator.feed(piece))
    out.append(translator.close())
    return b"".join(out), translator.counts, translator.reason, translator.error


@pytest.mark.parametrize("dialect", sorted(SHAPES))
@OF_EACH
@given(st.data())
def test_hostile_streams_are_read_and_written_by_forms_as_without(dialect: str, data: st.DataObject) -> None:
    """Any fields, spellings, framing, cuts and bounds; also where an earlier stream has left its forms."""
    pieces = data.draw(hostile_bodies(dialect))
    body = b"".join(pieces)
    cut = data.draw(st.sampled_from(["whole", "events", "any"]))
    given_pieces = {"whole": [body], "events": pieces, "any": [*cuts(body, seed=len(body))]}[cut]
    options = data.draw(
        st.fixed_dictionaries(
            {
                "speaks": st.sampled_from([dialect, dialect, "auto"]),
                "answers": st.sampled_from(process_dialects().writable),
                "framing": st.sampled_from(["sse", "ndjson", "json"]),
                "full_text": st.sampled_from(["dedupe", "append", "replace"]),
                "raw": st.sampled_from([False, False, False, True]),
                "limits": st.sampled_from(
                    [
                        {},
                        {"malformed_events": 1},
                        {"event_bytes": 1 + len(max(pieces, key=len)) * 3 // 4},
                        {"stream_bytes": 1 + len(body) * 3 // 4},
                    ]
                ),
            }
        )
    )
    warn_at = data.draw(st.integers(0, 2 * len(given_pieces)))
    with without_forms():
        expected = outcome(given_pieces, warn_at, **options)
    for _ in range(2):
        assert outcome(given_pieces, warn_at, **options) == expected


@pytest.mark.parametrize("answers", process_dialects().writable)
@OF_EACH
@given(RUNS, st.sampled_from([Content("a"), Thinking("a", "planning")]), st.integers(0, 40))
def test_texts_are_written_at_once_as_one_by_one(
    answers: str, texts: list[str], like: Content | Thinking, cut: int
) -> None:
    metas: list[Any] = [
        None,
        {"message_id": "m", "run_id": "r", "extra": {"iteration": 1, "sequence": 4}},
        {"message_id": "100%d", "private": {"prompt": "p"}},
        {"private": {"prompt": "p"}},
    ]
    for meta in metas:
        for framing in ("sse", "ndjson"):
            piece = type(like)("x", meta=meta)
            at_once, by_one = (open_writer(answers, framing, request_id="req_1") for _ in range(2))
            for number, text in enumerate(texts):
                at = Stamp("req_1", number, 1_790_000_000_000 + 1000 * (number >= cut))
                by_one.write(piece.with_text(text), at)
            first = texts[:cut]
            if first:
                at_once.write_run(piece, first, Stamp("req_1", 0, 1_790_000_000_000))
            if rest := texts[cut:]:
                at_once.write_run(piece, rest, Stamp("req_1", len(first), 1_790_000_001_000))
            for written in (at_once, by_one):
                written.write(Content("", is_complete=True, meta=meta), Stamp("r", 99, 0))
                written.finish()
            assert at_once.take() == by_one.take()
            assert at_once.unsupported == by_one.unsupported


@given(st.lists(TEXTS, min_size=1, max_size=30), TEXTS)
def test_frame_template_equals_the_encoder(texts: list[str], first: str) -> None:
    def frame(text: str, number: int) -> bytes:
        value = {"a%d": "%", "content": text, "b": {"index": number - 3}, "sequence": number, "at": 7}
        return b"id: %d\ndata: %b\n\n" % (number, write_json(value))

    numbers = {"index": (1, 1), "sequence": (4, 1), "at": (7, 0)}
    form = FrameTemplate.of(frame(first, 4), first, numbers)
    assert form is not None or first == "%"  # which is the value of another key too
    if form is not None:
        expected = b"".join(frame(text, number) for number, text in enumerate(texts, 4))
        assert form.write(texts, numbers) == expected
        assert form.write(texts[:1], numbers) == frame(texts[0], 4)
    assert FrameTemplate.of(frame(first, 4), first, {"at": (7, 0)}) is None  # the id counts as something


@given(st.lists(TEXTS, min_size=1, max_size=30), st.sampled_from([0, 4, 1000, 1020, 5000]))
def test_stamped_template_equals_the_encoder(texts: list[str], first: int) -> None:
    def block(text: str, number: int) -> bytes:
        value = {"content": text, "at": 7, "sequence": number, "%b": "%"}
        return b"id: %d\ndata: %b\n\n" % (number, write_json(value))

    template = StampedTemplate(b'\ndata: {"content":', b',"at":', b',"sequence":', b',"%b":"%"}\n\n')
    expected = b"".join(block(text, number) for number, text in enumerate(texts, first))
    assert template.write(texts, Stamp("r", first, 7)) == expected


def test_stamped_template_with_a_long_text_equals_the_encoder() -> None:
    template = StampedTemplate(b"\ndata: [", b",", b",", b"]\n\n")
    for letter in ("a", '"', "\n", "é", "\u2028"):
        text = letter * LONG_TEXT
        expected = b"id: 3\ndata: [%b,7,3]\n\n" % write_json(text)
        assert template.write([text], Stamp("r", 3, 7)) == expected


@pytest.mark.parametrize("step", [1, 3])
@pytest.mark.parametrize("first", [0, 1021, 1022, 1024, 7000])
def test_decimals_are_the_decimal_text_of_the_numbers(first: int, step: int) -> None:
    assert decimals(first, step, 2) == [b"%d" % first, b"%d" % (first + step)]
    assert decimals(first, step, 3)[2] == b"%d" % (first + 2 * step)


BY_FORM = [
    name
    for name, dialect in process_dialects().items()
    if dialect.writes and dialect.decoder is not None and dialect.decoder.text_fields
]


@pytest.mark.parametrize("name", BY_FORM)
def test_frame_of_a_template_is_read_by_a_template(name: str) -> None:
    """After a few texts, in whatever shape its dialect has."""
    frames = said(name, [Content(f"word{number} ") for number in range(9)])
    reader = StreamReader(name)
    items = [item for piece in frames for item in items_of(reader.feed(piece))]
    assert isinstance(items[-1], TextRun)
    assert items[-1].texts == ["word8 "]


FORMED = [
    name
    for name in BY_FORM
    if (decoder := process_dialects()[name].decoder) and decoder.text_fields and decoder.text_fields.form
]


@pytest.mark.parametrize("name", FORMED)
@pytest.mark.parametrize("spaced", [False, True])
def test_text_behind_one_of_the_form_of_its_dialect_is_read_by_its_template(name: str, spaced: bool) -> None:
    frames = said(name, [Content(f"word{number} ") for number in range(3)])
    if spaced:
        frames = [re.sub(rb'(?<=")(:|,)(?=["0-9{\[n])', rb"\1 ", frame) for frame in frames]
    reader = StreamReader(name)
    _, items = ([*items_of(reader.feed(piece))] for piece in frames[:2])
    assert [type(item) for item in items] == [TextRun]


FIELDS = TextFields(texts=(("a",), ("b", "a")), ignored=(("t",), ("b", "t")))


@pytest.mark.parametrize(
    ("data", "others"),
    [
        (
            b'{"a":"x"}',
            [b'{"a":"y"}', b'{"a":"\\u0061"}', b'{"a": "y"}', b'{"a":"y"} ', b'{"a":"y","a":"z"}'],
        ),
        (
            b'{"t":1,"a":"x","k":2}',
            [b'{"t":2,"a":"y","k":2}', b'{"t":01,"a":"y","k":2}', b'{"t":1,"a":"y","k":3}'],
        ),
        (
            b'{"a":"x","t":1.5}',
            [b'{"a":"y","t":-3e5}', b'{"a":"y","t":"s"}', b'{"a":"y","t":1.}', b'{"a":"","t":1}'],
        ),
        (
            b'{"b":{"a":"x","t":"s"}}',
            [b'{"b":{"a":"y","t":4}}', b'{"b":{"a":"y"},"t":"s"}', b'{"b":{"a":7,"t":"s"}}'],
        ),
    ],
)
def test_message_template_reads_the_text_that_json_reads(data: bytes, others: list[bytes]) -> None:
    form = MessageTemplate.learn(Frame(data), Content("x"), FIELDS)
    assert form is not None
    assert form.text_of(Frame(data)) == "x"
    for other in others:
        text = form.text_of(Frame(other))
        if text is not None:
            message = Frame(other).json()
            assert text == message.get(
                "a", message.get("b", {}).get("a") if isinstance(message.get("b"), dict) else None
            )
    assert form.text_of(Frame(data, "named")) is None


@pytest.mark.parametrize(
    "data",
    [
        b'{"a":"y"}',  # another text than that which was read
        b'{"a":"x","c":{"a":"x"}}',  # two places
        b'{"c":{"a":"x"}}',  # no place that is known
        b'{"a":"y","\\u0061":"x"}',  # a key that comes twice
        b'{"d":"{\\"a\\":\\"x\\"}"}',
    ],
)
def test_template_of_an_ambiguous_text_is_not_learned(data: bytes) -> None:
    assert MessageTemplate.learn(Frame(data), Content("x"), FIELDS) is None


def test_decoder_without_templates_reads_each_message() -> None:
    """A subclass may do anything with a text: what its base vouches for does not hold for it."""

    class Shouting(LegacyDecoder):
        def decode(self, frame: Frame) -> Iterator[Event]:
            for event in super().decode(frame):
                yield event.with_text(event.content.upper()) if isinstance(event, Content) else event

    class Quiet(LegacyDecoder):
        errors_for_users = True

    assert LegacyDecoder.text_fields is not None
    assert getattr(Shouting, "text_fields", 0) is None
    assert Quiet.text_fields is LegacyDecoder.text_fields
    assert Decoder.text_fields is None


def test_encoder_without_templates_writes_each_event() -> None:
    class Shouting(LegacyEncoder):
        def encode(self, event: Event, stamp: Stamp) -> Iterable[Frame]:
            return [Frame(frame.data.upper()) for frame in super().encode(event, stamp)]

    assert Shouting().template_numbers(Content("a"), ["b"], Stamp("r", 0, 0)) is None
    assert LegacyEncoder().template_numbers(Content("a"), ["b"], Stamp("r", 0, 0)) == {}
    assert Encoder().template_numbers(Content("a"), ["b"], Stamp("r", 0, 0)) is None


def test_raw_events_are_read_one_by_one() -> None:
    blocks = [b'data: {"type":"token","content":"w%d"}\n\n' % number for number in range(9)]
    lines = translated([b"".join(blocks)], "legacy", raw=True, framing="ndjson").splitlines()
    sources = [
        event["metadata"].get("source") for event in map(orjson.loads, lines) if event["type"] == "content"
    ]
    assert [source["raw"]["content"] for source in sources if source] == [f"w{number}" for number in range(9)]
