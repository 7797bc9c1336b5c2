"""`streamweir record`: sends a request to a backend, and writes its answer as a capture file."""

from __future__ import annotations

from typing import Final

from streamweir_gateway.cli.command import Commands, add_command, with_gateway
from streamweir_gateway.cli.home_made import add_config_option

__all__ = ["NAME", "add_to"]

NAME: Final = "record"

_EXAMPLES: Final = """\
  streamweir record -d '{"message": "Hello"}' http://127.0.0.1:9000/chat -o chat.capture.jsonl
  streamweir record -H 'Authorization: Bearer ...' -d @question.json https://backend/chat > chat.capture.jsonl
  streamweir record --config acme.yaml --speaks acme -d '{}' http://127.0.0.1:9000/chat | streamweir convert
  streamweir learn --name acme chat.capture.jsonl      which dialect would read it?
  streamweir replay chat.capture.jsonl                 the same answer once more, at its own pace

The file holds what was asked and what came, byte for byte and with its times; credentials in headers, in the
URL and in bodies are left out or become `*`. Treat it as what it is: it holds what users and agents said.
The exit code is 0 for a whole stream, 1 for one that broke off or was refused, which is recorded as well."""


def add_to(commands: Commands) -> None:
    """Add the command and its arguments."""
    parser = add_command(
        commands,
        NAME,
        with_gateway(NAME, "streamweir_gateway.cli.recording"),
        usage="[OPTIONS] URL",
        summary="ask a backend and keep its answer, with headers and times",
        description="Sends one request to URL and writes a capture of its answer: raw bytes, headers and\n"
        "timing, without secrets.",
        examples=_EXAMPLES,
    )
    add = parser.add_argument
    add("url", metavar="URL", help="what is asked")
    add("--data", "-d", metavar="BODY", help="the request's body; @FILE reads it from a file, @- from stdin")
    add("--method", "-X", metavar="METHOD", help="default: POST with a body, else GET")
    add("--header", "-H", action="append", default=[], metavar="'NAME: VALUE'", help="may be repeated")
    add(
        "--output",
        "-o",
        metavar="FILE",
        help="write here (readable by you alone) instead of to standard output",
    )
    add("--speaks", default="auto", metavar="DIALECT", help="what the backend writes (default: auto)")
    add_config_option(parser)
    add("--idle", default="120s", metavar="DURATION", help="how long nothing may come (default: 120s; off)")
    add("--metadata", action="store_true", help="keep no bodies, only how long they are")
