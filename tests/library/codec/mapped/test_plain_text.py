"""Backends that speak plain text: line by line, or nothing but the answer."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from home_made import dialect, ending, spoken
from streams import one_byte_each, random_cuts, translate
from streamweir.errors import LimitExceeded
from streamweir.framing import LinesParser, TextBodyParser
from streamweir.ids import made_call_id

LINES = """
  framing: lines                                       # TOK "Hel" / CALL search {"q": 1} / END
  rules:
    - {prefix: "TOK ", emit: {type: content, content: "${{ from_json(_text) }}"}}
    - prefix: "CALL "
      emit:
        type: tool_call_start
        tool_name: "${{ split(_text, ' ')[0] }}"
        arguments: "${{ split(_text, ' ', `1`)[1] }}"
    - {prefix: "RESULT ", emit: {type: tool_call_end, result: "${{ _text }}"}}
  terminal: [END]
"""
BODY = b'TOK "Hel"\r\nTOK "lo"\n\n  \nCALL search {"q": 1}\rRESULT found it\nTOK "\\u00fc"\nEND\n'


def test_framing_lines_reads_each_line_as_a_frame() -> None:
    said = spoken(dialect(LINES), BODY)
    assert [event.get("content") for event in said if event["type"] == "content"] == ["Hel", "lo", "ü", ""]
    assert said[2] == {
        "type": "tool_call_start",
        "tool_id": made_call_id("req_1", 1),
        "tool_name": "search",
        "arguments": {"q": 1},
    }
    assert said[3]["result"] == "found it"
    assert ending(dialect(LINES), BODY) == ("completed", "done")


def test_lines_do_not_depend_on_the_cuts() -> None:
    speaks = dialect(LINES)
    whole = translate([BODY], speaks=speaks)
    assert translate(one_byte_each(BODY), speaks=speaks) == whole
    for seed in range(10):
        assert translate(list(random_cuts(BODY, seed)), speaks=speaks) == whole


@pytest.mark.parametrize(
    ("last", "end"),
    [
        (b'TOK "x"\n', ("completed", "done")),
        (b'TOK "x"', ("completed", "done")),
        (b'TOK "x', ("error", "truncated")),
        (b"TO", ("error", "truncated")),
        (b"END", ("completed", "done")),
    ],
)
def test_last_line_without_end_and_meaning_is_truncated(last: bytes, end: tuple[str, str]) -> None:
    text = LINES.replace("[END]", "[eof, END]")
    assert ending(dialect(text), b'TOK "a"\n' + last) == end


def test_unknown_line_becomes_a_custom_event() -> None:
    said = spoken(dialect(LINES), b"ODD line\nEND\n")
    assert said[0]["data"] == {"name": "message", "value": "ODD line"}


@given(st.lists(st.binary(max_size=12), max_size=6), st.data())
def test_lines_of_random_cuts_equal_those_of_the_whole(lines: list[bytes], data: st.DataObject) -> None:
    body = b"\n".join(lines)
    places = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=4)))
    parser = LinesParser(1000)
    pieces = [body[begin:end] for begin, end in pairwise([0, *places, len(body)])]
    frames = [frame.data for piece in pieces for frame in parser.feed(piece)]
    frames += [frame.data for frame in parser.finish()]
    wanted: list[bytes] = []
    for line in body.replace(b"\r", b"\n").split(b"\n"):
        opening = line if wanted else line.removeprefix(b"\xef\xbb\xbf")
        if opening.strip(b" \t\n\r\x0b\x0c"):
            wanted.append(opening)
    assert frames == wanted


def test_line_over_the_limit_ends_the_stream() -> None:
    parser = LinesParser(10)
    assert [frame.data for frame in parser.feed(b"short\n" + b"x" * 10 + b"\n")] == [b"short", b"x" * 10]
    with pytest.raises(LimitExceeded):
        list(parser.feed(b"x" * 11))


# framing: text


def text_of(pieces: list[bytes]) -> str:
    speaks = dialect("framing: text")
    return "".join(
        str(event["content"]) for event in spoken(speaks, b"".join(pieces)) if event["type"] == "content"
    )


def test_framing_text_reads_the_body_as_the_answer() -> None:
    body = "Hello, 天气 🌤️\n\nbye ".encode()
    speaks = dialect("framing: text")
    assert text_of([body]) == body.decode()
    assert ending(speaks, body) == ("completed", "done")
    assert ending(speaks, b"") == ("error", "truncated")
    assert ending(speaks, b"<html>") == ("completed", "done")
    assert ending(speaks, body[:-9]) in (("completed", "done"), ("error", "truncated"))


def test_body_that_ends_within_a_character_is_truncated() -> None:
    assert ending(dialect("framing: text"), "天".encode()[:2]) == ("error", "truncated")


@given(st.text(max_size=20), st.data())
def test_characters_are_not_split(text: str, data: st.DataObject) -> None:
    body = text.encode()
    places = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=5)))
    parser = TextBodyParser(data.draw(st.sampled_from([4, 7, 1000])))
    frames = [
        frame for begin, end in pairwise([0, *places, len(body)]) for frame in parser.feed(body[begin:end])
    ]
    frames += parser.finish()
    assert "".join(frame.data.decode() for frame in frames) == text.removeprefix("\ufeff")


@given(st.binary(max_size=30))
def test_any_bytes_never_raise(body: bytes) -> None:
    whole, single = TextBodyParser(1000), TextBodyParser(1000)
    at_once = [*whole.feed(body), *whole.finish()]
    one_by_one = [frame for piece in one_byte_each(body) for frame in single.feed(piece)]
    one_by_one += single.finish()
    assert b"".join(frame.data for frame in at_once) == b"".join(frame.data for frame in one_by_one)
