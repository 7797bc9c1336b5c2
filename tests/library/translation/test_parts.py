"""A turn of the event loop is bounded in work: a read full of smallest frames is taken in parts."""

import time
from collections.abc import Callable, Iterator

import pytest

from cases import for_each
from streamweir.codec.dialects import Dialects
from streamweir.translation.parts import WHOLE_BYTES, ReadParts
from streamweir.translation.translator import Translator

DIALECTS = Dialects.built_in()
READ = 64 << 10
SEVERAL_TURNS = 6 << 10
"""The bytes of a read of smallest frames that takes several turns."""
MOST_SECONDS = 0.012
"""Of processor time, for one turn."""

SAY_SOMETHING = {b"0:1\n", b'data: {"type":"token","content":"a"}\n\n'}

CHEAP_SECONDS = 4e-6
"""A frame that is not a message takes less."""

FRAMES = (
    *(b"1\n", b"{}\n", b"[]\n", b'""\n', b"\n", b"\r", b"1\r", b"0\n\n", b"0:1\n", b'0:""\n', b"x\n"),
    *(b"data:1\n\n", b"data:{}\n\n", b"data\n\n", b"data:\n", b":\n", b"event:a\n", b"id:1\n"),
    *(b"{}", b"[{}]\n", b"{", b"[", b"1,", b"{},", b'data: {"type":"token","content":"a"}\n\n'),
)


def turns(translator: Translator, data: bytes) -> Iterator[float]:
    """Feed a read as a shell does; yield the processor time of each turn."""
    parts = ReadParts(data)
    is_taken = False
    while not is_taken and not translator.ended:
        began = time.process_time()
        is_taken = parts.feed(translator.feed)
        yield time.process_time() - began


def written(speaks: str, answers: str, framing: str = "sse") -> Callable[[], Translator]:
    return lambda: Translator(
        speaks=speaks, answers=answers, framing=framing, limits={"stream_bytes": "1MiB"}
    )


WAYS = {
    **{f"{name} to standard": written(name, "standard") for name in ("auto", *DIALECTS.readable)},
    **{f"{name} to itself": written(name, name) for name in DIALECTS.readable if name in DIALECTS.writable},
    "legacy folded": written("legacy", "standard", "json"),
}


@pytest.mark.long
@for_each("way", WAYS)
def test_turn_of_a_read_full_of_smallest_frames_is_short(way: str) -> None:
    for frame in FRAMES:
        data = (frame * SEVERAL_TURNS)[:SEVERAL_TURNS]
        longest = max(turns(WAYS[way](), data), default=0.0)
        if longest >= MOST_SECONDS:  # or something else ran within it
            longest = max(turns(WAYS[way](), data))
        assert longest < MOST_SECONDS, (frame, longest)


@pytest.mark.long
@for_each("way", WAYS)
def test_endless_smallest_frames_cost_nothing_or_end_the_stream(way: str) -> None:
    for frame in set(FRAMES) - SAY_SOMETHING:
        translator, count = WAYS[way](), 9000
        began = time.process_time()
        translator.feed(frame * count)
        spent = time.process_time() - began
        assert translator.ended or spent < count * CHEAP_SECONDS, (frame, spent)


@for_each("frame", FRAMES)
def test_parts_of_a_read_are_the_read(frame: bytes) -> None:
    data = frame * (READ // len(frame))
    parts, taken, calls = ReadParts(data), bytearray(), 1
    while not parts.feed(taken.extend):
        calls += 1
    assert taken == data
    assert calls < 100


def test_first_part_of_frames_is_small_and_that_of_text_is_not() -> None:
    for data, first in ((b"1\n" * READ, 512), (b"word " * READ, 4096)):
        sizes: list[int] = []
        ReadParts(data).feed(lambda part, sizes=sizes: sizes.append(len(part)))  # type: ignore[misc]
        assert sizes[0] == first


def test_small_read_is_one_part() -> None:
    sizes: list[int] = []
    assert ReadParts(b"1\n" * (WHOLE_BYTES // 2)).feed(lambda part: sizes.append(len(part)))
    assert sizes == [WHOLE_BYTES]


def test_cut_reads_give_the_bytes_of_whole_reads() -> None:
    body = b'data: {"type":"token","content":"a, b}"}\n\n: ping\n\n' * 2000 + b'data: {"type":"done"}\n\n'
    for answers in ("standard", "legacy"):
        whole = Translator(
            speaks="legacy", answers=answers, request_id="req_1", session_id="s", clock=lambda: 10**12
        )
        cut = Translator(
            speaks="legacy", answers=answers, request_id="req_1", session_id="s", clock=lambda: 10**12
        )
        expected, out = whole.feed(body) + whole.close(), bytearray()
        parts = ReadParts(body)
        while not parts.feed(lambda part, out=out, cut=cut: out.extend(cut.feed(part))):  # type: ignore[misc]
            pass
        assert bytes(out) + cut.close() == expected
