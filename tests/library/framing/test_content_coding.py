"""Decoding a coded body takes time and memory in proportion to its bytes."""

from __future__ import annotations

import gzip
import sys
import time
import tracemalloc
import zlib
from collections.abc import Callable
from types import ModuleType

import brotli
import pytest

from streamweir.framing.content_coding import MAX_EMPTY_MEMBERS, PIECE, CodedBodyError, body_decoder

NOTHING = gzip.compress(b"", mtime=0)
LETTER = gzip.compress(b"x", mtime=0)


def unpacked(*pieces: bytes) -> bytes:
    decoder = body_decoder("gzip")
    assert decoder is not None
    body = b"".join(part for piece in pieces for part in decoder.feed(piece))
    decoder.finish()
    return body


def test_inflate_with_members_of_one_letter_takes_time_in_proportion() -> None:
    start = time.thread_time()
    assert unpacked(LETTER * 50_000) == b"x" * 50_000
    assert time.thread_time() - start < 2


@pytest.mark.parametrize("cut", [1, 7, 20, 1 << 20])
def test_inflate_with_a_row_of_empty_members_raises(cut: int) -> None:
    body = NOTHING * (2 * MAX_EMPTY_MEMBERS)
    start = time.thread_time()
    with pytest.raises(CodedBodyError):
        unpacked(*(body[at : at + cut] for at in range(0, len(body), cut)))
    assert time.thread_time() - start < 2


def test_inflate_with_empty_members_between_others_skips_them() -> None:
    assert unpacked((NOTHING * 900 + LETTER) * 5 + NOTHING * 900 + b"\0" * 100_000) == b"x" * 5


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
}


@pytest.mark.parametrize("coding", PACKERS)
def test_body_decoder_with_few_bytes_yields_bounded_pieces(coding: str) -> None:
    size = 64 << 20
    packed = PACKERS[coding](bytes(size))
    decoder = body_decoder(coding)
    assert decoder is not None
    tracemalloc.start()
    try:
        sizes = [len(piece) for piece in decoder.feed(packed)]
        assert tracemalloc.get_traced_memory()[1] < 4 * PIECE + len(packed)
    finally:
        tracemalloc.stop()
    assert max(sizes) <= 2 * PIECE
    assert sum(sizes) == size


class _UnboundedDecompressor:
    """That of brotli 1.1: it gives all that its input unpacks to."""

    def process(self, data: bytes) -> bytes:
        raise AssertionError("it would be given input")

    def is_finished(self) -> bool:
        return True


@pytest.mark.parametrize("name", ["brotli", "brotlicffi"])
def test_body_decoder_with_unbounded_brotli_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    old = ModuleType(name)
    old.Decompressor = _UnboundedDecompressor  # type: ignore[attr-defined]
    for each in ("brotli", "brotlicffi"):
        monkeypatch.setitem(sys.modules, each, old if each == name else None)
    with pytest.raises(CodedBodyError):
        body_decoder("br")


def test_body_decoder_with_two_brotli_packages_takes_the_bounded_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    old = ModuleType("brotli")
    old.Decompressor = _UnboundedDecompressor  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "brotli", old)
    monkeypatch.setitem(sys.modules, "brotlicffi", brotli)
    decoder = body_decoder("br")
    assert decoder is not None
    assert b"".join(decoder.feed(brotli.compress(b"text"))) == b"text"
