"""A dialect from YAML beside `legacy`: the same answers, said in the one's words and in the other's.

    {"kind": "chunk", "body": {"text": "word1 "}}            {"type": "token", "content": "word1 "}

What it may cost is in the contract of home-made dialects: at most twice as much, for three kinds of answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from streamweir import Translator, load_dialect
from streamweir.codec.dialect import Dialect

__all__ = ["KINDS", "ratios", "steps"]

ACME: Final[dict[str, Any]] = {
    "framing": "sse",
    "rules": [
        {
            "match": {"kind": "chunk"},
            "emit": {"type": "content", "content": "${{ body.text }}", "message_id": "${{ msg }}"},
        },
        {
            "match": {"kind": "tool", "phase": "begin"},
            "emit": {
                "type": "tool_call_start",
                "tool_id": "${{ call.id }}",
                "tool_name": "${{ call.fn }}",
                "arguments": "${{ call.args }}",
            },
        },
        {
            "match": {"kind": "tool", "phase": "end"},
            "emit": {"type": "tool_call_end", "tool_id": "${{ call.id }}", "result": "${{ call.out }}"},
        },
        {"match": {"kind": "bye"}, "emit": {"type": "session_end"}},
    ],
    "ignore": [{"kind": "ping"}],
    "terminal": ["[DONE]"],
    "write": {
        "rules": [
            {
                "on": "content",
                "send": {
                    "data": {"kind": "chunk", "body": {"text": "${{ content }}"}, "msg": "${{ message_id }}"}
                },
            },
            {
                "on": "tool_call_start",
                "send": {"data": {"kind": "tool", "id": "${{ tool_id }}", "args": "${{ arguments }}"}},
            },
            {"on": "tool_call_end", "send": {"data": {"kind": "tool", "out": "${{ result }}"}}},
            {"on": "session_end", "send": {"data": {"kind": "bye"}}},
        ]
    },
}

Event = Callable[[int], bytes]


def _legacy_tool(number: int) -> bytes:
    call = number // 2
    if number % 2:
        return b'{"type":"tool_result","tool_id":"c%d","tool_name":"f","result":"ok"}' % call
    return b'{"type":"tool_call","tool_id":"c%d","tool_name":"f","tool_args":{"a":%d}}' % (call, number)


def _acme_tool(number: int) -> bytes:
    call = number // 2
    if number % 2:
        return b'{"kind":"tool","phase":"end","call":{"id":"c%d","out":"ok"}}' % call
    return b'{"kind":"tool","phase":"begin","call":{"id":"c%d","fn":"f","args":{"a":%d}}}' % (call, number)


KINDS: Final[dict[str, tuple[Event, Event]]] = {
    "text": (
        lambda number: b'{"type":"token","content":"word%d "}' % number,
        lambda number: b'{"kind":"chunk","body":{"text":"word%d "}}' % number,
    ),
    "text, changing ids": (
        lambda number: b'{"type":"token","content":"word%d ","message_id":"m%d"}' % (number, number),
        lambda number: b'{"kind":"chunk","body":{"text":"word%d "},"msg":"m%d"}' % (number, number),
    ),
    "tools": (_legacy_tool, _acme_tool),
}
"""By name: one event of an answer, in the words of `legacy` and in those of the dialect from YAML."""


def steps(events: int, per_read: int) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield what is measured: answers of so many events, read and written, first as `legacy`."""
    acme = Dialect.of_class("acme", load_dialect(ACME))
    for kind, (legacy, mapped) in KINDS.items():
        yield f"read {kind}: legacy", _through("legacy", "standard", _pieces(legacy, events, per_read))
        yield f"read {kind}: from YAML", _through(acme, "standard", _pieces(mapped, events, per_read))
        yield f"written {kind}: legacy", _through("legacy", "legacy", _pieces(legacy, events, per_read))
        yield f"written {kind}: from YAML", _through("legacy", acme, _pieces(legacy, events, per_read))


def ratios(figures: dict[str, float]) -> dict[str, float]:
    """Return by kind how much a dialect from YAML costs, of what `legacy` costs."""
    names = [name.removesuffix(": legacy") for name in figures if name.endswith(": legacy")]
    return {name: figures[f"{name}: from YAML"] / figures[f"{name}: legacy"] for name in names}


def _pieces(event: Event, events: int, per_read: int) -> list[bytes]:
    blocks = [b"data: " + event(number) + b"\n\n" for number in range(events)]
    return [b"".join(blocks[start : start + per_read]) for start in range(0, events, per_read)]


def _through(speaks: str | Dialect, answers: str | Dialect, pieces: list[bytes]) -> Callable[[], object]:
    def step() -> None:
        feed = Translator(speaks=speaks, answers=answers, request_id="req_bench").feed
        for piece in pieces:
            feed(piece)

    return step
