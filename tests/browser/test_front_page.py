"""The gateway's front page in Chromium: front_page.mjs has the checks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest

from checked_pages import checks_of, run_check
from loopback import gateway, settled
from scripted_upstream import LAST_CHUNK, SSE, chunk, upstream

pytestmark = [pytest.mark.anyio, pytest.mark.browser]

FILE: Final = "front_page.mjs"
HOSTILE: Final = "/<img src=x onerror=alert(1)>'\"&"
REAL: Final = b"".join(
    (
        SSE,
        chunk(b'data: {"type": "token", "content": "Hi"}\n\n: planted\n\ndata: {"type": "done"}\n\n'),
        LAST_CHUNK,
    )
)


@asynccontextmanager
async def front_page(*, endpoints: int = 0) -> AsyncIterator[str]:
    """Run a gateway with demos, another upstream, and so many more endpoints; yield its address."""
    answers = ["standard", "ag-ui"]
    demo: dict[str, Any] = {"upstream": "demo:legacy", "speaks": "legacy", "answers": answers}
    async with upstream(REAL) as real:
        file = {
            "/legacy": demo,
            "/real": {"upstream": real.url, "speaks": "legacy"},
            HOSTILE: demo,
            **{f"/many/{number}": demo for number in range(endpoints)},
        }
        async with gateway(settled(endpoints=file)) as running:
            yield "http://{}:{}/".format(*running.address[:2])


@pytest.mark.parametrize("check", checks_of(FILE))
async def test_front_page_in_chromium_holds(check: str) -> None:
    async with front_page(endpoints=100 if "hundred" in check else 10) as address:
        await run_check(FILE, check, address)
