"""A dialect that is learned from some streams of an invented backend reads other streams of that backend."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from home_made import spoken
from invented_backends import FIRST, LATER, Backend, Run
from streamweir import load_dialect
from streamweir.codec.dialect import Dialect
from streamweir.learning.learn import Learned, learn
from streamweir.learning.trial import problems_of

BACKENDS = {**FIRST, **LATER}


def learned_from(backend: Backend) -> Learned:
    return learn([run.body for run in backend.recorded], name="acme")


def texts_of(events: list[dict[str, Any]], kind: str) -> str:
    return "".join(event["content"] for event in events if event["type"] == kind)


def calls_of(events: list[dict[str, Any]]) -> list[str]:
    started = {e["tool_id"]: e for e in events if e["type"] == "tool_call_start"}
    ended = [e for e in events if e["type"] == "tool_call_end" and e["status"] == "success"]
    found = [
        (started[e["tool_id"]]["tool_name"], started[e["tool_id"]]["arguments"], e["result"]) for e in ended
    ]
    return sorted(json.dumps(call) for call in found)


def faults_of(learned: Learned, run: Run) -> Iterator[str]:
    """Yield each fault in the reading of one stream."""
    dialect = Dialect.of_class("acme", load_dialect(learned.dialect))
    events = spoken(dialect, run.body)
    answer, thought = texts_of(events, "content"), texts_of(events, "thinking")
    last = events[-1]
    if run.failure is not None:
        if run.failure in answer + thought:
            yield f"the text of the failure is the answer: {answer + thought!r}"
        if (last["type"], last["status"]) == ("session_end", "completed"):
            yield f"a failed run is completed: {run.failure!r}"
        return
    if answer != run.text:
        yield f"the answer is {answer!r}"
    if thought != run.thought:
        yield f"the thinking is {thought!r}"
    if calls_of(events) != sorted(json.dumps(call) for call in run.calls):
        yield f"the calls are {calls_of(events)}"
    if (last["type"], last["status"]) != ("session_end", "completed"):
        yield f"a good run is {last}"


@pytest.mark.parametrize("name", BACKENDS)
def test_learn_from_some_streams_reads_other_streams_of_the_backend(name: str) -> None:
    backend = BACKENDS[name]
    learned = learned_from(backend)
    runs = {"recorded": backend.recorded, "unseen": backend.unseen}
    faults = [
        f"{kind}[{number}]: {fault}"
        for kind, found in runs.items()
        for number, run in enumerate(found)
        for fault in faults_of(learned, run)
    ]
    assert not faults, "\n".join([*faults, learned.yaml])
    assert problems_of(learned.dialect) == []
