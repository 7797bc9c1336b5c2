"""`streamweir convert`: reads a recorded or running stream, and writes it in another protocol."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, get_args

from streamweir import ConfigurationError, Translator, UnknownDialectError, valid_request_id
from streamweir.capture import Capture, CaptureError
from streamweir.capture.playback import Playback, recorded_options
from streamweir.codec.dialects import Dialects
from streamweir.framing import MEDIA_TYPES, SniffingParser
from streamweir.framing.blank import BLANK
from streamweir.stages import FullText
from streamweir.translation.clock import StreamClock
from streamweir.translation.reader import EndOfBody
from streamweir_gateway.cli.command import FAILED, OK, CommandFailed, Commands, UsageError, add_command
from streamweir_gateway.cli.dialect_options import dialect_options
from streamweir_gateway.cli.explaining import explained
from streamweir_gateway.cli.home_made import add_config_option, home_made
from streamweir_gateway.cli.input_output import (
    STDIN,
    Output,
    ReadFailed,
    label_of,
    open_input,
    open_output,
    pieces,
    write,
)
from streamweir_gateway.cli.own_dialects import add_dialect_option, add_dialects
from streamweir_gateway.cli.progress import shown
from streamweir_gateway.cli.recorded_streams import captures_from

__all__ = ["NAME", "add_to"]

NAME: Final = "convert"

_LONGEST_BLANK: Final = 64 << 10
"""The most blank bytes that are read in order to find the framing of a body."""

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})

_GOOD_ENDS: Final = ("done", "interaction")

_EXAMPLES: Final = """\
  streamweir convert recorded.sse
  streamweir convert --from legacy --to standard --framing ndjson recorded.sse | jq .
  streamweir convert one.capture.jsonl                 a capture: as it was cut, and ended as it ended
  streamweir convert --framing json recorded.sse       one JSON object: text, tool calls, error
  curl -sN https://backend/chat -d '{"message": "Hello"}' | streamweir convert
  tail -f backend.log | streamweir convert --from ragflow --option ragflow.form=agent
  streamweir convert --config acme.yaml --from acme --explain recorded.sse     which rule takes what?

`streamweir dialects` lists the dialects, `streamweir dialects NAME` their options.
The exit code is 1 where a stream did not end completed or suspended; --exit-zero makes that 0."""

_FROM: Final = "what the stream is written in (default: auto, found out from its first events)"
_TO: Final = "what to write (default: standard)"
_FRAMING: Final = (
    "json: one folded result (default: that of the input where --to is --from, else what clients of the"
    " target usually read)"
)
_OPTION: Final = "what a dialect lets one choose; may be repeated"
_EXPLAIN: Final = "a line per frame on standard error: NUMBER TAKER: types of the events"
_EOF: Final = "what a clean end of the stream means that its dialect takes for none (default: truncated)"
_NO_VERBATIM: Final = "write a stream anew, repaired, also in the dialect that it is written in"
_LIMIT: Final = "as in the configuration: stream_bytes=4GiB; may be repeated"
_EXIT_ZERO: Final = "exit 0 for every stream that was converted, also for one that tells of a failure"
_FULL_TEXT: Final = "what to do when the stream repeats its whole answer (default: dedupe)"


def add_to(commands: Commands) -> None:
    """Add the command and its arguments."""
    parser = add_command(
        commands,
        NAME,
        _run,
        usage="[OPTIONS] [FILE]",
        summary="translate a stream from one dialect to another",
        description="Translates a stream from FILE or standard input. Works offline; each event is\n"
        "written as soon as it is complete.",
        examples=_EXAMPLES,
    )
    add = parser.add_argument
    add("file", nargs="?", default=STDIN, metavar="FILE", help="what to read (default: -, standard input)")
    add("--from", dest="speaks", metavar="DIALECT", help=_FROM)
    add("--to", dest="answers", default="standard", metavar="DIALECT", help=_TO)
    add("--framing", choices=tuple(MEDIA_TYPES), help=_FRAMING)
    add("--option", action="append", default=[], metavar="DIALECT.KEY=VALUE", help=_OPTION)
    add("--eof", choices=get_args(EndOfBody), help=_EOF)
    add("--no-verbatim", dest="verbatim", action="store_false", default=None, help=_NO_VERBATIM)
    add("--full-text", choices=get_args(FullText), help=_FULL_TEXT)
    add("--stream-tool-arguments", action="store_true", help="write tool_call_delta events too")
    add("--output", "-o", metavar="FILE", help="write here instead of to standard output")
    add("--request-id", metavar="ID", help="the id in every event (default: made up)")
    add("--raw", action="store_true", help="add metadata.source: the event as it was read")
    add("--debug", action="store_true", help="add redacted details to errors and warnings")
    add("--limit", action="append", default=[], metavar="NAME=VALUE", help=_LIMIT)
    add("--exit-zero", action="store_true", help=_EXIT_ZERO)
    add_config_option(parser)
    add_dialect_option(parser)
    add("--explain", action="store_true", help=_EXPLAIN)


def _run(args: argparse.Namespace) -> int:
    add_dialects(args.own_dialects)
    dialects = home_made(args.config)
    translator = _translator(args, dialects)
    if args.output and _is_one_file(args.file, args.output):
        raise UsageError(f"--output {args.output} is the file that is read")
    with open_input(args.file) as source, open_output(args.output) as target:
        try:
            arriving = pieces(source, args.file, patience=lambda: _patience(translator))
            if sys.stderr.isatty() and (args.output or not sys.stdout.isatty()):
                arriving = shown(arriving, _size_of(args.file))
            captures, body = captures_from(arriving, args.file)
            if captures is not None:
                ends = [_play(capture, args, dialects, target) for capture in captures]
                return OK if args.exit_zero or all(ends) else FAILED
            head, body = _begun(body)
            translator = _translator(args, dialects, head)
            _translate(body, translator, target)
        except KeyboardInterrupt:
            write(target, translator.cancel())
            raise
        except ReadFailed as failure:
            write(target, translator.fail(failure.__cause__ or failure))
            raise
    _note_unknown(translator)
    return OK if args.exit_zero or translator.reason in _GOOD_ENDS else FAILED


def _play(capture: Capture, args: argparse.Namespace, dialects: Dialects, target: Output) -> bool:
    """Translate a capture with its recorded reads and end. Options of the command line take precedence.

    Returns:
        True if the stream ended well.
    """
    try:
        playback = Playback(capture)
    except CaptureError as error:
        raise CommandFailed(f"{label_of(args.file)}: {error}") from error
    if capture.is_cut:
        print(f"streamweir: {capture.id}: the middle of this stream was not recorded", file=sys.stderr)
    recorded = {**recorded_options(capture), "clock": playback.clock}
    translator = _translator(args, dialects, capture.body, recorded)
    for output in playback.pieces(translator):
        write(target, output)
    _note_unknown(translator)
    return translator.reason in _GOOD_ENDS


def _note_unknown(translator: Translator) -> None:
    if translator.speaks == "auto" and translator.counts["bytes_in"]:
        print("streamweir: no dialect claims this input; name it with --from DIALECT", file=sys.stderr)


def _begun(arriving: Iterable[bytes]) -> tuple[bytes, Iterable[bytes]]:
    """Wait until the framing of the body can be seen; return the first bytes, and the whole body."""
    pieces_left = iter(arriving)
    head = b""
    for piece in pieces_left:
        head += piece
        if head.strip(BLANK) or len(head) >= _LONGEST_BLANK:
            break
    return head, chain([head] if head else [], pieces_left)


def _translate(arriving: Iterable[bytes], translator: Translator, target: Output) -> None:
    for piece in arriving:
        write(target, translator.feed(piece))
        if translator.ended:
            return
    write(target, translator.close())


def _size_of(name: str) -> int | None:
    """Return the size of the input in bytes, if it is a file; else None."""
    path = Path(name)
    return path.stat().st_size if name != STDIN and path.is_file() else None


def _is_one_file(first: str, second: str) -> bool:
    return Path(first).is_file() and Path(second).is_file() and Path(first).samefile(second)


def _patience(translator: Translator) -> float | None:
    """Return the seconds for which no bytes may arrive from now on; None: no limit."""
    clock = StreamClock(source=translator, began=0.0)
    clock.last_read = 0.0
    seconds, due = clock.next_due()
    return None if due is None else seconds


def _translator(
    args: argparse.Namespace, dialects: Dialects, head: bytes = b"", recorded: Mapping[str, Any] = _NOTHING
) -> Translator:
    """Return the translator for a body that begins with `head`.

    Options that the command line does not give are taken from the recording.
    """
    if args.request_id is not None and not valid_request_id(args.request_id):
        raise UsageError("--request-id: 1 to 128 letters, digits and . _ : - are allowed")
    options = {**recorded, **_given(args)}
    try:
        framings = dialects.to_write(args.answers).framings
        if args.framing not in (None, "json", *framings):
            raise UsageError(
                f"clients of {args.answers} cannot read --framing {args.framing}"
                f" (they read: {', '.join(framings)}; json folds the stream into one result)"
            )
        return Translator(
            answers=args.answers,
            framing=args.framing or _framing(dialects, options.get("speaks"), args.answers, head),
            dialects=_explained(dialects, options.get("speaks", "auto")) if args.explain else dialects,
            **options,
        )
    except (UnknownDialectError, ConfigurationError) as error:
        raise UsageError(str(error)) from error


def _framing(dialects: Dialects, speaks: str | None, answers: str, head: bytes) -> str:
    """Return the framing to write if the command line gives none: the framing of the input."""
    framings = dialects.to_write(answers).framings
    if speaks == answers:
        expected = dialects.to_read(answers).framing
        seen = SniffingParser(len(head) + 1, expected=expected).decide(head)
        if seen in framings:
            return seen
    return framings[0]


def _given(args: argparse.Namespace) -> dict[str, Any]:
    """Return the options that the command line gives."""
    options = {
        "speaks": args.speaks,
        "request_id": args.request_id,
        "full_text": args.full_text,
        "eof": args.eof,
        "verbatim": args.verbatim,
        "stream_tool_arguments": args.stream_tool_arguments or None,
        "protocol_options": dialect_options(args.option) or None,
        "limits": _limits(args.limit) or None,
        "raw": args.raw or None,
        "debug": args.debug or None,
    }
    return {name: value for name, value in options.items() if value is not None}


def _limits(texts: list[str]) -> dict[str, Any]:
    limits: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"--limit {text}: must be NAME=VALUE, such as stream_bytes=4GiB")
        limits[name] = int(value) if value.isdigit() else value
    return limits


def _explained(dialects: Dialects, name: str) -> Dialects:
    """Return `dialects` with decoders that explain each frame, of dialect `name` or, for `auto`, of all."""
    names = dialects.readable if name == "auto" else (name,)
    explaining = [
        explained(dialects.to_read(each), lambda line: print(line, file=sys.stderr)) for each in names
    ]
    return dialects.with_(*explaining, replace=True)
