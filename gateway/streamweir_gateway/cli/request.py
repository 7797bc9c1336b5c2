"""`streamweir request`: prints the requests to an upstream for a client's request. It sends no request.

Source: the request contract, section 8.
"""

from __future__ import annotations

import argparse
from typing import Final

from streamweir.errors import ConfigurationError, UnknownDialectError
from streamweir.jsontext import write_json_text
from streamweir.requests.errors import RequestError
from streamweir.translation.requests import planned_request
from streamweir_gateway.cli.command import OK, Commands, Run, UsageError, add_command, with_gateway
from streamweir_gateway.cli.dialect_options import dialect_options
from streamweir_gateway.cli.given_request import body_of, print_refusal
from streamweir_gateway.cli.home_made import add_config_option, home_made
from streamweir_gateway.cli.input_output import STDIN

__all__ = ["NAME", "add_to"]

NAME: Final = "request"
_EXAMPLES: Final = """\
  streamweir request --from standard --to legacy '{"question": "Which region grows?"}'
  streamweir request --from standard --to ragflow --path /api/v1/chats/7/completions '{"message": "Hi"}'
  streamweir request --config config.yaml --endpoint /chat '{"message": "Hi"}'
  streamweir request --config acme.yaml --from standard --to acme - < body.json

The exit code is 1 for a body that is refused, with the status that its client would get."""

_FROM: Final = "the protocol of the client (default: the first of the endpoint's `answers`)"
_TO: Final = "the dialect of the upstream (default: that of the endpoint's first upstream)"
_ENDPOINT: Final = "a path of that file: with its tree, its upstream, its headers"
_PATH: Final = "of the upstream's URL, where that says which of its endpoints is asked"

_of_endpoint: Final[Run] = with_gateway("request --endpoint", "streamweir_gateway.cli.requesting")


def add_to(commands: Commands) -> None:
    """Add the command and its arguments."""
    parser = add_command(
        commands,
        NAME,
        _run,
        usage="--from PROTOCOL --to DIALECT [OPTIONS] [BODY]",
        summary="show what an upstream would be sent for a client's request",
        description="Prints the requests to an upstream that a client's body becomes, what of it is lost,\n"
        "and the canonical request between them. Sends nothing.",
        examples=_EXAMPLES,
    )
    add = parser.add_argument
    add("body", nargs="?", default=STDIN, metavar="BODY", help="JSON (default: -, standard input)")
    add("--from", dest="protocol", metavar="PROTOCOL", help=_FROM)
    add("--to", dest="dialect", metavar="DIALECT", help=_TO)
    add_config_option(parser)
    add("--endpoint", metavar="PATH", help=_ENDPOINT)
    add("--option", action="append", default=[], metavar="DIALECT.KEY=VALUE", help="of a dialect")
    add("--path", default="", metavar="PATH", help=_PATH)


def _run(args: argparse.Namespace) -> int:
    if args.endpoint is not None:
        if args.config is None:
            raise UsageError("--endpoint needs the --config that it stands in")
        return _of_endpoint(args)
    if args.protocol is None or args.dialect is None:
        raise UsageError("name the client's protocol with --from and the upstream's dialect with --to")
    try:
        dialects = home_made(args.config)
        found = planned_request(
            body_of(args),
            protocol=args.protocol,
            dialect=args.dialect,
            path=args.path,
            options=dialect_options(args.option).get(args.dialect),
            dialects=dialects,
        )
    except RequestError as error:
        return print_refusal(error)
    except (UnknownDialectError, ConfigurationError) as error:
        raise UsageError(str(error)) from error
    print(write_json_text(found))
    return OK
