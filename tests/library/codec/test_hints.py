"""Hints keep dialects from being asked in vain, never from being found."""

from collections.abc import Mapping
from typing import Any

import pytest

from streams import recorded_streams
from streamweir import Decoder
from streamweir.codec.base import Encoder
from streamweir.codec.detector import MAX_LINES, Detector
from streamweir.codec.dialect import Dialect
from streamweir.codec.dialects import Dialects
from streamweir.codec.head_messages import HeadMessage, head_messages
from streamweir.codec.hint_index import HintIndex
from streamweir.codec.hints import Hints
from streamweir.jsontext import parse_json

UNKNOWN = b'{"nobody":"knows"}\n'
BUILT_IN = Dialects.built_in()


def message(value: Any = None, event: str | None = None, data: bytes = b"") -> HeadMessage:
    return HeadMessage(event, data, value)


@pytest.mark.parametrize("dialect", BUILT_IN.values(), ids=lambda dialect: dialect.name)
def test_dialect_is_shown_every_message_that_it_would_claim(dialect: Dialect) -> None:
    decoder, index = dialect.decoder, HintIndex([dialect])
    assert decoder is not None
    claimed = [
        message
        for stream in recorded_streams()
        for message in head_messages(stream.body)
        if isinstance(message.value, dict) and decoder.score(message.value, message.event) > 0
    ]
    assert claimed or decoder.looks_at_heads()  # whose messages may be no JSON objects
    assert not [message for message in claimed if dialect not in index.candidates(message)]


@pytest.mark.parametrize("name", [["list"], {"object": 1}, 1, None], ids=str)
@pytest.mark.parametrize("dialect", BUILT_IN.values(), ids=lambda dialect: dialect.name)
def test_detection_of_any_message_raises_nothing(dialect: Dialect, name: object) -> None:
    """An SSE event of the dialect may carry anything."""
    assert dialect.decoder is not None
    for event in (None, *sorted(dialect.hints.names if dialect.hints else ())):
        assert 0 <= dialect.decoder.score({"type": name, "event": name, "error": name}, event) <= 1


def test_each_sign_is_enough() -> None:
    acme = Dialect("acme", Decoder, hints=Hints(names=("chunk",), keys=("acme",), starts=(b"0:",)))
    index = HintIndex([acme])
    for shown in (
        message(event="chunk"),
        *(message({field: "chunk"}) for field in ("type", "event", "kind")),
        message({"acme": None, "type": "other"}),
        message(data=b'0:"Hi"'),
    ):
        assert list(index.candidates(shown)) == [acme]
    for other in (message(event="other"), message({"name": "chunk", "type": ["chunk"]}), message(["acme"])):
        assert not index.candidates(other)


def test_dialect_without_hints_is_always_asked_except_about_unreadable_frames() -> None:
    class Plain(Decoder):
        """Gives no hints."""

    reader, writer = Dialect("reader", Plain), Dialect("writer", None, Encoder)
    index = Dialects([reader, writer]).hint_index
    assert list(index.candidates(message({"a": 1}))) == [reader]


class Counting(Decoder):
    """Counts how often it is asked."""

    asked = 0

    @classmethod
    def score(cls, fields: Mapping[str, Any], event: str | None) -> float:
        Counting.asked += 1
        return 0.0


def test_thirty_dialects_cost_as_much_as_six(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not one more question, and not one more reading of JSON."""
    parsed: list[bytes] = []

    def counted(data: bytes) -> tuple[Any, bool]:
        parsed.append(data)
        return parse_json(data)

    monkeypatch.setattr("streamweir.framing.frame.parse_json", counted)
    others = (
        Dialect(f"other-{number}", Counting, hints=Hints(names=(f"chunk-{number}",), keys=(f"key{number}",)))
        for number in range(24)
    )
    thirty = BUILT_IN.with_(*others)
    bodies = [UNKNOWN * MAX_LINES, *(stream.body for stream in recorded_streams())]
    readings = []
    for dialects in (BUILT_IN, thirty):
        parsed.clear()
        for body in bodies:
            detector = Detector(dialects=dialects)
            assert detector.feed(body) or detector.finish() or body is bodies[0]
        readings.append(len(parsed))
    assert Counting.asked == 0
    assert readings[0] == readings[1] > 0


def test_each_message_is_read_once_and_a_head_shown_seldom() -> None:
    heads: list[int] = []

    class LooksAtHeads(Decoder):
        """Sees everything that has come so far."""

        @classmethod
        def detect(cls, head: bytes) -> float:
            heads.append(len(head))
            return 0.0

    detector = Detector(dialects=Dialects([Dialect("acme", LooksAtHeads)]))
    body = UNKNOWN * MAX_LINES
    for start in range(0, len(body), 7):
        detector.feed(body[start : start + 7])
    assert detector.exhausted
    assert heads == [len(UNKNOWN) * 2**power for power in range(7)]


def test_dialect_that_is_not_detectable_is_not_found() -> None:
    body = b'{"type": "token", "content": "Hi"}\n'
    legacy = BUILT_IN["legacy"]
    hidden = Dialect("legacy", legacy.decoder, hints=legacy.hints, detectable=False)
    for dialects, found in ((BUILT_IN, "legacy"), (BUILT_IN.with_(hidden, replace=True), None)):
        assert Detector(dialects=dialects).feed(body) == found
