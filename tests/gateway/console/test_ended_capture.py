"""Ended streams are packed, give their logs back as they were, and have no secrets once they are shown."""

from types import SimpleNamespace
from typing import Any

import pytest
from starlette.types import Scope

from streamweir.capture.masking import SecretMask
from streamweir.events import Content, Meta
from streamweir_gateway.console.capture_payload import payload_of
from streamweir_gateway.console.content_recorder import ContentRecorder
from streamweir_gateway.console.ended_capture import EndedCapture, packed_capture
from streamweir_gateway.console.outline_recorder import OutlineRecorder
from streamweir_gateway.console.recorded_request import CaptureSettings, TranslationFacts
from streamweir_gateway.console.request_recorder import RequestRecorder
from streamweir_gateway.observability.record import RequestRecord

SECRET = "secret-of-the-file"
KEY = "key-of-the-caller"
SCOPE: Scope = {
    "type": "http",
    "method": "POST",
    "path": "/chat",
    "raw_path": b"/chat",
    "query_string": b"text=" + SECRET.encode(),
    "headers": [(b"authorization", b"Bearer " + KEY.encode())],
}
READS = [b'data: {"content": "one"}\n\n', b'data: {"content": "%b"}\n\n' % KEY.encode(), b"data: " * 9000]


def recorder(
    *, has_content: bool = True, max_bytes: int = 1 << 20, ids: Meta | None = None
) -> RequestRecorder:
    """Return the recorder of a stream that has ended; `ids` are those of an event of an outline."""
    settings = CaptureSettings(max_bytes, max_bytes // 4, "", SecretMask([SECRET]), lambda _: None)
    record = RequestRecord("req_1", "POST", "/chat", answers="standard", framing="sse", reason="done")
    incoming: Any = SimpleNamespace(answers="standard", framing="sse")
    made: RequestRecorder = (ContentRecorder if has_content else OutlineRecorder)(
        "row-1", record, settings, SCOPE
    )
    made.asked(incoming, SECRET.encode())
    if isinstance(made, ContentRecorder):
        for number, data in enumerate(READS):
            made._add(("read", number / 10, data, number), len(data))
    elif isinstance(made, OutlineRecorder):
        made.noted(Content("one", meta=ids), 0)
        made.replaced(Content("two"), ())
    made.end()
    return made


def masked(capture: Any) -> Any:
    """Mask a capture in steps of 100 bytes; return its payload."""
    while capture.masking.has_work:
        capture.masking.work(100)
    return payload_of(capture)


@pytest.mark.parametrize("has_content", [True, False])
def test_ended_stream_is_packed_and_shown_as_its_recorder_would_be(has_content: bool) -> None:
    made = recorder(has_content=has_content, ids={"message_id": "m"})
    capture, log = packed_capture(made.kept()), made.whole_log() or []
    assert isinstance(capture, EndedCapture)
    shown = masked(capture)
    kinds = [entry[0] for _, entry in shown.entries]
    assert kinds == ["request", *(["read"] * 3 if has_content else ["kind", "mark"]), "end"]
    assert [[*entry] for _, entry in shown.entries[1:] if entry[0] != "read"] == [
        [*entry] for entry in log[1:] if entry[0] != "read"
    ]
    assert (shown.meta["id"], shown.count, shown.is_over) == ("req_1", len(kinds), True)
    assert (shown.left_out, shown.attempts, shown.first_event) == ({}, [], 0)


def test_payload_of_a_stream_that_is_not_masked_yet_has_no_fact_of_it() -> None:
    stream = recorder()
    stream.translation = TranslationFacts(f"session-{KEY}", None, 0, 0, 0, None)
    capture = packed_capture(stream)
    payload = payload_of(capture)
    assert (payload.is_masking, payload.entries, payload.attempts) == (True, [], [])
    assert KEY not in repr(payload)
    shown = masked(capture)
    assert not shown.is_masking
    assert shown.meta["session_id"]
    assert KEY not in repr(shown)


def test_ended_stream_is_masked_before_any_entry_is_shown() -> None:
    capture = packed_capture(recorder())
    assert payload_of(capture).entries == []
    capture.masking.work(1)
    assert payload_of(capture).entries == []
    assert not payload_of(capture).is_over
    text = repr(masked(capture))
    assert SECRET not in text
    assert KEY not in text
    assert "authorization" in text
    assert [number for number, _ in payload_of(capture, 2).entries] == [2, 3, 4]


@pytest.mark.parametrize("has_content", [True, False])
def test_ended_stream_takes_about_the_memory_that_it_reports(has_content: bool) -> None:
    capture = packed_capture(recorder(has_content=has_content).kept())
    least = sum(map(len, READS)) if has_content else 0
    assert least < capture.size < least + 2000


def test_value_that_cannot_be_packed_leaves_the_recorder_as_it_was() -> None:
    made = recorder(has_content=False, ids={"upstream_time": 1 << 70})
    assert packed_capture(made.kept()) is made
    assert [entry[0] for _, entry in masked(made).entries] == ["request", "kind", "mark", "end"]


def test_log_with_a_gap_or_masked_entries_stays_in_its_recorder() -> None:
    with_gap = recorder(max_bytes=20_000)
    assert with_gap.left_out
    begun = recorder()
    begun.masking.work(1)
    assert [packed_capture(with_gap), packed_capture(begun)] == [with_gap, begun]
