"""Clients of the upstream's own dialect get copies of its frames.

Source: the standard protocol 1.1, section 8.
"""

import json
import time
from functools import cache
from itertools import pairwise
from typing import Any

import pytest

from cases import for_each
from streams import PLANTED, Recorded, dialect_of, recorded_streams, small_pieces
from streamweir import Translator, convert
from streamweir.codec.dialects import Dialects
from streamweir.codec.registry import process_dialects
from streamweir.errors import CODES
from streamweir.testing import cuts
from streamweir.translation.verbatim.verbatim_writer import VerbatimWriter

FRAMINGS = {".sse": "sse", ".ndjson": "ndjson"}
DIALECTS = [name for name in Dialects.built_in().writable if name != "standard"]
STREAMS = [
    stream for stream in recorded_streams() if stream.dialect in DIALECTS and stream.path.suffix in FRAMINGS
]
FAILURES = ("error", "warning")


def translator_of(stream: Recorded, **options: Any) -> Translator:
    options.setdefault("answers", stream.dialect)
    options.setdefault("framing", FRAMINGS[stream.path.suffix])
    chosen = {stream.dialect: stream.options} if stream.options else None
    clock: dict[str, Any] = {
        "clock": lambda: 1_790_000_000_000,
        "request_id": "req_1",
        "session_id": "sess_1",
    }
    return Translator(speaks=stream.dialect, protocol_options=chosen, **clock, **options)


def said(translator: Translator, pieces: list[bytes]) -> bytes:
    return b"".join([*map(translator.feed, pieces), translator.close()])


def events_of(stream: Recorded) -> list[dict[str, Any]]:
    text = said(translator_of(stream, answers="standard", framing="ndjson"), [stream.body])
    return [json.loads(line) for line in text.splitlines()]


def is_failure(event: dict[str, Any]) -> bool:
    kind, data = event["type"], event["data"]
    return (
        kind in FAILURES
        or (kind in ("tool_call_end", "status") and data.get("status", data.get("state")) == "failed")
        or (kind == "session_end" and data["status"] == "error")
        or "withheld" in json.dumps(data)
    )


@cache
def is_healthy(stream: Recorded) -> bool:
    asks = process_dialects()[stream.dialect].asks_for_another_form(stream.options)
    return not asks and not any(map(is_failure, events_of(stream)))


def test_most_recorded_streams_are_healthy() -> None:
    healthy = [*filter(is_healthy, STREAMS)]
    assert len(healthy) > len(STREAMS) / 3
    assert {stream.dialect for stream in healthy} == {stream.dialect for stream in STREAMS}


@for_each("stream", STREAMS, group=dialect_of)
def test_healthy_stream_is_copied_byte_for_byte(stream: Recorded) -> None:
    if not is_healthy(stream):
        return
    body = stream.body
    translator = translator_of(stream)

    out = said(translator, [body])

    assert body.startswith(out)
    if out != body:  # what follows final evidence, or is half a frame, is nobody's
        assert translator.reason in ("done", "interaction", "cancelled")
        assert out.rstrip().endswith((b"}", b"]"))
        assert translator.counts["bytes_in"] == len(body)


@for_each("stream", STREAMS, group=dialect_of)
def test_copied_stream_does_not_depend_on_the_cuts(stream: Recorded) -> None:
    body = stream.body
    whole = said(translator_of(stream), [body])

    assert said(translator_of(stream), small_pieces(body)) == whole
    assert said(translator_of(stream), cuts(body, seed=5)) == whole


@for_each("stream", STREAMS, group=dialect_of)
def test_copied_failure_holds_no_planted_secret(stream: Recorded) -> None:
    if is_healthy(stream):
        return
    anew = said(translator_of(stream, verbatim=False), [stream.body]).decode()
    standard = said(translator_of(stream, answers="standard"), [stream.body]).decode()
    out = said(translator_of(stream), [stream.body]).decode()

    for text in PLANTED:
        assert text not in out or text in anew or text in standard, text


@for_each("stream", STREAMS, group=dialect_of)
def test_copied_stream_has_the_reason_and_counts_of_a_rewritten_one(stream: Recorded) -> None:
    copied, anew = translator_of(stream), translator_of(stream, verbatim=False)

    said(copied, [stream.body])
    said(anew, [stream.body])

    assert copied.reason == anew.reason
    assert copied.error == anew.error
    same = ("tool_calls", "malformed", "unknown", "repairs")
    assert [copied.counts[name] for name in same] == [anew.counts[name] for name in same]


@for_each("stream", STREAMS, group=dialect_of)
def test_frame_is_copied_with_its_last_byte(stream: Recorded) -> None:
    if not is_healthy(stream):
        return
    body, translator = stream.body, translator_of(stream)
    end = b"\n\n" if stream.path.suffix == ".sse" else b"\n"
    ends = [at + len(end) for at in range(len(body)) if body.startswith(end, at)]
    if b"\r" in body or b"\n{" in body[:3] or translator.feed(body[: ends[0]] if ends else body) == b"":
        return  # its first frame waits for what follows, or its lines end otherwise

    for begin, stop in pairwise(ends):
        fed = translator.feed(body[begin:stop])
        if translator.complete and not fed:
            break  # nobody's any more
        assert fed == body[begin:stop]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_stream_of_every_dialect_is_copied(dialect: str) -> None:
    events = [b'data: {"type":"token","content":"word%d"}\n\n' % number for number in range(20)]
    framing = Dialects.built_in()[dialect].framings[0]
    body = convert([*events, b'data: {"type":"done"}\n\n'], speaks="legacy", answers=dialect, framing=framing)
    comments = b": 2 kB of padding\n\nretry: 500\n\n" if framing == "sse" else b"\n\n"

    for given in (body, comments + body, body + comments):
        assert convert(given, speaks=dialect, answers=dialect, framing=framing) == given


TOKEN = b'data: {"type":"token","content":"Hi"}\n\n'
DONE = b'data: {"type":"done"}\n\n'


@pytest.mark.parametrize(
    "body",
    [
        TOKEN + DONE,
        b"\xef\xbb\xbf" + TOKEN + DONE,
        b"\n\n" + TOKEN + b"\n" + DONE,
        (TOKEN + DONE).replace(b"\n", b"\r\n"),
        (TOKEN + DONE).replace(b"\n", b"\r"),
        b": hello\n\n" + TOKEN + b": ping\n" + DONE,
        b"id: 1\nretry: 100\n" + TOKEN + b"id: 2\n" + DONE,
        b'data:{"type" :\t"token", "content":"Hi"}\n\n' + DONE,
        b'event: token\nid: 7\nx-custom: 1\ndata: {"content":"Hi"}\n\nevent: done\n\n',
        TOKEN + DONE + b"data: [DONE]\n\n: bye\n\n",
        TOKEN + DONE + b"data: [DONE]",
        TOKEN + DONE + b"data:[DONE]\n",
        TOKEN * 3 + b'data: {"kind":"strange"}\n\n' + TOKEN + DONE,
        TOKEN + DONE.rstrip(),
        b'data: {"type":\ndata: "token",\ndata: "content":"Hi"}\n\n' + DONE,
        TOKEN + b'data: {"type":"final_answer","content":"Hi"}\n\n' + DONE,
        b'data: {"type":"tool_call","tool_name":"a b","tool_args":{"q":1}}\n\n'
        b'data: {"type":"tool_result","tool_name":"a b","result":{"error":"none"},"status":"completed"}\n\n'
        + DONE,
    ],
)
def test_unusual_bytes_of_a_healthy_stream_are_copied(body: bytes) -> None:
    for pieces in ([body], [body[at : at + 1] for at in range(len(body))], cuts(body, seed=1)):
        assert convert(pieces, speaks="legacy", answers="legacy") == body


def legacy(*pieces: bytes, **options: Any) -> bytes:
    return convert([*pieces], speaks="legacy", answers="legacy", **options)


def test_frames_behind_final_evidence_are_dropped() -> None:
    assert legacy(TOKEN, DONE, b": ping\n\n", TOKEN, b": ping\n\n") == TOKEN + DONE + b": ping\n\n"


def test_stream_without_an_end_gets_an_error_of_its_dialect() -> None:
    out = legacy(TOKEN, TOKEN[:20])

    assert out.startswith(TOKEN)
    (error,) = [json.loads(line[6:]) for line in out[len(TOKEN) :].splitlines() if line]
    assert (error["type"], error["code"]) == ("error", "UPSTREAM_TRUNCATED")


def test_own_frame_behind_a_frame_without_line_end_begins_a_line() -> None:
    out = legacy(TOKEN.rstrip())

    assert out.startswith(TOKEN)
    assert b"UPSTREAM_TRUNCATED" in out


def blocks_in(body: bytes) -> list[bytes]:
    """Return the data of each block, as a browser reads it."""
    lines = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return [block.removeprefix(b"data:").strip() for block in lines.split(b"\n\n") if block]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("last", [TOKEN, b"data:" + TOKEN[6:]])
def test_own_error_is_a_frame_of_its_own_wherever_the_body_is_cut(end: bytes, last: bytes) -> None:
    body = (last + last).replace(b"\n", end)

    for cut in range(len(last), len(body) + 1):
        if body[:cut].endswith(b"}"):
            continue
        blocks = blocks_in(legacy(body[:cut]))
        for block in blocks:
            assert json.loads(block), (cut, blocks)
        assert [json.loads(block)["type"] for block in blocks][-1] == "error", cut
        assert json.loads(blocks[-1])["code"] == "UPSTREAM_TRUNCATED", cut


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_own_frames_have_the_line_style_of_the_upstream(end: bytes) -> None:
    token = b'data:{"type":"token","content":"Hi"}\n\n'.replace(b"\n", end)
    translator = Translator(speaks="legacy", answers="legacy", warnings=[])

    out = translator.feed(token)
    beat = translator.heartbeat()
    translator.warn("Soon over.")
    out += translator.fail("UPSTREAM_TIMEOUT")

    assert beat == b": ping" + end
    ours = out.removeprefix(token)
    assert ours.startswith(b'data:{"type":"warning"')
    assert ours.endswith(end + end)
    assert ours.count(end + end + b'data:{"type":"error"') == 1
    assert end == b"\n" or b"\n" not in ours.replace(end, b"")


def test_own_lines_of_json_end_like_those_of_the_upstream() -> None:
    line = TOKEN[6:-2] + b"\r\n"

    out = legacy(line, framing="ndjson")

    assert out.startswith(line)
    assert out.count(b"\n") == out.count(b"\r\n") == 2


@pytest.mark.parametrize("half", [b"event: token\n", b"event: token\ndata", b"event: token\nid: 4\n", b"da"])
def test_frame_without_data_at_the_end_is_left_out(half: bytes) -> None:
    named = b'event: token\ndata: {"content":"Hi"}\n\n'

    assert legacy(named, half) == legacy(named)


@pytest.mark.parametrize("half", [b"d", b"data", b"event: tok", b"id", b"re"])
def test_body_that_ends_within_its_first_line_is_truncated(half: bytes) -> None:
    translator = Translator(speaks="legacy", answers="legacy")

    said(translator, [half])

    assert translator.error is not None
    assert translator.error.code == "UPSTREAM_TRUNCATED"


@pytest.mark.parametrize("body", [b"<html>login</html>", b"Internal Server Error"])
def test_body_that_is_no_stream_does_not_decide_the_framing(body: bytes) -> None:
    translator = Translator(speaks="legacy", answers="legacy", framing="sse")
    writer = translator.writer
    assert isinstance(writer, VerbatimWriter)
    writer.follows = True

    out = said(translator, [body])

    assert translator.media_type.startswith("text/event-stream")
    assert out.startswith(b'data: {"type":"error"')


def test_failure_behind_copied_frames_writes_no_second_start() -> None:
    response = b'{"type":"response.created","response":{"id":"resp_7","model":"m-1"}}'
    created = b"event: response.created\ndata: %b\n\n" % response
    body = [created, b'event: response.in_progress\ndata: {"type":"response.in_progress"}\n\n']

    out = convert(body, speaks="openai-responses", answers="openai-responses")

    assert out.startswith(b"".join(body))
    ours = out.removeprefix(b"".join(body))
    assert ours.startswith(b"event: response.failed\n")
    assert ours.count(b"event: ") == 1
    assert (b'"id":"resp_7"' in ours, b'"model":"m-1"' in ours) == (True, True)


def test_copied_error_with_a_key_twice_keeps_only_the_value_that_is_read() -> None:
    message = CODES["RATE_LIMITED"].message
    twice = f'{{"type":"error","message":"no /srv/app","code":"RATE_LIMITED","message":"{message}"}}'
    out = legacy(TOKEN, b"id: 9\ndata: %b\n\n" % twice.encode())
    assert b"/srv/app" not in out
    assert out.count(message.encode()) == 1


def test_copied_error_keeps_all_fields_but_its_texts() -> None:
    error = {
        "type": "error",
        "message": "KeyError: 'x' in /srv/app.py",
        "code": "E_42",
        "retry": 3,
        "trace": "File /srv/app.py",
        "nested": {"at": "2024-05-01 10:00:00", "why": "no such key: x", "none": None},
    }

    out = legacy(TOKEN, b"id: 9\ndata: %b\n\n" % json.dumps(error).encode())

    block = out.removeprefix(TOKEN)
    assert block.startswith(b"id: 9\ndata: ")
    assert block.endswith(b"\n\n")
    written = json.loads(block.splitlines()[1][6:])
    assert written.keys() == error.keys()
    assert (written["code"], written["retry"], written["nested"]["at"]) == ("E_42", 3, "2024-05-01 10:00:00")
    assert written["nested"].keys() == {"at", "why", "none"}
    assert b"srv" not in block
    assert b"such" not in block
    assert b"KeyError" not in block


def test_open_call_is_not_closed_under_another_id() -> None:
    chunks = [
        {"type": "start"},
        {"type": "start-step"},
        {"type": "tool-input-start", "toolCallId": "c1", "toolName": "map"},
        {"type": "tool-input-available", "toolCallId": "c1", "toolName": "map", "input": {"city": "Rome"}},
        {"type": "tool-input-start", "toolCallId": "c2", "toolName": "map"},
        {"type": "tool-input-delta", "toolCallId": "c2", "inputTextDelta": '{"ci'},
    ]
    body = b"".join([b"data: %b\n\n" % json.dumps(chunk).encode() for chunk in chunks])

    out = convert(body, speaks="vercel-ui", answers="vercel-ui")

    ours = [json.loads(block[6:]) for block in out.removeprefix(body).split(b"\n\n")[:-2]]
    assert [chunk["type"] for chunk in ours] == ["error", "finish-step", "finish"]
    assert out.startswith(body)


def test_done_mark_behind_a_failure_is_copied() -> None:
    failed = b'"outputs":{"_ERROR":"no /srv/x"},"error":"no /srv/x","component_id":"c","component_type":"LLM"'
    run = b'"message_id":"m","task_id":"t","session_id":"s"'
    body = [
        b'data:{"event":"workflow_started",%b,"data":{"inputs":{}}}\n\n' % run,
        b'data:{"event":"node_finished",%b,"data":{"inputs":{},%b}}\n\n' % (run, failed),
        b"data:[DONE]\n\n",
    ]

    out = convert(body, speaks="ragflow", answers="ragflow")

    assert out.endswith(b"}\n\ndata:[DONE]\n\n")
    assert out.count(b"data:") == len(body)
    assert b"/srv" not in out


@pytest.mark.parametrize("end", [b"\n\n", b""])
def test_first_failure_that_is_followed_is_copied_safely(end: bytes) -> None:
    failure = b'data: {"error":{"message":"no such file: /srv/x","n":3},"type":"odd"}\n\n'
    pieces = [b": hello\n\n", failure, b": ping\n\n", TOKEN, DONE.removesuffix(b"\n\n") + end]

    for given in (pieces, [b"".join(pieces)], cuts(b"".join(pieces), seed=3)):
        out = legacy(*given)
        assert out == b"".join(pieces).replace(b"no such file: /srv/x", b"[withheld]")


def test_first_failure_followed_by_a_frame_without_line_end_is_copied() -> None:
    failure = b'data: {"error":{"message":"no such file: /srv/x"},"type":"odd"}\n\n'

    out = legacy(failure, DONE.rstrip())

    assert out == failure.replace(b"no such file: /srv/x", b"[withheld]") + DONE.rstrip()


def test_copied_failed_tool_keeps_its_output() -> None:
    call = b'data: {"type":"tool_call","tool_id":"t1","tool_name":"run","tool_args":{}}\n\n'
    failed = {
        "type": "tool_result",
        "tool_id": "t1",
        "status": "failed",
        "result": {"stdout": "two lines"},
        "error": "boom at /srv/app",
        "took": 1.5,
    }

    out = legacy(call, b"data: %b\n\n" % json.dumps(failed).encode(), DONE)

    written = json.loads(out.removeprefix(call).split(b"\n")[0][6:])
    assert written == {**failed, "error": "The tool failed."}


def test_failure_repeated_in_a_bookkeeping_frame_is_withheld() -> None:
    start = b'data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}\n\n'
    copies: list[dict[str, Any]] = [
        {"type": "RAW", "event": {"type": "error", "message": "the frobnicator refused", "id": 7}},
        {"type": "RAW", "event": {"event": "RunError", "content": "the frobnicator refused"}},
        {"type": "RAW", "event": {"node": {"status": "failed", "output": "the frobnicator refused"}}},
    ]
    plain = b'data: {"type":"RAW","event":{"type":"token","content":"an error is no failure"}}\n\n'
    for copy in copies:
        frame = b"data: %b\n\n" % json.dumps(copy).encode()
        written = Translator(speaks="ag-ui", answers="ag-ui").feed(start + frame + plain)
        assert b"frobnicator" not in written
        assert b'"RAW"' in written
        assert written.endswith(plain)


def test_frame_with_many_failures_takes_time_in_proportion() -> None:
    def taken(failures: int) -> float:
        content = [
            {
                "type": "mcp_tool_result",
                "tool_use_id": f"call_{number}",
                "is_error": True,
                "content": [{"type": f"text_{number}", "text": f"no /srv/table_{number}"}],
            }
            for number in range(failures)
        ]
        message = {"type": "message", "id": "m", "role": "assistant", "content": content}
        frame = b"data: %b\n\n" % json.dumps(message).encode()
        began = time.process_time()
        out = Translator(speaks="anthropic", answers="anthropic").feed(frame)
        seconds = time.process_time() - began
        assert b"/srv" not in out
        assert out.count(b'"type":"mcp_tool_result"') == out.count(b'"tool_use_id":"call_') == failures
        return seconds

    assert taken(8000) < 20 * taken(1000)


def test_malformed_frame_is_left_out_and_counted() -> None:
    translator = Translator(speaks="legacy", answers="legacy")

    out = said(translator, [TOKEN, b"data: {broken\n\n", TOKEN, DONE])

    assert out == TOKEN + TOKEN + DONE
    assert translator.counts["malformed"] == 1


def test_bytes_that_are_no_utf8_are_replaced() -> None:
    assert legacy(TOKEN.replace(b"Hi", b"H\xff"), DONE) == TOKEN.replace(b"Hi", "H\ufffd".encode()) + DONE


def test_bytes_that_are_no_utf8_beside_a_later_text_are_replaced() -> None:
    damaged = TOKEN[:-1] + b"\xefdata: x\n\n"

    for frames in ([TOKEN, TOKEN, damaged], [TOKEN + TOKEN + damaged]):
        out = said(Translator(speaks="legacy", answers="legacy"), [*frames, DONE])

        assert out == TOKEN + TOKEN + damaged.replace(b"\xef", "\ufffd".encode()) + DONE


def test_warning_of_the_endpoint_is_written_in_the_dialect() -> None:
    warnings = [{"message": "This moves.", "message_code": "DEPRECATED"}]
    body = legacy(TOKEN, DONE, warnings=warnings)

    assert body.endswith(TOKEN + DONE)
    assert b"This moves." in body.removesuffix(TOKEN + DONE)


def test_warning_is_written_behind_a_copied_start() -> None:
    start = b'data: {"type":"session_start","session_id":"s1"}\n\n'

    out = legacy(start, TOKEN, DONE, warnings=["This moves."])

    assert out.startswith(start)
    assert out.endswith(TOKEN + DONE)
    assert b"This moves." in out


@pytest.mark.parametrize(
    "options",
    [{"verbatim": False}, {"full_text": "append"}, {"full_text": "replace"}, {"framing": "ndjson"}],
)
def test_stream_with_an_option_for_another_form_is_rewritten(options: dict[str, Any]) -> None:
    body = b'data: {"type" : "token", "content" : "Hi"}\n\n' + DONE

    assert legacy(body, **options) != body


def test_stream_with_an_option_for_reading_is_copied() -> None:
    stream = next(
        s
        for s in STREAMS
        if s.dialect == "ragflow" and not s.options and s.path.suffix == ".sse" and is_healthy(s)
    )
    options = {"ragflow": {"end": "eof"}}

    out = convert(stream.body, speaks="ragflow", answers="ragflow", protocol_options=options)

    assert out == stream.body


def test_detected_dialect_is_copied() -> None:
    for pieces in ([TOKEN * 3 + DONE], [bytes([byte]) for byte in TOKEN * 3 + DONE]):
        assert convert(pieces, speaks="auto", answers="legacy") == TOKEN * 3 + DONE


def test_detected_other_dialect_is_translated() -> None:
    body = convert(TOKEN + DONE, speaks="legacy", answers="easyflow")

    out = convert(body, speaks="auto", answers="legacy", framing="sse")

    assert json.loads(out.split(b"\n")[0][6:])["content"] == "Hi"


def test_copied_stream_over_its_limit_ends_with_an_error() -> None:
    translator = Translator(speaks="legacy", answers="legacy", limits={"event_bytes": 1000})

    out = translator.feed(TOKEN) + translator.feed(b"data: " + b"x" * 2000)

    assert translator.reason == "limit"
    assert out.startswith(TOKEN)
    assert b"STREAM_LIMIT_EXCEEDED" in out


@pytest.mark.parametrize(
    ("dialect", "frame", "sign"),
    [
        ("legacy", b'event: token\ndata: {"content":"Hi"}\n\n', b'event: error\ndata: {"type":"error"'),
        ("legacy", b'data: {"type":"token","data":{"content":"Hi"}}\n\n', b'{"type":"error","data":{'),
        ("legacy", b'{"type":"token","content":"Hi"}\n', b'\n{"type":"error"'),
        ("ragflow", b'data:{"code":0,"data":{"answer":"Hi","reference":{},"id":"m"}}\n\n', b'"**ERROR**: '),
        (
            "ragflow",
            b'data:{"event":"message","message_id":"m","data":{"content":"Hi"}}\n\n',
            b'data:{"code":500',
        ),
        (
            "ragflow",
            b'data:{"id":"c","choices":[{"delta":{"content":"Hi","role":"assistant"},"index":0}],'
            b'"object":"chat.completion.chunk","model":"model"}\n\n',
            b"**ERROR**: The answer broke off",
        ),
        (
            "stream-envelope",
            b'data: {"type":"content","content":"Hi","thread_id":"t"}\n\n',
            b'data: {"type":"error","error":',
        ),
        (
            "stream-envelope",
            b'data: {"type":"content","thread_id":"t","run_id":"r","node_name":"n",'
            b'"data":{"delta":"Hi"}}\n\n',
            b'"data":{"message":',
        ),
        (
            "easyflow",
            b'event:message\ndata:{"protocol":"aiflowy-chat","domain":"LLM","type":"MESSAGE",'
            b'"payload":{"delta":"Hi"}}\n\n',
            b'"type":"ERROR"',
        ),
    ],
)
def test_own_error_has_the_form_of_the_copied_frames(dialect: str, frame: bytes, sign: bytes) -> None:
    framing = "ndjson" if frame.startswith(b"{") else "sse"

    out = convert(frame, speaks=dialect, answers=dialect, framing=framing)

    assert out.startswith(frame)
    assert sign in out, out


ENDS_BEHIND_ERRORS = (b"finish-step", b"finish")


@pytest.mark.parametrize("cut", [False, True])
def test_messages_that_clients_expect_behind_an_error_are_copied(cut: bool) -> None:
    frames = [b'data: {"type":"start"}\n\n', b'data: {"type":"error","errorText":"no /srv/x"}\n\n']
    ends = [b'data: {"type":"%b"}\n\n' % name for name in ENDS_BEHIND_ERRORS]
    late = b'data: {"type":"text-delta","id":"1","delta":"late"}\n\n'
    body = b"".join([*frames, *ends, b"data: [DONE]\n\n", late])
    pieces = [body[at : at + 1] for at in range(len(body))] if cut else [body]

    out = convert(pieces, speaks="vercel-ui", answers="vercel-ui")

    assert out.startswith(frames[0])
    assert out.endswith(b"".join(ends) + b"data: [DONE]\n\n")
    assert out.count(b'"error"') == 1
    assert b"srv" not in out
    assert b"late" not in out


def test_finish_without_an_error_before_it_ends_the_stream() -> None:
    body = b'data: {"type":"start"}\n\ndata: {"type":"finish"}\n\ndata: {"type":"finish-step"}\n\n'
    assert convert(body, speaks="vercel-ui", answers="vercel-ui") == body[: body.index(b"finish-step") - 15]


@pytest.mark.parametrize("texts", [1, 2, 40])
@pytest.mark.parametrize("first", [0, 7000])
@pytest.mark.parametrize("whole", [True, False], ids=["one_read", "one_frame_a_read"])
def test_error_behind_copied_responses_frames_counts_on(texts: int, first: int, whole: bool) -> None:
    response = {"id": "resp_1", "object": "response", "status": "in_progress", "output": []}
    messages: list[dict[str, Any]] = [{"type": "response.created", "response": response}]
    text = {"type": "response.output_text.delta", "item_id": "m", "output_index": 0, "content_index": 0}
    messages += [{**text, "delta": f'"sequence_number": 9{n}'} for n in range(texts)]
    frames = [
        f"data: {json.dumps({**message, 'sequence_number': first + n})}\n\n".encode()
        for n, message in enumerate(messages)
    ]
    translator = Translator(speaks="openai-responses", answers="openai-responses", framing="sse")
    out = said(translator, [b"".join(frames)] if whole else frames)
    assert out.startswith(b"".join(frames))
    numbers = [json.loads(line[6:])["sequence_number"] for line in out.splitlines() if line[:6] == b"data: "]
    assert len(numbers) > len(frames), "an error was written behind them"
    assert numbers == list(range(first, first + len(numbers)))


def test_error_behind_a_number_that_is_too_long_counts_the_same_however_the_body_is_cut() -> None:
    text = {"type": "response.output_text.delta", "item_id": "m", "output_index": 0, "content_index": 0}
    frames = [
        f"data: {json.dumps({**text, 'delta': 'a', 'sequence_number': number})}\n\n".encode()
        for number in (2, 3, 10**16)
    ]
    ends = [
        said(Translator(speaks="openai-responses", answers="openai-responses", request_id="r"), reads)[-40:]
        for reads in ([b"".join(frames)], frames)
    ]
    assert ends[0] == ends[1]
    assert b'"sequence_number":5}' in ends[0]


@pytest.mark.parametrize("end", [b"\r\n", b"\n"])
def test_broken_frame_is_left_out_with_its_line_ends_however_it_is_cut(end: bytes) -> None:
    parts = [b'data: {"type":"token","content":"a"}', b"", b'data: {"type":"token,', b"", b"", b": hi", b""]
    body = end.join([*parts, b'data: {"type":"token","content":"b"}', b"", b""])
    for size in (1, 2, 3, len(body)):
        translator = Translator(speaks="legacy", answers="legacy")
        pieces = [translator.feed(body[at : at + size]) for at in range(0, len(body), size)]
        left = end.join([*parts[:2], *parts[4:], b'data: {"type":"token","content":"b"}', b"", b""])
        assert b"".join(pieces) == left


def test_own_lines_end_with_crlf_where_the_first_line_is_cut_between_its_ends() -> None:
    lines = b'{"type": "thinking_text", "content": "I wonder"}\r', b"\n"
    translator = Translator(answers="data-formulator", framing="ndjson")
    written = b"".join([*map(translator.feed, lines), translator.close()])
    assert written.endswith(b"}\r\n")
    assert written.count(b"\r") == written.count(b"\r\n") == 2
