"""Tokens are counted as far as the upstream has reported them, for each end of a stream."""

import json
import re
from functools import cache
from typing import Final

import pytest

from cases import case, for_each
from streams import Recorded, dialect_of, one_byte_each, recorded_streams
from streamweir import Translator
from streamweir.errors import error_info
from streamweir.stages.endings import token_counts
from streamweir.testing import check_stream

NUMBER: Final = re.compile(rb'("(?i:\w*tokens?\w*|[a-z]+_count)"\s*:\s*)(\d+)')
"""A member of a JSON object that counts tokens."""

BAD: Final = {
    "negative": b"-1",
    "beyond a float": b"1e400",
    "text": b'"7"',
    "list": b"[7]",
    "object": b'{"count": 7}',
    "true": b"true",
    "null": b"null",
    "more than a float holds exactly": b"18014398509481984",
    "fraction": b"0.25",
}


def translator(recorded: Recorded) -> Translator:
    options = {recorded.dialect: recorded.options}
    return Translator(speaks=recorded.dialect, framing="ndjson", protocol_options=options)


@cache
def counted_in(recorded: Recorded) -> dict[str, int]:
    """The tokens of a recorded stream, whose body ends properly."""
    whole = translator(recorded)
    whole.feed(recorded.body)
    whole.close()
    return whole.stream.tokens


def test_recorded_streams_with_tokens_are_of_many_dialects() -> None:
    assert len({recorded.dialect for recorded in recorded_streams() if counted_in(recorded)}) > 12


def is_read_before_its_end(recorded: Recorded) -> bool:
    """Whether the last frame is read before the end of the body."""
    stream = translator(recorded).stream
    stream.feed(recorded.body)
    return recorded.body.endswith(b"\n") and not stream.reader.is_document


@for_each("recorded", recorded_streams(), group=dialect_of)
def test_tokens_of_stream_without_its_end_are_those_reported(recorded: Recorded) -> None:
    expected = counted_in(recorded)
    if not expected or not is_read_before_its_end(recorded):
        return
    for how in ("cancel", "fail"):
        cut = translator(recorded).stream
        cut.feed(recorded.body)
        if how == "cancel":
            cut.cancel("client_gone")
        else:
            cut.fail(error_info("GATEWAY_DRAINING"))
        with case(how):
            assert cut.tokens == expected


@pytest.mark.parametrize("cut", ["at once", "message by message", "byte by byte"])
def test_counts_beside_texts_are_those_of_the_latest_message(cut: str) -> None:
    def message(number: int) -> bytes:
        part = {"content": {"parts": [{"text": f"word{number} "}], "role": "model"}, "index": 0}
        usage = {"promptTokenCount": 5, "candidatesTokenCount": number, "totalTokenCount": 5 + number}
        return b"data: %b\n\n" % json.dumps({"candidates": [part], "usageMetadata": usage}).encode()

    messages = [message(number) for number in range(1, 41)]
    pieces = {"at once": [b"".join(messages)], "message by message": messages}
    stream = Translator(speaks="gemini").stream
    for piece in pieces.get(cut) or one_byte_each(b"".join(messages)):
        stream.feed(piece)
    stream.cancel("client_gone")
    assert stream.tokens == {"prompt_tokens": 5, "completion_tokens": 40, "total_tokens": 45}


@for_each("recorded", recorded_streams(), group=dialect_of)
def test_usage_that_is_no_count_is_not_counted(recorded: Recorded) -> None:
    if not NUMBER.search(recorded.body) or not counted_in(recorded):
        return
    for name, value in BAD.items():
        body = NUMBER.sub(rb"\g<1>" + value, recorded.body)
        bad = translator(recorded)
        output = bad.feed(body) + bad.close()
        with case(name):
            assert check_stream(output, framing="ndjson") == []
            assert bad.stream.reader.faults == 0
            counts = bad.stream.tokens.values()
            assert all(type(count) is int and 0 <= count < 1 << 53 for count in counts)


@pytest.mark.parametrize(
    ("summary", "counts"),
    [
        ({}, {}),
        ({"prompt_tokens": 0}, {"prompt_tokens": 0}),
        ({"prompt_tokens": 5, "completion_tokens": 2}, {"total_tokens": 7}),
        ({"prompt_tokens": 5, "total_tokens": 7}, {"completion_tokens": 2}),
        ({"completion_tokens": 2, "total_tokens": 7}, {"prompt_tokens": 5}),
        ({"completion_tokens": 9, "total_tokens": 7}, {"completion_tokens": 9, "total_tokens": 7}),
        ({"prompt_tokens": -1, "total_tokens": "7"}, {}),
        ({"duration_ms": 3, "finish_reason": "stop", "queue_time": 1}, {}),
    ],
)
def test_token_counts_gives_the_third_count_of_two(
    summary: dict[str, object], counts: dict[str, int]
) -> None:
    found = token_counts(summary)
    assert found.items() >= counts.items()
    assert found.keys() <= {"prompt_tokens", "completion_tokens", "total_tokens"}
    assert bool(found) == bool(counts)
