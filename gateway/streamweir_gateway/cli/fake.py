"""`streamweir fake`: serves a backend with faults on purpose."""

from __future__ import annotations

from typing import Final

from streamweir_gateway.cli.command import Commands, add_command, when_called

__all__ = ["NAME", "add_to"]

NAME: Final = "fake"

_EXAMPLES: Final = """\
  streamweir fake --list                                     all faults
  streamweir fake --dialect ragflow --fault cut@40           breaks off before event 40
  streamweir fake --fault badjson@10 --fault stall@20:30s    several faults at once
  streamweir fake --dialect legacy --replay recorded.sse --fault reset@5
  curl -N 'http://127.0.0.1:9000/?dialect=legacy&fault=cut@3'
  curl -N http://127.0.0.1:9000/ -H 'X-Fault: status:429, retry-after:3s'

A fault is written NAME[@POSITION][:ARGUMENT]. The position is the number of the event before which it
happens, counted from 0 (30 where none is given; `end`: behind the last). Durations: 200ms, 5s, 2m;
sizes: 64KiB, 10MiB. A request may ask for faults of its own, and for dialect, framing, events, pace,
seed and option, which then count in place of those given here.

Every text that it sends holds made-up credentials, paths and addresses: look for them behind your gateway."""


def add_to(commands: Commands) -> None:
    """Add the command and its arguments."""
    parser = add_command(
        commands,
        NAME,
        when_called("streamweir_gateway.cli.faking"),
        usage="[--list] [--dialect NAME] [--fault FAULT]... [options]",
        summary="serve a backend that is broken on purpose",
        description="Serves a scripted agent run in any dialect, with faults laid over it, until Ctrl-C.\n"
        "Put it behind a gateway and see what a client gets.",
        examples=_EXAMPLES,
    )
    add = parser.add_argument
    add("--list", action="store_true", help="print all faults, and end")
    add("--dialect", metavar="NAME", default="standard", help="what it speaks (default: standard)")
    add("--fault", metavar="FAULT", action="append", default=[], help="such as cut@40; may be repeated")
    add(
        "--listen", metavar="HOST:PORT", default="127.0.0.1:9000", help="a loopback address; port 0: any free"
    )
    add("--framing", choices=("sse", "ndjson"), help="default: the dialect's own")
    add("--events", metavar="N", help="make the run about so many events long")
    add("--pace", metavar="DURATION", default="30ms", help="pause before each event (default: 30ms; off)")
    add("--seed", metavar="N", default="0", help="of what is random (default: 0)")
    add(
        "--option", metavar="KEY=VALUE", action="append", default=[], help="of the dialect, such as form=chat"
    )
    add("--replay", metavar="FILE", help="play a recorded body in place of the run")
