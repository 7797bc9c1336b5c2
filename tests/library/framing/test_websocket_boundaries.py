"""The boundaries of frames, however their bytes are cut."""

from hypothesis import given
from hypothesis import strategies as st
from websockets.frames import Frame, Opcode

from streamweir.framing.websocket_boundaries import FrameBoundaries

FRAMES = st.lists(
    st.tuples(
        st.sampled_from([Opcode.TEXT, Opcode.BINARY, Opcode.PING]),
        st.sampled_from([0, 1, 2, 125, 126, 200, 65_535, 65_536]),
    ),
    max_size=4,
)


@given(
    FRAMES, st.booleans(), st.sampled_from([None, 1000, 4401]), st.lists(st.integers(0, 80_000), max_size=4)
)
def test_boundaries_are_the_ends_of_frames_however_they_are_cut(
    frames: list[tuple[Opcode, int]], masked: bool, code: int | None, cuts: list[int]
) -> None:
    parts = [
        Frame(op, bytes(min(size, 125) if op == Opcode.PING else size)).serialize(mask=masked)
        for op, size in frames
    ]
    parts.append(
        Frame(Opcode.CLOSE, b"" if code is None else code.to_bytes(2) + b"why").serialize(mask=masked)
    )
    body = b"".join(parts)
    ends = {sum(map(len, parts[:index])) for index in range(len(parts) + 1)}
    follower, last = FrameBoundaries(), 0
    for cut in sorted({min(cut, len(body)) for cut in cuts} | {len(body)}):
        follower.feed(body[last:cut])
        last = cut
        assert follower.is_at_boundary == (cut in ends)
        assert follower.has_closed == (cut == len(body))
    assert follower.close_code == code


def test_boundaries_of_each_byte_alone_are_the_ends_of_frames() -> None:
    parts = [Frame(Opcode.TEXT, bytes(size)).serialize(mask=True) for size in (0, 3, 126, 300)]
    follower, found = FrameBoundaries(), []
    for seen, byte in enumerate(b"".join(parts), start=1):
        follower.feed(bytes([byte]))
        if follower.is_at_boundary:
            found.append(seen)
    assert found == [sum(map(len, parts[: index + 1])) for index in range(len(parts))]
