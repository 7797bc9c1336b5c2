"""The work of `streamweir serve`; importing it needs the extra `gateway`."""

from __future__ import annotations

import argparse
import sys
from contextlib import nullcontext
from pathlib import Path

from streamweir_gateway.cli.backends import cannot_listen
from streamweir_gateway.cli.banner import banner
from streamweir_gateway.cli.command import BAD_CONFIGURATION, UsageError
from streamweir_gateway.cli.configuration import listening_on, load
from streamweir_gateway.cli.input_output import print_if_possible
from streamweir_gateway.cli.own_dialects import add_dialects
from streamweir_gateway.config import ConfigErrors, ConsoleConfig, GatewayConfig
from streamweir_gateway.config.dialect_files import files_of
from streamweir_gateway.console.entrance import ConsoleEntrance, open_entrance
from streamweir_gateway.processes.reload import reloading
from streamweir_gateway.processes.service import serve
from streamweir_gateway.processes.sockets import AdminAddressUnavailable, listen_on

__all__ = ["run"]


def run(args: argparse.Namespace) -> int:
    """Serve the file until a signal ends the process; print the endpoints when they can be called."""
    if args.port is not None or args.host is not None:
        raise UsageError("an address is given by --listen HOST:PORT, such as --listen 127.0.0.1:9000")
    try:
        config = _settled(args)
    except ConfigErrors as errors:
        print(errors, file=sys.stderr)
        return BAD_CONFIGURATION
    watching = reloading(lambda: files_of(Path(args.config))) if args.reload else nullcontext()
    entrance = _entrance(config, Path(args.config))
    admin = cannot_listen(config.server.admin or config.listen, AdminAddressUnavailable)
    held = nullcontext() if entrance is None else entrance.listener
    with cannot_listen(config.listen), admin, watching, held:
        return serve(
            config,
            on_ready=lambda address: _greet(config, address, entrance),
            load=lambda: _settled(args),
            entrance=entrance,
        )


def _entrance(config: GatewayConfig, file: Path) -> ConsoleEntrance | None:
    """Listen at the console's address before any process starts; return None if there is no console.

    Raises:
        CommandFailed: the address cannot be listened on.
    """
    if config.console is None:
        return None
    with cannot_listen(config.console.listen):
        listener = listen_on(*config.console.listen, 1)[0]
        return open_entrance(config.console, listener, file)


def _settled(args: argparse.Namespace) -> GatewayConfig:
    add_dialects(args.own_dialects)
    config = load(args.config)
    if args.console and config.console is None:
        config = config.model_copy(update={"console": ConsoleConfig()})
    return listening_on(args.listen, config) if args.listen else config


def _greet(config: GatewayConfig, address: tuple[str, int], entrance: ConsoleEntrance | None) -> None:
    lines = [*banner(config, address)]
    if entrance is not None:
        lines.append(f"console: {entrance.url}")
    print_if_possible("\n".join(lines))
