"""Heartbeats by what is written, and what clients of old dialects get."""

import json

import pytest

from streams import sse_messages
from streamweir import Translator
from streamweir.codec.registry import process_dialects
from streamweir.translation.open_writer import open_writer
from streamweir.translation.reader import StreamReader

OLD = ("legacy", "data-formulator", "stream-envelope", "easyflow", "ragflow")
WRITTEN = [name for name in process_dialects().writable if name not in ("vercel-data",)]
TOKEN = b'data: {"type": "token", "content": "Hi"}\n\n'


@pytest.mark.parametrize("name", WRITTEN)
def test_heartbeat_of_a_protocol_is_one_that_its_readers_skip(name: str) -> None:
    translator = Translator(speaks="legacy", answers=name)
    translator.feed(TOKEN)
    beat = translator.heartbeat()
    if name == "anthropic":
        assert beat == b'event: ping\ndata: {"type":"ping"}\n\n'
    elif name == "openai-chat":
        chunk = json.loads(beat.removeprefix(b"data: "))
        assert chunk["choices"] == [
            {"index": 0, "delta": {"content": ""}, "logprobs": None, "finish_reason": None}
        ]
    else:
        assert beat in (b": ping\n", b"\n", b"")


def test_chunk_without_text_has_the_id_of_its_neighbours() -> None:
    for first in ("beat", "text"):
        translator = Translator(speaks="legacy", answers="openai-chat", request_id="req_1")
        said = [translator.heartbeat()] if first == "beat" else []
        said += [translator.feed(TOKEN), translator.heartbeat(), translator.feed(TOKEN)]
        chunks = sse_messages(b"".join(said))
        assert len({(chunk["id"], chunk["model"]) for chunk in chunks}) == 1
        assert sum("role" in chunk["choices"][0]["delta"] for chunk in chunks) == 1


@pytest.mark.parametrize("name", WRITTEN)
def test_clients_of_old_dialects_get_no_heartbeat_that_was_not_asked_for(name: str) -> None:
    writer = open_writer(name, "sse", request_id="req_1")
    assert (writer.default_heartbeat() == b"") == (name in OLD or writer.heartbeat() == b"")
    if name in OLD:
        assert writer.heartbeat()


@pytest.mark.parametrize("sign", [b": keep-alive\n\n", b'data: {"type": "ping"}\n\n', b": still here\n\n"])
def test_old_client_gets_the_sign_of_life_that_its_stream_has_shown(sign: bytes) -> None:
    translator = Translator(speaks="legacy", answers="legacy")
    writer = translator.writer
    translator.feed(TOKEN)
    assert writer.default_heartbeat() == b""
    assert writer.heartbeat() == b": ping\n"
    assert translator.feed(sign + TOKEN) == sign + TOKEN
    assert writer.default_heartbeat() == writer.heartbeat() == sign


def test_old_client_gets_no_sign_of_life_that_is_large_or_has_content() -> None:
    translator = Translator(speaks="legacy", answers="legacy")
    translator.feed(TOKEN + b": " + b"x" * 300 + b"\n\n" + TOKEN)
    assert translator.writer.default_heartbeat() == b""


@pytest.mark.parametrize(
    "mark", [b"data: [DONE]\n\n", b"data:  [DONE]\r\n\r\n", b"event: end\ndata: [DONE]\n\n"]
)
@pytest.mark.parametrize("answer", [b"", b'data: {"type":"final_answer","content":"Hi"}\n\n'])
def test_old_client_gets_no_mark_of_the_end_as_a_sign_of_life(mark: bytes, answer: bytes) -> None:
    translator = Translator(speaks="legacy", answers="legacy")
    assert translator.feed(TOKEN + answer + mark) == TOKEN + answer + mark
    assert translator.writer.default_heartbeat() == b""


def test_reader_of_a_stream_with_lone_comments_sees_every_event() -> None:
    beats = b": ping\n"
    reader = StreamReader(process_dialects().to_read("legacy"))
    body = beats + TOKEN + beats + beats + TOKEN + beats
    assert reader.feed(body)
