"""`streamweir detect`: finds the dialect in which a stream is written."""

from __future__ import annotations

import argparse
import json
from typing import Final

from streamweir.codec.detector import Detector
from streamweir.codec.registry import process_dialects
from streamweir_gateway.cli.command import OK, CommandFailed, Commands, add_command
from streamweir_gateway.cli.input_output import STDIN, label_of, open_input, pieces
from streamweir_gateway.cli.own_dialects import add_dialect_option, add_dialects
from streamweir_gateway.cli.recorded_streams import captures_from

__all__ = ["NAME", "add_to"]

NAME: Final = "detect"

_EXAMPLES: Final = """\
  streamweir detect recorded.sse
  curl -sN https://backend/chat -d '{"message": "Hello"}' | streamweir detect
  streamweir detect --json recorded.sse                with the score of each dialect

The exit code is 0 if a dialect was found, else 1."""


def add_to(commands: Commands) -> None:
    """Add the command and its arguments."""
    parser = add_command(
        commands,
        NAME,
        _run,
        usage="[--json] [FILE]",
        summary="tell which dialect a stream is written in",
        description="Prints the name of the dialect that FILE or standard input is written in. Reads\n"
        "no further than it has to.",
        examples=_EXAMPLES,
    )
    add = parser.add_argument
    add("file", nargs="?", default=STDIN, metavar="FILE", help="what to read (default: -, standard input)")
    add_dialect_option(parser)
    add("--json", action="store_true", help="print a JSON object, with all scores (0 no, 1 certain)")


def _run(args: argparse.Namespace) -> int:
    add_dialects(args.own_dialects)
    detector = Detector()
    name = _detect(args.file, detector)
    if args.json:
        head = bytes(detector.head)
        decoders = {dialect.name: dialect.decoder for dialect in process_dialects().detectable}
        scores = {name: decoder.detect(head) for name, decoder in decoders.items() if decoder is not None}
        found = {name: score for name, score in scores.items() if score > 0}
        print(json.dumps({"dialect": name, "scores": found}, indent=2))
    elif name is not None:
        print(name)
    if name is None:
        raise CommandFailed(f"no dialect claims {label_of(args.file)}")
    return OK


def _detect(file: str, detector: Detector) -> str | None:
    with open_input(file) as source:
        captures, body = captures_from(pieces(source, file), file)
        for piece in body if captures is None else [data for _, data in captures[0].reads]:
            if name := detector.feed(piece):
                return name
            if detector.exhausted:
                break
    return detector.finish()
