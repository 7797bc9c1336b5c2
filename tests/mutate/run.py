"""Mutate recorded streams of every dialect, cut them, and see what becomes of them: proper streams, always.

    make mutate                           20,000 streams, some four minutes on two cores
    make mutate COUNT=2000 SEED=7         so many, of another seed
    make mutate SEED=7 CASE=1234          one of them alone, and what came out

Each goes through the `Translator` and through `NormalizeMiddleware` around an application that sends it. What
comes out keeps the protocol (`check_stream`) at both doors and ends the same way; nothing ends as `internal`,
no decoder raises what it should not, nothing takes more than two seconds; and a stream that was cut before
the evidence of its end, as the page of the dialect names it, is never `completed`. For a client of some
protocol, most often the upstream's own, the bytes are the same however the stream is cut. Exit code 1 if not.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import multiprocessing
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from functools import cache, partial
from itertools import islice
from typing import Any, Final, Literal, NamedTuple

from evidence import ends_at_eof, evidence_of
from hosts import App, Call, body, start
from mutations import mutated, pieces_of
from streams import Recorded, recorded_streams
from streamweir import Translator
from streamweir.asgi import NormalizeMiddleware
from streamweir.codec.registry import process_dialects
from streamweir.testing import check_stream

COUNT: Final = 20_000
BATCH: Final = 50
SLOW: Final = 2.0
"""Seconds of processor time that one stream may take at one door."""

BATCH_SECONDS: Final = 300.0
"""So long nothing may be heard of all batches: a stream that is never done with ends the run too."""

MOST_SHOWN: Final = 20
"""So many broken streams are enough to print; then it is over."""

MEDIA_TYPES: Final = {"sse": b"text/event-stream", "ndjson": b"application/x-ndjson"}

Ending = Literal["whole", "cut", "lost"]


class Case(NamedTuple):
    """A stream as an upstream sends it. The same number and seed make the same one.

    Attributes:
        ending: the body is whole; ends early, properly; or its connection breaks.
        options: of the `Translator` and of the middleware alike.
        answers: the protocol whose bytes have to be the same however the stream is cut.
    """

    recorded: Recorded
    pieces: list[bytes]
    ending: Ending
    framing: str
    options: dict[str, Any]
    answers: str

    @property
    def body(self) -> bytes:
        """All that was sent."""
        return b"".join(self.pieces)

    @property
    def media_type(self) -> bytes:
        """The content type that the application sends it with."""
        return MEDIA_TYPES["sse" if self.recorded.path.suffix == ".sse" else "ndjson"]


class Outcome(NamedTuple):
    """What came out at one door, or the exception that did."""

    door: str
    output: bytes
    framing: str
    raised: str
    seconds: float
    faults: int = 0
    """How often a decoder raised what it should not have, which costs its stream no more than an event."""

    @property
    def end(self) -> tuple[str, str]:
        """Status and reason of its end; empty where it has none."""
        try:
            last = self.output.rstrip(b"\n").rpartition(b"\n")[2]
            data = json.loads(last.removeprefix(b"data: "))
            data = data if self.framing == "json" else data["data"]
            return data["status"], data["reason"]
        except (ValueError, KeyError, TypeError):
            return "", ""


@cache
def streams() -> list[Recorded]:
    """What is mutated: the recorded streams of all dialects."""
    return recorded_streams()


def make_case(seed: int, number: int) -> Case:
    """Return the stream of this number."""
    chance = random.Random(f"{seed}:{number}")
    by_dialect = sorted({stream.dialect for stream in streams()})
    dialect = by_dialect[number % len(by_dialect)]
    recorded = chance.choice([stream for stream in streams() if stream.dialect == dialect])
    data = mutated(chance, recorded.body)
    ending: Ending = chance.choice(("whole", "cut", "cut", "lost"))
    if ending != "whole":
        data = data[: chance.randrange(len(data) + 1)]
    options = {
        "speaks": chance.choice((dialect, dialect, dialect, "auto")),
        "full_text": chance.choice(("dedupe", "dedupe", "append", "replace")),
        "raw": chance.random() < 0.1,
        "debug": chance.random() < 0.2,
        "stream_tool_arguments": chance.random() < 0.3,
        "protocol_options": {dialect: recorded.options},
        "limits": chance.choice(
            ({}, {}, {"event_bytes": 2000, "stream_bytes": 20_000, "malformed_events": 3})
        ),
    }
    framing = chance.choice(("sse", "sse", "ndjson", "json"))
    writable = process_dialects().writable
    own = dialect if dialect in writable else "standard"
    answers = chance.choice((own, own, "standard", chance.choice(writable)))
    return Case(recorded, pieces_of(chance, data), ending, framing, options, answers)


def through_translator(case: Case) -> Outcome:
    """Feed it to a `Translator`."""
    translator = Translator(framing=case.framing, **case.options)
    output = b"".join(map(translator.feed, case.pieces))
    output += translator.fail(lost_connection()) if case.ending == "lost" else translator.close()
    return Outcome("Translator", output, case.framing, "", 0.0, translator.stream.reader.faults)


async def through_middleware(case: Case) -> Outcome:
    """Let an application send it below the middleware; not as `auto`, which lets unknown ones pass."""
    options = {**case.options, "speaks": case.recorded.dialect}
    app = NormalizeMiddleware(application(case), heartbeat=None, **options)
    accept = "application/json" if case.framing == "json" else MEDIA_TYPES[case.framing].decode()
    answer = (await Call(app, headers=[("Accept", accept)]).run()).answer
    assert answer.is_whole, "the response has no end"
    return Outcome("middleware", answer.body, answer.framing, "", 0.0)


def application(case: Case) -> App:
    """An application that streams a case; one that loses its connection raises."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send(start(case.media_type))
        for piece in case.pieces:
            await send(body(piece, more=True))
        if case.ending == "lost":
            raise lost_connection()
        await send(body())

    return app


def lost_connection() -> Exception:
    """What an application raises whose model is gone."""
    return ConnectionResetError("the connection to the model was lost")


async def outcomes(case: Case) -> list[Outcome]:
    """What comes out at both doors; whatever is raised counts as a finding and not as the end."""
    found = []
    for door in (through_translator, through_middleware):
        began = time.process_time()
        try:
            outcome = door(case)
            outcome = outcome if isinstance(outcome, Outcome) else await outcome
        except Exception as error:
            outcome = Outcome(door.__name__, b"", "", f"{type(error).__name__}: {error}", 0.0)
        found.append(outcome._replace(seconds=time.process_time() - began))
    return found


def problems_of(case: Case, found: list[Outcome]) -> Iterator[str]:
    """What is wrong with a case, in words."""
    for outcome in found:
        if outcome.raised:
            yield f"{outcome.door} raised {outcome.raised}"
            continue
        yield from (
            f"{outcome.door}: {breach}" for breach in check_stream(outcome.output, framing=outcome.framing)
        )
        status, reason = outcome.end
        if reason == "internal":
            yield f"{outcome.door}: ended as internal"
        if outcome.faults:
            yield f"{outcome.door}: the decoder raised {outcome.faults} times"
        if outcome.seconds > SLOW:
            yield f"{outcome.door}: took {outcome.seconds:.1f} s"
        if status == "completed" and (why := unconfirmed(case)):
            yield f"{outcome.door}: completed, though {why}"
    if not case.options["limits"] and len({*differently_cut(case)}) > 1:
        yield f"{case.answers} is written otherwise if the stream is cut otherwise"
    if case.options["speaks"] != "auto" and len({outcome.end for outcome in found}) > 1:
        yield "the doors end differently: " + ", ".join(f"{outcome.door} {outcome.end}" for outcome in found)


def differently_cut(case: Case) -> Iterator[bytes]:
    """What a client of `answers` gets of the pieces, of the whole body, and of a few bytes at a time."""
    data = case.body
    few = max(1, len(data) // 4000)
    for pieces in (case.pieces, [data], [data[at : at + few] for at in range(0, len(data), few)]):
        translator = Translator(
            answers=case.answers,
            framing=case.framing,
            request_id="req_1",
            session_id="session_1",
            clock=lambda: 1_790_000_000_000,
            **case.options,
        )
        output = b"".join(map(translator.feed, pieces))
        yield output + (translator.fail(lost_connection()) if case.ending == "lost" else translator.close())


def unconfirmed(case: Case) -> str:
    """Why this stream cannot have completed; empty if it may have."""
    marks = evidence_of(case.recorded.dialect).marks
    if case.ending == "whole" or marks.search(case.body) or is_whole_document(case):
        return ""
    if case.ending == "lost":
        return "its connection was lost before any evidence of its end"
    return "" if ends_at_eof(case.recorded) else "it was cut before any evidence of its end"


def is_whole_document(case: Case) -> bool:
    """Is the body one JSON document in place of a stream, and nothing cut off but what stands behind it?"""
    if case.recorded.path.suffix != ".json":
        return False
    try:
        document, _ = json.JSONDecoder().raw_decode(case.body.decode(errors="replace").lstrip())
    except (ValueError, RecursionError):
        return False
    return isinstance(document, dict | list)


class Report(NamedTuple):
    """What a batch of cases came to."""

    endings: Counter[str]
    problems: list[str]


def run_batch(seed: int, numbers: range) -> Report:
    """Run some cases in this process, without the log of what applications raise."""
    logging.disable()
    return asyncio.run(_run_all(seed, numbers))


async def _run_all(seed: int, numbers: range) -> Report:
    endings, problems = Counter[str](), []
    for number in numbers:
        case = make_case(seed, number)
        found = await outcomes(case)
        cut = "" if case.ending == "whole" else " of cut ones"
        endings[f"{found[0].end[0] or 'nothing'}{cut}"] += 1
        what = f"SEED={seed} CASE={number} ({case.recorded}, {case.ending}): "
        problems += [what + problem for problem in problems_of(case, found)]
    return Report(endings, problems)


def run_all(seed: int, count: int) -> int:
    """Run all cases on all cores, print what was found, return the exit code."""
    for dialect in sorted({stream.dialect for stream in streams()}):
        evidence_of(dialect)
    batches = [range(first, min(first + BATCH, count)) for first in range(0, count, BATCH)]
    endings, problems = Counter[str](), list[str]()
    with multiprocessing.get_context("spawn").Pool(os.cpu_count()) as pool:
        reports = pool.imap_unordered(partial(run_batch, seed), batches)
        while len(problems) <= MOST_SHOWN:
            try:
                report = reports.next(timeout=BATCH_SECONDS)
            except StopIteration:
                break
            except multiprocessing.TimeoutError:
                problems.append(f"none of the batches under way came to its end within {BATCH_SECONDS:.0f} s")
                break
            endings += report.endings
            problems += report.problems
    print(
        "\n".join(islice(problems, MOST_SHOWN))
        or "every one a proper stream, at both doors, however it is cut"
    )
    print("; ".join(f"{ending} {number}" for ending, number in sorted(endings.items())))
    done = endings.total()
    print(f"{done} mutated streams of {len(streams())} recorded ones, seed {seed}: {len(problems)} broken")
    return 1 if problems else 0


def run_one(seed: int, number: int) -> int:
    """Run one case and show what went in and what came out."""
    case = make_case(seed, number)
    print(f"{case.recorded}, {case.ending}, as {case.framing}: {case.options}\n{case.body!r}")
    found = asyncio.run(outcomes(case))
    for outcome in found:
        print(f"\n{outcome.door}: {outcome.output.decode()}{outcome.raised}")
    problems = list(problems_of(case, found))
    print("\n".join(problems) or "a proper stream, at both doors")
    return 1 if problems else 0


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--count", type=int, default=COUNT, metavar="N", help="how many streams")
    parser.add_argument("--case", type=int, metavar="N", help="only the one of this number")
    chosen = parser.parse_args()
    if chosen.case is not None:
        return run_one(chosen.seed, chosen.case)
    return run_all(chosen.seed, chosen.count)


if __name__ == "__main__":
    sys.exit(main())
