"""`check_stream` accepts what the protocol allows and names what it does not; the kit finds bad decoders."""

# ruff: noqa: E501 (one stream per line reads best)

import json
from typing import Any

import pytest

from cases import for_each
from places import RECORDED
from streams import dialect_of, recorded_streams
from streamweir import Decoder, convert
from streamweir.codec.dialect import Dialect
from streamweir.codec.registry import _registered
from streamweir.errors import MalformedEvent
from streamweir.events import Content, Event, SessionEnd
from streamweir.framing import Frame
from streamweir.testing import DecoderConformance, assert_valid_stream, check_stream, cuts

Events = list[dict[str, Any]]


def event(kind: str, data: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {"type": kind, "data": data, "metadata": metadata}


def start() -> dict[str, Any]:
    return event("session_start", {"session_id": "s", "request_id": "r", "protocol": "1.1"})


def end(status: str = "completed", reason: str = "done", **data: Any) -> dict[str, Any]:
    return event("session_end", {"status": status, "reason": reason, **data})


def failure(**data: Any) -> dict[str, Any]:
    values = {
        "error_type": "system",
        "code": "INTERNAL",
        "message": "m",
        "recoverable": True,
        "terminal": True,
    }
    return event("error", {**values, **data})


def call(tool_id: str = "t") -> dict[str, Any]:
    return event("tool_call_start", {"tool_id": tool_id, "tool_name": "x", "arguments": {}})


def called(tool_id: str = "t", **data: Any) -> dict[str, Any]:
    return event("tool_call_end", {"tool_id": tool_id, "status": "success", **data})


def text(
    content: str = "Hi", is_complete: bool = True, message_id: str | None = None, **data: Any
) -> dict[str, Any]:
    ids = {"message_id": message_id} if message_id else {}
    return event(
        "content", {"content": content, **({"is_complete": True} if is_complete else {}), **data}, **ids
    )


def numbered(events: Events) -> Events:
    common = {"request_id": "r", "timestamp": 1_790_000_000_000}
    return [
        {**item, "metadata": {**common, "sequence": number, **item["metadata"]}}
        for number, item in enumerate(events)
    ]


def sse(events: Events) -> bytes:
    return b"".join(
        f"id: {number}\ndata: {json.dumps(item, ensure_ascii=False)}\n\n".encode()
        for number, item in enumerate(numbered(events))
    )


def ndjson(events: Events) -> bytes:
    return b"".join(json.dumps(item, ensure_ascii=False).encode() + b"\n" for item in numbered(events))


VALID: list[Events] = [
    [start(), end()],
    [start(), failure(), end("error", "internal")],
    [start(), failure(terminal=False), text(), end()],
    [start(), end("cancelled", "client_gone")],
    [start(), call(), event("interaction", {"interaction_id": "t", "kind": "tool", "state": "requested"}), end("suspended", "interaction")],
    [start(), call("a"), call("b"), called("b", result=None), called("a"), end(summary={"duration_ms": 0, "tool_calls": 2, "events": 6})],
    [start(), event("tool_call_delta", {"tool_id": "t", "arguments_delta": "{}"}), call(), called(), end()],
    [start(), call(), event("tool_call_progress", {"tool_id": "t", "progress": None}), called(status="failed", error={"code": "TOOL_FAILED", "message": "m"}), end()],
    [start(), text("a", False, "1"), text("b", False, "2", channel="report"), text("", True, "1"), text("", True, "2", channel="report"), end()],
    [start(), text("a\U0001f600\\u00e9", False), call(), called(), text("42", op="replace"), end()],
    [start(), event("data", {"data_type": "state_delta", "data": [{"op": "add", "path": "/a", "value": 1}]}), end()],
    [start(), event("data", {"data_type": "image", "data": {"url": "u", "media_type": "image/png"}}, extra={"a": None}), end()],
    [start(), failure(code="UPSTREAM_TIMEOUT"), end("error", "idle_timeout")],
    [start(), failure(code="LLM_RATE_LIMIT"), end("error", "upstream_error")],
]  # fmt: skip


@pytest.mark.parametrize("separator", ["\x85", "\u2028", "\u2029"])
def test_conformance_kit_finds_unescaped_line_separators(separator: str) -> None:
    (breach,) = check_stream(sse([start(), text(f"a{separator}b"), end()]))
    assert "careless readers" in breach


@pytest.mark.parametrize("events", VALID)
def test_conformance_kit_accepts_valid_streams(events: Events) -> None:
    assert check_stream(sse(events)) == []
    assert check_stream(ndjson(events), framing="ndjson") == []
    assert_valid_stream(sse(events))


BREACHES: list[tuple[Events, str]] = [
    ([], "no events"),
    ([text(), end()], "first event must be session_start"),
    ([start(), start(), end()], "session_start must occur once"),
    ([start(), text()], "does not end with session_end"),
    ([start(), end(), text()], "nothing may follow session_end"),
    ([start(), end(), end()], "nothing may follow session_end"),
    ([start(), failure(), text(), end("error", "internal")], "only session_end may follow a terminal error"),
    ([start(), end("error", "internal")], "needs a terminal error directly before it"),
    ([start(), failure(terminal=False), end("error", "internal")], "needs a terminal error directly before it"),
    ([start(), failure(), end()], "status after a terminal error must be error"),
    ([start(), failure(code="UPSTREAM_TRUNCATED"), end("error", "done")], "data.reason must be one of truncated"),
    ([start(), end("completed", "limit")], "data.reason must be one of done"),
    ([start(), end("completed", "because")], "data.reason must be one of"),
    ([start(), {**text(), "metadata": {"sequence": 7}}, end()], "metadata.sequence must be 1"),
    ([start(), {**text(), "metadata": {"request_id": "x"}}, end()], "request_id must be the same"),
    ([start(), {**text(), "metadata": {"request_id": "a b"}}, end()], "metadata.request_id must match"),
    ([start(), {**text(), "metadata": {"timestamp": 1_790_000_000}}, end()], "milliseconds, not seconds"),
    ([start(), {**text(), "metadata": {"timestamp": 1.5}}, end()], "metadata.timestamp must be an integer"),
    ([start(), {**text(), "metadata": {"run_id": None}}, end()], "metadata.run_id must be a string"),
    ([start(), {**text(), "metadata": {"colour": "red"}}, end()], "metadata.colour is not in the protocol"),
    ([start(), {**text(), "metadata": {"duration_ms": 1}}, end()], "duration_ms belongs to"),
    ([start(), {**failure(), "metadata": {"extra": {}}}, end("error", "internal")], "extra must not stand on errors"),
    ([start(), event("warning", {"message": "m"}, source={"dialect": "x", "raw": 1}), end()], "source must not stand"),
    ([start(), {**text(), "more": 1}, end()], "more is not in the envelope"),
    ([start(), event("hologram", {}), end()], "type is not in the protocol"),
    ([start(), event("content", {}), end()], "data.content is missing"),
    ([start(), text(colour="red"), end()], "data.colour is not in the protocol"),
    ([start(), text(format="rtf"), end()], "data.format must be one of"),
    ([start(), text(channel=None), end()], "data.channel must be a string"),
    ([start(), text(is_complete=False), end()], "no piece with is_complete"),
    ([start(), text("a", True, "1"), text("b", False, "2"), end()], "message '2' has no piece"),
    ([start(), text("a", False, "1"), text("b", True, "1", channel="c"), end()], "message '1' has no piece"),
    ([start(), called(), end()], "no tool_call_start for 't'"),
    ([start(), event("tool_call_progress", {"tool_id": "t", "progress": 1}), end()], "no tool_call_start for 't'"),
    ([start(), call(), called(), called(), end()], "'t' is over already"),
    ([start(), call(), called(), call(), called(), end()], "'t' is used twice"),
    ([start(), call(), end()], "'t' is still open"),
    ([start(), call(), event("tool_call_delta", {"tool_id": "t", "arguments_delta": ""}), called(), end()], "after the start"),
    ([start(), event("tool_call_delta", {"tool_id": "t", "arguments_delta": ""}), end()], "no tool_call_start followed"),
    ([start(), call(), called(error={"code": "X_Y_Z", "message": "m"}), end()], "error only when failed"),
    ([start(), call(), called(status="failed", error={"code": "x", "message": "m"}), end()], "data.error is wrong"),
    ([start(), call(), event("tool_call_progress", {"tool_id": "t", "progress": 50}), called(), end()], "from 0 to 1"),
    ([start(), event("interaction", {"interaction_id": "t", "kind": "tool", "state": "requested"}), end()], "tool_id of a call"),
    ([start(), failure(code="TOOL_FAILED"), end("error", "upstream_error")], "must not stand on an error event"),
    ([start(), failure(code="no code"), end("error", "upstream_error")], "data.code must match"),
    ([start(), failure(message=" "), end("error", "internal")], "data.message must be a string"),
    ([start(), failure(message="x" * 600), end("error", "internal")], "at most 500 characters"),
    ([start(), event("data", {"data_type": "dataframe", "data": {"name": "x", "columns": []}}), end()], "rows is missing"),
    ([start(), event("data", {"data_type": "dataframe", "data": {"name": "x", "columns": [], "rows": [{}]}}), end()], "list of lists"),
    ([start(), event("data", {"data_type": "state_delta", "data": [{"op": "paint"}]}), end()], "JSON Patch"),
    ([start(), event("data", {"data_type": "file", "data": {"media_type": "a/b"}}), end()], "either url or base64"),
    ([start(), event("data", {"data_type": "custom", "data": {"value": 1}}), end()], "data.data.name is missing"),
    ([start(), event("reference", {"citations": [{"page": 3}]}), end()], "data.citations is wrong"),
    ([start(), end(summary={"duration_ms": 0, "tool_calls": 0, "events": 9})], "summary.events must be 2"),
    ([start(), end(summary={"duration_ms": 0, "tool_calls": 1, "events": 2})], "summary.tool_calls must be 0"),
    ([start(), end(summary={"cost": 1})], "data.summary is wrong"),
]  # fmt: skip


@pytest.mark.parametrize(("version", "breaches"), [("1.0", 0), ("1.1", 2)])
def test_check_stream_with_a_suspended_end_of_1_0_accepts_completed(version: str, breaches: int) -> None:
    begun = event("session_start", {"session_id": "s", "request_id": "r", "protocol": version})
    events = [begun, call(), end("completed", "interaction")]

    assert len(check_stream(sse(events))) == breaches


@pytest.mark.parametrize(("events", "words"), BREACHES)
def test_conformance_kit_names_each_breach(events: Events, words: str) -> None:
    assert any(words in breach for breach in check_stream(sse(events)))
    assert any(words in breach for breach in check_stream(ndjson(events), framing="ndjson"))


GOOD = sse([start(), text(), end()])


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (GOOD.replace(b"\n", b"\r\n"), "carriage return"),
        (GOOD.replace(b"id: 1\n", b""), "not exactly"),
        (GOOD.replace(b"id: 1\n", b"event: content\nid: 1\n"), "not exactly"),
        (GOOD.replace(b"data: ", b"data:"), "not exactly"),
        (GOOD.replace(b"id: 1\n", b"id: 2\n"), "id of the SSE frame"),
        (GOOD[:-1], "complete block"),
        (GOOD.replace(b"\ndata", b"\n: ping\ndata", 1), "not exactly"),
        (GOOD.replace(b"Hi", b"\xff"), "not valid UTF-8"),
        (GOOD.replace(b"Hi", b"\\u54c8"), "not ASCII-escaped"),
        (GOOD.replace(b'"Hi"', b"NaN"), "NaN is no JSON"),
        (GOOD.replace(b'"Hi"', b"99999999999999999999"), "beyond 64 bits"),
        (GOOD.replace(b'"Hi"', b'"Hi", "content": "Ho"'), "occurs twice"),
        (GOOD.replace(b'"Hi"', b'"Hi'), "not JSON"),
        (b"", "no events"),
    ],
)
def test_conformance_kit_names_each_breach_of_the_framing(body: bytes, words: str) -> None:
    assert check_stream(GOOD.replace(b"\n\n", b"\n\n: ping\n\n", 1)) == []
    assert any(words in breach for breach in check_stream(body)), check_stream(body)


@pytest.mark.parametrize("code", ["RESUME_LOST", "RESUME_LIMIT", "RESUME_UNAVAILABLE"])
def test_events_without_ids_are_accepted_in_unstored_streams_only(code: str) -> None:
    events = numbered([start(), event("warning", {"message": "m", "message_code": code}), end()])
    body = b"".join(b"data: %b\n\n" % json.dumps(each, separators=(",", ":")).encode() for each in events)
    assert (check_stream(body) == []) is (code != "RESUME_UNAVAILABLE")


def test_ndjson_may_have_empty_lines_but_ends_with_its_last_event() -> None:
    body = ndjson([start(), text(), end()])
    assert check_stream(body.replace(b"\n", b"\n\n\n", 2), framing="ndjson") == []
    assert check_stream(body[:-1], framing="ndjson")
    assert check_stream(body + b"\n", framing="ndjson")


HEADERS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",
    "X-Request-Id": "r",
    "Content-Encoding": "identity",
    "Set-Cookie": "a=b",
}


def test_headers_are_checked_where_they_are_given() -> None:
    assert check_stream(GOOD, headers=HEADERS) == []
    assert check_stream(GOOD, headers=[(name.lower(), value) for name, value in HEADERS.items()]) == []
    for name in HEADERS:
        if name != "Set-Cookie":
            missing = {key: value for key, value in HEADERS.items() if key != name}
            assert any(name.lower() in breach for breach in check_stream(GOOD, headers=missing))
            assert check_stream(GOOD, headers={**missing, name: "other"})
    assert check_stream(GOOD, headers={**HEADERS, "Content-Length": "5"})
    assert check_stream(GOOD, headers=[*HEADERS.items(), ("x-request-id", "r")])


@for_each("stream", recorded_streams(), group=dialect_of)
def test_folded_result_is_checked_too(stream: Any) -> None:
    options = {"speaks": stream.dialect, "protocol_options": {stream.dialect: stream.options}}
    body = convert(stream.body, framing="json", **options)
    assert check_stream(body, framing="json") == []
    for name in json.loads(body):
        assert check_stream(json.dumps({**json.loads(body), name: 7}).encode(), framing="json")


def test_every_breach_is_in_the_assertion() -> None:
    with pytest.raises(AssertionError, match=r"(?s)no tool_call_start for 'a'.*no tool_call_start for 'b'"):
        assert_valid_stream(sse([start(), called("a"), called("b"), end()]))
    with pytest.raises(ValueError, match="unknown framing"):
        check_stream(b"", framing="xml")


def test_random_cuts_join_to_the_body_and_depend_on_the_seed_alone() -> None:
    body = bytes(range(256)) * 20
    assert b"".join(cuts(body)) == body
    assert cuts(body, seed=3) == cuts(body, seed=3) != cuts(body, seed=4)
    assert cuts(b"") == []


class TestLegacy(DecoderConformance):
    dialect = "legacy"
    samples = tuple(sorted((RECORDED / "legacy").glob("*.sse")))
    ends_at_eof = True  # behind its `final_answer`


class TestStandard(DecoderConformance):
    dialect = "standard"
    samples = tuple(sorted((RECORDED / "standard").glob("*.ndjson")))


class Acme(Decoder):
    """A small dialect that keeps its promises; its variants each break one."""

    framing = "ndjson"

    def decode(self, frame: Frame) -> list[Event]:
        message = frame.json()
        if not isinstance(message, dict):
            raise MalformedEvent("no object")
        return [SessionEnd()] if message.get("end") else [Content(content=str(message.get("text")))]


class RaisesOnOddFields(Acme):
    def decode(self, frame: Frame) -> list[Event]:
        return [SessionEnd()] if frame.json()["end"] else [Content(content=frame.json()["text"])]


class CompletesWhenCutOff(Acme):
    def close(self) -> list[Event]:
        self.complete = True
        return [SessionEnd()]


class AlwaysComplete(Acme):
    complete = True


class CompleteWithItsFirstText(Acme):
    def decode(self, frame: Frame) -> list[Event]:
        self.complete = True
        return super().decode(frame)


class EndsWithItsFirstText(Acme):
    def decode(self, frame: Frame) -> list[Event]:
        return [*super().decode(frame), SessionEnd()]


class GivesWhatIsNoText(Acme):
    def decode(self, frame: Frame) -> list[Event]:
        events = super().decode(frame)
        return [Content(5) if isinstance(event, Content) else event for event in events]  # type: ignore[arg-type]


class EndsAtEOF(Acme):
    def close(self) -> list[Event]:
        return [SessionEnd()]


def failed_tests(
    monkeypatch: pytest.MonkeyPatch, decoder: type[Decoder], sample: bytes, *, at_eof: bool = False
) -> list[str]:
    class Conformance(DecoderConformance):
        dialect = "acme"
        samples = (sample,)
        ends_at_eof = at_eof

    monkeypatch.setitem(_registered, "acme", Dialect("acme", decoder, None))
    failed = []
    for name in dir(Conformance):
        if name.startswith("test_"):
            try:
                getattr(Conformance(), name)()
            except AssertionError:
                failed.append(name)
    return failed


ACME = b'{"text":"Hi","end":0}\n{"text":"there, all of you","end":0}\n{"text":"","end":1}\n'


def test_kit_passes_a_decoder_that_keeps_its_promises(monkeypatch: pytest.MonkeyPatch) -> None:
    assert failed_tests(monkeypatch, Acme, ACME) == []


def test_kit_lets_a_dialect_end_where_the_body_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    without_end = b"\n".join(ACME.split(b"\n")[:2])
    assert failed_tests(monkeypatch, EndsAtEOF, without_end, at_eof=True) == []
    assert failed_tests(monkeypatch, EndsAtEOF, without_end) == [
        "test_a_truncated_sample_never_ends_completed"
    ]


@pytest.mark.parametrize(
    ("decoder", "failed"),
    [
        (RaisesOnOddFields, "test_raises_nothing_on_junk"),
        (CompletesWhenCutOff, "test_a_truncated_sample_never_ends_completed"),
        (AlwaysComplete, "test_nothing_is_complete_while_text_is_still_to_come"),
        (CompleteWithItsFirstText, "test_nothing_is_complete_while_text_is_still_to_come"),
        (EndsWithItsFirstText, "test_nothing_is_complete_while_text_is_still_to_come"),
        (GivesWhatIsNoText, "test_a_sample_ends_without_an_internal_error"),
    ],
)
def test_kit_finds_faulty_decoders(
    monkeypatch: pytest.MonkeyPatch, decoder: type[Decoder], failed: str
) -> None:
    assert failed in failed_tests(monkeypatch, decoder, ACME)
