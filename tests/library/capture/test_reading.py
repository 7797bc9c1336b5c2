"""Capture files read: whole, broken off, compressed, from the future, hostile."""

import gzip
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streamweir import Limits, capture
from streamweir.capture import CaptureError
from streamweir.capture.reading import lines_of
from streamweir.testing import DecoderConformance

META: dict[str, Any] = {"kind": "capture", "version": 1, "id": "req_1", "began": "2026-11-22T08:00:00.123Z"}


def lines(*values: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


WHOLE = lines(
    META,
    {"kind": "request", "t": 0, "side": "client", "method": "POST", "target": "/chat", "headers": []},
    {"kind": "response", "t": 1, "side": "upstream", "attempt": 1, "status": 503, "headers": []},
    {"kind": "read", "t": 2, "n": 0, "attempt": 1, "data": "one"},
    {"kind": "attempt", "t": 3, "attempt": 1, "upstream": "a", "ended": "broken"},
    {"kind": "novelty", "t": 3},
    {"kind": "read", "t": 4, "n": 1, "attempt": 2, "data": "tw\u00f6", "new": True},
    {"kind": "read", "t": 5, "n": 2, "attempt": 2, "base64": "/wA="},
    {"kind": "mark", "t": 5, "what": "never heard of"},
    {"kind": "event", "t": 5, "read": 2, "event": {"type": "content", "data": {"content": "x"}}},
    {"kind": "write", "t": 5, "n": 0, "data": "y"},
    {"kind": "attempt", "t": 6, "attempt": 2, "upstream": "b", "ended": "eof"},
    {"kind": "end", "t": 6, "reason": "done", "status": "completed"},
)


def load(data: bytes, **limits: int) -> list[capture.Capture]:
    return capture.load(io.BytesIO(data), limits=Limits(**limits) if limits else None)


def test_everything_is_there(tmp_path: Path) -> None:
    path = tmp_path / "any.name"
    path.write_bytes(WHOLE)
    (found,) = capture.load(path)
    assert found.meta["id"] == found.id == "req_1"
    assert [request["side"] for request in found.requests] == ["client"]
    assert [response["status"] for response in found.responses] == [503]
    assert found.reads == [(4, "twö".encode()), (5, b"\xff\0")]
    assert found.body == "twö".encode() + b"\xff\0"
    assert [event["type"] for event in found.events] == ["content"]
    assert [write["data"] for write in found.writes] == ["y"]
    assert [mark["what"] for mark in found.marks] == ["never heard of"]
    assert found.end == {"kind": "end", "t": 6, "reason": "done", "status": "completed"}


def test_capture_file_with_several_or_compressed_ones_is_read() -> None:
    assert [found.id for found in load(gzip.compress(WHOLE + WHOLE, mtime=0))] == ["req_1", "req_1"]


def test_file_that_is_cut_is_read_up_to_the_cut() -> None:
    for length in range(len(lines(META)), len(WHOLE)):
        (found,) = load(WHOLE[:length])
        is_half = not (WHOLE[:length].endswith(b"\n") or WHOLE[length : length + 1] == b"\n")
        assert bool(found.notes) == is_half


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (lines({**META, "version": 2}), "made by a newer streamweir"),
        (lines(META) + b"{nothing\n" + lines({"kind": "mark", "t": 1}), "line 2 is no JSON object"),
        (lines(META) + b"[1]\n" + lines({"kind": "mark", "t": 1}), "line 2 is no JSON object"),
        (lines(META, {"kind": "read", "t": 1, "base64": "!"}), "line 2 holds no base64"),
        (b"data: 1\n\n", "no capture"),
        (lines({"kind": "read", "t": 1, "data": "x"}), "no capture"),
        (b"", "no capture"),
        (gzip.compress(WHOLE, mtime=0)[:60], "the compressed file is broken"),
    ],
)
def test_file_that_is_no_capture_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(CaptureError, match=why):
        load(data)


def test_capture_is_no_larger_than_a_stream() -> None:
    with pytest.raises(CaptureError, match="line 3: the capture is larger"):
        load(lines(META, *[{"kind": "read", "t": 1, "data": "x" * 60}] * 2), stream_bytes=100)
    event = {"kind": "event", "t": 1, "event": {"type": "content", "data": {"content": "x" * 1000}}}
    with pytest.raises(CaptureError, match="line 2: the event is larger"):
        load(lines(META, event), event_bytes=100)
    with pytest.raises(CaptureError, match="a line is longer"):
        load(lines({**META, "x": "y" * 1000}), stream_bytes=100)


def test_endless_line_is_refused_before_all_of_it_is_read() -> None:
    taken = 0

    def pieces() -> Iterator[bytes]:
        nonlocal taken
        yield lines(META) + b'{"kind": "read", "data": "'
        for _ in range(1024):
            taken += 1
            yield b"x" * (1 << 20)

    with pytest.raises(CaptureError, match="a line is longer than one may be"):
        capture.parse_captures(lines_of(pieces()))
    assert taken < 64, "MiB of a line of a GiB"


@pytest.mark.parametrize("kind", ["read", "event", "write", "mark", "request", "a kind of later"])
def test_lines_of_any_kind_are_refused_when_there_are_too_many(kind: str) -> None:
    taken = 0

    def many() -> Iterator[bytes]:
        nonlocal taken
        yield lines(META)
        for _ in range(10_000):
            taken += 1
            yield lines({"kind": kind, "t": 1, "text": "x" * 10_000})

    with pytest.raises(CaptureError, match="the capture is larger"):
        capture.parse_captures(many(), limits=Limits(stream_bytes=1 << 20))
    assert taken < 2000, "lines of 10 kB"


def test_samples_of_a_decoder_may_be_captures(tmp_path: Path) -> None:
    body = 'data: {"type": "token", "content": "Tea"}\n\ndata: {"type": "done"}\n\n'
    recorded = lines(META, {"kind": "read", "t": 1, "n": 0, "attempt": 1, "data": body})
    (tmp_path / "one").write_bytes(recorded)

    class Conformance(DecoderConformance):
        dialect = "legacy"
        samples = (tmp_path / "one", recorded, body.encode())

    Conformance().test_gives_a_valid_stream_in_every_framing()
    Conformance().test_does_not_depend_on_how_the_network_cuts()
