"""What is recorded is translated again to the same events, for every recorded stream there is."""

import base64
import json
from typing import Any

import pytest

from cases import for_each
from streams import Recorded, dialect_of, random_cuts, recorded_streams
from streamweir import Translator, capture
from streamweir.capture import Capture, SecretMask
from streamweir.capture.playback import Playback, recorded_options
from streamweir.codec.registry import process_dialects
from streamweir.errors import error_info
from streamweir_gateway.recording.recorder import Ended, Recording, RecordingOptions
from streamweir_gateway.upstream.request import Origin, UpstreamRequest

STREAMS = recorded_streams()
REQUEST = UpstreamRequest("POST", Origin("http", "127.0.0.1", 80), "/", [], b"{}")


def recorded(body: bytes, speaks: str, ended: Ended = "eof", *, with_content: bool = True) -> bytes:
    """The capture of a body that came in pieces."""
    lines: list[bytes] = []
    options = RecordingOptions(speaks, process_dialects(), with_content)
    recording = Recording("http://127.0.0.1/", REQUEST, options, SecretMask(), lines.append)
    recording.note_response(200, [(b"Content-Type", b"text/event-stream")])
    for piece in random_cuts(body, seed=len(body)):
        recording.note_read(piece)
    recording.end(ended, error_info("UPSTREAM_TRUNCATED") if ended == "broken" else None)
    return b"".join(lines)


def loaded(data: bytes) -> Capture:
    (found,) = capture.parse_captures(data.split(b"\n"))
    return found


def comparable(event: dict[str, Any]) -> dict[str, Any]:
    """An event without its times."""
    data = json.loads(json.dumps(event["data"]))
    data.get("summary", {}).pop("duration_ms", None)
    metadata = {name: value for name, value in event["metadata"].items() if name != "timestamp"}
    return {"type": event["type"], "data": data, "metadata": {**metadata, "duration_ms": None}}


def translated(found: Capture) -> list[dict[str, Any]]:
    playback = Playback(found)
    translator = Translator(framing="ndjson", clock=playback.clock, **recorded_options(found))
    output = b"".join(playback.pieces(translator))
    return [json.loads(line) for line in output.splitlines()]


@for_each("body", STREAMS, group=dialect_of)
def test_converting_gives_the_recorded_events_again(body: Recorded) -> None:
    """However a body ended; each of them has an end, and every other one breaks off, or is left."""
    ways: list[Ended] = ["eof", "broken" if STREAMS.index(body) % 2 else "left"]
    for ended in ways:
        found = loaded(recorded(body.body, body.dialect, ended))
        assert found.body == body.body or any(b"*" in data for _, data in found.reads)
        assert [*map(comparable, translated(found))] == [*map(comparable, found.events)], ended


def test_secrets_in_the_heads_of_request_and_response_are_masked_in_every_line() -> None:
    basic = base64.b64encode(b"user:open-sesame").decode()
    planted = [
        "open-sesame",
        basic,
        "in-a-cookie-1",
        "in-the-query-2",
        "a-new-cookie-3",
        "of-a-header-4",
        *("in-quotes-5", "de/coded:6", "run_" + "5" * 32, "resp_" + "5" * 32, "run_" + "6" * 32),
        *("run_" + "7" * 32, "run_" + "8" * 32, "msg_" + "9" * 32),
    ]
    no_secrets = ["Strict", "example.com", "2592000", "req_" + "1" * 32]
    body = "".join(
        f'data: {{"type": "token", "content": "<{text}_0>"}}\n\n' for text in [*planted, *no_secrets]
    )
    headers = [
        ("Authorization", f"Basic {basic}"),
        ("Cookie", 'a=x; session=in-a-cookie-1; b="in-quotes-5"; c=de%2Fcoded%3A6'),
        ("X-Api-Key", "of-a-header-4"),
        ("X-Streamweir-Run", "run_" + "5" * 32),
    ]
    request = UpstreamRequest(
        "POST",
        Origin("http", "127.0.0.1", 80),
        f"/run_{'6' * 32}?api_key=in-the-query-2&run=run_{'7' * 32}",
        headers,
        basic.encode(),
    )
    lines: list[bytes] = []
    options = RecordingOptions("legacy", process_dialects(), True)
    url = f"http://127.0.0.1{request.target}"
    recording = Recording(url, request, options, SecretMask(), lines.append)
    attributes = b"SameSite=Strict; Domain=example.com; Max-Age=2592000"
    recording.note_response(200, [(b"Set-Cookie", b"session=a-new-cookie-3; " + attributes)])
    recording.note_read(body.encode())
    recording.end("eof")
    written = b"".join(lines).decode()
    assert not [text for text in planted if text in written]
    assert all(f"<{text}_0>" in written for text in no_secrets)


def test_time_never_falls_and_every_line_has_one() -> None:
    lines = [json.loads(line) for line in recorded(STREAMS[0].body, "auto").splitlines()]
    times = [line["t"] for line in lines[1:]]
    assert times == sorted(times)
    assert [line["n"] for line in lines if line["kind"] == "read"] == [
        *range(sum(line["kind"] == "read" for line in lines))
    ]


def test_without_content_only_numbers_are_kept() -> None:
    data = recorded(STREAMS[0].body, "auto", with_content=False)
    found = loaded(data)
    assert not found.has_content
    assert not any("data" in event for event in found.events)
    assert sum(json.loads(line).get("bytes", 0) for line in data.splitlines()) == len(STREAMS[0].body)
    with pytest.raises(capture.CaptureError, match="has no content"):
        Playback(found)


def test_capture_for_a_client_of_the_first_version_is_converted_to_the_events_that_it_has() -> None:
    lines = [json.loads(line) for line in recorded(STREAMS[0].body, STREAMS[0].dialect).splitlines()]
    lines[0]["options"] = {"protocol_options": {"standard": {"version": "1.0"}}}
    found = loaded(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    assert [*map(comparable, translated(found))] == [*map(comparable, found.events)]
