"""Translated responses: protocol, framing, headers and codings."""

import gzip
import zlib
from typing import Any

import brotli
import pytest

from hosts import DONE, HELLO, NDJSON, SSE, TOKENS, Call, body, sending, start, streaming
from streamweir.asgi import StreamweirMiddleware

pytestmark = pytest.mark.anyio

LINES = tuple(piece.removeprefix(b"data: ")[:-1] for piece in HELLO)


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def call(app: Any, *headers: tuple[str, str], speaks: str = "legacy", **options: Any) -> Call:
    scope = options.pop("scope", {})
    return await Call(StreamweirMiddleware(app, speaks=speaks, **options), headers=headers, **scope).run()


async def test_stream_is_translated_message_by_message() -> None:
    done = await call(streaming(*HELLO))
    answer = done.answer.assert_valid()
    assert answer.text == "Hello"
    assert answer.end["status"] == "completed"
    # at most one message for each of the application: start, two pieces, the end with `done`
    assert [message["type"] for message in done.sent] == ["http.response.start"] + ["http.response.body"] * 3
    assert [message["more_body"] for message in done.sent[1:]] == [True, True, False]


async def test_event_leaves_with_its_last_byte() -> None:
    seen: list[int] = []
    made = Call(None)
    pieces = [TOKENS[0][:20], TOKENS[0][20:-1], b"\n", DONE]

    def look() -> None:
        seen.append(len(made.sent))

    made.app = StreamweirMiddleware(
        sending(
            start(),
            look,
            *(step for piece in pieces for step in (body(piece, more=True), look)),
            body(),
        ),
        speaks="legacy",
    )
    await made.run()
    # in SSE only the blank line after it completes the event
    assert seen == [0, 0, 0, 2, 3]


@pytest.mark.parametrize(
    ("accept", "media_type", "options", "framing"),
    [
        (None, SSE, {}, "sse"),
        (None, NDJSON, {}, "ndjson"),
        ("*/*", NDJSON, {}, "ndjson"),
        ("*/*", NDJSON, {"framing": "sse"}, "sse"),
        ("text/html", SSE, {"framing": "ndjson"}, "ndjson"),
        ("text/event-stream", NDJSON, {}, "sse"),
        ("application/x-ndjson", SSE, {}, "ndjson"),
        ("application/x-ndjson;q=0.5, text/event-stream;q=0.9", NDJSON, {"framing": "ndjson"}, "sse"),
        ("application/json, */*", SSE, {}, "sse"),
        ("application/json", SSE, {}, "json"),
        (None, b"application/jsonl; charset=utf-8", {}, "ndjson"),
        ("application/jsonl", SSE, {}, "ndjson"),
        ("application/jsonl;q=0.5, text/event-stream", NDJSON, {}, "sse"),
    ],
)
async def test_framing_follows_accept_and_the_application(
    accept: str | None, media_type: bytes, options: Any, framing: str
) -> None:
    pieces = HELLO if media_type == SSE else LINES
    headers = [("Accept", accept)] if accept else []
    done = await call(streaming(*pieces, media_type=media_type), *headers, **options)
    answer = done.answer
    assert answer.framing == framing
    if framing == "json":
        assert answer.json["message"]["content"] == "Hello"
        assert answer.json["status"] == "completed"
        assert answer.header("content-length") == str(len(answer.body))
        assert len(done.sent) == 2
    else:
        assert answer.assert_valid().text == "Hello"


@pytest.mark.parametrize("status", [200, 201, 202])
@pytest.mark.parametrize("accept", ["text/event-stream", "application/json"])
async def test_status_of_a_stream_is_the_application_s(status: int, accept: str) -> None:
    app = sending(start(status=status), body(b"".join(HELLO)))
    for speaks in ("legacy", "auto"):
        answer = (await call(app, ("Accept", accept), speaks=speaks)).answer
        assert answer.status == status
        assert b"Hel" in answer.body
        assert b"token" not in answer.body


@pytest.mark.parametrize(
    "media_type", [b"application/jsonl", b"application/x-ndjson;charset=utf-8", b"Application/JSONL; a=b"]
)
@pytest.mark.parametrize("status", [200, 201])
async def test_copied_stream_keeps_status_and_content_type(media_type: bytes, status: int) -> None:
    app = sending(start(media_type, status=status), *(body(line, more=True) for line in LINES), body())
    answer = (await call(app, answers="legacy", paths="/chat")).answer
    assert answer.status == status
    assert answer.header("content-type") == media_type.decode()
    assert answer.body == b"".join(LINES)


async def test_stream_in_another_framing_than_the_application_s_has_its_own_content_type() -> None:
    app = sending(start(b"application/jsonl"), *(body(line, more=True) for line in LINES), body())
    answer = (await call(app, ("Accept", "text/event-stream"), answers="legacy")).answer
    assert answer.header("content-type") == "text/event-stream; charset=utf-8"


async def test_client_of_the_application_s_own_dialect_is_folded_for_only_if_it_chose_the_protocol() -> None:
    app, json_wanted = streaming(*HELLO), ("Accept", "application/json")
    copied = (await call(app, json_wanted, answers=("legacy", "standard"))).answer
    assert copied.body == b"".join(HELLO)
    assert copied.header("content-type") == "text/event-stream"
    for headers, query in (((("X-Streamweir-Protocol", "legacy"),), b""), ((), b"protocol=legacy")):
        done = await call(app, json_wanted, *headers, answers="legacy", scope={"query_string": query})
        assert done.answer.json["message"]["content"] == "Hello"
    anew = (await call(app, json_wanted, answers="legacy", verbatim=False)).answer
    assert anew.json["message"]["content"] == "Hello"


async def test_protocol_follows_the_header_and_the_query() -> None:
    app = streaming(*HELLO)
    answers = ("standard", "legacy")
    for headers, query, chosen in (
        ((), b"", "standard"),
        ((("X-Streamweir-Protocol", "legacy"),), b"", "legacy"),
        ((), b"protocol=legacy", "legacy"),
        ((), b"protocol=https", "standard"),
        ((("X-Streamweir-Protocol", "legacy"),), b"protocol=standard", "legacy"),
    ):
        done = await call(app, *headers, answers=answers, scope={"query_string": query})
        assert (b'"type": "token"' in done.answer.body) == (chosen == "legacy")


async def test_unknown_protocol_is_refused_before_the_application_is_called() -> None:
    called: list[Any] = []
    app = sending(lambda: called.append(1), start(), body(b"".join(HELLO)))
    done = await call(app, ("X-Streamweir-Protocol", "morse"), ("X-Request-Id", "abc"))
    assert not called
    assert done.answer.status == 400
    assert done.answer.json["error"]["code"] == "BAD_REQUEST"
    assert done.answer.json["request_id"] == "abc" == done.answer.header("x-request-id")


async def test_headers_of_the_application_are_kept_except_those_of_the_body() -> None:
    app = streaming(
        *HELLO,
        headers=[
            (b"set-cookie", b"a=1"),
            (b"Set-Cookie", b"b=2"),
            (b"access-control-allow-origin", b"*"),
            (b"ETag", b'"x"'),
            (b"Content-Length", b"7"),
            (b"cache-control", b"max-age=60"),
            (b"X-Request-Id", b"theirs"),
        ],
    )
    done = await call(app, ("X-Request-Id", "mine"))
    headers = done.sent[0]["headers"]
    names = [name.lower() for name, _ in headers]
    assert [value for name, value in headers if name.lower() == b"set-cookie"] == [b"a=1", b"b=2"]
    assert dict(headers)[b"access-control-allow-origin"] == b"*"
    assert dict(headers)[b"cache-control"] == b"no-cache, no-transform"
    assert dict(headers)[b"content-encoding"] == b"identity"
    assert dict(headers)[b"x-request-id"] == b"mine"
    assert not {b"etag", b"content-length"} & set(names)
    assert len([name for name in names if name in (b"x-request-id", b"cache-control", b"content-type")]) == 3


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    ("coding", "pack"),
    [
        (b"gzip", gzip.compress),
        (b"deflate", zlib.compress),
        (b"deflate", raw_deflate),
        (b"br", brotli.compress),
        (b"identity", bytes),
    ],
)
@pytest.mark.parametrize("speaks", ["legacy", "auto"])
@pytest.mark.parametrize("size", [1, 1000])
async def test_compressed_stream_is_decoded(coding: bytes, pack: Any, speaks: str, size: int) -> None:
    coded = pack(b"".join(HELLO))
    pieces = [coded[at : at + size] for at in range(0, len(coded), size)]
    done = await call(streaming(*pieces, headers=[(b"content-encoding", coding)]), speaks=speaks)
    assert done.answer.assert_valid().text == "Hello"
    assert done.answer.end["status"] == "completed"


@pytest.mark.parametrize(
    ("coding", "data", "code"),
    [
        (b"gzip", b"data: no gzip", "UPSTREAM_INVALID_RESPONSE"),
        (b"zstd", b"whatever", "UPSTREAM_INVALID_RESPONSE"),
        (b"gzip", gzip.compress(TOKENS[0], mtime=0)[:-4], "UPSTREAM_TRUNCATED"),
    ],
)
async def test_unreadable_coding_ends_the_stream_with_an_error(coding: bytes, data: bytes, code: str) -> None:
    done = await call(streaming(data, headers=[(b"content-encoding", coding)]))
    error = done.answer.assert_valid().error
    assert error is not None
    assert error["code"] == code


async def test_compressed_bomb_ends_at_the_limit() -> None:
    bomb = gzip.compress(b": " + b"x" * (1 << 20) + b"\n\n") * 200
    app = streaming(bomb, headers=[(b"content-encoding", b"gzip")])
    done = await call(app, limits={"stream_bytes": "8MiB"})
    error = done.answer.assert_valid().error
    assert error is not None
    assert error["code"] == "STREAM_LIMIT_EXCEEDED"


async def test_application_is_asked_not_to_compress_if_paths_are_given() -> None:
    seen: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append([value for name, value in scope["headers"] if name == b"accept-encoding"])
        await send(start(b"text/plain"))
        await send(body(b""))

    gzip_wanted = ("Accept-Encoding", "gzip")
    done = await call(app, gzip_wanted, paths="/chat")
    await call(app, gzip_wanted)
    await call(app, gzip_wanted, paths="/other")
    assert seen == [[b"identity"], [b"gzip"], [b"gzip"]]
    assert done.scope["headers"] == [(b"accept-encoding", b"gzip")]


@pytest.mark.parametrize("cut", [1, 7, 10_000])
async def test_auto_detects_the_dialect(cut: int) -> None:
    text = b": hello\n\n" + b"".join(HELLO)
    pieces = [text[at : at + cut] for at in range(0, len(text), cut)]
    done = await call(streaming(*pieces), speaks="auto")
    assert done.answer.assert_valid().text == "Hello"


async def test_body_in_any_shape_is_translated() -> None:
    app = sending(
        start(),
        {"type": "http.response.body", "body": bytearray(TOKENS[0]), "more_body": True},
        {"type": "http.response.body", "body": memoryview(TOKENS[1]), "more_body": True},
        {"type": "http.response.body", "more_body": True},
        {"type": "http.response.body", "body": DONE},
    )
    assert (await call(app)).answer.assert_valid().text == "Hello"


async def test_options_apply_to_the_stream() -> None:
    done = await call(
        streaming(*HELLO), warnings=["First.", {"message": "Second.", "message_code": "TWO"}], raw=True
    )
    events = done.answer.assert_valid().events
    assert [event["type"] for event in events[:3]] == ["session_start", "warning", "warning"]
    assert events[2]["data"] == {"message": "Second.", "message_code": "TWO"}
    assert any("source" in event["metadata"] for event in events)
