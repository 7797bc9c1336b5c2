"""The work of `streamweir learn`, without its arguments."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any, NoReturn

from streamweir.codec.mapped.dialect import DialectSource, check_name
from streamweir.codec.mapped.problems import ProblemList
from streamweir.codec.registry import process_dialects
from streamweir.learning.learn import Learned, NothingLearned, learn
from streamweir_gateway.cli.command import OK, CommandFailed, UsageError
from streamweir_gateway.cli.input_output import open_output, write
from streamweir_gateway.cli.recorded_streams import recordings_in

__all__ = ["run"]


def run(args: argparse.Namespace) -> int:
    """Write the dialect, and write a report about it on standard error."""
    _check_name(args.name)
    try:
        learned = _learned(args)
    except NothingLearned as nothing:
        _refuse(nothing, as_json=args.json)
    report = learned.report
    if args.json:
        shown = {"yaml": learned.yaml, "dialect": learned.dialect, "report": report.as_json()}
        output = _json(shown)
    else:
        output = _encoded(learned.yaml)
        print("\n".join(report.lines()), file=sys.stderr)
    with open_output(args.output) as target:
        write(target, output)
    return OK


def _refuse(nothing: NothingLearned, *, as_json: bool) -> NoReturn:
    """Print the report and its questions, without a dialect, and exit."""
    if nothing.report is None:
        raise CommandFailed(f"nothing to learn from: {nothing}") from nothing
    if as_json:
        shown = {"yaml": None, "dialect": None, "report": nothing.report.as_json()}
        with open_output(None) as target:
            write(target, _json(shown))
    else:
        print("\n".join(nothing.report.lines()), file=sys.stderr)
    raise CommandFailed(f"nothing to learn from: {nothing}") from nothing


def _learned(args: argparse.Namespace) -> Learned:
    captures = [capture for file in args.captures for capture in recordings_in(file)]
    if not any(capture.has_content for capture in captures):
        raise CommandFailed("these captures have no content: there is nothing to learn from")
    framing = None if args.framing == "auto" else args.framing
    return learn([capture.body for capture in captures], name=args.name, framing=framing)


def _json(shown: dict[str, Any]) -> bytes:
    return _encoded(json.dumps(shown, indent=2, ensure_ascii=False) + "\n")


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def _check_name(name: str) -> None:
    report = ProblemList()
    check_name(DialectSource(name, {}, report), process_dialects())
    for problem in report.problems:
        raise UsageError(f"--name {name}: {problem.message}")
