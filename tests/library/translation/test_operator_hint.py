"""A hint goes by the first bytes of a stream, however the network has cut them."""

import random

import pytest

from streams import recorded_streams
from streamweir.codec.registry import process_dialects
from streamweir.testing import cuts
from streamweir.translation.normalizer import StreamNormalizer
from streamweir.translation.operator_hint import stream_hint
from streamweir.translation.pipeline import Pipeline
from streamweir.translation.reader import StreamReader

FIRST = {stream.dialect: stream for stream in reversed(recorded_streams()) if stream.path.suffix != ".json"}
OTHERS = ("legacy", "standard", "ragflow", "openai-chat", "auto")


def hint_of(pieces: list[bytes], speaks: str, *, is_clean: bool) -> str | None:
    reader = StreamReader(speaks)
    stream = StreamNormalizer(reader, Pipeline((), "req_1"))
    for piece in pieces:
        stream.feed(piece)
    stream.close()
    return stream_hint(stream, speaks=speaks, dialects=process_dialects(), is_clean=is_clean)


@pytest.mark.parametrize("dialect", FIRST)
def test_hint_does_not_depend_on_the_cuts(dialect: str) -> None:
    body = FIRST[dialect].body
    for speaks in (*OTHERS, dialect):
        for end in (len(body), len(body) // 2, random.Random(dialect).randrange(len(body))):
            data = body[:end]
            for is_clean in (True, False):
                whole = hint_of([data], speaks, is_clean=is_clean)
                single = [data[at : at + 1] for at in range(min(len(data), 6000))] + [data[6000:]]
                for pieces in (single, cuts(data, seed=1), cuts(data, seed=2)):
                    assert hint_of(pieces, speaks, is_clean=is_clean) == whole, (speaks, end)


def test_head_holds_the_first_bytes_alone() -> None:
    for text in (b'data: {"type": "token", "content": "Hi"}\n\n' * 500, b"data: {}\n\n" * 5000):
        heads = set()
        for size in (1, 7, 300, len(text)):
            stream = StreamNormalizer(StreamReader("legacy"), Pipeline((), "req_1"))
            for at in range(0, len(text), size):
                stream.feed(text[at : at + size])
            heads.add(stream.head)
        (head,) = heads
        assert text.startswith(head)
        assert 1000 < len(head) <= 4096
