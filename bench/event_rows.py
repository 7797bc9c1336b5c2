"""Rows of `micro.py`: events that are no plain text, the texts of all dialects, and large lines."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

from dialect_texts import TEXTS, body_of

from streamweir import Translator

__all__ = ["all_texts", "cumulative", "large_lines", "other_events"]

Step = Callable[[], object]

_LINES: Final = 8 << 20
"""Bytes of a body of large lines."""
_SHORT_LINE: Final = 64 << 10


def _through(speaks: str, pieces: list[bytes]) -> Step:
    """The whole way of a stream to the standard."""

    def step() -> None:
        feed = Translator(speaks=speaks, request_id="req_bench").feed
        for piece in pieces:
            feed(piece)

    return step


def _joined(events: list[bytes], per_read: int) -> list[bytes]:
    return [b"".join(events[at : at + per_read]) for at in range(0, len(events), per_read)]


def _token(number: int) -> bytes:
    return b'data: {"type":"token","content":"word%d "}\n\n' % number


def _token_with_id(number: int) -> bytes:
    return b'data: {"type":"token","content":"word%d ","id":"m-17-%d"}\n\n' % (number, number)


def _status(number: int) -> bytes:
    return b'data: {"type":"status","state":"running","node":"search","step":%d}\n\n' % number


def _call(number: int) -> bytes:
    arguments = b'{"q":"tea %d","limit":5}' % number
    return b'data: {"type":"tool_call","tool":"search","args":%b,"call_id":"c%d"}\n\n' % (arguments, number)


def _result(number: int) -> bytes:
    result = b'{"rows":3,"text":"ok %d"}' % number
    return b'data: {"type":"tool_result","tool":"search","result":%b,"call_id":"c%d"}\n\n' % (result, number)


def _in_turn(number: int) -> bytes:
    """Return the event of a stream in which a text, a call, its result and a status take turns."""
    kinds = (_token, _call, _result, _status)
    return kinds[number % len(kinds)](number // len(kinds))


def other_events(events: int, per_read: int) -> dict[str, Step]:
    """Legacy streams of events that are no plain text."""
    return {
        "text after text, one a read": _through("legacy", [*map(_token, range(events))]),
        "a status of the app's own, one a read": _through("legacy", [*map(_status, range(events))]),
        "texts with an id each": _through("legacy", _joined([*map(_token_with_id, range(events))], per_read)),
        "text, call, result, status in turn, one a read": _through("legacy", [*map(_in_turn, range(events))]),
    }


def all_texts(events: int, per_read: int) -> dict[str, Step]:
    """Streams of texts in every dialect, as servers write them."""
    names = sorted(TEXTS, key="legacy".__ne__)
    return {
        name: _through(name.partition(",")[0], _joined(body_of(name, events), per_read)) for name in names
    }


def cumulative(events: int) -> dict[str, Step]:
    """RAGFlow's two ways to send an answer, one event a read: all of it so far, and a piece of it."""
    shared = {"reference": {}, "audio_binary": None, "id": "m1", "session_id": "s1"}
    whole, bodies = "", []
    for number in range(events):
        whole += f"word{number} "
        message = {"code": 0, "message": "", "data": {"answer": whole, **shared}}
        bodies.append(b"data:%b\n\n" % json.dumps(message).encode())
    return {
        "cumulative answer": _through("ragflow", bodies),
        "agent's answer": _through("ragflow", body_of("ragflow", events)),
    }


def large_lines() -> dict[str, Step]:
    """The same number of bytes of NDJSON in one line and in many, in reads of 64 KiB."""

    def reads_of(size: int) -> list[bytes]:
        frame = b'{"type":"token","content":"%b"}\n'
        body = frame % (b"x" * (size - len(frame) - 64)) * (_LINES // size)
        return [body[at : at + _SHORT_LINE] for at in range(0, len(body), _SHORT_LINE)]

    return {
        "lines of 64 KiB": _through("legacy", reads_of(_SHORT_LINE)),
        "one line of 8 MiB": _through("legacy", reads_of(_LINES)),
    }
