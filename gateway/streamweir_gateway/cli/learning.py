"""The work of `streamweir learn`."""

from __future__ import annotations

import argparse
import json
import sys

from streamweir.codec.mapped.dialect import DialectSource, check_name
from streamweir.codec.mapped.problems import ProblemList
from streamweir.codec.registry import process_dialects
from streamweir.learning.learn import Learned, NothingLearned, learn
from streamweir_gateway.cli.command import OK, CommandFailed, UsageError
from streamweir_gateway.cli.input_output import open_output, write
from streamweir_gateway.cli.recorded_streams import recordings_in

__all__ = ["run"]


def run(args: argparse.Namespace) -> int:
    """Write the dialect, and a report about it on standard error."""
    _check_name(args.name)
    learned = _learned(args)
    report = learned.report
    if args.json:
        shown = {"yaml": learned.yaml, "dialect": learned.dialect, "report": report.as_json()}
        output = json.dumps(shown, indent=2, ensure_ascii=False) + "\n"
    else:
        output = learned.yaml
        print("\n".join(report.lines()), file=sys.stderr)
    with open_output(args.output) as target:
        write(target, output.encode("utf-8", "backslashreplace"))
    return OK


def _learned(args: argparse.Namespace) -> Learned:
    captures = [capture for file in args.captures for capture in recordings_in(file)]
    if not any(capture.has_content for capture in captures):
        raise CommandFailed("these captures have no content: there is nothing to learn from")
    framing = None if args.framing == "auto" else args.framing
    try:
        return learn([capture.body for capture in captures], name=args.name, framing=framing)
    except NothingLearned as nothing:
        raise CommandFailed(f"nothing to learn from: {nothing}") from nothing


def _check_name(name: str) -> None:
    report = ProblemList()
    check_name(DialectSource(name, {}, report), process_dialects())
    for problem in report.problems:
        raise UsageError(f"--name {name}: {problem.message}")
