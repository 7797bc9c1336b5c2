"""Programs and pages that know nothing of the gateway see the same of an old service with and without it."""

import importlib.util
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest

from cases import case
from environments import CACHE
from failing_upstreams import plays
from loopback import gateway, settled
from nginx_front import nginx
from old_clients import by_curl, by_fetch, printed
from scripted_upstream import upstream

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

OTHER_PYTHON: Final = CACHE / "old-clients/bin/python"
"""An environment with `requests` and `httpx-sse`: `python -m venv`, `pip install`."""

REQUESTS: Final = """
import sys, requests
try:
    response = requests.post(sys.argv[1], json={"message": "Hi"}, stream=True, timeout=60)
except requests.RequestException:
    print("failed"); sys.exit()
if not response.ok:
    print(response.status_code); sys.exit()
try:
    for _ in response.iter_content(64): pass
    print("whole")
except requests.RequestException:
    print("broken")
"""

HTTPX_SSE: Final = """
import sys, httpx, httpx_sse
with httpx.Client(trust_env=False, timeout=60) as client:
    try:
        with httpx_sse.connect_sse(client, "POST", sys.argv[1], json={"message": "Hi"}) as source:
            if source.response.is_error:
                print(source.response.status_code); sys.exit()
            try:
                for _ in source.iter_sse(): pass
                print("whole")
            except httpx.TransportError:
                print("broken")
    except httpx.HTTPError:
        print("failed")
"""


def python_with(module: str) -> Path:
    """A Python that has a module, ours or that of the other environment."""
    if importlib.util.find_spec(module):
        return Path(sys.executable)
    if not list(OTHER_PYTHON.parent.parent.glob(f"lib/*/site-packages/{module}")):
        pytest.skip(f"needs {module} here or in {OTHER_PYTHON.parent.parent}")
    return OTHER_PYTHON


async def by_requests(url: str) -> str:
    return await printed(python_with("requests"), "-c", REQUESTS, url)


async def by_httpx_sse(url: str) -> str:
    return await printed(python_with("httpx_sse"), "-c", HTTPX_SSE, url)


def needed(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"needs {program}")


CLIENTS: Final[dict[str, tuple[Callable[[str], Awaitable[str]], str | None]]] = {
    "curl": (by_curl, "curl"),
    "fetch": (by_fetch, "node"),
    "requests": (by_requests, None),
    "httpx-sse": (by_httpx_sse, None),
}

SAME: Final = {
    "completes~200": "whole",
    "completes~201": "whole",
    "document~200": "whole",
    "ends-early": "whole",
    "fails": "whole",
    "breaks": "broken",
    "breaks-at-once": "broken",
    "resets": "broken",
    **{f"refuses~{status}": str(status) for status in (400, 401, 429, 500, 599)},
}
"""What the service does, and the word of a client in front of it, with and without the gateway."""

NO_ANSWER: Final = {
    "silent": "504",
    "closes": "502",
    "nothing": "502",
    "page": "502",
    "redirect~302": "502",
    "stalls": "broken",
    "floods": "broken",
}
"""The same where the client would wait, or get something else, without the gateway."""


@asynccontextmanager
async def both(dialect: str = "legacy") -> AsyncIterator[tuple[str, str]]:
    """The addresses of a service: its own, and that of the gateway before it."""
    limits = {"limits": {"event_bytes": "64KiB"}, "timeouts": {"first_event": "500ms", "idle": "500ms"}}
    async with upstream(lambda call: plays(call, dialect)) as server:
        chat = {"upstream": "old", "speaks": dialect, "answers": [dialect, "standard"], **limits}
        config = settled(
            upstreams={"old": {"url": server.url, "breaker": "off", "timeouts": {"connect": "500ms"}}},
            endpoints={"/chat/{row}": {**chat, "path": "/{row}"}},
        )
        async with gateway(config) as running:
            yield server.url, "http://{}:{}/chat".format(*running.address)


@pytest.mark.parametrize(
    "client", [pytest.param(name, marks=pytest.mark.long if name == "fetch" else ()) for name in CLIENTS]
)
async def test_client_reports_each_failure_alike_with_and_without_the_gateway(client: str) -> None:
    ask, program = CLIENTS[client]
    if program is not None:
        needed(program)
    async with both() as (direct, behind):
        for row, word in SAME.items():
            if client == "httpx-sse" and row == "document~200":
                continue  # it takes nothing but an event stream
            with case(client, row):
                assert (await ask(f"{direct}/{row}")).replace("reset", "broken") == word
                assert await ask(f"{behind}/{row}") == word
        for row, word in NO_ANSWER.items():
            with case(client, row):
                assert await ask(f"{behind}/{row}") == word


async def test_nginx_before_the_gateway_passes_each_failure_on(tmp_path: Path) -> None:
    needed("nginx")
    needed("curl")
    async with both() as (_, behind), nginx(behind.removesuffix("/chat"), tmp_path) as front:
        for row, word in {**SAME, **NO_ANSWER}.items():
            with case(row):
                assert await by_curl(f"{front}/chat/{row}") == word
