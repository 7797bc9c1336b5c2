"""Texts beside ids, times and counters have the events of single bytes, however the body is cut."""

from collections.abc import Iterable, Iterator
from typing import ClassVar

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streamweir import Translator
from streamweir.codec.dialect import Dialect
from streamweir.codec.message_template import TextFields
from streamweir.dialects.legacy.decode import LegacyDecoder
from streamweir.events import Data, Event, Status
from streamweir.framing import Frame, SSEParser
from streamweir.testing import cuts

IDS = st.sampled_from([None, b"7", b"run.12", b"", b" x", b"a\0b", b'"text"', b"{", "哈".encode()])
NAMES = st.sampled_from([b"", b"event: token\n"])
VALUES = st.sampled_from([b"5", b"17.5", b'"a"', b'""', b"5 ", b"null", b"05", b"1\r", b'"\xff"', b"{}"])
TEXTS = st.sampled_from(["word ", "another ", "", "\n", "哈", '"', '"},"timestamp":5', "id: 5"])
KINDS = st.sampled_from([b"token", b"token", b"token", b"token", b"status"])
BLOCKS = st.lists(st.tuples(IDS, NAMES, TEXTS, VALUES, VALUES, KINDS), max_size=40)


class ShowingIds(LegacyDecoder):
    """Makes a status of each message without a text, with the id in force as its name."""

    text_fields: ClassVar[TextFields] = LegacyDecoder.text_fields

    def decode(self, frame: Frame) -> Iterator[Event]:
        for event in super().decode(frame):
            yield Status("node", "running", frame.id) if isinstance(event, Data) else event


def written(pieces: Iterable[bytes]) -> bytes:
    translator = Translator(
        speaks=Dialect("ids", ShowingIds), request_id="req_1", session_id="s", clock=lambda: 5
    )
    return b"".join([*map(translator.feed, pieces), translator.close()])


def block_of(
    event_id: bytes | None, name: bytes, text: str, time: bytes, number: bytes, kind: bytes, *, is_late: bool
) -> bytes:
    """Return an SSE block; if `is_late`, the name is behind the id, and one number before the text."""
    lines = [b"" if event_id is None else b"id: %b\n" % event_id, name]
    key = b"content" if kind == b"token" else b"message"
    message = b'"type":"%b","%b":%b,"timestamp":%b' % (kind, key, orjson.dumps(text), time)
    data = b'{"sequence":%b,%b}' % (number, message) if is_late else b'{%b,"sequence":%b}' % (message, number)
    return b"".join([*(lines if is_late else reversed(lines)), b"data: ", data, b"\n\n"])


def assert_cut_at_will(blocks: list[bytes], seed: int) -> None:
    body = b"".join(blocks)
    expected = written(body[at : at + 1] for at in range(len(body)))
    assert written([body]) == expected
    assert written(blocks) == expected
    assert written(cuts(body, seed=seed)) == expected
    assert written([b"".join(blocks[:5]), *blocks[5:9], b"".join(blocks[9:])]) == expected


@given(BLOCKS, st.booleans(), st.integers(0, 9))
def test_blocks_with_ids_and_numbers_have_the_events_of_single_bytes(
    parts: list[tuple[bytes | None, bytes, str, bytes, bytes, bytes]], is_late: bool, seed: int
) -> None:
    assert_cut_at_will([block_of(*part, is_late=is_late) for part in parts], seed)


@pytest.mark.parametrize("name", [b"", b"event: token\n"], ids=["no name", "name"])
@given(
    places=st.lists(st.tuples(st.integers(0, 12), IDS, TEXTS, VALUES, KINDS), max_size=3),
    seed=st.integers(0, 9),
    is_late=st.booleans(),
)
@example(places=[], seed=0, is_late=True)
@example(places=[(9, b"9", "word ", b"18", b"token")], seed=0, is_late=False)
def test_few_other_blocks_among_numbered_texts_have_the_events_of_single_bytes(
    name: bytes, places: list[tuple[int, bytes | None, str, bytes, bytes]], seed: int, is_late: bool
) -> None:
    blocks = [
        block_of(b"%d" % number, name, f"word{number} ", b"17", b"%d" % number, b"token", is_late=is_late)
        for number in range(14)
    ]
    for place, event_id, text, value, kind in places:
        blocks[place] = block_of(event_id, name, text, value, b"%d" % place, kind, is_late=is_late)
    last = block_of(None, b"", "", b"5", b"5", b"status", is_late=True)
    assert_cut_at_will([*blocks, last], seed)


def test_status_behind_texts_has_the_id_of_the_last_text() -> None:
    texts = [
        block_of(b"run.%d" % number, b"", f"word{number}", b"5", b"%d" % number, b"token", is_late=True)
        for number in range(12)
    ]
    status = b'data: {"type":"status","state":"running"}\n\n'
    assert b'"name":"run.11"' in written([*texts, status])
    assert b'"name":"run.11"' in written([texts[0], texts[1], texts[2], b"".join(texts[3:]), status])


@pytest.mark.parametrize("times", [b"55555", b"55655"], ids=["one time", "another time"])
@pytest.mark.parametrize("is_late", [True, False], ids=["number before", "number behind"])
def test_numbered_texts_are_no_frames(is_late: bool, times: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = [
        block_of(
            *(b"%d" % number, b"", f"word{number} ", times[number // 8 :][:1], b"%d" % number, b"token"),
            is_late=is_late,
        )
        for number in range(40)
    ]
    translator = Translator(speaks="legacy")
    for block in blocks[:6]:
        translator.feed(block)
    noted: list[bytes] = []
    monkeypatch.setattr(SSEParser, "feed", lambda _, data: noted.append(data))
    assert b"word6 " in translator.feed(blocks[6])
    assert b"word39 " in translator.feed(b"".join(blocks[7:]))
    assert not noted


@pytest.mark.parametrize("line", [b"no field of any kind\n\n", b": a comment\n\n", b"\n"])
def test_copied_texts_before_lines_without_data_have_the_frames_of_single_bytes(line: bytes) -> None:
    def chunk(number: int, end: bytes) -> bytes:
        delta = b'{"choices":[{"index":0,"delta":{"content":"word%d "}}],' % number
        return b"data: %b" % delta + b'"obfuscation":"%b"}%b' % (b"x" * (number + 3), end)

    def copied(pieces: Iterable[bytes]) -> bytes:
        translator = Translator(speaks="openai-chat", answers="openai-chat", clock=lambda: 5, request_id="r")
        return b"".join([*map(translator.feed, pieces), translator.close()])

    blocks = [chunk(0, b"\r\n\r\n"), chunk(1, b"\n\n"), line, chunk(2, b"\n\n"), chunk(3, b"\n\n") + line]
    body = b"".join(blocks)
    assert copied(blocks) == copied(body[at : at + 1] for at in range(len(body)))
