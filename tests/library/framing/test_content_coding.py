"""What a coded body costs to unpack is in proportion to its bytes."""

from __future__ import annotations

import gzip
import time

import pytest

from streamweir.framing.content_coding import MAX_EMPTY_MEMBERS, CodedBodyError, body_decoder

NOTHING = gzip.compress(b"", mtime=0)
LETTER = gzip.compress(b"x", mtime=0)


def unpacked(*pieces: bytes) -> bytes:
    decoder = body_decoder("gzip")
    assert decoder is not None
    body = b"".join(part for piece in pieces for part in decoder.feed(piece))
    decoder.finish()
    return body


def test_members_of_one_letter_each_take_time_in_proportion_to_their_number() -> None:
    start = time.thread_time()
    assert unpacked(LETTER * 50_000) == b"x" * 50_000
    assert time.thread_time() - start < 2


@pytest.mark.parametrize("cut", [1, 7, 20, 1 << 20])
def test_a_row_of_empty_members_is_no_body(cut: int) -> None:
    body = NOTHING * (2 * MAX_EMPTY_MEMBERS)
    start = time.thread_time()
    with pytest.raises(CodedBodyError):
        unpacked(*(body[at : at + cut] for at in range(0, len(body), cut)))
    assert time.thread_time() - start < 2


def test_empty_members_between_others_are_left_out() -> None:
    assert unpacked((NOTHING * 900 + LETTER) * 5 + NOTHING * 900 + b"\0" * 100_000) == b"x" * 5
