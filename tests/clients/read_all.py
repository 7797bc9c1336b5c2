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
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from broken_upstreams import FAULTS, HEARTBEAT, SPEAKS
from clients import CLIENTS, Client, Process, started_client
from replayed import Expected, Replayed, expected_of, expected_of_events, replayed_streams
from running_gateway import Running, running_gateway
from scripted_upstream import Call, upstream
from streams import events_of

ALL_WITHIN = 900.0
EACH_WITHIN = 20.0
"""Seconds in which a client must be done with a stream: else it waits for something that never comes."""

SHOWN = 40
STANDARD = "standard"


_MISSPELT = "ag-ui/reported-ag-ui-snake-case.sse"
"""A stream whose fields have names that no official client knows: it cannot be read as it is."""


class Variant:
    """The endpoints for clients that want the same options of a protocol."""

    def __init__(self, client: Client) -> None:
        self.protocol = client.protocol
        self.options = client.options
        self.suffix = client.suffix
        self.is_copied = client.reads_copies
        words = ["copied"] * self.is_copied
        words += [client.protocol, *(f"{name}-{value}" for name, value in client.options.items())]
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
            "verbatim": self.is_copied,
        }

    def fault(self, name: str) -> tuple[str, dict[str, Any]]:
        """An endpoint before an upstream that breaks."""
        return f"/{self.prefix}/fault/{name}", {
            "upstream": "replay",
            "path": f"/fault/{name}",
            "speaks": SPEAKS,
            "heartbeat": HEARTBEAT,
            "answers": [self.protocol, STANDARD],
            "protocol_options": {self.protocol: self.options},
        }


def configuration(streams: Sequence[Replayed], clients: Sequence[Client], url: str) -> dict[str, Any]:
    """A gateway that has each stream in each form that is asked for."""
    variants = {variant.prefix: variant for variant in map(Variant, clients)}.values()
    found = dict(variant.endpoint(stream) for variant in variants for stream in streams)
    found.update(variant.fault(name) for variant in variants for name in FAULTS)
    return {"upstreams": {"replay": {"url": url, "breaker": "off"}}, "endpoints": found}


async def read_all(
    client: Client, process: Process, streams: Sequence[tuple[Replayed, Expected]], base: str
) -> list[str]:
    """Let a client read all streams; return what it has got otherwise than it is."""
    found: list[str] = []
    prefix = Variant(client).prefix
    for stream, expected in streams:
        if client.reads_copies and (stream.dialect != client.protocol or stream.path.endswith(_MISSPELT)):
            continue
        url = f"{base}/{prefix}/{stream.path}"
        try:
            async with asyncio.timeout(EACH_WITHIN):
                seen = await asyncio.to_thread(process.read, url, {})
        except TimeoutError:
            return [*found, f"{client.name} {stream.path}: waits for ever"]
        problems = client.compare(expected, seen, client)
        found += [f"{client.name} {prefix}/{stream.path}: {problem}" for problem in problems]
    return found


async def read_faults(client: Client, process: Process, base: str) -> list[str]:
    """Let a page's client meet every fault, and a wrong address; return what it has got otherwise."""
    found: list[str] = []
    if client.suffix or client.reads_copies:
        return found
    for name in FAULTS:
        url = f"{base}/{Variant(client).prefix}/fault/{name}"
        expected = expected_of_events(await asyncio.to_thread(standard_events, url))
        async with asyncio.timeout(EACH_WITHIN):
            seen = await asyncio.to_thread(process.read, url, {})
        problems = client.compare(expected, seen, client)
        found += [f"{client.name} {name}: {problem}" for problem in problems]
    seen = await asyncio.to_thread(process.read, f"{base}/nowhere", {})
    if "ENDPOINT_NOT_FOUND" not in f"{seen.get('refused')}{seen.get('error')}":
        found.append(f"{client.name} nowhere: {seen}")
    return found


def standard_events(url: str) -> list[dict[str, Any]]:
    """The events of a stream as a client of the standard gets them."""
    headers = {"X-Streamweir-Protocol": STANDARD, "Accept": "application/x-ndjson"}
    headers["Content-Type"] = "application/json"
    request = urllib.request.Request(url, b'{"message": "Hello"}', headers)
    with urllib.request.urlopen(request, timeout=EACH_WITHIN) as response:
        return events_of(response.read())


async def run_all(clients: Sequence[Client]) -> int:
    """Run the clients one after the other, print what was found, return the exit code."""
    streams = {f"/{stream.path}": stream for stream in replayed_streams()}
    with_expected = [(stream, expected_of(stream)) for stream in streams.values()]

    async def replay(call: Call) -> None:
        if call.target.startswith("/fault/"):
            await FAULTS[call.target.removeprefix("/fault/")](call)
            return
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
    print(f"{len(streams)} streams, {len(FAULTS)} faults, {len(clients)} clients: {len(found)} differences")
    return 1 if found else 0


async def run_one(
    client: Client, streams: Sequence[tuple[Replayed, Expected]], running: Running
) -> list[str]:
    host, port = running.at.address
    with started_client(client) as process:
        base = f"http://{host}:{port}"
        found = await read_all(client, process, streams, base)
        found += await read_faults(client, process, base)
    print(f"{Variant(client).prefix:32} {client.name:16} {len(found)} differences", flush=True)
    return found


if __name__ == "__main__":
    named = [client for client in CLIENTS if not sys.argv[1:] or client.name in sys.argv[1:]]
    sys.exit(asyncio.run(run_all(named)))
