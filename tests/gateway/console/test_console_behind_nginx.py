"""The console behind nginx, with the directives of docs/console.md."""

import asyncio
import json
import os
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from console_client import TOKEN, console_of
from patience import PATIENCE
from places import DOCS
from ports import free_port, until_open

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="Unix sockets"),
    pytest.mark.skipif(shutil.which("nginx") is None, reason="needs nginx"),
]

NAME = "console.example"


def directives(port: int, console: str) -> str:
    """The server of the page, without TLS, at `port` and in front of `console`."""
    (block,) = re.findall(r"```nginx\n(.*?)```", (DOCS / "console.md").read_text(), re.DOTALL)
    plain = re.sub(r"^\s*ssl_certificate.*\n", "", block, flags=re.M)
    return plain.replace("listen 443 ssl", f"listen 127.0.0.1:{port}").replace("127.0.0.1:8081", console)


@asynccontextmanager
async def nginx(folder: Path, console: str) -> AsyncIterator[int]:
    """Run nginx; yield its port."""
    port, file = free_port(), folder / "nginx.conf"
    logs = f"daemon off; pid {folder}/pid; error_log {folder}/error.log;"
    paths = " ".join(
        f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    file.write_text(f"{logs} events {{}}\nhttp {{ access_log off; {paths}\n{directives(port, console)} }}")
    process = await asyncio.create_subprocess_exec(
        "nginx", "-p", str(folder), "-e", str(folder / "error.log"), "-c", str(file)
    )
    try:
        await until_open(port, "nginx", 20)
        yield port
    finally:
        process.terminate()
        await process.wait()


async def test_page_api_and_feed_pass_nginx_with_the_directives_of_the_docs(tmp_path: Path) -> None:
    settings = {"hosts": [NAME]}
    endpoints = {"/legacy": {"upstream": "demo:legacy", "speaks": "legacy"}}
    async with (
        console_of(tmp_path, endpoints=endpoints, console=settings) as console,
        nginx(tmp_path, console.host) as port,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=20) as client,
    ):
        name = f"{NAME}:{port}"
        own = {"Host": name, "Origin": f"http://{name}", "Authorization": f"Bearer {TOKEN}"}
        assert (await client.get("/", headers={"Host": name})).status_code == 200
        assert (await client.get("/api/v1/info", headers=own)).json()["api"] == 1
        foreign = {**own, "Origin": "http://elsewhere.example"}
        assert (await client.get("/api/v1/info", headers=foreign)).status_code == 403
        assert (await client.get("/", headers={"Host": "rebound.example"})).status_code == 403
        async with (
            client.stream("GET", "/api/v1/feed?since=0", headers=own) as feed,
            asyncio.timeout(PATIENCE),
        ):
            assert feed.status_code == 200
            await console.call("/legacy")
            async for line in feed.aiter_lines():
                if line.startswith("data:") and json.loads(line[5:]).get("endpoint") == "/legacy":
                    break
