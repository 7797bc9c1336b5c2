"""The whole command line: parses it, runs the command, and turns the outcome into an exit code."""

from __future__ import annotations

import argparse
import errno
import sys
from collections.abc import Sequence
from contextlib import suppress
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
from streamweir_gateway.cli.command import FAILED, INTERRUPTED, OK, USAGE, CommandFailed, UsageError, add_help
from streamweir_gateway.cli.input_output import drop_output
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

`streamweir help COMMAND` explains a command.
"""

_CANNOT_WRITE: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""Errors of a disk that is full or broken."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (default: that of the process); return the exit code.

    Raises:
        SystemExit: raised by argparse, after --help and --version and for a wrong command line (2).
    """
    for stream in (sys.stdout, sys.stderr):
        _print_anything(stream)
    if sys.stdout is None:  # the shell has closed it
        return _complain("the output cannot be written: it is closed")
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        code = _carry_out(_parser(), arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        drop_output()
        return _complain("nobody reads the output any longer")
    except OSError as error:
        if error.errno not in _CANNOT_WRITE:
            raise
        drop_output()
        return _complain(f"the output cannot be written: {error.strerror}")
    return code


def _complain(message: str) -> int:
    with suppress(OSError):
        print(f"streamweir: {message}", file=sys.stderr, flush=True)
    return FAILED


def _carry_out(parser: argparse.ArgumentParser, arguments: list[str]) -> int:
    if not arguments:
        parser.print_help(sys.stderr)
        return USAGE
    match arguments:
        case ["help"]:
            arguments = ["--help"]
        case ["help", command, *_]:
            arguments = [command, "--help"]
        case ["version" | "-V" | "--version", *_]:
            print(f"streamweir {streamweir.__version__}")
            return OK
    _check_command(parser, arguments[0])
    try:
        args = parser.parse_args(arguments)
    except SystemExit:
        sys.stdout.flush()
        raise
    return _run(args)


def _run(args: argparse.Namespace) -> int:
    try:
        code: int = args.run(args)
    except UsageError as error:
        args.parser.error(str(error))
    except CommandFailed as failure:
        lines = str(failure).split("\n")  # a recording may name itself with characters that a terminal obeys
        print("streamweir:", "\n".join(map(printable, lines)), file=sys.stderr)
        return failure.code
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
        add_help=False,
    )
    add_help(parser)
    parser.add_argument("-V", "--version", action="store_true", help="show the version and exit")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for command in _COMMANDS:
        command.add_to(commands)
    return parser


def _check_command(parser: argparse.ArgumentParser, word: str) -> None:
    """Refuse an unknown command with a suggestion, because argparse makes none."""
    names = [*(command.NAME for command in _COMMANDS), "help", "version"]
    if not word.startswith("-") and word not in names:
        parser.error(f"unknown command {word!r}{did_you_mean(word, names)} (known: {', '.join(names)})")


def _print_anything(stream: TextIO | None) -> None:
    """Make a stream replace characters that the terminal's encoding lacks, in place of failing."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
