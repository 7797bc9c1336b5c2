"""Recorded streams and the ways to feed them: whole, byte by byte, cut at random."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from places import CANONICAL, RECORDED
from streamweir import Translator
from streamweir.codec.questions import asks_person, question_text
from streamweir.codec.registry import process_dialects
from streamweir.codec.standard_events import read_standard
from streamweir.events import Interaction
from streamweir.testing import check_stream

INPUTS = (".sse", ".ndjson", ".json", ".txt")

# Made-up secrets that the recorded servers and the hand-made streams hold: none may leave in a failure.
PLANTED = (
    "org-SECRET123",
    "10.1.2.3",
    "10.0.0.7",
    "10.0.0.5",
    "sk-bad",
    "password=abc",
    "/srv/app",
    "db-internal",
    "hunter2",
)


class Recorded(NamedTuple):
    """One recorded body; beside `NAME.sse` stand `NAME.expected` (the events) and perhaps `NAME.options`."""

    dialect: str
    path: Path

    @property
    def body(self) -> bytes:
        return self.path.read_bytes()

    @property
    def expected(self) -> Path:
        return self.path.with_suffix(".expected")

    @property
    def options(self) -> dict[str, Any]:
        """Options of the dialect for this body."""
        beside = self.path.with_suffix(".options")
        return json.loads(beside.read_text()) if beside.exists() else {}

    def __str__(self) -> str:
        return f"{self.dialect}/{self.path.name}"


def dialect_of(stream: Recorded) -> str:
    return stream.dialect


def recorded_streams() -> list[Recorded]:
    return [
        Recorded(folder.name, path)
        for folder in sorted(RECORDED.iterdir())
        for path in sorted(folder.iterdir())
        if path.suffix in INPUTS
    ]


def canonical_streams() -> dict[str, bytes]:
    """The corpus of canonical events by name, as NDJSON: what every encoder is given to write."""
    return {path.stem: path.read_bytes() for path in sorted(CANONICAL.glob("*.ndjson"))}


def translate(pieces: list[bytes], **options: Any) -> bytes:
    """Feed `pieces` to a translator whose ids and clock are fixed; return all its output."""
    fixed = {
        "framing": "ndjson",
        "request_id": "req_1",
        "session_id": "sess_1",
        "clock": lambda: 1_790_000_000_000,
    }
    translator = Translator(**{**fixed, **options})
    return b"".join([*map(translator.feed, pieces), translator.close()])


def events_of(ndjson: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ndjson.split(b"\n") if line]


def sse_messages(body: bytes) -> list[dict[str, Any]]:
    """Return the objects in the lines of data of an SSE body; other data, such as `[DONE]`, is left out."""
    return [json.loads(line[6:]) for line in body.splitlines() if line.startswith(b"data: {")]


def one_byte_each(body: bytes) -> list[bytes]:
    return [body[index : index + 1] for index in range(len(body))]


def small_pieces(body: bytes, whole: int = 4096) -> list[bytes]:
    """`body` byte by byte, but for the middle of a long one, which comes in pieces of any size."""
    if len(body) <= whole:
        return one_byte_each(body)
    half = whole // 2
    middle = random_cuts(body[half:-half], seed=len(body))
    return [*one_byte_each(body[:half]), *middle, *one_byte_each(body[-half:])]


def random_cuts(body: bytes, seed: int) -> Iterator[bytes]:
    chance = random.Random(seed)
    start = 0
    while start < len(body):
        end = start + chance.choice((1, 2, 3, 7, 20, 100, 1000))
        yield body[start:end]
        start = end


def assert_keeps_its_meaning(
    body: bytes, target: str, *, speaks: str = "standard", options: dict[str, Any] | None = None
) -> None:
    """What is written in the dialect `target` and read again ends the same way, with the same answer.

    Where `target` cannot replace text, the answer is what a client of protocol 1.0 gets; where it cannot
    ask, what a person is asked stands in the answer; where it has no channels, or no messages, texts stand as
    they came.
    """
    own = {speaks: options or {}}
    written = translate([body], speaks=speaks, answers=target, framing="sse", protocol_options=own)
    back = translate([written], speaks=target)
    version = "1.1" if process_dialects().to_write(target).make_encoder({}).can_replace else "1.0"
    readable = {**own, "standard": {**own.get("standard", {}), "version": version}}
    straight = translate([body], speaks=speaks, protocol_options=readable)
    assert check_stream(back, framing="ndjson") == []
    assert _ending(back) == _ending(translate([body], speaks=speaks, protocol_options=own))
    asked = _with_questions(straight)
    answers = [
        _answer(straight),
        _answer(asked),
        _answer(asked, has_channels=False),
        _answer(asked, has_messages=False),
    ]
    assert _plain(_answer(back)) in map(_plain, answers)


def _ending(output: bytes) -> str:
    return str(events_of(output)[-1]["data"]["status"])


def _plain(text: str) -> str:
    return text.replace("\n\n", "")


def _with_questions(output: bytes) -> bytes:
    """`output` with what a person is asked as a piece of the answer."""
    return b"".join(json.dumps(_as_text(event)).encode() + b"\n" for event in events_of(output))


def _as_text(event: dict[str, Any]) -> dict[str, Any]:
    asked = read_standard(event)
    if isinstance(asked, Interaction) and asks_person(asked):
        return {**event, "type": "content", "data": {"content": question_text(asked)}}
    return event


def _answer(output: bytes, *, has_channels: bool = True, has_messages: bool = True) -> str:
    """The text of all messages and channels together, replaced text aside."""
    if not has_messages:
        pieces = (event["data"] for event in events_of(output) if event["type"] == "content")
        return "".join(piece["content"] for piece in pieces)
    texts: dict[object, str] = {}
    for event in events_of(output):
        if event["type"] == "content":
            data = event["data"]
            key = (event["metadata"].get("message_id"), has_channels and data.get("channel"))
            before = "" if data.get("op") == "replace" else texts.get(key, "")
            texts[key] = before + data["content"]
    return "".join(texts.values())
