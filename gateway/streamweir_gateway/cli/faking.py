"""The work of `streamweir fake`, without its arguments."""

from __future__ import annotations

import argparse
import asyncio
import shlex
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from streamweir.errors import ConfigurationError
from streamweir_gateway.cli.addresses import base_url, loopback_address
from streamweir_gateway.cli.backends import cannot_listen, until_stopped
from streamweir_gateway.cli.command import OK, UsageError
from streamweir_gateway.cli.input_output import print_if_possible
from streamweir_gateway.cli.recorded_streams import recordings_in
from streamweir_gateway.fake.backend import serve_fake
from streamweir_gateway.fake.listing import fault_lines
from streamweir_gateway.fake.request import Request
from streamweir_gateway.fake.server import FakeBackend
from streamweir_gateway.fake.settings import Settings
from streamweir_gateway.observability.text_line import printable
from streamweir_gateway.recording.replay import seen_framing

__all__ = ["run"]

_WISHES = ("dialect", "framing", "events", "pace", "seed")


def run(args: argparse.Namespace) -> int:
    """Serve the fake backend until a signal ends it, or print its faults."""
    if args.list:
        print("\n".join(fault_lines()).rstrip())
        return OK
    settings, address = _settings(args), loopback_address("--listen", args.listen)
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve(settings, address))
    return OK


def _settings(args: argparse.Namespace) -> Settings:
    given = vars(args)
    wishes = {name: [given[name]] for name in _WISHES if given[name] is not None}
    try:
        settings = Settings().settled({**wishes, "fault": args.fault, "option": args.option})
    except ConfigurationError as error:
        hint = " (streamweir fake --list prints all faults)" if "unknown fault" in str(error) else ""
        raise UsageError(f"{error}{hint}") from error
    return settings if args.replay is None else _replaying(settings, args)


def _replaying(settings: Settings, args: argparse.Namespace) -> Settings:
    """Return settings that play a recorded file. Its first byte tells the framing, unless it is given."""
    body = recordings_in(args.replay)[0].body
    if args.framing is None:
        settings = replace(settings, framing=seen_framing(body))
    return replace(settings, replay=body)


async def _serve(settings: Settings, address: tuple[str, int]) -> None:
    with cannot_listen(address):
        async with serve_fake(settings, host=address[0], port=address[1], on_request=_report) as backend:
            print_if_possible("\n".join(_welcome(backend, settings)))
            await until_stopped()


def _welcome(backend: FakeBackend, settings: Settings) -> Iterator[str]:
    url = base_url(backend.address)
    refuses = any(fault.name == "refused" for fault in settings.faults)
    yield f"fake {_played(settings)} {'refuses connections at' if refuses else 'listens on'} {url}"
    yield f"  curl -N {url}/ -d '{{}}'"
    if not refuses:
        yield f"  curl -N {shlex.quote(f'{url}/?dialect=legacy&fault=cut@3')}"
    yield "Ctrl-C stops it."


def _report(request: Request, settings: Settings) -> None:
    print_if_possible(printable(f"{request.method} {request.target[:100]}: {_played(settings)}"))


def _played(settings: Settings) -> str:
    faults = ", ".join(map(str, settings.faults)) or "no faults"
    return f"{settings.dialect} as {settings.framing} ({faults})"
