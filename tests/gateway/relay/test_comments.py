"""The comments that a body begins with."""

import pytest

from streamweir_gateway.relay.quiet_stream import comments_at


@pytest.mark.parametrize(
    ("data", "size"),
    [
        *[(b"", 0), (b": a\n\n: b\r\n", 10), (b": a\n: b", 4), (b"\n\ndata: x\n\n", 2), (b":\n\r\n", 4)],
        *[(b": a\r: b\r\r", 0), (b"\xef\xbb\xbf: a\n", 0), (b"data: x\n: a\n", 0), (b" : a\n", 0)],
    ],
)
def test_comments_at_counts_whole_comments_and_blank_lines(data: bytes, size: int) -> None:
    assert comments_at(data) == size
