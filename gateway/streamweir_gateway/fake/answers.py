"""Writes responses without a stream, and the headers of responses with a stream."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from streamweir_gateway.fake.faults import Fault, faults_named
from streamweir_gateway.fake.secrets import HEADERS, LOCATION, REASON, TEXT
from streamweir_gateway.fake.steps import FOR_EVER, Break, Pause, Raw, Steps

__all__ = ["answer_steps", "connection_steps", "head_steps", "refusal_steps"]

_HTML: Final = f"<!DOCTYPE html><html><title>Sign in</title><pre>{TEXT}</pre></html>".encode()
_PICTURE: Final = b"\x89PNG\r\n\x1a\n" + TEXT.encode()
_INFORMATIONAL: Final = ("100 Continue", "102 Processing", "103 Early Hints")


def connection_steps(fault: Fault) -> Steps:
    """Yield the steps of a connection on which no response is sent."""
    match fault.name:
        case "no-headers":
            yield Pause(FOR_EVER)
        case "reset-before-headers":
            yield Break("reset")
        case "cut-headers":
            yield Raw(f"HTTP/1.1 200 OK\r\n{HEADERS[2]}\r\nContent-Ty".encode())
            yield Break("close")
        case "not-http":
            yield Raw(f"{TEXT}\r\n\r\n".encode())
            yield Break("close")
        case _:
            yield Break("close")


def answer_steps(fault: Fault, faults: tuple[Fault, ...], media_type: str) -> Steps:
    """Yield the steps of a whole response that has no stream."""
    status, headers, body = _ANSWERS[fault.name](fault, media_type)
    for other in faults_named(faults, "retry-after"):
        headers = [*headers, f"Retry-After: {round(other.argument or 0)}"]
    length = [] if status.startswith("204") else [f"Content-Length: {len(body)}"]
    yield from head_steps(status, [*headers, *length], faults)
    yield Raw(body)


def refusal_steps(problem: str) -> Steps:
    """Yield the steps of the response to a request for an unknown fault."""
    body = json.dumps({"error": problem}).encode() + b"\n"
    head = (
        f"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    yield Raw(head.encode() + body)


def head_steps(status: str, headers: list[str], faults: tuple[Fault, ...]) -> Steps:
    """Yield the steps of a status line and headers, with the faults that change them."""
    for fault in faults_named(faults, "informational"):
        yield from _informational(fault.amount)
    lines = [f"HTTP/1.1 {status}", *HEADERS, *headers, *_swollen(faults)]
    head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
    drips = faults_named(faults, "drip-headers")
    if not drips:
        yield Raw(head)
        return
    for index in range(len(head)):
        yield Raw(head[index : index + 1])
        yield Pause(drips[0].argument or 0)


def _informational(count: int) -> Steps:
    for number in range(count):
        yield Raw(f"HTTP/1.1 {_INFORMATIONAL[number % 3]}\r\n{HEADERS[2]}\r\n\r\n".encode())


def _swollen(faults: tuple[Fault, ...]) -> Iterator[str]:
    for fault in faults_named(faults, "long-header"):
        yield "X-Long: " + "x" * fault.amount
    for fault in faults_named(faults, "many-headers"):
        yield from (f"X-Header-{number}: {number}" for number in range(fault.amount))


_Answer = tuple[str, list[str], bytes]


def _status(fault: Fault, _: str) -> _Answer:
    status = fault.amount
    error = {"message": TEXT, "type": "server_error", "path": "/srv/fake/agent/tools/orders.py"}
    body = b"" if status in (204, 304) else json.dumps({"error": error, "detail": TEXT}).encode()
    return f"{status} {REASON}", ["Content-Type: application/json"], body


def _redirect(fault: Fault, _: str) -> _Answer:
    return f"{fault.amount} Elsewhere", [f"Location: {LOCATION}"], TEXT.encode()


def _no_content(_: Fault, __: str) -> _Answer:
    return "204 No Content", [], b""


def _fixed(body: bytes, content_type: str | None = None) -> Callable[[Fault, str], _Answer]:
    """Return a function that answers with `body`; by default its type is that of a stream."""
    return lambda _, media_type: ("200 OK", [f"Content-Type: {content_type or media_type}"], body)


_ENVELOPE: Final = {
    "status": "error",
    "code": 500,
    "message": TEXT,
    "data": None,
    "error": {"code": "INTERNAL_ERROR", "message": TEXT},
}

_ANSWERS: Final[Mapping[str, Callable[[Fault, str], _Answer]]] = {
    "status": _status,
    "redirect": _redirect,
    "no-content": _no_content,
    "html": _fixed(_HTML, "text/html; charset=utf-8"),
    "html-stream": _fixed(_HTML),
    "json-envelope": _fixed(json.dumps(_ENVELOPE).encode(), "application/json"),
    "empty": _fixed(b""),
    "wrong-type": _fixed(_PICTURE, "image/png"),
}
