"""An EventSource in front of kept runs whose frames are copied: it misses nothing, and runs nothing twice."""

import json
import re
from typing import Any, Final

import pytest

from cases import case
from loopback import Gateway, ask, gateway, settled
from scripted_upstream import LAST_CHUNK, SSE, Call, Script, chunk, upstream

pytestmark = pytest.mark.anyio

TOKENS: Final = [b'data: {"type": "token", "content": "w%d "}\n\n' % number for number in range(12)]
DONE: Final = b'data: {"type": "done"}\n\n'
WHOLE: Final = "".join(f"w{number} " for number in range(12))


def in_pieces(*pieces: bytes) -> Script:
    async def play(call: Call) -> None:
        await call.send(SSE.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        await call.send(*map(chunk, pieces), LAST_CHUNK, pause=0.02)

    return play


def kept(url: str) -> Any:
    endpoint = {
        "upstream": url,
        "speaks": "legacy",
        "answers": ["legacy"],
        "methods": ["GET", "POST"],
        "resume": "on",
    }
    return settled(endpoints={"/chat": endpoint})


def frames_of(body: bytes) -> list[tuple[str, str]]:
    """The id and the text of each event."""
    found = []
    for block in body.decode().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line and line[0] != ":")
        if "data" in lines:
            message = json.loads(lines["data"])
            found.append((lines.get("id", ""), message["content"] if message["type"] == "token" else ""))
    return found


async def rest_after(running: Gateway, event_id: str) -> str:
    got = await ask(running, "GET", headers=[("Last-Event-ID", event_id)], body=b"")
    assert got.status in (200, 204)
    return "".join(text for _, text in frames_of(got.body))


CASES: Final[dict[str, tuple[list[bytes], bool]]] = {
    "one event a read": ([*TOKENS, DONE], True),
    "several events a read": ([b"".join(TOKENS[:5]), b"".join(TOKENS[5:]) + DONE], True),
    "all at once": ([b"".join(TOKENS) + DONE], True),
    "frames that say nothing": (
        [TOKENS[0] + b'data: {"type": "ping"}\n\n' + b"".join(TOKENS[1:]), DONE],
        False,
    ),
}
"""For each: the reads of the upstream, and whether each frame is one event."""


@pytest.mark.parametrize("name", CASES)
async def test_copied_frames_of_an_answer_to_a_get_have_ids_of_the_run(name: str) -> None:
    pieces, is_exact = CASES[name]
    async with upstream(in_pieces(*pieces)) as server, gateway(kept(server.url)) as running:
        first = await ask(running, "GET", body=b"")
        again = await ask(running, "GET", first.header("content-location") or "", body=b"")
        posted = await ask(running, "POST")
        assert b"id:" not in posted.body
        assert "".join(text for _, text in frames_of(posted.body)) == WHOLE, posted.body
        for got in (first, again):
            frames = frames_of(got.body)
            assert "".join(text for _, text in frames) == WHOLE
            assert all(re.fullmatch(r"run_[0-9a-f]{32}\.\d+", event_id) for event_id, _ in frames)
            for place, (event_id, _) in enumerate(frames):
                with case(name, place):
                    before = "".join(text for _, text in frames[: place + 1])
                    rest = await rest_after(running, event_id)
                    if is_exact and got is first:
                        assert before + rest == WHOLE
                    else:
                        assert WHOLE.endswith(rest)
                        assert len(before) + len(rest) >= len(WHOLE)
            assert await rest_after(running, frames[-1][0]) == ""
        assert server.connections == 2  # the two that have no id
