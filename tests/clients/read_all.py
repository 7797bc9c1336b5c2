"""Official clients read every recorded stream through the gateway: what they make of it is what it is.

    make clients                 a minute or two, once the clients are installed into .cache/
    make clients ARGS="ag-ui-1.0 ai-6"       these alone

Each client is a process that reads one stream after the other over HTTP. Text, reasoning, calls, failures and
ends are compared with the canonical events; nothing is doubled, nothing left open. Exit code 1 if not.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clients import CLIENTS, Client, Process, started_client
from replayed import Expected, Replayed, expected_of, replayed_streams
from running_gateway import Running, running_gateway
from scripted_upstream import Call, upstream

ALL_WITHIN = 900.0
EACH_WITHIN = 20.0
"""Seconds in which a client must be done with a stream: else it waits for something that never comes."""

SHOWN = 40


class Variant:
    """The endpoints for clients that want the same options of a protocol."""

    def __init__(self, client: Client) -> None:
        self.protocol = client.protocol
        self.options = client.options
        self.suffix = client.suffix
        words = [client.protocol, *(f"{name}-{value}" for name, value in client.options.items())]
        self.prefix = "_".join(words)

    def endpoint(self, stream: Replayed) -> tuple[str, dict[str, Any]]:
        """An endpoint that answers with `stream`, and with all of its folder that need no options."""
        folder, _, name = stream.path.rpartition("/")
        path = f"{folder}/{name if stream.options else '{name}'}"
        options = {stream.dialect: {**stream.options}}
        options.setdefault(self.protocol, {}).update(self.options)
        return f"/{self.prefix}/{path}{self.suffix}", {
            "upstream": "replay",
            "path": f"/{path}",
            "speaks": stream.dialect,
            "answers": [self.protocol],
            "protocol_options": options,
            "verbatim": False,
        }


def configuration(streams: Sequence[Replayed], clients: Sequence[Client], url: str) -> dict[str, Any]:
    """A gateway that has each stream in each form that is asked for."""
    variants = {variant.prefix: variant for variant in map(Variant, clients)}.values()
    return {
        "upstreams": {"replay": {"url": url, "breaker": "off"}},
        "endpoints": dict(variant.endpoint(stream) for variant in variants for stream in streams),
    }


async def read_all(
    client: Client, process: Process, streams: Sequence[tuple[Replayed, Expected]], base: str
) -> list[str]:
    """Let a client read all streams; return what it has got otherwise than it is."""
    found: list[str] = []
    prefix = Variant(client).prefix
    for stream, expected in streams:
        url = f"{base}/{prefix}/{stream.path}"
        try:
            async with asyncio.timeout(EACH_WITHIN):
                seen = await asyncio.to_thread(process.read, url, {})
        except TimeoutError:
            return [*found, f"{client.name} {stream.path}: waits for ever"]
        problems = client.compare(expected, seen, client)
        found += [f"{client.name} {prefix}/{stream.path}: {problem}" for problem in problems]
    return found


async def run_all(clients: Sequence[Client]) -> int:
    """Run the clients one after the other, print what was found, return the exit code."""
    streams = {f"/{stream.path}": stream for stream in replayed_streams()}
    with_expected = [(stream, expected_of(stream)) for stream in streams.values()]

    async def replay(call: Call) -> None:
        stream = streams[call.target]
        await call.begin(content_type=stream.media_type)
        await call.send(stream.body)

    found: list[str] = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        async with asyncio.timeout(ALL_WITHIN), upstream(replay) as server:
            asked = configuration([*streams.values()], clients, server.url)
            async with running_gateway(Path(name), **asked) as running:
                await running.ready()
                for client in clients:
                    found += await run_one(client, with_expected, running)
    print(*found[:SHOWN], sep="\n")
    print(f"{len(streams)} streams, {len(clients)} clients: {len(found)} differences")
    return 1 if found else 0


async def run_one(
    client: Client, streams: Sequence[tuple[Replayed, Expected]], running: Running
) -> list[str]:
    host, port = running.at.address
    with started_client(client) as process:
        found = await read_all(client, process, streams, f"http://{host}:{port}")
    print(f"{Variant(client).prefix:32} {client.name:16} {len(found)} differences", flush=True)
    return found


if __name__ == "__main__":
    named = [client for client in CLIENTS if not sys.argv[1:] or client.name in sys.argv[1:]]
    sys.exit(asyncio.run(run_all(named)))
