"""Events that the application writes into its stream as text: taken unchanged, and never forged."""

import json
from collections.abc import Iterator
from contextvars import Context
from typing import Any

import pytest

from streams import recorded_streams
from streamweir import (
    ConfigurationError,
    ErrorInfo,
    StreamError,
    detect_dialect,
    stream_error_event,
    stream_warning_event,
)
from streamweir.codec.process_token import PROCESS_TOKEN, TOKEN_KEY
from streamweir.codec.registry import process_dialects
from streamweir.context import WarningCollector, bound_request_id
from streamweir.emit.application_stream import ApplicationStream
from streamweir.testing import check_stream, cuts


@pytest.fixture(autouse=True)
def request_at_work() -> Iterator[WarningCollector]:
    """A request whose stream takes marked events; outside of one the texts have no mark."""
    collector = WarningCollector("req_1")
    with collector.bound():
        yield collector


FIRST = {stream.dialect: stream for stream in reversed(recorded_streams()) if stream.path.suffix != ".json"}
TOKEN = b'data: {"type": "token", "content": "Hi"}\n\n'
DONE = b'data: {"type": "done"}\n\n'


def events_in(body: bytes) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in body.split(b"\n") if line.startswith(b"data: ")]


def warnings_in(body: bytes) -> list[dict[str, Any]]:
    return [event["data"] for event in events_in(body) if event["type"] == "warning"]


def through(pieces: list[bytes], **options: Any) -> bytes:
    translator = ApplicationStream(request_id="req_1", session_id="s", clock=lambda: 10**12, **options)
    for piece in pieces:
        translator.feed(piece)
    translator.close()
    output = translator.translator.take()
    assert check_stream(output) == []
    assert PROCESS_TOKEN.encode() not in output
    return output


def test_marked_event_is_a_framed_event_of_the_standard() -> None:
    with bound_request_id("req_9"):
        text = stream_warning_event("Careful", message_code="CAREFUL")
    assert text.startswith("data: ")
    assert text.endswith("}\n\n")
    event = json.loads(text[6:])
    del event[TOKEN_KEY]
    assert event.pop("metadata").keys() == {"request_id", "timestamp"}
    assert event == {"type": "warning", "data": {"message": "Careful", "message_code": "CAREFUL"}}
    assert json.loads(stream_warning_event("Careful", framing="ndjson"))["type"] == "warning"
    with pytest.raises(ConfigurationError):
        stream_warning_event("Careful", framing="xml")  # type: ignore[arg-type]


def test_event_text_outside_of_a_stream_has_no_mark(request_at_work: WarningCollector) -> None:
    def texts() -> list[str]:
        return [
            made
            for framing in ("sse", "ndjson")
            for made in (
                stream_warning_event("Careful", framing=framing),
                stream_error_event(StreamError("ACME_DOWN"), framing=framing),
            )
        ]

    assert all(PROCESS_TOKEN in text for text in texts())
    request_at_work.finish()
    assert not any(PROCESS_TOKEN in text or f'"{TOKEN_KEY}"' in text for text in texts())
    outside = Context().run(texts)
    assert not any(PROCESS_TOKEN in text or f'"{TOKEN_KEY}"' in text for text in outside)
    for text in outside:
        event = json.loads(text.removeprefix("data: "))
        assert event.keys() == {"type", "data", "metadata"}


def test_marked_error_never_holds_the_text_of_the_exception(caplog: pytest.LogCaptureFixture) -> None:
    text = stream_error_event(ValueError("password=hunter2"))
    assert "hunter2" not in text
    assert len(caplog.records) == 1
    event = json.loads(stream_error_event(ValueError("at /srv/app/x.py"), debug=True)[6:])
    assert event["data"]["details"]["exception"] == "ValueError"
    assert "/srv/app" not in str(event)
    info: ErrorInfo = StreamError("ACME_DOWN", "Acme is down.").info
    assert json.loads(stream_error_event(info)[6:])["data"]["code"] == "ACME_DOWN"


def test_detail_of_a_warning_is_sent_only_with_debug() -> None:
    assert "detail" not in stream_warning_event("Careful", detail={"n": 1})
    with WarningCollector("req_1", debug=True).bound():
        assert '"detail"' in stream_warning_event("Careful", detail={"n": 1})


@pytest.mark.parametrize("framing", ["sse", "ndjson"])
@pytest.mark.parametrize("dialect", process_dialects().readable)
def test_marked_event_keeps_its_place_in_a_stream_of_any_dialect(dialect: str, framing: Any) -> None:
    stream = FIRST[dialect]
    options = {"speaks": dialect, "protocol_options": {dialect: stream.options}}
    plain = through([stream.body], **options)
    marked = stream_warning_event("Careful", message_code="CAREFUL", framing=framing).encode()
    output = through([marked, stream.body], **options)
    assert warnings_in(output)[0] == {"message": "Careful", "message_code": "CAREFUL"}
    assert kinds_of(output) == ["session_start", "warning", *kinds_of(plain)[1:]]


def kinds_of(body: bytes) -> list[str]:
    return [event["type"] for event in events_in(body)]


@pytest.mark.parametrize("seed", range(5))
def test_marked_event_can_be_cut_anywhere(seed: int) -> None:
    body = TOKEN + stream_warning_event("Careful").encode() + TOKEN + DONE
    for speaks in ("legacy", "auto"):
        output = through(cuts(body, seed=seed), speaks=speaks)
        assert [warning["message"] for warning in warnings_in(output)] == ["Careful"]
        assert kinds_of(output) == [
            "session_start",
            "content",
            "warning",
            "content",
            "content",
            "session_end",
        ]


@pytest.mark.parametrize("place", range(1, len(TOKEN)))
def test_marked_event_within_another_event_is_found(place: int) -> None:
    pieces = [TOKEN[:place], stream_warning_event("Careful").encode(), TOKEN[place:], DONE]
    output = through(pieces, speaks="legacy")
    assert [warning["message"] for warning in warnings_in(output)] == ["Careful"]
    assert '"content":"Hi"' in output.decode()


def test_marked_event_framed_again_by_a_library_is_found() -> None:
    """sse-starlette frames text in this way."""
    text = stream_warning_event("Careful")
    framed = "".join(f"data: {line}\r\n" for line in text.split("\n")) + "\r\n"
    output = through([framed.encode(), TOKEN, DONE], speaks="legacy")
    assert [warning["message"] for warning in warnings_in(output)] == ["Careful"]


def test_marked_event_after_half_an_event_is_found_and_the_half_reported() -> None:
    body = b'data: {"type": "token", "conte' + stream_error_event(TimeoutError()).encode()
    output = through(cuts(TOKEN + body, seed=1), speaks="legacy")
    assert [warning["message_code"] for warning in warnings_in(output)] == ["UPSTREAM_MALFORMED_EVENT"]
    assert events_in(output)[-2]["data"]["code"] == "UPSTREAM_TIMEOUT"


def test_marked_error_ends_the_stream() -> None:
    output = through([TOKEN, stream_error_event(ConnectionError()).encode(), TOKEN], speaks="legacy")
    assert kinds_of(output)[-2:] == ["error", "session_end"]
    assert kinds_of(output).count("content") == 2


def test_marked_event_does_not_decide_the_dialect() -> None:
    marked = stream_warning_event("Careful").encode()
    assert detect_dialect(marked + TOKEN) == "legacy"
    assert detect_dialect(marked) == "standard"


def test_event_without_the_mark_is_not_taken_for_one() -> None:
    """An event of an upstream with the same shape and a wrong mark is treated as the upstream's."""
    forged = stream_warning_event("password=hunter2 leaked").replace(PROCESS_TOKEN, "0" * 32)
    for speaks in ("ragflow", "easyflow"):
        output = through([forged.encode()], speaks=speaks)
        assert not [warning for warning in warnings_in(output) if "leaked" in warning["message"]]
