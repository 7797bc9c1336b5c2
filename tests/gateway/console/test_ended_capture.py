"""Ended streams are packed, give their logs back as they were, and have no secrets once they are shown."""

from typing import Any

import pytest
from starlette.types import Scope

from streamweir.capture.masking import SecretMask
from streamweir_gateway.console.capture_payload import payload_of
from streamweir_gateway.console.ended_capture import EndedCapture, kept_capture
from streamweir_gateway.console.log_mask import LogMask
from streamweir_gateway.console.recorded_heads import client_request
from streamweir_gateway.console.request_recorder import RequestRecorder
from streamweir_gateway.console.row import AttemptRow
from streamweir_gateway.console.stream_log import RAW
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


def recorder(*, has_content: bool = True, max_bytes: int = 1 << 20, entries: Any = ()) -> RequestRecorder:
    """The recorder of a stream that has ended."""
    made = RequestRecorder(
        "row-1",
        RequestRecord("req_1", "POST", "/chat", answers="standard", framing="sse"),
        SCOPE,
        LogMask(SecretMask([SECRET]), lambda _: None),
        has_content=has_content,
        max_bytes=max_bytes,
    )
    log = made.log
    head = ["request", 0.0, client_request(SCOPE), SECRET.encode() if has_content else 18, RAW]
    log.add(head)
    if has_content:
        for number, data in enumerate(READS):
            entry = ["read", number / 10, data, 1, number, number, RAW]
            log.add(entry, len(data))
    for entry in entries:
        log.add(entry)
    made.end({"reason": "done"})
    return made


def masked(capture: Any) -> Any:
    """Mask a capture in steps of 100 bytes; return its payload."""
    while capture.masking.has_work:
        capture.masking.work(100)
    return payload_of(capture)


def test_ended_stream_is_packed_and_shown_as_its_recorder_would_be() -> None:
    kinds = [("kind", 1.0, 0, 4, "content", {"message_id": "m"}, None), ("mark", 1.1, {"what": "commit"})]
    capture = kept_capture(recorder(entries=kinds))
    assert isinstance(capture, EndedCapture)
    shown, expected = masked(capture), masked(recorder(entries=kinds))
    assert [(number, [*entry]) for number, entry in shown.entries[:-1]] == [
        (number, [*entry]) for number, entry in expected.entries[:-1]
    ]
    assert (shown.meta, shown.count, shown.is_over) == (expected.meta, expected.count, True)
    assert (shown.left_out, shown.attempts, shown.first_event) == ({}, [], 0)


def test_payload_of_a_stream_that_is_not_masked_yet_has_no_fact_of_it() -> None:
    stream = recorder()
    stream.attempts.append(AttemptRow(attempt=1, upstream="u", url=f"http://host/{KEY}", began_ms=0.0))
    stream._session = f"session-{KEY}"
    capture = kept_capture(stream)
    payload = payload_of(capture)
    assert (payload.is_masking, payload.entries, payload.attempts) == (True, [], [])
    assert KEY not in repr(payload)
    shown = masked(capture)
    assert not shown.is_masking
    assert shown.attempts[0].url is not None
    assert KEY not in repr(shown)


def test_ended_stream_is_masked_before_any_entry_is_shown() -> None:
    capture = kept_capture(recorder())
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
    capture = kept_capture(recorder(has_content=has_content))
    least = sum(map(len, READS)) if has_content else 0
    assert least < capture.size < least + 2000


def test_value_that_cannot_be_packed_leaves_the_recorder_as_it_was() -> None:
    made = recorder(entries=[("kind", 1.0, 0, 4, "content", {"upstream_time": 1 << 70}, None)])
    assert kept_capture(made) is made
    assert [entry[2] for entry in made.log.whole() or () if entry[0] == "read"] == READS


def test_log_with_a_gap_or_masked_entries_stays_in_its_recorder() -> None:
    with_gap = recorder(max_bytes=20_000)
    assert with_gap.left_out
    begun = recorder()
    begun.mask.work(1)
    assert [kept_capture(with_gap), kept_capture(begun)] == [with_gap, begun]
