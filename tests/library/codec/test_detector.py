"""Which dialect is this? Asked line by line, within bounds, and by nobody's fault but its own."""

import json
import time
from collections.abc import Iterator

import pytest

from places import RECORDED
from streamweir import Decoder, Translator, detect_dialect
from streamweir.codec import head_messages
from streamweir.codec.detector import MAX_LINES, Detector
from streamweir.codec.dialect import Dialect
from streamweir.codec.head_messages import HeadMessage
from streamweir.codec.registry import _registered
from streamweir.testing import cuts

SAMPLE = (RECORDED / "legacy" / "happy.sse").read_bytes()
UNKNOWN = b'{"nobody":"knows"}\n'


def decided(pieces: list[bytes], limit: int = 1 << 20) -> tuple[str | None, bool]:
    detector = Detector(limit)
    for piece in pieces:
        if (name := detector.feed(piece)) or detector.exhausted:
            return name or detector.finish(), detector.exhausted
    return detector.finish(), detector.exhausted


@pytest.mark.parametrize("lines", [0, 1, MAX_LINES - 1, MAX_LINES, MAX_LINES + 1])
@pytest.mark.parametrize("limit", [500, 2000, 1 << 20])
def test_detected_dialect_does_not_depend_on_the_cut(lines: int, limit: int) -> None:
    body = UNKNOWN * lines + SAMPLE
    whole = decided([body], limit)[0]
    assert decided([body[i : i + 1] for i in range(len(body))], limit)[0] == whole
    for seed in range(5):
        assert decided(cuts(body, seed=seed), limit)[0] == whole


@pytest.mark.parametrize("odd", [{"a": 1}, ["x"], 1, None, True])
def test_type_that_is_no_text_logs_no_fault(odd: object, caplog: pytest.LogCaptureFixture) -> None:
    message = {"type": odd, "run_id": "r", "node_name": "n", "thread_id": "t", "data": 1}
    detect_dialect(json.dumps(message).encode() + b"\n")
    assert not caplog.records


@pytest.mark.parametrize("nothing", [b"", b"\n\r\n", b": ping\n\n" * 500, b"\xef\xbb\xbf \n"])
def test_blanks_and_comments_decide_no_dialect(nothing: bytes) -> None:
    detector = Detector()
    assert detector.feed(nothing) is None
    assert detector.blank
    assert not detector.exhausted
    assert detect_dialect(nothing) is None
    assert detect_dialect(nothing + SAMPLE) == "legacy"


@pytest.mark.parametrize(
    "message",
    [
        {"type": "AIMessageChunk", "content": "Hi"},
        {"event": "tool-started", "tool_call_id": "c1"},
        {"messages": "content='Hi' id='1'"},
    ],
)
def test_flat_object_with_a_hint_is_detected(message: dict[str, str]) -> None:
    """Most flat objects are passed over at a glance: what they would be known by is looked at first."""
    assert detect_dialect(b"data: %b\n\n" % json.dumps(message).encode()) == "langgraph-events"


def test_detector_gives_up_after_its_limit_of_lines_or_bytes() -> None:
    detector = Detector(100)
    assert detector.feed(b"x" * 101) is None
    assert detector.exhausted
    detector = Detector()
    assert detector.feed(UNKNOWN * MAX_LINES) is None
    assert detector.exhausted


def test_pretty_printed_document_is_waited_for() -> None:
    answer = {"type": "token", "content": "Hi", "extra": list(range(2 * MAX_LINES))}
    body = json.dumps(answer, indent=2).encode()
    assert detect_dialect(body) == "legacy"
    assert decided(cuts(body))[0] == decided([body])[0] == "legacy"


def test_large_single_message_of_no_dialect_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[int] = []

    def read(head: bytes) -> Iterator[HeadMessage]:
        parsed.append(len(head))
        return iter(())

    monkeypatch.setattr(head_messages, "_read", read)
    engine = Translator(speaks="auto")
    engine.feed(b'{"a":[' + b'{"b":[1,2]},' * 30_000 + b"1]}")
    engine.close()
    assert engine.error is not None
    assert (engine.error.code, parsed) == ("UPSTREAM_INVALID_RESPONSE", [])


def test_long_first_line_in_small_pieces_takes_linear_time() -> None:
    detector = Detector()
    began = time.process_time()
    for _ in range(200_000):
        detector.feed(b'{"a":1234')
    assert time.process_time() - began < 10


def test_dialect_whose_detection_fails_claims_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(Decoder):
        """Its detection raises."""

        @classmethod
        def detect(cls, head: bytes) -> float:
            raise ValueError("broken")

    monkeypatch.setitem(_registered, "broken", Dialect("broken", Broken, None))
    assert detect_dialect(SAMPLE) == "legacy"
    assert "'broken'" in caplog.text
