"""Microseconds of CPU of the library alone: whole streams, what surrounds them, and each layer of them.

    python bench/micro.py [--write] [--rows "a status"]
    python bench/micro.py --against ../before [--passes 60] [--rows "legacy ->"]

Every figure is the median of several passes, the passes of all rows interleaved: the machine may be doing
something else. The last table has the ratios that have to be kept (`musts.py`). `--write` puts all tables
into docs/performance.md. `--against` measures another checkout beside this one, row after row in turn, and
prints the ratio of each.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median
from typing import Any, Final

import event_rows
import mapped
from against import compared
from musts import verdicts
from report import markdown_table, write_into

from streamweir import Translator
from streamweir.asgi import StreamweirMiddleware
from streamweir.codec.dialects import Dialects
from streamweir.events import Content, Event, SessionStart, Stamp
from streamweir.framing import Frame, SniffingParser, write_sse
from streamweir.jsontext import parse_json, write_json
from streamweir.options.limits import Limits
from streamweir.stages import ErrorSanitizer, Lifecycle, StreamPosition, TextDeduplication, Tools

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "performance.md"
DIALECTS: Final = Dialects.built_in()
BOTH_WAYS: Final = tuple(name for name in DIALECTS.readable if name in DIALECTS.writable)
"""The dialects whose streams are at hand: as their own encoders write them."""
PASSES: Final = 15
EVENTS: Final = 500
PER_READ: Final = 32
SHORT: Final = 5
"""The texts of a short answer."""

Step = Callable[[], object]


def token(number: int) -> str:
    """Return a piece of text as a model sends it."""
    return f"word{number} "


def answer_in(dialect: str, texts: int = EVENTS) -> list[bytes]:
    """Return the events of one answer in `dialect`, as its own encoder writes them, without its end."""
    translator = Translator(speaks="legacy", answers=dialect, framing="sse", request_id="req_bench")
    events = (
        b'data: {"type":"token","content":"%b"}\n\n' % token(number).encode() for number in range(texts)
    )
    return [*map(translator.feed, events)]


def written(dialect: str) -> bytes:
    """Return the text of one answer in `dialect`, without its end."""
    return b"".join(answer_in(dialect))


def short_answer(dialect: str) -> list[bytes]:
    """Return the events of a whole short answer in `dialect`."""
    events = answer_in("legacy", SHORT)
    translator = Translator(speaks="legacy", answers=dialect, framing="sse", request_id="req_bench")
    return [translator.feed(event) for event in (*events, b'data: {"type":"done"}\n\n')]


def reads(body: bytes) -> list[bytes]:
    """Cut a body as reads of some events each would."""
    size = len(body) * PER_READ // EVENTS
    return [body[start : start + size] for start in range(0, len(body), size)]


def through(speaks: str, answers: str, pieces: list[bytes], *, verbatim: bool = True, times: int = 1) -> Step:
    """Translate a whole stream, `times` times.

    A stream that is answered in its own dialect is copied, unless `verbatim` is False.
    """

    def step() -> None:
        for _ in range(times):
            feed = Translator(speaks=speaks, answers=answers, request_id="req_bench", verbatim=verbatim).feed
            for piece in pieces:
                feed(piece)

    return step


def streams() -> dict[str, Step]:
    """Whole streams: each dialect to the standard, and legacy to each."""
    bodies = {name: reads(written(name)) for name in DIALECTS.writable}
    steps = {f"{name} -> standard": through(name, "standard", bodies[name]) for name in BOTH_WAYS}
    steps |= {f"legacy -> {name}": through("legacy", name, bodies["legacy"]) for name in DIALECTS.writable}
    steps["legacy -> legacy, written anew"] = through("legacy", "legacy", bodies["legacy"], verbatim=False)
    return steps


def copied() -> dict[str, Step]:
    """Legacy streams whose frames are copied, next to the same streams written as the standard.

    All have `EVENTS` texts: one short stream alone would only show what the row before it left in the caches.
    """
    events = answer_in("legacy")
    status = b'data: {"type":"status","state":"running","node":"search"}\n\n'
    mixed = [
        b"".join((*events[at : at + 15], status, *events[at + 15 : at + 31])) for at in range(0, 465, 31)
    ]
    bodies = {
        "500 texts in one read": [b"".join(events)],
        "5 texts, one a read": events[:SHORT],
        "a status among 31 texts": mixed,
    }
    steps: dict[str, Step] = {}
    for name, pieces in bodies.items():
        for answers, way in (("legacy", "copied"), ("standard", "written as standard")):
            times = EVENTS // SHORT if name.startswith("5 texts") else 1
            steps[f"{name}, {way}"] = through("legacy", answers, pieces, times=times)
    return steps


def single_reads() -> dict[str, Step]:
    """Streams of which each read holds one event, alone and in the middleware."""
    steps = {f"{name} -> standard": through(name, "standard", answer_in(name)) for name in BOTH_WAYS}
    steps["legacy -> legacy"] = through("legacy", "legacy", answer_in("legacy"))
    steps["an application alone"] = called(application)
    steps["the application in the middleware"] = called(StreamweirMiddleware(application, speaks="legacy"))
    return steps


def short_streams() -> dict[str, Step]:
    """Streams of a few events, one a read, from the construction of what translates them to their end."""

    def answered(speaks: str, pieces: list[bytes], request_id: str | None = "req_bench") -> Step:
        def step() -> None:
            for _ in range(EVENTS):
                translator = Translator(speaks=speaks, request_id=request_id)
                for piece in pieces:
                    translator.feed(piece)

        return step

    steps = {f"{name} -> standard": answered(name, short_answer(name)) for name in BOTH_WAYS}
    steps["auto (legacy) -> standard"] = answered("auto", short_answer("legacy"))
    steps["legacy -> standard, in one read"] = answered("legacy", [b"".join(short_answer("legacy"))])
    steps["construction, with an id of its own"] = answered("legacy", [], None)
    return steps


PASSED_ON: Final = {"type": "http.response.body", "more_body": True}


async def application(_scope: Any, _receive: Any, send: Any) -> None:
    """Send one event per message, as frameworks do."""
    headers = [(b"content-type", b"text/event-stream")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for number in range(EVENTS):
        body = b'data: {"type":"token","content":"%b"}\n\n' % token(number).encode()
        await send({**PASSED_ON, "body": body})
    await send({"type": "http.response.body", "body": b'data: {"type":"done"}\n\n'})


def called(app: Any) -> Step:
    """One request to an ASGI application whose client takes everything at once."""
    scope = {"type": "http", "method": "POST", "path": "/", "query_string": b"", "headers": []}

    async def receive() -> None:
        await asyncio.Event().wait()

    async def send(_message: Any) -> None:
        pass

    loop = asyncio.new_event_loop()
    return lambda: loop.run_until_complete(app({**scope, "asgi": {"version": "3.0"}}, receive, send))


def home_made() -> dict[str, Step]:
    """A dialect from YAML beside `legacy`: three kinds of answers, read and written."""
    return dict(mapped.steps(EVENTS, PER_READ))


def other_events() -> dict[str, Step]:
    """Legacy streams of events that are no plain text."""
    return event_rows.other_events(EVENTS, PER_READ)


def all_texts() -> dict[str, Step]:
    """Texts of every dialect, as its servers write them."""
    return event_rows.all_texts(EVENTS, PER_READ)


def cumulative() -> dict[str, Step]:
    """RAGFlow's answers of twice as many pieces as other streams have."""
    return event_rows.cumulative(2 * EVENTS)


def large_lines() -> dict[str, Step]:
    """NDJSON of 8 MiB, in one line and in many."""
    return event_rows.large_lines()


def layers() -> dict[str, Step]:
    """Each layer of legacy -> standard, and the decoder and encoder of every dialect."""
    pieces = reads(written("legacy"))
    frames = _frames(pieces)
    events: list[Event] = [Content(content=token(number)) for number in range(EVENTS)]
    stamped = [(event, Stamp("req_bench", number, 1_790_000_000_000)) for number, event in enumerate(events)]
    standard = [
        frame
        for event, stamp in stamped
        for frame in DIALECTS.to_write("standard").make_encoder({}).encode(event, stamp)
    ]
    steps: dict[str, Step] = {
        "framing: bytes to frames": lambda: _frames(pieces),
        "JSON: parse": lambda: [parse_json(frame.data) for frame in frames],
        "JSON: write": lambda: [write_json({"content": event.content}) for event in events],
        "stages": lambda: _staged(events),
        "framing: frames to bytes": lambda: [write_sse(frame) for frame in standard],
    }
    for name in BOTH_WAYS:
        steps[f"decoder: {name}, JSON included"] = _decoding(name, _frames(reads(written(name))))
    for name in DIALECTS.writable:
        steps[f"encoder: {name}, JSON included"] = _encoding(name, stamped)
    return steps


def _frames(pieces: Iterable[bytes]) -> list[Frame]:
    parser = SniffingParser(Limits().event_bytes)
    return [frame for piece in pieces for frame in parser.feed(piece)]


def _decoding(name: str, frames: list[Frame]) -> Step:
    def step() -> None:
        decoder = DIALECTS.to_read(name).make_decoder({})
        for frame in frames:
            for _ in decoder.decode(Frame(frame.data, frame.event)):
                pass

    return step


def _encoding(name: str, stamped: list[tuple[Event, Stamp]]) -> Step:
    def step() -> None:
        encoder = DIALECTS.to_write(name).make_encoder({})
        for event, stamp in stamped:
            for _ in encoder.encode(event, stamp):
                pass

    return step


def _staged(events: list[Event]) -> None:
    lifecycle = Lifecycle(request_id="r", session_id="s", position=StreamPosition(0, 0))
    for _ in lifecycle.process(SessionStart()) or ():
        pass
    stages = (ErrorSanitizer(debug=False), Tools(), TextDeduplication(), lifecycle)
    path = [stage.process for stage in stages if Content in stage.handles]
    for event in events:
        for process in path:
            process(event)


def measured(steps: dict[str, Step]) -> dict[str, list[float]]:
    """Return CPU microseconds of each pass by name: per event, or whatever a step does `EVENTS` times."""
    found: dict[str, list[float]] = {name: [] for name in steps}
    gc.collect()
    for number in range(PASSES + 1):
        # forwards and backwards, so that no row always profits from what its neighbour left in the caches
        for name, step in steps.items() if number % 2 else reversed(steps.items()):
            began = time.process_time_ns()
            step()
            spent = time.process_time_ns() - began
            if number:  # the first fills caches
                found[name].append(spent / 1000 / EVENTS)
    return found


def table(head: str, passes: dict[str, list[float]], base: str | None = None, unit: str = "event") -> str:
    """Return medians as a Markdown table."""
    lines = []
    figures = {name: median(values) for name, values in passes.items()}
    for name, value in figures.items():
        ratio = [f"{value / figures[base]:.2f}"] if base else []
        lines.append([name, f"{value:.2f}", *ratio])
    return markdown_table([head, f"CPU us per {unit}", *([f"x {base}"] if base else [])], lines)


TABLES: Final[dict[str, Callable[[], dict[str, Step]]]] = {
    f"{PER_READ} events a read": streams,
    f"texts as servers write them, {PER_READ} a read": all_texts,
    "legacy, copied": copied,
    "one event a read": single_reads,
    "other events": other_events,
    "RAGFlow, one event a read": cumulative,
    "NDJSON of 8 MiB": large_lines,
    f"answers of {SHORT} texts": short_streams,
    "a dialect from YAML": home_made,
    "layer": layers,
}


UNITS: Final = {short_streams: "stream", cumulative: "2 events", large_lines: "16.8 kB"}
"""The unit of the figures of a table, if that is no event: a step is divided by `EVENTS`."""

BASES: Final = ("legacy -> standard", "text after text, one a read", "legacy")
"""The rows of which the others of a table are multiples."""


def report(rows: str = "") -> str:
    """Measure this checkout, only rows with `rows` in their name; return the tables."""
    parts: list[str] = []
    tables: list[dict[str, list[float]]] = []
    for head, steps in TABLES.items():
        chosen = {name: step for name, step in steps().items() if rows in name}
        if not chosen:
            continue
        figures = measured(chosen)
        tables.append(figures)
        base = next((name for name in BASES if name in figures), None)
        parts.append(table(head, figures, base, unit=UNITS.get(steps, "event")))
    return "\n\n".join([*parts, verdicts(tables)])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/performance.md")
    parser.add_argument("--against", type=Path, help="another checkout, to be measured beside this one")
    parser.add_argument("--passes", type=int, default=40, help="with --against: how often each row runs")
    parser.add_argument("--rows", default="", help="only rows with this in their name")
    options: Any = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    if options.against:
        print(compared(options.against, passes=options.passes, rows=options.rows))
        return
    text = report(options.rows)
    print(f"{text}\n")
    if options.write:
        write_into(PAGE, "micro", f"{text}\n")


if __name__ == "__main__":
    main()
