"""Messages that repeat and extend the whole text give the same events by their new part as by decoding."""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from home_made import dialect
from streamweir import Translator
from streamweir.codec.growing_template import GrowingTemplate
from streamweir.dialects.ragflow.decode import RagflowDecoder
from streamweir.events import Content, Event, ToolCallEnd, ToolCallStart
from streamweir.stages.text_digest import TextDigest
from streamweir.testing import cuts
from streamweir.translation.items import events_of
from streamweir.translation.reader import StreamReader

END = b"data:[DONE]\n\n"
BEGIN = ["Good ", "Good morning, ", "Good morning, dear "]
"""Answers after which it is certain that each frame holds all of the answer."""

PIECES = st.sampled_from(
    [
        *(
            "word ",
            "more words ",
            "哈",
            "😀",
            "\ud83d",
            "\ude00",
            "\\",
            '"',
            "\\u",
            "\n",
            "\r\n",
            "\t",
            "\u2028",
        ),
        *("<", "<b>", "<think>", "</think>", "* a", "\n**ERROR**: broken", "ERROR**: x", "e\u0301", "é", " "),
    ]
) | st.text(max_size=4)
CHANGES = st.sampled_from(["grows", "grows", "grows", "grows", "anew", "shorter", "composed", "same"])
SPELLINGS = st.sampled_from(["plain", "ascii", "slashes", "broken"])
BESIDE: Any = st.fixed_dictionaries(
    {},
    optional={
        "reference": st.sampled_from([{}, {}, None, {"chunks": [{"id": "1", "document_name": "a.pdf"}]}]),
        "audio_binary": st.sampled_from([None, None, "aGk="]),
        "id": st.sampled_from(["m1", "m1", "m2"]),
        "session_id": st.sampled_from(["s1", "s1", "s2"]),
        "prompt": st.just("p"),
        "final": st.just(True),
    },
)
STEPS = st.lists(st.tuples(PIECES, CHANGES, SPELLINGS), max_size=12)


def answers_of(steps: Iterable[tuple[str, str, str]]) -> Iterator[tuple[str, str]]:
    """Yield each answer until then, with how it is spelled."""
    answer = BEGIN[-1]
    for piece, change, spelling in steps:
        match change:
            case "grows":
                answer += piece
            case "anew":
                answer = piece
            case "shorter":
                answer = answer[: len(answer) // 2]
            case "composed":
                answer = answer.replace("e\u0301", "é").strip() + piece
        yield answer, spelling


def spelled(message: Any, spelling: str) -> bytes:
    """Return the JSON of a message; `broken` is no valid UTF-8."""
    text = json.dumps(message, ensure_ascii=spelling in ("ascii", "slashes"))
    if spelling == "slashes":
        text = text.replace("w", "\\u0077")
    data = text.encode("utf-8", "surrogatepass")
    return data.replace(b"words", b"w\xffrds") if spelling == "broken" else data


def chat(steps: list[tuple[str, str, str]], beside: list[dict[str, Any]]) -> list[bytes]:
    """Return the frames of RAGFlow's chat."""
    frames = []
    fields: dict[str, Any] = {"reference": {}, "audio_binary": None, "id": "m1", "session_id": "s1"}
    for number, (answer, spelling) in enumerate([*((begin, "ascii") for begin in BEGIN), *answers_of(steps)]):
        more = beside[number - len(BEGIN)] if len(BEGIN) <= number < len(BEGIN) + len(beside) else {}
        message = {"code": 0, "message": "", "data": {"answer": answer, **fields, **more}}
        frames.append(b"data:%b\n\n" % spelled(message, spelling))
    return [*frames, END]


def translated(pieces: Iterable[bytes], speaks: Any = "ragflow", **options: Any) -> bytes:
    translator = Translator(speaks=speaks, request_id="req_1", session_id="s", clock=lambda: 5, **options)
    return b"".join([*map(translator.feed, pieces), translator.close()])


@contextmanager
def decoded() -> Iterator[None]:
    """Every whole text is decoded."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GrowingTemplate, "learn", lambda *_: None)
        yield


@pytest.mark.parametrize("answers", ["standard", "openai-chat", "ragflow"])
@given(
    steps=STEPS,
    beside=st.lists(BESIDE, max_size=6),
    full_text=st.sampled_from(["dedupe", "append", "replace"]),
    form=st.sampled_from([b"%b", b"id: 1\n%b", b": hi\n%b", b"event: x\n%b"]),
    seed=st.integers(0, 9),
)
@example(
    steps=[("word ", "grows", "ascii"), ("\ud83d", "grows", "ascii"), ("\ude00", "grows", "ascii")] * 2,
    beside=[],
    full_text="dedupe",
    form=b"%b",
    seed=0,
)
@example(
    steps=[("e\u0301", "grows", "plain"), ("x", "composed", "plain"), ("y", "grows", "plain")] * 2,
    beside=[],
    full_text="dedupe",
    form=b"%b",
    seed=0,
)
def test_cumulative_answers_are_read_as_if_each_was_decoded(
    answers: str,
    steps: list[tuple[str, str, str]],
    beside: list[dict[str, Any]],
    full_text: str,
    form: bytes,
    seed: int,
) -> None:
    frames = [form % frame for frame in chat(steps, beside)]
    body = b"".join(frames)
    options = {"answers": answers, "full_text": full_text}
    with decoded():
        expected = translated([body], **options)
    assert translated([body], **options) == expected
    assert translated(frames, **options) == expected
    assert translated(cuts(body, seed=seed), **options) == expected
    assert translated(cuts(body, seed=seed), verbatim=False, **options) == translated(
        frames, verbatim=False, **options
    )


RULES = """
    rules:
      - {has: all, emit: {type: content, content: "${{ all }}", text: cumulative}}
      - {has: thought, emit: {type: thinking, content: "${{ thought }}", text: cumulative}}
      - {has: end, emit: {type: session_end}}
"""


@given(
    steps=STEPS,
    field=st.sampled_from(["all", "thought"]),
    times=st.lists(st.sampled_from(["", "1", " 2.5 ", "\n3"]), min_size=20, max_size=20),
    form=st.sampled_from([b"data: %b\n\n", b"%b\n"]),
    seed=st.integers(0, 9),
)
def test_texts_of_a_home_made_dialect_are_read_as_if_each_was_decoded(
    steps: list[tuple[str, str, str]], field: str, times: list[str], form: bytes, seed: int
) -> None:
    blocks = []
    for (answer, spelling), time in zip(answers_of(steps), times, strict=False):
        message = spelled({field: answer}, spelling)
        blocks.append(form % (message[:-1] + b',"timestamp":%b}' % time.encode() if time else message))
    blocks.append(form % b'{"end":true}')
    body = b"".join(blocks)
    options: dict[str, Any] = {"speaks": dialect(RULES)}
    with decoded():
        expected = translated([body], **options)
    assert translated([body], **options) == expected
    assert translated(blocks, **options) == expected
    assert translated(cuts(body, seed=seed), **options) == expected


OWN: dict[str, Callable[[Translator], None]] = {
    "nothing": lambda _: None,
    "a text": lambda translator: translator.stream.push(
        Content("of the application", meta={"message_id": "m1"})
    ),
    "a call": lambda translator: translator.stream.push(ToolCallStart("c1", "f", "{}")),
    "a result": lambda translator: translator.stream.push(ToolCallEnd("c1")),
    "an end of the message": lambda translator: translator.stream.push(
        Content("", is_complete=True, meta={"message_id": "m1", "session_id": "s1"})
    ),
    "a warning": lambda translator: translator.warn("careful"),
}


@given(st.lists(st.tuples(PIECES, st.sampled_from([*OWN])), max_size=12))
def test_whole_text_behind_an_event_of_the_application_equals_a_decoded_one(
    steps: list[tuple[str, str]],
) -> None:
    frames = chat([(piece, "grows", "plain") for piece, _ in steps], [])

    def written() -> bytes:
        translator = Translator(speaks="ragflow", request_id="req_1", session_id="s", clock=lambda: 5)
        out = [*map(translator.feed, frames[: len(BEGIN)])]
        for frame, (_, own) in zip(frames[len(BEGIN) :], steps, strict=False):
            out.append(translator.feed(frame))
            OWN[own](translator)
        return b"".join([*out, translator.feed(END), translator.close()])

    with decoded():
        expected = written()
    assert written() == expected


@given(STEPS, st.integers(0, 9))
def test_reader_gives_the_same_events_as_if_each_was_decoded(
    steps: list[tuple[str, str, str]], seed: int
) -> None:
    body = b"".join(chat(steps, []))

    def events(pieces: Iterable[bytes]) -> list[Event]:
        reader = StreamReader("ragflow")
        return [event for piece in pieces for event in events_of(reader.feed(piece))]

    with decoded():
        expected = events([body])
    assert events([body]) == expected
    assert events(cuts(body, seed=seed)) == expected


@pytest.mark.parametrize("form", [b"%b", b"retry: 5\n%b"], ids=["a block a read", "by lines"])
def test_answers_that_grow_are_not_decoded(form: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    frames = [form % frame for frame in chat([("word ", "grows", "plain")] * 9, [])]
    translator = Translator(speaks="ragflow")
    for frame in frames[:5]:
        translator.feed(frame)
    monkeypatch.setattr(RagflowDecoder, "decode", lambda *_: pytest.fail("a frame is decoded"))
    for frame in frames[5:-1]:
        assert b'"word "' in translator.feed(frame)


def test_long_answer_is_followed_and_a_huge_one_is_decoded() -> None:
    pieces = ["word " * 20_000] * 3 + ["end"]
    body = b"".join(chat([(piece, "grows", "plain") for piece in pieces], []))
    with decoded():
        expected = translated([body])
    assert translated([body]) == expected
    assert translated(cuts(body, seed=3)) == expected


@given(st.lists(st.text(max_size=3), max_size=6), st.text(max_size=6))
def test_digest_knows_a_text_exactly(pieces: list[str], other: str) -> None:
    for is_compacted in (False, True):
        digest = TextDigest()
        for piece in pieces:
            digest.append(piece)
            if is_compacted:
                digest.compact()
        whole = "".join(pieces)
        assert digest.is_exactly(whole)
        assert digest.is_exactly(other) == (other == whole)
