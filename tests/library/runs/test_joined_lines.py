"""Joined lines behave like the list of the same lines, however they were put together."""

import tracemalloc
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamweir.runs import MemoryStore
from streamweir.runs.joined_lines import JoinedLines

LINE = st.binary(min_size=1, max_size=12).filter(lambda line: b"\n" not in line)
BLOCKS = st.lists(st.lists(LINE, min_size=1, max_size=5), max_size=6)
PLACE = st.none() | st.integers(-40, 40)


def _joined(blocks: Sequence[Sequence[bytes]]) -> JoinedLines:
    lines = JoinedLines()
    for block in blocks:
        lines.extend(JoinedLines(b"\n".join(block), len(block)))
    return lines


@given(BLOCKS, BLOCKS, PLACE, PLACE, PLACE.filter(lambda step: step != 0))
def test_joined_lines_are_the_list_of_the_lines(
    first: list[list[bytes]],
    then: list[list[bytes]],
    start: int | None,
    stop: int | None,
    step: int | None,
) -> None:
    joined = _joined(first)
    joined.extend(_joined(then))
    lines = [line for block in [*first, *then] for line in block]
    assert [*joined] == lines
    assert len(joined) == len(lines)
    assert [joined[at] for at in range(-len(lines), len(lines))] == lines * 2
    assert joined[start:stop] == lines[start:stop]
    assert joined[start:stop:step] == lines[start:stop:step]
    assert joined.size == sum(map(len, lines))


def test_missing_line_raises_an_index_error() -> None:
    with pytest.raises(IndexError):
        _joined([[b"a", b"b"]])[2]


def test_lines_of_a_list_may_hold_line_ends() -> None:
    lines = [b'{\n"a": 1}', b"{}"]
    joined = JoinedLines.of(lines)
    assert [*joined] == lines
    assert JoinedLines.of(joined) is joined


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
            block = b"\n".join(
                b'[1790000000000,"content","%06d and more",{}]' % (at + i) for i in range(together)
            )
            await store.append("run", "t", at, JoinedLines(block, together), ttl=60)
        taken = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert taken <= (store._bytes - counted) * 1.15
