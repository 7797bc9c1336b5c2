"""Upstreams that fail in each way of the table of failures, in every dialect that is read and written.

Source: the standard protocol 1.1, section 8.
"""

import asyncio
import json
import zlib
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from typing import Final, NamedTuple

from scripted_upstream import LAST_CHUNK, Call, chunk
from streamweir import convert
from streamweir.codec.registry import process_dialects

STREAMS: Final = sorted(({*process_dialects().readable} & {*process_dialects().writable}) - {"standard"})
"""The dialects with a native stream."""
SECRET: Final = "could not open /srv/agent/tools.py for ops@corp.example"
ANSWER: Final = [
    {"type": "session_start", "data": {"session_id": "s1"}},
    {"type": "content", "data": {"content": "Hello "}, "metadata": {"message_id": "m1"}},
    {"type": "content", "data": {"content": "world"}, "metadata": {"message_id": "m1"}},
    {"type": "session_end", "data": {"status": "completed"}},
]
FAILURE: Final = [
    *ANSWER[:3],
    {
        "type": "error",
        "data": {"error_type": "execution", "code": "UPSTREAM_ERROR", "message": "No.", "terminal": True},
    },
    {"type": "session_end", "data": {"status": "error"}},
]


class Native(NamedTuple):
    """A stream of one dialect, as its own backend sends it."""

    media_type: str
    begun: bytes
    """Whole frames up to the last text."""
    whole: bytes
    failed: bytes


@cache
def native(dialect: str) -> Native:
    encoder = process_dialects().to_write(dialect)
    framing = "sse" if "sse" in encoder.framings else encoder.framings[0]
    whole, failed = (
        convert(
            b"".join(b"data: %b\n\n" % json.dumps({"metadata": {}, **event}).encode() for event in events),
            speaks="standard",
            answers=dialect,
            framing=framing,
        )
        for events in (ANSWER, FAILURE)
    )
    end = b"\n\n" if framing == "sse" else b"\n"
    media_type = {"sse": "text/event-stream", "ndjson": "application/x-ndjson"}.get(framing, "text/plain")
    begun = whole[: whole.index(end, whole.index(b"world")) + len(end)]
    return Native(f"{media_type}; charset=UTF-8; v=1", begun, whole, failed)


# What the upstream does

DOCUMENT: Final = b'{"ok": false, "code": "LOGIN_REQUIRED", "count": 3}'
REFUSAL: Final = {
    "error": {"code": "E_TOO_MUCH", "message": SECRET, "retry": True, "at": [1, 2.5, None]},
    "request_id": "req_0123456789abcdef",
}


async def plays(call: Call, dialect: str) -> None:
    """Do what the last segment of the path names."""
    name, _, argument = call.target.rpartition("/")[2].partition("~")
    await UPSTREAMS[name](call, native(dialect), argument)


def head(status: str, *headers: str) -> bytes:
    return unclosed_head(status, "Connection: close", *headers)


def unclosed_head(status: str, *headers: str) -> bytes:
    """A head without `Connection: close`, behind which Node takes every end of the body for a good one."""
    return "\r\n".join((f"HTTP/1.1 {status}", *headers, "", "")).encode()


async def refuses(call: Call, _stream: Native, status: str) -> None:
    body = json.dumps(REFUSAL).encode()
    headers = ["Retry-After: 7", "WWW-Authenticate: Bearer", "Content-Type: application/json; v=2"]
    await call.send(head(f"{status} No", *headers, f"Content-Length: {len(body)}") + body)


async def refuses_in_text(call: Call, _stream: Native, media_type: str) -> None:
    body = SECRET.encode()
    lines = [f"Content-Type: {media_type.replace('.', '/')}", f"Content-Length: {len(body)}"]
    await call.send(head("503 No", *lines) + body)


async def refuses_in_gzip(call: Call, _stream: Native, _: str) -> None:
    made = zlib.compressobj(wbits=31)
    body = made.compress(json.dumps(REFUSAL).encode()) + made.flush()
    lines = ("Content-Type: application/json", "Content-Encoding: gzip", f"Content-Length: {len(body)}")
    await call.send(head("500 No", *lines) + body)


async def refuses_without_end(call: Call, _stream: Native, size: str) -> None:
    await call.send(head("500 No", "Content-Type: application/json", "Transfer-Encoding: chunked"))
    await call.send(chunk(b"[" + b" " * int(size) + b"1]"))
    await call.until_closed()


async def refuses_deeply(call: Call, _stream: Native, levels: str) -> None:
    body = b"[" * int(levels) + b"]" * int(levels)
    await call.send(head("500 No", "Content-Type: application/json", f"Content-Length: {len(body)}") + body)


async def refuses_with_a_bad_type(call: Call, _stream: Native, _: str) -> None:
    await call.send(head("500 No", "Content-Type: text/html\x01", "Content-Length: 8") + b'{"a": 1}')


async def sends_document(call: Call, _stream: Native, status: str) -> None:
    body = DOCUMENT
    lines = ("Content-Type: application/json; v=3", f"Content-Length: {len(body)}")
    await call.send(head(f"{status} OK", *lines) + body)


async def is_silent(call: Call, _stream: Native, _: str) -> None:
    await call.until_closed()


async def closes(call: Call, _stream: Native, _: str) -> None:
    call.close()


async def sends_nothing(call: Call, stream: Native, _: str) -> None:
    await call.send(head("200 OK", f"Content-Type: {stream.media_type}", "Content-Length: 0"))


async def sends_no_chunk(call: Call, stream: Native, _: str) -> None:
    await call.send(head("200 OK", f"Content-Type: {stream.media_type}", "Transfer-Encoding: chunked"))
    await call.send(LAST_CHUNK)


async def sends_page(call: Call, _stream: Native, _: str) -> None:
    body = b"<!doctype html><title>Sign in</title>"
    await call.send(head("200 OK", "Content-Type: text/html", f"Content-Length: {len(body)}") + body)


async def sends_text(call: Call, _stream: Native, media_type: str) -> None:
    body = b"Internal Server Error\nPlease try again later.\n"
    lines = (f"Content-Type: {media_type.replace('.', '/')}", f"Content-Length: {len(body)}")
    await call.send(head("200 OK", *lines) + body)


async def redirects(call: Call, _stream: Native, status: str) -> None:
    await call.send(head(f"{status} Go", "Location: /login", "Content-Length: 0"))


async def sends_unknown_coding(call: Call, stream: Native, _: str) -> None:
    lines = (f"Content-Type: {stream.media_type}", "Content-Encoding: x-secret", "Content-Length: 3")
    await call.send(head("200 OK", *lines) + b"abc")


async def begins(call: Call, stream: Native, status: str = "200") -> None:
    lines = (f"Content-Type: {stream.media_type}", "Transfer-Encoding: chunked")
    await call.send(unclosed_head(f"{status} OK", *lines) + chunk(stream.begun))
    await asyncio.sleep(0.05)


async def breaks(call: Call, stream: Native, _: str) -> None:
    await begins(call, stream)


async def breaks_at_once(call: Call, stream: Native, _: str) -> None:
    lines = (f"Content-Type: {stream.media_type}", "Transfer-Encoding: chunked")
    await call.send(unclosed_head("200 OK", *lines) + chunk(stream.begun) + b"ff\r\ndata")


async def resets(call: Call, stream: Native, _: str) -> None:
    await begins(call, stream)
    call.reset()


async def stalls(call: Call, stream: Native, _: str) -> None:
    await begins(call, stream)
    await call.until_closed()


async def floods(call: Call, stream: Native, _: str) -> None:
    await begins(call, stream)
    await call.send(chunk(b"data: " + b"x" * 70_000))
    await call.until_closed()


async def ends_early(call: Call, stream: Native, _: str) -> None:
    await begins(call, stream)
    await call.send(LAST_CHUNK)


async def fails(call: Call, stream: Native, _: str) -> None:
    lines = (f"Content-Type: {stream.media_type}", "Transfer-Encoding: chunked")
    await call.send(head("200 OK", *lines) + chunk(stream.failed) + LAST_CHUNK)


async def fails_and_breaks(call: Call, stream: Native, _: str) -> None:
    lines = (f"Content-Type: {stream.media_type}", "Transfer-Encoding: chunked")
    await call.send(unclosed_head("200 OK", *lines) + chunk(stream.failed))
    await asyncio.sleep(0.05)


async def answers_whole(call: Call, stream: Native, _: str) -> None:
    dialect = next(name for name in STREAMS if native(name) is stream)
    body = convert(stream.whole, speaks=dialect, answers=dialect, framing="json")
    lines = ("Content-Type: application/json; v=3", f"Content-Length: {len(body)}")
    await call.send(head("200 OK", *lines) + body)


async def completes(call: Call, stream: Native, status: str) -> None:
    lines = (f"Content-Type: {stream.media_type}", "Transfer-Encoding: chunked")
    await call.send(head(f"{status} OK", *lines) + chunk(stream.whole) + LAST_CHUNK)


UPSTREAMS: Final[Mapping[str, Callable[[Call, Native, str], Awaitable[None]]]] = {
    "refuses": refuses,
    "text": refuses_in_text,
    "gzip": refuses_in_gzip,
    "endless": refuses_without_end,
    "deep": refuses_deeply,
    "bad-type": refuses_with_a_bad_type,
    "document": sends_document,
    "silent": is_silent,
    "closes": closes,
    "nothing": sends_nothing,
    "no-chunk": sends_no_chunk,
    "page": sends_page,
    "says": sends_text,
    "redirect": redirects,
    "coding": sends_unknown_coding,
    "breaks": breaks,
    "breaks-at-once": breaks_at_once,
    "resets": resets,
    "stalls": stalls,
    "floods": floods,
    "ends-early": ends_early,
    "fails": fails,
    "fails-and-breaks": fails_and_breaks,
    "answers-whole": answers_whole,
    "completes": completes,
}
