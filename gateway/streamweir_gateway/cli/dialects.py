"""`streamweir dialects`: lists the dialects, and the events that each dialect can write."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from textwrap import wrap
from typing import Any, Final

import msgspec

from streamweir import ConfigurationError
from streamweir.translation.description import Description, Reading, Sent, Writing, describe
from streamweir_gateway.cli.command import OK, Commands, UsageError, add_command
from streamweir_gateway.cli.home_made import home_made
from streamweir_gateway.cli.new_dialect import write_dialect

__all__ = ["NAME", "add_to"]

NAME: Final = "dialects"

_WIDTH: Final = 100
_EXAMPLES: Final = """\
  streamweir dialects                  all of them
  streamweir dialects ragflow          its options, its events, what it cannot say
  streamweir dialects ragflow --json   with an example of every event
  streamweir dialects --config FILE    the home-made ones of a configuration too
  streamweir dialects --new acme       in a checkout: begin a dialect (docs/adding-a-dialect.md)"""

_DISTINGUISHING_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "content": ("op", "channel"),
    "data": ("data_type",),
    "error": ("code",),
    "interaction": ("kind", "state"),
    "session_end": ("status",),
    "status": ("scope", "state"),
    "tool_call_end": ("status",),
}
"""For each event type, the fields by which its forms differ."""


def add_to(commands: Commands) -> None:
    """Add the command and its arguments."""
    parser = add_command(
        commands,
        NAME,
        _run,
        usage="[--json] [--config CONFIG] [NAME] | --new NAME",
        summary="list the dialects, or explain one",
        description="Lists the dialects that can be read and written, or explains one of them. What is\n"
        "printed is found out by reading and writing examples with the installed code.",
        examples=_EXAMPLES,
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="the dialect to explain")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--config", metavar="CONFIG", help="list those of its `dialects:` too")
    parser.add_argument("--new", metavar="NAME", help="write the folder of a new dialect")


def _run(args: argparse.Namespace) -> int:
    if args.new is not None:
        return _begin(args.new)
    try:
        dialects = home_made(args.config)
        found = [describe(dialects.find(name)) for name in ([args.name] if args.name else dialects)]
    except ConfigurationError as error:
        raise UsageError(str(error)) from error
    if args.json:
        shown = _facts(found[0]) if args.name else [_row(description) for description in found]
        print(json.dumps(shown, indent=2, ensure_ascii=False))
    else:
        print("\n".join(_page(found[0]) if args.name else _list(found)))
    return OK


def _begin(name: str) -> int:
    here = Path.cwd()
    print("\n".join(str(path.relative_to(here)) for path in write_dialect(name, here)))
    return OK


def _row(description: Description) -> dict[str, Any]:
    names = ("name", "reads", "writes", "framings", "summary")
    return {name: getattr(description, name) for name in names}


def _facts(description: Description) -> dict[str, Any]:
    return {**msgspec.to_builtins(description), "unsupported": list(description.unsupported)}


def _list(found: list[Description]) -> Iterator[str]:
    width = max(len(description.name) for description in found)
    yield f"{'NAME':{width}}  READS  WRITES  FRAMING      WHAT IT IS"
    for description in found:
        reads, writes = _yes(description.reads), _yes(description.writes)
        framings = ", ".join(description.framings)
        line = f"{description.name:{width}}  {reads:5}  {writes:6}  {framings:11}  {description.summary}"
        yield line.rstrip()


def _page(description: Description) -> Iterator[str]:
    yield f"{description.name} - {description.summary}" if description.summary else description.name
    yield ""
    yield f"  reads    {_yes(description.reads)}"
    yield f"  writes   {_yes(description.writes)}"
    yield f"  framing  {', '.join(description.framings) or '-'}"
    yield from _option_lines(description)
    if description.reading:
        yield from ("", "Its events and what they become:", "")
        yield from _table((row.event, _becomes(row)) for row in description.reading)
    if description.writing:
        yield from ("", "Standard events and what is written for them:", "")
        common = _common_fields(description.writing)
        yield from _table((row.event, _written(row, common)) for row in description.writing)
    if description.unsupported:
        yield from ("", "What it cannot say, or not fully:", "")
        yield from wrap(
            "; ".join(description.unsupported), _WIDTH, initial_indent="  ", subsequent_indent="  "
        )


def _option_lines(description: Description) -> Iterator[str]:
    for option in description.options:
        values = ", ".join(option.values) or "any text"
        when = {"both": "reading and writing"}.get(option.when, option.when)
        yield f"  option   {option.name}: {values} (the first is the default; for {when})"


def _table(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    rows = list(rows)
    width = max(len(left) for left, _ in rows)
    for left, right in rows:
        line = f"  {left:{width}}  {right}"
        yield line if len(line) <= _WIDTH else f"{line[: _WIDTH - 3]}..."


def _becomes(row: Reading) -> str:
    names = dict.fromkeys(map(_event_name, row.becomes))
    text = ", ".join(names) or ("" if row.completes else "nothing: bookkeeping")
    return ", ".join(filter(None, (text, "the stream is complete" if row.completes else "")))


def _event_name(event: dict[str, Any]) -> str:
    data = event["data"]
    values = [str(data[name]) for name in _DISTINGUISHING_FIELDS.get(event["type"], ()) if name in data]
    return " ".join([event["type"], *values])


def _written(row: Writing, common: set[str]) -> str:
    if row.becomes:
        return " + ".join(_shown(frame, common) for frame in row.becomes)
    if row.lost:
        return "no word for it"
    return "said with the end" if row.later else "nothing: need not be said"


def _shown(frame: Sent, common: set[str]) -> str:
    """Return a frame without the common fields of the envelope, so that its content fits into a line."""
    fields = [field for field in _fields(frame) if field not in common]
    data = f"{{{', '.join(fields)}}}" if fields else frame.data
    return f"{frame.event}: {data}" if frame.event else data


def _common_fields(rows: Iterable[Writing]) -> set[str]:
    """Return the fields of the envelope: those that most frames share with the same value."""
    frames = [_fields(frame) for row in rows for frame in row.becomes]
    counts = Counter(field for fields in frames for field in fields)
    return {field for field, count in counts.items() if count > len(frames) / 2}


def _fields(frame: Sent) -> list[str]:
    try:
        message = json.loads(frame.data)
    except ValueError:  # such as [DONE]
        return []
    if not isinstance(message, dict):
        return []
    return [f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in message.items()]


def _yes(value: bool) -> str:
    return "yes" if value else "no"
