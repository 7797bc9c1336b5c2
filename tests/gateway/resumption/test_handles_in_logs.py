"""No log line holds more of a handle than its first 12 characters, with or without a key.

Source: the contract of resumable streams, section 4.
"""

import pytest

from cases import case
from loopback import ask, gateway, settled
from scripted_upstream import LAST_CHUNK, SSE, chunk, upstream

pytestmark = pytest.mark.anyio

KEY = ("Authorization", "Bearer alice-key-123456")
HANDLE = f"run_{'0123456789abcdef' * 2}"
WHOLE = SSE + chunk(b'data: {"type": "token", "content": "Hi"}\n\ndata: {"type": "done"}\n\n') + LAST_CHUNK
REQUESTS = (
    *((method, f"/-/runs/{HANDLE}") for method in ("GET", "DELETE", "PUT", "HEAD")),
    ("POST", f"/-/runs/{HANDLE}/cancel"),
    ("GET", f"/-/runs/{HANDLE}/nothing"),
    ("GET", f"/-/runs/{HANDLE}?after=9999"),
    ("GET", f"/nowhere/{HANDLE}"),
    ("GET", f"/nowhere/resp_{HANDLE.removeprefix('run_')}"),
    ("GET", f"/{HANDLE}{HANDLE}"),
    ("GET", f"/chat?run={HANDLE}"),
    ("PUT", f"/chat?run={HANDLE}"),
)


@pytest.mark.parametrize(
    "keys", [[], [KEY], [("X-Api-Key", "not-a-key-of-ours")]], ids=["none", "good", "wrong"]
)
async def test_log_line_of_a_request_with_a_handle_has_only_its_beginning(
    keys: list[tuple[str, str]],
) -> None:
    auth = {"keys": {"alice": "alice-key-123456"}}
    async with upstream(WHOLE) as server:
        endpoint = {"upstream": server.url, "speaks": "legacy", "resume": "on"}
        async with gateway(settled(endpoints={"/chat": endpoint}, auth=auth)) as running:
            await ask(running, headers=[KEY, ("X-Streamweir-Run", HANDLE)])
            lines = [await running.log.next_line()]
            for method, target in REQUESTS:
                for header in ([], [("Last-Event-ID", f"{HANDLE}.1")], [("X-Streamweir-Run", HANDLE)]):
                    await ask(running, method, target, headers=[*keys, *header], body=b"")
                    lines.append(await running.log.next_line())
                    with case(method, target, *header):
                        assert HANDLE[:14] not in str(lines[-1])
                        assert HANDLE[4:18] not in str(lines[-1])
    assert len(lines) == 1 + 3 * len(REQUESTS)
