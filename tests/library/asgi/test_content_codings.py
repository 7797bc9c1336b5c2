"""Decoders of compressed bodies: piece by piece, within bounds."""

import gzip
import zlib

import brotli
import pytest

from streamweir.framing.content_coding import PIECE, CodedBodyError, CutOffBodyError, body_decoder

TEXT = b"data: {}\n\n" * 400_000


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


CODED = {
    "gzip": gzip.compress(TEXT, mtime=0),
    "x-gzip": gzip.compress(TEXT, mtime=0),
    "deflate": zlib.compress(TEXT),
    " Deflate ": raw_deflate(TEXT),
    "br": brotli.compress(TEXT, quality=5),
}


@pytest.mark.parametrize("coding", CODED)
@pytest.mark.parametrize("size", [1, 100, 1 << 30])
def test_coded_body_cut_anywhere_gives_the_same_bytes(coding: str, size: int) -> None:
    decoder, coded = body_decoder(coding), CODED[coding]
    out: list[bytes] = []
    assert decoder is not None
    for start in range(0, len(coded), size):
        out.extend(decoder.feed(coded[start : start + size]))
    decoder.finish()
    assert b"".join(out) == TEXT
    assert max(map(len, out)) <= 2 * PIECE


@pytest.mark.parametrize("coding", CODED)
def test_coded_body_that_is_cut_off_is_truncated(coding: str) -> None:
    decoder = body_decoder(coding)
    assert decoder is not None
    list(decoder.feed(CODED[coding][:-3]))
    with pytest.raises(CutOffBodyError):
        decoder.finish()


@pytest.mark.parametrize("coding", CODED)
def test_body_in_another_coding_is_invalid(coding: str) -> None:
    decoder = body_decoder(coding)
    assert decoder is not None
    with pytest.raises(CodedBodyError):
        list(decoder.feed(b"data: hello, I am no such thing\n\n" * 10))


def test_empty_coded_body_is_complete() -> None:
    for coding in CODED:
        decoder = body_decoder(coding)
        assert decoder is not None
        decoder.finish()


def test_body_decoder_accepts_known_codings_by_name() -> None:
    assert body_decoder("") is None
    assert body_decoder("identity") is None
    for coding in ("zstd", "gzip, br", "nonsense"):
        with pytest.raises(CodedBodyError):
            body_decoder(coding)
