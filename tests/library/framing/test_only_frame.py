"""A read that is one whole frame, taken without the state of the parser."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamweir.errors import LimitExceeded
from streamweir.framing import Frame, NDJSONParser, SSEParser

PARTS = st.lists(
    st.sampled_from(
        [
            b"data: ",
            b"data:",
            b"event: a",
            b"id: 7",
            b"{}",
            b'{"a":1}',
            b"x",
            b":",
            b"\n",
            b"\n\n",
            b"\r",
            b"\0",
        ]
    ),
    max_size=7,
)
BEGINNINGS = {SSEParser: b"data: 1\n\n", NDJSONParser: b'{"b":2}\n'}


def feed(parser: SSEParser | NDJSONParser, data: bytes) -> list[object]:
    """Feed `data`; return the frames as they are seen, and the error at their end if there is one."""
    seen: list[object] = []
    try:
        seen += map(shown, parser.feed(data))
    except LimitExceeded as error:
        seen.append(str(error))
    return seen


def shown(frame: Frame) -> tuple[object, ...]:
    return frame.data, frame.event, frame.id, frame.raw, frame.bare, frame.is_gap


@pytest.mark.parametrize("keeps_raw", [False, True])
@pytest.mark.parametrize("kind", BEGINNINGS)
@given(parts=PARTS, before=PARTS)
def test_frame_of_a_whole_read_equals_that_of_feed(
    kind: type[SSEParser] | type[NDJSONParser], keeps_raw: bool, parts: list[bytes], before: list[bytes]
) -> None:
    one, other = kind(24, keeps_raw), kind(24, keeps_raw)
    read = b"".join(parts)
    for data in (BEGINNINGS[kind], *before):
        assert feed(one, data) == feed(other, data)

    frame = one.only_frame(read)

    seen = feed(other, read)
    assert feed(one, read) == seen if frame is None else [shown(frame)] == seen
    assert one.is_at_boundary == other.is_at_boundary
