"""A long read costs as much as its pieces, and means the same."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from hostile_streams import Shape, mixed, shapes_of
from streamweir import Translator
from streamweir.codec.registry import process_dialects
from streamweir.translation.reading.surroundings import Surroundings

DIALECTS = process_dialects()
LONG = 100 << 10
PIECE = 4000


def translated(speaks: str, body: bytes, size: int, **options: Any) -> bytes:
    fixed = {"request_id": "req_1", "session_id": "s", "clock": lambda: 1}
    engine = Translator(speaks=speaks, **{**fixed, **options})
    out = [engine.feed(body[at : at + size]) for at in range(0, len(body), size)]
    return b"".join([*out, engine.close()])


def lasting(speaks: str) -> list[Shape]:
    """Return the messages behind which a stream goes on."""

    def goes_on(shape: Shape) -> bool:
        engine = Translator(speaks=speaks)
        engine.feed(shape.frame(shape.value))
        return not engine.ended

    return [shape for shape in shapes_of(speaks) if goes_on(shape)]


@pytest.mark.parametrize("speaks", DIALECTS.readable)
def test_long_read_of_any_messages_means_the_same_as_its_pieces(speaks: str) -> None:
    shapes = lasting(speaks)
    frames = mixed(shapes, 40)
    body = b"".join(frames * (LONG // sum(map(len, frames)) + 1))
    assert translated(speaks, body, len(body)) == translated(speaks, body, PIECE)
    if speaks in DIALECTS.writable:
        copied: dict[str, Any] = {"answers": speaks, "verbatim": True}
        assert translated(speaks, body, len(body), **copied) == translated(speaks, body, PIECE, **copied)


def blocks(*messages: dict[str, Any]) -> bytes:
    return b"".join(b"data: %b\n\n" % json.dumps(message).encode() for message in messages)


TEXTS_AMONG_OTHERS = {
    "anthropic": blocks(
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}},
        {
            "type": "message_start",
            "message": {
                "model": "m",
                "id": "a",
                "type": "message",
                "role": "assistant",
                "content": [],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": {"input_tokens": 1},
            },
        },
    ),
    "openai-chat": blocks(
        {
            "id": "c",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}],
        },
        {
            "id": "c",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": None}],
        },
    ),
}


@pytest.mark.parametrize("speaks", TEXTS_AMONG_OTHERS)
def test_texts_among_blocks_of_declared_forms_are_looked_for_in_few_bytes(
    speaks: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at: Counter[str] = Counter()
    texts_in = Surroundings.texts_in

    def counted(around: Surroundings, data: bytes) -> list[str] | None:
        looked_at["bytes"] += len(data)
        return texts_in(around, data)

    monkeypatch.setattr(Surroundings, "texts_in", counted)
    pair = TEXTS_AMONG_OTHERS[speaks]
    body = pair * (LONG // len(pair))
    engine = Translator(speaks=speaks)
    assert (engine.feed(pair) + engine.feed(body)).count(b'"content":"a"') == 1 + LONG // len(pair)
    assert looked_at["bytes"] < 4 * len(body)
