"""The work of `streamweir replay`, without its arguments."""

from __future__ import annotations

import argparse
import asyncio
import math
from contextlib import suppress

from streamweir.capture import Capture
from streamweir_gateway.cli.addresses import base_url, loopback_address
from streamweir_gateway.cli.backends import cannot_listen, until_stopped
from streamweir_gateway.cli.command import OK, CommandFailed, UsageError
from streamweir_gateway.cli.input_output import print_if_possible
from streamweir_gateway.cli.recorded_streams import recordings_in
from streamweir_gateway.fake.request import Request
from streamweir_gateway.fake.server import serve_steps
from streamweir_gateway.fake.steps import Steps
from streamweir_gateway.observability.text_line import printable
from streamweir_gateway.recording.replay import replay_steps

__all__ = ["run"]


def run(args: argparse.Namespace) -> int:
    """Serve the captures until a signal ends the process."""
    speed, address = _speed(args.speed), loopback_address("--listen", args.listen)
    captures = [capture for file in args.captures for capture in recordings_in(file)]
    for capture in captures:
        if not capture.has_content:
            raise CommandFailed(f"{capture.id}: this capture has no content: there is nothing to play")
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve(captures, speed, address))
    return OK


def _speed(text: str) -> float:
    if text == "max":
        return math.inf
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not 0 < speed < math.inf:
        raise UsageError(f"--speed {text}: must be a number above 0, or max")
    return speed


async def _serve(captures: list[Capture], speed: float, address: tuple[str, int]) -> None:
    player = _Player(captures, speed)
    with cannot_listen(address):
        async with serve_steps(player.answer, host=address[0], port=address[1]) as backend:
            url = base_url(backend.address)
            count = f"{len(captures)} recorded answer{'s' if len(captures) != 1 else ''}"
            print_if_possible(f"replaying {count} at {url}\n  curl -N {url}/ -d '{{}}'\nCtrl-C stops it.")
            await until_stopped()


class _Player:
    """Plays one capture after the other, and begins again after the last."""

    def __init__(self, captures: list[Capture], speed: float) -> None:
        self._captures = captures
        self._speed = speed
        self._count = 0

    def answer(self, request: Request) -> Steps:
        """Return the steps of the response to `request`."""
        capture = self._captures[self._count % len(self._captures)]
        self._count += 1
        print_if_possible(printable(f"{request.method} {request.target[:100]}: {capture.id}"))
        return replay_steps(capture, self._speed)
