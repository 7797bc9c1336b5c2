"""A heartbeat of `openai-chat` is a chunk like its neighbours: it has their id, time and model.

Source: the standard protocol 1.1, section 4.
"""

import json
from itertools import count
from typing import Any

import pytest

from cases import case
from places import RECORDED
from streamweir import Translator
from streamweir.codec.registry import process_dialects
from streamweir.events import Content, SessionStart, Stamp
from streamweir.translation.reader import StreamReader
from streamweir.translation.verbatim.copied_writer import CopiedWriter

MARKS = ("id", "created", "model")
CHUNK = {"id": "chatcmpl-theirs", "object": "chat.completion.chunk", "created": 1_700_000_123, "model": "m-7"}
TRICKY = 'say {"id":"no","created":5,"choices":[]} '


def chunk(text: str, **fields: Any) -> bytes:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
    return f"data: {json.dumps({**CHUNK, **fields, 'choices': [choice]})}\n\n".encode()


def marks_in(body: bytes) -> list[tuple[object, ...]]:
    lines = [line[6:] for line in body.splitlines() if line.startswith(b"data: {")]
    return [tuple(json.loads(line)[name] for name in MARKS) for line in lines]


def small(body: bytes, pieces: int = 12) -> list[bytes]:
    size = len(body) // pieces + 1
    return [body[at : at + size] for at in range(0, len(body), size)]


@pytest.mark.parametrize("speaks", process_dialects().readable)
def test_chunks_written_anew_and_heartbeats_have_one_id_time_and_model(speaks: str) -> None:
    """The clock goes on by ten seconds with each look."""
    bodies = [
        path for path in sorted((RECORDED / speaks).glob("*")) if path.suffix in (".sse", ".ndjson", ".txt")
    ]
    assert bodies
    for path in bodies:
        clock = count(1_790_000_000_000, 10_000).__next__
        options: dict[str, Any] = {"speaks": speaks, "answers": "openai-chat", "verbatim": False}
        translator = Translator(**options, request_id="req_1", clock=clock)
        # the model of an upstream of the same dialect is known from its first chunk on
        output = b"" if speaks == "openai-chat" else translator.heartbeat()
        for piece in small(path.read_bytes()):
            output += translator.feed(piece)
            if translator.started and not translator.ended:
                output += translator.heartbeat()
        found = marks_in(b"\n".join(line for line in output.splitlines() if b'"choices"' in line))
        with case(path.name):
            assert len(set(found)) <= 1


@pytest.mark.parametrize("early", [False, True])
def test_heartbeat_between_copied_chunks_has_their_id_time_and_model(early: bool) -> None:
    translator = Translator(speaks="openai-chat", answers="openai-chat", request_id="req_1")
    if early:
        translator.heartbeat()
    theirs = tuple(CHUNK[name] for name in MARKS)
    for text in ("", TRICKY, "x" * 9000, "y"):
        assert marks_in(translator.feed(chunk(text))) == [theirs]
        assert marks_in(translator.heartbeat()) == [theirs]
        tools = [{"index": 0, "id": "call_9", "function": {"name": "f", "arguments": '{"created":7}'}}]
        called = chunk("", usage=None)[:-2].replace(
            b'"content": ""', b'"tool_calls": ' + json.dumps(tools).encode()
        )
        assert marks_in(translator.feed(called + b"\n\n")) == [theirs]
        assert marks_in(translator.heartbeat()) == [theirs]


def test_heartbeat_behind_stored_chunks_has_their_id_time_and_model() -> None:
    dialect = process_dialects().to_write("openai-chat")
    encoder = dialect.make_encoder({}, room=1 << 16)
    writer = CopiedWriter(dialect, encoder, "sse", source=StreamReader("openai-chat"))
    writer.heartbeat()
    meta: Any = {"message_id": CHUNK["id"], "extra": {"model": CHUNK["model"]}}
    start = SessionStart("s", "req_1", meta=meta)
    writer.show(start, Stamp("req_1", 0, 1_790_000_000_000))
    writer.show(Content("a"), Stamp("req_1", 1, 1_790_000_000_000))
    stored = chunk("a")
    writer.copy(stored, 0, range(2))
    writer.copy(b": comment\n\n", len(stored), range(2, 2))
    assert marks_in(writer.heartbeat()) == [tuple(CHUNK[name] for name in MARKS)]
