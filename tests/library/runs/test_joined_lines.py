"""Lines of a run in memory are those that were appended, joined or not."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamweir.runs import MemoryStore
from streamweir.runs.joined_lines import JoinedLines
from streamweir.runs.line_blocks import LineBlocks

LINE = st.binary(min_size=1, max_size=12).filter(lambda line: b"\n" not in line)
LINES = st.lists(LINE, min_size=1, max_size=5)
PLACE = st.integers(0, 40)


def _joined(lines: list[bytes]) -> JoinedLines:
    return JoinedLines(b"\n".join(lines), len(lines))


@given(LINES, st.none() | st.integers(-6, 6), st.none() | st.integers(-6, 6))
def test_joined_lines_equal_the_list_of_the_lines(
    lines: list[bytes], start: int | None, stop: int | None
) -> None:
    joined = _joined(lines)
    assert [*joined] == lines
    assert len(joined) == len(lines)
    assert joined[start:stop] == lines[start:stop]
    assert [joined[at] for at in range(-len(lines), len(lines))] == lines * 2
    with pytest.raises(IndexError):
        joined[len(lines)]


@given(st.lists(st.tuples(LINES, st.booleans()), max_size=6), PLACE, PLACE)
def test_blocks_give_the_lines_between_two_places(
    appended: list[tuple[list[bytes], bool]], start: int, stop: int
) -> None:
    blocks = LineBlocks()
    for lines, is_joined in appended:
        several = _joined(lines) if is_joined else lines
        blocks.extend(several, LineBlocks.memory_of(several))
    lines = [line for several, _ in appended for line in several]
    assert blocks.total == len(lines)
    assert blocks.between(start, stop) == lines[start:stop]
    assert blocks.memory >= sum(map(len, lines))


def test_lines_of_a_list_keep_their_line_ends() -> None:
    lines, blocks = [b'{\n"a": 1}', b"{}"], LineBlocks()
    blocks.extend(lines, LineBlocks.memory_of(lines))
    assert blocks.between(0, 9) == lines


@pytest.mark.anyio
@pytest.mark.parametrize("together", [1, 3, 250])
async def test_stored_events_take_no_more_memory_than_counted(together: int) -> None:
    store = MemoryStore()
    assert await store.claim("run", "t", b"{}", ttl=60)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        counted = store._bytes
        for at in range(0, 12_000, together):
            lines = [b'[1790000000000,"content","%06d and more",{}]' % (at + i) for i in range(together)]
            await store.append("run", "t", at, _joined(lines), ttl=60)
            del lines
        taken = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert taken <= (store._bytes - counted) * 1.15
