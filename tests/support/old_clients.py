"""Programs and pages that know nothing of streamweir: each says in one word how a request has ended.

The word is `whole`, `broken` (of curl also `reset`), `failed` (no response), or the status of a failure.
"""

import asyncio
from pathlib import Path
from typing import Final

from patience import PATIENCE

__all__ = ["by_curl", "by_fetch", "printed"]

FETCH: Final = """
const ask = {method: "POST", headers: {"Content-Type": "application/json"}, body: '{"message": "Hi"}'};
let response;
try { response = await fetch(process.argv[1], ask); } catch { console.log("failed"); process.exit(0); }
if (!response.ok) { console.log(String(response.status)); process.exit(0); }
const reader = response.body.getReader();
try { while (!(await reader.read()).done); console.log("whole"); } catch { console.log("broken"); }
"""


async def printed(*command: str | Path) -> str:
    run = await asyncio.create_subprocess_exec(*map(str, command), stdout=asyncio.subprocess.PIPE)
    async with asyncio.timeout(PATIENCE):
        out, _ = await run.communicate()
    return out.decode().strip()


async def by_curl(url: str) -> str:
    said = await printed(
        *("curl", "-sS", "--no-buffer", "--max-time", "10", "-o", "/dev/null", "-X", "POST"),
        *("-H", "Content-Type: application/json", "-d", '{"message": "Hi"}'),
        *("-w", "%{http_code} %{exitcode}", url),
    )
    status, _, exit_code = said.partition(" ")
    if status == "000":
        return "failed"
    if int(status) >= 400:
        return status
    return {"0": "whole", "18": "broken", "56": "reset"}[exit_code]


async def by_fetch(url: str) -> str:
    return await printed("node", "--input-type=module", "-e", FETCH, url)
