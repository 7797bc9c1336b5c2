"""Texts beside numbers that count have the events of single bytes, and only such numbers are continued."""

from collections.abc import Iterable
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streamweir import Translator
from streamweir.jsontext import write_json
from streamweir.testing import cuts
from streamweir.translation.reading.counted_blocks import CountedBlocks

SHAPES: dict[str, tuple[str, str]] = {
    "standard": (
        "standard",
        'id: <id>\ndata: {"type":"content","data":{"content":<text>},'
        '"metadata":{"request_id":"r","timestamp":<time>,"sequence":<number>}}\n\n',
    ),
    "responses": (
        "openai-responses",
        "event: response.output_text.delta\n"
        'data: {"type":"response.output_text.delta","sequence_number":<number>,"item_id":"m",'
        '"output_index":0,"content_index":0,"delta":<text>,"obfuscation":"<time>"}\n\n',
    ),
    "lines": ("openai-chat", '{"created":<number>,"choices":[{"index":0,"delta":{"content":<text>}}]}\n'),
}
"""Texts of dialects with numbers; all are answered as the standard."""

JUMPS = st.sampled_from([*[1] * 20, 0, 2, -1, -9, 90, 2**53, 2**70])
SPELLINGS = st.sampled_from([*["%d"] * 20, "0%d", "-%d", "%d.0", "%de1", '"%d"', "%d\r", "+%d", "%d "])
TEXTS = st.sampled_from(
    [
        *["word ", "哈", "another "] * 4,
        *[
            "",
            '"',
            "\r\n",
            '"},"metadata":{"request_id":"r","timestamp":5,"sequence":7',
            "id: 8\ndata: {}\n\n",
        ],
    ]
)
STEPS = st.lists(st.tuples(JUMPS, JUMPS, SPELLINGS, SPELLINGS, TEXTS), max_size=40)
PLAIN = (1, 1, "%d", "%d", "word ")


def events_of(shape: str, first: int, steps: Iterable[tuple[int, int, str, str, str]]) -> list[bytes]:
    """Return the blocks of texts whose ids and numbers are so much more than those of the block before."""
    event_id = number = first
    blocks = []
    for id_step, step, id_spelling, spelling, text in steps:
        event_id, number = event_id + id_step, number + step
        values = {
            "<id>": id_spelling % event_id,
            "<number>": spelling % number,
            "<time>": f"{1_790_000_000_000 + number // 16}",
            "<text>": write_json(text).decode(),
        }
        block = shape
        for place, value in values.items():
            block = block.replace(place, value)
        blocks.append(block.encode())
    return blocks


@pytest.mark.parametrize("name", SHAPES)
@given(st.sampled_from([0, 1, 5, 90, 500, 10**15 - 9, 2**53 - 9, 2**63 - 9]), STEPS, st.integers(0, 9))
@example(90, [PLAIN] * 40, 1)
@example(500, [PLAIN] * 40, 1)
@example(500, [*[PLAIN] * 20, (1, 0, "%d", "%d", "word "), *[PLAIN] * 10], 1)
@example(500, [*[PLAIN] * 20, (1, 1, "0%d", "%d", "word "), *[PLAIN] * 10], 1)
@example(500, [*[PLAIN] * 20, (1, 1, "%d", "%d\r", "word "), *[PLAIN] * 10], 1)
def test_texts_with_numbers_have_the_events_of_single_bytes(
    name: str, first: int, steps: list[tuple[int, int, str, str, str]], seed: int
) -> None:
    speaks, shape = SHAPES[name]
    blocks = events_of(shape, first, steps)
    body = b"".join(blocks)

    def written(pieces: Iterable[bytes]) -> bytes:
        stream = Translator(speaks=speaks, request_id="r", session_id="s", clock=lambda: 5)
        return b"".join([*map(stream.feed, pieces), stream.close()])

    expected = written(body[at : at + 1] for at in range(len(body)))
    assert written([body]) == expected
    assert written(cuts(body, seed=seed)) == expected
    for size in (2, 7):
        assert written(b"".join(blocks[at : at + size]) for at in range(0, len(blocks), size)) == expected


CONSTANTS = (b"id: ", b'\ndata: {"text":', b',"time":', b',"number":', b"}\n\n")


def block(event_id: object, text: object, time: object, number: object) -> bytes:
    """Return a block with the bytes of `CONSTANTS`."""
    return f'id: {event_id}\ndata: {{"text":{text},"time":{time},"number":{number}}}\n\n'.encode()


def counting(first: int, stop: int) -> list[bytes]:
    """Return blocks whose ids and numbers count."""
    return [block(number, f'"word{number}"', 5, number) for number in range(first, stop)]


def words(first: int, stop: int) -> list[str]:
    """Return the texts of these blocks."""
    return [f"word{number}" for number in range(first, stop)]


def test_counted_blocks_that_continue_a_read_are_read() -> None:
    blocks = CountedBlocks(CONSTANTS, 1, b"\n\n")
    assert blocks.texts_in(b"".join(counting(10, 20))) == words(10, 20)
    assert blocks.texts_in(b"".join(counting(20, 50))) == words(20, 50)
    assert blocks.texts_in(b"".join(counting(70, 80))) == words(70, 80)
    assert blocks.texts_in(b"".join(counting(95, 105))) is None
    assert blocks.texts_in(b"".join(counting(105, 108))) == words(105, 108)


@pytest.mark.parametrize(
    "other",
    [
        block(14, '"x"', 6, 15),
        block(15, '"x"', 5, 15),
        block("014", '"x"', 5, 15),
        block(14, '"x"', 5, "1.5"),
        block(14, '"x"', 5, "15 "),
        block(14, '"x"', 5, 15).replace(b"\n", b"\r\n"),
        block(14, '"x"', 5, 15).replace(b"text", b"test"),
        block(14, '"x","time":5,"number":15}\n\nid: 15\ndata: {"text":"y"', 5, 15),
        b": comment\n\n",
        b"",
    ],
)
def test_counted_blocks_around_any_other_block_are_not_read(other: bytes) -> None:
    others = b"".join([*counting(12, 14), other, *counting(15, 19)])
    assert CountedBlocks(CONSTANTS, 1, b"\n\n").texts_in(others) is None
    blocks = CountedBlocks(CONSTANTS, 1, b"\n\n")
    assert blocks.texts_in(b"".join(counting(10, 12))) == words(10, 12)
    assert blocks.texts_in(others) is None


@pytest.mark.parametrize("text", ["5", "null", '"a" ,"b"', "", '"\r"', '"a', "[1]"])
def test_counted_blocks_with_an_invalid_text_have_no_texts(text: str) -> None:
    data = b"".join([*counting(11, 14), block(14, text, 5, 14), *counting(15, 19)])
    blocks = CountedBlocks(CONSTANTS, 1, b"\n\n")
    with suppress(ValueError):
        assert blocks.texts_in(data) is None


@pytest.mark.parametrize("time", ["05", "true", "a", "", "5,5", '"\r"'])
def test_counted_blocks_with_an_equal_value_that_is_no_value_are_not_read(time: str) -> None:
    blocks = CountedBlocks(CONSTANTS, 1, b"\n\n")
    data = b"".join(block(number, '"x"', time, number) for number in range(11, 19))
    for _ in range(9):
        with suppress(ValueError):
            assert blocks.texts_in(data) is None


def test_reads_behind_other_blocks_are_read_each() -> None:
    blocks = CountedBlocks(CONSTANTS, 1, b"\n\n")
    for first in range(10, 90, 8):
        assert blocks.texts_in(b"".join(counting(first, first + 5))) == words(first, first + 5)


def test_other_values_in_each_read_are_tried_a_few_times() -> None:
    blocks = CountedBlocks(CONSTANTS, 1, b"\n\n")
    reads = (
        b"".join(block(number, '"x"', first, number) for number in range(first, first + 8))
        for first in range(10, 90, 8)
    )
    assert [blocks.texts_in(read) is not None for read in reads] == [True] * 5 + [False] * 5


@pytest.mark.parametrize("time", ['"5', "a"])
def test_equal_values_that_are_no_values_are_tried_a_few_times(time: str) -> None:
    blocks = CountedBlocks(CONSTANTS, 1, b"\n\n")
    invalid = b"".join(block(number, '"x"', time, number) for number in range(11, 19))
    for _ in range(4):
        with pytest.raises(ValueError, match=r"JSON|truncated"):
            blocks.texts_in(invalid)
    assert blocks.texts_in(invalid) is None
