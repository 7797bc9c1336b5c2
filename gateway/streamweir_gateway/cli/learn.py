"""`streamweir learn`: reads recorded streams, and writes a home-made dialect that can read them."""

from __future__ import annotations

from typing import Final

from streamweir_gateway.cli.command import Commands, add_command, when_called

__all__ = ["NAME", "add_to"]

NAME: Final = "learn"

_EXAMPLES: Final = """\
  streamweir learn --name acme recorded.sse > acme.yaml
  streamweir learn --name acme first.capture.jsonl second.capture.jsonl -o acme.yaml
  curl -sN https://backend/chat -d '{"message": "Hello"}' | streamweir learn --name acme -
  streamweir learn --json recorded.sse                 dialect and report for programs
  streamweir convert --config acme.yaml --from acme --explain recorded.sse     then: does it?

More recordings teach more: one with a tool, one with a failure, one of each kind of answer.
The exit code is 0 if a dialect was written, 1 if there is nothing to learn from."""


def add_to(commands: Commands) -> None:
    """Add the command and its arguments."""
    parser = add_command(
        commands,
        NAME,
        when_called("streamweir_gateway.cli.learning"),
        usage="[--name NAME] [--framing F] [--json] [-o FILE] CAPTURE...",
        summary="write a dialect that reads recorded streams",
        description="Reads recorded bodies of one backend, or captures, and writes a file with a dialect\n"
        "that reads them; what it is sure of and what not is told on standard error. Works offline.",
        examples=_EXAMPLES,
    )
    add = parser.add_argument
    add("captures", nargs="+", metavar="CAPTURE", help="a recorded body or a capture; - is standard input")
    add("--name", default="learned", metavar="NAME", help="what the dialect is called (default: learned)")
    add(
        "--framing",
        choices=("auto", "sse", "ndjson", "lines", "text"),
        help="default: auto, seen by the first body",
    )
    add("--json", action="store_true", help="print a JSON object: yaml, dialect, report")
    add("--output", "-o", metavar="FILE", help="write here instead of to standard output")
