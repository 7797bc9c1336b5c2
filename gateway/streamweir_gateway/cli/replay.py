"""`streamweir replay`: serves a capture file as a backend."""

from __future__ import annotations

from typing import Final

from streamweir_gateway.cli.command import Commands, add_command, when_called

__all__ = ["NAME", "add_to"]

NAME: Final = "replay"

_EXAMPLES: Final = """\
  streamweir replay chat.capture.jsonl
  streamweir replay --speed 4 chat.capture.jsonl       four times as fast
  streamweir replay --speed max --listen 127.0.0.1:9010 chat.capture.jsonl
  streamweir replay recorded.sse                       a plain body, all at once

Each request gets the next capture of the files, after the last one the first again. It is answered with the
recorded status and content type, the reads at their recorded distance, and ends as it ended then."""


def add_to(commands: Commands) -> None:
    """Add the command and its arguments."""
    parser = add_command(
        commands,
        NAME,
        when_called("streamweir_gateway.cli.replaying"),
        usage="[--speed N] [--listen HOST:PORT] CAPTURE...",
        summary="serve recorded answers as a backend, at their own pace",
        description="Serves what was recorded, on a loopback address, until Ctrl-C.",
        examples=_EXAMPLES,
    )
    add = parser.add_argument
    add("captures", nargs="+", metavar="CAPTURE", help="a capture, or a recorded body")
    add("--speed", default="1", metavar="N", help="so many times as fast; max: without a pause (default: 1)")
    add(
        "--listen", metavar="HOST:PORT", default="127.0.0.1:9000", help="a loopback address; port 0: any free"
    )
