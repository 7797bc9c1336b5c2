"""Upstreams that break or are slow, under clients that neither wait for ever nor take it for success."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import anyio

from scripted_upstream import Call, Script, answer

__all__ = ["FAULTS", "HEARTBEAT", "SPEAKS"]

SPEAKS: Final = "legacy"
HEARTBEAT: Final = "100ms"
"""A client hears heartbeats where the upstream is silent for longer."""

_TOKEN: Final = b'data: {"type": "token", "content": "Hel"}\n\n'
_THOUGHT: Final = b'data: {"type": "thinking", "content": "hm"}\n\n'
_CALL: Final = b'data: {"type": "tool_call", "tool_id": "t-1", "tool_name": "slow", "arguments": {}}\n\n'
_DONE: Final = b'data: {"type": "done"}\n\n'


def _status(status: str, *headers: str) -> Script:
    async def script(call: Call) -> None:
        await call.send(
            answer(b'{"detail": "no"}', "Content-Type: application/json", *headers, status=status)
        )

    return script


def _body(*pieces: bytes, pause: float = 0.0, content_type: str = "text/event-stream") -> Script:
    async def script(call: Call) -> None:
        await call.begin(content_type=content_type)
        await call.send(*pieces, pause=pause)

    return script


def _reset_after(*pieces: bytes) -> Script:
    async def script(call: Call) -> None:
        await call.begin()
        await call.send(*pieces)
        await anyio.sleep(0.05)
        call.reset()

    return script


async def _closes_at_once(call: Call) -> None:
    call.close()


FAULTS: Final[Mapping[str, Script]] = {
    "401": _status("401 Unauthorized"),
    "404": _status("404 Not Found"),
    "429": _status("429 Too Many Requests", "Retry-After: 7"),
    "500": _status("500 Internal Server Error"),
    "503": _status("503 Service Unavailable"),
    "closes-at-once": _closes_at_once,
    "html": _body(b"<html><body>Sign in</body></html>", content_type="text/html"),
    "nothing": _body(),
    "end-alone": _body(_DONE),
    "reset-in-text": _reset_after(_TOKEN, _TOKEN),
    "reset-in-thought": _reset_after(_THOUGHT),
    "reset-in-call": _reset_after(_TOKEN, _CALL),
    "slow": _body(_TOKEN, _TOKEN, _DONE, pause=0.35),
}
"""By name."""
