"""`streamweir check`: checks a configuration file."""

from __future__ import annotations

from typing import Final

from streamweir_gateway.cli.command import Commands, add_command, with_gateway
from streamweir_gateway.cli.own_dialects import add_dialect_option

__all__ = ["NAME", "add_to"]

NAME: Final = "check"

_EXAMPLES: Final = """\
  streamweir check config.yaml
  streamweir check --env config.yaml           as `serve` will: every ${NAME} must have a value
  streamweir check --print-effective config.yaml     every value, with the line that it comes from
  streamweir check --json config.yaml          for editors and pipelines
  streamweir check --probe config.yaml         one request to each endpoint's upstream: what does it say?
  cat config.yaml | streamweir check -

The exit code is 0 for a good file, 78 for a bad one: its problems, one per line, are on standard error.
With --probe it is 1 where an upstream does not do what the file says."""


def add_to(commands: Commands) -> None:
    """Add the command and its arguments."""
    parser = add_command(
        commands,
        NAME,
        with_gateway(NAME, "streamweir_gateway.cli.checking"),
        usage="[--env] [--print-effective] [--json] [--probe [--data JSON]] [CONFIG]",
        summary="check a configuration file without starting anything",
        description="Checks a configuration file, all of it, without starting anything and without the\n"
        "secrets that it takes from the environment.",
        examples=_EXAMPLES,
    )
    add = parser.add_argument
    add(
        "config",
        nargs="?",
        default="config.yaml",
        metavar="CONFIG",
        help="the file (default: config.yaml; -: standard input)",
    )
    add_dialect_option(parser)
    add("--env", action="store_true", help="demand the environment's variables and secret files too")
    add("--print-effective", action="store_true", help="print every value that holds, and its origin")
    add("--json", action="store_true", help="print a JSON object: the endpoints, or the problems")
    add(
        "--probe",
        action="store_true",
        help="send one request per endpoint to its upstream; report what it says",
    )
    add(
        "--data", metavar="JSON", help="with --probe: the body to send (default: the endpoint's `probe.body`)"
    )
