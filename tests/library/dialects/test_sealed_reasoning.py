"""The seal of a piece of reasoning names the length of the piece, however the upstream's body is cut."""

import json
from collections.abc import Iterable
from typing import Any

from streamweir import Translator
from streamweir.opaque.seal import read_seal

PIECES = [f"thought{number} " for number in range(20)]


def _frame(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def _signed_reasoning() -> list[bytes]:
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
    block = {"type": "thinking", "thinking": "", "signature": ""}
    deltas: list[dict[str, Any]] = [{"type": "thinking_delta", "thinking": piece} for piece in PIECES]
    deltas.append({"type": "signature_delta", "signature": "c2lnbmF0dXJl"})
    return [
        _frame("message_start", message=message),
        _frame("content_block_start", index=0, content_block=block),
        *(_frame("content_block_delta", index=0, delta=delta) for delta in deltas),
        _frame("content_block_stop", index=0),
        _frame("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 1}),
        _frame("message_stop"),
    ]


def _sealed_lengths(reads: Iterable[bytes]) -> list[Any]:
    translator = Translator(speaks="anthropic", answers="openai-chat")
    written = b"".join(map(translator.feed, reads)) + translator.close()
    chunks = [json.loads(line[6:]) for line in written.split(b"\n") if line.startswith(b"data: {")]
    details = [
        detail
        for chunk in chunks
        for choice in chunk["choices"]
        for detail in choice["delta"].get("reasoning_details", [])
    ]
    seals = [read_seal(detail["data"]) for detail in details]
    return [seal.value["length"] for seal in seals if seal is not None]


def test_seal_of_reasoning_names_its_length_for_one_frame_a_read() -> None:
    assert _sealed_lengths(_signed_reasoning()) == [len("".join(PIECES))]


def test_seal_of_reasoning_names_its_length_for_a_body_in_one_read() -> None:
    assert _sealed_lengths([b"".join(_signed_reasoning())]) == [len("".join(PIECES))]
