"""The command line as a whole: parse it, run the command, turn its outcome into an exit code."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Final, TextIO

import streamweir
from streamweir.errors import did_you_mean
from streamweir_gateway.cli import (
    check,
    convert,
    detect,
    dialects,
    fake,
    learn,
    record,
    replay,
    request,
    serve,
)
from streamweir_gateway.cli.command import FAILED, INTERRUPTED, USAGE, CommandFailed, UsageError
from streamweir_gateway.observability.text_line import printable

__all__ = ["main"]

_COMMANDS: Final = (serve, check, convert, detect, dialects, fake, learn, record, replay, request)

_EXAMPLES: Final = """\
examples:
  streamweir serve config.yaml                         the gateway, until Ctrl-C
  streamweir check config.yaml                         is this file good? Starts nothing
  streamweir convert recorded.sse                      any known stream -> the standard protocol
  curl -N https://backend/chat | streamweir convert --from ragflow --framing ndjson
  streamweir detect recorded.sse                       which dialect is this?
  streamweir dialects legacy                           what does it say, what can it not say?
  streamweir fake --fault cut@40                       a broken backend to try it with
  streamweir record -d '{}' URL > one.capture.jsonl    a real answer, with its headers and times
  streamweir learn --name acme one.capture.jsonl       a dialect that reads it
  streamweir replay one.capture.jsonl                  the same as a backend, at its own pace
  streamweir request --from standard --to ragflow '{"message": "Hi"}'      what would it be sent?

`streamweir COMMAND --help` explains a command.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that `argv` (default: the process's own arguments) asks for; return its exit code.

    Raises:
        SystemExit: by argparse, after --help and --version and for a wrong command line (2).
    """
    for stream in (sys.stdout, sys.stderr):
        _print_anything(stream)
    parser = _parser()
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments:
        parser.print_help(sys.stderr)
        return USAGE
    _check_command(parser, arguments[0])
    return _run(parser.parse_args(arguments))


def _run(args: argparse.Namespace) -> int:
    try:
        code: int = args.run(args)
        sys.stdout.flush()
    except UsageError as error:
        args.parser.error(str(error))
    except CommandFailed as failure:
        lines = str(failure).split("\n")  # a recording may name itself with characters that a terminal obeys
        print("streamweir:", "\n".join(map(printable, lines)), file=sys.stderr)
        return failure.code
    except BrokenPipeError:
        _drop_output()
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="streamweir",
        description="Reads the event streams of AI-agent backends, whatever dialect they speak,\n"
        "and writes one standard protocol, or any other dialect.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"streamweir {streamweir.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.add_to(commands)
    return parser


def _check_command(parser: argparse.ArgumentParser, word: str) -> None:
    """Refuse an unknown command with a suggestion, which argparse does not make."""
    names = [command.NAME for command in _COMMANDS]
    if not word.startswith("-") and word not in names:
        parser.error(f"unknown command {word!r}{did_you_mean(word, names)} (known: {', '.join(names)})")


def _print_anything(stream: TextIO | None) -> None:
    """Never fail on a character that the terminal's encoding lacks."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    """The reader has gone: let what Python still flushes at exit go nowhere, without a message."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
