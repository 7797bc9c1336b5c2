"""Each configuration has its own dialects: one name may mean different dialects in two of them."""

import asyncio
import json
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from loopback import ask, client, gateway, settled
from scripted_upstream import LAST_CHUNK, SSE, Call, answer, chunk, upstream
from streamweir import Decoder, Encoder, Frame
from streamweir.codec.dialect import Dialect
from streamweir.codec.dialects import Dialects
from streamweir.events import Content, Error, Event, SessionEnd, Stamp
from streamweir_gateway.app import build_app
from streamweir_gateway.config import GatewayConfig
from streamweir_gateway.processes.generations import Generations

pytestmark = pytest.mark.anyio

PIECE = b'data: {"acme": "Hi"}\n\n'
END = b'data: {"acme": null}\n\n'


def acme(version: str) -> Dialect:
    """Reads and writes texts with its version in front of them."""

    class AcmeDecoder(Decoder):
        """Reads it."""

        @classmethod
        def score(cls, fields: Mapping[str, Any], event: str | None) -> float:
            return 1.0 if "acme" in fields else 0.0

        def decode(self, frame: Frame) -> Iterable[Event]:
            match frame.json():
                case {"acme": str(text)}:
                    return (Content(f"{version} {text}. "),)
                case {"acme": {"problem": str(code)}}:
                    return (Error("execution", f"{code}_{version.upper()}", "", recoverable=False),)
            return (SessionEnd(),)

    class AcmeEncoder(Encoder):
        """Writes it."""

        def encode(self, event: Event, stamp: Stamp) -> Iterable[Frame]:
            return (Frame(f"{version} {event.type}".encode()),)

    return Dialect("acme", AcmeDecoder, AcmeEncoder)


def configured(url: str, version: str, **options: Any) -> GatewayConfig:
    dialects = Dialects.built_in().with_(acme(version))
    return settled(dialects, endpoints={"/chat": {"upstream": url, "speaks": "acme", **options}})


@pytest.mark.parametrize("speaks", ["acme", "auto"])
async def test_stream_keeps_the_dialects_that_it_began_with(speaks: str) -> None:
    """A file that has changed takes over while it is under way; what comes later is read in its words."""
    go_on = asyncio.Event()

    async def waits(call: Call) -> None:
        await call.send(SSE, chunk(PIECE))
        await go_on.wait()
        await call.send(chunk(PIECE + END), LAST_CHUNK)

    async with upstream(waits) as server:
        first, second = (configured(server.url, version, speaks=speaks) for version in ("one", "two"))
        generations = Generations(build_app(first))
        async with gateway(first, generations) as running, client(running) as begun:
            begun.send()
            await begun.until(b"one Hi.")
            await generations.take_over(build_app(second))
            go_on.set()
            later = await ask(running)
            earlier = await begun.whole()
    assert earlier.assert_valid().text == "one Hi. one Hi. "
    assert later.assert_valid().text == "two Hi. two Hi. "


async def test_names_of_dialects_in_refusals_and_answers_refer_to_their_configuration() -> None:
    """Refusals and written streams use the dialects of their configuration too."""
    refused = json.dumps({"acme": {"problem": "FULL"}}).encode()
    for version in ("one", "two"):
        async with (
            upstream(answer(refused, status="500 Oh")) as server,
            gateway(configured(server.url, version)) as running,
        ):
            error = (await ask(running)).error
            assert error is not None
            assert error["code"] == f"FULL_{version.upper()}"
        config = configured("demo:acme", version, answers=["acme"], speaks="legacy")
        async with gateway(config) as running:
            assert f"data: {version} session_start".encode() in (await ask(running)).body


async def test_name_of_a_dialect_is_known_in_its_configuration_only() -> None:
    assert "acme" not in settled(endpoints={"/chat": {"upstream": "http://127.0.0.1:9"}}).known_dialects
