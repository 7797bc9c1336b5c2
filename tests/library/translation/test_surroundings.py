"""A read of texts has the texts that its frames have one by one, or is left to the parser."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cases import for_each
from streamweir import convert
from streamweir.codec.message_template import MessageTemplate
from streamweir.dialects.legacy.decode import LegacyDecoder
from streamweir.framing import SniffingParser, SSEParser
from streamweir.options.limits import Limits
from streamweir.translation.reading.surroundings import Surroundings
from streamweir.translation.reading.text_blocks import TextBlocks

BEFORE, AFTER = b'data: {"type":"token","content":', b"}\n\n"
STRINGS = st.one_of(
    st.text(max_size=4).map(
        lambda text: json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogatepass")
    ),
    st.sampled_from(
        [b'"a"', b'"b "', b'""', b' "a"', b'"a" ', b'"a","b":"c"', b'"a', b'a"', b"7", b'"\t"', b'"\xff"']
    ),
)


def template() -> MessageTemplate:
    fields = LegacyDecoder.text_fields
    assert fields is not None
    return fields.known[0]


def texts_of_frames(data: bytes) -> list[str] | None:
    """Return the text of each frame by the template; None unless every frame has one."""
    found = [template().text_of(frame) for frame in SSEParser(Limits().event_bytes).feed(data)]
    return None if None in found else [text for text in found if text is not None]


@given(st.lists(STRINGS, min_size=1, max_size=6))
@example([b'"a"', b'"b"'])
@example([b'"a\\n"', b'"b"'])
@example([b'"a', b'b"'])
def test_texts_of_a_read_are_those_of_its_frames(strings: list[bytes]) -> None:
    data = b"".join(BEFORE + string + AFTER for string in strings)
    texts = Surroundings.around(template(), b"data: ", b"\n\n").texts_in(data)
    if texts is not None:
        assert texts == texts_of_frames(data)


@given(
    st.lists(
        st.text(
            st.characters(exclude_characters='"\\', min_codepoint=32, exclude_categories=["Cs"]), min_size=1
        )
    )
)
def test_texts_without_escapes_are_read_at_once(texts: list[str]) -> None:
    data = b"".join(BEFORE + f'"{text}"'.encode() + AFTER for text in texts)
    assert not texts or Surroundings.around(template(), b"data: ", b"\n\n").texts_in(data) == texts


def line(**fields: object) -> bytes:
    return b"data: %b\n\n" % json.dumps(fields, separators=(",", ":")).encode()


OTHERS = {
    "status": line(type="status", state="running", node="search"),
    "call": line(type="tool_call", tool="search", args={"q": "tea"}, call_id="c1"),
    "result": line(type="tool_result", tool="search", result={"rows": 3}, call_id="c1"),
    "warning": line(type="warning", message="slow"),
    "own": line(type="chart", x=1),
    "answer": line(type="final_answer", content="ab"),
    "done": line(type="done"),
    "comment": b": beat\n\n",
    "unreadable": b"data: {\n\n",
}


def converted(pieces: list[bytes], answers: str) -> bytes:
    return convert(
        pieces,
        speaks="legacy",
        answers=answers,
        request_id="r",
        session_id="s",
        clock=lambda: 1_790_000_000_000,
    )


@for_each("other", list(OTHERS))
@pytest.mark.parametrize("answers", ["standard", "legacy", "openai-chat"])
def test_texts_around_another_event_are_the_same_in_one_read_and_one_by_one(other: str, answers: str) -> None:
    pieces = [line(type="token", content=text) for text in ("a", "b")]
    pieces += [OTHERS[other], *pieces, OTHERS[other], *pieces, line(type="done")]
    one_by_one = converted(pieces, answers)
    assert converted([b"".join(pieces)], answers) == one_by_one
    assert converted([bytes([byte]) for piece in pieces for byte in piece], answers) == one_by_one


def test_text_behind_a_whole_answer_and_another_event_is_no_evidence_of_the_end() -> None:
    pieces = [line(type="token", content="a"), line(type="final_answer", content="a"), OTHERS["status"]]
    assert b"UPSTREAM_TRUNCATED" not in convert(pieces, speaks="legacy")
    assert b"UPSTREAM_TRUNCATED" in convert([*pieces, line(type="token", content="b")], speaks="legacy")


EARLIER = (b"", line(type="ping"), b"event: a\ndata: {}\n\n", b": note\n\n", b"data: {}\r\n\r\n", b"\n\n")
BEGINS = (b"data: ", b"data:", b"event: token\ndata: ", b"event: token\ndata:")


@given(st.sampled_from(EARLIER), st.sampled_from(BEGINS), st.text(min_size=1, max_size=4))
def test_surroundings_of_the_last_block_of_a_read_are_those_of_the_next_block(
    earlier: bytes, begin: bytes, text: str
) -> None:
    def block(text: str) -> bytes:
        return begin + b'{"type":"token","content":%b}\n\n' % json.dumps(text).encode()

    parser = SniffingParser(Limits().event_bytes)
    read = earlier + block(text)
    *_, frame = parser.feed(read)
    around = TextBlocks().learn(template(), read, frame, parser)
    if earlier and earlier.endswith(b"\r\n"):
        assert around is None or around.texts_in(block("next")) == ["next"]
    else:
        assert around is not None
        assert around.texts_in(block("next")) == ["next"]
    assert around is None or around.texts_in(line(type="ping")) is None
