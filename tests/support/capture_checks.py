"""Checks of the lines of a capture against the bytes that an upstream sent and a client got."""

import base64
import io
import itertools
import json
from collections.abc import Iterable
from typing import Any

from loopback import Answer
from streams import events_of
from streamweir import Translator
from streamweir.capture import Capture, load
from streamweir.capture.playback import Playback, recorded_options
from streamweir.testing import check_stream

Lines = list[dict[str, Any]]

WORDS = {
    *("commit", "retry", "fallback", "repair", "malformed", "warning", "lossy", "redacted", "repeated"),
    *("dropped", "heartbeat", "silence", "timeout", "client_gone", "slow_client", "draining", "left_out"),
}
REQUIRED = {
    "capture": ("version", "id", "began", "by", "from", "content"),
    "request": ("t", "side", "method", "headers", "body"),
    "response": ("t", "side", "status", "headers"),
    "read": ("t", "n", "attempt"),
    "event": ("t", "event"),
    "write": ("t", "n"),
    "mark": ("t", "what"),
    "attempt": ("t", "attempt", "upstream", "ended"),
    "end": ("t", "reason", "status", "events", "bytes_in", "bytes_out", "client"),
}
"""By the kind of a line, the fields that it always has."""
_TIMES = ("timestamp", "duration_ms")


def of_kind(lines: Lines, kind: str, **wanted: Any) -> Lines:
    """The lines of a kind with these fields."""
    return [
        line
        for line in lines
        if line["kind"] == kind and all(line.get(name) == value for name, value in wanted.items())
    ]


def marks(lines: Lines) -> list[str]:
    """The words of all marks, in order."""
    return [line["what"] for line in of_kind(lines, "mark")]


def body_of(lines: Iterable[dict[str, Any]]) -> bytes:
    """The bytes of reads or writes, joined."""
    return b"".join(
        line["data"].encode() if "data" in line else base64.b64decode(line["base64"]) for line in lines
    )


def assert_same_but_masked(shown: bytes, sent: bytes) -> None:
    """Each byte is the one that was sent, or the mask of a secret."""
    assert len(shown) == len(sent), (len(shown), len(sent), shown[-200:], sent[-200:])
    other = [place for place, pair in enumerate(zip(shown, sent, strict=True)) if pair[0] != pair[1]]
    assert all(shown[place : place + 1] == b"*" for place in other), shown


def assert_well_formed(lines: Lines) -> None:
    """The lines keep the contract of capture files, whatever the stream was."""
    first, *others = lines
    assert first["kind"] == "capture"
    assert (first["version"], first["from"]) == (1, "console")
    for line in lines:
        assert {*REQUIRED[line["kind"]]} <= {*line}, line
    times = [line["t"] for line in others]
    assert times == sorted(times), "times never fall"
    assert all(time >= 0 for time in times)
    assert set(marks(lines)) <= WORDS
    reads, writes = of_kind(lines, "read"), of_kind(lines, "write")
    for lane in (reads, writes):
        numbers = [line["n"] for line in lane]
        assert numbers == sorted(set(numbers))
    known = set()
    for line in others:
        if line["kind"] == "read":
            known.add(line["n"])
        elif "read" in line and line.get("what") != "silence":  # a silence is before the read
            assert line["read"] in known, line
    assert None not in [value for line in lines for value in line.values()]
    assert all("data" in line or "base64" in line or "bytes" in line for line in (*reads, *writes))


def assert_whole(lines: Lines) -> None:
    """Nothing was left out: numbers and sequences have no gap, and writes say which events are in them."""
    assert_well_formed(lines)
    for kind in ("read", "write"):
        assert [line["n"] for line in of_kind(lines, kind)] == [*range(len(of_kind(lines, kind)))]
    sequences = [line["event"]["metadata"]["sequence"] for line in of_kind(lines, "event")]
    assert sequences == [*range(len(sequences))]
    told = [line["sequences"] for line in of_kind(lines, "write") if "sequences" in line]
    for (_, last), (start, _) in itertools.pairwise(told):
        assert start == last + 1, told
    if told:
        assert told[0][0] == 0
        assert told[-1][1] < len(sequences), (told, len(sequences))


def events_in(lines: Lines) -> list[dict[str, Any]]:
    """The events of the capture."""
    return [line["event"] for line in of_kind(lines, "event")]


def without_times(events: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Events without the two fields that depend on the clock."""
    found = [json.loads(json.dumps(event)) for event in events]
    for event in found:
        for name in _TIMES:
            event.get("metadata", {}).pop(name, None)
            event.get("data", {}).get("summary", {}).pop(name, None)
    return found


def converted(file: bytes) -> list[list[dict[str, Any]]]:
    """The events that `convert --to standard` makes of each capture of a file."""
    return [_played(capture) for capture in load(io.BytesIO(file))]


def _played(capture: Capture) -> list[dict[str, Any]]:
    playback = Playback(capture)
    options = {**recorded_options(capture), "framing": "ndjson", "clock": playback.clock}
    translator = Translator(answers="standard", **options)
    output = b"".join(playback.pieces(translator))
    assert check_stream(output, framing="ndjson") == []
    return events_of(output)


def assert_tells_of(lines: Lines, answer: Answer, sent: bytes | None) -> None:
    """The capture of a whole stream has the bytes that the upstream sent and the client got."""
    assert_whole(lines)
    if sent is not None:
        assert_same_but_masked(body_of(of_kind(lines, "read")), sent)
    assert_same_but_masked(body_of(of_kind(lines, "write")), answer.body)
    (head,) = of_kind(lines, "response", side="client")
    assert head["status"] == answer.status
