"""`streamweir serve`: serves a configuration until it is stopped."""

from __future__ import annotations

import argparse
from typing import Final

from streamweir_gateway.cli.command import Commands, add_command, with_gateway
from streamweir_gateway.cli.own_dialects import add_dialect_option

__all__ = ["NAME", "add_to"]

NAME: Final = "serve"

_EXAMPLES: Final = """\
  streamweir serve                             ./config.yaml
  streamweir serve config.yaml --listen 127.0.0.1:9000
  streamweir serve config.yaml --reload        a changed file is taken over at once
  streamweir check --env config.yaml           is it good? Starts nothing

The smallest configuration file:

  endpoints:
    /chat:
      upstream: http://127.0.0.1:9000/legacy/chat
      speaks: legacy

`upstream: demo:legacy` starts a backend to play with. A bad file is refused: its problems, one per
line, are on standard error, and the exit code is 78."""


def add_to(commands: Commands) -> None:
    """Add the command and its arguments."""
    parser = add_command(
        commands,
        NAME,
        with_gateway(NAME, "streamweir_gateway.cli.serving"),
        usage="[--listen HOST:PORT] [--console] [--reload] [CONFIG]",
        summary="run the gateway",
        description="Runs the gateway that a configuration file describes, until Ctrl-C or SIGTERM.\n"
        "SIGHUP takes a changed file over.",
        examples=_EXAMPLES,
    )
    add = parser.add_argument
    add("config", nargs="?", default="config.yaml", metavar="CONFIG", help="the file (default: config.yaml)")
    add_dialect_option(parser)
    add("--listen", metavar="HOST:PORT", help="listen here, whatever the file says; port 0: any free one")
    for other in ("--port", "--host"):
        add(other, metavar="VALUE", help=argparse.SUPPRESS)  # the refusal names --listen
    add("--console", action="store_true", help="run the console, with its defaults if the file has none")
    add("--reload", action="store_true", help="take the file over as soon as it changes")
