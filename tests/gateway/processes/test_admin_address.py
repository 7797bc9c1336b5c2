"""Health, readiness and metrics on an address of their own."""

import asyncio
import json
import os
import re
import signal
import socket
from pathlib import Path

import pytest

from loopback import Answer, Gateway, Log, ask, client
from patience import until
from ports import free_port
from running_gateway import Running, running_gateway
from scripted_upstream import HELLO, SSE, WHOLE, Call, chunk, upstream
from streamweir_gateway.runs.live_streams import LiveStreams

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(os.name == "nt", reason="POSIX signals")]

OWN = ["/healthz", "/readyz", "/metrics"]


def free_address() -> tuple[str, int]:
    return "127.0.0.1", free_port()


async def got(address: tuple[str, int], target: str, method: str = "GET") -> Answer:
    return await ask(Gateway(address, LiveStreams(), Log()), method, target, body=b"")


async def test_admin_address_in_use_is_named_in_the_message(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        admin = f"127.0.0.1:{taken.getsockname()[1]}"
        endpoints = {"/chat": {"upstream": "http://127.0.0.1:9", "speaks": "legacy"}}
        async with running_gateway(tmp_path, endpoints=endpoints, server={"admin": admin}) as running:
            _, told = await running.process.communicate()
    assert running.process.returncode == 1
    assert told.decode() == f"streamweir: cannot listen on {admin}: Address already in use\n"


@pytest.mark.parametrize("workers", [1, 2])
async def test_own_paths_are_served_at_the_admin_address_only(workers: int, tmp_path: Path) -> None:
    admin = free_address()
    async with upstream(WHOLE) as backend:
        endpoints = {"/chat": {"upstream": backend.url, "speaks": "legacy"}}
        server = {"workers": workers, "admin": f"127.0.0.1:{admin[1]}"}
        keys = {"keys": {"web": "a-key-of-a-client"}}
        async with running_gateway(tmp_path, endpoints=endpoints, server=server, auth=keys) as running:
            await running.ready()
            key = [("X-Api-Key", "a-key-of-a-client")]
            assert (await ask(running.at, headers=key)).assert_valid().end["status"] == "completed"
            assert {target: (await got(admin, target)).status for target in OWN} == dict.fromkeys(OWN, 200)
            assert {(await got(running.at.address, target)).status for target in OWN} == {401}
            assert (await ask(running.at, "GET", OWN[0], headers=key, body=b"")).status == 404
            assert (await got(admin, "/chat", "POST")).status in (401, 404)
            counted = (await got(admin, "/metrics")).body
            assert re.search(rb'streamweir_streams_total{endpoint="/chat",reason="done".*} 1\.0', counted)
            running.signal(signal.SIGTERM)
            assert await running.ended() == 0
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(*admin)


async def test_readiness_goes_there_too_and_a_changed_file_is_taken_over(tmp_path: Path) -> None:
    async def endless(call: Call) -> None:
        await call.send(SSE, chunk(HELLO[0]))
        await call.until_closed()

    admin = free_address()
    async with upstream(endless) as backend:
        endpoints = {"/chat": {"upstream": backend.url, "speaks": "legacy"}}
        server = {"admin": f"127.0.0.1:{admin[1]}", "drain": "60s"}
        async with running_gateway(tmp_path, endpoints=endpoints, server=server) as running:
            await running.ready()
            await taken_over(running, server={**server, "health": "/alive"}, endpoints=endpoints)
            assert (await got(admin, "/alive")).status == 200
            assert (await got(admin, "/healthz")).status == 404
            async with client(running.at) as connected:
                connected.send()
                await connected.until(b"Hel")
                running.signal(signal.SIGTERM)
                await until(lambda: is_not_ready(admin))
                assert (await got(admin, "/alive")).status == 200
            assert await running.ended() == 0


async def is_not_ready(admin: tuple[str, int]) -> bool:
    return (await got(admin, "/readyz")).status == 503


async def taken_over(running: Running, **keys: object) -> None:
    """Exchange the file, and wait until it is served."""
    running.file.write_text(json.dumps({"listen": "127.0.0.1:0", **keys}))
    running.signal(signal.SIGHUP)
    await running.says("taken over")
